/* The hash chain of the log: each event's hash is SHA-256 over the previous
 * hash and all fields of the event, in one fixed encoding. Changing,
 * removing or inserting an event means recomputing every later hash. */
#ifndef POINTSMAN_STORE_CHAIN_H
#define POINTSMAN_STORE_CHAIN_H

#include "store/store.h"

enum { CHAIN_BYTES = 32, CHAIN_HEX_BYTES = 64 };

struct chain {
    struct text scratch;
};

void chain_init(struct chain *chain);
void chain_clear(struct chain *chain);
/* The hash of `event`, which follows the event with the hash `prev` (all zeros
 * before the first one). event->hash is not read. */
void chain_next(struct chain *chain, const unsigned char prev[CHAIN_BYTES],
                const struct store_event *event,
                unsigned char ret_hash[CHAIN_BYTES]);
/* 64 hex digits in the arena. */
struct span chain_hex(struct arena *arena,
                      const unsigned char hash[CHAIN_BYTES]);

#endif
