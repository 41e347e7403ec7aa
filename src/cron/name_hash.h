/* Hashes of names for the tables of this library. Names come from outside:
 * an attacker without the table's secret cannot choose many that collide. */
#ifndef POINTSMAN_CRON_NAME_HASH_H
#define POINTSMAN_CRON_NAME_HASH_H

#include <stdint.h>

struct name_secret {
    uint64_t begin, factor;
};

/* Random; a constant if the system has no randomness yet, early in a boot. */
struct name_secret name_secret_draw(void);
/* The hash of a NUL-terminated name. */
uint64_t name_hash(const struct name_secret *secret, const char *name);

#endif
