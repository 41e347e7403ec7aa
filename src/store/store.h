/* The registry: everything that Pointsman must remember
 * (doc/design/registry.md).
 *
 * Writes are asynchronous: a batch of typed operations is submitted, and one
 * completion follows after the commit that made it durable; all batches of
 * one turn share one commit (group commit). Every operation is conditional
 * on the state of the registry at that moment (an expected state, an id
 * still free), because other processes may write too; its result reports the
 * outcome. An operation that changed anything wrote its event in the same
 * transaction: sequence number and hash chain are taken inside it.
 *
 * Reads are synchronous, bounded, on a connection of their own: they see
 * everything committed. Rows live in the given arena.
 *
 * Every event, of this process or another, is delivered exactly once and in
 * order of its sequence number to the listeners (store_listen), before the
 * completion of the batch that wrote it.
 *
 * Two backends pass one contract suite: SQLite (WAL, synchronous=FULL,
 * STRICT tables, BEGIN IMMEDIATE on one store thread; or in memory, without
 * a thread) and memory (for the simulator; it commits in store_turn). The
 * SQL keeps to what PostgreSQL also understands.
 *
 * Not thread-safe: one owner thread calls everything here. */
#ifndef POINTSMAN_STORE_STORE_H
#define POINTSMAN_STORE_STORE_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/arena.h"
#include "lib/err.h"
#include "lib/time.h"
#include "core/event_facts.h"
#include "core/job.h"

struct store;
struct store_batch;

struct store_options {
    bool read_only;    /* open for reading; never creates or migrates */
    bool create;       /* make the file when it is absent */
    bool keep_version; /* refuse a registry that would have to be migrated */
    bool own_thread;   /* false: store_turn() commits on the caller's thread */
    unsigned busy_ms;  /* wait for other writers; 0 = 10 s */
    /* Called from any thread when store_turn has something to do. */
    void (*wake)(void *ctx);
    void *wake_ctx;
};

/* Errors: ERR_CANNOT, ERR_DENIED, ERR_DATA (not a registry, or newer than this
 * program), ERR_REFUSED (older, with read_only or keep_version), ERR_TEMPORARY
 * (locked). */
bool store_sqlite_open(const char *path, const struct store_options *options,
                       struct store **ret_store, struct err *err);
/* Waits for batches under way, then closes. NULL is fine. */
void store_close(struct store *store);

/* ---- events ------------------------------------------------------------- */

struct store_event {
    uint64_t seq;
    struct wall at;
    enum event_kind kind;
    uint64_t num;            /* of the job; 0 = about none */
    struct span id;          /* of the job, or what else it is about */
    enum job_state from, to; /* equal unless kind is EVENT_MOVE */
    unsigned attempt;
    struct span actor, reason, detail;
    struct span facts;           /* JSON (core/event_facts.h), or empty */
    struct span prev_hash, hash; /* 64 hex digits; filled by reads only */
    const struct job *job; /* the row as admitted, when at hand; else NULL */
};

typedef void store_listener(void *ctx, const struct store_event *event);
/* Calls the listener for every event committed after this call. Listeners
 * and completions may submit, but not write (store_write), turn or poll. */
void store_listen(struct store *store, store_listener *listener, void *ctx);
/* `listener` and `ctx` as given to store_listen. */
void store_unlisten(struct store *store, store_listener *listener, void *ctx);
/* Checks whether other processes wrote and delivers their events. Cheap (one
 * PRAGMA data_version) if they did not. */
bool store_poll(struct store *store, struct err *err);
uint64_t store_seq(struct store *store); /* last event delivered */

/* ---- writing ------------------------------------------------------------ */

enum store_result {
    STORE_DONE,      /* done as asked, durable */
    STORE_SAME,      /* nothing to change; nothing written */
    STORE_CONFLICT,  /* the state (or hold, attempt) is not the expected one */
    STORE_DUPLICATE, /* the id is taken by another job */
    STORE_UNKNOWN    /* no such job */
};

