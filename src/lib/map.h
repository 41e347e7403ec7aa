/* Hash map from bytes to pointers; keys are copied. The program calls
 * map_seed() once, before any map has entries, so that no one can submit
 * colliding keys; tests and the simulator keep the seed 0. Iteration is in
 * insertion order while nothing was removed; after removals the order still
 * depends only on the sequence of calls. */
#ifndef POINTSMAN_LIB_MAP_H
#define POINTSMAN_LIB_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/text.h"

struct map {
    struct map_slot *slots;
    struct map_entry *entries;
    size_t slot_count, entry_count, used, live;
};

#define MAP_INIT ((struct map){0})

void map_seed(uint64_t seed); /* see above; os/clock.h has a seed */
/* Frees keys and table, not the values. */
void map_clear(struct map *map);
size_t map_count(const struct map *map); /* entries */
/* The value, or NULL. */
void *map_get(const struct map *map, struct span key);
/* Sets the value (not NULL). Returns the previous value, or NULL. */
void *map_put(struct map *map, struct span key, void *value);
/* Removes the entry. Returns its value, or NULL if there was none. */
void *map_remove(struct map *map, struct span key);
/* A number as a key; the span is valid as long as *num. */
static inline struct span map_num_key(const uint64_t *num) {
    return span_make(num, sizeof(*num));
}
/* Iterates over the map: *cursor starts at 0. False at the end. During
 * iteration only the entry just returned may be removed, and nothing added. */
bool map_next(const struct map *map, size_t *cursor, struct span *ret_key,
              void **ret_value);
/* Slots inspected by the longest search of this process, over all maps. If it
 * is far above a few hundred, the seed is known to an attacker or the hash is
 * bad. */
size_t map_longest_search(void);
uint64_t map_hash_bytes(const void *p, size_t bytes); /* seeded as above */

#endif
