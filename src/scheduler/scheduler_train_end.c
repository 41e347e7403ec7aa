#include "scheduler/scheduler_train_end.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/log.h"
#include "core/reason.h"
#include "core/retry_landing.h"
#include "scheduler/check_result.h"
#include "scheduler/scheduler_end.h"
#include "scheduler/scheduler_train_follow.h"
#include "scheduler/scheduler_job.h"
#include "scheduler/scheduler_offer.h"
#include "scheduler/scheduler_row.h"
#include "scheduler/scheduler_state.h"
#include "scheduler/scheduler_train_leave.h"
#include "scheduler/scheduler_train_run.h"
#include "scheduler/scheduler_verdict.h"

enum { PRUNE_EVERY_MS = 3600 * 1000 };

/* ---- merges -------------------------------------------------------------- */

bool scheduler_train_merge_ended(struct scheduler *scheduler,
                                 const struct run_end *end) {
    LIST_EACH (&scheduler->trains, link) {
        struct target_train *target = LIST_OF(link, struct target_train, link);
        if (target->merge_handle != end->handle)
            continue;
        scheduler->idle = false;
        target->merge_ended = true;
        target->merge_result = end->result;
        text_reset(&target->merge_said);
        text_addspan(&target->merge_said,
                     end->status.len > 0 ? end->status : SPAN(""));
        return true;
    }
    return false;
}

static void tip_is_known(struct scheduler *scheduler,
                         struct target_train *target, struct span commit,
                         struct span tree) {
    (void)scheduler;
    snprintf(target->tip, sizeof(target->tip), "%.*s", (int)commit.len,
             commit.p);
    target->tip_wanted = false;
    target->tip_tries = 0;
    target->tip_again = (struct wall){0};
    train_tip(target->train, commit, tree);
}

static bool is_tree(struct span word) {
    if (word.len != 40 && word.len != 64)
        return false;
    for (size_t i = 0; i < word.len; i++)
        if (strchr("0123456789abcdef", word.p[i]) == NULL)
            return false;
    return true;
}

/* "COMMIT TREE TREE|landed... [conflict|policy TEXT]" */
static void merged(struct scheduler *scheduler, struct target_train *target,
                   struct span said) {
    struct span commit, tree, word, rest = said;
    size_t done = 0;
    (void)span_cut(&rest, ' ', &commit);
    (void)span_cut(&rest, ' ', &tree);
    while (done < target->step_cut && rest.len > 0) {
        struct span before = rest;
        (void)span_cut(&rest, ' ', &word);
        bool has_landed = span_is(word, "landed");
        if (!is_tree(word) && !has_landed) {
            rest = before;
            break;
        }
        train_merged(target->train, target->steps[done++],
                     has_landed ? TRAIN_MERGED_LANDED : TRAIN_MERGED_TREE,
                     word);
    }
    if (done < target->step_cut && rest.p != NULL && rest.len > 0) {
        (void)span_cut(&rest, ' ', &word);
        train_merged(target->train, target->steps[done++],
                     span_is(word, "policy") ? TRAIN_MERGED_REFUSED
                                             : TRAIN_MERGED_CONFLICT,
                     span_trim(rest));
    }
    if (target->step_count > 0)
        train_merge_ended(target->train, done == target->step_count
                                             ? TRAIN_MERGE_DONE
                                             : TRAIN_MERGE_AGAIN);
    if (!span_is(commit, target->tip) || target->tip_wanted)
        tip_is_known(scheduler, target, commit, tree);
}

/* The tip could not be read: try again later. */
static void tip_failed(struct scheduler *scheduler,
                       struct target_train *target) {
    target->tip_again =
        wall_add_ms(scheduler->now,
                    retry_delay_ms(++target->tip_tries, &scheduler->random));
}

/* Objects of candidates are missing. */
static void candidates_rebuild(struct target_train *target) {
    target->has_objects = false;
    train_rebuild(target->train);
}

