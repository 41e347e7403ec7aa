/* 4-ary heap of pointers, smallest first by a comparison given at init. Each
 * element stores its place, so it can be removed or re-sorted: it has a member
 * `size_t place` at offset `place_at`, 0 = not in the heap (places count from
 * 1). */
#ifndef POINTSMAN_LIB_HEAP_H
#define POINTSMAN_LIB_HEAP_H

#include <stdbool.h>
#include <stddef.h>

struct heap {
    void **items;
    size_t count, cap;
    size_t place_at;
    int (*compare)(const void *a, const void *b);
};

void heap_init(struct heap *heap, size_t place_at,
               int (*compare)(const void *a, const void *b));
void heap_clear(struct heap *heap); /* frees the table, not the items */
void heap_push(struct heap *heap, void *item); /* must not be in a heap */
void *heap_first(const struct heap *heap);     /* NULL when empty */
void *heap_pop(struct heap *heap);             /* NULL when empty */
/* Removes the item; no effect if it is not in the heap. */
void heap_remove(struct heap *heap, void *item);
/* Call it after a change of the item's key; no effect if not in the heap. */
void heap_changed(struct heap *heap, void *item);
bool heap_has(const struct heap *heap, const void *item);

#endif
