/* A change set is approved either by the caller, in the caller's own name, or
 * by a signature, which is handled like a dropped file
 * (changes/prequeue_approval.c), whoever submits it. */
#include "changes/approval_request.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "api/api_call.h"
#include "lib/log.h"
#include "os/clock.h"
#include "os/dir.h"
#include "changes/approvals.h"
#include "changes/drop.h"
#include "changes/prequeue.h"
#include "api/job_json.h"
#include "changes/signature.h"
#include "scheduler/why.h"

enum { LOOK_MS = 20, LOOKED_INTO_MS = 60 * 1000, WHY_BYTES = 2048 };

struct approving {
    struct job job;
    struct span ticket;
    struct wall until;
    char name[256];    /* in prequeue/ */
    struct span lacks; /* the ticket that nobody has given, as a sentence */
};

static void note_ticket(struct api_call *call,
                        const struct approval_verdict *verdict) {
    struct approving *approving = call->state;
    CLEANUP(text_clear) struct text text = TEXT_INIT;
    if (!verdict->lacks_ticket)
        return;
    approval_describe(verdict, &text);
    approving->lacks = arena_span(&call->arena, text_span(&text));
}

/* The job, and `lacks_ticket` if it waits for one. */
static void answer(struct api_call *call, const struct job *job) {
    const struct approving *approving = call->state;
    struct json json;
    api_reply(call, 200, api_json);
    json_open(&json, &call->out);
    json_object(&json);
    job_json_members(&json, job, &call->arena);
    if (approving->lacks.len > 0) {
        json_key(&json, "lacks_ticket");
        json_span(&json, approving->lacks);
    }
    json_end(&json);
    text_addc(&call->out, '\n');
    api_end(call);
}

static void answer_reread(struct api_call *call, struct job *job) {
    struct err err = {0};
    if (!store_job(call->api->options.store, job->num, &call->arena, job, &err))
        api_fail(call, &err);
    else
        answer(call, job);
}

/* ---- by the caller ------------------------------------------------------- */

static void approve_done(void *ctx, struct store_batch *batch, bool ok,
                         const struct err *err) {
    struct api_call *call = ctx;
    (void)batch;
    if (!api_unhold(call))
        return;
    struct approving *approving = call->state;
    if (!ok) {
        api_fail(call, err);
    } else {
        api_trigger(call->api);
        answer_reread(call, &approving->job);
    }
    api_poke(call);
}

static void approve_word(struct api_call *call, struct span because) {
    const struct base *base = call->api->options.base;
    struct store *store = call->api->options.store;
    struct approving *approving = call->state;
    struct job *job = &approving->job;
    struct approval_state state;
    struct err err = {0};
    struct span person = call->request.actor.person, alias = {0};
    if (person.len > 0)
        alias = approvals_alias(base, person, &call->arena);
    struct approval_given word = {.who = access_actor_name(api_actor(call)),
                                  .alias = alias,
                                  .is_operator = call->request.actor.role >=
                                                 ACCESS_OPERATOR,
                                  .ticket = approving->ticket,
                                  .until = approving->until,
                                  .at = api_now(call)};
    if (!approvals_read(base, store, job, &word, word.at, &call->arena, &state,
                        &err) ||
        !approvals_may(job, &word, &state, &err)) {
        api_fail(call, &err);
        return;
    }
    note_ticket(call, &state.verdict);
    if (state.said) {
        answer(call, job);
        return;
    }
    struct store_batch *batch = api_batch(call);
    approvals_give(batch, job, &word, &state, because);
    api_hold(call);
    store_submit(batch, approve_done, call);
}

/* ---- by a signature ------------------------------------------------------ */

/* The line of reject/NAME.why: "WORD: sentence (NAME)". */
static bool was_rejected(const struct base *base, const char *name,
                         struct arena *arena, struct err *ret_why) {
    CLEANUP(text_clear) struct text path = TEXT_INIT, line = TEXT_INIT;
    text_addf(&path, "%s.why", name);
    if (!dir_read(base->dirs[BASE_REJECT], text_string(&path), WHY_BYTES, &line,
                  NULL))
        return false;
    struct span why = span_trim(text_span(&line)), first = {0};
    const char *end = arena_printf(arena, " (%s)", name);
    if (span_cut(&why, '\n', &first) && span_ends(first, end))
        first.len -= strlen(end);
    why = first;
    bool denied = span_starts(why, "own-set:") || span_starts(why, "no-role:");
    err_set(ret_why, denied ? ERR_DENIED : ERR_REFUSED, "%.*s", (int)why.len,
            why.p);
    return true;
}

static bool is_waiting(const struct base *base, const char *name) {
    struct stat st;
    return fstatat(base->dirs[BASE_PREQUEUE], name, &st, AT_SYMLINK_NOFOLLOW) ==
           0;
}

