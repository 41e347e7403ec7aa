/* The code that all backends share: delivering events and answers in order,
 * looking up jobs by what users type, and the calls of the backend.
 *
 * The order of events. This process's own events come back from the backend
 * with the batches that wrote them; others' are read from the table. Numbers
 * are taken inside the write transaction, so whatever lies between the last
 * event delivered and the first of a batch was committed by others before
 * it: that gap is read and delivered first. A poll must not run ahead of a
 * batch of this process that is committed but not taken yet (its events
 * would come without their jobs, and the batch's answer late), so it stops
 * before it. */
#include "store/backend.h"
#include "store/simulated.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>

enum { PAGE = 256, CANDIDATES = 500 };

struct listening {
    struct list link;
    store_listener *listener; /* NULL: removed, but it is being called right
                                 now */
    void *ctx;
    uint64_t after_seq;
};

void store_init(struct store *store, const struct store_backend *backend,
                uint64_t seq) {
    store->backend = backend;
    store->seq = seq;
    list_init(&store->listeners);
}

void store_forget(struct store *store, uint64_t seq) {
    struct list *link;
    assert(!store->delivering);
    while ((link = list_pop(&store->listeners)) != NULL)
        free(LIST_OF(link, struct listening, link));
    store->seq = seq;
}

void store_overtake(struct list *queued) {
    struct list *last = queued->prev;
    if (list_empty(queued) || last == queued->next)
        return;
    list_remove(last);
    list_insert_before(queued->next, last);
}

void store_memory_commit(struct store *store) {
    store->backend->commit(store, false);
}

void store_memory_overtake(struct store *store) {
    store->backend->overtake(store);
}

void store_memory_crash(struct store *store) {
    store->backend->crash(store);
}

void store_close(struct store *store) {
    if (!store)
        return;
    store_forget(store, 0);
    store->backend->close(store);
}

/* ---- events ------------------------------------------------------------- */

void store_listen(struct store *store, store_listener *listener, void *ctx) {
    struct listening *one = mem_alloc(sizeof(*one));
    *one = (struct listening){.listener = listener, .ctx = ctx};
    /* If it cannot be read, the next read reports that; nothing is missed. */
    if (!store->backend->last_seq(store, &one->after_seq, NULL))
        one->after_seq = store->seq;
    list_push(&store->listeners, &one->link);
}

void store_unlisten(struct store *store, store_listener *listener, void *ctx) {
    LIST_EACH (&store->listeners, link) {
        struct listening *one = LIST_OF(link, struct listening, link);
        if (one->listener != listener || one->ctx != ctx)
            continue;
        one->listener = NULL;
        if (!store->delivering) {
            list_remove(link);
            free(one);
        }
        return;
    }
}

static void listeners_sweep(struct store *store) {
    LIST_EACH (&store->listeners, link) {
        struct listening *one = LIST_OF(link, struct listening, link);
        if (!one->listener) {
            list_remove(link);
            free(one);
        }
    }
}

static void deliver(struct store *store, const struct store_event *event) {
    if (event->seq <= store->seq)
        return;
    store->seq = event->seq;
    LIST_EACH (&store->listeners, link) {
        struct listening *one = LIST_OF(link, struct listening, link);
        if (one->listener && event->seq > one->after_seq)
            one->listener(one->ctx, event);
    }
}

/* Delivers others' events up to, but not including, `end_seq`. *ret_reached:
 * none is left before it. */
static bool deliver_others(struct store *store, uint64_t end_seq,
                           bool *ret_reached, struct err *err) {
    CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
    struct store_event *events;
    size_t count;
    if (!store->backend->events(store, store->seq, 0, PAGE, &arena, &events,
                                &count, err))
        return false;
    uint64_t own_seq = store->backend->own_first_seq(store);
    uint64_t stop_seq = own_seq < end_seq ? own_seq : end_seq;
    size_t done = 0;
    for (; done < count && events[done].seq < stop_seq; done++)
        deliver(store, &events[done]);
    *ret_reached = done < count || count < PAGE;
    if (done < count && end_seq == UINT64_MAX)
        store->look_again = true;
    return true;
}

