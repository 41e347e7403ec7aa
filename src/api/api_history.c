/* Everything known about one job: history, attempts, tasks, relations. */
#include "api/api_call.h"
#include "api/api_handlers.h"

#include <stdlib.h>

#include "api/job_json.h"
#include "api/task_match.h"
#include "lib/map.h"
#include "core/event_facts.h"
#include "os/output.h"
#include "scheduler/rollback_status.h"
#include "wire/attempt_trace.h"

static void line_end(struct api_call *call) {
    text_addc(&call->out, '\n');
}

/* ---- history ------------------------------------------------------------- */

struct listing {
    uint64_t num, after_seq, left;
    struct map attempts; /* of the job, by attempt_key */
};

static struct span attempt_key(struct span node, unsigned attempt,
                               struct arena *arena) {
    return span_of(
        arena_printf(arena, "%u %.*s", attempt, (int)node.len, node.p));
}

static bool attempts_load(struct api_call *call, struct listing *listing,
                          struct err *err) {
    struct store_attempt *attempts;
    size_t count;
    if (!store_attempts(call->api->options.store, listing->num, &call->arena,
                        &attempts, &count, err))
        return false;
    for (size_t i = 0; i < count; i++)
        (void)map_put(
            &listing->attempts,
            attempt_key(attempts[i].node, attempts[i].attempt, &call->arena),
            &attempts[i]);
    return true;
}

static void listing_clear(struct api_call *call) {
    struct listing *listing = call->state;
    map_clear(&listing->attempts);
}

/* The attempt that ended with the event; NULL: none did. */
static const struct store_attempt *event_ended(const struct listing *listing,
                                               const struct store_event *event,
                                               struct arena *arena) {
    enum task_status status;
    bool of_job = event->kind == EVENT_MOVE && event->from == STATE_EXECUTING;
    bool of_task = event->kind == EVENT_TASK &&
                   job_task_status_parse(event->reason, &status) &&
                   status != TASK_RUNNING && status != TASK_UNSTARTED;
    if (event->num != listing->num || (!of_job && !of_task))
        return NULL;
    return map_get(
        &listing->attempts,
        attempt_key(of_task ? event->detail : SPAN(""), event->attempt, arena));
}

static void history_work(struct api_call *call) {
    struct listing *listing = call->state;

    while (call->out.len < API_OUT_BYTES && !call->ended) {
        CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
        struct store_event *events;
        size_t count;
        struct err err = {0};
        size_t limit = listing->left < API_PAGE ? listing->left : API_PAGE;
        if (limit == 0) {
            api_end(call);
            return;
        }
        if (!store_events(call->api->options.store, listing->after_seq,
                          listing->num, limit, &arena, &events, &count, &err)) {
            api_fail(call, &err);
            return;
        }
        for (size_t i = 0; i < count; i++) {
            struct json json;
            json_open(&json, &call->out);
            job_event_json(&json, &events[i],
                           event_ended(listing, &events[i], &arena));
            line_end(call);
            listing->after_seq = events[i].seq;
        }
        listing->left -= count;
        if (count < limit)
            api_end(call);
    }
}

/* ---- history of a rollback ----------------------------------------------- */

struct events {
    struct store_event *p;
    size_t count, cap;
};

static void event_add(struct events *events, const struct store_event *event) {
    if (events->count == events->cap) {
        events->cap = events->cap > 0 ? 2 * events->cap : 64;
        events->p = mem_grow(events->p, events->cap, sizeof *events->p);
    }
    events->p[events->count++] = *event;
}

/* True if the event of a member is a consequence of this rollback. */
static bool is_of_rollback(const struct store_event *event, struct span id,
                           struct arena *arena) {
    struct event_facts facts;
    if (event->kind == EVENT_MOVE || event->kind == EVENT_SIGNAL)
        return span_equal(event->detail, id);
    return event->kind == EVENT_ROLLED_BACK &&
           event_facts_parse(event->facts, arena, &facts) &&
           span_equal(facts.because, id);
}

/* The job's events after listing->after_seq; those of a member only if they are
 * a consequence of the rollback `id`. */
static bool events_collect(struct api_call *call, const struct listing *listing,
                           uint64_t num, struct span id, struct events *events,
                           struct err *err) {
    uint64_t after = listing->after_seq;
    size_t count = API_PAGE;
    while (count == API_PAGE) {
        struct store_event *page;
        if (!store_events(call->api->options.store, after, num, API_PAGE,
                          &call->arena, &page, &count, err))
            return false;
        for (size_t i = 0; i < count; i++)
            if (num == listing->num ||
                is_of_rollback(&page[i], id, &call->arena))
                event_add(events, &page[i]);
        if (count > 0)
            after = page[count - 1].seq;
    }
    return true;
}

