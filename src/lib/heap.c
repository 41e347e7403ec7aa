#include "lib/heap.h"

#include <assert.h>
#include <stdlib.h>

#include "lib/text.h"

enum { WIDTH = 4 }; /* children: four pointers share half a cache line */

static size_t *place_of(const struct heap *heap, const void *item) {
    return (size_t *)(void *)((char *)(uintptr_t)item + heap->place_at);
}

static void put(struct heap *heap, size_t at, void *item) {
    heap->items[at] = item;
    *place_of(heap, item) = at + 1;
}

static void rise(struct heap *heap, size_t at) {
    void *item = heap->items[at];

    while (at > 0) {
        size_t parent = (at - 1) / WIDTH;

        if (heap->compare(item, heap->items[parent]) >= 0)
            break;
        put(heap, at, heap->items[parent]);
        at = parent;
    }
    put(heap, at, item);
}

static void sink(struct heap *heap, size_t at) {
    void *item = heap->items[at];

    for (;;) {
        size_t child = at * WIDTH + 1, least = child, end = child + WIDTH;

        if (child >= heap->count)
            break;
        if (end > heap->count)
            end = heap->count;
        while (++child < end)
            if (heap->compare(heap->items[child], heap->items[least]) < 0)
                least = child;
        if (heap->compare(item, heap->items[least]) <= 0)
            break;
        put(heap, at, heap->items[least]);
        at = least;
    }
    put(heap, at, item);
}

void heap_init(struct heap *heap, size_t place_at,
               int (*compare)(const void *a, const void *b)) {
    *heap = (struct heap){.place_at = place_at, .compare = compare};
}

void heap_clear(struct heap *heap) {
    free(heap->items);
    heap_init(heap, heap->place_at, heap->compare);
}

void heap_push(struct heap *heap, void *item) {
    assert(!heap_has(heap, item));
    if (heap->count == heap->cap) {
        heap->cap = heap->cap > 0 ? heap->cap + heap->cap / 2 : 16;
        heap->items = mem_grow(heap->items, heap->cap, sizeof(*heap->items));
    }
    heap->items[heap->count] = item;
    rise(heap, heap->count++);
}

void *heap_first(const struct heap *heap) {
    return heap->count > 0 ? heap->items[0] : NULL;
}

void *heap_pop(struct heap *heap) {
    void *item = heap_first(heap);

    if (item != NULL)
        heap_remove(heap, item);
    return item;
}

void heap_remove(struct heap *heap, void *item) {
    size_t at;
    void *last;

    if (!heap_has(heap, item))
        return;
    at = *place_of(heap, item) - 1;
    *place_of(heap, item) = 0;
    last = heap->items[--heap->count];
    if (last == item)
        return;
    put(heap, at, last);
    heap_changed(heap, last);
}

void heap_changed(struct heap *heap, void *item) {
    assert(heap_has(heap, item));
    rise(heap, *place_of(heap, item) - 1);
    sink(heap, *place_of(heap, item) - 1);
}

bool heap_has(const struct heap *heap, const void *item) {
    size_t place = *place_of(heap, item);

    return place > 0 && place <= heap->count && heap->items[place - 1] == item;
}
