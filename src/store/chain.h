/* The hash chain of the log: each event's hash is SHA-256 over the hash before
 * it and all of its fields, in one fixed encoding. Whoever changes, removes or
 * inserts an event would have to make anew every hash behind it. */
#ifndef POINTSMAN_STORE_CHAIN_H
#define POINTSMAN_STORE_CHAIN_H

#include "store/store.h"

enum { CHAIN_BYTES = 32, CHAIN_HEX_BYTES = 64 };

struct chain {
    struct text scratch;
};

void chain_init(struct chain *chain);
void chain_clear(struct chain *chain);
void chain_next(struct chain *chain, const unsigned char prev[CHAIN_BYTES],
                const struct store_event *event,
                unsigned char ret_hash[CHAIN_BYTES]);
/* 64 hex digits in the arena. */
struct span chain_hex(struct arena *arena,
                      const unsigned char hash[CHAIN_BYTES]);

#endif
