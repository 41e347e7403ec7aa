#include "core/order_inner.h"

#include <stdlib.h>

struct order_key *order_key_new(struct span span) {
    struct order_key *key = mem_alloc(sizeof(*key) + span.len);

    key->refs = 1;
    key->bytes = span.len;
    if (span.len > 0)
        memcpy(key->p, span.p, span.len);
    return key;
}

struct order_key *order_key_ref(struct order_key *key) {
    if (key != NULL)
        key->refs++;
    return key;
}

void order_key_unref(struct order_key *key) {
    if (key != NULL && --key->refs == 0)
        free(key);
}

void order_key_set(struct order_key **slot, struct order_key *key) {
    struct order_key *old = *slot;

    *slot = order_key_ref(key);
    order_key_unref(old);
}

unsigned char order_key_class(const struct order_key *key) {
    return key->bytes > 0 ? (unsigned char)key->p[0] : 0;
}

int order_key_compare(const struct order_key *a, const struct order_key *b) {
    if (a == b)
        return 0;
    return span_compare(span_make(a->p, a->bytes), span_make(b->p, b->bytes));
}
