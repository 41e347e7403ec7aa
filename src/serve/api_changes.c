/* A change set handed in as a stream. The answer comes when its data and its
 * marker are on disk, or with the reason why they are not. */
#include "serve/api_call.h"

#include "base/log.h"
#include "serve/base.h"
#include "serve/intake.h"

struct handing {
    struct upload *upload;
    struct checker *checker; /* own one, where no role lends its own */
    bool finished;
};

static void handing_clear(struct api_call *call) {
    struct handing *handing = call->state;

    if (handing->upload != NULL && !handing->finished)
        upload_abort(handing->upload);
    checker_free(handing->checker);
}

static bool changes_take(struct api_call *call, struct span bytes,
                         struct err *err) {
    struct handing *handing = call->state;
    return upload_write(handing->upload, bytes, err);
}

/* Where no role runs the set is admitted here and now, so that the next
 * question finds it. It is durable in any case: trouble is told, no more. */
static void changes_admit(struct api_call *call) {
    struct handing *handing = call->state;
    struct base *base = call->api->options.base;
    struct err err = {0};

    if (handing->checker == NULL)
        base_trigger(base, "prequeue");
    else if (!prequeue_pass_alone(base, api_now(call), &err))
        log_warning("the set is taken in, but not admitted yet: %s", err.text);
}

static void changes_done(void *ctx, const struct upload_result *result) {
    struct api_call *call = ctx;
    struct json json;

    if (!api_unhold(call))
        return;
    if (!result->ok) {
        api_fail(call, result->err);
    } else {
        changes_admit(call);
        api_reply(call, result->again ? 200 : 201, api_json);
        json_open(&json, &call->out);
        json_object(&json);
        json_key(&json, "id");
        json_span(&json, result->id);
        json_key(&json, "name");
        json_span(&json, result->name);
        json_key(&json, "again");
        json_bool(&json, result->again);
        json_end(&json);
        text_addc(&call->out, '\n');
        api_end(call);
    }
    api_poke(call);
}

static void changes_finish(struct api_call *call) {
    struct handing *handing = call->state;
    struct api *api = call->api;

    if (handing->finished)
        return;
    handing->finished = true;
    struct checker *checker =
        api->options.roles == NULL ? NULL : api->options.roles->checker;
    if (checker == NULL)
        checker = handing->checker = checker_new(api->options.base, NULL, NULL);
    api_hold(call);
    upload_finish(handing->upload, checker, changes_done, call);
}

/* ?name= (of the file) &id= */
void api_changes(struct api_call *call) {
    static const char *const keys[] = {"name", "id", NULL};
    struct handing *handing = arena_alloc(&call->arena, sizeof *handing);
    struct api *api = call->api;
    struct err err = {0};

    if (!api_query_check(call, keys))
        return;
    if (api->options.base == NULL) {
        err_set(&err, ERR_UNAVAILABLE, "change sets cannot be taken in here");
        api_fail(call, &err);
        return;
    }
    struct intake_origin origin = {
        .now = api_now(call),
        .uid = call->request.actor.uid,
        .actor = api_actor(call),
        .cause = SPAN("person"),
        .host = span_of(api->options.base->host),
        .seed = api->options.seed + ++api->made * UINT64_C(0x9e3779b97f4a7c15),
    };
    call->state = handing;
    call->clear = handing_clear;
    if (!upload_open(api->options.base, api_query(call, "name"),
                     api_query(call, "id"), &origin, &handing->upload, &err)) {
        api_fail(call, &err);
        return;
    }
    call->take = changes_take;
    call->work = changes_finish;
}
