#include "toy/toy_request.h"

#include "api/api_call.h"
#include "base/base.h"
#include "core/event_facts.h"
#include "core/reason.h"
#include "toy/toy_admit.h"
#include "toy/toy_row.h"

/* ---- winding up ---------------------------------------------------------- */

static void admitted(void *ctx, struct store_batch *batch, bool ok,
                     const struct err *err) {
    struct api_call *call = ctx;
    struct err taken = {0};
    struct json json;
    if (!api_unhold(call))
        return;
    if (!ok) {
        api_fail(call, err);
    } else if (store_batch_result(batch, 0) != STORE_DONE) {
        err_set(&taken, ERR_REFUSED, "toy '%.*s' has been wound up already",
                (int)call->params[0].len, call->params[0].p);
        api_fail(call, &taken);
    } else {
        api_reply(call, 201, api_json);
        json_open(&json, &call->out);
        json_object(&json);
        json_key(&json, "id");
        json_span(&json, toy_id(call->params[0], &call->arena));
        json_end(&json);
        api_end(call);
        api_trigger(call->api);
    }
    api_poke(call);
}

void toy_request_wind(struct api_call *call) {
    static const char *const keys[] = {NULL};
    struct api *api = call->api;
    struct json_value body;
    struct err err = {0};
    if (!api_query_check(call, keys) || !api_body_object(call, keys, &body))
        return;
    if (!toy_name_check(call->params[0], &err)) {
        api_fail(call, &err);
        return;
    }
    struct store_batch *batch = store_batch_new(api->options.store);
    struct origin origin = {
        .now = api_now(call),
        .uid = call->request.actor.uid,
        .actor = api_actor(call),
        .cause = SPAN(CAUSE_PERSON),
        .host = api->options.base == NULL ? SPAN("localhost")
                                          : span_of(api->options.base->host),
    };
    store_batch_actor(batch, origin.now, origin.actor);
    toy_admit(batch, call->params[0], &origin);
    api_hold(call);
    store_submit(batch, admitted, call);
}

/* ---- listing ------------------------------------------------------------- */

/* What the toy said, as its event records it; empty: nothing yet. */
static bool find_sound(struct api_call *call, uint64_t num,
                       struct span *ret_sound, struct err *err) {
    struct store_event *events;
    struct event_facts facts;
    size_t count;
    *ret_sound = SPAN("");
    if (!store_events(call->api->options.store, 0, num, 0, &call->arena,
                      &events, &count, err))
        return false;
    for (size_t i = 0; i < count; i++)
        if (events[i].kind == EVENT_SQUEAK &&
            event_facts_parse(events[i].facts, &call->arena, &facts))
            *ret_sound = facts.sound;
    return true;
}

static bool add_line(struct api_call *call, const struct toy_row *row,
                     struct err *err) {
    struct span sound;
    struct json json;
    if (!find_sound(call, row->num, &sound, err))
        return false;
    json_open(&json, &call->out);
    json_object(&json);
    json_key(&json, "name");
    json_span(&json, row->name);
    json_key(&json, "squeaked");
    json_bool(&json, row->squeaked);
    json_key(&json, "sound");
    json_span(&json, sound);
    json_end(&json);
    text_addc(&call->out, '\n');
    return true;
}

void toy_request_list(struct api_call *call) {
    static const char *const keys[] = {NULL};
    struct toy_row *rows;
    size_t count = 0;
    struct err err = {0};
    if (!api_query_check(call, keys))
        return;
    bool ok = toy_row_list(call->api->options.store, false, &call->arena, &rows,
                           &count, &err);
    api_reply(call, 200, api_lines);
    for (size_t i = 0; ok && i < count; i++)
        ok = add_line(call, &rows[i], &err);
    if (ok)
        api_end(call);
    else
        api_fail(call, &err);
}
