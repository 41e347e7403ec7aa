/* Executes rollbacks (doc/design/rollback.md). One at a time, in phases that
 * are recorded in the registry before they start:
 *
 *   stopping    One transaction puts the RB into X, all waiting members into A
 *               and the plan into its row: from then on nothing new starts on
 *               the target. Running members get HUP, later KILL. Dependents
 *               that arrived before that become members too; later ones wait
 *               in the order.
 *   reverting   A process reverts what had landed and moves the branch once.
 *   over        RB in D; what was reverted is marked; A is final.
 *   undone      RB in F, T or back in P; abandoned members are where they
 *               were, those that ran are in P.
 *
 * A crash at any time leaves the RB in X. The next start asks the target, as
 * for any set that was executing: if the revert is on it, the rollback is over;
 * otherwise it is undone, and the RB starts again. */
#include "scheduler/scheduler_rollback.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/log.h"
#include "core/reason.h"
#include "core/rollback_step.h"
#include "scheduler/rollback_plan.h"
#include "scheduler/scheduler_attempt.h"
#include "scheduler/scheduler_job.h"
#include "scheduler/scheduler_members.h"
#include "scheduler/scheduler_plan.h"
#include "scheduler/scheduler_bases.h"
#include "scheduler/scheduler_state.h"
#include "scheduler/scheduler_train_leave.h"
#include "scheduler/scheduler_verdict.h"

enum {
    KILL_WAIT_MS = 5000,
    AGAIN_MS = 2000,
    FIRST = 0 /* the urgency of rollbacks: no set is as urgent */
};

/* ---- life and time --------------------------------------------------------
 */

void scheduler_rollback_clear(struct scheduler *scheduler) {
    rollback_queue_clear(&scheduler->rollbacks);
    arena_clear(&scheduler->rollback_run.arena);
    arena_clear(&scheduler->scope.arena);
}

struct wall scheduler_rollback_next(const struct scheduler *scheduler) {
    const struct rollback_run *rollback_run = &scheduler->rollback_run;
    if (rollback_run->attempt)
        return rollback_run->attempt->is_started || rollback_run->verdict_known
                   ? WALL_NEVER
                   : rollback_run->give_up;
    return rollback_queue_next(&scheduler->rollbacks, scheduler->now);
}

/* ---- the plan ------------------------------------------------------------ */

static bool look_around(struct scheduler *scheduler, const struct job *rb,
                        struct rollback_plan *rollback_plan) {
    const struct rollback_run *rollback_run = &scheduler->rollback_run;
    struct rollback_plan_limits limits = {
        .sets_max = scheduler->options.rollback_max,
        .files = scheduler->options.rollback_files,
        .since_seq = rb->state == STATE_EXECUTING ? rb->state_seq : 0,
    };
    struct err err;
    if (rollback_plan_make(scheduler->store, rb, &limits, rollback_run->entries,
                           rollback_run->count, rollback_plan, &err))
        return true;
    log_error("%s: job=%.*s", err.text, (int)rb->id.len, rb->id.p);
    scheduler->again_at = wall_add_ms(scheduler->now, AGAIN_MS);
    rollback_plan_clear(rollback_plan);
    return false;
}

static struct rollback_entry *entry_of(struct rollback_run *rollback_run,
                                       uint64_t num) {
    for (size_t i = 0; i < rollback_run->count; i++)
        if (rollback_run->entries[i].num == num)
            return &rollback_run->entries[i];
    return NULL;
}

/* All members of the decision; those known before keep their entries. */
static void take_entries(struct rollback_run *rollback_run,
                         const struct rollback_decision *decision) {
    struct rollback_entry *entries = arena_alloc(
        &rollback_run->arena,
        (rollback_run->count + decision->count + 1) * sizeof(*entries));
    if (rollback_run->count > 0)
        memcpy(entries, rollback_run->entries,
               rollback_run->count * sizeof(*entries));
    rollback_run->entries = entries;
    for (size_t i = 0; i < decision->count; i++) {
        const struct rollback_member *member = &decision->members[i];
        if (member->fate > ROLLBACK_STOP)
            continue;
        struct rollback_entry *old = entry_of(rollback_run, member->node.num);
        /* A member that was running may have landed, or come back to P. */
        if (old)
            old->was = member->node.state;
        else
            entries[rollback_run->count++] = (struct rollback_entry){
                .num = member->node.num, .was = member->node.state};
    }
}