static void deliver_gap(struct store *store, uint64_t end_seq) {
    bool reached = false;
    while (!reached && store->seq + 1 < end_seq)
        if (!deliver_others(store, end_seq, &reached, NULL))
            return; /* the registry fails: reads and writes will report it */
}

static void complete(struct store *store, struct store_batch *batch) {
    if (batch->ok && batch->event_count > 0) {
        deliver_gap(store, batch->events[0].seq);
        for (size_t i = 0; i < batch->event_count; i++)
            deliver(store, &batch->events[i]);
    }
    if (batch->done) {
        batch->done(batch->ctx, batch, batch->ok,
                    batch->ok ? NULL : &batch->err);
        store_batch_free(batch);
    }
}

/* Delivers up to `until` (NULL: everything). True if `until` was delivered. */
static bool turn(struct store *store, const struct store_batch *until) {
    struct store_batch *batch = NULL;
    assert(!store->delivering);
    store->delivering = true;
    while ((!batch || batch != until) &&
           (batch = store->backend->take(store)) != NULL)
        complete(store, batch);
    store->delivering = false;
    listeners_sweep(store);
    return batch != NULL && batch == until;
}

void store_turn(struct store *store) {
    store->backend->commit(store, false);
    turn(store, NULL);
}

bool store_poll(struct store *store, struct err *err) {
    bool changed;
    store_turn(store);
    if (!store->backend->changed(store, &changed, err))
        return false;
    bool reached = !changed && !store->look_again;
    store->look_again = false;
    while (!reached) {
        store->delivering = true;
        bool well = deliver_others(store, UINT64_MAX, &reached, err);
        store->delivering = false;
        if (!well) {
            store->look_again = true;
            return false;
        }
        store_turn(store);
    }
    return true;
}

uint64_t store_seq(struct store *store) {
    return store->seq;
}

/* ---- writing ------------------------------------------------------------ */

static void ignore_result(void *ctx, struct store_batch *batch, bool ok,
                          const struct err *err) {
    (void)ctx, (void)batch, (void)ok, (void)err;
}

void store_submit(struct store_batch *batch, store_done *done, void *ctx) {
    batch->done = done ? done : ignore_result;
    batch->ctx = ctx;
    batch->store->backend->submit(batch->store, batch);
}

bool store_write(struct store_batch *batch, struct err *err) {
    struct store *store = batch->store;
    batch->done = NULL;
    store->backend->submit(store, batch);
    do
        store->backend->commit(store, true);
    while (!turn(store, batch));
    if (!batch->ok && err)
        *err = batch->err;
    return batch->ok;
}

bool store_drain(struct store *store, struct err *err) {
    struct store_batch *batch = store_batch_new(store);
    bool ok = store_write(batch, err);
    store_batch_free(batch);
    return ok;
}

bool store_is_idle(struct store *store) {
    return store->backend->is_idle(store);
}

bool store_lease(struct store *store, struct span name, struct span holder,
                 struct wall now, int64_t term_ms,
                 enum store_result *ret_result, uint64_t *ret_epoch,
                 struct err *err) {
    struct store_batch *batch = store_batch_new(store);
    store_batch_actor(batch, now, holder);
    struct op_lease *lease = arena_alloc(&batch->arena, sizeof(*lease));
    lease->name = arena_span(&batch->arena, name);
    lease->holder = arena_span(&batch->arena, holder);
    lease->term_ms = term_ms;
    store_batch_add_op(batch, OP_LEASE, 0)->lease = lease;
    bool ok = store_write(batch, err);
    if (ok) {
        *ret_result = store_batch_result(batch, 0);
        *ret_epoch = store_batch_seq(batch, 0);
    }
    store_batch_free(batch);
    return ok;
}

/* ---- looking up --------------------------------------------------------- */

bool store_job(struct store *store, uint64_t num, struct arena *arena,
               struct job *ret_job, struct err *err) {
    bool found;
    if (!store->backend->by_num(store, num, arena, ret_job, &found, err))
        return false;
    return found || err_set(err, ERR_NO_JOB, "no job number %" PRIu64, num);
}

