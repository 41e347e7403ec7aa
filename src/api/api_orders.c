/* cancel, retry, hold, release: of one job, and of all that match a filter.
 *
 * An order is an operation on the registry that holds only for the state it
 * was made for. When the job has moved on meanwhile (another process, the
 * scheduler), the order is thought through again from what it is now. */
#include "api/api_order.h"
#include "api/api_handlers.h"

#include "api/job_json.h"
#include "scheduler/limbo.h"

enum { ORDER_TRIES = 20 };

const char *const order_words[VERBS] = {"cancel", "retry", "hold", "release"};

static bool refuse(struct err *err, const struct job *job, const char *why) {
    return err_set(err, ERR_REFUSED, "job '%.*s' %s", (int)job->id.len,
                   job->id.p, why);
}

/* What has ended, or is in the hands of a rollback, takes no order. */
static bool refuse_ended(struct api_call *call, const struct job *job,
                         struct err *err) {
    struct job rollback;
    bool ended;

    if (!limbo_look(call->api->options.store, job, &call->arena, &ended,
                    &rollback, err))
        return false;
    const char *why =
        ended ? arena_printf(&call->arena, "has ended already: %s",
                             job_state_word(job->state))
              : arena_printf(&call->arena,
                             "is abandoned by rollback '%.*s', which is not "
                             "over: try again then",
                             (int)rollback.id.len, rollback.id.p);
    return refuse(err, job, why);
}

static bool add_cancel(struct api_call *call, struct store_batch *batch,
                       struct api_order *order, struct err *err) {
    const struct job *job = &order->job;

    if (job_state_is_final(job->state))
        return refuse_ended(call, job, err);
    if (job->state == STATE_EXECUTING) {
        order->index =
            store_ask_cancel(batch, job->num, order->kill, order->because);
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
                      struct api_order *order, struct err *err) {
    const struct job *job = &order->job;

    if (job->kind == JOB_CHANGE && job->job_class == CLASS_RB)
        return refuse(err, job,
                      "is a rollback and keeps its end; hand in another one "
                      "with `rollback`");
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
                     struct api_order *order, struct err *err) {
    const struct job *job = &order->job;

    if (job_state_is_final(job->state))
        return refuse_ended(call, job, err);
    order->index = store_hold(batch, job->num, HOLD_OPERATOR, order->because);
    return true;
}

static bool add_release(struct store_batch *batch, struct api_order *order,
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

bool order_add(struct api_call *call, struct store_batch *batch,
               struct api_order *order, struct err *err) {
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
    struct api_order *order = call->state;
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
                order_words[order->verb]);
        api_fail(call, &late);
    } else if (!store_job(api->options.store, order->job.num, &call->arena,
                          &order->job, &late)) {
        api_fail(call, &late);
    } else {
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
    struct api_order *order = call->state;
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

static void order_begin(struct api_call *call, enum verb verb) {
    static const char *const keys[] = {"reason", "kill", NULL};
    struct api_order *order = arena_alloc(&call->arena, sizeof *order);
    struct json_value body;

    order->verb = verb;
    call->state = order;
    if (api_body_object(call, keys, &body) &&
        api_body_string(call, body, "reason", &order->because) &&
        api_body_flag(call, body, "kill", &order->kill))
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
