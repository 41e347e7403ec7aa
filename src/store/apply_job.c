/* The operations on a job itself. */
#include "store/apply.h"

#include <assert.h>

#include "core/reason.h"

static bool answer(struct op *op, enum store_result result) {
    op->result = result;
    return true;
}

/* A job counts as held while it lives. */
static bool counts_as_held(enum job_state state, unsigned holds) {
    return holds != 0 && !job_state_is_final(state);
}

static void tally_change(struct apply *apply, enum job_state from,
                         unsigned holds_before, enum job_state to,
                         unsigned holds_after) {
    struct store_tally *tally = &apply->head.tally;
    if (from < JOB_STATES)
        tally->count[from]--;
    tally->count[to]++;
    tally->held -= counts_as_held(from, holds_before);
    tally->held += counts_as_held(to, holds_after);
}

/* ---- coming in ---------------------------------------------------------- */

/* Keeps the row of a job just inserted, as if it had been read. */
static bool keep_row(struct apply *apply, const struct job *job,
                     struct row **ret_row, struct err *err) {
    if (!apply_place(apply, job->num, ret_row, err))
        return false;
    apply_row_make(job, *ret_row);
    return true;
}

static bool was_there(struct apply *apply, struct op *op, struct err *err) {
    const struct job *asked = &op->admit->job;
    struct job job;
    bool found;
    /* The job may be one of those changed just now. */
    if (!apply_flush(apply, err) ||
        !apply->ops->find(apply->rows, asked->id, &apply->batch->arena, &job,
                          &found, err))
        return false;
    assert(found);
    op->num = job.num;
    op->seq = job.admitted_seq;
    bool is_same = job.kind == asked->kind && span_equal(job.sum, asked->sum) &&
                   !job_state_is_final(job.state);
    return answer(op, is_same ? STORE_SAME : STORE_DUPLICATE);
}

static void complete(struct apply *apply, struct op_admit *admit) {
    struct job *job = &admit->job;
    job->num = apply->head.num + 1;
    job->reason = SPAN(REASON_ADMITTED);
    job->since = apply->who->now;
    if (job->admitted.ns == 0)
        job->admitted = apply->who->now;
    job->admitted_seq = job->state_seq = apply->head.seq + 1;
    job->record_seq = 0;
    job->tasks = admit->node_count ? (unsigned)admit->node_count : 1;
    job->tasks_done = 0;
    job->has_relations =
        job->has_relations || admit->edge_count > 0 || admit->touch_count > 0;
    job->cancel_asked = false;
    job->stale = job_has(job, JOB_HAS_FILE);
}

bool apply_admit(struct apply *apply, struct op *op, struct err *err) {
    struct op_admit *admit = op->admit;
    struct job *job = &admit->job;
    if (!admit->nodes_differ)
        return answer(op, STORE_DUPLICATE);
    complete(apply, admit);
    bool is_new;
    if (!apply->ops->insert(apply->rows, admit, job->admitted_seq, &is_new,
                            err))
        return false;
    if (!is_new)
        return was_there(apply, op, err);
    op->num = apply->head.num = job->num;
    tally_change(apply, STATE_NONE, 0, job->state, job->holds);
    struct row *row;
    if (!keep_row(apply, job, &row, err))
        return false;
    struct event_facts facts = {.holds = job->holds, .owed = job->owed};
    struct store_event event = {
        .kind = EVENT_MOVE,
        .num = job->num,
        .from = STATE_NONE,
        .to = job->state,
        .attempt = job->attempt,
        .reason = job->reason,
        .detail = job->detail,
        .facts = job->holds != 0 || job->owed.ns != 0
                     ? event_facts_format(&facts, &apply->batch->arena)
                     : SPAN(""),
        .job = job,
    };
    return apply_event(apply, op, row, event, err);
}

bool apply_restore_job(struct apply *apply, struct op *op, struct err *err) {
    struct op_admit *admit = op->admit;
    struct job *job = &admit->job;
    bool is_new;
    /* The number from before is kept if that preserves the order. */
    if (job->num <= apply->head.num)
        job->num = apply->head.num + 1;
    if (job->tasks == 0)
        job->tasks = 1;
    job->has_relations =
        job->has_relations || admit->edge_count > 0 || admit->touch_count > 0;
    if (!apply->ops->insert(apply->rows, admit, 0, &is_new, err))
        return false;
    if (!is_new)
        return was_there(apply, op, err) && answer(op, STORE_DUPLICATE);
    op->num = apply->head.num = job->num;
    tally_change(apply, STATE_NONE, 0, job->state, job->holds);
    struct row *row;
    return keep_row(apply, job, &row, err);
}

