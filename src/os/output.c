#include "os/output.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "os/fd.h"
#include "os/owner.h"
#include "os/packed.h"

/* A segment is created only when there is something to write: a base that is
 * only read, or has only changes, has none. */
struct output {
    int segments_fd, files_fd;
    bool write;
    uint64_t segment; /* number of the current segment; 0 = none yet */
    int fd;
    uint64_t segment_bytes; /* written to it, or waiting to be */
    struct text waiting;
    uint64_t made_dir; /* files/<n> known to exist, plus 1 */
    bool filed;        /* since the last flush */
};

static bool dir_below(int fd, const char *name, bool make, int *ret_fd,
                      struct err *err) {
    if (make && mkdirat(fd, name, 0700) < 0 && errno != EEXIST)
        return err_errno(err, errno, "cannot create directory '%s'", name);
    *ret_fd = openat(fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    /* Nothing was ever written, so there is nothing to find. */
    if (*ret_fd < 0 && !make && (errno == ENOENT || errno == EBADF))
        return true;
    if (*ret_fd < 0)
        return err_errno(err, errno, "cannot open directory '%s'", name);
    if (make)
        owner_inherit(*ret_fd, fd);
    return true;
}

bool output_open(int base_fd, bool write, struct output **ret_output,
                 struct err *err) {
    struct output *output = mem_alloc(sizeof(*output));
    output->segments_fd = output->files_fd = output->fd = -1;
    output->write = write;
    int fd = -1;
    bool ok = dir_below(base_fd, "attempts", write, &fd, err) &&
              dir_below(fd, "segments", write, &output->segments_fd, err) &&
              dir_below(fd, "files", write, &output->files_fd, err);
    if (fd >= 0)
        close(fd);
    if (!ok) {
        output_close(output);
        return false;
    }
    *ret_output = output;
    return true;
}

void output_close(struct output *output) {
    if (!output)
        return;
    if (output->waiting.len > 0)
        (void)output_flush(output, &(struct output_sync){0}, NULL);
    if (output->fd >= 0)
        close(output->fd);
    if (output->segments_fd >= 0)
        close(output->segments_fd);
    if (output->files_fd >= 0)
        close(output->files_fd);
    text_clear(&output->waiting);
    free(output);
}

/* Numbers are claimed by O_EXCL, so that several writers never share one. */
static bool segment_begin(struct output *output, struct err *err) {
    struct stat st;
    uint64_t number = output->segment;
    if (number == 0 && fstat(output->segments_fd, &st) == 0)
        number = (uint64_t)st.st_mtim.tv_sec;
    for (;;) {
        char name[32];
        number++;
        snprintf(name, sizeof(name), "%" PRIu64, number);
        int fd =
            openat(output->segments_fd, name,
                   O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0600);
        if (fd < 0 && errno == EEXIST)
            continue;
        if (fd < 0)
            return err_errno(err, errno,
                             "cannot create output file 'segments/%s'", name);
        owner_inherit(fd, output->segments_fd);
        /* The name must be durable before its content is. */
        if (fsync(output->segments_fd) < 0) {
            close(fd);
            return err_errno(err, errno, "cannot sync output segments");
        }
        if (output->fd >= 0)
            close(output->fd);
        output->fd = fd;
        output->segment = number;
        output->segment_bytes = 0;
        return true;
    }
}

bool output_add(struct output *output, struct span bytes, struct span stamps,
                char ret_place[OUTPUT_PLACE_BYTES], struct err *err) {
    if (bytes.len == 0) {
        ret_place[0] = '\0';
        return true;
    }
    bool full = output->segment_bytes > OUTPUT_SEGMENT_BYTES;
    if (output->fd < 0 || (full && output->waiting.len == 0)) {
        if (!segment_begin(output, err))
            return false;
    }
    int n =
        snprintf(ret_place, OUTPUT_PLACE_BYTES, "s%" PRIu64 ".%" PRIu64 ".%zu",
                 output->segment, output->segment_bytes, bytes.len);
    if (stamps.len > 0)
        snprintf(ret_place + n, OUTPUT_PLACE_BYTES - (size_t)n, ".%zu",
                 stamps.len);
    text_addspan(&output->waiting, bytes);
    text_addspan(&output->waiting, stamps);
    output->segment_bytes += bytes.len + stamps.len;
    return true;
}

bool output_add_file(struct output *output, int fd, uint64_t limit,
                     char ret_place[OUTPUT_PLACE_BYTES], uint64_t *ret_bytes,
                     struct err *err) {
    CLEANUP(text_clear) struct text bytes = TEXT_INIT;
    struct stat st;
    if (fstat(fd, &st) == 0) {
        size_t size =
            (uint64_t)st.st_size < limit ? (size_t)st.st_size : (size_t)limit;
        text_reserve(&bytes, size);
        ssize_t n = pread(fd, bytes.p, size, 0);
        bytes.len = n > 0 ? (size_t)n : 0;
    }
    if (!output_add(output, text_span(&bytes), SPAN(""), ret_place, err))
        return false;
    *ret_bytes = bytes.len;
    return true;
}

void output_filed(struct output *output) {
    output->filed = true;
}

bool output_flush(struct output *output, struct output_sync *ret_sync,
                  struct err *err) {
    *ret_sync = (struct output_sync){.fd = -1};
    /* Done even if the segment fails below: the other results are still valid.
     */
    if (output->filed)
        *ret_sync = (struct output_sync){output->files_fd, true};
    output->filed = false;
    size_t at = 0;
    while (at < output->waiting.len) {
        ssize_t n =
            write(output->fd, output->waiting.p + at, output->waiting.len - at);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0) {
            /* The content of the segment no longer matches the places handed
             * out: nothing more may be added to it. */
            int sys = errno;
            close(output->fd);
            output->fd = -1;
            text_reset(&output->waiting);
            return err_errno(err, sys,
                             "cannot write output file 'segments/%" PRIu64 "'",
                             output->segment);
        }
        at += (size_t)n;
    }
    if (at > 0 && !ret_sync->filesystem)
        ret_sync->fd = output->fd;
    text_reset(&output->waiting);
    return true;
}

