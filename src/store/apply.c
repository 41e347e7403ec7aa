#include "store/apply.h"

#include <assert.h>
#include <stdlib.h>

void apply_init(struct apply *apply, const struct rows_ops *ops,
                struct rows *rows) {
    *apply = (struct apply){.ops = ops, .rows = rows};
    apply->kept = mem_alloc(APPLY_ROWS * sizeof(*apply->kept));
    apply->dirty = mem_alloc(APPLY_ROWS * sizeof(*apply->dirty));
    chain_init(&apply->chain);
}

void apply_clear(struct apply *apply) {
    chain_clear(&apply->chain);
    free(apply->kept);
    free(apply->dirty);
}

void apply_begin(struct apply *apply, const struct head *head) {
    assert(apply->dirty_count == 0);
    apply->head = *head;
}

void apply_forget(struct apply *apply) {
    for (size_t i = 0; i < APPLY_ROWS; i++)
        apply->kept[i].num = apply->kept[i].dirty = 0;
    apply->dirty_count = 0;
}

bool apply_flush(struct apply *apply, struct err *err) {
    for (size_t i = 0; i < apply->dirty_count; i++) {
        if (!apply->ops->update(apply->rows, apply->dirty[i], err))
            return false;
        apply->dirty[i]->dirty = 0;
    }
    apply->dirty_count = 0;
    return true;
}

bool apply_write(struct apply *apply, struct err *err) {
    return apply_flush(apply, err) &&
           apply->ops->write_gathered(apply->rows, err);
}

void apply_dirty(struct apply *apply, struct row *row, unsigned parts) {
    if (!row->dirty)
        apply->dirty[apply->dirty_count++] = row;
    row->dirty |= parts;
}

bool apply_place(struct apply *apply, uint64_t num, struct row **ret_row,
                 struct err *err) {
    struct row *row = *ret_row = &apply->kept[num % APPLY_ROWS];
    if (row->dirty && !apply_flush(apply, err))
        return false;
    row->num = 0;
    return true;
}

void apply_row_make(const struct job *job, struct row *ret_row) {
    *ret_row = (struct row){
        .num = job->num,
        .kind = job->kind,
        .state = job->state,
        .holds = job->holds,
        .attempt = job->attempt,
        .temps = job->temps,
        .crashes = job->crashes,
        .fails = job->fails,
        .tasks = job->tasks,
        .tasks_done = job->tasks_done,
        .since = job->since,
        .not_before = job->not_before,
        .state_seq = job->state_seq,
        .record_seq = job->record_seq,
        .has_relations = job->has_relations,
        .cancel_asked = job->cancel_asked,
        .stale = job->stale,
    };
    memcpy(ret_row->id_text, job->id.p, job->id.len);
    ret_row->id = span_make(ret_row->id_text, job->id.len);
}

bool apply_row(struct apply *apply, uint64_t num, struct row **ret_row,
               struct err *err) {
    struct row *row = &apply->kept[num % APPLY_ROWS];
    bool found = row->num == num && num != 0;
    if (!found) {
        if (!apply_place(apply, num, &row, err) ||
            !apply->ops->get(apply->rows, num, row, &found, err))
            return false;
        row->num = found ? num : 0;
    }
    *ret_row = found ? row : NULL;
    return true;
}

bool apply_event(struct apply *apply, struct op *op, struct row *row,
                 struct store_event event, struct err *err) {
    event.at = event.at.ns ? event.at : apply->who->now;
    event.seq = event.seq ? event.seq : apply->head.seq + 1;
    if (!event.actor.p)
        event.actor = apply->who->actor;
    if (apply->who->from.len > 0)
        event.facts = event_facts_add_from(event.facts, apply->who->from,
                                           &apply->batch->arena);
    /* The row is valid only for now; the event lives as long as the batch. */
    if (row && (event.id.len == 0 || span_equal(event.id, row->id)))
        event.id = event.job ? event.job->id
                             : arena_span(&apply->batch->arena, row->id);
    struct head *head = &apply->head;
    unsigned char hash[CHAIN_BYTES];
    chain_next(&apply->chain, head->hash, &event, hash);
    if (!apply->ops->event_insert(apply->rows, &event, row ? row->event_seq : 0,
                                  hash, err))
        return false;
    memcpy(head->hash, hash, sizeof(hash));
    head->seq = op->seq = event.seq;
    if (row)
        row->event_seq = event.seq;
    store_batch_event(apply->batch, &event);
    return true;
}

