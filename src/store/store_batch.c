#include "store/store_batch.h"

#include <assert.h>
#include <stdlib.h>

#include "lib/map.h"

struct store_batch *store_batch_new(struct store *store) {
    struct store_batch *batch = mem_alloc(sizeof(*batch));
    list_init(&batch->link);
    batch->store = store;
    batch->who = arena_alloc(&batch->arena, sizeof(struct op_who));
    return batch;
}

void store_batch_free(struct store_batch *batch) {
    if (!batch)
        return;
    list_remove(&batch->link);
    arena_clear(&batch->arena);
    free(batch->ops);
    free(batch->events);
    free(batch);
}

struct arena *store_batch_arena(struct store_batch *batch) {
    return &batch->arena;
}

unsigned store_batch_count(const struct store_batch *batch) {
    return batch->count;
}

void store_batch_actor(struct store_batch *batch, struct wall now,
                       struct span actor) {
    struct op_who *who = arena_alloc(&batch->arena, sizeof(*who));
    who->now = now;
    /* The actor is nearly always the same as before. */
    who->actor = span_equal(actor, batch->who->actor)
                     ? batch->who->actor
                     : arena_span(&batch->arena, actor);
    who->from = batch->who->from;
    batch->who = who;
}

void store_batch_from(struct store_batch *batch, struct span from) {
    struct op_who *who = arena_alloc(&batch->arena, sizeof(*who));
    *who = *batch->who;
    who->from = arena_span(&batch->arena, from);
    batch->who = who;
}

void store_batch_atomic(struct store_batch *batch) {
    batch->atomic = true;
}

enum store_result store_batch_result(const struct store_batch *batch,
                                     unsigned index) {
    assert(index < batch->count);
    return batch->ops[index].result;
}

uint64_t store_batch_num(const struct store_batch *batch, unsigned index) {
    assert(index < batch->count);
    return batch->ops[index].num;
}

uint64_t store_batch_seq(const struct store_batch *batch, unsigned index) {
    assert(index < batch->count);
    return batch->ops[index].seq;
}

bool store_batch_unsynced(const struct store_batch *batch) {
    return batch->unsynced;
}

struct op *store_batch_add_op(struct store_batch *batch, enum op_kind kind,
                              uint64_t num) {
    if (batch->count == batch->cap) {
        batch->cap = batch->cap ? 2 * batch->cap : 8;
        batch->ops = mem_grow(batch->ops, batch->cap, sizeof(struct op));
    }
    struct op *op = &batch->ops[batch->count++];
    *op = (struct op){.kind = kind, .who = batch->who, .num = num};
    return op;
}

struct store_event *store_batch_event(struct store_batch *batch,
                                      const struct store_event *event) {
    if (batch->event_count == batch->event_cap) {
        batch->event_cap = batch->event_cap ? 2 * batch->event_cap : 8;
        batch->events = mem_grow(batch->events, batch->event_cap,
                                 sizeof(struct store_event));
    }
    batch->events[batch->event_count] = *event;
    return &batch->events[batch->event_count++];
}

void store_batch_forget(struct store_batch *batch) {
    batch->event_count = 0;
    for (unsigned i = 0; i < batch->count; i++) {
        struct op *op = &batch->ops[i];
        op->seq = 0;
        if (op->kind == OP_ADMIT || op->kind == OP_RESTORE_JOB)
            op->num = 0;
    }
}

/* ---- the operations ----------------------------------------------------- */

static unsigned place(const struct store_batch *batch) {
    return batch->count - 1;
}

static struct span copy(struct store_batch *batch, struct span span) {
    return span.len ? arena_span(&batch->arena, span) : (struct span){"", 0};
}

static struct span *copy_spans(struct store_batch *batch,
                               const struct span *spans, size_t count) {
    struct span *copies =
        arena_alloc(&batch->arena, (count + 1) * sizeof(*copies));
    for (size_t i = 0; i < count; i++)
        copies[i] = copy(batch, spans[i]);
    return copies;
}

static void copy_job(struct store_batch *batch, const struct job *job,
                     struct job *ret_job) {
    job_copy(&batch->arena, job, ret_job);
    ret_job->rank = job_rank(ret_job);
}

