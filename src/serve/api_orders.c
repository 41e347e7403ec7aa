/* cancel, retry, hold, release: of one job, and of all that match a filter.
 *
 * An order is an operation on the registry that holds only for the state it
 * was made for. When the job has moved on meanwhile (another process, the
 * scheduler), the order is thought through again from what it is now. */
#include "serve/api_call.h"

#include <inttypes.h>
#include <stdlib.h>

#include "serve/job_json.h"
#include "serve/job_match.h"

enum { ORDER_TRIES = 20, BULK_MOST = 1000000, BULK_BATCH = 500 };

enum verb { VERB_CANCEL, VERB_RETRY, VERB_HOLD, VERB_RELEASE, VERBS };

static const char *const verb_words[VERBS] = {"cancel", "retry", "hold",
                                              "release"};

/* The body of all of them: {"reason": "...", "kill": true}. */
struct order {
    enum verb verb;
    struct span because;
    bool kill;
    struct job job;
    unsigned index; /* of the operation that decides */
    unsigned tries;
};

static bool refuse(struct err *err, const struct job *job, const char *why) {
    return err_set(err, ERR_REFUSED, "job '%.*s' %s", (int)job->id.len,
                   job->id.p, why);
}

static bool add_cancel(struct api_call *call, struct store_batch *batch,
                       struct order *order, struct err *err) {
    const struct job *job = &order->job;

    if (job_state_is_final(job->state))
        return refuse(err, job,
                      arena_printf(&call->arena, "has ended already: %s",
                                   job_state_word(job->state)));
    if (job->state == STATE_EXECUTING) {
        order->index = store_ask_cancel(batch, job->num);
        return true;
    }
    order->index =
        store_move(batch, &(struct store_move){.num = job->num,
                                               .from = job->state,
                                               .to = STATE_TERMINATED,
                                               .reason = SPAN("operator"),
                                               .detail = order->because});
    return true;
}

/* Of an array the tasks that are not done begin anew. */
static bool add_retried_tasks(struct api_call *call, struct store_batch *batch,
                              const struct job *job, struct err *err) {
    struct store_task *tasks;
    size_t count;

    if (job->tasks <= 1)
        return true;
    if (!store_tasks(call->api->options.store, job->num, &call->arena, &tasks,
                     &count, err))
        return false;
    for (size_t i = 0; i < count; i++)
        if (tasks[i].status != TASK_DONE && tasks[i].status != TASK_UNSTARTED)
            (void)store_task_set(batch, job->num, tasks[i].node, TASK_UNSTARTED,
                                 (struct wall){0});
    return true;
}

static bool add_retry(struct api_call *call, struct store_batch *batch,
                      struct order *order, struct err *err) {
    const struct job *job = &order->job;

    if (job->kind == JOB_CHANGE)
        return refuse(err, job,
                      arena_printf(&call->arena,
                                   "is a change set and keeps its end; make "
                                   "a new one with `change pack "
                                   "--supersedes %.*s`",
                                   (int)job->id.len, job->id.p));
    if (!job_state_is_final(job->state))
        return refuse(err, job,
                      arena_printf(&call->arena, "has not ended: %s",
                                   job_state_word(job->state)));
    if (job->state != STATE_FAILED && job->state != STATE_TERMINATED)
        return refuse(err, job,
                      arena_printf(&call->arena, "has not failed: %s",
                                   job_state_word(job->state)));
    if (!add_retried_tasks(call, batch, job, err))
        return false;
    order->index = store_move(
        batch, &(struct store_move){.num = job->num,
                                    .from = job->state,
                                    .to = job->has_relations ? STATE_QUEUED
                                                             : STATE_PENDING,
                                    .reason = SPAN("retry"),
                                    .detail = order->because,
                                    .clear_counts = true});
    return true;
}

static bool add_hold(struct api_call *call, struct store_batch *batch,
                     struct order *order, struct err *err) {
    const struct job *job = &order->job;

    if (job_state_is_final(job->state))
        return refuse(err, job,
                      arena_printf(&call->arena, "has ended already: %s",
                                   job_state_word(job->state)));
    order->index = store_hold(batch, job->num, HOLD_OPERATOR, order->because);
    return true;
}

