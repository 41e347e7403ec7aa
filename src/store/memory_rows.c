/* The rows of the memory backend, for apply.c. */
#include "store/memory.h"

#include <stdlib.h>

#include "core/retry.h"

static struct memory *of(struct rows *rows) {
    return (struct memory *)(void *)rows;
}

static void *more(void *array, size_t count, size_t *cap, size_t each) {
    if (count < *cap)
        return array;
    *cap = *cap ? 2 * *cap : 16;
    return mem_grow(array, *cap, each);
}

struct memory_job *memory_find(const struct memory *memory, uint64_t num) {
    size_t low = 0, high = memory->job_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (memory->jobs[middle]->job.num < num)
            low = middle + 1;
        else
            high = middle;
    }
    return low < memory->job_count && memory->jobs[low]->job.num == num
               ? memory->jobs[low]
               : NULL;
}

static void *copy_array(struct arena *arena, const void *array, size_t count,
                        size_t each) {
    void *copy = arena_alloc(arena, count * each + 1);
    if (count > 0)
        memcpy(copy, array, count * each);
    return copy;
}

/* The job, to be changed: while an atomic batch is tried, its previous state
 * is kept and everything it points to is copied. */
static struct memory_job *change(struct memory *memory, uint64_t num) {
    struct memory_job *job = memory_find(memory, num);
    struct arena *arena = &memory->arena;
    if (!memory->saving || job->before)
        return job;
    struct memory_job *before = arena_alloc(arena, sizeof(*before));
    *before = *job;
    job->before = before;
    job->edges =
        copy_array(arena, job->edges, job->edge_count, sizeof(*job->edges));
    job->tasks =
        copy_array(arena, job->tasks, job->task_count, sizeof(*job->tasks));
    job->attempts = copy_array(arena, job->attempts, job->attempt_count,
                               sizeof(*job->attempts));
    memory->touched = more(memory->touched, memory->touched_count,
                           &memory->touched_cap, sizeof(job));
    memory->touched[memory->touched_count++] = job;
    return job;
}

static void live_sync(struct memory *memory, struct memory_job *job) {
    list_remove(&job->live);
    if (!job_state_is_final(job->job.state))
        list_push(&memory->live, &job->live);
}

static bool row_get(struct rows *rows, uint64_t num, struct row *ret_row,
                    bool *ret_found, struct err *err) {
    const struct memory_job *found = memory_find(of(rows), num);
    (void)err;
    *ret_found = found != NULL;
    if (!found)
        return true;
    apply_row_make(&found->job, ret_row);
    ret_row->event_seq = found->event_seq;
    return true;
}

static bool job_find(struct rows *rows, struct span id, struct arena *arena,
                     struct job *ret_job, bool *ret_found, struct err *err) {
    const struct memory_job *found = map_get(&of(rows)->by_id, id);
    (void)arena, (void)err;
    *ret_found = found != NULL;
    if (found)
        *ret_job = found->job;
    return true;
}

/* ---- a new job ---------------------------------------------------------- */

static void edge_add(struct memory *memory, struct memory_job *job,
                     const struct job_edge *edge) {
    for (size_t i = 0; i < job->edge_count; i++)
        if (job->edges[i].kind == edge->kind &&
            span_equal(job->edges[i].to, edge->to))
            return;
    job->edges[job->edge_count++] = (struct job_edge){
        edge->kind, arena_span(&memory->arena, edge->to), edge->share};
}

static int touch_compare(const void *a, const void *b) {
    const struct job_touch *x = a, *y = b;
    return span_compare(x->path, y->path);
}

static void touch_add(struct memory *memory, struct memory_job *job,
                      const struct job_touch *touch) {
    for (size_t i = 0; i < job->touch_count; i++)
        if (span_equal(job->touches[i].path, touch->path))
            return;
    job->touches[job->touch_count++] = (struct job_touch){
        arena_span(&memory->arena, touch->path), touch->deleted};
}

