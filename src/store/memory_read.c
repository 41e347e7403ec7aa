/* Reads from the memory backend: plain walks over everything. */
#include "store/memory.h"

#include <inttypes.h>
#include <stdlib.h>

static bool give_one(const struct memory_job *found, struct arena *arena,
                     struct job *ret_job, bool *ret_found) {
    *ret_found = found != NULL;
    if (found)
        job_copy(arena, &found->job, ret_job);
    return true;
}

bool memory_by_num(struct store *store, uint64_t num, struct arena *arena,
                   struct job *ret_job, bool *ret_found, struct err *err) {
    (void)err;
    return give_one(memory_find(memory_of(store), num), arena, ret_job,
                    ret_found);
}

bool memory_by_id(struct store *store, struct span id, struct arena *arena,
                  struct job *ret_job, bool *ret_found, struct err *err) {
    (void)err;
    return give_one(map_get(&memory_of(store)->by_id, id), arena, ret_job,
                    ret_found);
}

bool memory_last(struct store *store, struct arena *arena, struct job *ret_job,
                 bool *ret_found, struct err *err) {
    struct memory *memory = memory_of(store);
    (void)err;
    return give_one(memory->job_count ? memory->jobs[memory->job_count - 1]
                                      : NULL,
                    arena, ret_job, ret_found);
}

static int span_order(const void *a, const void *b) {
    return span_compare(*(const struct span *)a, *(const struct span *)b);
}

bool memory_ids(struct store *store, struct span prefix, size_t limit,
                struct arena *arena, struct span **ret_ids, size_t *ret_count,
                struct err *err) {
    struct memory *memory = memory_of(store);
    size_t count = 0;
    (void)err;
    *ret_ids = arena_alloc(arena, memory->job_count * sizeof(struct span) + 1);
    for (size_t i = 0; i < memory->job_count; i++) {
        struct span id = memory->jobs[i]->job.id;
        if (id.len >= prefix.len && memcmp(id.p, prefix.p, prefix.len) == 0)
            (*ret_ids)[count++] = arena_span(arena, id);
    }
    qsort(*ret_ids, count, sizeof(struct span), span_order);
    *ret_count = limit && count > limit ? limit : count;
    return true;
}

/* ---- lists of jobs ------------------------------------------------------ */

struct found {
    const struct job **jobs;
    size_t count;
};

static struct found found_new(const struct memory *memory,
                              struct arena *arena) {
    return (struct found){
        .jobs =
            arena_alloc(arena, memory->job_count * sizeof(struct job *) + 1)};
}

static void found_give(const struct found *found, size_t limit, bool with_spec,
                       struct arena *arena, struct job **ret_jobs,
                       size_t *ret_count) {
    size_t count = limit && found->count > limit ? limit : found->count;
    *ret_jobs = arena_alloc(arena, count * sizeof(struct job) + 1);
    *ret_count = count;
    for (size_t i = 0; i < count; i++) {
        struct job job = *found->jobs[i];
        if (!with_spec)
            job.spec = SPAN("");
        job_copy(arena, &job, &(*ret_jobs)[i]);
    }
}

static int soonest_first(const void *a, const void *b) {
    const struct job *x = *(const struct job *const *)a;
    const struct job *y = *(const struct job *const *)b;
    if (x->not_before.ns != y->not_before.ns)
        return x->not_before.ns < y->not_before.ns ? -1 : 1;
    return (x->num > y->num) - (x->num < y->num);
}

static bool list_matches(const struct job *job, const struct store_list *list) {
    if (list->states && !(list->states & STATE_BIT(job->state)))
        return false;
    if (list->kinds && !(list->kinds & 1u << job->kind))
        return false;
    if ((list->relations_only && !job->has_relations) ||
        (list->stale_only && !job->stale) ||
        (list->owed_only && job->owed.ns == 0) ||
        (list->until.ns && job->since.ns >= list->until.ns))
        return false;
    if (list->with_not_before)
        return job->not_before.ns > 0;
    if (list->after_num == 0)
        return true;
    return list->newest_first ? job->num < list->after_num
                              : job->num > list->after_num;
}

bool memory_jobs(struct store *store, const struct store_list *list,
                 struct arena *arena, struct job **ret_jobs, size_t *ret_count,
                 struct err *err) {
    struct memory *memory = memory_of(store);
    struct found found = found_new(memory, arena);
    bool backwards = list->newest_first && !list->with_not_before;
    (void)err;
    for (size_t i = 0; i < memory->job_count; i++) {
        size_t at = backwards ? memory->job_count - 1 - i : i;
        if (list_matches(&memory->jobs[at]->job, list))
            found.jobs[found.count++] = &memory->jobs[at]->job;
    }
    if (list->with_not_before)
        qsort(found.jobs, found.count, sizeof(*found.jobs), soonest_first);
    found_give(&found, list->limit, list->with_spec, arena, ret_jobs,
               ret_count);
    return true;
}

