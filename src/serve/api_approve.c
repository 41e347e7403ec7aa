/* Somebody approves a change set. */
#include "serve/api_call.h"

#include "serve/approvals.h"
#include "serve/job_json.h"

struct approving {
    struct job job;
    struct span ticket;
};

static void answer(struct api_call *call, const struct job *job) {
    struct json json;
    api_reply(call, 200, api_json);
    json_open(&json, &call->out);
    job_json(&json, job, &call->arena);
    text_addc(&call->out, '\n');
    api_end(call);
}

static void approve_done(void *ctx, struct store_batch *batch, bool ok,
                         const struct err *err) {
    struct api_call *call = ctx;
    struct approving *approving;
    struct err late = {0};
    (void)batch;
    if (!api_unhold(call))
        return;
    approving = call->state;
    if (!ok) {
        api_fail(call, err);
    } else if (!store_job(call->api->options.store, approving->job.num,
                          &call->arena, &approving->job, &late)) {
        api_fail(call, &late);
    } else {
        api_trigger(call->api);
        answer(call, &approving->job);
    }
    api_poke(call);
}

/* Why not; true: he may. */
static bool may_approve(const struct job *job, struct span actor,
                        const struct approval_state *state, struct err *err) {
    bool ended = job_state_is_final(job->state) && job->state != STATE_DONE;
    if (ended)
        return err_set(err, ERR_REFUSED, "job '%.*s' has ended already: %s",
                       (int)job->id.len, job->id.p, job_state_word(job->state));
    if (state->verdict.outcome == APPROVAL_FREE)
        return err_set(err, ERR_REFUSED,
                       "no policy asks for an approval of "
                       "'%.*s'",
                       (int)job->id.len, job->id.p);
    if (span_equal(job->actor, actor))
        return err_set(err, ERR_DENIED,
                       "'%.*s' is a set of your own: somebody else has to "
                       "approve it",
                       (int)job->id.len, job->id.p);
    return state->may ||
           err_set(err, ERR_DENIED, "%.*s has no role that may approve '%.*s'",
                   (int)actor.len, actor.p, (int)job->id.len, job->id.p);
}

/* {"ticket": "...", "reason": "..."} */
void api_approve(struct api_call *call) {
    static const char *const keys[] = {"reason", "ticket", NULL};
    const struct base *base = call->api->options.base;
    struct store *store = call->api->options.store;
    struct approving *approving = arena_alloc(&call->arena, sizeof(*approving));
    struct approval_state state;
    struct json_value body;
    struct span because = {0};
    struct err err = {0};
    struct job *job = &approving->job;

    if (!api_body_object(call, keys, &body) ||
        !api_body_string(call, body, "reason", &because) ||
        !api_body_string(call, body, "ticket", &approving->ticket) ||
        !api_job(call, job))
        return;
    bool is_operator =
        base && call->request.actor.known &&
        approvals_is_operator(base, (uint32_t)call->request.actor.uid);
    struct approval_given word = {.who = api_actor(call),
                                  .is_operator = is_operator,
                                  .ticket = approving->ticket,
                                  .at = api_now(call)};
    if (!base || job->kind != JOB_CHANGE)
        err_set(&err, ERR_REFUSED,
                "'%.*s' is no change set: only those are "
                "approved",
                (int)job->id.len, job->id.p);
    else if (approvals_read(base, store, job, &word, word.at, &call->arena,
                            &state, &err))
        (void)may_approve(job, word.who, &state, &err);
    if (err.kind != ERR_NONE) {
        api_fail(call, &err);
        return;
    }
    if (state.said) {
        answer(call, job);
        return;
    }
    struct store_batch *batch = store_batch_new(store);
    store_batch_actor(batch, word.at, word.who);
    store_note(batch, EVENT_APPROVED, job->num, SPAN(""),
               is_operator ? SPAN("operator") : SPAN("person"),
               approving->ticket);
    if ((job->holds & HOLD_APPROVAL) && state.verdict.outcome <= APPROVAL_LATE)
        store_release(batch, job->num, HOLD_APPROVAL,
                      because.len > 0 ? because : SPAN("approved"));
    call->state = approving;
    api_hold(call);
    store_submit(batch, approve_done, call);
}
