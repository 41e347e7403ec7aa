/* The effect of every operation of a batch on the rows: the one place where
 * store.h's results, events, counts and marks are decided, for every
 * backend. Works inside a transaction that the backend has begun, with the
 * head as it stands there; the backend writes the head back before it
 * commits. */
#ifndef POINTSMAN_STORE_APPLY_H
#define POINTSMAN_STORE_APPLY_H

#include "store/rows.h"

enum { APPLY_ROWS = 4096 };

struct apply {
    const struct rows_ops *ops;
    struct rows *rows;
    struct chain chain;
    struct head head;
    /* Recently used jobs, each at num % APPLY_ROWS: the steps of one job
     * follow each other closely, and reading a row costs as much as an
     * event. */
    struct row *kept;
    /* Rows changed in this transaction: each is written once, at its end. */
    struct row **dirty;
    size_t dirty_count;
    struct store_batch *batch;
    const struct op_who *who;
};

void apply_init(struct apply *apply, const struct rows_ops *ops,
                struct rows *rows);
void apply_clear(struct apply *apply);
/* Called when a transaction begins; `head` as read inside it. */
void apply_begin(struct apply *apply, const struct head *head);
/* Forgets all rows: a transaction was given up, or another process wrote. */
void apply_forget(struct apply *apply);
/* Writes the dirty rows. */
bool apply_flush(struct apply *apply, struct err *err);
/* Like apply_flush, and also writes what the backend gathered: call it
 * before the commit. */
bool apply_write(struct apply *apply, struct err *err);
/* Applies all operations of the batch. False: the transaction must be given
 * up. */
bool apply_batch(struct apply *apply, struct store_batch *batch,
                 struct err *err);

/* ---- for apply_job.c and apply_task.c ----------------------------------- */

/* Finds the job, so that it can be changed (and then marked dirty); *ret_row
 * NULL: no such job. The row is valid until the next job is asked for. */
bool apply_row(struct apply *apply, uint64_t num, struct row **ret_row,
               struct err *err);
/* The row of a job, as if it had been read; its event_seq is 0. */
void apply_row_make(const struct job *job, struct row *ret_row);
/* The place for the row of that number, emptied. */
bool apply_place(struct apply *apply, uint64_t num, struct row **ret_row,
                 struct err *err);
/* Marks these parts of the row as changed. */
void apply_dirty(struct apply *apply, struct row *row, unsigned parts);
/* Writes the event (seq, at, actor, id and chain are filled in) and sets
 * op->seq and, in memory, the row's event_seq. `row` NULL: an event about no
 * job. */
bool apply_event(struct apply *apply, struct op *op, struct row *row,
                 struct store_event event, struct err *err);

/* The same for an event about the job event.num, or, if that is 0, about none:
 * op->result is UNKNOWN if there is no such job. */
bool apply_note(struct apply *apply, struct op *op, struct store_event event,
                struct err *err);

/* One per operation: sets op->result, and op->num and op->seq as store.h says.
 * False: an error of the backend; what the operation met is a result. */
bool apply_admit(struct apply *apply, struct op *op, struct err *err);
bool apply_restore_job(struct apply *apply, struct op *op, struct err *err);
/* Operations on a job that exists; `row` is the one of op->num. */
bool apply_move(struct apply *apply, struct op *op, struct row *row,
                struct err *err);
bool apply_record(struct apply *apply, struct op *op, struct row *row,
                  struct err *err);
bool apply_rank(struct apply *apply, struct op *op, struct row *row,
                struct err *err);
bool apply_hold(struct apply *apply, struct op *op, struct row *row,
                struct err *err);
bool apply_ask_cancel(struct apply *apply, struct op *op, struct row *row,
                      struct err *err);
bool apply_at_once(struct apply *apply, struct op *op, struct row *row,
                   struct err *err);
bool apply_projected(struct apply *apply, struct op *op, struct row *row,
                     struct err *err);
bool apply_due(struct apply *apply, struct op *op, struct row *row,
               struct err *err);
bool apply_mark(struct apply *apply, struct op *op, struct row *row,
                struct err *err);
bool apply_limit(struct apply *apply, struct op *op, struct row *row,
                 struct err *err);
bool apply_owe(struct apply *apply, struct op *op, struct row *row,
               struct err *err);
bool apply_plan(struct apply *apply, struct op *op, struct row *row,
                struct err *err);

bool apply_assign(struct apply *apply, struct op *op, struct err *err);
bool apply_end(struct apply *apply, struct op *op, struct err *err);
bool apply_unassign(struct apply *apply, struct op *op, struct err *err);
bool apply_task_set(struct apply *apply, struct op *op, struct err *err);
bool apply_task_record(struct apply *apply, struct op *op, struct err *err);

/* noun.c */
bool noun_apply(struct apply *apply, struct op *op, struct err *err);

#endif
