/* Nouns: what a capability keeps in the registry (doc/design/registry.md).
 *
 * The store itself knows jobs, attempts, relations, events, settings and the
 * lease. Everything else is a noun: the capability declares one struct
 * store_noun with the steps that make its tables and the statements that it
 * runs on them, writes typed functions over these, and adds one row to the
 * table that the program hands to store_nouns_use. The store prepares the
 * statements, takes the steps, and runs the operations in the transaction of
 * the turn.
 *
 *     caller     struct store_batch *batch = ...;
 *                unsigned at = toy_paint(batch, SPAN("car"), SPAN("red"));
 *                store_submit(batch, done, ctx);   or store_write
 *     capability toy_paint copies its arguments into the batch's arena and
 *                calls store_operation_add(batch, paint, arguments)
 *     store      begins a transaction, calls paint(operation, arguments),
 *                which runs statements, sets the result and writes an event;
 *                then the commit
 *     caller     done() reads store_batch_result(batch, at); listeners have
 *                seen the event before
 *
 * Statements are SQL that both SQLite and PostgreSQL accept, with parameters
 * ?1, ?2, ... Only stores with SQL have tables for nouns: a test that uses one
 * runs on store_new_sqlite, not on store_memory_new. */
#ifndef POINTSMAN_STORE_NOUN_H
#define POINTSMAN_STORE_NOUN_H

#include "store/store.h"

/* A step of the schema. Numbers are unique among all nouns and the store and
 * never change: the registry records which steps it has taken. Steps that it
 * lacks are taken in the order of their numbers when it is opened for writing.
 * A step may refer to the tables of lower ones. */
struct store_step {
    int number;
    const char *sql;
};

struct store_noun {
    const char *name;
    const struct store_step *steps; /* ends with number 0 */
    const char *const *statements;  /* run by their index */
    size_t statement_count;
    /* Does the registry hold something of this noun that cannot be rebuilt
     * from files? NULL: never. */
    bool (*is_irreplaceable)(struct store *store, bool *ret_is,
                             struct err *err);
};

/* Sets the nouns of this program. Call it once, before a store is opened;
 * the array stays the caller's and must outlive all stores. */
void store_nouns_use(const struct store_noun *const *nouns, size_t count);
/* Does any noun hold something irreplaceable? */
bool store_nouns_irreplaceable(struct store *store, bool *ret_any,
                               struct err *err);

/* ---- statements ---------------------------------------------------------- */

/* The tables as one connection sees them. */
struct store_tables;
/* The tables with everything committed; for reading, on the owner's thread. */
struct store_tables *store_tables(struct store *store);

struct store_value {
    bool is_text;
    int64_t number;
    struct span text; /* must outlive the statement's run */
};
static inline struct store_value store_number(int64_t number) {
    return (struct store_value){.number = number};
}
static inline struct store_value store_text(struct span text) {
    return (struct store_value){.is_text = true, .text = text};
}
/* Values for ?1, ?2, ... as two arguments: array and count. */
#define STORE_VALUES(...)                             \
    (const struct store_value[]){__VA_ARGS__},        \
        sizeof((struct store_value[]){__VA_ARGS__}) / \
            sizeof(struct store_value)

/* Runs a statement that returns no rows. *ret_changed (may be NULL) is the
 * number of rows inserted, changed or deleted: if a conditional statement
 * changed none, the state was not the expected one. */
bool store_run(struct store_tables *tables, const struct store_noun *noun,
               unsigned statement, const struct store_value *values,
               size_t count, uint64_t *ret_changed, struct err *err);

/* A running query. Only one at a time per statement; end it in the scope
 * that began it (CLEANUP), because it holds its snapshot of the registry. */
struct store_query {
    struct store_tables *tables;
    void *statement;
};
bool store_query_begin(struct store_query *query, struct store_tables *tables,
                       const struct store_noun *noun, unsigned statement,
                       const struct store_value *values, size_t count,
                       struct err *err);
/* Moves to the next row; *ret_row: there is one. */
bool store_query_next(struct store_query *query, bool *ret_row,
                      struct err *err);
/* Columns of the current row, counted from 0. */
int64_t store_query_number(const struct store_query *query, int column);
struct span store_query_text(const struct store_query *query, int column,
                             struct arena *arena);
/* All remaining rows, each with STORE_JOB_COLUMNS and one more column, the
 * spec ('' if it is not wanted), from `job j JOIN submission s`. ERR_DATA. */
bool store_query_jobs(struct store_query *query, struct arena *arena,
                      struct job **ret_jobs, size_t *ret_count,
                      struct err *err);
void store_query_end(struct store_query *query);

#define STORE_JOB_COLUMNS                                                  \
    "j.num, j.id, j.kind, j.class, j.state, j.rank, j.reason, "            \
    "j.detail, j.holds, j.attempt, j.temps, j.crashes, j.fails, "          \
    "j.tasks, j.tasks_done, j.since, j.not_before, j.state_seq, "          \
    "j.record_seq, j.has_relations, j.cancel_asked, j.stale, "             \
    "s.own_key, s.target, s.name, s.actor, s.cause, s.sum, "               \
    "s.size_bytes, s.uid, s.admitted, s.admitted_seq, "                    \
    "s.rolled_back_by, s.owed, s.retries, s.flags, s.group_size, s.seen, " \
    "s.max_running"

/* ---- operations ---------------------------------------------------------- */

/* An operation of a batch while it is applied, inside the transaction and on
 * the store's thread: it may touch only its arguments and this struct. */
struct store_operation {
    struct store_tables *tables;
    struct arena *arena;      /* lives as long as the batch */
    uint64_t next_seq;        /* of the event that would be written next */
    enum store_result result; /* to be set; STORE_DONE */
    struct apply *apply;      /* the store's own */
    struct op *op;
};
/* False: the registry failed, err says why, and the whole transaction is
 * rolled back. Every other outcome of the operation is reported as its
 * result. */
typedef bool store_operate(struct store_operation *operation, void *args,
                           struct err *err);
/* Adds the operation; returns its index for store_batch_result. `args` lives
 * in the batch's arena. */
unsigned store_operation_add(struct store_batch *batch, store_operate *operate,
                             void *args);
/* Writes an event about no job: `kind`, its subject, and the reason. */
bool store_operation_event(struct store_operation *operation,
                           enum event_kind kind, struct span id,
                           struct span reason, struct span detail,
                           struct err *err);
/* The same, with facts. */
bool store_operation_event_facts(struct store_operation *operation,
                                 enum event_kind kind, struct span id,
                                 struct span reason, struct span detail,
                                 const struct event_facts *facts,
                                 struct err *err);
/* The same for an event about a job, with facts: `num` must exist, otherwise the
 * result is UNKNOWN. Everything lives as long as the batch, but the facts are
 * copied. */
bool store_operation_note(struct store_operation *operation,
                          enum event_kind kind, uint64_t num,
                          struct span reason, struct span detail,
                          const struct event_facts *facts, struct err *err);
/* Who acts, and when, as in the events of the operation. */
struct span store_operation_actor(const struct store_operation *operation);
struct wall store_operation_now(const struct store_operation *operation);
/* The number of the job that an earlier operation of the same batch
 * admitted, or 0. */
uint64_t store_operation_admitted(const struct store_operation *operation,
                                  unsigned index);

#endif