static int rank_order(const void *a, const void *b) {
    const struct job *x = *(const struct job *const *)a;
    const struct job *y = *(const struct job *const *)b;
    int order = span_compare(x->rank, y->rank);
    return order ? order : (x->num > y->num) - (x->num < y->num);
}

bool memory_ready(struct store *store, struct wall now, struct span after_rank,
                  uint64_t after_num, size_t limit, struct arena *arena,
                  struct job **ret_jobs, size_t *ret_count, struct err *err) {
    struct memory *memory = memory_of(store);
    struct found found = found_new(memory, arena);
    (void)err;
    LIST_EACH (&memory->live, link) {
        const struct job *job = &LIST_OF(link, struct memory_job, live)->job;
        int order = span_compare(job->rank, after_rank);
        bool beyond =
            after_num == 0 || order > 0 || (order == 0 && job->num > after_num);
        if (beyond && job->state == STATE_PENDING && job->holds == 0 &&
            !job->cancel_asked && job->not_before.ns <= now.ns)
            found.jobs[found.count++] = job;
    }
    qsort(found.jobs, found.count, sizeof(*found.jobs), rank_order);
    found_give(&found, limit, true, arena, ret_jobs, ret_count);
    return true;
}

bool memory_touching(struct store *store, struct span path, size_t limit,
                     struct arena *arena, struct job **ret_jobs,
                     size_t *ret_count, struct err *err) {
    struct memory *memory = memory_of(store);
    struct found found = found_new(memory, arena);
    (void)err;
    for (size_t i = memory->job_count; i > 0; i--) {
        const struct memory_job *job = memory->jobs[i - 1];
        for (size_t k = 0; k < job->touch_count; k++)
            if (span_equal(job->touches[k].path, path))
                found.jobs[found.count++] = &job->job;
    }
    found_give(&found, limit, false, arena, ret_jobs, ret_count);
    return true;
}

/* ---- relations ---------------------------------------------------------- */

bool memory_edges_from(struct store *store, uint64_t num, struct arena *arena,
                       struct job_edge **ret_edges, size_t *ret_count,
                       struct err *err) {
    const struct memory_job *job = memory_find(memory_of(store), num);
    (void)err;
    *ret_count = job ? job->edge_count : 0;
    *ret_edges = arena_alloc(arena, *ret_count * sizeof(**ret_edges) + 1);
    for (size_t i = 0; i < *ret_count; i++)
        (*ret_edges)[i] = (struct job_edge){job->edges[i].kind,
                                            arena_span(arena, job->edges[i].to),
                                            job->edges[i].share};
    return true;
}

static size_t edges_to_most(const struct memory *memory, size_t limit) {
    size_t most = 0;
    for (size_t i = 0; i < memory->job_count; i++) {
        most += memory->jobs[i]->edge_count;
        if (limit > 0 && most >= limit)
            return limit;
    }
    return most;
}

bool memory_edges_to(struct store *store, struct span id, uint64_t after_num,
                     size_t limit, struct arena *arena,
                     struct store_edge_to **ret_edges, size_t *ret_count,
                     struct err *err) {
    struct memory *memory = memory_of(store);
    size_t most = edges_to_most(memory, limit);
    (void)err;
    *ret_edges = arena_alloc(arena, most * sizeof(**ret_edges) + 1);
    *ret_count = 0;
    for (size_t i = 0; i < memory->job_count && *ret_count < most; i++) {
        const struct memory_job *job = memory->jobs[i];
        if (job->job.num <= after_num)
            continue;
        for (size_t k = 0; k < job->edge_count && *ret_count < most; k++)
            if (span_equal(job->edges[k].to, id))
                (*ret_edges)[(*ret_count)++] = (struct store_edge_to){
                    job->job.num, arena_span(arena, job->job.id),
                    job->edges[k].kind, job->job.state};
    }
    return true;
}

bool memory_touches(struct store *store, uint64_t num, struct arena *arena,
                    struct job_touch **ret_touches, size_t *ret_count,
                    struct err *err) {
    const struct memory_job *job = memory_find(memory_of(store), num);
    (void)err;
    *ret_count = job ? job->touch_count : 0;
    *ret_touches = arena_alloc(arena, *ret_count * sizeof(**ret_touches) + 1);
    for (size_t i = 0; i < *ret_count; i++)
        (*ret_touches)[i] = (struct job_touch){
            arena_span(arena, job->touches[i].path), job->touches[i].deleted};
    return true;
}