bool store_lookup(struct store *store, struct span id, struct arena *arena,
                  struct job *ret_job, bool *ret_found, struct err *err) {
    return store->backend->by_id(store, id, arena, ret_job, ret_found, err);
}

/* JOB/NODE, the form of POINTSMAN_TASK, where only jobs have a name. */
static bool refuse_task(struct span id, struct span job, struct err *err) {
    return err_set(err, ERR_NO_JOB,
                   "'%.*s' is not a job, but a task of '%.*s': name the job, "
                   "only logs takes a single task",
                   (int)id.len, id.p, (int)job.len, job.p);
}

static bool no_such(struct store *store, struct span id, struct err *err) {
    CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
    struct store_list list = {.newest_first = true, .limit = CANDIDATES};
    struct span rest = id, before;
    struct job *jobs, job;
    size_t count;
    bool is_task = span_cut(&rest, '/', &before) && rest.len > 0;
    if (is_task && !store_lookup(store, before, &arena, &job, &is_task, err))
        return false;
    if (is_task)
        return refuse_task(id, before, err);
    if (!store->backend->jobs(store, &list, &arena, &jobs, &count, err))
        return false;
    const char **ids = arena_alloc(&arena, (count + 1) * sizeof(*ids));
    for (size_t i = 0; i < count; i++)
        ids[i] = arena_string(&arena, jobs[i].id);
    const char *near = text_nearest(arena_string(&arena, id), ids, count);
    const char *shown = arena_string(&arena, id);
    if (near)
        return err_set(err, ERR_NO_JOB, "no job '%s'; did you mean '%s'?",
                       shown, near);
    return err_set(err, ERR_NO_JOB, "no job '%s'", shown);
}

static bool ambiguous(struct span prefix, const struct span *ids, size_t count,
                      struct err *err) {
    CLEANUP(text_clear) struct text text = TEXT_INIT;
    for (size_t i = 0; i < count && i < 3; i++) {
        text_adds(&text, i ? ", '" : "'");
        text_addspan(&text, ids[i]);
        text_addc(&text, '\'');
    }
    if (count > 3)
        text_adds(&text, " and more");
    return err_set(err, ERR_DATA, "'%.*s' is ambiguous: it may be %s",
                   (int)prefix.len, prefix.p, text_string(&text));
}

bool store_find(struct store *store, struct span id_or_prefix,
                struct arena *arena, struct job *ret_job, struct err *err) {
    struct span *ids;
    size_t count = 0;
    bool found;
    if (span_is(id_or_prefix, "@last")) {
        if (!store->backend->last(store, arena, ret_job, &found, err))
            return false;
        return found || err_set(err, ERR_NO_JOB, "no job was submitted yet");
    }
    if (!store_lookup(store, id_or_prefix, arena, ret_job, &found, err))
        return false;
    if (found)
        return true;
    if (id_or_prefix.len >= 2 && id_or_prefix.len < JOB_ID_BYTES &&
        !store->backend->ids(store, id_or_prefix, 4, arena, &ids, &count, err))
        return false;
    if (count > 1)
        return ambiguous(id_or_prefix, ids, count, err);
    if (count == 1 && !store_lookup(store, ids[0], arena, ret_job, &found, err))
        return false;
    return found || no_such(store, id_or_prefix, err);
}

/* ---- lists -------------------------------------------------------------- */

bool store_jobs(struct store *store, const struct store_list *list,
                struct arena *arena, struct job **ret_jobs, size_t *ret_count,
                struct err *err) {
    return store->backend->jobs(store, list, arena, ret_jobs, ret_count, err);
}

bool store_jobs_each(struct store *store, const struct store_list *list,
                     store_visit *visit, void *ctx, struct err *err) {
    enum { PAGE_JOBS = 1000 };
    struct store_list page = *list;
    size_t count;
    assert(!list->with_not_before);
    page.limit = list->limit > 0 ? list->limit : PAGE_JOBS;
    do {
        CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
        struct job *jobs;
        if (!store_jobs(store, &page, &arena, &jobs, &count, err))
            return false;
        for (size_t i = 0; i < count; i++) {
            page.after_num = jobs[i].num;
            if (!visit(ctx, &jobs[i], err))
                return false;
        }
    } while (count == page.limit);
    return true;
}