void scheduler_train_merge_take(struct scheduler *scheduler,
                                struct target_train *target) {
    if (!target->merge_ended)
        return;
    struct span line = text_span(&target->merge_said);
    struct land_verdict_line said = land_verdict_parse(line);
    bool ran = target->merge_result == 0;
    scheduler->runner.release(scheduler->runner.ctx, target->merge_handle);
    target->merge_ended = false;
    target->merge_handle = 0;
    if (ran && said.verdict == LAND_MERGED) {
        scheduler_train_usable(scheduler, target, TARGET_STEP_MERGE);
        merged(scheduler, target, said.rest);
        return;
    }
    if (ran && said.verdict == LAND_UNAVAILABLE)
        scheduler_train_unavailable(scheduler, target, TARGET_STEP_MERGE,
                                    said.text);
    else if (target->step_count == 0)
        log_warning("cannot read the branch of target '%.*s': %.*s",
                    (int)target->name.len, target->name.p, (int)line.len,
                    line.p);
    if (target->step_count == 0) {
        tip_failed(scheduler, target);
        return;
    }
    if (ran && said.verdict == LAND_CHANGED)
        candidates_rebuild(target);
    bool nobody = said.verdict == LAND_UNAVAILABLE ||
                  said.verdict == LAND_CHANGED ||
                  said.verdict == LAND_STOPPED || target->merge_result == 111;
    train_merge_ended(target->train,
                      nobody ? TRAIN_MERGE_AGAIN : TRAIN_MERGE_TEMPORARY);
}

/* ---- ends of runs -------------------------------------------------------- */

/* Results that are too old to be used are removed now and then. */
static void prune(struct scheduler *scheduler, struct target_train *target) {
    int64_t kept_ms = target->target->train.remember_for_ms;
    if (kept_ms == 0 || target->prune_at.ns > scheduler->now.ns)
        return;
    target->prune_at = wall_add_ms(scheduler->now, PRUNE_EVERY_MS);
    check_result_prune(scheduler->batch, target->name,
                       wall_add_ms(scheduler->now, -kept_ms));
}

static void record(struct scheduler *scheduler, const struct attempt *attempt,
                   bool passed) {
    struct target_train *target = attempt->train;
    if (attempt->key[0] == '\0' || !target_train_remembers(target))
        return;
    check_result_add(scheduler->batch,
                     &(struct check_result){.key = span_of(attempt->key),
                                            .target = target->name,
                                            .tree = span_of(attempt->tree),
                                            .at = scheduler->now,
                                            .passed = passed});
    prune(scheduler, target);
}

/* Nothing of it ran: no account may run it, or its account cannot work here. */
static bool is_forbidden(const struct attempt *attempt) {
    return attempt->end.result == RUN_FORBIDDEN ||
           (attempt->end.result == 0 &&
            attempt->said.verdict == LAND_FORBIDDEN);
}

/* The candidate could not be checked out. If a merge has removed the objects of
 * all candidates since the run began, that says nothing about it. */
static bool is_unwritten(const struct attempt *attempt) {
    return attempt->end.result == 0 && attempt->said.verdict == LAND_CHANGED &&
           attempt->removals == attempt->train->removals;
}

/* ... not even after it was built again. */
static bool is_unwritten_again(const struct attempt *attempt) {
    const struct target_unit *unit =
        target_unit_find(attempt->train, attempt->unit);
    return is_unwritten(attempt) && unit != NULL && unit->is_rebuilt;
}

static enum train_run_end end_of_run(const struct attempt *attempt) {
    bool ran = attempt->end.result == 0;
    if (ran && attempt->said.verdict == LAND_PASSED)
        return TRAIN_RUN_PASSED;
    if (ran && attempt->said.verdict == LAND_FAILED &&
        (span_is(attempt->said.reason, "check-failed") ||
         span_is(attempt->said.reason, "timeout")))
        return TRAIN_RUN_FAILED;
    if (attempt->stopped || attempt->tracked->killer != RETRY_NOBODY ||
        attempt->end.result == 104 || attempt->end.result == 99 ||
        attempt->end.result == RUN_RECOVERED || is_forbidden(attempt))
        return TRAIN_RUN_STOPPED;
    if (ran && attempt->said.verdict == LAND_UNAVAILABLE)
        return TRAIN_RUN_STOPPED;
    /* The sets ahead may be the cause: it is counted only without them. */
    if (ran && attempt->said.verdict == LAND_CHANGED)
        return is_unwritten_again(attempt) && attempt->below_count == 0
                   ? TRAIN_RUN_TEMPORARY
                   : TRAIN_RUN_STOPPED;
    return TRAIN_RUN_TEMPORARY;
}