static int by_seq(const void *a, const void *b) {
    const struct store_event *x = a, *y = b;
    return (x->seq > y->seq) - (x->seq < y->seq);
}

/* The events of the rollback and what it did to its members. */
static bool rollback_history(struct api_call *call,
                             const struct listing *listing, uint64_t tail,
                             const struct job *rollback, struct err *err) {
    struct events events = {0};
    struct rollback_fated *members;
    size_t count;
    bool ok = rollback_status_members(call->api->options.store, rollback,
                                      &call->arena, &members, &count, err) &&
              events_collect(call, listing, rollback->num, rollback->id,
                             &events, err);
    for (size_t i = 0; ok && i < count; i++)
        ok = events_collect(call, listing, members[i].job.num, rollback->id,
                            &events, err);
    if (ok && events.count > 0)
        qsort(events.p, events.count, sizeof *events.p, by_seq);
    size_t begin = tail < events.count ? events.count - (size_t)tail : 0;
    for (size_t i = begin; ok && i < events.count && i - begin < listing->left;
         i++) {
        struct json json;
        json_open(&json, &call->out);
        job_event_json(&json, &events.p[i],
                       event_ended(listing, &events.p[i], &call->arena));
        line_end(call);
    }
    free(events.p);
    return ok;
}

/* ---- history of a job ---------------------------------------------------- */

/* The last event before the job's `tail` newest ones. */
static bool find_tail(struct api_call *call, struct listing *listing,
                      uint64_t tail, struct err *err) {
    uint64_t *seqs = NULL, after = listing->after_seq;
    size_t count = API_PAGE, all = 0;
    bool ok = true;

    while (ok && count == API_PAGE) {
        CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
        struct store_event *events;
        ok = store_events(call->api->options.store, after, listing->num,
                          API_PAGE, &arena, &events, &count, err);
        for (size_t i = 0; ok && i < count; i++) {
            seqs = mem_grow(seqs, all + 1, sizeof *seqs);
            seqs[all++] = after = events[i].seq;
        }
    }
    if (ok && tail < all)
        listing->after_seq = seqs[all - tail - 1];
    free(seqs);
    return ok;
}

/* ?after= (seq) &limit= &tail= (of the newest) */
void api_history(struct api_call *call) {
    static const char *const keys[] = {"after", "limit", "tail", NULL};
    uint64_t tail = UINT64_MAX;
    struct err err = {0};
    struct listing *listing = arena_alloc(&call->arena, sizeof *listing);
    struct job job;

    listing->left = UINT64_MAX;
    if (!api_query_check(call, keys) ||
        !api_query_u64(call, "after", UINT64_MAX, &listing->after_seq) ||
        !api_query_u64(call, "limit", UINT64_MAX, &listing->left) ||
        !api_query_u64(call, "tail", UINT64_MAX, &tail) || !api_job(call, &job))
        return;
    listing->num = job.num;
    call->state = listing;
    call->clear = listing_clear;
    if (!attempts_load(call, listing, &err)) {
        api_fail(call, &err);
        return;
    }
    if (job_has(&job, JOB_ROLLS_BACK)) {
        if (!rollback_history(call, listing, tail, &job, &err)) {
            api_fail(call, &err);
            return;
        }
        api_reply(call, 200, api_lines);
        api_end(call);
        return;
    }
    if (tail != UINT64_MAX && !find_tail(call, listing, tail, &err)) {
        api_fail(call, &err);
        return;
    }
    call->work = history_work;
    api_reply(call, 200, api_lines);
}

/* ---- attempts and tasks ---------------------------------------------------
 */

struct placed_attempt {
    uint64_t place; /* of its task in the array */
    struct store_attempt attempt;
};

static int compare_places(const void *left, const void *right) {
    const struct placed_attempt *a = left, *b = right;
    if (a->place != b->place)
        return a->place < b->place ? -1 : 1;
    int order = span_compare(a->attempt.node, b->attempt.node);
    return order != 0 ? order
                      : (a->attempt.attempt > b->attempt.attempt) -
                            (a->attempt.attempt < b->attempt.attempt);
}

