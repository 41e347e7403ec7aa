#include "base/arena.h"

#include <stdalign.h>
#include <stdlib.h>

enum { BLOCK_BYTES = 4096, BLOCK_MOST = 64 * 1024 };

struct arena_block {
    struct arena_block *next;
    size_t bytes; /* of data */
    alignas(max_align_t) char data[];
};

static struct arena_block *block_new(size_t bytes) {
    struct arena_block *block;

    /* SIZE_MAX is more than mem_alloc() can give: it says so and ends. */
    block = mem_alloc(
        bytes > SIZE_MAX - sizeof(*block) ? SIZE_MAX : sizeof(*block) + bytes);
    block->bytes = bytes;
    return block;
}

void arena_clear(struct arena *arena) {
    struct arena_block *block = arena->first;

    while (block != NULL) {
        struct arena_block *next = block->next;

        free(block);
        block = next;
    }
    *arena = ARENA_INIT;
}

/* A new first block, twice the size of the last up to a limit. */
static void block_push(struct arena *arena) {
    size_t bytes = BLOCK_BYTES - sizeof(struct arena_block);
    struct arena_block *block;

    if (arena->first != NULL)
        bytes = arena->first->bytes < BLOCK_MOST / 2 ? 2 * arena->first->bytes
                                                     : BLOCK_MOST;
    block = block_new(bytes);
    block->next = arena->first;
    arena->first = block;
    arena->used_bytes = 0;
}

/* Too large for the ordinary blocks: one of its own, behind the first. */
static void *alone(struct arena *arena, size_t bytes) {
    struct arena_block *block;

    if (arena->first == NULL)
        block_push(arena);
    block = block_new(bytes);
    block->next = arena->first->next;
    arena->first->next = block;
    return block->data;
}

void *arena_alloc(struct arena *arena, size_t bytes) {
    const size_t step = alignof(max_align_t);
    void *p;

    if (bytes > BLOCK_BYTES / 4)
        return alone(arena, bytes);
    bytes = (bytes + step - 1) / step * step;
    if (arena->first == NULL || bytes > arena->first->bytes - arena->used_bytes)
        block_push(arena);
    p = arena->first->data + arena->used_bytes;
    arena->used_bytes += bytes;
    return p;
}

char *arena_string(struct arena *arena, struct span span) {
    char *p = arena_alloc(arena, span.len + 1);

    if (span.len > 0)
        memcpy(p, span.p, span.len);
    return p;
}

struct span arena_span(struct arena *arena, struct span span) {
    return span_make(arena_string(arena, span), span.len);
}

char *arena_printf(struct arena *arena, const char *format, ...) {
    CLEANUP(text_clear) struct text text = TEXT_INIT;
    va_list args;

    va_start(args, format);
    text_addv(&text, format, args);
    va_end(args);
    return arena_string(arena, text_span(&text));
}
