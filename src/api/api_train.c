/* Merge trains: what the role that runs work knows of them, and the commands on
 * recorded results. */
#include "api/api_call.h"
#include "api/api_handlers.h"

#include "base/base.h"
#include "scheduler/check_result.h"

static bool need_target(struct api_call *call) {
    const struct base *base = call->api->options.base;
    const struct config_target *target =
        base != NULL ? config_target(&base->config, call->params[0]) : NULL;
    struct err err = {0};
    if (target != NULL && target->git.len > 0)
        return true;
    err_set(&err, ERR_DATA, "there is no target '%.*s' with a git branch",
            (int)call->params[0].len, call->params[0].p);
    api_fail_status(call, 404, &err);
    return false;
}

void api_train(struct api_call *call) {
    static const char *const keys[] = {NULL};
    const struct api_roles *roles = call->api->options.roles;
    struct err err = {0};
    if (!api_query_check(call, keys) ||
        (call->params[0].len > 0 && !need_target(call)))
        return;
    if (roles == NULL || roles->train == NULL) {
        err_set(&err, ERR_UNAVAILABLE,
                "only a running server knows the merge trains; start "
                "`pointsman serve`");
        api_fail(call, &err);
        return;
    }
    if (!roles->train(roles->ctx, call->params[0], &call->out) &&
        call->params[0].len > 0) {
        err_set(&err, ERR_DATA,
                "target '%.*s' has no merge train: it has only one lane",
                (int)call->params[0].len, call->params[0].p);
        api_fail_status(call, 404, &err);
        return;
    }
    api_reply(call, 200, api_lines);
    api_end(call);
}

static void on_written(void *ctx, struct store_batch *batch, bool ok,
                       const struct err *err) {
    struct api_call *call = ctx;
    (void)batch;
    if (!api_unhold(call))
        return;
    if (!ok) {
        api_fail(call, err);
    } else {
        api_trigger(call->api);
        api_reply(call, 200, api_json);
        text_adds(&call->out, "{}\n");
        api_end(call);
    }
    api_poke(call);
}

static void change_results(struct api_call *call,
                           unsigned (*operation)(struct store_batch *batch,
                                                 struct span target)) {
    static const char *const none[] = {NULL};
    struct json_value object;
    if (!api_query_check(call, none) || !need_target(call) ||
        !api_body_object(call, none, &object))
        return;
    struct store_batch *batch = store_batch_new(call->api->options.store);
    store_batch_actor(batch, api_now(call), api_actor(call));
    operation(batch, call->params[0]);
    api_hold(call);
    store_submit(batch, on_written, call);
}

void api_train_recheck(struct api_call *call) {
    change_results(call, check_result_settle);
}

void api_train_forget(struct api_call *call) {
    change_results(call, check_result_forget);
}