static void plan_write(struct scheduler *scheduler, uint64_t num,
                       enum rollback_phase phase) {
    const struct rollback_run *rollback_run = &scheduler->rollback_run;
    CLEANUP(text_clear) struct text members = TEXT_INIT;
    for (size_t i = 0; i < rollback_run->count; i++)
        rollback_entry_format(&rollback_run->entries[i], &members);
    store_plan(scheduler->batch,
               &(struct store_rollback){
                   .num = num,
                   .phase = span_of(rollback_phase_word(phase)),
                   .begun = rollback_run->begun,
                   .members = text_span(&members),
               });
}

static bool is_abandoned(struct scheduler *scheduler, uint64_t num) {
    CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
    struct job job;
    struct err err;
    return store_job(scheduler->store, num, &arena, &job, &err) &&
           job.state == STATE_ABANDONED;
}

static bool is_to_abandon(struct scheduler *scheduler,
                          const struct rollback_member *member) {
    return member->fate == ROLLBACK_ABANDON &&
           !is_abandoned(scheduler, member->node.num);
}

static size_t count_to_abandon(struct scheduler *scheduler,
                               const struct rollback_decision *decision) {
    size_t count = 0;
    for (size_t i = 0; i < decision->count; i++)
        count += is_to_abandon(scheduler, &decision->members[i]);
    return count;
}

/* Moves of waiting members into A. */
static void plan_abandons(struct scheduler *scheduler, struct span rb_id,
                          const struct rollback_decision *decision) {
    for (size_t i = 0; i < decision->count; i++) {
        const struct rollback_member *member = &decision->members[i];
        if (!is_to_abandon(scheduler, member))
            continue;
        struct store_move move = {
            .num = member->node.num,
            .from = member->node.state,
            .to = STATE_ABANDONED,
            .reason = SPAN(REASON_ROLLBACK),
            .detail = rb_id,
            .rollback = rb_id,
        };
        store_move(scheduler->batch, &move);
    }
}

/* Members that were asked to end for a rollback that is given up go back to
 * P. */
static void spare_members(struct scheduler *scheduler) {
    const struct rollback_run *rollback_run = &scheduler->rollback_run;
    for (size_t i = 0; i < rollback_run->count; i++) {
        struct tracked_job *tracked =
            scheduler_job_get(scheduler, rollback_run->entries[i].num);
        if (tracked && tracked->executing && tracked->killer == RETRY_ROLLBACK)
            tracked->killer = RETRY_STOP;
    }
}

/* Ends the rollback with this verdict, without a process. A member that ended
 * in this same turn is handled in the rollback's batch. */
static void end_without_process(struct scheduler *scheduler,
                                const struct retry_verdict *verdict) {
    struct rollback_run *rollback_run = &scheduler->rollback_run;
    struct attempt *attempt = rollback_run->attempt;
    rollback_run->verdict = *verdict;
    rollback_run->verdict_known = true;
    if (verdict->to != STATE_DONE)
        spare_members(scheduler);
    attempt->probed = attempt->is_ended = true;
    attempt->end = (struct run_end){.handle = attempt->handle,
                                    .result = 111,
                                    .exit_code = -1,
                                    .started = rollback_run->begun,
                                    .ended = scheduler->now};
    list_remove(&attempt->link);
    list_push(&scheduler->ended, &attempt->link);
}

/* ---- beginning ----------------------------------------------------------- */

static bool read_rollback(struct scheduler *scheduler, uint64_t num,
                          struct arena *arena, struct job *ret_job) {
    struct err err;
    if (store_job(scheduler->store, num, arena, ret_job, &err))
        return true;
    scheduler_log_read_failure("the row", num, &err);
    return false;
}