/* A batch without operations; store_submit or store_batch_free ends it. */
struct store_batch *store_batch_new(struct store *store);
/* Memory that lives as long as the batch, for the arguments of operations. */
struct arena *store_batch_arena(struct store_batch *batch);
/* The number of operations added so far. */
unsigned store_batch_count(const struct store_batch *batch);
/* Actor and time for the events of the operations added from now on. `actor`
 * is copied. */
void store_batch_actor(struct store_batch *batch, struct wall now,
                       struct span actor);
/* Where the command came from: the fact `from` of the events of the operations
 * added from now on. Empty: not recorded. */
void store_batch_from(struct store_batch *batch, struct span from);
/* All or nothing: if one operation answers neither DONE nor SAME, the whole
 * batch has no effect (operations that could be done answer CONFLICT). */
void store_batch_atomic(struct store_batch *batch);

/* The operations. Each returns its index for store_batch_result. All spans
 * are copied into the batch. */

/* A new job in job->state (QUEUED or PENDING); reason "admitted". If a job
 * of the same id, sum and kind exists and lives, the result is SAME; if it
 * is final, or its sum or kind differs, DUPLICATE. In both cases
 * store_batch_num is the number of the existing job and store_batch_seq the
 * event that admitted it. nodes: names of an array's tasks (node_count 0: the
 * job has one task); if a name is repeated, the result is DUPLICATE and
 * store_batch_num is 0. The registry sets num, reason, since, all _seq, tasks,
 * tasks_done, cancel_asked, stale (true for changes), has_relations (true with
 * edges or touches), admitted (if it is 0: to now) and rank (if it is empty: to
 * the key); the rest is kept as given. */
unsigned store_admit(struct store_batch *batch, const struct job *job,
                     const struct job_edge *edges, size_t edge_count,
                     const struct job_touch *touches, size_t touch_count,
                     const struct span *nodes, size_t node_count);

struct store_move {
    uint64_t num;
    enum job_state from, to;
    struct span reason, detail;
    struct span rollback;           /* on the way to A: who takes the job */
    struct wall not_before;         /* set on the way to P; 0 = none, or as
                                       it was if the job waits already */
    unsigned temps, crashes, fails; /* added to the job's counts */
    bool begin_attempt;             /* attempt + 1 (P -> X, and retry) */
    bool clear_counts;              /* temps = crashes = fails = 0 (retry) */
};
/* CONFLICT if the job is not in `from` or if, on the way P -> X, it is held
 * or its cancellation was requested. A job whose cancellation was requested
 * leaves X neither to P nor to A but to T, with reason `operator`: a request
 * that comes at the last moment must not be lost. Steps that are not in
 * life.def are an internal error (assert). A final state clears cancel_asked
 * and leaves the job's edges as they are: readers look at the state.
 * not_before is 0 in X and in final states. A job of one task has tasks_done = 1
 * while it is done. Holds stay, but count only while the job lives. */
unsigned store_move(struct store_batch *batch, const struct store_move *move);

/* Precursors computed at the current end of the log: replaces all PRECURSOR
 * edges of the job by these. CONFLICT unless it is in Q or S. */
unsigned store_record(struct store_batch *batch, uint64_t num,
                      const struct span *precursors, size_t count);
/* Like store_record but without an event: edges spliced when a precursor
 * left (O6). CONFLICT if the job has ended: a set that follows others has a
 * record in P and X too. The event of store_record lists the ids in its detail.
 */
unsigned store_splice(struct store_batch *batch, uint64_t num,
                      const struct span *precursors, size_t count);
/* Inheritance (O14); no event. CONFLICT when the job is final. */
unsigned store_rank(struct store_batch *batch, uint64_t num, struct span rank);
/* The job's not_before has passed: it may start at once from now on, and
 * store_ready finds it in its order without sorting. SAME if it is marked
 * already, CONFLICT if that time has not come yet. No event. */
unsigned store_due(struct store_batch *batch, uint64_t num);
/* The clock was set back by `ms`: back-offs of jobs end so much earlier (times
 * that submitters named stay: job_begins). 0: it
 * may have been set while nobody watched; then those that began at what is now
 * a time to come count from now (retry_backoff_end). No event. */
