/* A command for all jobs that match a filter. */
#include <inttypes.h>
#include <stdlib.h>

#include "api/api_command.h"
#include "api/api_handlers.h"
#include "api/job_match.h"
#include "scheduler/work_kind.h"

enum { BULK_MOST = 1000000, BULK_BATCH = 500 };

/* {"verb": "cancel", "filter": "...", "count": 17, "dry_run": true,
 * "reason": "...", "kill": true}: without dry_run, `count` is the number of
 * jobs the caller expects; if it has changed by now, nothing is done. */
struct bulk {
    struct api_command command;
    uint64_t *nums;
    size_t count, cap;
    size_t at; /* the next job to handle */
    size_t in_batch;
    uint64_t done, passed; /* handled; skipped because their state has
                              changed */
};

static void bulk_clear(struct api_call *call) {
    struct bulk *bulk = call->state;
    free(bulk->nums);
}

/* The states that the verb applies to at all: a filter without a state must
 * not make "retry" an error for each job that is still waiting. */
static unsigned verb_states(enum api_verb verb) {
    if (verb == VERB_RETRY)
        return STATE_BIT(STATE_FAILED) | STATE_BIT(STATE_TERMINATED) |
               STATE_BIT(STATE_PENDING);
    return STATES_LIVE;
}

static bool may_retry(const struct api_call *call, const struct job *job) {
    const struct work_kind *kind =
        work_kind_find(call->api->options.tables->kinds, job, NULL);
    return kind != NULL && kind->refuse_retry == NULL;
}

static bool bulk_fits(const struct api_call *call, const struct bulk *bulk,
                      const struct job *job) {
    if (!api_allows(call, job, NULL))
        return false;
    if (bulk->command.verb == VERB_RETRY)
        return job->state == STATE_PENDING ? api_command_backs_off(call, job)
                                           : may_retry(call, job);
    if (bulk->command.verb == VERB_RELEASE)
        return (job->holds & HOLDS_RELEASED) != 0 ||
               (job->holds == 0 && api_command_backs_off(call, job));
    if (bulk->command.verb == VERB_HOLD)
        return (job->holds & HOLD_OPERATOR) == 0;
    return !job->cancel_asked || bulk->command.kill;
}

struct gathering {
    struct api_call *call;
    struct bulk *bulk;
    struct job_match match;
};

static bool bulk_visit(void *ctx, const struct job *job, struct err *err) {
    CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
    struct gathering *gathering = ctx;
    struct api_call *call = gathering->call;
    struct bulk *bulk = gathering->bulk;
    bool matches;

    if (!job_match_test(&gathering->match, call->api->options.store, job,
                        api_now(call), &arena, &matches, err))
        return false;
    if (!matches || !bulk_fits(call, bulk, job))
        return true;
    if (bulk->count == BULK_MOST)
        return err_set(err, ERR_REFUSED,
                       "more than %d jobs match; narrow the filter", BULK_MOST);
    if (bulk->count == bulk->cap) {
        bulk->cap = bulk->cap == 0 ? 256 : bulk->cap * 2;
        bulk->nums = mem_grow(bulk->nums, bulk->cap, sizeof *bulk->nums);
    }
    bulk->nums[bulk->count++] = job->num;
    return true;
}

static bool bulk_gather(struct api_call *call, struct bulk *bulk,
                        struct span filter, struct err *err) {
    struct gathering gathering = {.call = call, .bulk = bulk};
    struct store_list list = {.with_spec = true, .limit = API_PAGE};

    if (!job_match_parse(filter, &call->arena, &gathering.match, err))
        return false;
    list.states = gathering.match.states & verb_states(bulk->command.verb);
    return list.states == 0 || store_jobs_each(call->api->options.store, &list,
                                               bulk_visit, &gathering, err);
}

static void bulk_answer(struct api_call *call, bool dry) {
    struct bulk *bulk = call->state;
    struct json json;

    api_reply(call, 200, api_json);
    json_open(&json, &call->out);
    json_object(&json);
    json_key(&json, "verb");
    json_string(&json, api_command_words[bulk->command.verb]);
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
    struct store_batch *batch = api_batch(call);

    bulk->in_batch = 0;
    for (; bulk->at < bulk->count && bulk->in_batch < BULK_BATCH; bulk->at++) {
        struct err err = {0};
        if (store_job(store, bulk->nums[bulk->at], store_batch_arena(batch),
                      &bulk->command.job, &err) &&
            api_command_add(call, batch, &bulk->command, &err))
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
    static const char *const keys[] = {"verb",   "filter", "count", "dry_run",
                                       "reason", "kill",   NULL};
    struct bulk *bulk = arena_alloc(&call->arena, sizeof *bulk);
    struct json_value body, value;
    struct span verb, filter;
    bool dry;
    struct err err = {0};

    call->state = bulk;
    call->clear = bulk_clear;
    if (!api_body_object(call, keys, &body) ||
        !api_body_string(call, body, "verb", &verb) ||
        !api_body_string(call, body, "filter", &filter) ||
        !api_body_string(call, body, "reason", &bulk->command.because) ||
        !api_body_flag(call, body, "dry_run", &dry) ||
        !api_body_flag(call, body, "kill", &bulk->command.kill))
        return;
    unsigned i = 0;
    while (i < VERBS_OF_MANY && !span_is(verb, api_command_words[i]))
        i++;
    bulk->command.verb = (enum api_verb)i;
    int64_t expected = -1;
    if (i == VERBS_OF_MANY)
        err_set(&err, ERR_DATA,
                "'verb' must be cancel, retry, hold or release, not '%.*s'",
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
                "'count' is missing: the number of jobs that 'dry_run' "
                "reported");
    else if (bulk_gather(call, bulk, filter, &err) && !dry &&
             (uint64_t)expected != bulk->count)
        err_set(&err, ERR_REFUSED,
                "%zu jobs match now, not %" PRId64 "; nothing was done",
                bulk->count, expected);
    if (err.kind != ERR_NONE)
        api_fail(call, &err);
    else if (dry)
        bulk_answer(call, true);
    else
        bulk_next(call);
}