void output_place_format(uint64_t num, uint64_t task, unsigned attempt,
                         char ret_place[OUTPUT_PLACE_BYTES]) {
    snprintf(ret_place, OUTPUT_PLACE_BYTES,
             "f%" PRIu64 "/%" PRIu64 ".%" PRIu64 ".%u", num / 1000, num, task,
             attempt);
}

bool output_file(struct output *output, uint64_t num, uint64_t task,
                 unsigned attempt, struct text *ret_path,
                 char ret_place[OUTPUT_PLACE_BYTES], struct err *err) {
    uint64_t group = num / 1000;
    if (output->made_dir != group + 1) {
        char name[32];
        snprintf(name, sizeof(name), "%" PRIu64, group);
        if (mkdirat(output->files_fd, name, 0700) < 0 && errno != EEXIST)
            return err_errno(err, errno,
                             "cannot create directory 'attempts/files/%s'",
                             name);
        CLEANUP(fd_close)
        int fd = openat(output->files_fd, name,
                        O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (fd >= 0)
            owner_inherit(fd, output->files_fd);
        output->made_dir = group + 1;
    }
    output_place_format(num, task, attempt, ret_place);
    text_addf(ret_path, "attempts/files/%s", ret_place + 1);
    return true;
}

static bool place_numbers(struct span place, uint64_t ret[3]) {
    for (int i = 0; i < 3; i++) {
        struct span part;
        if (!span_cut(&place, '.', &part) || !span_u64(part, &ret[i]))
            return false;
    }
    return place.p == NULL;
}

/* Accepts only GROUP/NUM.TASK.ATTEMPT, since it is opened as a path. */
static bool file_name_is_ours(struct span name) {
    struct span group;
    uint64_t number, three[3];
    return span_cut(&name, '/', &group) && span_u64(group, &number) &&
           place_numbers(name, three);
}

/* SEGMENT.OFFSET.BYTES, optionally followed by the size of the stamps. */
static bool segment_numbers(struct span place, uint64_t ret[4]) {
    struct span part;
    ret[3] = 0;
    for (int i = 0; i < 4; i++)
        if (!span_cut(&place, '.', &part))
            return i == 3;
        else if (!span_u64(part, &ret[i]) || ret[i] > INT64_MAX / 2)
            return false;
    return place.p == NULL;
}

static bool find_in_segment(struct output *output, struct span place,
                            int *ret_fd, off_t *ret_offset, uint64_t *ret_bytes,
                            struct err *err) {
    uint64_t three[4];
    if (!segment_numbers(place, three))
        return err_set(err, ERR_DATA, "'%.*s' is not the place of an output",
                       (int)place.len, place.p);
    char name[32];
    snprintf(name, sizeof(name), "%" PRIu64, three[0]);
    int fd = openat(output->segments_fd, name, O_RDONLY | O_CLOEXEC);
    if (fd < 0 && (errno == ENOENT || output->segments_fd < 0))
        return err_set(err, ERR_NO_JOB, "its file is missing");
    if (fd < 0)
        return err_errno(err, errno, "cannot open output file 'segments/%s'",
                         name);
    struct stat st;
    if (fstat(fd, &st) < 0)
        st.st_size = 0;
    uint64_t size = (uint64_t)st.st_size;
    *ret_fd = fd;
    *ret_offset = (off_t)three[1];
    *ret_bytes = three[1] >= size             ? 0
                 : three[2] > size - three[1] ? size - three[1]
                                              : three[2];
    return true;
}

/* Finds descriptor, first byte and length (for a file: its current length).
 * Errors: ERR_DATA (not a place), ERR_NO_JOB (there is no such file). */
static bool find_plain(struct output *output, struct span place, int *ret_fd,
                       off_t *ret_offset, uint64_t *ret_bytes,
                       struct err *err) {
    struct span rest = place;
    if (place.len > 1) {
        rest.p++;
        rest.len--;
    }
    if (place.len > 1 && place.p[0] == 's')
        return find_in_segment(output, rest, ret_fd, ret_offset, ret_bytes,
                               err);
    if (place.len < 2 || place.p[0] != 'f' || !file_name_is_ours(rest))
        return err_set(err, ERR_DATA, "'%.*s' is not the place of an output",
                       (int)place.len, place.p ? place.p : "");
    CLEANUP(text_free_string) char *name = span_string(rest);
    int fd = openat(output->files_fd, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0 && (errno == ENOENT || output->files_fd < 0))
        return err_set(err, ERR_NO_JOB, "its file is missing");
    if (fd < 0)
        return err_errno(err, errno, "cannot open output file 'files/%s'",
                         name);
    struct stat st;
    if (fstat(fd, &st) < 0)
        st.st_size = 0;
    *ret_fd = fd;
    *ret_offset = 0;
    *ret_bytes = (uint64_t)st.st_size;
    return true;
}

/* The name of the place, "NAME", with an ending. */
static bool file_name(struct span place, const char *ending,
                      struct text *ret_name, struct err *err) {
    struct span name = {place.p + 1, place.len - 1};
    if (place.len < 2 || place.p[0] != 'f' || !file_name_is_ours(name))
        return err_set(err, ERR_DATA,
                       "'%.*s' is not the place of an output file",
                       (int)place.len, place.p ? place.p : "");
    text_addspan(ret_name, name);
    text_adds(ret_name, ending);
    return true;
}

static int stamps_in_segment(struct output *output, struct span place,
                             off_t *ret_first, uint64_t *ret_bytes) {
    uint64_t four[4];
    char name[32];
    if (!segment_numbers(place, four) || four[3] == 0)
        return -1;
    snprintf(name, sizeof(name), "%" PRIu64, four[0]);
    *ret_first = (off_t)(four[1] + four[2]);
    *ret_bytes = four[3];
    return openat(output->segments_fd, name, O_RDONLY | O_CLOEXEC);
}

int output_stamps_open(struct output *output, struct span place,
                       off_t *ret_first, uint64_t *ret_bytes) {
    CLEANUP(text_clear) struct text name = TEXT_INIT;
    struct stat st;
    if (place.len > 1 && place.p[0] == 's')
        return stamps_in_segment(output, span_make(place.p + 1, place.len - 1),
                                 ret_first, ret_bytes);
    if (!file_name(place, ".stamps", &name, NULL))
        return -1;
    int fd = openat(output->files_fd, text_string(&name),
                    O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &st) < 0)
        return fd;
    *ret_first = 0;
    *ret_bytes = (uint64_t)st.st_size;
    return fd;
}

