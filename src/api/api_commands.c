/* cancel, retry, hold, release, limit: of one job.
 *
 * A command is an operation on the registry that is valid only for the state
 * it was made for. If the job has moved on meanwhile (another process, the
 * scheduler), the operation is made again for the job's present state. */
#include "api/api_command.h"
#include "api/api_handlers.h"

#include "core/outage.h"
#include "core/reason.h"
#include "api/job_json.h"
#include "scheduler/rollback_status.h"
#include "scheduler/work_kind.h"
#include "wire/submission.h"

enum { COMMAND_TRIES = 20 };

const char *const api_command_words[VERBS] = {"cancel", "retry", "hold",
                                              "release", "limit"};

static bool refuse(struct err *err, const struct job *job, const char *why) {
    return err_set(err, ERR_REFUSED, "job '%.*s' %s", (int)job->id.len,
                   job->id.p, why);
}

/* A job that has ended, or that a rollback holds, accepts no command. */
static bool refuse_ended(struct api_call *call, const struct job *job,
                         struct err *err) {
    struct job rollback;
    bool ended;

    if (!rollback_status_of(call->api->options.store, job, &call->arena, &ended,
                            &rollback, err))
        return false;
    const char *why =
        ended ? arena_printf(&call->arena, "has ended already: %s",
                             job_state_word(job->state))
              : arena_printf(&call->arena,
                             "was abandoned by rollback '%.*s', which has not "
                             "ended; try again when it has",
                             (int)rollback.id.len, rollback.id.p);
    return refuse(err, job, why);
}

static bool add_cancel(struct api_call *call, struct store_batch *batch,
                       struct api_command *command, struct err *err) {
    const struct job *job = &command->job;
    const struct work_kind *kind =
        work_kind_find(call->api->options.tables->kinds, job, err);

    if (kind == NULL)
        return false;
    if (job_state_is_final(job->state))
        return refuse_ended(call, job, err);
    if (kind->refuse_cancel != NULL)
        return refuse(err, job, kind->refuse_cancel(job, &call->arena));
    if (job->state == STATE_EXECUTING) {
        command->index =
            store_ask_cancel(batch, job->num, command->kill, command->because);
        return true;
    }
    command->index =
        store_move(batch, &(struct store_move){.num = job->num,
                                               .from = job->state,
                                               .to = STATE_TERMINATED,
                                               .reason = SPAN(REASON_OPERATOR),
                                               .detail = command->because});
    return true;
}

/* Refuses if tasks that did not fail would run too: those that a cancelled
 * array has not run. */
static bool check_failed_only(const struct job *job,
                              const struct store_task *tasks, size_t count,
                              struct err *err) {
    size_t failed = 0, others = 0;
    for (size_t i = 0; i < count; i++) {
        failed += tasks[i].status == TASK_FAILED;
        others +=
            tasks[i].status != TASK_FAILED && tasks[i].status != TASK_DONE;
    }
    if (others > 0)
        return err_set(err, ERR_REFUSED,
                       "job '%.*s' ended before %zu of its tasks ran; retry it "
                       "without --failed to run these too",
                       (int)job->id.len, job->id.p, others);
    return failed > 0 || job->state == STATE_FAILED ||
           refuse(err, job, "has no task that failed");
}

/* For an array, the tasks that are not done start again. */
static bool add_retried_tasks(struct api_call *call, struct store_batch *batch,
                              const struct api_command *command,
                              struct err *err) {
    const struct job *job = &command->job;
    struct store_task *tasks;
    size_t count = 0;

    if (job->tasks <= 1)
        return !command->failed || check_failed_only(job, NULL, 0, err);
    if (!store_tasks(call->api->options.store, job->num, &call->arena, &tasks,
                     &count, err) ||
        (command->failed && !check_failed_only(job, tasks, count, err)))
        return false;
    for (size_t i = 0; i < count; i++)
        if (tasks[i].status != TASK_DONE &&
            (tasks[i].status != TASK_UNSTARTED || tasks[i].attempt > 0))
            (void)store_task_set(batch, job->num, tasks[i].node, TASK_UNSTARTED,
                                 (struct wall){0});
    return true;
}

bool api_command_backs_off(const struct api_call *call, const struct job *job) {
    return job->state == STATE_PENDING &&
           (job->not_before.ns > api_now(call).ns || outage_shows(job));
}

/* True if nothing but time keeps the job, or a task of it, from being tried
 * again. */
static bool backs_off(struct api_call *call, const struct job *job) {
    struct store_task *tasks;
    size_t count;

    if (api_command_backs_off(call, job))
        return true;
    if (job->state != STATE_EXECUTING || job->tasks <= 1 ||
        !store_tasks(call->api->options.store, job->num, &call->arena, &tasks,
                     &count, NULL))
        return false;
    for (size_t i = 0; i < count; i++)
        if (tasks[i].not_before.ns > api_now(call).ns)
            return true;
    return false;
}

