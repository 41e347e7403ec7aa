#include "api/log_origin.h"

#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "wire/line_index.h"

enum {
    BLOCK_BYTES = 64 << 10,
    STEP_BYTES = 4 << 20, /* of an output, looked at in one call */
    WINDOW_BYTES = 256 << 10
};

static void rewind_to_begin(struct log_origin *origin) {
    text_reset(&origin->block);
    origin->block_at = 0;
    origin->read = 0;
    origin->walk = (struct stamp_walk){0};
    origin->run = (struct stamp){0};
    origin->run_end = 0;
}

static void update_size(struct log_origin *origin) {
    struct stat st;
    if (origin->fd >= 0 && origin->place[0] == 'f' &&
        fstat(origin->fd, &st) == 0)
        origin->bytes = (uint64_t)st.st_size;
}

void log_origin_open(struct log_origin *origin, struct output *output,
                     struct span place) {
    if (origin->fd >= 0 && span_is(place, origin->place)) {
        update_size(origin);
        return;
    }
    log_origin_close(origin);
    if (place.len >= sizeof(origin->place))
        return;
    snprintf(origin->place, sizeof(origin->place), "%.*s", (int)place.len,
             place.p);
    origin->fd =
        output_stamps_open(output, place, &origin->first, &origin->bytes);
}

void log_origin_close(struct log_origin *origin) {
    if (origin->fd >= 0)
        close(origin->fd);
    text_clear(&origin->block);
    *origin = LOG_ORIGIN_INIT;
}

/* Reads more stamps after the remaining ones. False: there are none. */
static bool fill(struct log_origin *origin) {
    struct text *block = &origin->block;
    size_t left = block->len - origin->block_at;
    uint64_t more = origin->bytes - origin->read;
    if (origin->fd < 0 || more == 0)
        return false;
    if (left > 0)
        memmove(block->p, block->p + origin->block_at, left);
    block->len = left;
    origin->block_at = 0;
    size_t want = more < BLOCK_BYTES ? (size_t)more : BLOCK_BYTES;
    text_reserve(block, want);
    ssize_t got;
    do
        got = pread(origin->fd, block->p + left, want,
                    origin->first + (off_t)origin->read);
    while (got < 0 && errno == EINTR);
    if (got <= 0)
        return false;
    block->len += (size_t)got;
    origin->read += (uint64_t)got;
    return true;
}

static bool next_run(struct log_origin *origin) {
    size_t before = origin->block.len - origin->block_at;
    if (before == 0)
        return false;
    struct span rest = span_make(origin->block.p + origin->block_at, before);
    if (!stamp_take(&origin->walk, &rest, &origin->run))
        return false;
    origin->block_at += before - rest.len;
    if (origin->run.bytes > UINT64_MAX - origin->run_end)
        origin->run.bytes = UINT64_MAX - origin->run_end;
    origin->run_end += origin->run.bytes;
    return true;
}

enum log_origin_found log_origin_find(struct log_origin *origin, uint64_t at,
                                      struct stamp *ret_run) {
    if (at < origin->run_end - origin->run.bytes)
        rewind_to_begin(origin);
    uint64_t stop = origin->read + LOG_ORIGIN_STEP_BYTES;
    while (origin->run_end <= at) {
        if (next_run(origin))
            continue;
        if (origin->read >= stop)
            return LOG_ORIGIN_MORE;
        /* A cut stamp may be complete next time; an invalid one stays
         * invalid. */
        bool is_none = origin->block.len - origin->block_at >=
                       STAMP_BYTES_MAX + STAMP_MAGIC_BYTES;
        if (is_none || !fill(origin))
            return LOG_ORIGIN_NONE;
    }
    *ret_run = origin->run;
    ret_run->bytes = origin->run_end - at;
    return LOG_ORIGIN_FOUND;
}

/* Like log_origin_find, but succeeds for every byte there is: a byte without
 * a stamp is of unknown origin, up to `end`. False: call again to continue. */
static bool find_or_unknown(struct log_origin *origin, uint64_t at,
                            uint64_t end, struct stamp *ret_run) {
    enum log_origin_found found = log_origin_find(origin, at, ret_run);
    if (found == LOG_ORIGIN_NONE)
        *ret_run = (struct stamp){.bytes = end - at, .stream = STAMP_UNKNOWN};
    return found != LOG_ORIGIN_MORE;
}

enum stamp_stream log_origin_shown(enum stamp_stream stream) {
    return stream == STAMP_UNKNOWN ? STAMP_OUT : stream;
}

/* Counts the next bytes of the stream. False: they cannot be read. */
static bool count_some(struct log_tail *tail, const struct output_view *view,
                       uint64_t most, uint64_t *budget) {
    static char block[BLOCK_BYTES];
    size_t bytes = most < sizeof(block) ? (size_t)most : sizeof(block);
    ssize_t got = output_view_read(view, tail->at, block, bytes);
    if (got < 0 && errno == EINTR)
        return true;
    if (got <= 0)
        return false;
    struct span piece = span_make(block, (size_t)got);
    tail->cut = block[got - 1] != '\n';
    tail->feeds += lines_count(piece) - tail->cut;
    tail->at += (uint64_t)got;
    *budget -= (uint64_t)got < *budget ? (uint64_t)got : *budget;
    return true;
}

static void look_back(struct log_tail *tail, uint64_t window) {
    tail->window = window;
    tail->from = tail->end > window ? tail->end - window : 0;
    tail->at = tail->from;
    tail->feeds = 0;
    tail->cut = false;
}

bool log_tail_find(struct log_tail *tail, struct log_origin *origin,
                   const struct output_view *view, uint64_t *ret_at,
                   uint64_t *ret_skip) {
    uint64_t budget = STEP_BYTES;
    if (tail->window == 0) {
        tail->end = view->bytes;
        look_back(tail, WINDOW_BYTES);
    }
    for (;;) {
        while (tail->at < tail->end) {
            struct stamp run;
            if (budget == 0 ||
                !find_or_unknown(origin, tail->at, tail->end, &run))
                return false;
            if (run.bytes > tail->end - tail->at)
                run.bytes = tail->end - tail->at;
            if (log_origin_shown(run.stream) != tail->stream)
                tail->at += run.bytes;
            else if (!count_some(tail, view, run.bytes, &budget))
                tail->end = tail->at;
        }
        uint64_t lines = tail->feeds + tail->cut;
        if (lines > tail->lines || tail->from == 0) {
            *ret_at = tail->from;
            *ret_skip = lines > tail->lines ? lines - tail->lines : 0;
            return true;
        }
        look_back(tail, tail->window * 4);
    }
}