static bool add_release(struct store_batch *batch, struct order *order,
                        struct err *err) {
    const struct job *job = &order->job;
    unsigned ours = job->holds & (HOLD_OPERATOR | HOLD_AMBIGUOUS);

    if (job_state_is_final(job->state) || job->holds == 0)
        return refuse(err, job, "is not held");
    if (ours == 0)
        return refuse(err, job,
                      (job->holds & HOLD_ROLLBACK) != 0
                          ? "is held by a rollback; that ends with it"
                          : "waits for an approval");
    if ((ours & HOLD_OPERATOR) != 0)
        order->index =
            store_release(batch, job->num, HOLD_OPERATOR, order->because);
    if ((ours & HOLD_AMBIGUOUS) != 0)
        order->index =
            store_release(batch, job->num, HOLD_AMBIGUOUS, order->because);
    return true;
}

static bool order_add(struct api_call *call, struct store_batch *batch,
                      struct order *order, struct err *err) {
    switch (order->verb) {
    case VERB_CANCEL:
        return add_cancel(call, batch, order, err);
    case VERB_RETRY:
        return add_retry(call, batch, order, err);
    case VERB_HOLD:
        return add_hold(call, batch, order, err);
    case VERB_RELEASE:
        return add_release(batch, order, err);
    case VERBS:
        break;
    }
    return false;
}

/* ---- one job ------------------------------------------------------------- */

static void order_try(struct api_call *call);

static void order_done(void *ctx, struct store_batch *batch, bool ok,
                       const struct err *err) {
    struct api_call *call = ctx;

    if (!api_unhold(call))
        return;
    struct order *order = call->state;
    struct api *api = call->api;
    enum store_result result =
        ok ? store_batch_result(batch, order->index) : STORE_DONE;
    if (ok && result == STORE_CONFLICT && ++order->tries < ORDER_TRIES) {
        order_try(call);
        api_poke(call);
        return;
    }
    struct err late = {0};
    if (!ok) {
        api_fail(call, err);
    } else if (result != STORE_DONE && result != STORE_SAME) {
        err_set(&late, ERR_BUSY, "job '%.*s' changed while we %s it; try again",
                (int)order->job.id.len, order->job.id.p,
                verb_words[order->verb]);
        api_fail(call, &late);
    } else if (!store_job(api->options.store, order->job.num, &call->arena,
                          &order->job, &late)) {
        api_fail(call, &late);
    } else {
        const struct api_roles *roles = api->options.roles;
        if (order->kill && order->verb == VERB_CANCEL && roles != NULL &&
            roles->kill != NULL)
            roles->kill(roles->ctx, order->job.num);
        api_trigger(api);
        api_reply(call, 200, api_json);
        struct json json;
        json_open(&json, &call->out);
        job_json(&json, &order->job, &call->arena);
        text_addc(&call->out, '\n');
        api_end(call);
    }
    api_poke(call);
}

static void order_try(struct api_call *call) {
    struct order *order = call->state;
    struct store *store = call->api->options.store;
    struct err err = {0};

    /* @last may be another one by the second time. */
    if (order->tries == 0) {
        if (!api_job(call, &order->job))
            return;
    } else if (!store_job(store, order->job.num, &call->arena, &order->job,
                          &err)) {
        api_fail(call, &err);
        return;
    }
    struct store_batch *batch = store_batch_new(store);
    store_batch_actor(batch, api_now(call), api_actor(call));
    store_batch_atomic(batch);
    if (!order_add(call, batch, order, &err)) {
        store_batch_free(batch);
        api_fail(call, &err);
        return;
    }
    api_hold(call);
    store_submit(batch, order_done, call);
}

/* Reads an object whose keys are all among those named; fails the call. An
 * empty body is an empty object. */
static bool body_object(struct api_call *call, const char *const *keys,
                        struct json_value *ret_object) {
    struct err err = {0};
    struct span body = span_trim(text_span(&call->body));

    if (body.len == 0)
        body = SPAN("{}");
    if (!json_parse(body, ret_object, &err)) {
        api_fail(call, &err);
        return false;
    }
    struct span key;
    struct json_value value;
    size_t cursor = 0;
    if (ret_object->type != JSON_OBJECT) {
        err_set(&err, ERR_DATA, "the body is not a JSON object");
        api_fail(call, &err);
        return false;
    }
    while (json_next(*ret_object, &cursor, &call->arena, &key, &value)) {
        size_t known = 0;
        while (keys[known] != NULL && !span_is(key, keys[known]))
            known++;
        if (keys[known] != NULL)
            continue;
        err_set(&err, ERR_DATA, "unknown key '%.*s'", (int)key.len, key.p);
        api_fail(call, &err);
        return false;
    }
    return true;
}

