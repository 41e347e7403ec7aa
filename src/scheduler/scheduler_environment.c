#include "scheduler/scheduler_environment.h"

#include <stdio.h>
#include <string.h>

#include "lib/log.h"
#include "core/reason.h"
#include "scheduler/scheduler_state.h"

enum { AGAIN_MS = 3600 * 1000 };

static bool has_command(const struct target_train *target) {
    return target->target != NULL && target->target->environment.len > 0 &&
           target->target->train.checks;
}

/* ---- start and end of the process ---------------------------------------- */

static void start(struct scheduler *scheduler, struct target_train *target) {
    CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
    struct target_environment *environment = &target->environment;
    uint64_t num = LIST_OF(target->units.next, struct target_unit, link)->num;
    struct job job;
    struct err err;
    if (!store_job(scheduler->store, num, &arena, &job, &err)) {
        scheduler_log_read_failure("the row", num, &err);
        return;
    }
    environment->handle = ++scheduler->next_handle;
    environment->ended = environment->stopped = environment->outdated = false;
    /* The set only names the target; nothing of it is run. */
    struct run_set set = {.job = &job};
    struct run_train train = {.task = RUN_TRAIN_ENVIRONMENT,
                              .target = target->name};
    struct run_start run = {.handle = environment->handle,
                            .job = &job,
                            .set = set,
                            .sets = &set,
                            .set_count = 1,
                            .train = &train};
    scheduler->runner.start(scheduler->runner.ctx, &run);
    scheduler->runner.flush(scheduler->runner.ctx);
}

static void stop(struct scheduler *scheduler,
                 struct target_environment *environment) {
    if (environment->ended || environment->stopped)
        return;
    environment->stopped = true;
    scheduler->runner.stop(scheduler->runner.ctx, environment->handle,
                           RUN_STOP_TERM);
    scheduler->runner.flush(scheduler->runner.ctx);
}

void scheduler_environment_plan(struct scheduler *scheduler,
                                struct target_train *target) {
    struct target_environment *environment = &target->environment;
    if (environment->handle != 0) {
        if (scheduler_rests_sets(scheduler) || environment->outdated)
            stop(scheduler, environment);
    } else if (has_command(target) && !scheduler_rests_sets(scheduler) &&
               environment->due.ns <= scheduler->now.ns) {
        start(scheduler, target);
    }
}

bool scheduler_environment_ended(struct scheduler *scheduler,
                                 const struct run_end *end) {
    LIST_EACH (&scheduler->trains, link) {
        struct target_train *target = LIST_OF(link, struct target_train, link);
        struct target_environment *environment = &target->environment;
        if (environment->handle != end->handle)
            continue;
        struct span said = end->result == 0 ? end->status : end->detail;
        scheduler->idle = false;
        environment->ended = true;
        environment->result = end->result;
        text_reset(&environment->said);
        text_addspan(&environment->said, said.len > 0 ? said : SPAN(""));
        return true;
    }
    return false;
}

/* ---- what it printed ----------------------------------------------------- */

static void note(struct scheduler *scheduler, struct target_train *target,
                 const char *reason, struct span detail) {
    store_note(scheduler->batch, EVENT_TRAIN, 0, target->name, span_of(reason),
               detail);
}

/* What was checked under other circumstances proves nothing any more. */
static void known(struct scheduler *scheduler, struct target_train *target,
                  struct span sum) {
    struct target_environment *environment = &target->environment;
    bool same = span_is(sum, environment->sum);
    bool first = environment->state == ENVIRONMENT_AWAITED;
    if (environment->state == ENVIRONMENT_FAILED || (!same && !first))
        note(scheduler, target, REASON_ENVIRONMENT, SPAN("known"));
    snprintf(environment->sum, sizeof(environment->sum), "%.*s", (int)sum.len,
             sum.p);
    environment->state = ENVIRONMENT_KNOWN;
    target_train_set_config(target);
    environment->tries = 0;
    environment->due = wall_add_ms(scheduler->now, AGAIN_MS);
    text_reset(&environment->fault);
    if (!same)
        train_checks_changed(target->train);
}

static void failed(struct scheduler *scheduler, struct target_train *target,
                   struct span fault) {
    struct target_environment *environment = &target->environment;
    environment->due =
        wall_add_ms(scheduler->now,
                    retry_delay_ms(++environment->tries, &scheduler->random));
    if (environment->state == ENVIRONMENT_FAILED &&
        span_equal(text_span(&environment->fault), fault))
        return;
    if (environment->state != ENVIRONMENT_FAILED)
        train_forget_reused(target->train);
    environment->state = ENVIRONMENT_FAILED;
    target_train_set_config(target);
    text_reset(&environment->fault);
    text_addspan(&environment->fault,
                 fault.len > 0 ? fault : SPAN("it could not be run"));
    CLEANUP(text_clear) struct text detail = TEXT_INIT;
    text_adds(&detail, "failed: ");
    text_addspan(&detail, text_span(&environment->fault));
    note(scheduler, target, REASON_ENVIRONMENT, text_span(&detail));
    log_warning("no result of the checks of target '%.*s' is used again: %s",
                (int)target->name.len, target->name.p,
                text_string(&environment->fault));
}

void scheduler_environment_take(struct scheduler *scheduler,
                                struct target_train *target) {
    struct target_environment *environment = &target->environment;
    if (!environment->ended)
        return;
    struct span line = text_span(&environment->said);
    struct land_verdict_line said = land_verdict_parse(line);
    bool ran = environment->result == 0;
    scheduler->runner.release(scheduler->runner.ctx, environment->handle);
    environment->ended = false;
    environment->handle = 0;
    if (!has_command(target) || environment->stopped || environment->outdated ||
        (ran && said.verdict == LAND_STOPPED))
        return;
    if (ran && said.verdict == LAND_PASSED)
        known(scheduler, target, said.rest);
    else
        failed(scheduler, target,
               ran && said.verdict != LAND_NONE ? said.text : line);
}

/* ---- configuration ------------------------------------------------------- */

void scheduler_environment_renew(struct target_train *target,
                                 struct span command) {
    struct target_environment *environment = &target->environment;
    environment->due = (struct wall){0};
    if (target->target == NULL ||
        !span_equal(target->target->environment, command)) {
        environment->state = ENVIRONMENT_AWAITED;
        environment->outdated = true;
    }
}

/* ---- explanations -------------------------------------------------------- */

bool scheduler_environment_is_awaited(const struct target_train *target) {
    return has_command(target) &&
           target->environment.state == ENVIRONMENT_AWAITED;
}

struct wall scheduler_environment_next(const struct target_train *target) {
    return has_command(target) && target->environment.handle == 0
               ? target->environment.due
               : WALL_NEVER;
}

void scheduler_environment_why(const struct target_train *target,
                               struct why *why) {
    CLEANUP(text_clear) struct text text = TEXT_INIT;
    if (scheduler_environment_is_awaited(target)) {
        text_addf(&text, "waits for the environment command of %.*s",
                  (int)target->name.len, target->name.p);
    } else if (has_command(target) &&
               target->environment.state == ENVIRONMENT_FAILED) {
        text_addf(&text,
                  "no result of %.*s is used again: ", (int)target->name.len,
                  target->name.p);
        text_addspan(&text, text_span(&target->environment.fault));
    }
    if (text.len > 0)
        why_add_text(why, "train", text_span(&text));
}