static struct job_edge *copy_edges(struct store_batch *batch,
                                   const struct job_edge *edges, size_t count) {
    struct job_edge *copies =
        arena_alloc(&batch->arena, (count + 1) * sizeof(*copies));
    for (size_t i = 0; i < count; i++) {
        copies[i].kind = edges[i].kind;
        copies[i].to = copy(batch, edges[i].to);
        copies[i].share = edges[i].share;
    }
    return copies;
}

static struct job_touch *copy_touches(struct store_batch *batch,
                                      const struct job_touch *touches,
                                      size_t count) {
    struct job_touch *copies =
        arena_alloc(&batch->arena, (count + 1) * sizeof(*copies));
    for (size_t i = 0; i < count; i++) {
        copies[i].path = copy(batch, touches[i].path);
        copies[i].deleted = touches[i].deleted;
    }
    return copies;
}

static bool all_differ(const struct span *names, size_t count) {
    CLEANUP(map_clear) struct map seen = MAP_INIT;
    bool differ = true;
    for (size_t i = 0; i < count && differ; i++)
        differ = map_put(&seen, names[i], &seen) == NULL;
    return differ;
}

static struct op_admit *add_job(struct store_batch *batch, enum op_kind kind,
                                const struct job *job,
                                const struct job_edge *edges, size_t edge_count,
                                const struct job_touch *touches,
                                size_t touch_count) {
    assert(job->id.len > 0 && job->id.len <= JOB_ID_BYTES);
    assert(job->kind < JOB_KINDS && job->job_class < JOB_CLASSES);
    assert(job->state < JOB_STATES);
    struct op_admit *admit = arena_alloc(&batch->arena, sizeof(*admit));
    copy_job(batch, job, &admit->job);
    admit->edges = copy_edges(batch, edges, edge_count);
    admit->edge_count = edge_count;
    admit->touches = copy_touches(batch, touches, touch_count);
    admit->touch_count = touch_count;
    admit->nodes_differ = true;
    store_batch_add_op(batch, kind, 0)->admit = admit;
    return admit;
}

unsigned store_admit(struct store_batch *batch, const struct job *job,
                     const struct job_edge *edges, size_t edge_count,
                     const struct job_touch *touches, size_t touch_count,
                     const struct span *nodes, size_t node_count) {
    assert(job->state == STATE_QUEUED || job->state == STATE_PENDING);
    struct op_admit *admit =
        add_job(batch, OP_ADMIT, job, edges, edge_count, touches, touch_count);
    if (node_count > 0) {
        admit->nodes = copy_spans(batch, nodes, node_count);
        admit->node_count = node_count;
        admit->nodes_differ = all_differ(nodes, node_count);
    }
    return place(batch);
}

unsigned store_restore_job(struct store_batch *batch, const struct job *job,
                           const struct job_edge *edges, size_t edge_count,
                           const struct job_touch *touches,
                           size_t touch_count) {
    add_job(batch, OP_RESTORE_JOB, job, edges, edge_count, touches,
            touch_count);
    return place(batch);
}

unsigned store_move(struct store_batch *batch, const struct store_move *move) {
    assert(job_step_is_legal(move->from, move->to, move->reason));
    struct store_move *own = arena_alloc(&batch->arena, sizeof(*own));
    *own = *move;
    own->reason = copy(batch, move->reason);
    own->detail = copy(batch, move->detail);
    own->rollback = copy(batch, move->rollback);
    store_batch_add_op(batch, OP_MOVE, move->num)->move = own;
    return place(batch);
}

static unsigned add_record(struct store_batch *batch, enum op_kind kind,
                           uint64_t num, const struct span *precursors,
                           size_t count) {
    struct span *ids = copy_spans(batch, precursors, count);
    store_batch_add_op(batch, kind, num)->record =
        (struct op_record){ids, count};
    return place(batch);
}

unsigned store_record(struct store_batch *batch, uint64_t num,
                      const struct span *precursors, size_t count) {
    return add_record(batch, OP_RECORD, num, precursors, count);
}

unsigned store_splice(struct store_batch *batch, uint64_t num,
                      const struct span *precursors, size_t count) {
    return add_record(batch, OP_SPLICE, num, precursors, count);
}

