/* The ends of attempts and what follows from them. */
#include "scheduler/scheduler_end.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "lib/log.h"
#include "core/reason.h"
#include "scheduler/scheduler_array.h"
#include "scheduler/scheduler_attempt.h"
#include "scheduler/scheduler_job.h"
#include "scheduler/scheduler_node_run.h"
#include "scheduler/scheduler_offer.h"
#include "scheduler/scheduler_plan.h"
#include "scheduler/scheduler_rollback.h"
#include "scheduler/scheduler_row.h"
#include "scheduler/scheduler_start.h"
#include "scheduler/scheduler_environment.h"
#include "scheduler/scheduler_state.h"
#include "scheduler/scheduler_target.h"
#include "scheduler/scheduler_train_end.h"
#include "scheduler/scheduler_train_leave.h"
#include "scheduler/scheduler_verdict.h"

enum { REFUSED_AGAIN_MS = 2000 };

/* ---- input -------------------------------------------------------------- */

static struct span keep_span(char **at, struct span span) {
    struct span copy = {*at, span.len};
    if (span.len)
        memcpy(*at, span.p, span.len);
    *at += span.len;
    return copy;
}

static void keep_end(struct attempt *attempt, const struct run_end *end) {
    free(attempt->end_memory);
    attempt->end = *end;
    attempt->end_memory =
        mem_alloc(end->status.len + end->detail.len + end->survivors.len +
                  end->place.len + end->trace.len + 1);
    char *at = attempt->end_memory;
    attempt->end.status = keep_span(&at, end->status);
    attempt->end.detail = keep_span(&at, end->detail);
    attempt->end.survivors = keep_span(&at, end->survivors);
    attempt->end.place = keep_span(&at, end->place);
    attempt->end.trace = keep_span(&at, end->trace);
    if (job_has(&attempt->tracked->job, JOB_LANDS))
        attempt->said = land_verdict_parse(attempt->end.status);
}

static void probe_ended(struct scheduler *scheduler, struct attempt *attempt,
                        const struct run_end *end) {
    struct land_verdict_line said = land_verdict_parse(end->status);
    struct span why = end->status.len > 0 ? end->status : end->detail;
    map_remove(&scheduler->by_handle, map_num_key(&attempt->probe_handle));
    scheduler->runner.release(scheduler->runner.ctx, attempt->probe_handle);
    attempt->probe_handle = 0;
    if (said.verdict == LAND_LANDED || said.verdict == LAND_NOT_LANDED) {
        attempt->probed = attempt->answered = true;
        attempt->probing = false;
        attempt->landed = said.verdict == LAND_LANDED;
        if (attempt->landed) /* whatever failed after that */
            attempt->said = (struct land_verdict_line){0};
        return;
    }
    if (end->result == RUN_UNAVAILABLE) {
        /* The target is no longer configured and cannot be asked. */
        attempt->probed = true;
        attempt->probing = false;
        return;
    }
    if (end->result == 0 && said.verdict == LAND_UNAVAILABLE) {
        free(attempt->probe_trouble);
        attempt->probe_trouble = span_string(said.text);
    }
    if (why.len == 0)
        why = SPAN("its process ended without an answer");
    log_warning("cannot determine whether the change landed, trying again: "
                "%.*s job=%.*s",
                (int)why.len, why.p, (int)attempt->tracked->job.id.len,
                attempt->tracked->job.id.p);
    attempt->probe_again =
        wall_add_ms(scheduler->now,
                    retry_delay_ms(++attempt->probe_count, &scheduler->random));
}

void scheduler_ended(struct scheduler *scheduler, const struct run_end *end) {
    struct attempt *attempt =
        map_get(&scheduler->by_handle, map_num_key(&end->handle));
    if (!attempt) {
        if (!scheduler_environment_ended(scheduler, end))
            (void)scheduler_train_merge_ended(scheduler, end);
        return;
    }
    scheduler->idle = false;
    if (end->handle == attempt->probe_handle) {
        probe_ended(scheduler, attempt, end);
        return;
    }
    if (attempt->is_ended)
        return;
    attempt->is_ended = true;
    if (!attempt->is_awaited)
        scheduler->running--;
    keep_end(attempt, end);
    list_remove(&attempt->link);
    list_push(&scheduler->ended, &attempt->link);
}