static void plan_take(struct scheduler *scheduler, const struct job *rb,
                      const struct rollback_decision *decision) {
    struct rollback_run *rollback_run = &scheduler->rollback_run;
    store_batch_atomic(scheduler->batch);
    struct plan *plan = scheduler_plan_add(scheduler, PLAN_TAKE);
    plan->num = rb->num;
    plan->op =
        scheduler_attempt_begin(scheduler, rb->num, SPAN(REASON_ROLLBACK));
    scheduler_attempt_assign(scheduler, rb->num, SPAN(""), rb->attempt + 1,
                             false);
    rollback_run->begun = scheduler->now;
    if (decision->verdict == ROLLBACK_GO) {
        take_entries(rollback_run, decision);
        plan_abandons(scheduler, rb->id, decision);
    }
    plan_write(scheduler, rb->num, ROLLBACK_STOPPING);
}

/* A rollback waits for nothing in Q, so that it is moved on here, whichever
 * process stages. */
static void plan_ready(struct scheduler *scheduler, const struct job *rb) {
    struct plan *plan = scheduler_plan_add(scheduler, PLAN_STAGE);
    struct store_move move = {.num = rb->num,
                              .from = STATE_QUEUED,
                              .to = STATE_PENDING,
                              .reason = SPAN(REASON_RB)};
    plan->num = rb->num;
    plan->op = store_move(scheduler->batch, &move);
}

/* The first rollback that is waiting and not held. */
static bool find_next(struct scheduler *scheduler, struct arena *arena,
                      struct job *ret_rb) {
    uint64_t num;
    while ((num = rollback_queue_due(&scheduler->rollbacks, scheduler->now)) !=
           0) {
        if (!read_rollback(scheduler, num, arena, ret_rb)) {
            scheduler->again_at = wall_add_ms(scheduler->now, AGAIN_MS);
            return false;
        }
        if (ret_rb->holds == 0 &&
            (ret_rb->state == STATE_QUEUED || ret_rb->state == STATE_PENDING))
            return true;
        rollback_queue_forget(&scheduler->rollbacks,
                              num); /* its events report the rest */
    }
    return false;
}

static bool plan_next(struct scheduler *scheduler) {
    CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
    struct rollback_plan rollback_plan;
    struct job rb;
    if (scheduler_rests_sets(scheduler) || !find_next(scheduler, &arena, &rb))
        return false;
    if (rb.state == STATE_QUEUED) {
        plan_ready(scheduler, &rb);
        return true;
    }
    arena_clear(&scheduler->rollback_run.arena);
    scheduler->rollback_run = (struct rollback_run){0};
    if (!look_around(scheduler, &rb, &rollback_plan))
        return false;
    plan_take(scheduler, &rb, &rollback_plan.decision);
    rollback_plan_clear(&rollback_plan);
    return true;
}

void scheduler_rollback_yield(struct scheduler *scheduler) {
    uint64_t num;
    struct span target;
    for (size_t i = 0; rollback_queue_due_at(&scheduler->rollbacks,
                                             scheduler->now, i, &num, &target);
         i++)
        picker_yield(scheduler->picker, target, FIRST, num);
}

/* Withdraws assignments on the target that were made ahead of a free slot and
 * have not started: they would only lose the race for the branch. */
static void clear_ahead(struct scheduler *scheduler, struct span target) {
    LIST_EACH (&scheduler->attempts, link) {
        struct attempt *attempt = LIST_OF(link, struct attempt, link);
        if (!attempt->is_started || attempt->is_lasting ||
            attempt->is_withdrawn ||
            !span_equal(attempt->tracked->job.target, target))
            continue;
        attempt->is_withdrawn = true;
        scheduler->runner.stop(scheduler->runner.ctx, attempt->handle,
                               RUN_STOP_WITHDRAW);
    }
    scheduler->runner.flush(scheduler->runner.ctx);
}

static void take_committed(struct scheduler *scheduler, uint64_t num) {
    CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
    struct rollback_run *rollback_run = &scheduler->rollback_run;
    struct job rb;
    if (!read_rollback(scheduler, num, &arena, &rb))
        return; /* the next start finds it executing */
    struct tracked_job *tracked = scheduler_job_keep(scheduler, &rb);
    rollback_run->attempt =
        scheduler_attempt_new(scheduler, tracked, rb.attempt);
    rollback_run->give_up = wall_add_ms(
        scheduler->now, scheduler->options.hup_grace_ms + KILL_WAIT_MS);
    rollback_run->because = rollback_because(&rb, &rollback_run->arena);
    rollback_queue_forget(&scheduler->rollbacks, num);
    picker_close(scheduler->picker, tracked->job.target, num);
    clear_ahead(scheduler, tracked->job.target);
    scheduler->started++;
}