unsigned store_rank(struct store_batch *batch, uint64_t num, struct span rank) {
    struct span own = copy(batch, rank);
    store_batch_add_op(batch, OP_RANK, num)->rank = own;
    return place(batch);
}

static unsigned add_hold(struct store_batch *batch, enum op_kind kind,
                         uint64_t num, enum job_hold hold, struct span reason) {
    struct span own = copy(batch, reason);
    store_batch_add_op(batch, kind, num)->hold = (struct op_hold){hold, own};
    return place(batch);
}

unsigned store_hold(struct store_batch *batch, uint64_t num, enum job_hold hold,
                    struct span reason) {
    return add_hold(batch, OP_HOLD, num, hold, reason);
}

unsigned store_release(struct store_batch *batch, uint64_t num,
                       enum job_hold hold, struct span reason) {
    return add_hold(batch, OP_RELEASE, num, hold, reason);
}

unsigned store_mark(struct store_batch *batch, uint64_t num, struct span was,
                    struct span rolled_back_by, struct span because,
                    struct span detail) {
    struct op_mark *own = arena_alloc(&batch->arena, sizeof(*own));
    *own = (struct op_mark){copy(batch, was), copy(batch, rolled_back_by),
                            copy(batch, because), copy(batch, detail)};
    store_batch_add_op(batch, OP_MARK, num)->mark = own;
    return place(batch);
}

unsigned store_owe(struct store_batch *batch, uint64_t num, struct wall owed,
                   struct span reason, struct span detail) {
    struct op_owe *own = arena_alloc(&batch->arena, sizeof(*own));
    *own = (struct op_owe){owed, copy(batch, reason), copy(batch, detail)};
    store_batch_add_op(batch, OP_OWE, num)->owe = own;
    return place(batch);
}

unsigned store_limit(struct store_batch *batch, uint64_t num,
                     unsigned max_running, struct span detail) {
    struct span own = copy(batch, detail);
    store_batch_add_op(batch, OP_LIMIT, num)->limit =
        (struct op_limit){max_running, own};
    return place(batch);
}

unsigned store_plan(struct store_batch *batch,
                    const struct store_rollback *rollback) {
    struct store_rollback *own = arena_alloc(&batch->arena, sizeof(*own));
    *own = *rollback;
    own->phase = copy(batch, rollback->phase);
    own->members = copy(batch, rollback->members);
    store_batch_add_op(batch, OP_PLAN, rollback->num)->plan = own;
    return place(batch);
}

unsigned store_ask_cancel(struct store_batch *batch, uint64_t num, bool kill,
                          struct span detail) {
    store_batch_add_op(batch, OP_ASK_CANCEL, num)->cancel =
        (struct op_cancel){kill, copy(batch, detail)};
    return place(batch);
}

unsigned store_projected(struct store_batch *batch, uint64_t num,
                         uint64_t state_seq) {
    store_batch_add_op(batch, OP_PROJECTED, num)->state_seq = state_seq;
    return place(batch);
}

unsigned store_due(struct store_batch *batch, uint64_t num) {
    store_batch_add_op(batch, OP_DUE, num);
    return place(batch);
}

unsigned store_set_back(struct store_batch *batch, int64_t ms) {
    store_batch_add_op(batch, OP_SET_BACK, 0)->set_back_ms = ms;
    return place(batch);
}

unsigned store_at_once(struct store_batch *batch, uint64_t num,
                       struct span reason, struct span detail) {
    store_batch_add_op(batch, OP_AT_ONCE, num)->at_once =
        (struct op_at_once){copy(batch, reason), copy(batch, detail)};
    return place(batch);
}

static struct store_event *copy_event(struct store_batch *batch,
                                      const struct store_event *event) {
    struct store_event *own = arena_alloc(&batch->arena, sizeof(*own));
    *own = *event;
    own->id = copy(batch, event->id);
    own->actor = copy(batch, event->actor);
    own->reason = copy(batch, event->reason);
    own->detail = copy(batch, event->detail);
    own->facts = copy(batch, event->facts);
    own->job = NULL;
    own->prev_hash = own->hash = (struct span){0};
    return own;
}

