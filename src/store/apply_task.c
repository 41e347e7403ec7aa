/* The operations on tasks and attempts. */
#include "store/apply.h"

static bool answer(struct op *op, enum store_result result) {
    op->result = result;
    return true;
}

/* The task that is to be recorded as a whole, if any. */
static const struct store_task *recorded(const struct op *op) {
    if (op->kind == OP_TASK_RECORD)
        return op->task_record;
    return op->kind == OP_ASSIGN || op->kind == OP_END ? op->attempt->task
                                                       : NULL;
}

/* The task starts as if it never had, but for the number of its attempt. */
static bool forgets(const struct op *op) {
    return op->kind == OP_TASK_SET && op->task.status == TASK_UNSTARTED &&
           op->task.not_before.ns == 0;
}

/* A step of a task of an array, or of a standing job. A one-task job has no row
 * of its task: the job's row holds everything, and its move is the event. */
static bool task_step(struct apply *apply, struct op *op, struct row *row,
                      struct store_task *task, enum task_status status,
                      enum event_kind kind, struct err *err) {
    row->tasks_done -= task->status == TASK_DONE;
    row->tasks_done += status == TASK_DONE;
    task->status = status;
    bool whole = recorded(op) != NULL || forgets(op);
    struct store_event event = {
        .kind = kind,
        .num = row->num,
        .from = row->state,
        .to = row->state,
        .attempt = task->attempt,
        .reason = span_of(job_task_status_word(status)),
        .detail = task->node,
    };
    apply_dirty(apply, row, ROW_REST);
    return (whole ? apply->ops->task_record
                  : apply->ops->task_put)(apply->rows, row->num, task, err) &&
           apply_event(apply, op, row, event, err);
}

/* Finds the job and, if a node is named, its task; op->result is UNKNOWN and
 * *ret_row NULL if either is missing. */
static bool task_find(struct apply *apply, struct op *op, struct span node,
                      struct row **ret_row, struct store_task *ret_task,
                      struct err *err) {
    if (!apply_row(apply, op->num, ret_row, err))
        return false;
    if (!*ret_row)
        return answer(op, STORE_UNKNOWN);
    if (node.len == 0)
        return true;
    bool found;
    if (!apply->ops->task_get(apply->rows, op->num, node, ret_task, &found,
                              err))
        return false;
    const struct store_task *record = recorded(op);
    if (found && record != NULL) {
        enum task_status status = ret_task->status;
        *ret_task = *record;
        ret_task->status = status;
    } else if (op->kind == OP_ASSIGN && record != NULL) {
        *ret_task = *record;
        ret_task->status = TASK_UNSTARTED;
        found = true;
    }
    ret_task->node = node;
    if (!found) {
        *ret_row = NULL;
        return answer(op, STORE_UNKNOWN);
    }
    return true;
}

static bool may_go_on(const struct row *row) {
    return row->state == STATE_EXECUTING && row->holds == 0 &&
           !row->cancel_asked;
}

bool apply_assign(struct apply *apply, struct op *op, struct err *err) {
    const struct store_attempt *attempt = op->attempt;
    struct store_task task;
    struct row *row;
    bool is_new;
    if (!task_find(apply, op, attempt->node, &row, &task, err))
        return false;
    if (!row)
        return true;
    if ((attempt->goes_on || attempt->task != NULL) && !may_go_on(row))
        return answer(op, STORE_CONFLICT);
    if (!apply->ops->attempt_insert(apply->rows, row, attempt, &is_new, err))
        return false;
    if (!is_new)
        return answer(op, STORE_CONFLICT);
    if (attempt->goes_on)
        row->attempt = attempt->attempt;
    if (attempt->node.len == 0) {
        bool runs = row->run_attempt == attempt->attempt;
        apply_dirty(apply, row, runs ? ROW_REST | ROW_RUN : ROW_REST);
        return true;
    }
    task.attempt = attempt->attempt;
    task.not_before = (struct wall){0};
    return task_step(apply, op, row, &task, attempt->status, EVENT_TASK, err);
}