static bool body_string(struct api_call *call, struct json_value object,
                        const char *key, struct span *ret_value) {
    struct json_value value;
    struct err err = {0};

    *ret_value = (struct span){0};
    if (!json_member(object, key, &value) ||
        json_get_string(value, &call->arena, ret_value))
        return true;
    err_set(&err, ERR_DATA, "'%s' is not a string", key);
    api_fail(call, &err);
    return false;
}

static bool body_flag(struct api_call *call, struct json_value object,
                      const char *key, bool *ret_value) {
    struct json_value value;
    struct err err = {0};

    *ret_value = false;
    if (!json_member(object, key, &value) || json_get_bool(value, ret_value))
        return true;
    err_set(&err, ERR_DATA, "'%s' is neither true nor false", key);
    api_fail(call, &err);
    return false;
}

static void order_begin(struct api_call *call, enum verb verb) {
    static const char *const keys[] = {"reason", "kill", NULL};
    struct order *order = arena_alloc(&call->arena, sizeof *order);
    struct json_value body;

    order->verb = verb;
    call->state = order;
    if (body_object(call, keys, &body) &&
        body_string(call, body, "reason", &order->because) &&
        body_flag(call, body, "kill", &order->kill))
        order_try(call);
}

void api_cancel(struct api_call *call) {
    order_begin(call, VERB_CANCEL);
}

void api_retry(struct api_call *call) {
    order_begin(call, VERB_RETRY);
}

void api_hold_job(struct api_call *call) {
    order_begin(call, VERB_HOLD);
}

void api_release_job(struct api_call *call) {
    order_begin(call, VERB_RELEASE);
}

/* ---- all that match ------------------------------------------------------ */

/* {"verb": "cancel", "filter": "...", "count": 17, "dry_run": true,
 *  "reason": "..."}: without dry_run, `count` is how many the caller thinks
 * they are; when there are more or less by now, nothing is done. */
struct bulk {
    struct order order;
    uint64_t *nums;
    size_t count, cap;
    size_t at; /* next to be ordered */
    size_t in_batch;
    uint64_t done, passed; /* ordered; not any more in a fit state */
};

static void bulk_clear(struct api_call *call) {
    struct bulk *bulk = call->state;
    free(bulk->nums);
}

/* Those the verb means at all: a filter that names no state must not make
 * "retry" an error of each job that is still waiting. */
static unsigned verb_states(enum verb verb) {
    if (verb == VERB_RETRY)
        return STATE_BIT(STATE_FAILED) | STATE_BIT(STATE_TERMINATED);
    return STATES_LIVE;
}

static bool bulk_fits(const struct bulk *bulk, const struct job *job) {
    if (bulk->order.verb == VERB_RETRY)
        return job->kind != JOB_CHANGE;
    if (bulk->order.verb == VERB_RELEASE)
        return (job->holds & (HOLD_OPERATOR | HOLD_AMBIGUOUS)) != 0;
    if (bulk->order.verb == VERB_HOLD)
        return (job->holds & HOLD_OPERATOR) == 0;
    return !job->cancel_asked;
}

static bool bulk_gather(struct api_call *call, struct bulk *bulk,
                        struct span filter, struct err *err) {
    struct store *store = call->api->options.store;
    struct job_match match;
    struct store_list list = {.with_spec = true, .limit = API_PAGE};
    size_t count = API_PAGE;

    if (!job_match_parse(filter, &call->arena, &match, err))
        return false;
    list.states = match.states & verb_states(bulk->order.verb);
    while (list.states != 0 && count == API_PAGE) {
        CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
        struct job *jobs;
        if (!store_jobs(store, &list, &arena, &jobs, &count, err))
            return false;
        for (size_t i = 0; i < count; i++) {
            bool matches;
            list.after_num = jobs[i].num;
            if (!job_match_test(&match, store, &jobs[i], api_now(call), &arena,
                                &matches, err))
                return false;
            if (!matches || !bulk_fits(bulk, &jobs[i]))
                continue;
            if (bulk->count == BULK_MOST)
                return err_set(err, ERR_REFUSED,
                               "more than %d jobs match; narrow the filter",
                               BULK_MOST);
            if (bulk->count == bulk->cap) {
                bulk->cap = bulk->cap == 0 ? 256 : bulk->cap * 2;
                bulk->nums =
                    mem_grow(bulk->nums, bulk->cap, sizeof *bulk->nums);
            }
            bulk->nums[bulk->count++] = jobs[i].num;
        }
    }
    return true;
}