/* ---- probes ------------------------------------------------------------- */

static void probe_start(struct scheduler *scheduler, struct attempt *attempt) {
    attempt->probing = true;
    if (attempt->probe_handle || scheduler->now.ns < attempt->probe_again.ns)
        return;
    attempt->probe_handle = ++scheduler->next_handle;
    map_put(&scheduler->by_handle, map_num_key(&attempt->probe_handle),
            attempt);
    CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
    size_t count = attempt->companion_count + 1;
    struct run_set *sets = arena_alloc(&arena, count * sizeof(*sets));
    for (size_t i = 0; i < count; i++)
        sets[i].job =
            &(i == 0 ? attempt->tracked : attempt->companions[i - 1].tracked)
                 ->job;
    struct run_start order = {
        .handle = attempt->probe_handle,
        .job = &attempt->tracked->job,
        .attempt = attempt->number,
        .probe = true,
        .sets = sets,
        .set_count = count,
    };
    scheduler->runner.start(scheduler->runner.ctx, &order);
}

/* While a branch cannot be asked, its sets wait as during any outage, and other
 * work has the slot. */
static void plan_probe_trouble(struct scheduler *scheduler,
                               struct attempt *attempt) {
    struct target_train *target =
        target_train_find(scheduler, attempt->tracked->job.target);
    if (target == NULL)
        return;
    if (attempt->answered && attempt->probe_count > 0)
        scheduler_train_usable(scheduler, target, TARGET_STEP_MERGE);
    if (attempt->probe_trouble == NULL)
        return;
    scheduler_train_unavailable(scheduler, target, TARGET_STEP_MERGE,
                                span_of(attempt->probe_trouble));
    picker_ended(scheduler->picker, scheduler_attempt_slot(attempt), -1);
    free(attempt->probe_trouble);
    attempt->probe_trouble = NULL;
}

bool scheduler_end_is_left(const struct scheduler *scheduler,
                           const struct attempt *attempt) {
    return scheduler->draining && attempt->probing &&
           attempt->probe_handle == 0 && attempt->probe_count > 0;
}

struct wall scheduler_probes_next(const struct scheduler *scheduler) {
    struct wall next = WALL_NEVER;
    LIST_EACH (&((struct scheduler *)(uintptr_t)scheduler)->ended, link) {
        struct attempt *attempt = LIST_OF(link, struct attempt, link);
        if (attempt->probing && !attempt->probe_handle &&
            !scheduler_end_is_left(scheduler, attempt) &&
            attempt->probe_again.ns < next.ns)
            next = attempt->probe_again;
    }
    return next;
}

/* ---- recording ---------------------------------------------------------- */

/* The job leaves, and what waits for it may be more urgent than what is ready
 * now: its rank shows that (O14). */
static void yield_to_waiting(struct scheduler *scheduler,
                             const struct job *job) {
    struct span rank = order_rank(scheduler->order, job->id);
    if (rank.len > 0)
        scheduler_yield(scheduler, job->target, (unsigned char)rank.p[0],
                        job->num);
}

static unsigned plan_move(struct scheduler *scheduler,
                          struct tracked_job *tracked,
                          const struct retry_verdict *verdict) {
    struct store_move move = {
        .num = tracked->num,
        .from = STATE_EXECUTING,
        .to = verdict->to,
        .reason = span_of(verdict->reason),
        .detail = span_of(verdict->detail),
        .not_before = verdict->not_before,
        .temps = verdict->temps,
        .crashes = verdict->crashes,
        .fails = verdict->fails,
        .clear_counts = verdict->clear_counts,
    };
    if (verdict->to == STATE_ABANDONED && scheduler->rollback_run.attempt)
        move.rollback = scheduler->rollback_run.attempt->tracked->job.id;
    if (verdict->to != STATE_PENDING)
        yield_to_waiting(scheduler, &tracked->job);
    if (verdict->alarm)
        store_note(scheduler->batch, EVENT_ALARM, tracked->num, tracked->job.id,
                   span_of(verdict->reason), span_of(verdict->detail));
    unsigned op = store_move(scheduler->batch, &move);
    if (verdict->hold != 0)
        store_hold(scheduler->batch, tracked->num, (enum job_hold)verdict->hold,
                   span_of(verdict->reason));
    return op;
}

