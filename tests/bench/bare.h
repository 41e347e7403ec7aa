/* The limit of the registry: a bare SQLite loop that inserts rows of the same
 * payload with the same file settings and nothing else. */
#ifndef POINTSMAN_TESTS_BENCH_BARE_H
#define POINTSMAN_TESTS_BENCH_BARE_H

/* Durable rows per second, `batch` of them per commit. */
double bare_inserts_per_s(unsigned count, unsigned batch);

/* A submission of the size of an ordinary one. */
extern const char bare_spec[];

#endif
