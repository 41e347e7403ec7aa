/* What every operation of a batch does to the rows: the one place where
 * store.h's results, events, counts and marks are decided, for every backend.
 * Works inside a transaction that the backend has begun, with the head as it
 * stands there; the backend writes the head back before it commits. */
#ifndef POINTSMAN_STORE_APPLY_H
#define POINTSMAN_STORE_APPLY_H

#include "store/rows.h"

enum { APPLY_ROWS = 4096 };

struct apply {
    const struct rows_ops *ops;
    struct rows *rows;
    struct chain chain;
    struct head head;
    /* Jobs looked at lately, each at num % APPLY_ROWS: a job's steps follow
     * each other closely, and reading a row costs as much as an event. */
    struct row *kept;
    /* Those changed in this transaction: each is written once, at its end. */
    struct row **dirty;
    size_t dirty_count;
    struct store_batch *batch;
    const struct op_who *who;
};

void apply_init(struct apply *apply, const struct rows_ops *ops,
                struct rows *rows);
void apply_clear(struct apply *apply);
/* A transaction begins; `head` as read inside it. */
void apply_begin(struct apply *apply, const struct head *head);
/* The rows are not what they were: a transaction was given up, or somebody
 * else wrote. */
void apply_forget(struct apply *apply);
/* Writes what is still dirty. */
bool apply_flush(struct apply *apply, struct err *err);
/* And what the backend gathered: before the commit. */
bool apply_write(struct apply *apply, struct err *err);
/* All operations of the batch. False: the transaction must be given up. */
bool apply_batch(struct apply *apply, struct store_batch *batch,
                 struct err *err);

/* ---- for apply_job.c and apply_task.c ----------------------------------- */

/* The job, to be changed (and then called dirty); *ret_row NULL: there is
 * none. Good until the next one is asked for. */
bool apply_row(struct apply *apply, uint64_t num, struct row **ret_row,
               struct err *err);
/* The place for a row of that number, empty. */
bool apply_place(struct apply *apply, uint64_t num, struct row **ret_row,
                 struct err *err);
/* These parts of the row were changed. */
void apply_dirty(struct apply *apply, struct row *row, unsigned parts);
/* Writes the event (seq, at, actor, id and chain are filled in) and, in
 * memory, the row's event_seq; op->seq too. `row` NULL: about no job. */
bool apply_event(struct apply *apply, struct op *op, struct row *row,
                 struct store_event event, struct err *err);

bool apply_admit(struct apply *apply, struct op *op, struct err *err);
bool apply_restore_job(struct apply *apply, struct op *op, struct err *err);
bool apply_move(struct apply *apply, struct op *op, struct err *err);
bool apply_record(struct apply *apply, struct op *op, struct err *err);
bool apply_rank(struct apply *apply, struct op *op, struct err *err);
bool apply_hold(struct apply *apply, struct op *op, struct err *err);
bool apply_mark(struct apply *apply, struct op *op, struct err *err);
bool apply_owe(struct apply *apply, struct op *op, struct err *err);
bool apply_plan(struct apply *apply, struct op *op, struct err *err);
bool apply_ask_cancel(struct apply *apply, struct op *op, struct err *err);
bool apply_projected(struct apply *apply, struct op *op, struct err *err);
bool apply_due(struct apply *apply, struct op *op, struct err *err);
bool apply_prune(struct apply *apply, struct op *op, struct err *err);

bool apply_assign(struct apply *apply, struct op *op, struct err *err);
bool apply_end(struct apply *apply, struct op *op, struct err *err);
bool apply_unassign(struct apply *apply, struct op *op, struct err *err);
bool apply_task_set(struct apply *apply, struct op *op, struct err *err);

/* noun.c */
bool noun_apply(struct apply *apply, struct op *op, struct err *err);

#endif