/* Nothing ran, or it is unknown what runs: the attempt is not counted. */
static void plan_uncount(struct scheduler *scheduler, struct attempt *attempt,
                         struct retry_verdict *verdict) {
    struct tracked_job *tracked = attempt->tracked;
    store_unassign(scheduler->batch, tracked->num, scheduler_row_node(attempt),
                   attempt->number);
    verdict->to = STATE_PENDING;
    snprintf(verdict->reason, sizeof(verdict->reason), REASON_RETURNED);
    if (attempt->is_withdrawn || tracked->killer != RETRY_NOBODY)
        return;
    verdict->not_before = wall_add_ms(scheduler->now, REFUSED_AGAIN_MS);
    log_warning("an attempt cannot be started now: %.*s job=%.*s",
                (int)attempt->end.detail.len,
                attempt->end.detail.len ? attempt->end.detail.p : "",
                (int)tracked->job.id.len, tracked->job.id.p);
}

/* The verdict on the attempt at a task of an array. */
static struct retry_verdict end_task(struct scheduler *scheduler,
                                     struct attempt *attempt) {
    CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
    struct tracked_job *tracked = attempt->tracked;
    struct node_rules rules = {
        .limits = scheduler_verdict_limits(scheduler, &tracked->job)};
    struct retry_verdict verdict;
    struct span reason;
    struct retry_end end = scheduler_verdict_end(attempt, &arena, &reason);
    if (end.result == RETRY_TAKEN)
        end.result = RETRY_WITHDRAWN; /* commands have no lock of their own */
    attempt->before = array_task_end(
        &tracked->array->array, attempt->task, &end, &rules, scheduler->now,
        random_below(&scheduler->random, UINT64_MAX), &verdict);
    scheduler_verdict_explain(&verdict, reason);
    return verdict;
}

/* It is not asked again at once if the machine refused it. */
static void uncount_task(struct scheduler *scheduler, struct attempt *attempt,
                         struct retry_verdict *verdict) {
    struct store_task row;
    plan_uncount(scheduler, attempt, verdict);
    if (verdict->not_before.ns == 0)
        return;
    scheduler_attempt_task(attempt)->task.not_before = verdict->not_before;
    row = scheduler_row_task(attempt);
    store_task_record(scheduler->batch, attempt->tracked->num, &row);
}

static void plan_task_end(struct scheduler *scheduler,
                          struct attempt *attempt) {
    struct plan *plan = scheduler_plan_add(scheduler, PLAN_END);
    struct tracked_job *tracked = attempt->tracked;
    struct array *array = &tracked->array->array;
    bool killed = tracked->killer != RETRY_NOBODY;
    struct retry_verdict verdict = end_task(scheduler, attempt);
    plan->attempt = attempt;
    if (verdict.action == RETRY_MOVE)
        scheduler_row_end(scheduler, attempt, tracked, attempt->number,
                          &verdict);
    else
        uncount_task(scheduler, attempt, &verdict);
    plan->again = !array_is_over(array, killed);
    if (plan->again)
        return;
    struct retry_verdict whole = array_verdict(array, tracked->killer);
    plan->back = whole.to == STATE_PENDING;
    plan->op = plan_move(scheduler, tracked, &whole);
}

void scheduler_plan_array_ends(struct scheduler *scheduler) {
    LIST_EACH (&scheduler->arrays, link) {
        struct tracked_array *array = LIST_OF(link, struct tracked_array, link);
        enum retry_killer killer = array->tracked->killer;
        if (!array->begun ||
            !array_is_over(&array->array, killer != RETRY_NOBODY))
            continue;
        struct retry_verdict whole = array_verdict(&array->array, killer);
        struct plan *plan = scheduler_plan_add(scheduler, PLAN_ARRAY_END);
        plan->num = array->tracked->num;
        plan->op = plan_move(scheduler, array->tracked, &whole);
    }
}