unsigned store_set_back(struct store_batch *batch, int64_t ms);
/* Ends the back-offs of a job that is pending, or of an array that is
 * executing, and of its tasks: EVENT_AT_ONCE with this reason and detail. What
 * was counted stays. CONFLICT in any other state. */
unsigned store_at_once(struct store_batch *batch, uint64_t num,
                       struct span reason, struct span detail);
/* SAME if the hold is already set (or cleared) as asked; CONFLICT if the job
 * is final. The event's detail is the word of the hold. */
unsigned store_hold(struct store_batch *batch, uint64_t num, enum job_hold hold,
                    struct span reason);
unsigned store_release(struct store_batch *batch, uint64_t num,
                       enum job_hold hold, struct span reason);
/* Marks a done change as rolled back by the rollback of this id or, if the
 * id is empty, as in effect again. `was` is the expected current mark;
 * CONFLICT if it differs or the job is not done. Event ROLLED_BACK with
 * reason `rolled-back` or `reinstated`; its facts name the rollback and
 * `because`, the id of the RB that is carried out. */
unsigned store_mark(struct store_batch *batch, uint64_t num, struct span was,
                    struct span rolled_back_by, struct span because,
                    struct span detail);
/* Records that an approval of the job is owed until then (0: none is owed
 * any more). SAME if nothing changes. Event OWED with this reason and
 * detail. */
unsigned store_owe(struct store_batch *batch, uint64_t num, struct wall owed,
                   struct span reason, struct span detail);
/* How many tasks of an array run at once from now on; 0: no limit of its own.
 * SAME if nothing changes. Event LIMIT with the number as its reason. */
unsigned store_limit(struct store_batch *batch, uint64_t num,
                     unsigned max_running, struct span detail);
/* The plan of a rollback and its progress (core/rollback.h); one per job, a
 * later plan replaces the earlier one. No event: the accompanying moves have
 * theirs. */
struct store_rollback {
    uint64_t num; /* of the RB */
    struct span phase;
    struct wall begun;
    struct span members;
};
unsigned store_plan(struct store_batch *batch,
                    const struct store_rollback *rollback);
/* Marks cancel_asked; its event has the reason "asked" or "kill". "kill" may
 * follow "asked": the job is then ended without grace. `detail`: the reason
 * in the caller's words. CONFLICT unless executing. */
unsigned store_ask_cancel(struct store_batch *batch, uint64_t num, bool kill,
                          struct span detail);
/* Records that the job's file lies where its state says (C11). No event.
 * CONFLICT if the state has moved on since state_seq. */
unsigned store_projected(struct store_batch *batch, uint64_t num,
                         uint64_t state_seq);
/* Writes only an event, which is not a move. About a job: num (UNKNOWN if it
 * does not exist), and id may be empty. About something else: num 0. */
unsigned store_note(struct store_batch *batch, enum event_kind kind,
                    uint64_t num, struct span id, struct span reason,
                    struct span detail);
/* Facts for the event of the store_note added last. */
void store_note_facts(struct store_batch *batch,
                      const struct event_facts *facts);
/* Sets a value; value.p NULL removes it. SAME if nothing changes. The
 * event's id is the name, its detail the value, its fact `was` the value
 * before. */
unsigned store_set(struct store_batch *batch, struct span name,
                   struct span value);
/* For the event of the store_set added last: the value that applies while none
 * is set. */
void store_set_usual(struct store_batch *batch, struct span usual);

