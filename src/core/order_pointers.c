#include "core/order_inner.h"

#include <stdlib.h>

void order_pointers_push(struct order_pointers *pointers, void *p) {
    if (pointers->count == pointers->cap) {
        pointers->cap = pointers->cap > 0 ? 2 * pointers->cap : 16;
        pointers->p =
            mem_grow(pointers->p, pointers->cap, sizeof(*pointers->p));
    }
    pointers->p[pointers->count++] = p;
}

void order_pointers_clear(struct order_pointers *pointers) {
    free(pointers->p);
    *pointers = (struct order_pointers){0};
}
