/* The memory backend from the inside. Everything lies in one arena as long
 * as the store lives: overwritten values are not freed, which is fine for
 * tests and the simulator. */
#ifndef POINTSMAN_STORE_MEMORY_H
#define POINTSMAN_STORE_MEMORY_H

#include "lib/map.h"
#include "store/apply.h"
#include "store/backend.h"

struct memory_job {
    struct job job;
    uint64_t event_seq;
    struct list live; /* among the live ones, in no order */
    struct job_edge *edges;
    size_t edge_count;
    struct job_touch *touches; /* by path */
    size_t touch_count;
    struct store_task *tasks; /* by place */
    size_t task_count;
    struct store_attempt *attempts; /* by node, then attempt */
    size_t attempt_count;
    /* The job before the atomic batch under way touched it. */
    struct memory_job *before;
    struct store_rollback plan; /* of a rollback; phase.p NULL: none */
};

struct memory_lease {
    struct span holder;
    uint64_t epoch;
    struct wall until;
};

struct memory_event {
    struct store_event event; /* without hashes */
    unsigned char hash[CHAIN_BYTES];
};

/* A setting before the atomic batch under way touched it. */
struct memory_change {
    struct span name;
    struct span *value; /* NULL: was not there */
};

struct memory {
    struct store store; /* first */
    struct arena arena;
    struct apply apply;
    struct head head;
    struct list queued, answered;
    unsigned under_way;

    struct memory_job **jobs; /* by num */
    size_t job_count, job_cap;
    struct map by_id;
    struct list live;
    struct memory_event *events; /* by seq */
    size_t event_count, event_cap;
    struct map settings; /* to struct span */
    struct map leases;   /* to struct memory_lease */

    /* Used while an atomic batch is tried. */
    bool saving;
    size_t saved_jobs, saved_events;
    struct memory_job **touched;
    size_t touched_count, touched_cap;
    struct memory_change *changes;
    size_t change_count, change_cap;
};

static inline struct memory *memory_of(struct store *store) {
    return (struct memory *)(void *)store;
}

extern const struct rows_ops memory_rows; /* struct rows is a struct memory */
struct memory_job *memory_find(const struct memory *memory, uint64_t num);

/* memory_read.c */
bool memory_by_num(struct store *store, uint64_t num, struct arena *arena,
                   struct job *ret_job, bool *ret_found, struct err *err);
bool memory_by_id(struct store *store, struct span id, struct arena *arena,
                  struct job *ret_job, bool *ret_found, struct err *err);
bool memory_last(struct store *store, struct arena *arena, struct job *ret_job,
                 bool *ret_found, struct err *err);
bool memory_ids(struct store *store, struct span prefix, size_t limit,
                struct arena *arena, struct span **ret_ids, size_t *ret_count,
                struct err *err);
bool memory_jobs(struct store *store, const struct store_list *list,
                 struct arena *arena, struct job **ret_jobs, size_t *ret_count,
                 struct err *err);
bool memory_ready(struct store *store, struct wall now, struct span after_rank,
                  uint64_t after_num, size_t limit, struct arena *arena,
                  struct job **ret_jobs, size_t *ret_count, struct err *err);
bool memory_touching(struct store *store, struct span path, size_t limit,
                     struct arena *arena, struct job **ret_jobs,
                     size_t *ret_count, struct err *err);
bool memory_edges_from(struct store *store, uint64_t num, struct arena *arena,
                       struct job_edge **ret_edges, size_t *ret_count,
                       struct err *err);
bool memory_edges_to(struct store *store, struct span id, uint64_t after_num,
                     size_t limit, struct arena *arena,
                     struct store_edge_to **ret_edges, size_t *ret_count,
                     struct err *err);
bool memory_touches(struct store *store, uint64_t num, struct arena *arena,
                    struct job_touch **ret_touches, size_t *ret_count,
                    struct err *err);
bool memory_attempts(struct store *store, uint64_t num, struct arena *arena,
                     struct store_attempt **ret_attempts, size_t *ret_count,
                     struct err *err);
bool memory_attempts_latest(struct store *store, uint64_t num, struct span node,
                            size_t limit, struct arena *arena,
                            struct store_attempt **ret_attempts,
                            size_t *ret_count, struct err *err);
bool memory_attempt_find(struct store *store, uint64_t num, struct span node,
                         unsigned attempt, struct arena *arena,
                         struct store_attempt *ret_attempt, bool *ret_found,
                         struct err *err);
bool memory_task_find(struct store *store, uint64_t num, struct span node,
                      struct arena *arena, struct store_task *ret_task,
                      bool *ret_found, struct err *err);
bool memory_task_counts(struct store *store, uint64_t num,
                        size_t ret_counts[TASK_STATUSES], struct err *err);
bool memory_tasks_ended(struct store *store, uint64_t num, struct wall since,
                        size_t *ret_count, struct err *err);
bool memory_tasks(struct store *store, uint64_t num, struct arena *arena,
                  struct store_task **ret_tasks, size_t *ret_count,
                  struct err *err);
bool memory_events(struct store *store, uint64_t after_seq, uint64_t num,
                   size_t limit, struct arena *arena,
                   struct store_event **ret_events, size_t *ret_count,
                   struct err *err);
bool memory_rollback(struct store *store, uint64_t num, struct arena *arena,
                     struct store_rollback *ret_rollback, bool *ret_found,
                     struct err *err);
bool memory_setting(struct store *store, struct span name, struct arena *arena,
                    struct span *ret_value, struct err *err);
bool memory_settings(struct store *store, struct arena *arena,
                     struct span **ret_names, struct span **ret_values,
                     size_t *ret_count, struct err *err);
bool memory_verify(struct store *store, struct err *err);

#endif