/* ---- tasks and attempts ------------------------------------------------- */

static struct store_attempt attempt_copy(const struct store_attempt *attempt,
                                         struct arena *arena) {
    struct store_attempt copy = *attempt;
    struct span *spans[] = {&copy.node,   &copy.reason, &copy.detail,
                            &copy.worker, &copy.output, &copy.trace};
    for (size_t i = 0; i < COUNT(spans); i++)
        *spans[i] = arena_span(arena, *spans[i]);
    return copy;
}

bool memory_attempts(struct store *store, uint64_t num, struct arena *arena,
                     struct store_attempt **ret_attempts, size_t *ret_count,
                     struct err *err) {
    const struct memory_job *job = memory_find(memory_of(store), num);
    (void)err;
    *ret_count = job ? job->attempt_count : 0;
    *ret_attempts = arena_alloc(arena, *ret_count * sizeof(**ret_attempts) + 1);
    for (size_t i = 0; i < *ret_count; i++)
        (*ret_attempts)[i] = attempt_copy(&job->attempts[i], arena);
    return true;
}

bool memory_attempts_latest(struct store *store, uint64_t num, struct span node,
                            size_t limit, struct arena *arena,
                            struct store_attempt **ret_attempts,
                            size_t *ret_count, struct err *err) {
    const struct memory_job *job = memory_find(memory_of(store), num);
    (void)err;
    *ret_count = 0;
    *ret_attempts = arena_alloc(arena, limit * sizeof(**ret_attempts) + 1);
    for (size_t i = job ? job->attempt_count : 0; i > 0 && *ret_count < limit;
         i--) {
        const struct store_attempt *attempt = &job->attempts[i - 1];
        if (span_equal(attempt->node, node) && attempt->status != TASK_RUNNING)
            (*ret_attempts)[(*ret_count)++] = attempt_copy(attempt, arena);
    }
    return true;
}

bool memory_attempt_find(struct store *store, uint64_t num, struct span node,
                         unsigned attempt, struct arena *arena,
                         struct store_attempt *ret_attempt, bool *ret_found,
                         struct err *err) {
    const struct memory_job *job = memory_find(memory_of(store), num);
    (void)err;
    *ret_found = false;
    for (size_t i = 0; job != NULL && i < job->attempt_count; i++)
        if (job->attempts[i].attempt == attempt &&
            span_equal(job->attempts[i].node, node)) {
            *ret_attempt = attempt_copy(&job->attempts[i], arena);
            *ret_found = true;
        }
    return true;
}

bool memory_task_counts(struct store *store, uint64_t num,
                        size_t ret_counts[TASK_STATUSES], struct err *err) {
    const struct memory_job *job = memory_find(memory_of(store), num);
    (void)err;
    memset(ret_counts, 0, TASK_STATUSES * sizeof(*ret_counts));
    for (size_t i = 0; job != NULL && i < job->task_count; i++)
        ret_counts[job->tasks[i].status]++;
    return true;
}

bool memory_tasks_ended(struct store *store, uint64_t num, struct wall since,
                        size_t *ret_count, struct err *err) {
    const struct memory_job *job = memory_find(memory_of(store), num);
    (void)err;
    *ret_count = 0;
    for (size_t i = 0; job != NULL && i < job->attempt_count; i++) {
        const struct store_attempt *attempt = &job->attempts[i];
        *ret_count +=
            attempt->ended.ns >= since.ns &&
            (attempt->status == TASK_DONE || attempt->status == TASK_FAILED);
    }
    return true;
}

bool memory_tasks(struct store *store, uint64_t num, struct arena *arena,
                  struct store_task **ret_tasks, size_t *ret_count,
                  struct err *err) {
    const struct memory_job *job = memory_find(memory_of(store), num);
    (void)err;
    *ret_count = job ? job->task_count : 0;
    *ret_tasks = arena_alloc(arena, *ret_count * sizeof(**ret_tasks) + 1);
    for (size_t i = 0; i < *ret_count; i++) {
        (*ret_tasks)[i] = job->tasks[i];
        (*ret_tasks)[i].node = arena_span(arena, job->tasks[i].node);
    }
    return true;
}

bool memory_task_find(struct store *store, uint64_t num, struct span node,
                      struct arena *arena, struct store_task *ret_task,
                      bool *ret_found, struct err *err) {
    struct store_task *tasks;
    size_t count, i = 0;
    bool ok = memory_tasks(store, num, arena, &tasks, &count, err);
    while (ok && i < count && !span_equal(tasks[i].node, node))
        i++;
    *ret_found = ok && i < count;
    if (*ret_found)
        *ret_task = tasks[i];
    return ok;
}