void scheduler_rollback_recover(struct scheduler *scheduler,
                                struct attempt *attempt) {
    struct rollback_run *rollback_run = &scheduler->rollback_run;
    rollback_run->attempt = attempt;
    rollback_run->begun = rollback_run->give_up = scheduler->now;
    picker_close(scheduler->picker, attempt->tracked->job.target,
                 attempt->tracked->num);
}

/* ---- stopping ------------------------------------------------------------ */

static void stop_member(struct scheduler *scheduler, uint64_t num) {
    struct tracked_job *tracked = scheduler_job_get(scheduler, num);
    if (!tracked || !tracked->executing || tracked->killer != RETRY_NOBODY)
        return;
    tracked->killer = RETRY_ROLLBACK;
    store_note(scheduler->batch, EVENT_SIGNAL, num, tracked->job.id,
               SPAN(REASON_HUP),
               scheduler->rollback_run.attempt->tracked->job.id);
    scheduler_stop_job(scheduler, tracked, RUN_STOP_HUP);
    scheduler_train_leave_killed(scheduler, tracked);
}

static void stop_members(struct scheduler *scheduler,
                         const struct rollback_decision *decision) {
    for (size_t i = 0; i < decision->count; i++)
        if (decision->members[i].fate == ROLLBACK_STOP)
            stop_member(scheduler, decision->members[i].node.num);
}

static void give_up(struct scheduler *scheduler,
                    const struct rollback_decision *decision) {
    CLEANUP(text_clear) struct text detail = TEXT_INIT;
    for (size_t i = 0; i < decision->count; i++) {
        const struct rollback_member *member = &decision->members[i];
        if (member->fate == ROLLBACK_STOP && detail.len == 0)
            text_addf(&detail, "'%.*s' has not ended", (int)member->node.id.len,
                      member->node.id.p);
    }
    struct retry_end end = {
        .result = RETRY_NOT_NOW, .exit_code = -1, .error = text_span(&detail)};
    struct retry_verdict verdict =
        scheduler_verdict_on(scheduler, scheduler->rollback_run.attempt, &end);
    end_without_process(scheduler, &verdict);
}

/* No member is running any more. */
static bool plan_revert(struct scheduler *scheduler, const struct job *rb,
                        const struct rollback_decision *decision) {
    if (!scheduler_rollback_members(scheduler, rb, decision)) {
        scheduler->again_at = wall_add_ms(scheduler->now, AGAIN_MS);
        return false;
    }
    if (scheduler->rollback_run.revert_count == 0) {
        struct retry_verdict verdict = retry_verdict_make(
            STATE_DONE, REASON_OK, SPAN("nothing of it had landed"));
        end_without_process(scheduler, &verdict);
        return false;
    }
    take_entries(&scheduler->rollback_run, decision);
    scheduler_plan_add(scheduler, PLAN_REVERT)->num = rb->num;
    plan_write(scheduler, rb->num, ROLLBACK_REVERTING);
    return true;
}

static void plan_more(struct scheduler *scheduler, const struct job *rb,
                      const struct rollback_decision *decision) {
    store_batch_atomic(scheduler->batch);
    plan_abandons(scheduler, rb->id, decision);
    take_entries(&scheduler->rollback_run, decision);
    scheduler_plan_add(scheduler, PLAN_MORE)->num = rb->num;
    plan_write(scheduler, rb->num, ROLLBACK_STOPPING);
}

/* True if it has planned something. */
static bool plan_step(struct scheduler *scheduler,
                      const struct rollback_situation *situation) {
    const struct job *rb = &scheduler->rollback_run.attempt->tracked->job;
    struct retry_verdict verdict;
    switch (rollback_step_next(situation, &verdict)) {
    case ROLLBACK_STEP_END:
        end_without_process(scheduler, &verdict);
        return false;
    case ROLLBACK_STEP_ABANDON:
        plan_more(scheduler, rb, situation->decision);
        return true;
    case ROLLBACK_STEP_REVERT:
        return plan_revert(scheduler, rb, situation->decision);
    case ROLLBACK_STEP_GIVE_UP:
        give_up(scheduler, situation->decision);
        return false;
    case ROLLBACK_STEP_STOP:
        stop_members(scheduler, situation->decision);
        return false;
    }
    return false;
}