/* ---- the steps of its life ---------------------------------------------- */

static bool may_move(const struct row *row, const struct store_move *move) {
    if (row->state != move->from)
        return false;
    bool starts = move->from == STATE_PENDING && move->to == STATE_EXECUTING;
    return !starts || (row->holds == 0 && !row->cancel_asked);
}

/* A job whose cancellation was requested meanwhile neither waits again nor
 * is abandoned, because it could run again from both states: the request has
 * been accepted. */
static struct store_move as_asked(const struct row *row,
                                  const struct store_move *move) {
    struct store_move step = *move;
    bool may_go_on = move->from == STATE_EXECUTING &&
                     (move->to == STATE_PENDING || move->to == STATE_ABANDONED);
    if (!may_go_on || !row->cancel_asked)
        return step;
    step.to = STATE_TERMINATED;
    step.reason = SPAN(REASON_OPERATOR);
    step.detail = SPAN("");
    step.not_before = (struct wall){0};
    return step;
}

/* What a job that waits is not to start before stays until it starts. */
static struct wall row_not_before(const struct row *row,
                                  const struct store_move *move) {
    bool waited = (STATE_BIT(move->from) & STATES_WAITING) != 0;
    bool waits = (STATE_BIT(move->to) & STATES_WAITING) != 0;
    if (waits && waited && move->not_before.ns == 0)
        return row->not_before;
    return move->to == STATE_PENDING ? move->not_before : (struct wall){0};
}

static void row_step(struct row *row, const struct store_move *move,
                     struct wall now, uint64_t seq) {
    if (move->clear_counts)
        row->temps = row->crashes = row->fails = 0;
    row->temps += move->temps;
    row->crashes += move->crashes;
    row->fails += move->fails;
    row->attempt += move->begin_attempt;
    row->state = move->to;
    row->reason = move->reason;
    row->detail = move->detail;
    row->since = now;
    row->state_seq = seq;
    row->not_before = row_not_before(row, move);
    if (job_state_is_final(move->to))
        row->cancel_asked = false;
    /* Arrays count the ends of their tasks themselves. */
    if (row->tasks == 1)
        row->tasks_done = move->to == STATE_DONE;
    row->stale = job_kind_has(row->kind, JOB_HAS_FILE);
}

bool apply_move(struct apply *apply, struct op *op, struct row *row,
                struct err *err) {
    const struct store_move *move = op->move;
    if (!may_move(row, move))
        return answer(op, STORE_CONFLICT);
    struct store_move step = as_asked(row, move);
    struct wall not_before = row->not_before;
    bool stale = row->stale;
    row_step(row, &step, op->who->now, apply->head.seq + 1);
    apply_dirty(apply, row, ROW_STEP);
    if (not_before.ns != row->not_before.ns || stale != row->stale)
        apply_dirty(apply, row, ROW_MARKS);
    tally_change(apply, step.from, row->holds, step.to, row->holds);
    struct event_facts facts = {.rollback = step.rollback};
    struct store_event event = {
        .kind = EVENT_MOVE,
        .num = row->num,
        .from = step.from,
        .to = step.to,
        .attempt = row->attempt,
        .reason = step.reason,
        .detail = step.detail,
        .facts = step.to == STATE_ABANDONED
                     ? event_facts_format(&facts, &apply->batch->arena)
                     : SPAN(""),
    };
    return apply_event(apply, op, row, event, err);
}

/* ---- its order ---------------------------------------------------------- */

enum { RECORD_DETAIL_BYTES = 1024 };

/* The ids, as many as fit into a line. */
static struct span record_detail(struct arena *arena,
                                 const struct op_record *record) {
    CLEANUP(text_clear) struct text text = TEXT_INIT;
    for (size_t i = 0; i < record->count; i++) {
        if (text.len + record->ids[i].len > RECORD_DETAIL_BYTES) {
            text_addf(&text, " and %zu more", record->count - i);
            break;
        }
        if (i > 0)
            text_addc(&text, ' ');
        text_addspan(&text, record->ids[i]);
    }
    return arena_span(arena, text_span(&text));
}

bool apply_record(struct apply *apply, struct op *op, struct row *row,
                  struct err *err) {
    /* The record of a set that follows others may change until it ends. */
    bool live = op->kind == OP_SPLICE
                    ? !job_state_is_final(row->state)
                    : row->state == STATE_QUEUED || row->state == STATE_STAGED;
    if (!live)
        return answer(op, STORE_CONFLICT);
    if (!apply->ops->edges_replace(apply->rows, row->num, &op->record, err))
        return false;
    if (!row->has_relations && op->record.count > 0) {
        row->has_relations = true;
        apply_dirty(apply, row, ROW_MARKS);
    }
    if (op->kind == OP_SPLICE)
        return true;
    struct store_event event = {
        .kind = EVENT_RECORD,
        .num = row->num,
        .from = row->state,
        .to = row->state,
        .attempt = row->attempt,
        .reason = SPAN("precursors"),
        .detail = record_detail(&apply->batch->arena, &op->record),
    };
    if (!apply_event(apply, op, row, event, err))
        return false;
    row->record_seq = op->seq;
    apply_dirty(apply, row, ROW_REST);
    return true;
}