bool store_ready(struct store *store, struct wall now, struct span after_rank,
                 uint64_t after_num, size_t limit, struct arena *arena,
                 struct job **ret_jobs, size_t *ret_count, struct err *err) {
    return store->backend->ready(store, now, after_rank, after_num, limit,
                                 arena, ret_jobs, ret_count, err);
}

static int edge_compare(const void *a, const void *b) {
    const struct job_edge *x = a, *y = b;
    return x->kind != y->kind ? (x->kind > y->kind) - (x->kind < y->kind)
                              : span_compare(x->to, y->to);
}

bool store_edges_from(struct store *store, uint64_t num, struct arena *arena,
                      struct job_edge **ret_edges, size_t *ret_count,
                      struct err *err) {
    if (!store->backend->edges_from(store, num, arena, ret_edges, ret_count,
                                    err))
        return false;
    if (*ret_count > 1)
        qsort(*ret_edges, *ret_count, sizeof(**ret_edges), edge_compare);
    return true;
}

static int edge_to_compare(const void *a, const void *b) {
    const struct store_edge_to *x = a, *y = b;
    return x->num != y->num ? (x->num > y->num) - (x->num < y->num)
                            : (x->kind > y->kind) - (x->kind < y->kind);
}

bool store_edges_to(struct store *store, struct span id, struct arena *arena,
                    struct store_edge_to **ret_edges, size_t *ret_count,
                    struct err *err) {
    if (!store->backend->edges_to(store, id, 0, 0, arena, ret_edges, ret_count,
                                  err))
        return false;
    if (*ret_count > 1)
        qsort(*ret_edges, *ret_count, sizeof(**ret_edges), edge_to_compare);
    return true;
}

/* If a page is full, its last job may have edges beyond the page's end. */
bool store_edges_to_page(struct store *store, struct span id,
                         uint64_t after_num, size_t limit, struct arena *arena,
                         struct store_edge_to **ret_edges, size_t *ret_count,
                         bool *ret_more, struct err *err) {
    size_t count;
    assert(limit >= EDGE_KINDS);
    if (!store->backend->edges_to(store, id, after_num, limit + 1, arena,
                                  ret_edges, &count, err))
        return false;
    struct store_edge_to *edges = *ret_edges;
    if (count > 1)
        qsort(edges, count, sizeof(*edges), edge_to_compare);
    *ret_more = count > limit;
    if (*ret_more) {
        uint64_t last = edges[count - 1].num;
        while (count > 0 && edges[count - 1].num == last)
            count--;
    }
    *ret_count = count;
    return true;
}

bool store_touches(struct store *store, uint64_t num, struct arena *arena,
                   struct job_touch **ret_touches, size_t *ret_count,
                   struct err *err) {
    return store->backend->touches(store, num, arena, ret_touches, ret_count,
                                   err);
}

bool store_touching(struct store *store, struct span path, size_t limit,
                    struct arena *arena, struct job **ret_jobs,
                    size_t *ret_count, struct err *err) {
    return store->backend->touching(store, path, limit, arena, ret_jobs,
                                    ret_count, err);
}

bool store_attempts(struct store *store, uint64_t num, struct arena *arena,
                    struct store_attempt **ret_attempts, size_t *ret_count,
                    struct err *err) {
    return store->backend->attempts(store, num, arena, ret_attempts, ret_count,
                                    err);
}

bool store_attempts_latest(struct store *store, uint64_t num, struct span node,
                           size_t limit, struct arena *arena,
                           struct store_attempt **ret_attempts,
                           size_t *ret_count, struct err *err) {
    return store->backend->attempts_latest(store, num, node, limit, arena,
                                           ret_attempts, ret_count, err);
}

bool store_attempt_find(struct store *store, uint64_t num, struct span node,
                        unsigned attempt, struct arena *arena,
                        struct store_attempt *ret_attempt, bool *ret_found,
                        struct err *err) {
    return store->backend->attempt_find(store, num, node, attempt, arena,
                                        ret_attempt, ret_found, err);
}