static struct retry_verdict row_verdict(const struct attempt *attempt,
                                        enum train_run_end end) {
    static const char *const words[] = {[TRAIN_RUN_PASSED] = REASON_OK,
                                        [TRAIN_RUN_FAILED] = "check-failed",
                                        [TRAIN_RUN_TEMPORARY] = REASON_TEMP,
                                        [TRAIN_RUN_STOPPED] = REASON_STOPPED};
    bool passed = end == TRAIN_RUN_PASSED;
    struct retry_verdict verdict = retry_verdict_make(
        passed ? STATE_DONE : STATE_FAILED, words[end],
        attempt->said.text.len > 0 ? attempt->said.text : SPAN(""));
    if (end == TRAIN_RUN_FAILED)
        snprintf(verdict.reason, sizeof(verdict.reason), "%.*s",
                 (int)attempt->said.reason.len, attempt->said.reason.p);
    if (end == TRAIN_RUN_STOPPED || end == TRAIN_RUN_TEMPORARY)
        verdict.task = TASK_LOST;
    if (attempt->unit == 0)
        snprintf(verdict.reason, sizeof(verdict.reason), REASON_TIP);
    return verdict;
}

static void plan_run_end(struct scheduler *scheduler, struct attempt *attempt,
                         struct plan *plan) {
    struct target_train *target = attempt->train;
    enum train_run_end end = end_of_run(attempt);
    struct retry_verdict row = row_verdict(attempt, end);
    attempt->run_end = end;
    if (attempt->end.result == 104) { /* it never started */
        if (attempt->tracked->job.attempt == attempt->number)
            attempt->tracked->job.attempt--;
        plan->op = store_unassign(scheduler->batch, attempt->tracked->num,
                                  (struct span){0}, attempt->number);
        return;
    }
    scheduler_row_end(scheduler, attempt, attempt->tracked, attempt->number,
                      &row);
    if (attempt->said.verdict == LAND_UNAVAILABLE && attempt->end.result == 0)
        scheduler_train_unavailable(scheduler, target, TARGET_STEP_CHECK,
                                    attempt->said.text);
    if (end != TRAIN_RUN_PASSED && end != TRAIN_RUN_FAILED)
        return;
    scheduler_train_usable(scheduler, target, TARGET_STEP_CHECK);
    record(scheduler, attempt, end == TRAIN_RUN_PASSED);
}

static void unit_leaves(struct scheduler *scheduler,
                        struct target_train *target, struct target_unit *unit,
                        const struct retry_verdict *verdict) {
    if (unit->leaves)
        return;
    target_unit_leave(unit);
    unit->verdict = *verdict;
    scheduler_train_follow_ride(scheduler, unit, false);
    train_leave(target->train, unit->num,
                verdict->to == STATE_PENDING ? TRAIN_LEFT_ALIVE
                                             : TRAIN_LEFT_ENDED);
    scheduler->idle = false;
}

/* Why its checks may not run together with the code of others ahead of it. */
static const char *why_alone(const struct attempt *attempt) {
    if (attempt->end.result == RUN_FORBIDDEN)
        return "may not be checked together with sets of other accounts; waits "
               "until those ahead have landed";
    if (is_unwritten_again(attempt))
        return "its tree could not be checked out together with the sets "
               "ahead; waits until these have landed or left";
    return NULL;
}

