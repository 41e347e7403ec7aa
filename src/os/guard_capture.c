#include "os/guard_capture.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "os/owner.h"

enum {
    TRIM_BYTES = 64 << 10,
    SPARED_BYTES = 32 << 20, /* of the disk, but at most an eighth of it */
    LOOK_BYTES = 1 << 20
};

void guard_capture_init(struct guard_capture *capture, int dir_fd,
                        const char *path, uint32_t inline_max, uint64_t limit) {
    if (inline_max == 0)
        inline_max = GUARD_CAPTURE_INLINE_BYTES;
    if (inline_max > GUARD_CAPTURE_INLINE_MAX)
        inline_max = GUARD_CAPTURE_INLINE_MAX;
    if (limit == 0)
        limit = GUARD_CAPTURE_LIMIT_BYTES;
    uint64_t tail = limit / 2 < GUARD_CAPTURE_TAIL_BYTES
                        ? limit / 2
                        : GUARD_CAPTURE_TAIL_BYTES;
    *capture = (struct guard_capture){.dir_fd = dir_fd,
                                      .path = path,
                                      .fd = -1,
                                      .stamps_fd = -1,
                                      .inline_max = inline_max,
                                      .head_max = limit - tail,
                                      .tail_max = tail};
}

void guard_capture_stamp(struct guard_capture *capture) {
    capture->stamped = capture->path != NULL;
}

static void close_stamps(struct guard_capture *capture) {
    if (capture->stamps_fd >= 0)
        close(capture->stamps_fd);
    capture->stamps_fd = -1;
}

/* Bytes from now on are of unknown origin. */
static void stop_stamping(struct guard_capture *capture) {
    close_stamps(capture);
    stamps_clear(&capture->stamps);
    stamps_clear(&capture->ring_stamps);
    capture->stamped = false;
}

static void lose_stamps(struct guard_capture *capture, int sys) {
    stop_stamping(capture);
    capture->stamps_sys = sys;
}

void guard_capture_clear(struct guard_capture *capture) {
    text_clear(&capture->memory);
    stop_stamping(capture);
    if (capture->fd >= 0)
        close(capture->fd);
    capture->fd = -1;
}

static void stamp(struct guard_capture *capture, uint64_t bytes) {
    if (capture->stamped)
        stamps_add(&capture->stamps, capture->stream, capture->ms, bytes);
}

static void keep_lost(struct guard_capture *capture, uint64_t bytes, int sys) {
    capture->lost = true;
    capture->gone += bytes;
    capture->refused += bytes;
    capture->sys = sys;
}

/* A mark of ours was no output of the task. */
static void keep_refused(struct guard_capture *capture, size_t bytes, int sys) {
    keep_lost(capture, capture->stream == STAMP_OURS ? 0 : bytes, sys);
}

/* Returns the number of bytes that could not be written. */
static size_t write_bytes(struct guard_capture *capture, const char *p,
                          size_t bytes) {
    while (bytes > 0) {
        ssize_t n = write(capture->fd, p, bytes);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            break;
        stamp(capture, (uint64_t)n);
        capture->bytes += (uint64_t)n;
        p += n;
        bytes -= (size_t)n;
    }
    return bytes;
}

/* Writes a mark of ours. Returns the number of bytes that could not be written.
 */
static size_t write_mark(struct guard_capture *capture, const char *mark,
                         size_t bytes) {
    enum stamp_stream stream = capture->stream;
    capture->stream = STAMP_OURS;
    size_t rest = write_bytes(capture, mark, bytes);
    capture->stream = stream;
    return rest;
}

/* Writes into the file how many bytes are missing, as soon as there is room. */
static bool write_gone(struct guard_capture *capture) {
    char mark[128];
    if (capture->gone == 0)
        return true;
    int n = snprintf(mark, sizeof mark, "\n[pointsman: %llu bytes lost: %s]\n",
                     (unsigned long long)capture->gone,
                     strerrordesc_np(capture->sys));
    if (write_mark(capture, mark, (size_t)n) > 0)
        return false;
    capture->gone = 0;
    return true;
}

/* Outputs share a disk with the registry: a task that fills it must not use the
 * space needed to record how the task ended. The free space is checked again
 * after using part of it, because other processes write too. */
static bool has_room(struct guard_capture *capture, size_t bytes) {
    struct statvfs disk;
    if (bytes <= capture->room) {
        capture->room -= bytes;
        return true;
    }
    if (fstatvfs(capture->fd, &disk) < 0 || disk.f_blocks == 0)
        return true;
    uint64_t spared = disk.f_blocks * disk.f_frsize / 8;
    uint64_t left = disk.f_bavail * disk.f_frsize;
    if (spared > SPARED_BYTES)
        spared = SPARED_BYTES;
    if (left < spared + bytes)
        return false;
    capture->room = (left - spared - bytes) / 16;
    if (capture->room > LOOK_BYTES)
        capture->room = LOOK_BYTES;
    return true;
}

