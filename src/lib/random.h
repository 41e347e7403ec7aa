/* A small deterministic generator (xoshiro256**): the same seed gives the same
 * numbers on every machine. Not for secrets. Real seeds come from os/clock. */
#ifndef POINTSMAN_LIB_RANDOM_H
#define POINTSMAN_LIB_RANDOM_H

#include <stdint.h>

struct random {
    uint64_t s[4];
};

void random_init(struct random *random, uint64_t seed);
/* 0 <= result < below, unbiased; below must be > 0. */
uint64_t random_below(struct random *random, uint64_t below);
/* An exponential draw with mean 1 from 64 evenly distributed bits. */
double random_exponential(uint64_t bits);

#endif