static void add_at_once(struct store_batch *batch,
                        struct api_command *command) {
    command->index = store_at_once(batch, command->job.num,
                                   span_of(api_command_words[command->verb]),
                                   command->because);
}

static bool add_retry(struct api_call *call, struct store_batch *batch,
                      struct api_command *command, struct err *err) {
    const struct job *job = &command->job;

    if (!command->failed && backs_off(call, job)) {
        add_at_once(batch, command);
        return true;
    }

    const struct work_kind *kind =
        work_kind_find(call->api->options.tables->kinds, job, err);

    if (kind == NULL)
        return false;
    if (kind->refuse_retry != NULL)
        return refuse(err, job, kind->refuse_retry(job, &call->arena));
    if (!job_state_is_final(job->state))
        return refuse(err, job,
                      arena_printf(&call->arena, "has not ended: %s",
                                   job_state_word(job->state)));
    if (job->state != STATE_FAILED && job->state != STATE_TERMINATED)
        return refuse(err, job,
                      arena_printf(&call->arena, "has not failed: %s",
                                   job_state_word(job->state)));
    if (!add_retried_tasks(call, batch, command, err))
        return false;
    command->index = store_move(
        batch, &(struct store_move){.num = job->num,
                                    .from = job->state,
                                    .to = job->has_relations ? STATE_QUEUED
                                                             : STATE_PENDING,
                                    .reason = SPAN("retry"),
                                    .detail = command->because,
                                    .clear_counts = true});
    return true;
}

/* True if the submitter set the hold `operator`: the job was submitted held, or
 * the last `hold` came from him. */
static bool held_by_submitter(struct api_call *call, const struct job *job,
                              bool *ret_own, struct err *err) {
    CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
    struct access_owner owner = {job->uid, job->actor}, holder;
    struct store_event *events;
    size_t count;

    *ret_own = true;
    if (!store_events(call->api->options.store, 0, job->num, 0, &arena, &events,
                      &count, err))
        return false;
    for (size_t i = 0; i < count; i++)
        if (events[i].kind == EVENT_HOLD &&
            span_is(events[i].detail, job_hold_word(HOLD_OPERATOR)))
            *ret_own = access_owner_parse(events[i].actor, &holder) &&
                       access_owner_is_same(&holder, &owner);
    return true;
}

static bool is_operator(const struct api_call *call) {
    return call->request.actor.role >= ACCESS_OPERATOR;
}

/* An operator who holds what its submitter holds makes it his hold. */
static bool takes_over(struct api_call *call, const struct job *job,
                       bool *ret_takes, struct err *err) {
    struct access_owner owner = {job->uid, job->actor};
    struct access_owner caller = {call->request.actor.uid, api_actor(call)};

    *ret_takes = false;
    return (job->holds & HOLD_OPERATOR) == 0 || !is_operator(call) ||
           access_owner_is_same(&caller, &owner) ||
           held_by_submitter(call, job, ret_takes, err);
}

static bool add_hold(struct api_call *call, struct store_batch *batch,
                     struct api_command *command, struct err *err) {
    const struct job *job = &command->job;

    bool takes;

    if (job_state_is_final(job->state))
        return refuse_ended(call, job, err);
    if (!takes_over(call, job, &takes, err))
        return false;
    if (takes)
        (void)store_release(batch, job->num, HOLD_OPERATOR, command->because);
    command->index =
        store_hold(batch, job->num, HOLD_OPERATOR, command->because);
    return true;
}

/* A submitter lifts the hold that he set himself. */
static bool may_release(struct api_call *call, const struct job *job,
                        struct err *err) {
    bool own = (job->holds & HOLDS_RELEASED) == HOLD_OPERATOR;

    if (is_operator(call))
        return true;
    if (own && !held_by_submitter(call, job, &own, err))
        return false;
    return own || err_set(err, ERR_DENIED,
                          "job '%.*s' is held by %s; to lift that needs the "
                          "role operator",
                          (int)job->id.len, job->id.p,
                          (job->holds & HOLD_AMBIGUOUS) != 0
                              ? "the program, as ambiguous"
                          : (job->holds & HOLD_ACCOUNT) != 0
                              ? "the program, for its account"
                              : "somebody else than its submitter");
}

static bool add_release(struct api_call *call, struct store_batch *batch,
                        struct api_command *command, struct err *err) {
    const struct job *job = &command->job;
    unsigned ours = job->holds & HOLDS_RELEASED;
    bool waits = backs_off(call, job);

    if (job_state_is_final(job->state) || (job->holds == 0 && !waits))
        return refuse(err, job, "is not held");
    if (job->holds != 0 && ours == 0)
        return refuse(
            err, job,
            (job->holds & HOLD_ROLLBACK) != 0
                ? "is held by a rollback; the hold ends with the rollback"
                : "waits for an approval");
    if (ours != 0 && !may_release(call, job, err))
        return false;
    if (waits)
        add_at_once(batch, command);
    for (unsigned bit = 1; bit <= ours; bit <<= 1)
        if ((ours & bit) != 0)
            command->index = store_release(batch, job->num, (enum job_hold)bit,
                                           command->because);
    return true;
}

