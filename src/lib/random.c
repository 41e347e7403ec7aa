#include "lib/random.h"

#include <assert.h>
#include <stddef.h>

/* splitmix64: makes four good words from any seed, including 0. */
static uint64_t seed_next(uint64_t *seed) {
    uint64_t z = *seed += UINT64_C(0x9e3779b97f4a7c15);

    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

void random_init(struct random *random, uint64_t seed) {
    for (size_t i = 0; i < 4; i++)
        random->s[i] = seed_next(&seed);
}

static uint64_t rotate(uint64_t x, int bits) {
    return (x << bits) | (x >> (64 - bits));
}

static uint64_t next(struct random *random) {
    uint64_t *s = random->s;
    uint64_t result = rotate(s[1] * 5, 7) * 9, carried = s[1] << 17;

    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= carried;
    s[3] = rotate(s[3], 45);
    return result;
}

uint64_t random_below(struct random *random, uint64_t below) {
    uint64_t draw, skip;

    assert(below > 0);
    /* 2^64 mod below: draws under it would make small results more likely. */
    skip = (UINT64_C(0) - below) % below;
    do {
        draw = next(random);
    } while (draw < skip);
    return draw % below;
}

/* -ln(u) for u = bits / 2^64. The logarithm to the base 2 is found bit by bit:
 * the square of a number has twice its logarithm. */
double random_exponential(uint64_t bits) {
    unsigned zeros = (unsigned)__builtin_clzll(bits | 1);
    double x = (double)(bits << zeros) / (double)(UINT64_C(1) << 63);
    double log = -1.0 - zeros, bit = 0.5;

    for (int i = 0; i < 40; i++, bit /= 2) {
        x *= x;
        if (x >= 2.0) {
            x /= 2.0;
            log += bit;
        }
    }
    return -log * 0.69314718055994530942;
}
