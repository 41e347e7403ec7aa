/* Generates keys that all have the same hash in an unseeded map. */
#ifndef POINTSMAN_TESTS_SUPPORT_COLLIDE_H
#define POINTSMAN_TESTS_SUPPORT_COLLIDE_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum { COLLIDE_BYTES = 16 };

static inline uint64_t collide_mix(uint64_t a, uint64_t b) {
    unsigned __int128 product = (unsigned __int128)a * b;
    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

static inline bool collide_is_plain(const char *bytes, int count) {
    for (int i = 0; i < count; i++)
        if (bytes[i] <= ' ' || bytes[i] >= 127 ||
            strchr("\"\\/*?[]{}", bytes[i]) != NULL)
            return false;
    return true;
}

/* Generates the next key after *draw, of characters that need no escape
 * anywhere. Its second word cancels the effect of the first word on the hash
 * (src/lib/map.c, map_hash_bytes with the seed 0). The keys collide if the
 * program puts `front`, a multiple of 8 bytes, before each of them. */
static inline void collide_next(const char *front, size_t front_bytes,
                                uint64_t *draw, char key[COLLIDE_BYTES + 1]) {
    const uint64_t k0 = UINT64_C(0xa0761d6478bd642f);
    const uint64_t k1 = UINT64_C(0xe7037ed1a0b428db);
    uint64_t word, begin = collide_mix(k0, (front_bytes + COLLIDE_BYTES) ^ k1);
    for (size_t i = 0; i < front_bytes; i += sizeof word) {
        memcpy(&word, front + i, sizeof word);
        begin = collide_mix(begin ^ word, k1);
    }
    do {
        uint64_t number = (*draw)++;
        for (size_t i = 0; i < sizeof word; i++, number >>= 4)
            key[sizeof word - 1 - i] = "0123456789abcdef"[number & 15];
        memcpy(&word, key, sizeof word);
        word = collide_mix(begin ^ word, k1) ^ UINT64_C(0x0706050403020100);
        memcpy(key + sizeof word, &word, sizeof word);
    } while (!collide_is_plain(key + sizeof word, sizeof word));
    key[COLLIDE_BYTES] = '\0';
}

#endif