unsigned store_note(struct store_batch *batch, enum event_kind kind,
                    uint64_t num, struct span id, struct span reason,
                    struct span detail) {
    assert(kind < EVENT_KINDS && kind != EVENT_MOVE);
    struct store_event event = {
        .kind = kind, .num = num, .id = id, .reason = reason, .detail = detail};
    struct store_event *own = copy_event(batch, &event);
    own->actor = (struct span){NULL, 0}; /* the batch's */
    store_batch_add_op(batch, OP_NOTE, num)->event = own;
    return place(batch);
}

void store_note_facts(struct store_batch *batch,
                      const struct event_facts *facts) {
    struct op *op = &batch->ops[batch->count - 1];
    assert(batch->count > 0 && op->kind == OP_NOTE);
    op->event->facts = event_facts_format(facts, &batch->arena);
}

unsigned store_restore_event(struct store_batch *batch,
                             const struct store_event *event) {
    assert(event->kind < EVENT_KINDS);
    struct store_event *own = copy_event(batch, event);
    store_batch_add_op(batch, OP_RESTORE_EVENT, event->num)->event = own;
    return place(batch);
}

unsigned store_set(struct store_batch *batch, struct span name,
                   struct span value) {
    struct span own_value =
        value.p ? copy(batch, value) : (struct span){NULL, 0};
    struct span own_name = copy(batch, name);
    store_batch_add_op(batch, OP_SET, 0)->setting =
        (struct op_setting){.name = own_name, .value = own_value};
    return place(batch);
}

void store_set_usual(struct store_batch *batch, struct span usual) {
    struct op *op = &batch->ops[batch->count - 1];
    assert(batch->count > 0 && op->kind == OP_SET);
    op->setting.usual = copy(batch, usual);
}

static struct store_task *copy_task(struct store_batch *batch,
                                    const struct store_task *task) {
    struct store_task *own = arena_alloc(&batch->arena, sizeof(*own));
    assert(task->status < TASK_STATUSES);
    *own = *task;
    own->node = copy(batch, task->node);
    return own;
}

static unsigned add_attempt(struct store_batch *batch, enum op_kind kind,
                            const struct store_attempt *attempt) {
    assert(attempt->status < TASK_STATUSES && attempt->attempt > 0);
    struct store_attempt *own = arena_alloc(&batch->arena, sizeof(*own));
    *own = *attempt;
    struct span *spans[] = {&own->node,   &own->reason, &own->detail,
                            &own->worker, &own->output, &own->trace};
    for (size_t i = 0; i < COUNT(spans); i++)
        *spans[i] = copy(batch, *spans[i]);
    if (attempt->task != NULL)
        own->task = copy_task(batch, attempt->task);
    store_batch_add_op(batch, kind, attempt->num)->attempt = own;
    return place(batch);
}

unsigned store_assign(struct store_batch *batch,
                      const struct store_attempt *attempt) {
    return add_attempt(batch, OP_ASSIGN, attempt);
}

unsigned store_end(struct store_batch *batch,
                   const struct store_attempt *attempt) {
    return add_attempt(batch, OP_END, attempt);
}

unsigned store_unassign(struct store_batch *batch, uint64_t num,
                        struct span node, unsigned attempt) {
    struct span own = copy(batch, node);
    store_batch_add_op(batch, OP_UNASSIGN, num)->task =
        (struct op_task){.node = own, .attempt = attempt};
    return place(batch);
}

unsigned store_task_set(struct store_batch *batch, uint64_t num,
                        struct span node, enum task_status status,
                        struct wall not_before) {
    assert(status < TASK_STATUSES);
    struct span own = copy(batch, node);
    store_batch_add_op(batch, OP_TASK_SET, num)->task = (struct op_task){
        .node = own, .status = status, .not_before = not_before};
    return place(batch);
}

unsigned store_task_record(struct store_batch *batch, uint64_t num,
                           const struct store_task *task) {
    struct store_task *own = copy_task(batch, task);
    store_batch_add_op(batch, OP_TASK_RECORD, num)->task_record = own;
    return place(batch);
}

unsigned store_sync_first(struct store_batch *batch, int fd, bool filesystem) {
    store_batch_add_op(batch, OP_SYNC_FIRST, 0)->sync =
        (struct op_sync){.fd = fd, .filesystem = filesystem};
    batch->sync_count++;
    return place(batch);
}