static void add_relations(struct memory *memory, struct memory_job *job,
                          const struct op_admit *admit) {
    struct arena *arena = &memory->arena;
    job->edges =
        arena_alloc(arena, admit->edge_count * sizeof(*job->edges) + 1);
    for (size_t i = 0; i < admit->edge_count; i++)
        edge_add(memory, job, &admit->edges[i]);
    job->touches =
        arena_alloc(arena, admit->touch_count * sizeof(*job->touches) + 1);
    for (size_t i = 0; i < admit->touch_count; i++)
        touch_add(memory, job, &admit->touches[i]);
    if (job->touch_count > 1)
        qsort(job->touches, job->touch_count, sizeof(*job->touches),
              touch_compare);
    job->tasks =
        arena_alloc(arena, admit->node_count * sizeof(*job->tasks) + 1);
    for (size_t i = 0; i < admit->node_count; i++)
        job->tasks[job->task_count++] = (struct store_task){
            .node = arena_span(arena, admit->nodes[i]), .at = i};
}

static bool row_insert(struct rows *rows, const struct op_admit *admit,
                       uint64_t event_seq, bool *ret_new, struct err *err) {
    struct memory *memory = of(rows);
    (void)err;
    *ret_new = !map_get(&memory->by_id, admit->job.id);
    if (!*ret_new)
        return true;
    struct memory_job *job = arena_alloc(&memory->arena, sizeof(*job));
    job_copy(&memory->arena, &admit->job, &job->job);
    job->event_seq = event_seq;
    add_relations(memory, job, admit);
    list_init(&job->live);
    live_sync(memory, job);
    memory->jobs = more(memory->jobs, memory->job_count, &memory->job_cap,
                        sizeof(*memory->jobs));
    memory->jobs[memory->job_count++] = job;
    map_put(&memory->by_id, job->job.id, job);
    return true;
}

/* ---- a job changes ------------------------------------------------------ */

static bool row_update(struct rows *rows, const struct row *row,
                       struct err *err) {
    struct memory *memory = of(rows);
    struct memory_job *found = change(memory, row->num);
    struct job *job = &found->job;
    (void)err;
    if (row->dirty & ROW_STEP) {
        job->reason = arena_span(&memory->arena, row->reason);
        job->detail = arena_span(&memory->arena, row->detail);
    }
    job->state = row->state;
    job->holds = row->holds;
    job->attempt = row->attempt;
    job->temps = row->temps;
    job->crashes = row->crashes;
    job->fails = row->fails;
    job->tasks_done = row->tasks_done;
    job->since = row->since;
    job->not_before = row->not_before;
    job->state_seq = row->state_seq;
    job->record_seq = row->record_seq;
    job->has_relations = row->has_relations;
    job->cancel_asked = row->cancel_asked;
    job->stale = row->stale;
    found->event_seq = row->event_seq;
    live_sync(memory, found);
    return true;
}

static bool row_update_rank(struct rows *rows, uint64_t num, struct span rank,
                            bool *ret_changed, struct err *err) {
    struct memory *memory = of(rows);
    (void)err;
    *ret_changed = !span_equal(memory_find(memory, num)->job.rank, rank);
    if (*ret_changed)
        change(memory, num)->job.rank = arena_span(&memory->arena, rank);
    return true;
}

static bool mark_get(struct rows *rows, uint64_t num, struct arena *arena,
                     struct span *ret_mark, struct err *err) {
    (void)arena, (void)err;
    *ret_mark = memory_find(of(rows), num)->job.rolled_back_by;
    return true;
}

static bool mark_put(struct rows *rows, uint64_t num, struct span mark,
                     struct err *err) {
    struct memory *memory = of(rows);
    (void)err;
    change(memory, num)->job.rolled_back_by = arena_span(&memory->arena, mark);
    return true;
}

static bool owed_get(struct rows *rows, uint64_t num, struct wall *ret_owed,
                     struct err *err) {
    (void)err;
    *ret_owed = memory_find(of(rows), num)->job.owed;
    return true;
}

static bool owed_put(struct rows *rows, uint64_t num, struct wall owed,
                     struct err *err) {
    (void)err;
    change(of(rows), num)->job.owed = owed;
    return true;
}

static bool limit_put(struct rows *rows, uint64_t num, unsigned max_running,
                      bool *ret_changed, struct err *err) {
    (void)err;
    *ret_changed = memory_find(of(rows), num)->job.max_running != max_running;
    if (*ret_changed)
        change(of(rows), num)->job.max_running = max_running;
    return true;
}

static bool plan_put(struct rows *rows, const struct store_rollback *plan,
                     struct err *err) {
    struct memory *memory = of(rows);
    struct memory_job *job = change(memory, plan->num);
    (void)err;
    job->plan = *plan;
    job->plan.phase = arena_span(&memory->arena, plan->phase);
    job->plan.members = arena_span(&memory->arena, plan->members);
    return true;
}