/* An attempt of a task: assigned durably before it starts. */
struct store_attempt {
    uint64_t num;
    struct span node; /* empty for single tasks */
    unsigned attempt; /* from 1 */
    bool goes_on; /* assigned while the job executes; CONFLICT if it does not,
                     is held, or its cancellation was requested */
    enum task_status status; /* RUNNING when assigned */
    struct wall assigned, started, ended;
    int exit_code; /* -1: none */
    int signal;    /* 0: none */
    struct span reason, detail, worker;
    struct span output; /* where its output lies (os/output.h) */
    uint64_t output_bytes;
    uint64_t cpu_us, peak_kib;
    struct span trace; /* how it went (wire/attempt_trace.h) */
    /* For a task of a standing job: what is on record of the task with this;
     * its node is `node`. The task need not have a row yet. When it is
     * assigned, status, attempt and not_before are those of the attempt, and
     * the result is CONFLICT as for goes_on. */
    const struct store_task *task;
};
struct store_task {
    struct span node;
    uint64_t at; /* place in the array, from 0; of a task of a standing job: its
                    number, which it keeps for ever */
    enum task_status status;
    unsigned attempt;
    struct wall not_before;
    /* As in struct node_task (core/node_status.h). */
    unsigned temps, fails, crashes, incompletes, flags;
    int64_t begun_s;
};
/* Inserts the attempt (CONFLICT if it exists) or, at its end, replaces its
 * row (UNKNOWN if it was never assigned). The task's row follows unless a
 * later attempt of it has begun. No event without `node`: the accompanying
 * move is the event. With `node` set, an EVENT_TASK is written: reason the
 * status, detail the node. UNKNOWN if the job has no such node. */
unsigned store_assign(struct store_batch *batch,
                      const struct store_attempt *attempt);
unsigned store_end(struct store_batch *batch,
                   const struct store_attempt *attempt);
/* The assigned attempt provably never started: removes its row, attempt - 1.
 * CONFLICT if it has ended. */
unsigned store_unassign(struct store_batch *batch, uint64_t num,
                        struct span node, unsigned attempt);
/* Sets the status of an array's task without an attempt. UNSTARTED without a
 * time (retry) also forgets what was counted. Writes an EVENT_TASK, or
 * EVENT_NOT_BEFORE if there is a time; SAME if nothing changes. */
unsigned store_task_set(struct store_batch *batch, uint64_t num,
                        struct span node, enum task_status status,
                        struct wall not_before);
/* What is on record of the task is this from now on. UNKNOWN:
 * it has no row. Event as for store_task_set. */
unsigned store_task_record(struct store_batch *batch, uint64_t num,
                           const struct store_task *task);
/* fdatasync(fd), or syncfs(fd), on the store thread before the commit: for
 * output that the results refer to. The file stays open until the
 * completion; if it cannot be synced, only this batch fails. */
unsigned store_sync_first(struct store_batch *batch, int fd, bool filesystem);
/* Inserts a row as it was in another registry; its edges and events follow
 * as notes. For fsck --rebuild only. Never UNKNOWN; DUPLICATE if the id
 * exists. Its num is kept if it is beyond all others, else it gets the next
 * one. No event. */
unsigned store_restore_job(struct store_batch *batch, const struct job *job,
                           const struct job_edge *edges, size_t edge_count,
                           const struct job_touch *touches, size_t touch_count);
/* Inserts an event as it was (seq and time are kept; the chain is
 * recomputed). Add them in order: an event at or before the last one is
 * CONFLICT; seq 0 = the next. */
unsigned store_restore_event(struct store_batch *batch,
                             const struct store_event *event);

/* `ok` false: nothing of the batch is in the registry, err says why. A full
 * disk is ERR_TEMPORARY. A failed fsync is fatal for the store: every later
 * batch fails too; only after reopening is it known whether the batch whose
 * sync failed is there, whole. `done` may be NULL. The batch is freed after
 * `done` returns. */
typedef void store_done(void *ctx, struct store_batch *batch, bool ok,
                        const struct err *err);
void store_submit(struct store_batch *batch, store_done *done, void *ctx);
enum store_result store_batch_result(const struct store_batch *batch,
                                     unsigned index);
uint64_t store_batch_num(const struct store_batch *batch, unsigned index);
uint64_t store_batch_seq(const struct store_batch *batch, unsigned index);
/* Did it fail because a file of store_sync_first could not be synced? What
 * was written to that file may be lost. Syncing it again proves nothing: the
 * kernel reports a lost page only once. */
