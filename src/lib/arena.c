#include "lib/arena.h"

#include <stdalign.h>
#include <stdlib.h>

/* Most arenas are small and short-lived: their only block has a size that
 * malloc caches for each thread. */
enum { BLOCK_FIRST = 1024 - 16, BLOCK_MOST = 64 * 1024, PIECE_MOST = 1024 };

struct arena_block {
    struct arena_block *next;
    size_t bytes; /* of data */
    alignas(max_align_t) char data[];
};

static struct arena_block *block_new(size_t bytes) {
    struct arena_block *block;

    /* mem_alloc() fails for SIZE_MAX: it reports that and exits. */
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

/* Adds a new first block for a piece of that size, twice the size of the last
 * up to a limit. */
static void block_push(struct arena *arena, size_t piece) {
    size_t bytes = BLOCK_FIRST - sizeof(struct arena_block);
    struct arena_block *block;

    if (arena->first != NULL)
        bytes = 2 * arena->first->bytes;
    while (bytes < piece)
        bytes *= 2;
    if (bytes > BLOCK_MOST)
        bytes = BLOCK_MOST;
    block = block_new(bytes);
    block->next = arena->first;
    arena->first = block;
    arena->used_bytes = 0;
}

/* A piece too large for an ordinary block gets a separate one, behind the
 * first. */
static void *alone(struct arena *arena, size_t bytes) {
    struct arena_block *block;

    if (arena->first == NULL)
        block_push(arena, 0);
    block = block_new(bytes);
    block->next = arena->first->next;
    arena->first->next = block;
    return block->data;
}

void *arena_alloc(struct arena *arena, size_t bytes) {
    const size_t step = alignof(max_align_t);
    void *p;

    if (bytes > PIECE_MOST)
        return alone(arena, bytes);
    bytes = (bytes + step - 1) / step * step;
    if (arena->first == NULL || bytes > arena->first->bytes - arena->used_bytes)
        block_push(arena, bytes);
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