/* Sorts them by the lines of the array; by node, item10 precedes item2. */
static bool sort_attempts(struct api_call *call, uint64_t num,
                          struct store_attempt *attempts, size_t count,
                          struct err *err) {
    CLEANUP(map_clear) struct map places = MAP_INIT;
    struct store_task *tasks;
    size_t task_count;
    if (count == 0)
        return true;
    if (!store_tasks(call->api->options.store, num, &call->arena, &tasks,
                     &task_count, err))
        return false;
    struct placed_attempt *placed =
        arena_alloc(&call->arena, count * sizeof *placed);
    for (size_t i = 0; i < task_count; i++)
        (void)map_put(&places, tasks[i].node, &tasks[i]);
    for (size_t i = 0; i < count; i++) {
        const struct store_task *task = map_get(&places, attempts[i].node);
        placed[i] =
            (struct placed_attempt){task == NULL ? 0 : task->at, attempts[i]};
    }
    qsort(placed, count, sizeof *placed, compare_places);
    for (size_t i = 0; i < count; i++)
        attempts[i] = placed[i].attempt;
    return true;
}

struct attempts {
    struct job job;
    struct store_attempt *rows;
    size_t count, next;
    struct store_task *tasks; /* NULL: not read yet */
    size_t task_count;
};

/* The place of its task in the array. */
static uint64_t task_at(struct api_call *call,
                        const struct store_attempt *attempt) {
    struct attempts *attempts = call->state;
    if (attempt->node.len == 0 ||
        (attempts->tasks == NULL &&
         !store_tasks(call->api->options.store, attempt->num, &call->arena,
                      &attempts->tasks, &attempts->task_count, NULL)))
        return 0;
    for (size_t i = 0; i < attempts->task_count; i++)
        if (span_equal(attempts->tasks[i].node, attempt->node))
            return attempts->tasks[i].at;
    return 0;
}

/* Its size while it grows, or if the server died before it recorded it. */
static uint64_t output_size(struct api_call *call,
                            const struct store_attempt *attempt) {
    struct output *output = call->api->options.output;
    struct output_view view = OUTPUT_VIEW_INIT;
    struct attempt_trace trace;
    char place[OUTPUT_PLACE_BYTES];
    attempt_trace_parse(attempt->trace, &trace);
    if (output == NULL || attempt->output.len > 0 ||
        (attempt->status != TASK_RUNNING && !trace.cut))
        return attempt->output_bytes;
    output_place_format(attempt->num, task_at(call, attempt), attempt->attempt,
                        place);
    if (!output_view_open(output, span_of(place), &view, NULL))
        return attempt->output_bytes;
    uint64_t bytes = view.bytes;
    output_view_close(&view);
    return bytes;
}

/* Whether an output is whole is seen in its file: one at a time, so that those
 * of a large array do not keep the server from everything else. */
static bool attempts_step(struct api_call *call, struct err *err) {
    struct attempts *attempts = call->state;
    struct output_loss loss;
    struct json json;
    (void)err;
    if (attempts->next == attempts->count) {
        api_end(call);
        return true;
    }
    struct store_attempt *attempt = &attempts->rows[attempts->next++];
    attempt->output_bytes = output_size(call, attempt);
    output_loss_find(call->api->options.output, attempt, &loss);
    json_open(&json, &call->out);
    job_attempt_json(&json, &attempts->job, attempt, &loss);
    line_end(call);
    return true;
}

static void attempts_work(struct api_call *call) {
    api_steps(call, attempts_step);
}

/* Keeps only the attempts of tasks that have failed. */
static bool keep_failed(struct api_call *call, uint64_t num,
                        struct store_attempt *attempts, size_t *count,
                        struct err *err) {
    CLEANUP(map_clear) struct map failed = MAP_INIT;
    struct store_task *tasks;
    size_t task_count, kept = 0;
    if (!store_tasks(call->api->options.store, num, &call->arena, &tasks,
                     &task_count, err))
        return false;
    for (size_t i = 0; i < task_count; i++)
        if (tasks[i].status == TASK_FAILED)
            (void)map_put(&failed, tasks[i].node, &tasks[i]);
    for (size_t i = 0; i < *count; i++)
        if (map_get(&failed, attempts[i].node) != NULL)
            attempts[kept++] = attempts[i];
    *count = kept;
    return true;
}

/* ?node= (a task of an array) &attempt= &failed=1 (tasks that have failed) */
void api_attempts(struct api_call *call) {
    static const char *const keys[] = {"node", "attempt", "failed", NULL};
    struct span node = api_query(call, "node");
    bool failed = api_query_flag(call, "failed");
    uint64_t number = 0;
    struct attempts *found = arena_alloc(&call->arena, sizeof(*found));
    struct job job;
    struct store_attempt *attempts;
    size_t count, wanted = 0;
    struct err err = {0};

    if (!api_query_check(call, keys) ||
        !api_query_u64(call, "attempt", UINT32_MAX, &number) ||
        !api_job(call, &job))
        return;
    if (!store_attempts(call->api->options.store, job.num, &call->arena,
                        &attempts, &count, &err) ||
        !sort_attempts(call, job.num, attempts, count, &err) ||
        (failed && !keep_failed(call, job.num, attempts, &count, &err))) {
        api_fail(call, &err);
        return;
    }
    for (size_t i = 0; i < count; i++)
        if ((node.len == 0 || span_equal(attempts[i].node, node)) &&
            (number == 0 || attempts[i].attempt == number))
            attempts[wanted++] = attempts[i];
    if (wanted == 0 && (node.len > 0 || number != 0 || failed)) {
        (void)task_refuse_attempt(call, &job, node, failed, &err);
        api_fail(call, &err);
        return;
    }
    *found = (struct attempts){.job = job, .rows = attempts, .count = wanted};
    call->state = found;
    call->work = attempts_work;
    api_reply(call, 200, api_lines);
}

