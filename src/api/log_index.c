#include "api/log_index.h"

#include <errno.h>
#include <unistd.h>

enum { BLOCK_BYTES = 64 << 10 };

void log_indexes_clear(struct log_indexes *indexes) {
    for (size_t i = 0; i < LOG_INDEXES; i++)
        text_clear(&indexes->items[i].marks);
    *indexes = (struct log_indexes){0};
}

/* The index of that name, else the least recently used one, emptied. */
static struct log_index *index_of(struct log_indexes *indexes,
                                  struct log_name name) {
    struct log_index *oldest = &indexes->items[0];

    for (size_t i = 0; i < LOG_INDEXES; i++) {
        struct log_index *it = &indexes->items[i];
        if (it->name.num == name.num && it->name.task == name.task &&
            it->name.attempt == name.attempt)
            return it;
        if (it->used < oldest->used)
            oldest = it;
    }
    text_clear(&oldest->marks);
    *oldest = (struct log_index){.name = name, .index = LINE_INDEX_INIT};
    return oldest;
}

bool log_index_find(struct log_indexes *indexes, struct log_name name,
                    const struct output_view *view, uint64_t line,
                    struct line_index_place *ret_place) {
    static char block[BLOCK_BYTES];
    struct log_index *it = index_of(indexes, name);
    uint64_t stop = it->index.bytes + LOG_INDEX_STEP_BYTES;

    it->used = ++indexes->uses;
    while (it->index.lines < line && it->index.bytes < view->bytes) {
        if (it->index.bytes >= stop)
            return false;
        ssize_t got =
            output_view_read(view, it->index.bytes, block, BLOCK_BYTES);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            break;
        line_index_feed(&it->index, span_make(block, (size_t)got), &it->marks);
    }
    *ret_place = line_index_find(text_span(&it->marks), line);
    return true;
}

/* Reads the whole piece: packed output comes in frames. */
static bool read_all(const struct output_view *view, char *block, uint64_t at,
                     size_t bytes) {
    while (bytes > 0) {
        ssize_t got = output_view_read(view, at, block, bytes);
        if (got < 0 && errno == EINTR)
            got = 0;
        if (got <= 0)
            return false;
        block += got;
        at += (uint64_t)got;
        bytes -= (size_t)got;
    }
    return true;
}

uint64_t log_tail_begin(const struct output_view *view, uint64_t lines) {
    static char block[BLOCK_BYTES];
    uint64_t end = view->bytes, left = lines;
    bool last = true;

    if (lines == 0)
        return end;
    while (end > 0) {
        size_t bytes = end < sizeof(block) ? (size_t)end : sizeof(block);
        if (!read_all(view, block, end - bytes, bytes))
            return 0;
        for (size_t i = bytes; i-- > 0;) {
            bool closes = last && i == bytes - 1; /* the LF of the last line */
            last = false;
            if (block[i] == '\n' && !closes && --left == 0)
                return end - bytes + i + 1;
        }
        end -= bytes;
    }
    return 0;
}