/* ---- events and settings ------------------------------------------------ */

bool memory_events(struct store *store, uint64_t after_seq, uint64_t num,
                   size_t limit, struct arena *arena,
                   struct store_event **ret_events, size_t *ret_count,
                   struct err *err) {
    static const unsigned char zero[CHAIN_BYTES];
    struct memory *memory = memory_of(store);
    size_t first = memory->event_count, count = 0;
    (void)err;
    while (first > 0 && memory->events[first - 1].event.seq > after_seq)
        first--;
    *ret_events = arena_alloc(
        arena, (memory->event_count - first) * sizeof(**ret_events) + 1);
    for (size_t i = first; i < memory->event_count; i++) {
        const struct memory_event *one = &memory->events[i];
        if (limit && count == limit)
            break;
        if (num && one->event.num != num)
            continue;
        struct store_event *copy = &(*ret_events)[count++];
        *copy = one->event;
        struct span *spans[] = {&copy->id, &copy->actor, &copy->reason,
                                &copy->detail, &copy->facts};
        for (size_t k = 0; k < COUNT(spans); k++)
            *spans[k] = arena_span(arena, *spans[k]);
        copy->hash = chain_hex(arena, one->hash);
        copy->prev_hash = chain_hex(arena, i ? one[-1].hash : zero);
    }
    *ret_count = count;
    return true;
}

bool memory_rollback(struct store *store, uint64_t num, struct arena *arena,
                     struct store_rollback *ret_rollback, bool *ret_found,
                     struct err *err) {
    const struct memory_job *job = memory_find(memory_of(store), num);
    (void)err;
    *ret_found = job && job->plan.phase.p != NULL;
    if (*ret_found) {
        *ret_rollback = job->plan;
        ret_rollback->phase = arena_span(arena, job->plan.phase);
        ret_rollback->members = arena_span(arena, job->plan.members);
    }
    return true;
}

bool memory_setting(struct store *store, struct span name, struct arena *arena,
                    struct span *ret_value, struct err *err) {
    const struct span *value = map_get(&memory_of(store)->settings, name);
    (void)err;
    *ret_value = value ? arena_span(arena, *value) : (struct span){NULL, 0};
    return true;
}

bool memory_settings(struct store *store, struct arena *arena,
                     struct span **ret_names, struct span **ret_values,
                     size_t *ret_count, struct err *err) {
    struct memory *memory = memory_of(store);
    size_t count = map_count(&memory->settings), cursor = 0, i = 0;
    struct span name;
    void *value;
    (void)err;
    *ret_count = count;
    *ret_names = arena_alloc(arena, count * sizeof(struct span) + 1);
    *ret_values = arena_alloc(arena, count * sizeof(struct span) + 1);
    while (map_next(&memory->settings, &cursor, &name, &value))
        (*ret_names)[i++] = arena_span(arena, name);
    qsort(*ret_names, count, sizeof(struct span), span_order);
    for (i = 0; i < count; i++)
        memory_setting(store, (*ret_names)[i], arena, &(*ret_values)[i], NULL);
    return true;
}

/* ---- verify ------------------------------------------------------------- */

static bool verify_chain(struct memory *memory, struct err *err) {
    unsigned char hash[CHAIN_BYTES] = {0};
    bool well = true;
    struct chain chain;
    chain_init(&chain);
    for (size_t i = 0; i < memory->event_count && well; i++) {
        chain_next(&chain, hash, &memory->events[i].event, hash);
        well = memcmp(hash, memory->events[i].hash, CHAIN_BYTES) == 0 ||
               err_set(err, ERR_DATA,
                       "the hash of event %" PRIu64 " does not match",
                       memory->events[i].event.seq);
    }
    chain_clear(&chain);
    return well && (memcmp(hash, memory->head.hash, CHAIN_BYTES) == 0 ||
                    err_set(err, ERR_DATA, "the log has lost its last events"));
}

bool memory_verify(struct store *store, struct err *err) {
    struct memory *memory = memory_of(store);
    struct store_tally tally = {0};
    for (size_t i = 0; i < memory->job_count; i++) {
        const struct job *job = &memory->jobs[i]->job;
        tally.count[job->state]++;
        tally.held += job->holds != 0 && !job_state_is_final(job->state);
    }
    if (memcmp(&tally, &memory->head.tally, sizeof(tally)) != 0)
        return err_set(err, ERR_DATA,
                       "the counts in the head row do not match the jobs");
    return verify_chain(memory, err);
}