bool store_batch_unsynced(const struct store_batch *batch);
void store_batch_free(struct store_batch *batch); /* a batch that was never
                                                     submitted */

/* Delivers events and completions; the owner calls it when woken. */
void store_turn(struct store *store);
/* Submits and waits; false like `ok` above. The batch stays readable: free
 * it. Events and completions that are due earlier are delivered as by
 * store_turn. */
bool store_write(struct store_batch *batch, struct err *err);
/* Waits until all submitted batches are done, and delivers them; batches are
 * committed in order. Fails like store_write. */
bool store_drain(struct store *store, struct err *err);
bool store_is_idle(struct store *store); /* no batch under way */

/* ---- reading ------------------------------------------------------------ */

/* Finds a job by its id, a unique prefix of it (at least 2 characters), or
 * "@last". Errors: ERR_NO_JOB (with the nearest id), ERR_DATA (ambiguous). */
bool store_find(struct store *store, struct span id_or_prefix,
                struct arena *arena, struct job *ret_job, struct err *err);
bool store_job(struct store *store, uint64_t num, struct arena *arena,
               struct job *ret_job, struct err *err); /* ERR_NO_JOB */
/* Exactly this id; *ret_found: the job exists. */
bool store_lookup(struct store *store, struct span id, struct arena *arena,
                  struct job *ret_job, bool *ret_found, struct err *err);

/* Ordered by num; with_not_before orders by (not_before, num) and ignores
 * after_num and newest_first. In every list limit 0 = all. */
struct store_list {
    unsigned states;    /* bits; 0 = all */
    unsigned kinds;     /* bits of 1 << kind; 0 = all */
    uint64_t after_num; /* page: beyond this one; 0 = from the beginning */
    bool newest_first;
    bool with_spec;      /* else spec is empty */
    bool relations_only; /* has_relations */
    bool stale_only;
    bool owed_only;       /* an approval is owed */
    bool with_not_before; /* only jobs with a not_before, soonest first */
    struct wall until;    /* state entered before this; 0 = any */
    size_t limit;
};
bool store_jobs(struct store *store, const struct store_list *list,
                struct arena *arena, struct job **ret_jobs, size_t *ret_count,
                struct err *err);
/* Calls `visit` for each job of the list, page by page, and stops with false if
 * it returns false. `limit` is the size of a page (0: 1000). The job lives
 * until `visit` returns. Not for lists with_not_before. */
typedef bool store_visit(void *ctx, const struct job *job, struct err *err);
bool store_jobs_each(struct store *store, const struct store_list *list,
                     store_visit *visit, void *ctx, struct err *err);
/* Pending jobs that nothing holds and that are due at `now`, by (rank, num),
 * beyond the given pair (num 0 = from the beginning). The cost does not grow
 * with the number of waiting jobs, except for due jobs without a store_due:
 * all of them are looked at each time. */
bool store_ready(struct store *store, struct wall now, struct span after_rank,
                 uint64_t after_num, size_t limit, struct arena *arena,
                 struct job **ret_jobs, size_t *ret_count, struct err *err);
bool store_edges_from(struct store *store, uint64_t num, struct arena *arena,
                      struct job_edge **ret_edges, size_t *ret_count,
                      struct err *err);
struct store_edge_to {
    uint64_t num; /* the job that has the edge */
    struct span id;
    enum edge_kind kind;
    enum job_state state; /* of that job */
};
bool store_edges_to(struct store *store, struct span id, struct arena *arena,
                    struct store_edge_to **ret_edges, size_t *ret_count,
                    struct err *err);
/* The same in pages: of the jobs beyond `after_num` (0 = from the beginning)
 * as many as have at most `limit` edges together, with all edges of each.
 * `limit` is EDGE_KINDS or more, so that one job always fits. *ret_more:
 * there are others. */
bool store_edges_to_page(struct store *store, struct span id,
                         uint64_t after_num, size_t limit, struct arena *arena,
                         struct store_edge_to **ret_edges, size_t *ret_count,
                         bool *ret_more, struct err *err);
