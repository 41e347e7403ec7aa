#include "commands/command_request.h"

#include <stdlib.h>

#include "api/api_call.h"
#include "core/reason.h"
#include "os/sum.h"
#include "base/base.h"
#include "commands/command_admit.h"
#include "commands/command_kind.h"
#include "commands/template_expand.h"
#include "api/job_json.h"
#include "wire/submission.h"

/* The answer to one submission, alone or as part of a batch. */
struct answer {
    struct span text; /* as received */
    struct err err;   /* rejected before it reached the store */
    struct span id;   /* id of the job; at first in the batch's arena */
    unsigned index;   /* for store_batch_result */
    enum store_result result;
    uint64_t seq; /* of its event */
    bool refused;
};

struct admission {
    struct answer *answers;
    size_t count;
    bool lines; /* a batch: each answer is a line */
};

static struct origin origin_of(struct api_call *call) {
    struct api *api = call->api;

    return (struct origin){
        .now = api_now(call),
        .uid = call->request.actor.uid,
        .actor = api_actor(call),
        .cause = span_is(api_query(call, "cause"), CAUSE_RUN)
                     ? SPAN(CAUSE_RUN)
                     : SPAN(CAUSE_PERSON),
        .host = api->options.base == NULL ? SPAN("localhost")
                                          : span_of(api->options.base->host),
        .seed = api->options.seed + ++api->made * UINT64_C(0x9e3779b97f4a7c15),
    };
}

/* The same key from the same caller gives the same id, so that a request that
 * is repeated because its answer was lost is the same job. */
static struct span id_of_key(struct api_call *call) {
    struct span key = call->request.idempotency_key;
    char sum[SUM_TEXT_BYTES], id[ID_TEXT_BYTES];
    unsigned char ten[10];

    struct span person = call->request.actor.person;
    sum_bytes(
        span_of(arena_printf(&call->arena, "%u%.*s %.*s",
                             (unsigned)call->request.actor.uid, (int)person.len,
                             person.p, (int)key.len, key.p)),
        sum);
    for (size_t i = 0; i < sizeof(ten); i++) {
        char pair[3] = {sum[2 * i], sum[2 * i + 1], '\0'};
        ten[i] = (unsigned char)strtoul(pair, NULL, 16);
    }
    sum_format_id(ten, id);
    return span_of(arena_string(&call->arena, span_of(id)));
}

static bool read_submission(struct api_call *call, struct span text,
                            struct submission *ret_submission,
                            struct err *err) {
    struct admission *admission = call->state;

    if (!submission_parse(text, SUBMISSION_BODY, &call->arena, ret_submission,
                          err))
        return false;
    if (ret_submission->id.len == 0 && !admission->lines &&
        call->request.idempotency_key.len > 0)
        ret_submission->id = id_of_key(call);
    return template_expand(call->api->options.base, &call->request.actor,
                           ret_submission, &call->arena, err);
}

/* Reads one submission and adds it to the batch. */
static void admit(struct api_call *call, struct store_batch *batch,
                  struct span text, struct answer *answer) {
    struct submission submission;
    struct origin origin = origin_of(call);

    answer->text = text;
    answer->refused =
        !api_has_account(call, &answer->err) ||
        !read_submission(call, text, &submission, &answer->err) ||
        !submission_check_node(&submission, &answer->err) ||
        !command_admit(batch, call->api->options.base, &submission, &origin,
                       &answer->index, &answer->id, &answer->err);
}

/* True if the job with this id is the same submission, which has ended
 * meanwhile. */
static bool is_same_job(struct api_call *call, struct span text,
                        struct span id) {
    CLEANUP(text_clear) struct text spec = TEXT_INIT;
    struct submission submission;
    struct job job;
    bool found;

    if (!store_lookup(call->api->options.store, id, &call->arena, &job, &found,
                      NULL) ||
        !found || job.kind != COMMAND_KIND ||
        !read_submission(call, text, &submission, NULL))
        return false;
    submission_format(&submission, &spec);
    return span_equal(text_span(&spec), job.spec);
}

/* Fills in the result. The same submission again is the same job, whatever has
 * happened to it since. */
static void answer_result(struct api_call *call,
                          const struct store_batch *batch,
                          struct answer *answer) {
    answer->result = store_batch_result(batch, answer->index);
    answer->seq = store_batch_seq(batch, answer->index);
    answer->id = arena_span(&call->arena, answer->id);
    if (answer->result == STORE_DONE || answer->result == STORE_SAME)
        return;
    if (answer->result == STORE_DUPLICATE &&
        is_same_job(call, answer->text, answer->id)) {
        answer->result = STORE_SAME;
        return;
    }
    answer->refused = true;
    err_set(&answer->err, ERR_REFUSED,
            "id '%.*s' belongs to another job; choose another one",
            (int)answer->id.len, answer->id.p);
}