static bool plan_stopping(struct scheduler *scheduler) {
    const struct rollback_run *rollback_run = &scheduler->rollback_run;
    struct tracked_job *tracked = rollback_run->attempt->tracked;
    struct rollback_situation situation = {
        .killer = tracked->killer,
        .has_members = rollback_run->count > 0,
        .is_late = scheduler->now.ns >= rollback_run->give_up.ns,
    };
    struct rollback_plan rollback_plan;
    if (tracked->killer != RETRY_NOBODY)
        return plan_step(scheduler, &situation);
    if (!look_around(scheduler, &tracked->job, &rollback_plan))
        return false;
    situation.decision = &rollback_plan.decision;
    situation.to_abandon = count_to_abandon(scheduler, situation.decision);
    bool planned = plan_step(scheduler, &situation);
    rollback_plan_clear(&rollback_plan);
    return planned;
}

bool scheduler_rollback_plan(struct scheduler *scheduler) {
    const struct rollback_run *rollback_run = &scheduler->rollback_run;
    if (!rollback_run->attempt)
        return plan_next(scheduler);
    if (rollback_run->attempt->is_started || rollback_run->verdict_known)
        return false;
    return plan_stopping(scheduler);
}

/* ---- its process --------------------------------------------------------- */

static void revert_committed(struct scheduler *scheduler) {
    struct rollback_run *rollback_run = &scheduler->rollback_run;
    struct attempt *attempt = rollback_run->attempt;
    struct run_start order = {
        .handle = attempt->handle,
        .job = &attempt->tracked->job,
        .attempt = attempt->number,
        .members = rollback_run->reverts,
        .member_count = rollback_run->revert_count,
        .because = rollback_run->because,
    };
    attempt->is_started = attempt->is_lasting = true;
    scheduler->running++;
    struct arena arena = ARENA_INIT;
    scheduler_read_approvals(scheduler, &arena, order.job, &order.set);
    scheduler->runner.start(scheduler->runner.ctx, &order);
    arena_clear(&arena);
    if (attempt->tracked->killer != RETRY_NOBODY)
        scheduler->runner.stop(scheduler->runner.ctx, attempt->handle,
                               scheduler_stop_kind(attempt->tracked));
}

void scheduler_rollback_committed(struct scheduler *scheduler,
                                  const struct plan *plan, bool ok) {
    if (!ok)
        return; /* decided again later */
    if (plan->kind == PLAN_REVERT)
        revert_committed(scheduler);
    else if (plan->kind == PLAN_TAKE &&
             store_batch_result(scheduler->batch, plan->op) == STORE_DONE)
        take_committed(scheduler, plan->num);
}

/* ---- the end ------------------------------------------------------------- */

/* The first set that the decision reverts and the plan does not have: it was
 * running when the plan was made, and has landed since. */
static const struct rollback_member *
find_landed(struct rollback_run *rollback_run,
            const struct rollback_decision *decision) {
    for (size_t i = 0; i < decision->count; i++) {
        const struct rollback_member *member = &decision->members[i];
        if (member->fate == ROLLBACK_REVERT &&
            entry_of(rollback_run, member->node.num) == NULL)
            return member;
    }
    return NULL;
}

void scheduler_rollback_reconsider(struct scheduler *scheduler,
                                   const struct attempt *attempt,
                                   struct retry_verdict *verdict) {
    CLEANUP(text_clear) struct text detail = TEXT_INIT;
    struct rollback_plan rollback_plan;
    if (verdict->to != STATE_FAILED ||
        strcmp(verdict->reason, REASON_RB_CONFLICT) != 0)
        return;
    if (!look_around(scheduler, &attempt->tracked->job, &rollback_plan)) {
        *verdict = retry_verdict_make(STATE_PENDING, REASON_RETURNED, SPAN(""));
        return;
    }
    const struct rollback_member *landed =
        find_landed(&scheduler->rollback_run, &rollback_plan.decision);
    if (landed != NULL) {
        text_addf(&detail, "'%.*s' has landed meanwhile and is a member too",
                  (int)landed->node.id.len, landed->node.id.p);
        *verdict = retry_verdict_make(STATE_PENDING, REASON_RETURNED,
                                      text_span(&detail));
    }
    rollback_plan_clear(&rollback_plan);
}