bool apply_note(struct apply *apply, struct op *op, struct store_event event,
                struct err *err) {
    struct row *row = NULL;
    if (event.num == 0) {
        event.from = event.to = STATE_NONE;
        return apply_event(apply, op, NULL, event, err);
    }
    if (!apply_row(apply, event.num, &row, err))
        return false;
    if (!row) {
        op->result = STORE_UNKNOWN;
        return true;
    }
    event.from = event.to = row->state;
    event.attempt = row->attempt;
    apply_dirty(apply, row, ROW_REST);
    /* The job's log file shows approvals too. If the job has ended, the
     * caller that adds the note updates the log. */
    if (event.kind == EVENT_APPROVED && job_kind_has(row->kind, JOB_HAS_FILE) &&
        !job_state_is_final(row->state)) {
        row->stale = true;
        apply_dirty(apply, row, ROW_MARKS);
    }
    return apply_event(apply, op, row, event, err);
}

static bool apply_noted(struct apply *apply, struct op *op, struct err *err) {
    return apply_note(apply, op, *op->event, err);
}

/* The log only grows at its end: an event whose number is taken, or passed,
 * cannot be inserted any more. */
static bool apply_restore_event(struct apply *apply, struct op *op,
                                struct err *err) {
    struct store_event event = *op->event;
    struct row *row = NULL;
    if (event.seq != 0 && event.seq <= apply->head.seq) {
        op->result = STORE_CONFLICT;
        return true;
    }
    if (event.num != 0 && !apply_row(apply, event.num, &row, err))
        return false;
    if (event.num != 0 && !row) {
        op->result = STORE_UNKNOWN;
        return true;
    }
    if (row)
        apply_dirty(apply, row, ROW_REST);
    return apply_event(apply, op, row, event, err);
}

static bool apply_set(struct apply *apply, struct op *op, struct err *err) {
    struct span name = op->setting.name, value = op->setting.value, old;
    if (!apply->ops->setting_get(apply->rows, name, &apply->batch->arena, &old,
                                 err))
        return false;
    bool is_same = value.p ? old.p && span_equal(old, value) : !old.p;
    if (is_same) {
        op->result = STORE_SAME;
        return true;
    }
    struct event_facts facts = {.was = old.p ? old : op->setting.usual};
    struct store_event event = {
        .kind = EVENT_SETTING,
        .id = name,
        .from = STATE_NONE,
        .to = STATE_NONE,
        .reason = value.p ? SPAN("set") : SPAN("removed"),
        .detail = value.p ? value : op->setting.usual,
        .facts = event_facts_format(&facts, &apply->batch->arena),
    };
    return apply->ops->setting_put(apply->rows, name, value, err) &&
           apply_event(apply, op, NULL, event, err);
}

static bool apply_set_back(struct apply *apply, struct op *op,
                           struct err *err) {
    if (!apply_flush(apply, err))
        return false;
    apply_forget(apply);
    return apply->ops->set_back(apply->rows, apply->who->now, op->set_back_ms,
                                err);
}

static bool apply_lease(struct apply *apply, struct op *op, struct err *err) {
    const struct op_lease *lease = op->lease;
    struct span holder = SPAN("");
    uint64_t epoch = 0;
    struct wall until = {0};
    bool found = false;
    if (!apply->ops->lease_get(apply->rows, lease->name, &apply->batch->arena,
                               &holder, &epoch, &until, &found, err))
        return false;
    struct wall now = apply->who->now;
    if (found && until.ns > now.ns && !span_equal(holder, lease->holder)) {
        op->result = STORE_CONFLICT;
        op->seq = epoch;
        return true;
    }
    /* If the holder's own term ran out, a new epoch begins too: another
     * holder might have acted in between, and fences must tell the two
     * apart. */
    if (!found || until.ns <= now.ns || !span_equal(holder, lease->holder))
        epoch++;
    op->seq = epoch;
    return apply->ops->lease_put(apply->rows, lease->name, lease->holder, epoch,
                                 wall_add_ms(now, lease->term_ms), err);
}

