#include "lib/map.h"

#include <stdatomic.h>
#include <stdlib.h>

/* Entries lie in insertion order in one array; a removed entry leaves a hole
 * until the next rebuild. Slots are an open-addressed table of 32-bit entry
 * numbers, at most 3/4 full; a removal closes the gap by moving later slots
 * back, so that no tombstones are needed. */
struct map_slot {
    uint32_t tag;   /* upper half of the hash: most misses end here */
    uint32_t entry; /* number + 1; 0: free */
};

/* A short key is stored in the entry itself: most keys are numbers. */
enum { KEY_INSIDE = 8, NO_KEY = -1 };

struct map_entry {
    union {
        char *out;
        char in[KEY_INSIDE];
    } key;
    ssize_t key_bytes; /* NO_KEY: a hole */
    uint64_t hash;
    void *value;
};

static bool is_hole(const struct map_entry *entry) {
    return entry->key_bytes == NO_KEY;
}

static struct span entry_key(const struct map_entry *entry) {
    return span_make(entry->key_bytes > KEY_INSIDE ? entry->key.out
                                                   : entry->key.in,
                     (size_t)entry->key_bytes);
}

static void entry_set_key(struct map_entry *entry, struct span key) {
    entry->key_bytes = (ssize_t)key.len;
    if (key.len > KEY_INSIDE)
        entry->key.out = mem_copy(key.p, key.len);
    else if (key.len > 0)
        memcpy(entry->key.in, key.p, key.len);
}

static void entry_clear(struct map_entry *entry) {
    if (entry->key_bytes > KEY_INSIDE)
        free(entry->key.out);
    *entry = (struct map_entry){.key_bytes = NO_KEY};
}

static uint64_t hash_seed;

void map_seed(uint64_t seed) {
    hash_seed = seed;
}