static bool edges_replace(struct rows *rows, uint64_t num,
                          const struct op_record *record, struct err *err) {
    struct memory *memory = of(rows);
    struct memory_job *job = change(memory, num);
    struct job_edge *old = job->edges;
    size_t old_count = job->edge_count;
    (void)err;
    job->edges = arena_alloc(&memory->arena,
                             (old_count + record->count) * sizeof(*old) + 1);
    job->edge_count = 0;
    for (size_t i = 0; i < old_count; i++)
        if (old[i].kind != EDGE_PRECURSOR)
            edge_add(memory, job, &old[i]);
    for (size_t i = 0; i < record->count; i++)
        edge_add(memory, job,
                 &(struct job_edge){EDGE_PRECURSOR, record->ids[i], 0});
    return true;
}

static bool set_back(struct rows *rows, struct wall now, int64_t ms,
                     struct err *err) {
    struct memory *memory = of(rows);
    (void)err;
    for (size_t i = 0; i < memory->job_count; i++) {
        const struct job *job = &memory->jobs[i]->job;
        struct wall end =
            ms > 0 ? wall_set_back(job->not_before, ms)
                   : retry_backoff_end(job->since, job->not_before, now);
        if (job->not_before.ns > now.ns && !job_begins(job))
            change(memory, job->num)->job.not_before =
                end.ns > now.ns ? end : now;
    }
    return true;
}

/* ---- tasks and attempts ------------------------------------------------- */

static struct store_task *task_at(const struct memory_job *job,
                                  struct span node) {
    for (size_t i = 0; i < job->task_count; i++)
        if (span_equal(job->tasks[i].node, node))
            return &job->tasks[i];
    return NULL;
}

static bool task_get(struct rows *rows, uint64_t num, struct span node,
                     struct store_task *ret_task, bool *ret_found,
                     struct err *err) {
    const struct store_task *task = task_at(memory_find(of(rows), num), node);
    (void)err;
    *ret_found = task != NULL;
    if (task)
        *ret_task = *task;
    return true;
}

static bool task_put(struct rows *rows, uint64_t num,
                     const struct store_task *task, struct err *err) {
    struct store_task *own = task_at(change(of(rows), num), task->node);
    (void)err;
    own->status = task->status;
    own->attempt = task->attempt;
    own->not_before = task->not_before;
    return true;
}

/* A new task at its place in the order of their numbers. */
static struct store_task *task_insert(struct arena *arena,
                                      struct memory_job *job,
                                      const struct store_task *task) {
    struct store_task *tasks =
        arena_alloc(arena, (job->task_count + 1) * sizeof(*tasks));
    size_t at = 0;
    while (at < job->task_count && job->tasks[at].at < task->at)
        at++;
    if (at > 0)
        memcpy(tasks, job->tasks, at * sizeof(*tasks));
    if (at < job->task_count)
        memcpy(tasks + at + 1, job->tasks + at,
               (job->task_count - at) * sizeof(*tasks));
    job->tasks = tasks;
    job->task_count++;
    tasks[at] = (struct store_task){.node = arena_span(arena, task->node),
                                    .at = task->at};
    return &tasks[at];
}

static bool task_record(struct rows *rows, uint64_t num,
                        const struct store_task *task, struct err *err) {
    struct memory *memory = of(rows);
    struct memory_job *job = change(memory, num);
    struct store_task *own = task_at(job, task->node);
    (void)err;
    if (own == NULL)
        own = task_insert(&memory->arena, job, task);
    struct span node = own->node;
    uint64_t at = own->at;
    *own = *task;
    own->node = node;
    own->at = at;
    return true;
}

static bool tasks_at_once(struct rows *rows, uint64_t num, struct err *err) {
    struct memory_job *job = change(of(rows), num);
    (void)err;
    for (size_t i = 0; i < job->task_count; i++)
        job->tasks[i].not_before = (struct wall){0};
    return true;
}