bool apply_rank(struct apply *apply, struct op *op, struct row *row,
                struct err *err) {
    bool changed;
    if (job_state_is_final(row->state))
        return answer(op, STORE_CONFLICT);
    return apply->ops->update_rank(apply->rows, row->num, op->rank, &changed,
                                   err) &&
           answer(op, changed ? STORE_DONE : STORE_SAME);
}

/* ---- its marks ---------------------------------------------------------- */

bool apply_hold(struct apply *apply, struct op *op, struct row *row,
                struct err *err) {
    if (job_state_is_final(row->state))
        return answer(op, STORE_CONFLICT);
    unsigned bit = (unsigned)op->hold.hold;
    unsigned before = row->holds;
    unsigned after = op->kind == OP_HOLD ? before | bit : before & ~bit;
    if (after == before)
        return answer(op, STORE_SAME);
    row->holds = after;
    /* The job's log shows it too; but an ambiguous one is reported by the
     * commands that look at files. */
    row->stale |=
        job_kind_has(row->kind, JOB_HAS_FILE) && bit != HOLD_AMBIGUOUS;
    apply_dirty(apply, row, ROW_REST | ROW_MARKS);
    tally_change(apply, row->state, before, row->state, after);
    struct event_facts facts = {.holds = bit};
    struct store_event event = {
        .kind = op->kind == OP_HOLD ? EVENT_HOLD : EVENT_RELEASE,
        .num = row->num,
        .from = row->state,
        .to = row->state,
        .attempt = row->attempt,
        .reason = op->hold.reason,
        .detail = span_of(job_hold_word(op->hold.hold)),
        .facts = event_facts_format(&facts, &apply->batch->arena),
    };
    return apply_event(apply, op, row, event, err);
}

bool apply_ask_cancel(struct apply *apply, struct op *op, struct row *row,
                      struct err *err) {
    if (row->state != STATE_EXECUTING)
        return answer(op, STORE_CONFLICT);
    if (row->cancel_asked && !op->cancel.kill)
        return answer(op, STORE_SAME);
    row->cancel_asked = true;
    apply_dirty(apply, row, ROW_REST);
    struct store_event event = {
        .kind = EVENT_CANCEL,
        .num = row->num,
        .from = row->state,
        .to = row->state,
        .attempt = row->attempt,
        .reason = op->cancel.kill ? SPAN(REASON_KILL) : SPAN(REASON_ASKED),
        .detail = op->cancel.detail,
    };
    return apply_event(apply, op, row, event, err);
}

bool apply_projected(struct apply *apply, struct op *op, struct row *row,
                     struct err *err) {
    (void)err;
    if (row->state_seq != op->state_seq)
        return answer(op, STORE_CONFLICT);
    if (!row->stale)
        return answer(op, STORE_SAME);
    row->stale = false;
    apply_dirty(apply, row, ROW_MARKS);
    return true;
}

bool apply_due(struct apply *apply, struct op *op, struct row *row,
               struct err *err) {
    (void)err;
    if (row->not_before.ns == 0)
        return answer(op, STORE_SAME);
    if (row->not_before.ns > op->who->now.ns)
        return answer(op, STORE_CONFLICT);
    row->not_before = (struct wall){0};
    apply_dirty(apply, row, ROW_MARKS);
    return true;
}

bool apply_at_once(struct apply *apply, struct op *op, struct row *row,
                   struct err *err) {
    bool of_tasks = row->state == STATE_EXECUTING && row->tasks > 1;
    if (row->state != STATE_PENDING && !of_tasks)
        return answer(op, STORE_CONFLICT);
    row->not_before = (struct wall){0};
    apply_dirty(apply, row, ROW_MARKS | ROW_REST);
    return (row->tasks <= 1 ||
            apply->ops->tasks_at_once(apply->rows, row->num, err)) &&
           apply_event(apply, op, row,
                       (struct store_event){.kind = EVENT_AT_ONCE,
                                            .num = row->num,
                                            .from = row->state,
                                            .to = row->state,
                                            .reason = op->at_once.reason,
                                            .detail = op->at_once.detail,
                                            .attempt = row->attempt},
                       err);
}
