/* A preview of `pointsman revert` in a child, as the attempt of a rollback
 * would run it. */
#include "changes/rollback_trial.h"

#include <unistd.h>

#include "api/api_call.h"
#include "api/api_rollback.h"
#include "base/base.h"
#include "changes/checker.h"
#include "base/subprocess.h"
#include "landing/land_start.h"
#include "os/dir.h"
#include "os/fd.h"
#include "wire/land_verdict.h"

enum { TRIAL_MS = 600 * 1000, ANSWER_BYTES = 16 << 20 };

struct trial {
    struct checker *checker; /* its own, if no role lends one */
};

static void trial_clear(struct api_call *call) {
    struct trial *trial = call->state;
    checker_free(trial->checker);
}

static void answer(struct api_call *call, const char *verdict,
                   struct span reason, struct span text) {
    struct json json;
    api_reply(call, 200, api_json);
    json_open(&json, &call->out);
    json_object(&json);
    json_key(&json, "verdict");
    if (verdict == NULL)
        json_null(&json);
    else
        json_string(&json, verdict);
    json_key(&json, "reason");
    json_span(&json, reason);
    json_key(&json, "text");
    json_span(&json, text);
    json_end(&json);
    text_addc(&call->out, '\n');
    api_end(call);
}

/* ---- the child ----------------------------------------------------------- */

/* The child prints its report, and the verdict in the last line. */
static void on_end(void *ctx, const struct subprocess_end *end) {
    struct api_call *call = ctx;
    struct span rest = end->answer, line, last = {0};
    struct err err = {0};
    if (!api_unhold(call))
        return;
    while (end->how == SUBPROCESS_EXITED && span_cut(&rest, '\n', &line))
        if (line.len > 0)
            last = line;
    struct land_verdict_line verdict = land_verdict_parse(last);
    if (verdict.verdict == LAND_NONE) {
        err_set(&err, ERR_UNAVAILABLE, "the reverse merges cannot be tried: %s",
                end->why != NULL ? end->why
                                 : "the child ended without a verdict");
        api_fail(call, &err);
    } else {
        answer(call, land_verdict_word(verdict.verdict), verdict.reason,
               verdict.text);
    }
    api_poke(call);
}

static void run(struct api_call *call, const struct revert_start *start) {
    static const char *const words[] = {"revert"};
    CLEANUP(text_clear) struct text input = TEXT_INIT;
    CLEANUP(fd_close) int fd = -1;
    struct trial *trial = arena_alloc(&call->arena, sizeof *trial);
    struct err err = {0};
    land_start_format_revert(start, &input);
    if (!dir_file_sealed("revert", text_span(&input), &fd, &err)) {
        api_fail(call, &err);
        return;
    }
    struct subprocess child = {.words = words,
                               .word_count = COUNT(words),
                               .stdin_fd = fd,
                               .timeout_ms = TRIAL_MS,
                               .answer_max = ANSWER_BYTES};
    call->state = trial;
    call->clear = trial_clear;
    struct checker *checker = checker_of_call(call, &trial->checker);
    api_hold(call);
    subprocesses_run(checker_subprocesses(checker), &child, on_end, call);
}

/* ---- what it is to do ---------------------------------------------------- */

static const char *string_of(struct span span, struct arena *arena) {
    return arena_string(arena, span);
}

/* *ret_reverts: a set is reverted that is no rollback. */
static bool read_members(struct api_call *call,
                         const struct rollback_decision *decision,
                         struct revert_start *start, bool *ret_reverts,
                         struct err *err) {
    struct arena *arena = &call->arena;
    struct revert_member *members =
        arena_alloc(arena, (decision->count + 1) * sizeof(*members));
    start->members = members;
    for (size_t i = 0; i < decision->count; i++) {
        const struct rollback_member *member = &decision->members[i];
        struct job job;
        if (member->fate != ROLLBACK_REVERT)
            continue;
        if (!store_job(call->api->options.store, member->node.num, arena, &job,
                       err))
            return false;
        *ret_reverts |= !job_has(&job, JOB_ROLLS_BACK);
        members[start->member_count++] = (struct revert_member){
            .id = string_of(job.id, arena),
            .sum = string_of(job.sum, arena),
            .class = job_class_word(job.job_class),
            .admitted = job.admitted,
        };
    }
    return true;
}

/* A set that landed on a command target needs the target's `revert`; a set that
 * a rollback of a rollback reinstates needs only `command`. */
static void try_target(struct api_call *call,
                       const struct config_target *target, bool reverts,
                       struct revert_start *start) {
    const struct base *base = call->api->options.base;
    struct arena *arena = &call->arena;
    char work[256];
    if (target->command.count > 0) {
        if (reverts && target->revert.count == 0)
            answer(call, land_verdict_word(LAND_FAILED), SPAN("rb-target"),
                   span_of(arena_printf(
                       arena, "target '%.*s' has no revert command",
                       (int)target->name.len, target->name.p)));
        else
            answer(call, NULL, SPAN(""), SPAN(""));
        return;
    }
    dir_fresh_name(SPAN("trial"), work);
    start->target = string_of(target->name, arena);
    start->git = base_resolve(base->path, target->git, arena);
    start->branch = string_of(target->branch, arena);
    start->committer = string_of(target->committer, arena);
    start->work = arena_printf(arena, "%s/%s/%s", base->path,
                               base_dir_name(BASE_TMP), work);
    run(call, start);
}

/* ?ids= &closure= &limit= as for the preview */
void rollback_trial_request(struct api_call *call) {
    const struct base *base = call->api->options.base;
    struct revert_start start = {.id = "preview",
                                 .sum = "preview",
                                 .submitter = "preview",
                                 .preview = true};
    const struct config_target *target = NULL;
    struct rollback_plan plan;
    struct err err = {0};
    bool reverts = false;
    if (!api_rollback_plan(call, &plan))
        return;
    bool ok = read_members(call, &plan.decision, &start, &reverts, &err);
    if (ok && start.member_count > 0 && base != NULL)
        target =
            config_target(&base->config, plan.decision.members[0].node.target);
    if (!ok)
        api_fail(call, &err);
    else if (target == NULL)
        answer(call, NULL, SPAN(""), SPAN(""));
    else
        try_target(call, target, reverts, &start);
    rollback_plan_clear(&plan);
}
