/* The output of one task on its way: small and quick it stays in memory, large
 * or slow it is appended to a file that others may follow. Over the limit the
 * head stays as it is, of the rest only the tail is kept, and two marked lines
 * say so. A disk that refuses bytes costs these bytes, never the task; the last
 * of a disk (an eighth, 32 MiB at most) is left to others.
 * On request it is stamped: beside it, in a file of the same name with .stamps
 * behind it, stands from which stream each byte came, and when (os/stamp.h).
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
    struct text memory; /* what is not in the file; or the ring */
    int dir_fd;
    const char *path; /* NULL: there can be no file */
    int fd;           /* -1: no file yet */
    uint32_t inline_max;
    uint64_t head_max, tail_max;
    uint64_t total; /* came in */
    uint64_t bytes; /* in the file */
    uint64_t gone;  /* refused by the disk since the last mark */
    uint64_t room;  /* of the disk: may be written without looking */
    size_t ring_at; /* where the oldest byte of a full ring is */
    uint64_t rung;  /* went into the ring */
    bool ring;      /* the head is full */
    bool eager;     /* a file as soon as there is a byte */
    bool filed;     /* the file was made */
    bool lost;      /* the disk refused some */
    int sys;        /* why */

    bool stamped;
    enum stamp_stream stream; /* of what is being added */
    int64_t ms;
    int stamps_fd;        /* -1: none, or it took no more */
    struct stamps stamps; /* of memory, or on their way to the file */
    struct stamps ring_stamps;
    uint64_t ring_stamped;   /* bytes in those */
    size_t ring_stamps_trim; /* coded bytes at which they are looked through */
};

/* `path` must live as long as the capture; 0 = the default. */
void guard_capture_init(struct guard_capture *capture, int dir_fd,
                        const char *path, uint32_t inline_max, uint64_t limit);
/* Before anything is added. Without a path there is nothing to stamp. */
void guard_capture_stamp(struct guard_capture *capture);
void guard_capture_clear(struct guard_capture *capture);
/* `stream` and `ms` (since 1970) count for those that are stamped only. */
void guard_capture_add(struct guard_capture *capture, enum stamp_stream stream,
                       int64_t ms, const char *p, size_t bytes);
/* What was added can be read by now; so can its stamps. */
void guard_capture_flush(struct guard_capture *capture);
/* From now on what comes goes to the file at once. */
void guard_capture_spill(struct guard_capture *capture);
/* Nothing more comes: writes the tail, closes the file. Afterwards what is in
 * memory is the inline output, unless guard_capture_in_file. */
void guard_capture_finish(struct guard_capture *capture);
bool guard_capture_in_file(const struct guard_capture *capture);
struct span guard_capture_inline(const struct guard_capture *capture);
/* Of the inline output, after guard_capture_finish. */
struct span guard_capture_stamps(const struct guard_capture *capture);

#endif