static void answer_one(struct api_call *call) {
    const struct admission *admission = call->state;
    const struct answer *answer = &admission->answers[0];
    struct json json;

    if (answer->refused) {
        api_fail(call, &answer->err);
        return;
    }
    api_reply(call, answer->result == STORE_DONE ? 201 : 200, api_json);
    json_open(&json, &call->out);
    json_object(&json);
    json_key(&json, "id");
    json_span(&json, answer->id);
    json_key(&json, "seq");
    json_u64_string(&json, answer->seq);
    json_key(&json, "again");
    json_bool(&json, answer->result == STORE_SAME);
    json_end(&json);
    text_addc(&call->out, '\n');
    api_end(call);
}

static void answer_line(struct api_call *call, const struct store_batch *batch,
                        struct answer *answer) {
    struct json json;

    if (!answer->refused)
        answer_result(call, batch, answer);
    json_open(&json, &call->out);
    json_object(&json);
    if (answer->refused) {
        json_key(&json, "error");
        json_string(&json, answer->err.text);
        json_key(&json, "kind");
        json_string(&json, err_name(answer->err.kind));
    } else {
        json_key(&json, "id");
        json_span(&json, answer->id);
    }
    json_end(&json);
    text_addc(&call->out, '\n');
}

static void noted(void *ctx, struct store_batch *batch, bool ok,
                  const struct err *err) {
    struct api_call *call = ctx;

    (void)batch;
    if (!api_unhold(call))
        return;
    if (ok)
        answer_one(call);
    else
        api_fail(call, err);
    if (ok)
        api_trigger(call->api);
    api_poke(call);
}

/* A job that somebody submitted before is not new, so the process that hosts
 * what a `run` waits for (P13) learns of this `run` only by an event. False: no
 * event is needed. */
static bool note_wanted(struct api_call *call) {
    const struct admission *admission = call->state;
    const struct answer *answer = &admission->answers[0];
    struct store *store = call->api->options.store;
    struct job job;
    bool found;

    if (answer->refused || answer->result != STORE_SAME ||
        !span_is(api_query(call, "cause"), CAUSE_RUN) ||
        !store_lookup(store, answer->id, &call->arena, &job, &found, NULL) ||
        !found || job_state_is_final(job.state))
        return false;
    struct store_batch *batch = store_batch_new(store);
    store_batch_actor(batch, api_now(call), api_actor(call));
    store_note(batch, EVENT_WANTED, job.num, job.id, SPAN(CAUSE_RUN), SPAN(""));
    api_hold(call);
    store_submit(batch, noted, call);
    return true;
}

static void admitted(void *ctx, struct store_batch *batch, bool ok,
                     const struct err *err) {
    struct api_call *call = ctx;

    if (!api_unhold(call))
        return;
    struct admission *admission = call->state;
    if (!ok) {
        api_fail(call, err);
    } else if (!admission->lines) {
        answer_result(call, batch, &admission->answers[0]);
        if (note_wanted(call))
            return;
        answer_one(call);
    } else {
        api_reply(call, 200, api_lines);
        for (size_t i = 0; i < admission->count; i++)
            answer_line(call, batch, &admission->answers[i]);
        api_end(call);
    }
    if (ok)
        api_trigger(call->api);
    api_poke(call);
}

static struct store_batch *batch_of(struct api_call *call, size_t answers) {
    struct api *api = call->api;
    struct store_batch *batch = store_batch_new(api->options.store);
    struct admission *admission = arena_alloc(&call->arena, sizeof *admission);

    admission->answers =
        arena_alloc(&call->arena, answers * sizeof *admission->answers);
    call->state = admission;
    store_batch_actor(batch, api_now(call), api_actor(call));
    /* Where most submissions come from is of no interest, and costs space. */
    if (call->request.actor.place == ACCESS_IN_JOB)
        store_batch_from(batch, api_from(call, &call->arena));
    return batch;
}

/* ?cause=run: from a `run` that waits for it, which changes the meaning of a
 * temporary answer (doc/design/processes.md, P11). */
void command_request_submit(struct api_call *call) {
    struct store_batch *batch = batch_of(call, 1);
    struct admission *admission = call->state;

    admission->count = 1;
    admit(call, batch, text_span(&call->body), &admission->answers[0]);
    if (admission->answers[0].refused) {
        store_batch_free(batch);
        api_fail(call, &admission->answers[0].err);
        return;
    }
    api_hold(call);
    store_submit(batch, admitted, call);
}

void command_request_batch(struct api_call *call) {
    struct span rest = text_span(&call->body), line;
    size_t lines = 1;

    for (size_t i = 0; i < rest.len; i++)
        lines += rest.p[i] == '\n';
    struct store_batch *batch = batch_of(call, lines);
    struct admission *admission = call->state;
    admission->lines = true;
    /* An empty line gets an answer too, or answers would not match the
     * lines. */
    while (rest.len > 0 && span_cut(&rest, '\n', &line))
        admit(call, batch, span_trim(line),
              &admission->answers[admission->count++]);
    if (store_batch_count(batch) == 0) {
        store_batch_free(batch);
        api_reply(call, 200, api_lines);
        for (size_t i = 0; i < admission->count; i++)
            answer_line(call, NULL, &admission->answers[i]);
        api_end(call);
        return;
    }
    api_hold(call);
    store_submit(batch, admitted, call);
}