static uint64_t hash_mix(uint64_t a, uint64_t b) {
    unsigned __int128 product = (unsigned __int128)a * b;

    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

static uint64_t hash_word(const unsigned char *p, size_t bytes) {
    uint64_t word = 0;

    memcpy(&word, p, bytes);
    return word;
}

uint64_t map_hash_bytes(const void *bytes_at, size_t bytes) {
    const uint64_t k0 = UINT64_C(0xa0761d6478bd642f);
    const uint64_t k1 = UINT64_C(0xe7037ed1a0b428db);
    const unsigned char *p = bytes_at;
    uint64_t hash = hash_mix(hash_seed ^ k0, (uint64_t)bytes ^ k1);

    for (; bytes > 8; p += 8, bytes -= 8)
        hash = hash_mix(hash ^ hash_word(p, 8), k1);
    if (bytes > 0)
        hash = hash_mix(hash ^ hash_word(p, bytes), k0);
    return hash_mix(hash, k1);
}

void map_clear(struct map *map) {
    for (size_t i = 0; i < map->used; i++)
        entry_clear(&map->entries[i]);
    free(map->entries);
    free(map->slots);
    *map = MAP_INIT;
}

size_t map_count(const struct map *map) {
    return map->live;
}

static uint32_t hash_tag(uint64_t hash) {
    return (uint32_t)(hash >> 32);
}

/* For a number one comparison is enough. */
static bool is_key(const struct map_entry *entry, struct span key) {
    if (key.len == KEY_INSIDE && entry->key_bytes == KEY_INSIDE)
        return memcmp(entry->key.in, key.p, KEY_INSIDE) == 0;
    return span_equal(entry_key(entry), key);
}

static atomic_size_t longest_search;

size_t map_longest_search(void) {
    return atomic_load_explicit(&longest_search, memory_order_relaxed);
}

/* Another thread may write at the same moment: either of two long searches is a
 * sufficient warning. */
static void note_search(size_t steps) {
    if (steps > map_longest_search())
        atomic_store_explicit(&longest_search, steps, memory_order_relaxed);
}

/* The slot that holds `key`, or the free one where it belongs. */
static size_t slot_find(const struct map *map, struct span key, uint64_t hash) {
    size_t mask = map->slot_count - 1, home = hash & mask, at = home;

    for (;; at = (at + 1) & mask) {
        const struct map_slot *slot = &map->slots[at];

        if (slot->entry == 0 || (slot->tag == hash_tag(hash) &&
                                 is_key(&map->entries[slot->entry - 1], key)))
            break;
    }
    note_search((at - home) & mask);
    return at;
}

static void slots_fill(struct map *map) {
    size_t mask = map->slot_count - 1;

    for (size_t i = 0; i < map->used; i++) {
        uint64_t hash = map->entries[i].hash;
        size_t at = hash & mask;

        while (map->slots[at].entry != 0)
            at = (at + 1) & mask;
        map->slots[at] = (struct map_slot){hash_tag(hash), (uint32_t)(i + 1)};
    }
}

/* Closes the holes and makes room for one more entry. The table grows only if
 * it was filled by live entries, not by holes. */
static void map_rebuild(struct map *map) {
    size_t kept = 0, slots = map->slot_count;

    for (size_t i = 0; i < map->used; i++)
        if (!is_hole(&map->entries[i]))
            map->entries[kept++] = map->entries[i];
    map->used = kept;
    if (slots == 0)
        slots = 8;
    else if (map->live >= slots / 2)
        slots *= 2;
    free(map->slots);
    map->slot_count = slots;
    map->slots = mem_alloc(slots * sizeof(*map->slots));
    map->entry_count = slots / 4 * 3;
    map->entries =
        mem_grow(map->entries, map->entry_count, sizeof(*map->entries));
    slots_fill(map);
}

void *map_get(const struct map *map, struct span key) {
    const struct map_slot *slot;

    if (map->live == 0)
        return NULL;
    slot = &map->slots[slot_find(map, key, map_hash_bytes(key.p, key.len))];
    return slot->entry != 0 ? map->entries[slot->entry - 1].value : NULL;
}

void *map_put(struct map *map, struct span key, void *value) {
    uint64_t hash = map_hash_bytes(key.p, key.len);
    size_t at = 0;

    if (map->slot_count > 0) {
        at = slot_find(map, key, hash);
        if (map->slots[at].entry != 0) {
            struct map_entry *entry = &map->entries[map->slots[at].entry - 1];
            void *old = entry->value;

            entry->value = value;
            return old;
        }
    }
    if (map->used == map->entry_count) {
        map_rebuild(map);
        at = slot_find(map, key, hash);
    }
    struct map_entry *entry = &map->entries[map->used++];
    *entry = (struct map_entry){.hash = hash, .value = value};
    entry_set_key(entry, key);
    map->slots[at] = (struct map_slot){hash_tag(hash), (uint32_t)map->used};
    map->live++;
    return NULL;
}

/* Moves back every later slot of the run that may stand at the gap. */
static void gap_close(struct map *map, size_t gap) {
    size_t mask = map->slot_count - 1;

    for (size_t at = (gap + 1) & mask; map->slots[at].entry != 0;
         at = (at + 1) & mask) {
        size_t home = map->entries[map->slots[at].entry - 1].hash & mask;

        if (((at - home) & mask) < ((at - gap) & mask))
            continue;
        map->slots[gap] = map->slots[at];
        gap = at;
    }
    map->slots[gap] = (struct map_slot){0};
}

void *map_remove(struct map *map, struct span key) {
    struct map_entry *entry;
    size_t at;
    void *value;

    if (map->live == 0)
        return NULL;
    at = slot_find(map, key, map_hash_bytes(key.p, key.len));
    if (map->slots[at].entry == 0)
        return NULL;
    entry = &map->entries[map->slots[at].entry - 1];
    value = entry->value;
    gap_close(map, at);
    /* `key` may be the very bytes that map_next() returned, so this is its last
     * use. */
    entry_clear(entry);
    map->live--;
    return value;
}

bool map_next(const struct map *map, size_t *cursor, struct span *ret_key,
              void **ret_value) {
    while (*cursor < map->used) {
        const struct map_entry *entry = &map->entries[(*cursor)++];

        if (is_hole(entry))
            continue;
        if (ret_key != NULL)
            *ret_key = entry_key(entry);
        if (ret_value != NULL)
            *ret_value = entry->value;
        return true;
    }
    return false;
}
