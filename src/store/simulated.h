/* Stores in memory, for simulated worlds and tests: the program itself uses
 * none of these (tests/contract/link_graph.py). They have no thread and
 * commit in store_turn. End them with store_close. */
#ifndef POINTSMAN_STORE_SIMULATED_H
#define POINTSMAN_STORE_SIMULATED_H

#include "store/store.h"

/* The fast backend, without SQL and therefore without nouns (store/noun.h). */
struct store *store_memory_new(void);
/* SQLite in memory: it runs the same statements as the backend for files.
 * See doc/decisions/memory-backend.md. */
struct store *store_new_sqlite(void);
/* Commits submitted batches like store_turn, but delivers nothing yet, so
 * that a test can crash in between. */
void store_memory_commit(struct store *store);
/* Puts the batch submitted last before all others that wait for their commit:
 * the next commit begins with it, as if another process had been faster. */
void store_memory_overtake(struct store *store);
/* Drops everything that is not committed, as a crash would, together with
 * all undelivered events and completions and all listeners. A listener must
 * not call it. */
void store_memory_crash(struct store *store);

#endif
