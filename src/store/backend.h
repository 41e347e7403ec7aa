/* The interface between store.c and a backend, and what store.c keeps for
 * every backend. */
#ifndef POINTSMAN_STORE_BACKEND_H
#define POINTSMAN_STORE_BACKEND_H

#include "store/store_batch.h"

struct store_backend {
    void (*close)(struct store *store);
    /* Queues the batch; the backend owns it until take() returns it. */
    void (*submit)(struct store *store, struct store_batch *batch);
    /* Commits what is queued if the owner's thread does that; with `wait`,
     * blocks until at least one batch can be taken or none is under way. */
    void (*commit)(struct store *store, bool wait);
    /* The next batch that has an answer, in the order of the commits. */
    struct store_batch *(*take)(struct store *store);
    bool (*is_idle)(struct store *store);
    /* For a store in memory: store_memory_overtake, store_memory_crash. */
    void (*overtake)(struct store *store);
    void (*crash)(struct store *store);
    /* Has another process committed since the last call that returned true? */
    bool (*changed)(struct store *store, bool *ret_changed, struct err *err);
    /* Number of the first event that this process wrote, or is about to
     * commit, and that take() has not returned yet; UINT64_MAX: none. */
    uint64_t (*own_first_seq)(struct store *store);
    bool (*last_seq)(struct store *store, uint64_t *ret_seq, struct err *err);

    bool (*by_num)(struct store *store, uint64_t num, struct arena *arena,
                   struct job *ret_job, bool *ret_found, struct err *err);
    bool (*by_id)(struct store *store, struct span id, struct arena *arena,
                  struct job *ret_job, bool *ret_found, struct err *err);
    bool (*last)(struct store *store, struct arena *arena, struct job *ret_job,
                 bool *ret_found, struct err *err);
    /* Ids that begin with the prefix, in order; at most `limit`. */
    bool (*ids)(struct store *store, struct span prefix, size_t limit,
                struct arena *arena, struct span **ret_ids, size_t *ret_count,
                struct err *err);
    bool (*jobs)(struct store *store, const struct store_list *list,
                 struct arena *arena, struct job **ret_jobs, size_t *ret_count,
                 struct err *err);
    bool (*ready)(struct store *store, struct wall now, struct span after_rank,
                  uint64_t after_num, size_t limit, struct arena *arena,
                  struct job **ret_jobs, size_t *ret_count, struct err *err);
    /* In any order: store.c sorts. */
    bool (*edges_from)(struct store *store, uint64_t num, struct arena *arena,
                       struct job_edge **ret_edges, size_t *ret_count,
                       struct err *err);
    /* Edges of jobs beyond after_num; if the list is cut, the lowest numbers
     * come first. */
    bool (*edges_to)(struct store *store, struct span id, uint64_t after_num,
                     size_t limit, struct arena *arena,
                     struct store_edge_to **ret_edges, size_t *ret_count,
                     struct err *err);
    bool (*touches)(struct store *store, uint64_t num, struct arena *arena,
                    struct job_touch **ret_touches, size_t *ret_count,
                    struct err *err);
    bool (*touching)(struct store *store, struct span path, size_t limit,
                     struct arena *arena, struct job **ret_jobs,
                     size_t *ret_count, struct err *err);
    bool (*attempts)(struct store *store, uint64_t num, struct arena *arena,
                     struct store_attempt **ret_attempts, size_t *ret_count,
                     struct err *err);
    bool (*attempts_latest)(struct store *store, uint64_t num, struct span node,
                            size_t limit, struct arena *arena,
                            struct store_attempt **ret_attempts,
                            size_t *ret_count, struct err *err);
    bool (*attempt_find)(struct store *store, uint64_t num, struct span node,
                         unsigned attempt, struct arena *arena,
                         struct store_attempt *ret_attempt, bool *ret_found,
                         struct err *err);
    bool (*tasks)(struct store *store, uint64_t num, struct arena *arena,
                  struct store_task **ret_tasks, size_t *ret_count,
                  struct err *err);
    /* Of arrays; all 0 for a job without rows of its tasks. */
    bool (*task_find)(struct store *store, uint64_t num, struct span node,
                      struct arena *arena, struct store_task *ret_task,
                      bool *ret_found, struct err *err);
    bool (*task_counts)(struct store *store, uint64_t num,
                        size_t ret_counts[TASK_STATUSES], struct err *err);
    bool (*tasks_ended)(struct store *store, uint64_t num, struct wall since,
                        size_t *ret_count, struct err *err);
    /* With hashes if asked for. */
    bool (*events)(struct store *store, uint64_t after_seq, uint64_t num,
                   size_t limit, struct arena *arena,
                   struct store_event **ret_events, size_t *ret_count,
                   struct err *err);
    bool (*rollback)(struct store *store, uint64_t num, struct arena *arena,
                     struct store_rollback *ret_rollback, bool *ret_found,
                     struct err *err);
    bool (*setting)(struct store *store, struct span name, struct arena *arena,
                    struct span *ret_value, struct err *err);
    bool (*settings)(struct store *store, struct arena *arena,
                     struct span **ret_names, struct span **ret_values,
                     size_t *ret_count, struct err *err);
    /* The tables of the owner's connection; NULL in plain memory. */
    struct store_tables *(*tables)(struct store *store);
    bool (*count)(struct store *store, struct store_tally *ret_tally,
                  struct err *err);
    bool (*verify)(struct store *store, struct err *err);
    bool (*backup)(struct store *store, const char *path, struct err *err);
    int (*version)(struct store *store);
};

/* The first member of every backend's own struct. */
struct store {
    const struct store_backend *backend;
    struct list listeners;
    uint64_t seq;    /* last event delivered */
    bool look_again; /* others' events were seen but not all delivered */
    bool delivering;
};

void store_init(struct store *store, const struct store_backend *backend,
                uint64_t seq);
/* Moves the last batch of the list to the front. */
void store_overtake(struct list *queued);
/* Resets the store as if just opened: no listener, everything up to seq
 * delivered. */
void store_forget(struct store *store, uint64_t seq);

#endif
