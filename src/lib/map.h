/* Hash map from bytes to pointers; keys are copied. The program calls
 * map_seed() once, before anything is in a map, so that nobody can send keys
 * that collide; tests and the simulator keep the seed 0. Order of iteration is
 * order of insertion while nothing was removed; after removals it is still the
 * same for the same sequence of calls. */
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

void map_seed(uint64_t seed);
/* Frees keys and table, not the values. */
void map_clear(struct map *map);
size_t map_count(const struct map *map);
/* The value, or NULL. */
void *map_get(const struct map *map, struct span key);
/* Sets it (value not NULL). Returns the value that was there, or NULL. */
void *map_put(struct map *map, struct span key, void *value);
/* Removes it. Returns the value that was there, or NULL. */
void *map_remove(struct map *map, struct span key);
/* A number as a key; it lives as long as *num. */
static inline struct span map_num_key(const uint64_t *num) {
    return span_make(num, sizeof(*num));
}
/* Walks: *cursor starts at 0. False at the end. Putting or removing during a
 * walk is not allowed, but removing the entry just returned is. */
bool map_next(const struct map *map, size_t *cursor, struct span *ret_key,
              void **ret_value);
/* Slots that the longest search of this process looked at, over all maps: far
 * above a few hundred, somebody knows the seed or the hash is bad. */
size_t map_longest_search(void);
uint64_t map_hash_bytes(const void *p, size_t bytes); /* seeded as above */

#endif