static const struct {
    bool (*any)(struct apply *apply, struct op *op, struct err *err);
    /* The job must exist. */
    bool (*of_job)(struct apply *apply, struct op *op, struct row *row,
                   struct err *err);
} operations[] = {
    [OP_ADMIT] = {.any = apply_admit},
    [OP_RESTORE_JOB] = {.any = apply_restore_job},
    [OP_MOVE] = {.of_job = apply_move},
    [OP_RECORD] = {.of_job = apply_record},
    [OP_SPLICE] = {.of_job = apply_record},
    [OP_RANK] = {.of_job = apply_rank},
    [OP_HOLD] = {.of_job = apply_hold},
    [OP_RELEASE] = {.of_job = apply_hold},
    [OP_OWE] = {.of_job = apply_owe},
    [OP_LIMIT] = {.of_job = apply_limit},
    [OP_MARK] = {.of_job = apply_mark},
    [OP_PLAN] = {.of_job = apply_plan},
    [OP_ASK_CANCEL] = {.of_job = apply_ask_cancel},
    [OP_PROJECTED] = {.of_job = apply_projected},
    [OP_DUE] = {.of_job = apply_due},
    [OP_SET_BACK] = {.any = apply_set_back},
    [OP_AT_ONCE] = {.of_job = apply_at_once},
    [OP_NOTE] = {.any = apply_noted},
    [OP_RESTORE_EVENT] = {.any = apply_restore_event},
    [OP_SET] = {.any = apply_set},
    [OP_ASSIGN] = {.any = apply_assign},
    [OP_END] = {.any = apply_end},
    [OP_UNASSIGN] = {.any = apply_unassign},
    [OP_TASK_SET] = {.any = apply_task_set},
    [OP_TASK_RECORD] = {.any = apply_task_record},
    [OP_LEASE] = {.any = apply_lease},
    [OP_NOUN] = {.any = noun_apply},
};

static bool apply_op(struct apply *apply, struct op *op, struct err *err) {
    struct row *row;
    apply->who = op->who;
    op->result = STORE_DONE;
    if (op->kind == OP_SYNC_FIRST)
        return true; /* done before the transaction began */
    if (operations[op->kind].any)
        return operations[op->kind].any(apply, op, err);
    if (!apply_row(apply, op->num, &row, err))
        return false;
    if (row)
        return operations[op->kind].of_job(apply, op, row, err);
    op->result = STORE_UNKNOWN;
    return true;
}

static bool op_succeeded(const struct op *op) {
    return op->result == STORE_DONE || op->result == STORE_SAME;
}

/* All or nothing. Operations after a failed one are tried anyway, so that
 * each can report its own obstacle. */
static bool apply_atomic(struct apply *apply, struct store_batch *batch,
                         struct err *err) {
    struct head before = apply->head;
    bool well = true;
    if (!apply_write(apply, err) || !apply->ops->save(apply->rows, err))
        return false;
    for (unsigned i = 0; i < batch->count; i++) {
        if (!apply_op(apply, &batch->ops[i], err))
            return false;
        well = well && op_succeeded(&batch->ops[i]);
    }
    if (well)
        return apply_write(apply, err) && apply->ops->release(apply->rows, err);
    for (unsigned i = 0; i < batch->count; i++)
        if (op_succeeded(&batch->ops[i]))
            batch->ops[i].result = STORE_CONFLICT;
    apply->head = before;
    apply_forget(apply);
    store_batch_forget(batch);
    return apply->ops->restore(apply->rows, err);
}

bool apply_batch(struct apply *apply, struct store_batch *batch,
                 struct err *err) {
    apply->batch = batch;
    if (batch->atomic && batch->count > 1)
        return apply_atomic(apply, batch, err);
    for (unsigned i = 0; i < batch->count; i++)
        if (!apply_op(apply, &batch->ops[i], err))
            return false;
    return true;
}
