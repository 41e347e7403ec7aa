#include "os/guard_capture.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

void capture_init(struct capture *capture, int dir_fd, const char *path,
                  uint32_t inline_max, uint64_t limit) {
    if (inline_max == 0)
        inline_max = CAPTURE_INLINE_BYTES;
    if (inline_max > CAPTURE_INLINE_MAX)
        inline_max = CAPTURE_INLINE_MAX;
    if (limit == 0)
        limit = CAPTURE_LIMIT_BYTES;
    uint64_t tail =
        limit / 2 < CAPTURE_TAIL_BYTES ? limit / 2 : CAPTURE_TAIL_BYTES;
    *capture = (struct capture){.dir_fd = dir_fd,
                                .path = path,
                                .fd = -1,
                                .inline_max = inline_max,
                                .head_max = limit - tail,
                                .tail_max = tail};
}

void capture_clear(struct capture *capture) {
    text_clear(&capture->memory);
    if (capture->fd >= 0)
        close(capture->fd);
    capture->fd = -1;
}

static void keep_refused(struct capture *capture, size_t bytes, int sys) {
    capture->lost = true;
    capture->gone += bytes;
    capture->sys = sys;
}

/* The rest that could not be written. */
static size_t write_bytes(struct capture *capture, const char *p,
                          size_t bytes) {
    while (bytes > 0) {
        ssize_t n = write(capture->fd, p, bytes);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            break;
        capture->bytes += (uint64_t)n;
        p += n;
        bytes -= (size_t)n;
    }
    return bytes;
}

/* Says in the file what is missing there, as soon as there is room. */
static bool write_gone(struct capture *capture) {
    char mark[128];
    if (capture->gone == 0)
        return true;
    int n = snprintf(
        mark, sizeof mark, "\n[pointsman: %llu bytes lost here: %s]\n",
        (unsigned long long)capture->gone, strerrordesc_np(capture->sys));
    if (write_bytes(capture, mark, (size_t)n) > 0)
        return false;
    capture->gone = 0;
    return true;
}

static void write_file(struct capture *capture, const char *p, size_t bytes) {
    if (!write_gone(capture)) {
        keep_refused(capture, bytes, errno);
        return;
    }
    size_t rest = write_bytes(capture, p, bytes);
    if (rest > 0)
        keep_refused(capture, rest, errno);
}

/* A ring of `max` bytes in memory: grows until it is full, then turns. */
static void ring_add(struct capture *capture, size_t max, const char *p,
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

static void enter_ring(struct capture *capture) {
    char mark[128];
    int n = snprintf(mark, sizeof mark,
                     "\n[pointsman: limit reached; of what follows only the "
                     "last %llu bytes are kept]\n",
                     (unsigned long long)capture->tail_max);
    write_file(capture, mark, (size_t)n);
    text_reset(&capture->memory);
    capture->ring = true;
}

static void add_file(struct capture *capture, const char *p, size_t bytes) {
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
}

void capture_spill(struct capture *capture) {
    capture->eager = true;
    if (capture->path == NULL || capture->fd >= 0 || capture->total == 0)
        return;
    capture->fd = openat(
        capture->dir_fd, capture->path,
        O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0640);
    if (capture->fd < 0) {
        /* No file, then: the last bytes stay in memory, as without a path. */
        capture->lost = true;
        capture->sys = errno;
        capture->path = NULL;
        return;
    }
    capture->filed = true;
    struct text early = capture->memory;
    capture->memory = TEXT_INIT;
    add_file(capture, early.p, early.len);
    text_clear(&early);
}

void capture_add(struct capture *capture, const char *p, size_t bytes) {
    capture->total += bytes;
    if (capture->fd < 0 && capture->path != NULL &&
        (capture->eager || capture->memory.len + bytes > capture->inline_max))
        capture_spill(capture);
    if (capture->fd >= 0)
        add_file(capture, p, bytes);
    else
        ring_add(capture, capture->inline_max, p, bytes);
}

/* The ring's bytes in their order. */
static void ring_straighten(struct capture *capture) {
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

static void write_tail(struct capture *capture) {
    char mark[128];
    if (capture->rung > capture->memory.len) {
        int n = snprintf(
            mark, sizeof mark, "[pointsman: %llu bytes left out here]\n",
            (unsigned long long)(capture->rung - capture->memory.len));
        write_file(capture, mark, (size_t)n);
    }
    write_file(capture, capture->memory.p, capture->memory.len);
    text_reset(&capture->memory);
}

void capture_finish(struct capture *capture) {
    ring_straighten(capture);
    if (capture->fd < 0)
        return;
    if (capture->ring)
        write_tail(capture);
    write_gone(capture);
    close(capture->fd);
    capture->fd = -1;
}

bool capture_in_file(const struct capture *capture) {
    return capture->filed;
}

struct span capture_inline(const struct capture *capture) {
    return text_span(&capture->memory);
}