static void signed_work(struct api_call *call) {
    const struct base *base = call->api->options.base;
    struct approving *approving = call->state;
    struct err err = {0};
    if (call->status != 0)
        return;
    if (is_waiting(base, approving->name)) {
        if (clock_mono().ns < call->deadline.ns) {
            api_turn_in(call, LOOK_MS);
            return;
        }
        err_set(&err, ERR_BUSY,
                "the approval of '%.*s' is stored, but not checked yet; "
                "`pointsman history` will show the result",
                (int)approving->job.id.len, approving->job.id.p);
    } else {
        (void)was_rejected(base, approving->name, &call->arena, &err);
    }
    if (err.kind != ERR_NONE) {
        api_fail(call, &err);
        return;
    }
    struct approval_state state;
    if (!approvals_read(base, call->api->options.store, &approving->job, NULL,
                        api_now(call), &call->arena, &state, &err)) {
        api_fail(call, &err);
        return;
    }
    note_ticket(call, &state.verdict);
    answer_reread(call, &approving->job);
}

/* Errors that can be seen at once are reported at once and leave nothing
 * behind. A text without a signature would count as an approval by the
 * service's user. */
static bool read_signed(struct api_call *call, struct span bytes,
                        struct approval_file *ret_file, struct err *err) {
    struct ruling_why why;
    if (!approval_file_parse(bytes, ret_file, err))
        return false;
    if (ret_file->signature.len == 0)
        return err_set(err, ERR_DATA, "it has no signature");
    if (!approvals_in_time(&ret_file->approval, api_now(call), &why))
        return err_set(err, ERR_REFUSED, "%s: %s", why.word, why.text);
    return signature_possible(err);
}

static bool drop(struct api_call *call, struct span csid, struct span bytes,
                 char name[256]) {
    struct err err = {0};
    if (drop_approval(call->api->options.base, csid, bytes, name, &err))
        return true;
    api_fail(call, &err);
    return false;
}

static void approve_signed(struct api_call *call, struct span bytes) {
    const struct api_roles *roles = call->api->options.roles;
    struct base *base = call->api->options.base;
    struct approving *approving = call->state;
    struct approval_text ours;
    struct approval_file file;
    struct ruling_why why;
    struct err err = {0};
    if (!read_signed(call, bytes, &file, &err) ||
        !approvals_text(base, &approving->job, &call->arena, &ours, &err)) {
        api_fail(call, &err);
        return;
    }
    const char *fault = approvals_fault(base, &call->arena);
    if (fault != NULL) {
        err_set(&err, ERR_UNAVAILABLE, "no approval counts: %s", fault);
        api_fail(call, &err);
        return;
    }
    if (!approvals_match(&ours, &file.approval, &why)) {
        err_set(&err, ERR_REFUSED, "%s: %s", why.word, why.text);
        api_fail(call, &err);
        return;
    }
    if (!drop(call, approving->job.id, bytes, approving->name))
        return;
    if (roles == NULL || roles->checker == NULL) {
        if (!prequeue_pass_alone(base, NULL, api_now(call), &err))
            log_warning("an approval is stored, but not checked yet: %s",
                        err.text);
    } else {
        base_trigger(base, prequeue_role.name);
    }
    call->deadline = mono_add_ms(clock_mono(), LOOKED_INTO_MS);
    call->work = signed_work;
    signed_work(call);
}

/* {"ticket": "...", "reason": "...", "expires": "7d"}, or {"signed": "TEXT AND
 * SIGNATURE"}. */
void approval_request_approve(struct api_call *call) {
    static const char *const keys[] = {"reason", "ticket", "expires", "signed",
                                       NULL};
    struct approving *approving = arena_alloc(&call->arena, sizeof(*approving));
    struct json_value body;
    struct span because = {0}, expires = {0}, bytes = {0};
    struct err err = {0};
    call->state = approving;
    if (!api_body_object(call, keys, &body) ||
        !api_body_string(call, body, "reason", &because) ||
        !api_body_string(call, body, "ticket", &approving->ticket) ||
        !api_body_string(call, body, "expires", &expires) ||
        !api_body_string(call, body, "signed", &bytes) ||
        !api_job(call, &approving->job))
        return;
    if (!call->api->options.base ||
        !job_has(&approving->job, JOB_CAN_BE_APPROVED))
        err_set(&err, ERR_REFUSED,
                "'%.*s' is not a change set: only change sets can be approved",
                (int)approving->job.id.len, approving->job.id.p);
    else if (approving->ticket.len > 0 &&
             !approval_ticket_is_valid(approving->ticket))
        err_set(&err, ERR_DATA,
                "a ticket must be one line of at most %d printable bytes",
                APPROVAL_TICKET_BYTES);
    else
        (void)approval_expires_parse(expires, api_now(call), &approving->until,
                                     &err);
    if (err.kind != ERR_NONE)
        api_fail(call, &err);
    else if (bytes.p != NULL)
        approve_signed(call, bytes);
    else
        approve_word(call, because);
}