/* The place of the attempt, or where it would be inserted. */
static size_t attempt_place(const struct memory_job *job, struct span node,
                            unsigned attempt, bool *ret_found) {
    size_t i = 0;
    int order = -1;
    for (; i < job->attempt_count; i++) {
        const struct store_attempt *one = &job->attempts[i];
        order = span_compare(one->node, node);
        if (order == 0)
            order = (one->attempt > attempt) - (one->attempt < attempt);
        if (order >= 0)
            break;
    }
    *ret_found = i < job->attempt_count && order == 0;
    return i;
}

static bool attempt_status(struct rows *rows, const struct row *row,
                           struct span node, unsigned attempt,
                           enum task_status *ret_status, bool *ret_found,
                           struct err *err) {
    const struct memory_job *job = memory_find(of(rows), row->num);
    size_t place = attempt_place(job, node, attempt, ret_found);
    (void)err;
    if (*ret_found)
        *ret_status = job->attempts[place].status;
    return true;
}

static void attempt_keep(struct memory *memory, struct store_attempt *place,
                         const struct store_attempt *attempt) {
    *place = *attempt;
    struct span *spans[] = {&place->node,   &place->reason, &place->detail,
                            &place->worker, &place->output, &place->trace};
    for (size_t i = 0; i < COUNT(spans); i++)
        *spans[i] = arena_span(&memory->arena, *spans[i]);
}

static bool attempt_insert(struct rows *rows, struct row *row,
                           const struct store_attempt *attempt, bool *ret_new,
                           struct err *err) {
    struct memory *memory = of(rows);
    struct memory_job *job = memory_find(memory, attempt->num);
    bool found;
    size_t place = attempt_place(job, attempt->node, attempt->attempt, &found);
    (void)row, (void)err;
    *ret_new = !found;
    if (found)
        return true;
    job = change(memory, attempt->num);
    struct store_attempt *old = job->attempts;
    size_t count = job->attempt_count++;
    job->attempts = arena_alloc(&memory->arena, (count + 1) * sizeof(*old));
    if (count > 0) {
        memcpy(job->attempts, old, place * sizeof(*old));
        memcpy(job->attempts + place + 1, old + place,
               (count - place) * sizeof(*old));
    }
    attempt_keep(memory, &job->attempts[place], attempt);
    return true;
}

static bool attempt_end(struct rows *rows, struct row *row,
                        const struct store_attempt *attempt, bool *ret_found,
                        struct err *err) {
    (void)row;
    struct memory *memory = of(rows);
    struct memory_job *job = memory_find(memory, attempt->num);
    size_t place =
        attempt_place(job, attempt->node, attempt->attempt, ret_found);
    (void)err;
    if (*ret_found) {
        job = change(memory, attempt->num);
        attempt_keep(memory, &job->attempts[place], attempt);
    }
    return true;
}

static bool attempt_remove(struct rows *rows, struct row *row, struct span node,
                           unsigned attempt, struct err *err) {
    struct memory_job *job = change(of(rows), row->num);
    bool found;
    size_t place = attempt_place(job, node, attempt, &found);
    (void)err;
    if (found)
        memmove(job->attempts + place, job->attempts + place + 1,
                (--job->attempt_count - place) * sizeof(*job->attempts));
    return true;
}

/* ---- log, settings, leases ---------------------------------------------- */

static bool event_insert(struct rows *rows, const struct store_event *event,
                         uint64_t prev, const unsigned char hash[CHAIN_BYTES],
                         struct err *err) {
    struct memory *memory = of(rows);
    (void)prev, (void)err;
    memory->events = more(memory->events, memory->event_count,
                          &memory->event_cap, sizeof(*memory->events));
    struct memory_event *own = &memory->events[memory->event_count++];
    own->event = *event;
    own->event.job = NULL;
    struct span *spans[] = {&own->event.id, &own->event.actor,
                            &own->event.reason, &own->event.detail,
                            &own->event.facts};
    for (size_t i = 0; i < COUNT(spans); i++)
        *spans[i] = arena_span(&memory->arena, *spans[i]);
    memcpy(own->hash, hash, CHAIN_BYTES);
    return true;
}

static bool write_gathered(struct rows *rows, struct err *err) {
    (void)rows, (void)err;
    return true;
}

static void remember(struct memory *memory, struct span name) {
    if (!memory->saving)
        return;
    memory->changes = more(memory->changes, memory->change_count,
                           &memory->change_cap, sizeof(*memory->changes));
    memory->changes[memory->change_count++] =
        (struct memory_change){.name = arena_span(&memory->arena, name),
                               .value = map_get(&memory->settings, name)};
}

