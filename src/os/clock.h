/* The only place that reads a clock or the machine's randomness. */
#ifndef POINTSMAN_OS_CLOCK_H
#define POINTSMAN_OS_CLOCK_H

#include <stdint.h>

#include "lib/time.h"

/* The present time; cannot fail. lib/time.h describes the three types. */
struct wall clock_wall(void);
struct mono clock_mono(void);
struct boot clock_boot(void);

/* Both times as of one moment, so that their difference changes only if the
 * system clock is set. */
void clock_wall_and_boot(struct wall *ret_wall, struct boot *ret_boot);

/* An unpredictable seed, for lib/random and map_seed. */
uint64_t clock_seed(void);

#endif