void scheduler_array_end_committed(struct scheduler *scheduler,
                                   const struct plan *plan, bool ok) {
    struct tracked_job *tracked = scheduler_job_get(scheduler, plan->num);
    if (!ok || !tracked)
        return;
    scheduler_job_drop(scheduler, tracked);
    scheduler_offer_num(scheduler, plan->num);
}

static int64_t ran_ms(const struct attempt *attempt) {
    if (attempt->end.result != 0 || attempt->recovery)
        return -1;
    int64_t ms = wall_ms_since(attempt->end.ended, attempt->end.started);
    return ms < 0 ? 0 : ms;
}

static struct retry_verdict verdict_on(struct scheduler *scheduler,
                                       struct attempt *attempt) {
    const struct rollback_run *rollback_run = &scheduler->rollback_run;
    if (attempt == rollback_run->attempt && rollback_run->verdict_known)
        return rollback_run->verdict;
    struct retry_verdict verdict = scheduler_verdict(scheduler, attempt);
    if (attempt == rollback_run->attempt)
        scheduler_rollback_reconsider(scheduler, attempt, &verdict);
    if (verdict.to == STATE_ABANDONED && rollback_run->attempt) {
        struct span id = rollback_run->attempt->tracked->job.id;
        snprintf(verdict.detail, sizeof(verdict.detail), "%.*s", (int)id.len,
                 id.p);
    }
    return verdict;
}

/* Records what the end means for the target. A rollback, which waits in no
 * lane, is retried together with the target. */
static void plan_target(struct scheduler *scheduler, struct attempt *attempt,
                        struct retry_verdict *verdict) {
    const struct job *job = &attempt->tracked->job;
    enum land_verdict said = attempt->said.verdict;
    bool not_started = attempt->end.result == RUN_UNAVAILABLE;
    if (!job_has(job, JOB_LANDS) || (attempt->end.result != 0 && !not_started))
        return;
    if (not_started || said == LAND_UNAVAILABLE) {
        target_unavailable(scheduler, job->target,
                           not_started ? attempt->end.detail
                                       : attempt->said.text);
        if (job_has(job, JOB_ROLLS_BACK) && verdict->to == STATE_PENDING)
            verdict->not_before = target_again(scheduler, job->target);
    } else if (said == LAND_DONE || said == LAND_ALREADY ||
               said == LAND_CONFLICT || said == LAND_FAILED ||
               said == LAND_BASE_LOST || said == LAND_FORBIDDEN ||
               said == LAND_PERMANENT) {
        target_usable(scheduler, job->target);
    }
}

static void plan_end(struct scheduler *scheduler, struct attempt *attempt) {
    if (attempt->train != NULL) {
        scheduler_train_plan_end(scheduler, attempt);
        return;
    }
    if (attempt->node != NULL || attempt->of_array) {
        picker_ended(scheduler->picker, scheduler_attempt_slot(attempt),
                     ran_ms(attempt));
        if (attempt->of_array)
            plan_task_end(scheduler, attempt);
        else
            scheduler_node_plan_end(scheduler, attempt);
        return;
    }
    struct retry_verdict verdict = verdict_on(scheduler, attempt);
    plan_target(scheduler, attempt, &verdict);
    struct plan *plan = scheduler_plan_add(scheduler, PLAN_END);
    plan->attempt = attempt;
    picker_ended(scheduler->picker, scheduler_attempt_slot(attempt),
                 ran_ms(attempt));
    if (verdict.action == RETRY_NOTHING)
        verdict.action = RETRY_UNCOUNT; /* the process that has it is not of
                                           this base: try again soon */
    if (verdict.action == RETRY_UNCOUNT)
        plan_uncount(scheduler, attempt, &verdict);
    else
        scheduler_row_end(scheduler, attempt, attempt->tracked, attempt->number,
                          &verdict);
    plan->back = verdict.to == STATE_PENDING;
    if (job_has(&attempt->tracked->job, JOB_ROLLS_BACK))
        scheduler_rollback_plan_end(scheduler, attempt, &verdict);
    plan->op = plan_move(scheduler, attempt->tracked, &verdict);
}

