/* The limit for the registry: a bare SQLite loop that only inserts rows, with
 * the same payload and the same settings of the database file. */
#ifndef POINTSMAN_TESTS_BENCH_BARE_H
#define POINTSMAN_TESTS_BENCH_BARE_H

/* Returns durable rows per second, with `batch` rows per commit. */
double bare_inserts_per_s(unsigned count, unsigned batch);

/* A submission of ordinary size. */
extern const char bare_spec[];

#endif
