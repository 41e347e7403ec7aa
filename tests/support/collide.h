/* Keys whose hashes are all the same in a map that was not seeded. */
#ifndef POINTSMAN_TESTS_SUPPORT_COLLIDE_H
#define POINTSMAN_TESTS_SUPPORT_COLLIDE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { COLLIDE_BYTES = 16 };

static inline uint64_t collide_mix(uint64_t a, uint64_t b) {
    unsigned __int128 product = (unsigned __int128)a * b;
    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

/* The next key after *draw, letters, digits and a few signs that need no
 * escape anywhere: its second word undoes in the hash what the first one did
 * (src/lib/map.c, map_hash_bytes with the seed 0). */
static inline void collide_next(uint64_t *draw, char key[COLLIDE_BYTES + 1]) {
    const uint64_t k0 = UINT64_C(0xa0761d6478bd642f);
    const uint64_t k1 = UINT64_C(0xe7037ed1a0b428db);
    const uint64_t begin = collide_mix(k0, COLLIDE_BYTES ^ k1);
    for (;;) {
        char first[17];
        snprintf(first, sizeof first, "%08llx", (unsigned long long)(*draw)++);
        uint64_t word;
        memcpy(&word, first, sizeof word);
        uint64_t second =
            collide_mix(begin ^ word, k1) ^ UINT64_C(0x0706050403020100);
        memcpy(key, first, sizeof word);
        memcpy(key + sizeof word, &second, sizeof second);
        key[COLLIDE_BYTES] = '\0';
        bool plain = true;
        for (int i = 8; plain && i < COLLIDE_BYTES; i++)
            plain = key[i] > ' ' && key[i] < 127 &&
                    strchr("\"\\/*?[]{}", key[i]) == NULL;
        if (plain)
            return;
    }
}

#endif
