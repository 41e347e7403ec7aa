/* Submits a change set as a stream. The answer is sent when its data and its
 * marker are on disk and it is known by its id, or with the reason why not. */
#include "changes/change_request.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>

#include "api/api_call.h"
#include "lib/log.h"
#include "core/reason.h"
#include "os/clock.h"
#include "os/fd.h"
#include "base/base.h"
#include "changes/prequeue.h"
#include "changes/upload.h"

/* The process that has the role admits the set at once; if that process hangs,
 * the set is durable and the answer need not wait for it. */
enum { ADMISSION_MS = 10 * 1000, WHY_BYTES = 1024 };

struct handing {
    struct upload *upload;
    struct checker *checker; /* its own, if no role lends one */
    bool finished;
    struct span id, name;
    bool again;
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

/* If no role is running, the set is admitted right here, so that the next
 * request finds it. It is durable in any case: errors are only logged. */
static void changes_admit(struct api_call *call) {
    struct handing *handing = call->state;
    struct base *base = call->api->options.base;
    struct err err = {0};

    if (handing->checker == NULL)
        base_trigger(base, prequeue_role.name);
    else if (!prequeue_pass_alone(base, handing->checker, api_now(call), &err))
        log_warning("the set is stored, but not admitted yet: %s", err.text);
}

static void changes_answer(struct api_call *call) {
    struct handing *handing = call->state;
    struct json json;

    api_reply(call, handing->again ? 200 : 201, api_json);
    json_open(&json, &call->out);
    json_object(&json);
    json_key(&json, "id");
    json_span(&json, handing->id);
    json_key(&json, "name");
    json_span(&json, handing->name);
    json_key(&json, "again");
    json_bool(&json, handing->again);
    json_end(&json);
    text_addc(&call->out, '\n');
    api_end(call);
}

/* If two callers submit different sets under one id at once, both are told that
 * theirs is on disk; the scan rejects the second set. */
static bool was_rejected(const struct base *base, const char *name,
                         struct err *ret_why) {
    char path[NAME_MAX + 8], text[WHY_BYTES];
    struct stat st;

    if (fstatat(base->dirs[BASE_PREQUEUE], name, &st, AT_SYMLINK_NOFOLLOW) == 0)
        return false;
    snprintf(path, sizeof path, "%s.why", name);
    CLEANUP(fd_close)
    int fd = openat(base->dirs[BASE_REJECT], path,
                    O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof text);
    if (n <= 0)
        return false;
    struct span why = span_trim(span_make(text, (size_t)n));
    err_set(ret_why, ERR_REFUSED, "%.*s", (int)why.len, why.p);
    return true;
}

/* A server that is stopping leaves it to the next one. */
static bool is_serving(const struct api *api) {
    const struct api_roles *roles = api->options.roles;
    return roles == NULL || roles->ready == NULL ||
           roles->ready(roles->ctx, NULL);
}

/* This way the next request, by any caller, finds the set. */
static void changes_admitted(struct api_call *call) {
    CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
    struct handing *handing = call->state;
    struct api *api = call->api;
    struct job job;
    struct err err = {0};
    bool found = false;

    if (call->status != 0)
        return;
    if (!store_lookup(api->options.store, handing->id, &arena, &job, &found,
                      &err))
        log_warning("cannot determine whether '%.*s' is admitted: %s",
                    (int)handing->id.len, handing->id.p, err.text);
    bool late = clock_mono().ns >= call->deadline.ns || !is_serving(api);
    if (!found && err.kind == ERR_NONE && !late) {
        if (was_rejected(api->options.base, handing->name.p, &err))
            api_fail(call, &err);
        return;
    }
    changes_answer(call);
}

static void changes_done(void *ctx, const struct upload_result *result) {
    struct api_call *call = ctx;
    struct handing *handing = call->state;

    if (!api_unhold(call))
        return;
    if (!result->ok) {
        api_fail(call, result->err);
    } else {
        handing->id = arena_span(&call->arena, result->id);
        handing->name = span_of(arena_printf(
            &call->arena, "%.*s", (int)result->name.len, result->name.p));
        handing->again = result->again;
        call->deadline = mono_add_ms(clock_mono(), ADMISSION_MS);
        call->work = changes_admitted;
        api_watch(call, 0);
        changes_admit(call);
        changes_admitted(call);
        if (call->status == 0)
            api_turn_in(call, ADMISSION_MS + 1);
    }
    api_poke(call);
}

static void changes_finish(struct api_call *call) {
    struct handing *handing = call->state;

    if (handing->finished)
        return;
    handing->finished = true;
    struct checker *checker = checker_of_call(call, &handing->checker);
    api_hold(call);
    upload_finish(handing->upload, checker, changes_done, call);
}

/* ?name= (of the file) &id= */
void change_request_submit(struct api_call *call) {
    static const char *const keys[] = {"name", "id", NULL};
    struct handing *handing = arena_alloc(&call->arena, sizeof *handing);
    struct api *api = call->api;
    struct err err = {0};

    if (!api_query_check(call, keys))
        return;
    if (api->options.base == NULL) {
        err_set(&err, ERR_UNAVAILABLE, "change sets need a base");
        api_fail(call, &err);
        return;
    }
    struct origin origin = {
        .now = api_now(call),
        .uid = call->request.actor.uid,
        .actor = api_actor(call),
        .cause = SPAN(CAUSE_PERSON),
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
