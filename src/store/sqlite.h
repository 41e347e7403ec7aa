/* The SQLite backend from the inside: two connections, one thread; in memory
 * one connection and no thread. */
#ifndef POINTSMAN_STORE_SQLITE_H
#define POINTSMAN_STORE_SQLITE_H

#include <pthread.h>

#include "store/apply.h"
#include "store/sqlite_db.h"

struct sqlite {
    struct store store;       /* first */
    struct sqlite_db *reader; /* the owner's; in memory the writer */
    struct sqlite_db own_reader;
    int64_t seen_version;
    bool read_only, own_thread;
    void (*wake)(void *ctx);
    void *wake_ctx;

    /* The writer belongs to the store thread or, if there is none, to the
     * owner. */
    struct sqlite_db writer;
    struct apply apply;
    int64_t written_version; /* PRAGMA data_version at the last transaction */
    bool fatal;              /* every later batch fails with this */
    struct err fatal_err;

    /* Shared by the two threads, under the lock. */
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t work, answer;
    struct list queued, answered;
    unsigned under_way;      /* submitted, not yet returned by take() */
    uint64_t committing_seq; /* first event of the open transaction, or 0 */
    bool stop;
};

static inline struct sqlite *sqlite_of(struct store *store) {
    return (struct sqlite *)(void *)store;
}

static inline struct sqlite_db *sqlite_reader(struct store *store) {
    return sqlite_of(store)->reader;
}

/* sqlite_read.c, sqlite_list.c */
bool sqlite_by_num(struct store *store, uint64_t num, struct arena *arena,
                   struct job *ret_job, bool *ret_found, struct err *err);
bool sqlite_by_id(struct store *store, struct span id, struct arena *arena,
                  struct job *ret_job, bool *ret_found, struct err *err);
bool sqlite_last(struct store *store, struct arena *arena, struct job *ret_job,
                 bool *ret_found, struct err *err);
bool sqlite_ids(struct store *store, struct span prefix, size_t limit,
                struct arena *arena, struct span **ret_ids, size_t *ret_count,
                struct err *err);
bool sqlite_jobs(struct store *store, const struct store_list *list,
                 struct arena *arena, struct job **ret_jobs, size_t *ret_count,
                 struct err *err);
bool sqlite_ready(struct store *store, struct wall now, struct span after_rank,
                  uint64_t after_num, size_t limit, struct arena *arena,
                  struct job **ret_jobs, size_t *ret_count, struct err *err);
bool sqlite_touching(struct store *store, struct span path, size_t limit,
                     struct arena *arena, struct job **ret_jobs,
                     size_t *ret_count, struct err *err);
bool sqlite_edges_from(struct store *store, uint64_t num, struct arena *arena,
                       struct job_edge **ret_edges, size_t *ret_count,
                       struct err *err);
bool sqlite_edges_to(struct store *store, struct span id, uint64_t after_num,
                     size_t limit, struct arena *arena,
                     struct store_edge_to **ret_edges, size_t *ret_count,
                     struct err *err);
bool sqlite_touches(struct store *store, uint64_t num, struct arena *arena,
                    struct job_touch **ret_touches, size_t *ret_count,
                    struct err *err);
bool sqlite_attempts(struct store *store, uint64_t num, struct arena *arena,
                     struct store_attempt **ret_attempts, size_t *ret_count,
                     struct err *err);
bool sqlite_attempts_latest(struct store *store, uint64_t num, struct span node,
                            size_t limit, struct arena *arena,
                            struct store_attempt **ret_attempts,
                            size_t *ret_count, struct err *err);
bool sqlite_attempt_find(struct store *store, uint64_t num, struct span node,
                         unsigned attempt, struct arena *arena,
                         struct store_attempt *ret_attempt, bool *ret_found,
                         struct err *err);
bool sqlite_task_find(struct store *store, uint64_t num, struct span node,
                      struct arena *arena, struct store_task *ret_task,
                      bool *ret_found, struct err *err);
bool sqlite_task_counts(struct store *store, uint64_t num,
                        size_t ret_counts[TASK_STATUSES], struct err *err);
bool sqlite_tasks_ended(struct store *store, uint64_t num, struct wall since,
                        size_t *ret_count, struct err *err);
bool sqlite_tasks(struct store *store, uint64_t num, struct arena *arena,
                  struct store_task **ret_tasks, size_t *ret_count,
                  struct err *err);
bool sqlite_events(struct store *store, uint64_t after_seq, uint64_t num,
                   size_t limit, struct arena *arena,
                   struct store_event **ret_events, size_t *ret_count,
                   struct err *err);
bool sqlite_rollback(struct store *store, uint64_t num, struct arena *arena,
                     struct store_rollback *ret_rollback, bool *ret_found,
                     struct err *err);
bool sqlite_setting(struct store *store, struct span name, struct arena *arena,
                    struct span *ret_value, struct err *err);
bool sqlite_settings(struct store *store, struct arena *arena,
                     struct span **ret_names, struct span **ret_values,
                     size_t *ret_count, struct err *err);
/* sqlite_event.c: one row of the log, decoded. */
struct sqlite_event_row {
    struct arena arena; /* of what follows */
    struct chain chain;
    uint64_t seq; /* of the last event */
    struct store_event *events;
    uint64_t *prevs; /* the previous event of the same job; 0: none */
    size_t count;
    unsigned char hash[CHAIN_BYTES]; /* as stored in the row */
    bool fits;                       /* the stored hash equals the one
                                        computed from the events */
    uint64_t changed; /* the first event whose mark does not fit; 0: none */
};
void sqlite_event_row_init(struct sqlite_event_row *event_row);
void sqlite_event_row_clear(struct sqlite_event_row *event_row);
/* Reads the row that holds the first event beyond after_seq. */
bool sqlite_event_row_read(struct sqlite_event_row *event_row,
                           struct sqlite_db *db, uint64_t after_seq,
                           bool *ret_found, struct err *err);
/* sqlite_verify.c */
bool sqlite_verify(struct store *store, struct err *err);
bool sqlite_backup(struct store *store, const char *path, struct err *err);

#endif