/* The plan as the registry has it: also one from before the start. */
static bool read_entries(struct scheduler *scheduler, uint64_t num,
                         struct store_rollback *ret_plan) {
    struct rollback_run *rollback_run = &scheduler->rollback_run;
    struct err err = {0};
    bool found = false;
    if (store_rollback(scheduler->store, num, &rollback_run->arena, ret_plan,
                       &found, &err) &&
        found &&
        rollback_entries_parse(ret_plan->members, &rollback_run->arena,
                               &rollback_run->entries, &rollback_run->count))
        return true;
    log_error("the plan of a rollback cannot be read, its members keep their "
              "states: job=%" PRIu64 " %s",
              num, err.text);
    rollback_run->count = 0;
    return false;
}

static bool member_state(struct scheduler *scheduler, uint64_t num,
                         enum job_state *ret_state) {
    CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
    struct job job;
    struct err err;
    if (!store_job(scheduler->store, num, &arena, &job, &err)) {
        scheduler_log_read_failure("the row", num, &err);
        return false;
    }
    *ret_state = job.state;
    return true;
}

static void plan_over(struct scheduler *scheduler, const struct job *rb) {
    struct rollback_run *rollback_run = &scheduler->rollback_run;
    struct err err;
    for (size_t i = 0; i < rollback_run->count; i++) {
        enum job_state state;
        if (member_state(scheduler, rollback_run->entries[i].num, &state) &&
            state == STATE_DONE)
            rollback_run->entries[i].outcome = ROLLBACK_REVERTED;
    }
    if (!rollback_marks(scheduler->store, scheduler->batch, rb->id,
                        &rollback_run->arena, &rollback_run->entries,
                        &rollback_run->count, &err))
        log_error("cannot mark all sets that were rolled back: %s job=%.*s",
                  err.text, (int)rb->id.len, rb->id.p);
    plan_write(scheduler, rb->num, ROLLBACK_OVER);
}

/* R6: members go back where they were; one that ran waits for its next
 * start. */
static void plan_undone(struct scheduler *scheduler, const struct job *rb) {
    const struct rollback_run *rollback_run = &scheduler->rollback_run;
    for (size_t i = 0; i < rollback_run->count; i++) {
        const struct rollback_entry *entry = &rollback_run->entries[i];
        enum job_state state;
        if (!member_state(scheduler, entry->num, &state) ||
            state != STATE_ABANDONED)
            continue;
        struct store_move move = {
            .num = entry->num,
            .from = STATE_ABANDONED,
            .to = rollback_return_state(entry->was),
            .reason = SPAN("rb-undone"),
            .detail = rb->id,
        };
        store_move(scheduler->batch, &move);
    }
    spare_members(scheduler);
    plan_write(scheduler, rb->num, ROLLBACK_UNDONE);
}

void scheduler_rollback_plan_end(struct scheduler *scheduler,
                                 struct attempt *attempt,
                                 const struct retry_verdict *verdict) {
    const struct job *rb = &attempt->tracked->job;
    struct store_rollback plan;
    if (!read_entries(scheduler, rb->num, &plan))
        return;
    scheduler->rollback_run.begun = plan.begun;
    if (verdict->to == STATE_DONE)
        plan_over(scheduler, rb);
    else
        plan_undone(scheduler, rb);
}

void scheduler_rollback_ended(struct scheduler *scheduler,
                              const struct attempt *attempt) {
    if (attempt != scheduler->rollback_run.attempt)
        return;
    picker_close(scheduler->picker, attempt->tracked->job.target, 0);
    arena_clear(&scheduler->rollback_run.arena);
    scheduler->rollback_run = (struct rollback_run){0};
}