/* A landing leaves it to us to sync the branch, together with its output. */
static bool moved_branch(const struct attempt *attempt) {
    enum land_verdict said = attempt->said.verdict;
    return job_has(&attempt->tracked->job, JOB_LANDS) && !attempt->checks &&
           (attempt->landed || said == LAND_DONE || said == LAND_ALREADY);
}

static bool any_moved_branch(const struct scheduler *scheduler) {
    LIST_EACH (&((struct scheduler *)(uintptr_t)scheduler)->ended, link)
        if (moved_branch(LIST_OF(link, struct attempt, link)))
            return true;
    return false;
}

void scheduler_end_lossy(struct attempt *attempt, int sys) {
    if (attempt->end.place.len == 0)
        return;
    attempt->end.loss.any = true;
    if (attempt->end.loss.sys == 0)
        attempt->end.loss.sys = sys;
}

void scheduler_plan_ends(struct scheduler *scheduler) {
    struct run_sync sync = {.fd = -1};
    bool any = false, whole = false, written = false;
    LIST_EACH (&scheduler->ended, link) {
        struct attempt *attempt = LIST_OF(link, struct attempt, link);
        plan_probe_trouble(scheduler, attempt);
        if (scheduler_verdict_needs_probe(scheduler, attempt)) {
            if (!scheduler_end_is_left(scheduler, attempt))
                probe_start(scheduler, attempt);
            continue;
        }
        if (!any)
            whole = any_moved_branch(scheduler);
        any = true;
        if (!written && (whole || !attempt->end.is_durable)) {
            sync =
                scheduler->runner.write_outputs(scheduler->runner.ctx, whole);
            if (sync.fd >= 0)
                store_sync_first(scheduler->batch, sync.fd, sync.filesystem);
            written = true;
        }
        if (sync.lost && !attempt->end.in_file && !attempt->end.is_durable)
            scheduler_end_lossy(attempt, sync.sys);
        plan_end(scheduler, attempt);
    }
    if (!any)
        scheduler->runner.flush(scheduler->runner.ctx);
}

/* A failed batch leaves everything as it was: the end is decided again
 * later. */
static void end_undone(struct attempt *attempt) {
    if (attempt->of_array)
        array_task_end_failed(&attempt->tracked->array->array, attempt->task,
                              &attempt->before);
}

void scheduler_end_committed(struct scheduler *scheduler,
                             const struct plan *plan, bool ok) {
    struct attempt *attempt = plan->attempt;
    struct tracked_job *tracked = attempt->tracked;
    if (!ok) {
        /* The next round has nothing left to sync for it. */
        if (store_batch_unsynced(scheduler->batch) && !attempt->end.is_durable)
            scheduler_end_lossy(attempt, 0);
        end_undone(attempt);
        return;
    }
    if (attempt->node != NULL) {
        scheduler->runner.release(scheduler->runner.ctx, attempt->handle);
        scheduler_attempt_free(scheduler, attempt);
        return;
    }
    bool astray = !plan->again &&
                  store_batch_result(scheduler->batch, plan->op) != STORE_DONE;
    if (astray)
        log_error("an attempt has ended, but its job is not executing job=%.*s "
                  "attempt=%u",
                  (int)tracked->job.id.len, tracked->job.id.p, attempt->number);
    scheduler->runner.release(scheduler->runner.ctx, attempt->handle);
    scheduler_rollback_ended(scheduler, attempt);
    scheduler_attempt_free(scheduler, attempt);
    if (!plan->again && tracked->attempts == 0) {
        uint64_t num = tracked->num;
        scheduler_job_drop(scheduler, tracked);
        if (plan->back || astray)
            scheduler_offer_num(scheduler, num);
        scheduler_offer_group(scheduler, num);
    }
}
