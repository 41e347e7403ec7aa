/* The basis of the contract tests of the registry: every test runs on every
 * backend and is short. */
#ifndef POINTSMAN_TESTS_CONTRACT_STORE_RIG_H
#define POINTSMAN_TESTS_CONTRACT_STORE_RIG_H

#include "support/test.h"

#include "store/store.h"

enum rig_backend {
    RIG_MEMORY,
    RIG_SQLITE_MEMORY,
    RIG_SQLITE,
    RIG_SQLITE_THREAD,
    RIG_BACKENDS
};

struct rig {
    enum rig_backend backend;
    struct store *store;
    char *path; /* the SQLite file */
    struct arena arena;
    struct err err;
    struct wall now; /* advances by a second with every batch */
};

/* One test for each backend, listed with RIG_TESTS in main. */
int rig_setup_memory(void **state);
int rig_setup_sqlite_memory(void **state);
int rig_setup_sqlite(void **state);
int rig_setup_thread(void **state);
int rig_teardown(void **state);
#define RIG_TEST(test, name, backend) \
    { name " (" #backend ")", test, rig_setup_##backend, rig_teardown, NULL }
#define RIG_TESTS(test) RIG_MEMORY_TESTS(test), RIG_SQLITE_TESTS(test)
/* The backend in plain memory has no nouns (store/noun.h). */
#define RIG_NOUN_TESTS(test) \
    RIG_TEST(test, #test, sqlite_memory), RIG_SQLITE_TESTS(test)
#define RIG_MEMORY_TESTS(test) \
    RIG_TEST(test, #test, memory), RIG_TEST(test, #test, sqlite_memory)
#define RIG_SQLITE_TESTS(test) \
    RIG_TEST(test, #test, sqlite), RIG_TEST(test, #test, thread)

char *rig_new_path(void);
struct store *rig_open(const char *path, bool own_thread);
/* Closes and reopens the store; does nothing if it is in memory. */
void rig_reopen(struct rig *rig);

/* A new batch, a second after the previous one. */
struct store_batch *rig_batch(struct rig *rig);
/* Writes the batch, expects success, and returns the result of the last
 * operation. */
enum store_result rig_write(struct store_batch *batch);

/* A command with this id and key, in state PENDING. */
struct job rig_command(const char *id, const char *key);
/* A change set with this id and key, in state QUEUED. */
struct job rig_change(const char *id, const char *key);
uint64_t rig_admit(struct rig *rig, const struct job *job);
enum store_result rig_move(struct rig *rig, uint64_t num, enum job_state from,
                           enum job_state to, const char *reason);
/* Admits a command and starts it. */
uint64_t rig_started(struct rig *rig, const char *id);
struct job rig_job(struct rig *rig, uint64_t num);
/* The ids in the order of the list, such as "a b c". */
const char *rig_ids(struct rig *rig, const struct job *jobs, size_t count);
const char *rig_ready(struct rig *rig, int64_t now_s);
const char *rig_list(struct rig *rig, struct store_list list);
/* The events after `after`, such as "move a - P admitted; hold a P P
 * operator". */
const char *rig_events(struct rig *rig, uint64_t after);
void rig_verify(struct rig *rig);

#define assert_span(span, string) \
    assert_string_equal(arena_string(&rig->arena, span), string)

#endif