static bool view_packed(struct output *output, struct span place,
                        struct output_view *view, struct err *err) {
    CLEANUP(text_clear) struct text name = TEXT_INIT;
    if (!file_name(place, ".zst", &name, err))
        return false;
    view->fd = openat(output->files_fd, text_string(&name),
                      O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    if (view->fd < 0 && (errno == ENOENT || output->files_fd < 0))
        return err_set(err, ERR_NO_JOB, "its file is missing");
    if (view->fd < 0)
        return err_errno(err, errno, "cannot open output file 'files/%s'",
                         text_string(&name));
    if (!packed_open(view->fd, &view->packed, err)) {
        output_view_close(view);
        return false;
    }
    view->bytes = packed_bytes(view->packed);
    return true;
}

bool output_view_open(struct output *output, struct span place,
                      struct output_view *ret_view, struct err *err) {
    struct err why = {0};
    *ret_view = OUTPUT_VIEW_INIT;
    if (find_plain(output, place, &ret_view->fd, &ret_view->first,
                   &ret_view->bytes, &why))
        return true;
    if (why.kind == ERR_NO_JOB && place.len > 0 && place.p[0] == 'f')
        return view_packed(output, place, ret_view, err);
    *err = why;
    return false;
}

void output_view_close(struct output_view *view) {
    packed_close(view->packed);
    view->packed = NULL;
    fd_close(&view->fd);
}

ssize_t output_view_read(const struct output_view *view, uint64_t at,
                         char *block, size_t bytes) {
    if (at >= view->bytes)
        return 0;
    if (bytes > view->bytes - at)
        bytes = (size_t)(view->bytes - at);
    return view->packed != NULL
               ? packed_read(view->packed, at, block, bytes)
               : pread(view->fd, block, bytes, view->first + (off_t)at);
}

/* A name below files/ is durable once its directory is synced. */
static bool sync_name(struct output *output, const char *name,
                      struct err *err) {
    struct span group, rest = span_of(name);
    (void)span_cut(&rest, '/', &group);
    CLEANUP(text_free_string) char *dir = span_string(group);
    CLEANUP(fd_close)
    int fd = openat(output->files_fd, dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return (fd >= 0 && fsync(fd) == 0) ||
           err_errno(err, errno, "cannot sync directory 'files/%s'", dir);
}

/* Readers try the plain file first, and a power cut must not lose both: it is
 * removed last. */
static bool replace(struct output *output, const char *plain,
                    const char *half_made, const char *packed,
                    struct err *err) {
    if (renameat(output->files_fd, half_made, output->files_fd, packed) < 0)
        return err_errno(err, errno, "cannot rename the output to '%s'",
                         packed);
    if (!sync_name(output, packed, err))
        return false;
    if (unlinkat(output->files_fd, plain, 0) < 0 && errno != ENOENT)
        return err_errno(err, errno, "cannot remove '%s'", plain);
    return true;
}

bool output_pack(struct output *output, struct span place, struct err *err) {
    CLEANUP(text_clear)
    struct text plain = TEXT_INIT, packed = TEXT_INIT, half = TEXT_INIT;
    if (!file_name(place, "", &plain, err) ||
        !file_name(place, ".zst", &packed, err) ||
        !file_name(place, ".half", &half, err))
        return false;
    CLEANUP(fd_close)
    int from = openat(output->files_fd, text_string(&plain),
                      O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    if (from < 0)
        return err_errno(err, errno, "cannot open output file 'files/%s'",
                         text_string(&plain));
    CLEANUP(fd_close)
    int to =
        openat(output->files_fd, text_string(&half),
               O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (to < 0)
        return err_errno(err, errno, "cannot create output '%s'",
                         text_string(&half));
    owner_inherit(to, output->files_fd);
    if (packed_write(from, to, err) &&
        (fdatasync(to) == 0 ||
         err_errno(err, errno, "cannot sync '%s'", text_string(&half))) &&
        replace(output, text_string(&plain), text_string(&half),
                text_string(&packed), err))
        return true;
    (void)unlinkat(output->files_fd, text_string(&half), 0);
    return false;
}