static void run_committed(struct scheduler *scheduler,
                          struct attempt *attempt) {
    struct target_train *target = attempt->train;
    struct target_unit *home = target_unit_find(target, attempt->home);
    CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
    struct span reason = arena_span(&arena, attempt->said.reason);
    struct span detail = arena_span(&arena, attempt->said.text);
    enum train_run_end end = attempt->run_end;
    bool unwritten = is_unwritten(attempt);
    uint64_t num = attempt->unit;
    const char *alone = attempt->below_count > 0 ? why_alone(attempt) : NULL;
    struct retry_verdict verdict = scheduler_verdict(scheduler, attempt);
    bool leaves = is_forbidden(attempt) ||
                  (end == TRAIN_RUN_TEMPORARY && verdict.action == RETRY_MOVE);
    if (num == 0 && end != TRAIN_RUN_PASSED && end != TRAIN_RUN_FAILED &&
        !attempt->stopped)
        target->tip_run_again =
            wall_add_ms(scheduler->now, retry_delay_ms(3, &scheduler->random));
    scheduler_train_attempt_free(scheduler, attempt);
    train_run_ended(target->train, num,
                    num != 0 && leaves ? TRAIN_RUN_STOPPED : end, reason,
                    detail, scheduler->now);
    struct target_unit *unit = num != 0 ? target_unit_find(target, num) : NULL;
    if (unit != NULL && alone != NULL)
        unit->alone = alone;
    else if (unit != NULL && leaves)
        unit_leaves(scheduler, target, unit, &verdict);
    if (unit != NULL && (end == TRAIN_RUN_PASSED || end == TRAIN_RUN_FAILED))
        unit->is_rebuilt = false;
    if (unit != NULL && unwritten)
        unit->is_rebuilt = true;
    if (unwritten)
        candidates_rebuild(target);
    if (home != NULL && home->told) {
        home->told = false;
        train_again(target->train, home->num);
    }
}

/* ---- ends of landings ---------------------------------------------------- */

static enum train_landing_end end_of_landing(const struct attempt *attempt,
                                             enum job_state to) {
    if (to == STATE_DONE)
        return TRAIN_LANDED;
    if (attempt->end.result != 0)
        return attempt->stopped ? TRAIN_LANDING_STOPPED
                                : TRAIN_LANDING_TEMPORARY;
    switch (attempt->said.verdict) {
    case LAND_MOVED:
        return TRAIN_LANDING_LOST;
    case LAND_CHANGED:
        return TRAIN_LANDING_CHANGED;
    case LAND_UNAVAILABLE:
    case LAND_STOPPED:
        return TRAIN_LANDING_STOPPED;
    case LAND_BASE_LOST:
    case LAND_FORBIDDEN:
    case LAND_NONE:
    case LAND_DONE:
    case LAND_ALREADY:
    case LAND_LANDED:
    case LAND_NOT_LANDED:
    case LAND_CONFLICT:
    case LAND_FAILED:
    case LAND_TEMPORARY:
    case LAND_PERMANENT:
    case LAND_MERGED:
    case LAND_PASSED:
        break;
    }
    return attempt->stopped || scheduler_attempt_killer(attempt) != RETRY_NOBODY
               ? TRAIN_LANDING_STOPPED
               : TRAIN_LANDING_TEMPORARY;
}

/* The end of a landing of one unit says what becomes of it; of several, that
 * fewer have to be tried. */
static bool is_final(const struct attempt *attempt,
                     const struct retry_verdict *verdict) {
    return attempt->landing_end == TRAIN_LANDING_TEMPORARY &&
           attempt->train->land_count == 1 && verdict->action == RETRY_MOVE;
}

/* The target answered. */
static bool shows_target(const struct attempt *attempt) {
    return attempt->end.result == 0 &&
           (attempt->said.verdict == LAND_FAILED ||
            attempt->said.verdict == LAND_CONFLICT ||
            attempt->said.verdict == LAND_BASE_LOST ||
            attempt->said.verdict == LAND_PERMANENT);
}

static struct tracked_job *set_at(const struct attempt *attempt, size_t at) {
    return at == 0 ? attempt->tracked : attempt->companions[at - 1].tracked;
}

static unsigned number_at(const struct attempt *attempt, size_t at) {
    return at == 0 ? attempt->number : attempt->companions[at - 1].number;
}