/* {"signed": "TEXT AND SIGNATURE"}: kept until the set it is for arrives. */
void approval_request_give(struct api_call *call) {
    static const char *const keys[] = {"signed", NULL};
    struct json_value body;
    struct approval_file file;
    struct span bytes = {0};
    struct err err = {0};
    struct json json;
    char name[256];
    if (!api_body_object(call, keys, &body) ||
        !api_body_string(call, body, "signed", &bytes))
        return;
    if (!call->api->options.base)
        err_set(&err, ERR_UNAVAILABLE, "approvals need a base");
    else
        (void)read_signed(call, bytes, &file, &err);
    if (err.kind != ERR_NONE) {
        api_fail(call, &err);
        return;
    }
    if (!drop(call, file.approval.csid, bytes, name))
        return;
    base_trigger(call->api->options.base, prequeue_role.name);
    api_reply(call, 201, api_json);
    json_open(&json, &call->out);
    json_object(&json);
    json_key(&json, "id");
    json_span(&json, file.approval.csid);
    json_key(&json, "name");
    json_string(&json, name);
    json_end(&json);
    text_addc(&call->out, '\n');
    api_end(call);
}

/* ---- the text to be signed ----------------------------------------------- */

/* ?by= &expires= &ticket= */
void approval_request_show(struct api_call *call) {
    static const char *const keys[] = {"by", "expires", "ticket", NULL};
    const struct base *base = call->api->options.base;
    struct approval_text text, again;
    struct job job;
    struct err err = {0};
    if (!api_query_check(call, keys) || !api_job(call, &job))
        return;
    if (!base || !job_has(&job, JOB_CAN_BE_APPROVED))
        err_set(&err, ERR_REFUSED,
                "'%.*s' is not a change set: only change sets can be approved",
                (int)job.id.len, job.id.p);
    else if (approvals_text(base, &job, &call->arena, &text, &err))
        (void)approval_text_fill(
            &text, api_query(call, "by"), api_query(call, "ticket"),
            api_query(call, "expires"), api_now(call), &err);
    if (err.kind != ERR_NONE) {
        api_fail(call, &err);
        return;
    }
    api_reply(call, 200, api_text);
    approval_text_format(&text, &call->out);
    if (!approval_text_parse(text_span(&call->out), &again, &err)) {
        api_fail(call, &err);
        return;
    }
    api_end(call);
}

/* ---- why -------------------------------------------------------------------
 */

/* Explains what is missing from an approval that the set waits for. */
static bool why_approval(struct api_call *call, const struct job *job,
                         struct why *why) {
    struct approval_state state;
    struct err err = {0};
    CLEANUP(text_clear) struct text text = TEXT_INIT;
    if (!call->api->options.base)
        return true;
    if (!approvals_read(call->api->options.base, call->api->options.store, job,
                        NULL, api_now(call), &call->arena, &state, &err)) {
        api_fail(call, &err);
        return false;
    }
    if (state.verdict.policy == NULL)
        return true;
    approval_describe(&state.verdict, &text);
    why_add_text(why, "approval", text_span(&text));
    return true;
}

static void add_owed(struct why *why, const struct approval_verdict *verdict,
                     struct wall owed, struct wall now) {
    char until[WALL_TEXT_BYTES];
    CLEANUP(text_clear) struct text text = TEXT_INIT;
    if (verdict != NULL)
        approval_describe(verdict, &text);
    else
        text_adds(&text, "an approval");
    text_addf(&text, ", owed until %s%s", wall_format(owed, until),
              owed.ns <= now.ns ? ": overdue" : "");
    why_add_text(why, "owed", text_span(&text));
}

/* Explains the approvals that the set still owes, whatever its state. */
static bool why_owed(struct api_call *call, const struct job *job,
                     struct why *why) {
    struct approval_state state;
    struct err err = {0};
    struct wall now = api_now(call);
    if (job->owed.ns == 0 || !call->api->options.base)
        return true;
    if (!approvals_read(call->api->options.base, call->api->options.store, job,
                        NULL, now, &call->arena, &state, &err)) {
        api_fail(call, &err);
        return false;
    }
    for (size_t i = 0; i < state.owed_count; i++)
        add_owed(why, &state.owed[i].verdict, state.owed[i].until, now);
    if (state.owed_count == 0)
        add_owed(why, NULL, job->owed, now);
    return true;
}

bool approval_request_explain(struct api_call *call, const struct job *job,
                              bool waits, struct why *why) {
    bool awaited = waits && (job->holds & HOLD_APPROVAL);
    return (!awaited || why_approval(call, job, why)) &&
           why_owed(call, job, why);
}