static bool setting_get(struct rows *rows, struct span name,
                        struct arena *arena, struct span *ret_value,
                        struct err *err) {
    const struct span *value = map_get(&of(rows)->settings, name);
    (void)arena, (void)err;
    *ret_value = value ? *value : (struct span){NULL, 0};
    return true;
}

static bool setting_put(struct rows *rows, struct span name, struct span value,
                        struct err *err) {
    struct memory *memory = of(rows);
    (void)err;
    remember(memory, name);
    if (!value.p) {
        map_remove(&memory->settings, name);
        return true;
    }
    struct span *own = arena_alloc(&memory->arena, sizeof(*own));
    *own = arena_span(&memory->arena, value);
    map_put(&memory->settings, name, own);
    return true;
}

static bool lease_get(struct rows *rows, struct span name, struct arena *arena,
                      struct span *ret_holder, uint64_t *ret_epoch,
                      struct wall *ret_until, bool *ret_found,
                      struct err *err) {
    const struct memory_lease *lease = map_get(&of(rows)->leases, name);
    (void)arena, (void)err;
    *ret_found = lease != NULL;
    if (lease) {
        *ret_holder = lease->holder;
        *ret_epoch = lease->epoch;
        *ret_until = lease->until;
    }
    return true;
}

static bool lease_put(struct rows *rows, struct span name, struct span holder,
                      uint64_t epoch, struct wall until, struct err *err) {
    struct memory *memory = of(rows);
    struct memory_lease *lease = arena_alloc(&memory->arena, sizeof(*lease));
    (void)err;
    *lease =
        (struct memory_lease){arena_span(&memory->arena, holder), epoch, until};
    map_put(&memory->leases, name, lease);
    return true;
}

/* ---- around an atomic batch --------------------------------------------- */

static bool save(struct rows *rows, struct err *err) {
    struct memory *memory = of(rows);
    (void)err;
    memory->saving = true;
    memory->saved_jobs = memory->job_count;
    memory->saved_events = memory->event_count;
    return true;
}

static bool release(struct rows *rows, struct err *err) {
    struct memory *memory = of(rows);
    (void)err;
    for (size_t i = 0; i < memory->touched_count; i++)
        memory->touched[i]->before = NULL;
    memory->saving = false;
    memory->touched_count = memory->change_count = 0;
    return true;
}

static void settings_undo(struct memory *memory) {
    for (size_t i = memory->change_count; i > 0; i--) {
        const struct memory_change *one = &memory->changes[i - 1];
        if (one->value)
            map_put(&memory->settings, one->name, one->value);
        else
            map_remove(&memory->settings, one->name);
    }
}

static bool restore(struct rows *rows, struct err *err) {
    struct memory *memory = of(rows);
    for (size_t i = 0; i < memory->touched_count; i++) {
        struct memory_job *job = memory->touched[i];
        struct list live = job->live;
        struct memory_job *before = job->before;
        *job = *before;
        job->live = live; /* its neighbours may have changed */
        job->before = before;
        live_sync(memory, job);
    }
    while (memory->job_count > memory->saved_jobs) {
        struct memory_job *job = memory->jobs[--memory->job_count];
        list_remove(&job->live);
        map_remove(&memory->by_id, job->job.id);
    }
    memory->event_count = memory->saved_events;
    settings_undo(memory);
    return release(rows, err);
}

const struct rows_ops memory_rows = {
    .get = row_get,
    .find = job_find,
    .insert = row_insert,
    .update = row_update,
    .update_rank = row_update_rank,
    .owed_get = owed_get,
    .owed_put = owed_put,
    .limit_put = limit_put,
    .mark_get = mark_get,
    .mark_put = mark_put,
    .plan_put = plan_put,
    .edges_replace = edges_replace,
    .task_get = task_get,
    .set_back = set_back,
    .task_put = task_put,
    .task_record = task_record,
    .tasks_at_once = tasks_at_once,
    .attempt_status = attempt_status,
    .attempt_insert = attempt_insert,
    .attempt_end = attempt_end,
    .attempt_remove = attempt_remove,
    .event_insert = event_insert,
    .write_gathered = write_gathered,
    .setting_get = setting_get,
    .setting_put = setting_put,
    .lease_get = lease_get,
    .lease_put = lease_put,
    .save = save,
    .restore = restore,
    .release = release,
};