static void plan_landed(struct scheduler *scheduler, struct attempt *attempt,
                        const struct retry_verdict *whole, struct plan *plan) {
    CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
    struct target_train *target = attempt->train;
    size_t count = attempt->companion_count + 1;
    struct retry_carried *sets = arena_alloc(&arena, count * sizeof(*sets));
    for (size_t i = 0; i < count; i++)
        sets[i] =
            (struct retry_carried){set_at(attempt, i)->job.id, RETRY_NOBODY};
    for (size_t i = 0; i < count; i++) {
        struct retry_verdict own =
            retry_of_carried(sets, count, i, whole, attempt->said.text);
        scheduler_row_end(scheduler, attempt, set_at(attempt, i),
                          number_at(attempt, i), &own);
        struct store_move move = {.num = set_at(attempt, i)->num,
                                  .from = STATE_EXECUTING,
                                  .to = STATE_DONE,
                                  .reason = span_of(own.reason),
                                  .detail = span_of(own.detail)};
        plan->op = store_move(scheduler->batch, &move);
    }
    /* What was on the branch already may never have been checked. */
    if (attempt->said.verdict == LAND_DONE)
        record(scheduler, attempt, true);
    scheduler_train_usable(scheduler, target, TARGET_STEP_LAND);
}

/* The sets stay in X: the train decides what becomes of them. */
static void plan_not_landed(struct scheduler *scheduler,
                            struct attempt *attempt,
                            const struct retry_verdict *whole) {
    struct retry_verdict row = *whole;
    row.task = TASK_LOST;
    if (attempt->said.verdict == LAND_MOVED ||
        attempt->said.verdict == LAND_CHANGED)
        snprintf(row.reason, sizeof(row.reason), "%s",
                 land_verdict_word(attempt->said.verdict));
    for (size_t i = 0; i <= attempt->companion_count; i++)
        scheduler_row_end(scheduler, attempt, set_at(attempt, i),
                          number_at(attempt, i), &row);
    if (attempt->end.result == 0 && attempt->said.verdict == LAND_UNAVAILABLE)
        scheduler_train_unavailable(scheduler, attempt->train, TARGET_STEP_LAND,
                                    attempt->said.text);
    else if (shows_target(attempt))
        scheduler_train_usable(scheduler, attempt->train, TARGET_STEP_LAND);
}

/* "TIP ..." */
static struct span tip_of(struct span said, struct arena *arena) {
    struct span tip;
    (void)span_cut(&said, ' ', &tip);
    return arena_span(arena, tip);
}

static void train_landed(struct target_train *target, struct span tip) {
    snprintf(target->tip, sizeof(target->tip), "%.*s", (int)tip.len, tip.p);
    train_landing_ended(target->train, TRAIN_LANDED, tip);
}

/* Without checks the train may go on before the end of one set is recorded: the
 * next landing then begins in the same transaction
 * (scheduler_train_plan_next). */
static bool may_tell(const struct scheduler *scheduler,
                     const struct attempt *attempt) {
    return attempt->landing_end == TRAIN_LANDED && !attempt->recovery &&
           attempt->companion_count == 0 &&
           attempt->said.verdict == LAND_DONE &&
           !target_train_checks(attempt->train) &&
           scheduler->rollback_run.attempt == NULL;
}

static void plan_landing_end(struct scheduler *scheduler,
                             struct attempt *attempt, struct plan *plan) {
    CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
    struct retry_verdict whole = scheduler_verdict(scheduler, attempt);
    attempt->landing_end = end_of_landing(attempt, whole.to);
    if (attempt->landing_end != TRAIN_LANDED) {
        plan_not_landed(scheduler, attempt, &whole);
        return;
    }
    plan_landed(scheduler, attempt, &whole, plan);
    struct target_train *target = attempt->train;
    struct span tip = tip_of(attempt->said.text, &arena);
    if (target->landed == attempt || !is_tree(tip) ||
        !may_tell(scheduler, attempt))
        return;
    target->landing = NULL;
    target->landed = attempt;
    train_landed(target, tip);
}

static void unit_landed(struct scheduler *scheduler, struct target_unit *unit) {
    for (size_t i = 0; i < unit->set_count; i++) {
        struct tracked_job *tracked =
            scheduler_job_get(scheduler, unit->sets[i]);
        if (tracked != NULL)
            scheduler_job_drop(scheduler, tracked);
    }
    target_unit_free(unit);
}