/* The task of a one-task job, derived from its last attempt. */
static bool read_only_task(struct store *store, const struct job *job,
                           struct arena *arena, struct store_task **ret_tasks,
                           size_t *ret_count, struct err *err) {
    struct store_attempt *attempts;
    size_t count;
    if (!store->backend->attempts(store, job->num, arena, &attempts, &count,
                                  err))
        return false;
    struct store_task *task = arena_alloc(arena, sizeof(*task));
    *task = (struct store_task){
        .node = SPAN(""),
        .status = count ? attempts[count - 1].status : TASK_UNSTARTED,
        .attempt = job->attempt,
        .not_before = job->not_before,
    };
    if (job->state == STATE_DONE)
        task->status = TASK_DONE; /* a rebuilt job has no attempts */
    *ret_tasks = task;
    *ret_count = 1;
    return true;
}

bool store_tasks(struct store *store, uint64_t num, struct arena *arena,
                 struct store_task **ret_tasks, size_t *ret_count,
                 struct err *err) {
    struct job job;
    bool found;
    if (!store->backend->tasks(store, num, arena, ret_tasks, ret_count, err))
        return false;
    if (*ret_count > 0)
        return true;
    if (!store->backend->by_num(store, num, arena, &job, &found, err))
        return false;
    if (!found || job.tasks != 1 || *ret_count > 0 ||
        job_has(&job, JOB_ON_NODES))
        return true;
    return read_only_task(store, &job, arena, ret_tasks, ret_count, err);
}

bool store_task_find(struct store *store, uint64_t num, struct span node,
                     struct arena *arena, struct store_task *ret_task,
                     bool *ret_found, struct err *err) {
    return store->backend->task_find(store, num, node, arena, ret_task,
                                     ret_found, err);
}

bool store_task_counts(struct store *store, const struct job *job,
                       size_t ret_counts[TASK_STATUSES], struct err *err) {
    if ((job->flags & JOB_ARRAY) != 0 || job_has(job, JOB_ON_NODES))
        return store->backend->task_counts(store, job->num, ret_counts, err);
    memset(ret_counts, 0, TASK_STATUSES * sizeof(*ret_counts));
    ret_counts[job->state == STATE_DONE         ? TASK_DONE
               : job->state == STATE_EXECUTING  ? TASK_RUNNING
               : job_state_is_final(job->state) ? TASK_FAILED
                                                : TASK_UNSTARTED] = 1;
    return true;
}

bool store_tasks_ended(struct store *store, uint64_t num, struct wall since,
                       size_t *ret_count, struct err *err) {
    return store->backend->tasks_ended(store, num, since, ret_count, err);
}

bool store_events(struct store *store, uint64_t after_seq, uint64_t num,
                  size_t limit, struct arena *arena,
                  struct store_event **ret_events, size_t *ret_count,
                  struct err *err) {
    return store->backend->events(store, after_seq, num, limit, arena,
                                  ret_events, ret_count, err);
}

bool store_rollback(struct store *store, uint64_t num, struct arena *arena,
                    struct store_rollback *ret_rollback, bool *ret_found,
                    struct err *err) {
    return store->backend->rollback(store, num, arena, ret_rollback, ret_found,
                                    err);
}

bool store_setting(struct store *store, struct span name, struct arena *arena,
                   struct span *ret_value, struct err *err) {
    return store->backend->setting(store, name, arena, ret_value, err);
}

bool store_settings(struct store *store, struct arena *arena,
                    struct span **ret_names, struct span **ret_values,
                    size_t *ret_count, struct err *err) {
    return store->backend->settings(store, arena, ret_names, ret_values,
                                    ret_count, err);
}

bool store_count(struct store *store, struct store_tally *ret_tally,
                 struct err *err) {
    return store->backend->count(store, ret_tally, err);
}

/* ---- care --------------------------------------------------------------- */

bool store_verify(struct store *store, struct err *err) {
    return store->backend->verify(store, err);
}

bool store_backup(struct store *store, const char *path, struct err *err) {
    return store->backend->backup(store, path, err);
}

int store_version(struct store *store) {
    return store->backend->version(store);
}