bool store_touches(struct store *store, uint64_t num, struct arena *arena,
                   struct job_touch **ret_touches, size_t *ret_count,
                   struct err *err);
/* Jobs that touch exactly this path, newest first; without spec. */
bool store_touching(struct store *store, struct span path, size_t limit,
                    struct arena *arena, struct job **ret_jobs,
                    size_t *ret_count, struct err *err);
/* By node, then attempt. */
bool store_attempts(struct store *store, uint64_t num, struct arena *arena,
                    struct store_attempt **ret_attempts, size_t *ret_count,
                    struct err *err);
/* Of one task, those that have ended, newest first, at most `limit`. */
bool store_attempts_latest(struct store *store, uint64_t num, struct span node,
                           size_t limit, struct arena *arena,
                           struct store_attempt **ret_attempts,
                           size_t *ret_count, struct err *err);
/* One of them; *ret_found: it exists. */
bool store_attempt_find(struct store *store, uint64_t num, struct span node,
                        unsigned attempt, struct arena *arena,
                        struct store_attempt *ret_attempt, bool *ret_found,
                        struct err *err);
/* Ordered by place. A standing job has those tasks that ever started. A job of
 * one task has one task without a name, derived
 * from its last attempt and its state. */
bool store_tasks(struct store *store, uint64_t num, struct arena *arena,
                 struct store_task **ret_tasks, size_t *ret_count,
                 struct err *err);
/* One of a standing job; *ret_found: it has ever started. */
bool store_task_find(struct store *store, uint64_t num, struct span node,
                     struct arena *arena, struct store_task *ret_task,
                     bool *ret_found, struct err *err);
/* How many tasks of the job are in each status. */
bool store_task_counts(struct store *store, const struct job *job,
                       size_t ret_counts[TASK_STATUSES], struct err *err);
/* How many attempts at tasks of an array have ended since then with the task
 * done or failed. */
bool store_tasks_ended(struct store *store, uint64_t num, struct wall since,
                       size_t *ret_count, struct err *err);
/* Events beyond `after_seq`, of one job (num) or of all (0). */
bool store_events(struct store *store, uint64_t after_seq, uint64_t num,
                  size_t limit, struct arena *arena,
                  struct store_event **ret_events, size_t *ret_count,
                  struct err *err);
bool store_rollback(struct store *store, uint64_t num, struct arena *arena,
                    struct store_rollback *ret_rollback, bool *ret_found,
                    struct err *err);
bool store_setting(struct store *store, struct span name, struct arena *arena,
                   struct span *ret_value, struct err *err); /* p NULL: none */
bool store_settings(struct store *store, struct arena *arena,
                    struct span **ret_names, struct span **ret_values,
                    size_t *ret_count, struct err *err);
/* Jobs per state, exact, without counting rows. */
struct store_tally {
    uint64_t count[JOB_STATES];
    uint64_t held; /* live jobs that something holds */
};
bool store_count(struct store *store, struct store_tally *ret_tally,
                 struct err *err);

/* ---- care --------------------------------------------------------------- */

/* Checks the hash chain, the tally and SQLite's integrity_check. Error:
 * ERR_DATA with the first fault found. */
bool store_verify(struct store *store, struct err *err);
/* Makes a consistent, synced copy while the registry is in use (SQLite's
 * backup); it replaces a file of that name. Refused for the registry itself. */
bool store_backup(struct store *store, const char *path, struct err *err);
/* Sum of rows' sizes and so on for doctor: schema version. */
int store_version(struct store *store);

/* The lease (G17): one row, from the first migration on. Takes it for
 * `holder` if it is free or expired (epoch + 1), renews it if `holder` has
 * it; term_ms 0 releases it. STORE_CONFLICT: another holder has it (its
 * epoch). */
bool store_lease(struct store *store, struct span name, struct span holder,
                 struct wall now, int64_t term_ms,
                 enum store_result *ret_result, uint64_t *ret_epoch,
                 struct err *err);

#endif