bool apply_end(struct apply *apply, struct op *op, struct err *err) {
    const struct store_attempt *attempt = op->attempt;
    struct store_task task;
    struct row *row;
    bool found;
    if (!task_find(apply, op, attempt->node, &row, &task, err))
        return false;
    if (!row)
        return true;
    if (!apply->ops->attempt_end(apply->rows, row, attempt, &found, err))
        return false;
    if (!found)
        return answer(op, STORE_UNKNOWN);
    apply_dirty(apply, row, ROW_REST);
    /* A late report about an attempt that was followed by another changes
     * that attempt's row, but not the task's status. */
    if (attempt->node.len == 0 || task.attempt != attempt->attempt)
        return true;
    return task_step(apply, op, row, &task, attempt->status, EVENT_TASK, err);
}

static bool unassign_task(struct apply *apply, struct op *op, struct row *row,
                          struct store_task *task, struct err *err) {
    enum task_status status = TASK_UNSTARTED;
    bool found;
    if (task->attempt != op->task.attempt)
        return true;
    task->attempt--;
    if (!apply->ops->attempt_status(apply->rows, row, task->node, task->attempt,
                                    &status, &found, err))
        return false;
    return task_step(apply, op, row, task, found ? status : TASK_UNSTARTED,
                     EVENT_TASK, err);
}

bool apply_unassign(struct apply *apply, struct op *op, struct err *err) {
    struct span node = op->task.node;
    enum task_status status;
    struct store_task task;
    struct row *row;
    bool found;
    if (!task_find(apply, op, node, &row, &task, err))
        return false;
    if (!row)
        return true;
    if (!apply->ops->attempt_status(apply->rows, row, node, op->task.attempt,
                                    &status, &found, err))
        return false;
    if (!found)
        return answer(op, STORE_UNKNOWN);
    if (status != TASK_RUNNING)
        return answer(op, STORE_CONFLICT);
    if (!apply->ops->attempt_remove(apply->rows, row, node, op->task.attempt,
                                    err))
        return false;
    if (node.len > 0)
        return unassign_task(apply, op, row, &task, err);
    apply_dirty(apply, row, ROW_REST);
    row->attempt -= row->attempt == op->task.attempt;
    return true;
}

bool apply_limit(struct apply *apply, struct op *op, struct row *row,
                 struct err *err) {
    struct text number = TEXT_INIT;
    bool changed;
    if (!apply->ops->limit_put(apply->rows, row->num, op->limit.max_running,
                               &changed, err))
        return false;
    if (!changed)
        return answer(op, STORE_SAME);
    text_addf(&number, "%u", op->limit.max_running);
    struct store_event event = {
        .kind = EVENT_LIMIT,
        .num = row->num,
        .from = row->state,
        .to = row->state,
        .attempt = row->attempt,
        .reason = arena_span(&apply->batch->arena, text_span(&number)),
        .detail = op->limit.detail,
    };
    text_clear(&number);
    apply_dirty(apply, row, ROW_REST);
    return apply_event(apply, op, row, event, err);
}

bool apply_task_set(struct apply *apply, struct op *op, struct err *err) {
    struct store_task task = {0};
    struct row *row;
    if (op->task.node.len == 0)
        return answer(op, STORE_UNKNOWN);
    if (!task_find(apply, op, op->task.node, &row, &task, err))
        return false;
    if (!row)
        return true;
    if (forgets(op)) {
        task = (struct store_task){.node = task.node,
                                   .at = task.at,
                                   .status = task.status,
                                   .attempt = task.attempt};
    } else if (task.status == op->task.status &&
               task.not_before.ns == op->task.not_before.ns) {
        return answer(op, STORE_SAME);
    }
    task.not_before = op->task.not_before;
    return task_step(apply, op, row, &task, op->task.status,
                     task.not_before.ns ? EVENT_NOT_BEFORE : EVENT_TASK, err);
}

bool apply_task_record(struct apply *apply, struct op *op, struct err *err) {
    struct store_task task = {0};
    struct row *row;
    if (!task_find(apply, op, op->task_record->node, &row, &task, err))
        return false;
    return row == NULL ||
           task_step(apply, op, row, &task, op->task_record->status,
                     task.not_before.ns ? EVENT_NOT_BEFORE : EVENT_TASK, err);
}
