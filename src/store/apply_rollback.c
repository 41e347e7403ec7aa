/* Facts about a job that are not part of its life: the mark that a rollback
 * undid it, and an approval owed; also the plans of rollbacks. */
#include "store/apply.h"

#include "core/reason.h"

static bool answer(struct op *op, enum store_result result) {
    op->result = result;
    return true;
}

bool apply_mark(struct apply *apply, struct op *op, struct row *row,
                struct err *err) {
    const struct op_mark *mark = op->mark;
    struct span now;
    if (row->state != STATE_DONE ||
        !job_kind_has(row->kind, JOB_CAN_BE_ROLLED_BACK))
        return answer(op, STORE_CONFLICT);
    if (!apply->ops->mark_get(apply->rows, row->num, &apply->batch->arena, &now,
                              err))
        return false;
    if (!span_equal(now, mark->was))
        return answer(op, STORE_CONFLICT);
    if (span_equal(now, mark->rolled_back_by))
        return answer(op, STORE_SAME);
    if (!apply->ops->mark_put(apply->rows, row->num, mark->rolled_back_by, err))
        return false;
    row->stale = true; /* the job's log shows it too */
    apply_dirty(apply, row, ROW_REST | ROW_MARKS);
    struct event_facts facts = {.rollback = mark->rolled_back_by,
                                .because = mark->because};
    struct store_event event = {
        .kind = EVENT_ROLLED_BACK,
        .num = row->num,
        .from = row->state,
        .to = row->state,
        .attempt = row->attempt,
        .reason = mark->rolled_back_by.len ? SPAN(REASON_ROLLED_BACK)
                                           : SPAN(REASON_REINSTATED),
        .detail = mark->detail,
        .facts = event_facts_format(&facts, &apply->batch->arena),
    };
    return apply_event(apply, op, row, event, err);
}

bool apply_owe(struct apply *apply, struct op *op, struct row *row,
               struct err *err) {
    const struct op_owe *owe = op->owe;
    struct wall now;
    if (!apply->ops->owed_get(apply->rows, row->num, &now, err))
        return false;
    if (now.ns == owe->owed.ns)
        return answer(op, STORE_SAME);
    if (!apply->ops->owed_put(apply->rows, row->num, owe->owed, err))
        return false;
    row->stale |=
        job_kind_has(row->kind, JOB_HAS_FILE); /* the job's log shows it too */
    apply_dirty(apply, row, ROW_REST | ROW_MARKS);
    struct event_facts facts = {.owed = owe->owed,
                                .settled = owe->owed.ns == 0};
    struct store_event event = {
        .kind = EVENT_OWED,
        .num = row->num,
        .from = row->state,
        .to = row->state,
        .attempt = row->attempt,
        .reason = owe->reason,
        .detail = owe->detail,
        .facts = event_facts_format(&facts, &apply->batch->arena),
    };
    return apply_event(apply, op, row, event, err);
}

bool apply_plan(struct apply *apply, struct op *op, struct row *row,
                struct err *err) {
    (void)row;
    return apply->ops->plan_put(apply->rows, op->plan, err);
}
