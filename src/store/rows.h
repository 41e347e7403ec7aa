/* What apply.c needs from a backend: the rows inside one open transaction.
 * The meaning of every operation is defined once, in apply.c; a backend only
 * reads and writes rows. Every function: false = the backend failed (err
 * says why), and the transaction must be given up. */
#ifndef POINTSMAN_STORE_ROWS_H
#define POINTSMAN_STORE_ROWS_H

#include "store/store_batch.h"
#include "store/chain.h"

/* The last job number and the last event with its hash; jobs per state. */
struct head {
    uint64_t seq, num;
    unsigned char hash[CHAIN_BYTES];
    struct store_tally tally;
};

/* The part of a job that changes, without its texts. */
struct row {
    uint64_t num;
    char id_text[JOB_ID_BYTES];
    struct span id; /* in id_text */
    enum job_kind kind;
    enum job_state state;
    unsigned holds, attempt, temps, crashes, fails, tasks, tasks_done;
    struct wall since, not_before;
    uint64_t state_seq, record_seq, event_seq;
    bool has_relations, cancel_asked, stale;
    /* The running attempt of a one-task job, for a backend that keeps it
     * here. */
    unsigned run_attempt, attempt_kept;

    unsigned dirty;             /* of enum row_part: what is to be written */
    struct span reason, detail; /* with ROW_STEP */
    struct wall run_assigned;   /* with ROW_RUN */
    struct span run_worker;
};

/* The parts of a row that change together. */
enum row_part {
    ROW_STEP = 1 << 0,  /* state, reason, detail, since, state_seq, counts */
    ROW_REST = 1 << 1,  /* everything that is in no other part */
    ROW_MARKS = 1 << 2, /* not_before, holds, has_relations, stale */
    ROW_RUN = 1 << 3    /* run_assigned, run_worker */
};

struct rows; /* the backend's own */

struct rows_ops {
    bool (*get)(struct rows *rows, uint64_t num, struct row *ret_row,
                bool *ret_found, struct err *err);
    /* Enough to decide whether a job with this id is the same job. */
    bool (*find)(struct rows *rows, struct span id, struct arena *arena,
                 struct job *ret_job, bool *ret_found, struct err *err);
    /* ret_new false: the id exists already, nothing was written. */
    bool (*insert)(struct rows *rows, const struct op_admit *admit,
                   uint64_t event_seq, bool *ret_new, struct err *err);
    /* Writes the parts that are dirty. */
    bool (*update)(struct rows *rows, const struct row *row, struct err *err);
    bool (*update_rank)(struct rows *rows, uint64_t num, struct span rank,
                        bool *ret_changed, struct err *err);
    /* See store_set_back; no row is dirty. */
    bool (*set_back)(struct rows *rows, struct wall now, int64_t ms,
                     struct err *err);
    bool (*owed_get)(struct rows *rows, uint64_t num, struct wall *ret_owed,
                     struct err *err);
    bool (*owed_put)(struct rows *rows, uint64_t num, struct wall owed,
                     struct err *err);
    bool (*limit_put)(struct rows *rows, uint64_t num, unsigned max_running,
                      bool *ret_changed, struct err *err);
    bool (*mark_get)(struct rows *rows, uint64_t num, struct arena *arena,
                     struct span *ret_mark, struct err *err);
    bool (*mark_put)(struct rows *rows, uint64_t num, struct span mark,
                     struct err *err);
    bool (*plan_put)(struct rows *rows, const struct store_rollback *plan,
                     struct err *err);
    bool (*edges_replace)(struct rows *rows, uint64_t num,
                          const struct op_record *record, struct err *err);
    bool (*task_get)(struct rows *rows, uint64_t num, struct span node,
                     struct store_task *ret_task, bool *ret_found,
                     struct err *err);
    bool (*task_put)(struct rows *rows, uint64_t num,
                     const struct store_task *task, struct err *err);
    /* The same for a task of a standing job, whose row is made if it has
     * none. */
    bool (*task_record)(struct rows *rows, uint64_t num,
                        const struct store_task *task, struct err *err);
    /* No task of this job has a not_before any more. */
    bool (*tasks_at_once)(struct rows *rows, uint64_t num, struct err *err);
    /* Attempts; these functions may change `row` and make it dirty. */
    bool (*attempt_status)(struct rows *rows, const struct row *row,
                           struct span node, unsigned attempt,
                           enum task_status *ret_status, bool *ret_found,
                           struct err *err);
    bool (*attempt_insert)(struct rows *rows, struct row *row,
                           const struct store_attempt *attempt, bool *ret_new,
                           struct err *err);
    bool (*attempt_end)(struct rows *rows, struct row *row,
                        const struct store_attempt *attempt, bool *ret_found,
                        struct err *err);
    bool (*attempt_remove)(struct rows *rows, struct row *row, struct span node,
                           unsigned attempt, struct err *err);
    /* The backend may gather events until write_gathered. */
    bool (*event_insert)(struct rows *rows, const struct store_event *event,
                         uint64_t prev, const unsigned char hash[CHAIN_BYTES],
                         struct err *err);
    /* Writes the gathered events: before a commit, and around atomic
     * batches. */
    bool (*write_gathered)(struct rows *rows, struct err *err);
    bool (*setting_get)(struct rows *rows, struct span name,
                        struct arena *arena, struct span *ret_value,
                        struct err *err);
    bool (*setting_put)(struct rows *rows, struct span name, struct span value,
                        struct err *err);
    bool (*lease_get)(struct rows *rows, struct span name, struct arena *arena,
                      struct span *ret_holder, uint64_t *ret_epoch,
                      struct wall *ret_until, bool *ret_found, struct err *err);
    bool (*lease_put)(struct rows *rows, struct span name, struct span holder,
                      uint64_t epoch, struct wall until, struct err *err);
    /* For operations of nouns; NULL in plain memory. */
    struct store_tables *(*tables)(struct rows *rows);
    /* Called around the operations of an atomic batch. */
    bool (*save)(struct rows *rows, struct err *err);
    bool (*restore)(struct rows *rows, struct err *err);
    bool (*release)(struct rows *rows, struct err *err);
};

#endif