/* A one-task job has no row for its task: the job is the task. */
static enum task_status single_status(const struct job *job) {
    switch (job->state) {
    case STATE_EXECUTING:
        return TASK_RUNNING;
    case STATE_DONE:
        return TASK_DONE;
    case STATE_FAILED:
        return TASK_FAILED;
    case STATE_QUEUED:
    case STATE_STAGED:
    case STATE_PENDING:
        return job->not_before.ns != 0 && !job_begins(job) ? TASK_BACKOFF
                                                           : TASK_UNSTARTED;
    case STATE_TERMINATED:
    case STATE_ABANDONED:
        return job->attempt > 0 ? TASK_FAILED : TASK_UNSTARTED;
    case STATE_NONE:
        break;
    }
    return TASK_UNSTARTED;
}

/* How the last attempt of a task went; all null if there was none. */
static void last_json(struct json *json, const struct store_attempt *last) {
    bool ended = last != NULL && last->ended.ns != 0;
    job_json_time(json, "started",
                  last == NULL ? (struct wall){0} : last->started);
    job_json_time(json, "ended", last == NULL ? (struct wall){0} : last->ended);
    json_key(json, "exit_code");
    if (ended && last->exit_code >= 0)
        json_i64(json, last->exit_code);
    else
        json_null(json);
    json_key(json, "signal");
    if (ended && last->signal > 0)
        json_i64(json, last->signal);
    else
        json_null(json);
    json_key(json, "detail");
    if (last != NULL)
        json_span(json, last->detail);
    else
        json_null(json);
    job_usage_json(json, ended ? last->cpu_us : 0, ended ? last->peak_kib : 0);
}

static void task_json(struct api_call *call, const struct job *job,
                      const struct store_task *task,
                      const struct store_attempt *last) {
    struct json json;

    json_open(&json, &call->out);
    json_object(&json);
    json_key(&json, "job");
    json_span(&json, job->id);
    json_key(&json, "node");
    if (task->node.len > 0)
        json_span(&json, task->node);
    else
        json_null(&json);
    json_key(&json, "status");
    json_string(&json, job_task_status_word(task->status));
    json_key(&json, "attempt");
    json_i64(&json, task->attempt);
    json_key(&json, "worker");
    if (last != NULL)
        json_span(&json, last->worker);
    else
        json_null(&json);
    job_json_time(&json, "not_before", task->not_before);
    last_json(&json, last);
    json_end(&json);
    line_end(call);
}

/* ?filter= (wire/filter.h) */
void api_tasks(struct api_call *call) {
    static const char *const keys[] = {"filter", NULL};
    CLEANUP(map_clear) struct map last = MAP_INIT; /* of each node */
    struct job job;
    struct filter filter;
    struct store_attempt *attempts;
    struct store_task *tasks, single;
    size_t count, attempt_count;
    struct err err = {0};

    if (!api_query_check(call, keys) || !api_job(call, &job))
        return;
    if (!filter_parse(api_query(call, "filter"), FILTER_TASKS, &call->arena,
                      &filter, &err) ||
        !store_tasks(call->api->options.store, job.num, &call->arena, &tasks,
                     &count, &err) ||
        !store_attempts(call->api->options.store, job.num, &call->arena,
                        &attempts, &attempt_count, &err)) {
        api_fail(call, &err);
        return;
    }
    /* By node, then attempt. */
    for (size_t i = 0; i < attempt_count; i++)
        (void)map_put(&last, attempts[i].node, &attempts[i]);
    single = (struct store_task){.node = SPAN(""),
                                 .status = single_status(&job),
                                 .attempt = job.attempt,
                                 .not_before = job.not_before};
    if (count == 0 && !job_has(&job, JOB_ON_NODES)) {
        tasks = &single;
        count = 1;
    }
    api_reply(call, 200, api_lines);
    for (size_t i = 0; i < count; i++)
        if (task_match(&filter, &tasks[i]))
            task_json(call, &job, &tasks[i], map_get(&last, tasks[i].node));
    api_end(call);
}