static void units_ended(struct scheduler *scheduler,
                        struct target_train *target, bool landed) {
    for (size_t i = 0; i < target->land_count; i++) {
        struct target_unit *unit =
            target_unit_find(target, target->land_units[i].num);
        if (unit == NULL)
            continue;
        unit->landing = false;
        if (landed)
            unit_landed(scheduler, unit);
    }
    if (!landed)
        return;
    for (size_t i = 0; i < target->land_count; i++)
        scheduler_offer_group(scheduler, target->land_units[i].num);
}

static void units_leave(struct scheduler *scheduler,
                        struct target_train *target,
                        const struct retry_verdict *verdict) {
    for (size_t i = 0; i < target->land_count; i++) {
        struct target_unit *unit =
            target_unit_find(target, target->land_units[i].num);
        if (unit != NULL)
            unit_leaves(scheduler, target, unit, verdict);
    }
}

/* The train may have begun another landing meanwhile. */
static void told_landing_committed(struct scheduler *scheduler,
                                   struct attempt *attempt) {
    struct target_train *target = attempt->train;
    uint64_t num = attempt->tracked->num;
    struct target_unit *unit = target_unit_of_set(target, num);
    scheduler_train_attempt_free(scheduler, attempt);
    if (unit != NULL) {
        unit->landing = false;
        unit_landed(scheduler, unit);
    }
    scheduler_offer_group(scheduler, num);
}

static void landing_committed(struct scheduler *scheduler,
                              struct attempt *attempt) {
    CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
    struct target_train *target = attempt->train;
    enum train_landing_end end = attempt->landing_end;
    struct retry_verdict verdict = scheduler_verdict(scheduler, attempt);
    bool leaves = is_final(attempt, &verdict);
    struct span tip = tip_of(attempt->said.text, &arena);
    bool is_told = attempt->said.verdict == LAND_DONE && is_tree(tip) &&
                   (attempt->tree[0] != '\0' || !target_train_checks(target));
    scheduler_train_attempt_free(scheduler, attempt);
    units_ended(scheduler, target, end == TRAIN_LANDED);
    if (end == TRAIN_LANDED && is_told) {
        train_landed(target, tip);
        return;
    }
    if (end == TRAIN_LANDED || end == TRAIN_LANDING_LOST) {
        /* The process did not say where the branch is, or with which tree. */
        tip = SPAN("unknown");
        target->tip[0] = '\0';
        target->tip_wanted = true;
    }
    train_landing_ended(target->train, leaves ? TRAIN_LANDING_STOPPED : end,
                        tip);
    if (leaves)
        units_leave(scheduler, target, &verdict);
}

/* ---- both ---------------------------------------------------------------- */

void scheduler_train_plan_end(struct scheduler *scheduler,
                              struct attempt *attempt) {
    struct plan *plan = scheduler_plan_add(scheduler, PLAN_TRAIN_END);
    plan->attempt = attempt;
    plan->train = attempt->train;
    picker_ended(scheduler->picker, scheduler_attempt_slot(attempt),
                 attempt->end.result == 0 && attempt->checks
                     ? wall_ms_since(attempt->end.ended, attempt->end.started)
                     : -1);
    if (attempt->checks)
        plan_run_end(scheduler, attempt, plan);
    else
        plan_landing_end(scheduler, attempt, plan);
}

void scheduler_train_end_committed(struct scheduler *scheduler,
                                   const struct plan *plan, bool ok) {
    struct attempt *attempt = plan->attempt;
    if (!ok) {
        if (store_batch_unsynced(scheduler->batch))
            scheduler_end_lossy(attempt, 0);
        return;
    }
    scheduler->runner.release(scheduler->runner.ctx, attempt->handle);
    if (attempt->checks)
        run_committed(scheduler, attempt);
    else if (attempt->train->landed == attempt)
        told_landing_committed(scheduler, attempt);
    else
        landing_committed(scheduler, attempt);
}
