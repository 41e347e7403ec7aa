/* Adds millions of jobs directly to a registry. */
#ifndef POINTSMAN_TESTS_BENCH_WAITING_H
#define POINTSMAN_TESTS_BENCH_WAITING_H

#include <stdint.h>

#include "store/store.h"

/* Adds pending commands with the numbers from + 1 to `to`, in this order. */
void waiting_add_commands(struct store *store, uint64_t from, uint64_t to,
                          struct span spec);
/* Adds queued change sets that all touch one path. */
void waiting_add_sets(struct store *store, uint64_t count, const char *path);

#endif