/* False: some were lost. */
static bool try_file(struct guard_capture *capture, const char *p,
                     size_t bytes) {
    size_t rest = bytes;
    int sys = ENOSPC;
    if (has_room(capture, bytes)) {
        if (write_gone(capture))
            rest = write_bytes(capture, p, bytes);
        sys = errno;
    }
    if (rest > 0)
        keep_refused(capture, rest, sys);
    return rest == 0;
}

static void write_file(struct guard_capture *capture, const char *p,
                       size_t bytes) {
    (void)try_file(capture, p, bytes);
}

/* A ring of `max` bytes in memory: grows until it is full, then wraps around.
 */
static void ring_add(struct guard_capture *capture, size_t max, const char *p,
                     size_t bytes) {
    struct text *ring = &capture->memory;
    if (bytes > max) {
        p += bytes - max;
        bytes = max;
    }
    size_t room = max - ring->len;
    size_t first = bytes < room ? bytes : room;
    text_add(ring, p, first);
    p += first;
    bytes -= first;
    while (bytes > 0) {
        size_t part = max - capture->ring_at;
        if (part > bytes)
            part = bytes;
        memcpy(ring->p + capture->ring_at, p, part);
        capture->ring_at = (capture->ring_at + part) % max;
        p += part;
        bytes -= part;
    }
}

/* Adds another marked line. False: it was lost, because the disk is full. */
static bool say(struct guard_capture *capture, const char *mark, int bytes) {
    enum stamp_stream stream = capture->stream;
    capture->stream = STAMP_OURS;
    bool ok = try_file(capture, mark, (size_t)bytes);
    capture->stream = stream;
    return ok;
}

static void enter_ring(struct guard_capture *capture) {
    char mark[128];
    int n = snprintf(mark, sizeof mark,
                     "\n[pointsman: output limit reached; only the last %llu "
                     "bytes of the rest are kept]\n",
                     (unsigned long long)capture->tail_max);
    (void)say(capture, mark, n);
    text_reset(&capture->memory);
    capture->ring = true;
}

/* Calls `add` for the bytes of each run. The first `skip` bytes of the runs
 * have been dropped; bytes after the last run are added without a stamp. */
typedef void add_piece(struct guard_capture *capture, const char *p,
                       size_t bytes);

static void replay(struct guard_capture *capture, struct span bytes,
                   struct span coded, uint64_t skip, add_piece *add) {
    enum stamp_stream stream = capture->stream;
    int64_t ms = capture->ms;
    struct stamp_walk walk = {0};
    struct stamp run;
    while (bytes.len > 0 && stamp_take(&walk, &coded, &run)) {
        uint64_t gone = skip < run.bytes ? skip : run.bytes;
        skip -= gone;
        run.bytes -= gone;
        size_t part = run.bytes < bytes.len ? (size_t)run.bytes : bytes.len;
        capture->stream = run.stream;
        capture->ms = run.ms;
        if (part > 0)
            add(capture, bytes.p, part);
        bytes = span_make(bytes.p + part, bytes.len - part);
    }
    capture->stream = stream;
    capture->ms = ms;
    if (bytes.len > 0)
        add(capture, bytes.p, bytes.len);
}

/* Drops the runs of bytes that the ring has overwritten. */
static void trim_ring_stamps(struct guard_capture *capture) {
    struct stamps *stamps = &capture->ring_stamps;
    struct stamps kept = STAMPS_INIT;
    struct stamp_walk walk = {0};
    struct stamp run;
    uint64_t skip = capture->ring_stamped - capture->memory.len;
    stamps_close(stamps);
    struct span coded = text_span(&stamps->coded);
    while (stamp_take(&walk, &coded, &run)) {
        uint64_t gone = skip < run.bytes ? skip : run.bytes;
        skip -= gone;
        stamps_add(&kept, run.stream, run.ms, run.bytes - gone);
    }
    stamps_clear(stamps);
    *stamps = kept;
    capture->ring_stamped = capture->memory.len;
    capture->ring_stamps_trim = 2 * kept.coded.len + TRIM_BYTES;
}

static void stamp_ring(struct guard_capture *capture, size_t bytes) {
    struct stamps *stamps = &capture->ring_stamps;
    if (!capture->stamped)
        return;
    stamps_add(stamps, capture->stream, capture->ms, bytes);
    capture->ring_stamped += bytes;
    if (stamps->coded.len > capture->ring_stamps_trim)
        trim_ring_stamps(capture);
}

static void add_file(struct guard_capture *capture, const char *p,
                     size_t bytes) {
    if (!capture->ring) {
        uint64_t room = capture->bytes < capture->head_max
                            ? capture->head_max - capture->bytes
                            : 0;
        if (bytes <= room) {
            write_file(capture, p, bytes);
            return;
        }
        write_file(capture, p, (size_t)room);
        p += room;
        bytes -= (size_t)room;
        enter_ring(capture);
    }
    capture->rung += bytes;
    ring_add(capture, (size_t)capture->tail_max, p, bytes);
    stamp_ring(capture, bytes);
}