static bool add_limit(struct api_call *call, struct store_batch *batch,
                      struct api_command *command, struct err *err) {
    const struct job *job = &command->job;

    if ((job->flags & JOB_ARRAY) == 0)
        return refuse(err, job, "is not an array: it has only one task");
    if (job->state == STATE_DONE || job->state == STATE_ABANDONED)
        return refuse_ended(call, job, err);
    if (command->max_running < 0)
        return err_set(err, ERR_DATA, "'max_running' is missing");
    command->index = store_limit(
        batch, job->num, (unsigned)command->max_running, command->because);
    return true;
}

bool api_command_add(struct api_call *call, struct store_batch *batch,
                     struct api_command *command, struct err *err) {
    if (!api_allows(call, &command->job, err))
        return false;
    switch (command->verb) {
    case VERB_CANCEL:
        return add_cancel(call, batch, command, err);
    case VERB_RETRY:
        return add_retry(call, batch, command, err);
    case VERB_HOLD:
        return add_hold(call, batch, command, err);
    case VERB_RELEASE:
        return add_release(call, batch, command, err);
    case VERB_LIMIT:
        return add_limit(call, batch, command, err);
    case VERBS:
        break;
    }
    return false;
}

/* ---- one job ------------------------------------------------------------- */

static void command_try(struct api_call *call);

static void command_done(void *ctx, struct store_batch *batch, bool ok,
                         const struct err *err) {
    struct api_call *call = ctx;

    if (!api_unhold(call))
        return;
    struct api_command *command = call->state;
    struct api *api = call->api;
    enum store_result result =
        ok ? store_batch_result(batch, command->index) : STORE_DONE;
    if (ok && result == STORE_CONFLICT && ++command->tries < COMMAND_TRIES) {
        command_try(call);
        api_poke(call);
        return;
    }
    struct err late = {0};
    if (!ok) {
        api_fail(call, err);
    } else if (result != STORE_DONE && result != STORE_SAME) {
        err_set(&late, ERR_BUSY, "job '%.*s' changed while we %s it; try again",
                (int)command->job.id.len, command->job.id.p,
                api_command_words[command->verb]);
        api_fail(call, &late);
    } else if (!store_job(api->options.store, command->job.num, &call->arena,
                          &command->job, &late)) {
        api_fail(call, &late);
    } else {
        api_trigger(api);
        api_reply(call, 200, api_json);
        struct json json;
        json_open(&json, &call->out);
        job_json(&json, &command->job, &call->arena);
        text_addc(&call->out, '\n');
        api_end(call);
    }
    api_poke(call);
}

static void command_try(struct api_call *call) {
    struct api_command *command = call->state;
    struct store *store = call->api->options.store;
    struct err err = {0};

    /* @last may be another job the second time. */
    if (command->tries == 0) {
        if (!api_job(call, &command->job))
            return;
    } else if (!store_job(store, command->job.num, &call->arena, &command->job,
                          &err)) {
        api_fail(call, &err);
        return;
    }
    struct store_batch *batch = api_batch(call);
    store_batch_atomic(batch);
    if (!api_command_add(call, batch, command, &err)) {
        store_batch_free(batch);
        api_fail(call, &err);
        return;
    }
    api_hold(call);
    store_submit(batch, command_done, call);
}

static void command_begin(struct api_call *call, enum api_verb verb) {
    static const char *const keys[] = {"reason", "kill", "failed",
                                       "max_running", NULL};
    struct api_command *command = arena_alloc(&call->arena, sizeof *command);
    struct json_value body, value;
    struct err err = {0};

    command->verb = verb;
    command->max_running = -1;
    call->state = command;
    if (!api_body_object(call, keys, &body) ||
        !api_body_string(call, body, "reason", &command->because) ||
        !api_body_flag(call, body, "kill", &command->kill) ||
        !api_body_flag(call, body, "failed", &command->failed))
        return;
    if (json_member(body, "max_running", &value) &&
        (!json_get_i64(value, &command->max_running) ||
         command->max_running < 0 ||
         command->max_running > SUBMISSION_RUNNING)) {
        err_set(&err, ERR_DATA, "'max_running' is not a number from 0 to %d",
                SUBMISSION_RUNNING);
        api_fail(call, &err);
        return;
    }
    command_try(call);
}

void api_cancel(struct api_call *call) {
    command_begin(call, VERB_CANCEL);
}

void api_retry(struct api_call *call) {
    command_begin(call, VERB_RETRY);
}

void api_hold_job(struct api_call *call) {
    command_begin(call, VERB_HOLD);
}

void api_limit(struct api_call *call) {
    command_begin(call, VERB_LIMIT);
}

void api_release_job(struct api_call *call) {
    command_begin(call, VERB_RELEASE);
}
