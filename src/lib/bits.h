/* Sets of small numbers: one bit each, in words of 64. */
#ifndef POINTSMAN_LIB_BITS_H
#define POINTSMAN_LIB_BITS_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "lib/mem.h"

static inline bool bits_has(const uint64_t *bits, uint32_t number) {
    return (bits[number / 64] >> (number % 64) & 1) != 0;
}

static inline void bits_put(uint64_t *bits, uint32_t number, bool member) {
    uint64_t bit = UINT64_C(1) << (number % 64);

    bits[number / 64] =
        member ? bits[number / 64] | bit : bits[number / 64] & ~bit;
}

/* Room for numbers below `room`, of which those from `was` on are no members;
 * both are multiples of 64. */
static inline uint64_t *bits_grow(uint64_t *bits, uint32_t was, uint32_t room) {
    bits = mem_grow(bits, room / 64, sizeof(*bits));
    memset(bits + was / 64, 0, (room - was) / 8);
    return bits;
}

#endif