/* Opened before the output file, so that a reader who finds that also finds the
 * stamps. */
static void open_stamps(struct guard_capture *capture) {
    char path[PATH_MAX];
    if (!capture->stamped)
        return;
    int n = snprintf(path, sizeof path, "%s.stamps", capture->path);
    errno = ENAMETOOLONG;
    if (n > 0 && (size_t)n < sizeof path)
        capture->stamps_fd = openat(capture->dir_fd, path,
                                    O_WRONLY | O_CREAT | O_EXCL | O_APPEND |
                                        O_NOFOLLOW | O_CLOEXEC,
                                    0600);
    if (capture->stamps_fd < 0)
        lose_stamps(capture, errno);
    else
        owner_inherit(capture->stamps_fd, capture->dir_fd);
}

void guard_capture_spill(struct guard_capture *capture) {
    capture->eager = true;
    if (capture->path == NULL || capture->fd >= 0 || capture->total == 0)
        return;
    stamps_close(&capture->stamps);
    struct stamps stamps = capture->stamps;
    capture->stamps = STAMPS_INIT;
    open_stamps(capture);
    capture->fd = openat(
        capture->dir_fd, capture->path,
        O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (capture->fd < 0) {
        /* Without a file the last bytes stay in memory, as without a path. */
        capture->lost = true;
        capture->sys = errno;
        capture->path = NULL;
        if (capture->stamped)
            lose_stamps(capture, capture->sys);
        stamps_clear(&stamps);
        return;
    }
    owner_inherit(capture->fd, capture->dir_fd);
    capture->filed = true;
    struct text early = capture->memory;
    capture->memory = TEXT_INIT;
    replay(capture, text_span(&early), text_span(&stamps.coded), 0, add_file);
    text_clear(&early);
    stamps_clear(&stamps);
}

void guard_capture_add(struct guard_capture *capture, enum stamp_stream stream,
                       int64_t ms, const char *p, size_t bytes) {
    capture->total += bytes;
    if (capture->fd < 0 && capture->path != NULL &&
        (capture->eager || capture->memory.len + bytes > capture->inline_max))
        guard_capture_spill(capture);
    capture->stream = stream;
    capture->ms = ms;
    if (capture->fd >= 0) {
        add_file(capture, p, bytes);
    } else {
        ring_add(capture, capture->inline_max, p, bytes);
        stamp(capture, bytes);
    }
}

/* If the disk is full, the stamps are lost first. */
void guard_capture_flush(struct guard_capture *capture) {
    struct text *coded = &capture->stamps.coded;
    if (!capture->stamped || capture->stamps_fd < 0)
        return;
    stamps_close(&capture->stamps);
    size_t at = 0;
    while (at < coded->len) {
        ssize_t n = write(capture->stamps_fd, coded->p + at, coded->len - at);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0) {
            lose_stamps(capture, n < 0 ? errno : ENOSPC);
            return;
        }
        at += (size_t)n;
    }
    text_reset(coded);
}

/* Puts the ring's bytes into their order. */
static void ring_straighten(struct guard_capture *capture) {
    struct text *ring = &capture->memory;
    if (capture->ring_at == 0)
        return;
    struct text straight = TEXT_INIT;
    text_add(&straight, ring->p + capture->ring_at,
             ring->len - capture->ring_at);
    text_add(&straight, ring->p, capture->ring_at);
    text_clear(ring);
    *ring = straight;
    capture->ring_at = 0;
}

static void write_tail(struct guard_capture *capture) {
    char mark[128];
    uint64_t kept = capture->memory.len;
    int n = snprintf(mark, sizeof mark, "[pointsman: %llu bytes omitted]\n",
                     (unsigned long long)(capture->rung - kept));
    if (capture->rung > kept && !say(capture, mark, n))
        keep_lost(capture, capture->rung - kept, capture->sys);
    stamps_close(&capture->ring_stamps);
    replay(capture, text_span(&capture->memory),
           text_span(&capture->ring_stamps.coded),
           capture->stamped ? capture->ring_stamped - kept : 0, write_file);
    text_reset(&capture->memory);
}

void guard_capture_finish(struct guard_capture *capture) {
    ring_straighten(capture);
    stamps_close(&capture->stamps);
    if (capture->fd < 0) {
        capture->lost &= capture->total > capture->memory.len;
        if (capture->lost) /* there was no file for them */
            keep_lost(capture, capture->total - capture->memory.len,
                      capture->sys);
        return;
    }
    if (capture->ring)
        write_tail(capture);
    (void)write_gone(capture);
    guard_capture_flush(capture);
    close_stamps(capture);
    close(capture->fd);
    capture->fd = -1;
}

bool guard_capture_in_file(const struct guard_capture *capture) {
    return capture->filed;
}

struct span guard_capture_inline(const struct guard_capture *capture) {
    return text_span(&capture->memory);
}

struct span guard_capture_stamps(const struct guard_capture *capture) {
    return capture->filed ? (struct span){0}
                          : text_span(&capture->stamps.coded);
}
