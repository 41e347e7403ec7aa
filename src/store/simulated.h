/* Stores in memory, for simulated worlds and tests: the program itself uses
 * none of these (tests/contract/link_graph.py). They have no thread and commit
 * in store_turn. */
#ifndef POINTSMAN_STORE_SIMULATED_H
#define POINTSMAN_STORE_SIMULATED_H

#include "store/store.h"

/* The fast one, without SQL and therefore without nouns (store/noun.h). */
struct store *store_memory_new(void);
/* SQLite in memory: it runs the statements of the file's backend. See
 * doc/decisions/memory-backend.md. */
struct store *store_new_sqlite(void);
/* Commits what was submitted, as store_turn would, but delivers nothing yet, so
 * that a crash can happen in between. */
void store_memory_commit(struct store *store);
/* The batch submitted last is committed before all others that wait for their
 * commit, as if another process had been faster. */
void store_memory_overtake(struct store *store);
/* Drops everything that is not committed, as a crash would, with all events and
 * completions not delivered yet and all listeners. Must not be called by a
 * listener. */
void store_memory_crash(struct store *store);

#endif