static void bulk_answer(struct api_call *call, bool dry) {
    struct bulk *bulk = call->state;
    struct json json;

    api_reply(call, 200, api_json);
    json_open(&json, &call->out);
    json_object(&json);
    json_key(&json, "verb");
    json_string(&json, verb_words[bulk->order.verb]);
    json_key(&json, "count");
    json_i64(&json, (int64_t)bulk->count);
    json_key(&json, "done");
    json_i64(&json, dry ? 0 : (int64_t)bulk->done);
    json_key(&json, "passed");
    json_i64(&json, dry ? 0 : (int64_t)bulk->passed);
    json_key(&json, "dry_run");
    json_bool(&json, dry);
    json_end(&json);
    text_addc(&call->out, '\n');
    api_end(call);
}

static void bulk_next(struct api_call *call);

static void bulk_done(void *ctx, struct store_batch *batch, bool ok,
                      const struct err *err) {
    struct api_call *call = ctx;

    if (!api_unhold(call))
        return;
    struct bulk *bulk = call->state;
    if (!ok) {
        api_fail(call, err);
    } else {
        unsigned operations = store_batch_count(batch);
        uint64_t done = 0;
        for (unsigned i = 0; i < operations; i++)
            done += store_batch_result(batch, i) == STORE_DONE;
        /* Retried arrays and double holds have more operations than jobs. */
        bulk->done += done < bulk->in_batch ? done : bulk->in_batch;
        bulk->passed += done < bulk->in_batch ? bulk->in_batch - done : 0;
        api_trigger(call->api);
        bulk_next(call);
    }
    api_poke(call);
}

static void bulk_next(struct api_call *call) {
    struct bulk *bulk = call->state;
    struct store *store = call->api->options.store;
    struct store_batch *batch = store_batch_new(store);

    store_batch_actor(batch, api_now(call), api_actor(call));
    bulk->in_batch = 0;
    for (; bulk->at < bulk->count && bulk->in_batch < BULK_BATCH; bulk->at++) {
        struct err err = {0};
        if (store_job(store, bulk->nums[bulk->at], store_batch_arena(batch),
                      &bulk->order.job, &err) &&
            order_add(call, batch, &bulk->order, &err))
            bulk->in_batch++;
        else
            bulk->passed++;
    }
    if (bulk->in_batch == 0) {
        store_batch_free(batch);
        bulk_answer(call, false);
        return;
    }
    api_hold(call);
    store_submit(batch, bulk_done, call);
}

void api_bulk(struct api_call *call) {
    static const char *const keys[] = {"verb",    "filter", "count",
                                       "dry_run", "reason", NULL};
    struct bulk *bulk = arena_alloc(&call->arena, sizeof *bulk);
    struct json_value body, value;
    struct span verb, filter;
    bool dry;
    struct err err = {0};

    call->state = bulk;
    call->clear = bulk_clear;
    if (!body_object(call, keys, &body) ||
        !body_string(call, body, "verb", &verb) ||
        !body_string(call, body, "filter", &filter) ||
        !body_string(call, body, "reason", &bulk->order.because) ||
        !body_flag(call, body, "dry_run", &dry))
        return;
    unsigned i = 0;
    while (i < VERBS && !span_is(verb, verb_words[i]))
        i++;
    bulk->order.verb = (enum verb)i;
    int64_t expected = -1;
    if (i == VERBS)
        err_set(&err, ERR_DATA,
                "'verb' is cancel, retry, hold or release, not '%.*s'",
                (int)verb.len, verb.p);
    else if (span_trim(filter).len == 0)
        err_set(&err, ERR_DATA,
                "'filter' is missing; an empty one would mean "
                "every job");
    else if (json_member(body, "count", &value) &&
             (!json_get_i64(value, &expected) || expected < 0))
        err_set(&err, ERR_DATA, "'count' is not a number");
    else if (!dry && expected < 0)
        err_set(&err, ERR_DATA,
                "'count' is missing: how many jobs you expect "
                "it to be; ask with dry_run first");
    else if (bulk_gather(call, bulk, filter, &err) && !dry &&
             (uint64_t)expected != bulk->count)
        err_set(&err, ERR_REFUSED,
                "%zu jobs match by now, not %" PRId64 "; nothing was done",
                bulk->count, expected);
    if (err.kind != ERR_NONE)
        api_fail(call, &err);
    else if (dry)
        bulk_answer(call, true);
    else
        bulk_next(call);
}
