/* The output of one running task. Small, quick output stays in memory; large or
 * slow output is appended to a file that others may follow. Beyond the limit
 * the head stays as it is, only the tail of the rest is kept, and two marked
 * lines say so. If the disk refuses bytes, those bytes are lost but the task
 * goes on; the last part of the disk (an eighth, at most 32 MiB) is never used.
 * On request the output is stamped: a second file with the same name and the
 * suffix .stamps records for each byte when it came and from which stream
 * (os/stamp.h).
 *
 *     memory -> file -> file, and a ring for the tail -> finished */
#ifndef POINTSMAN_OS_GUARD_CAPTURE_H
#define POINTSMAN_OS_GUARD_CAPTURE_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/text.h"
#include "os/stamp.h"

enum {
    GUARD_CAPTURE_INLINE_BYTES = 8 << 10, /* default */
    GUARD_CAPTURE_INLINE_MAX = 64 << 10,  /* at most */
    GUARD_CAPTURE_LIMIT_BYTES = 64 << 20, /* default */
    GUARD_CAPTURE_TAIL_BYTES = 1 << 20
};

struct guard_capture {
    struct text memory; /* bytes that are not in the file, or the ring */
    int dir_fd;
    const char *path; /* NULL: no file may be made */
    int fd;           /* -1: no file yet */
    uint32_t inline_max;
    uint64_t head_max, tail_max;
    uint64_t total;   /* bytes received */
    uint64_t bytes;   /* bytes in the file */
    uint64_t gone;    /* lost on the disk since the last mark; after the end:
                         lost, and no mark says so */
    uint64_t refused; /* lost in all */
    uint64_t room;    /* may be written before checking the disk again */
    size_t ring_at;   /* position of the oldest byte in a full ring */
    uint64_t rung;    /* bytes that went into the ring */
    bool ring;        /* the head is full */
    bool eager;       /* make the file at the first byte */
    bool filed;       /* the file was made */
    bool lost;        /* some bytes were lost */
    int sys;          /* errno of the loss */
    int stamps_sys;   /* not 0: stamps were lost, with this errno */

    bool stamped;
    enum stamp_stream stream; /* of the bytes being added */
    int64_t ms;
    int stamps_fd;        /* -1: none, or it could not be written */
    struct stamps stamps; /* of `memory`, or not yet written to the file */
    struct stamps ring_stamps;
    uint64_t ring_stamped;   /* bytes that those stamps cover */
    size_t ring_stamps_trim; /* trim the stamps at this many coded bytes */
};

/* `path` must live as long as the capture; 0 = the default. */
void guard_capture_init(struct guard_capture *capture, int dir_fd,
                        const char *path, uint32_t inline_max, uint64_t limit);
/* Call it before anything is added. Without a path nothing is stamped. */
void guard_capture_stamp(struct guard_capture *capture);
void guard_capture_clear(struct guard_capture *capture);
/* `stream` and `ms` (since 1970) matter only if the output is stamped. */
void guard_capture_add(struct guard_capture *capture, enum stamp_stream stream,
                       int64_t ms, const char *p, size_t bytes);
/* Makes everything added so far, and its stamps, readable in the files. */
void guard_capture_flush(struct guard_capture *capture);
/* From now on bytes go to the file at once. */
void guard_capture_spill(struct guard_capture *capture);
/* Ends the output: writes the tail and closes the file. Afterwards `memory`
 * holds the inline output, unless guard_capture_in_file. */
void guard_capture_finish(struct guard_capture *capture);
bool guard_capture_in_file(const struct guard_capture *capture);
struct span guard_capture_inline(const struct guard_capture *capture);
/* The stamps of the inline output, after guard_capture_finish. */
struct span guard_capture_stamps(const struct guard_capture *capture);

#endif
