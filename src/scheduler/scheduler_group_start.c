/* One attempt that carries several sets: those of a group land together, the
 * first of them leads, the others ride. How it starts, all or nothing, whom it
 * carries, and what its end means for each of them. */
#include "scheduler/scheduler_group_start.h"

#include <stdio.h>

#include "scheduler/scheduler_attempt.h"
#include "scheduler/scheduler_job.h"
#include "scheduler/scheduler_offer.h"
#include "scheduler/scheduler_plan.h"
#include "scheduler/scheduler_state.h"

/* ---- starting ----------------------------------------------------------- */

static void plan_carried(struct scheduler *scheduler,
                         struct tracked_job *tracked, unsigned number,
                         struct attempt *attempt) {
    struct store_move move = {.num = tracked->num,
                              .from = STATE_PENDING,
                              .to = STATE_EXECUTING,
                              .reason = SPAN("start"),
                              .begin_attempt = true};
    struct store_attempt row = {.num = tracked->num,
                                .attempt = number,
                                .status = TASK_RUNNING,
                                .assigned = scheduler->now,
                                .exit_code = -1,
                                .worker = scheduler->options.worker};
    struct plan *plan = NULL;
    if (attempt) {
        plan = scheduler_plan_add(scheduler, PLAN_START);
        plan->attempt = attempt;
    }
    unsigned op = store_move(scheduler->batch, &move);
    if (plan)
        plan->op = op;
    store_assign(scheduler->batch, &row);
}

static bool take_companions(struct scheduler *scheduler,
                            struct attempt *attempt, const uint64_t *nums,
                            size_t count) {
    attempt->companions = mem_alloc(count * sizeof(*attempt->companions));
    attempt->landing = mem_alloc(count * sizeof(*attempt->landing));
    for (size_t i = 0; i < count; i++) {
        attempt->landing[i] = nums[i];
        if (nums[i] == attempt->tracked->num)
            continue;
        struct tracked_job *tracked = scheduler_job_pending(scheduler, nums[i]);
        if (!tracked)
            return false;
        attempt->companions[attempt->companion_count++] =
            (struct companion){tracked, tracked->job.attempt + 1};
        tracked->attempts++;
        scheduler_job_execute(scheduler, tracked);
    }
    return true;
}

void scheduler_group_plan_start(struct scheduler *scheduler) {
    struct tracked_job *tracked = scheduler->group_next;
    struct arena arena = ARENA_INIT;
    uint64_t *nums;
    size_t count =
        groups_landing(scheduler->groups, tracked->num, &arena, &nums);
    struct attempt *attempt =
        scheduler_attempt_new(scheduler, tracked, tracked->job.attempt + 1);
    scheduler->group_next = NULL;
    if (scheduler->draining || scheduler->scope.num != 0 || count == 0 ||
        !take_companions(scheduler, attempt, nums, count)) {
        scheduler_group_start_failed(scheduler, attempt);
        arena_clear(&arena);
        return;
    }
    arena_clear(&arena);
    store_batch_atomic(scheduler->batch);
    plan_carried(scheduler, tracked, attempt->number, attempt);
    for (size_t i = 0; i < attempt->companion_count; i++)
        plan_carried(scheduler, attempt->companions[i].tracked,
                     attempt->companions[i].number, NULL);
}

void scheduler_group_start_failed(struct scheduler *scheduler,
                                  struct attempt *attempt) {
    uint64_t leader = attempt->tracked->num;
    struct tracked_job *tracked = attempt->tracked;
    for (size_t i = 0; i < attempt->companion_count; i++) {
        attempt->companions[i].tracked->attempts--;
        scheduler_job_drop(scheduler, attempt->companions[i].tracked);
    }
    attempt->companion_count = 0;
    picker_ended(scheduler->picker, leader, -1);
    scheduler_attempt_free(scheduler, attempt);
    scheduler_job_drop(scheduler, tracked);
    if (groups_has(scheduler->groups, leader))
        scheduler_offer_group(scheduler, leader);
}

/* ---- ending ------------------------------------------------------------- */

/* "C2: why" with the id of one of those that landed together. */
static struct span blamed(const struct attempt *attempt, struct span detail,
                          struct span *ret_why) {
    struct span id, rest = detail;
    *ret_why = detail;
    if (!span_cut(&rest, ':', &id) || rest.p == NULL)
        return (struct span){0};
    bool is_ours = span_equal(id, attempt->tracked->job.id);
    for (size_t i = 0; i < attempt->companion_count; i++)
        is_ours =
            is_ours || span_equal(id, attempt->companions[i].tracked->job.id);
    if (!is_ours)
        return (struct span){0};
    *ret_why = span_trim(rest);
    return id;
}

/* "TIP C1:OID C2:OID" */
static struct span commit_of(struct span detail, struct span id, bool first) {
    struct span word, tip = {0}, rest = detail;
    while (span_cut(&rest, ' ', &word)) {
        struct span oid = word, name;
        if (tip.p == NULL)
            tip = first ? word : SPAN("");
        if (span_cut(&oid, ':', &name) && oid.p != NULL && span_equal(name, id))
            return oid;
    }
    return tip;
}

static void say(struct retry_verdict *verdict, const char *reason,
                struct span detail) {
    snprintf(verdict->reason, sizeof(verdict->reason), "%s", reason);
    snprintf(verdict->detail, sizeof(verdict->detail), "%.*s", (int)detail.len,
             detail.len > 0 ? detail.p : "");
}

static void fail_with(struct retry_verdict *verdict, struct span id,
                      const char *what) {
    CLEANUP(text_clear) struct text text = TEXT_INIT;
    text_addf(&text, "%.*s of its group %s", (int)id.len, id.p, what);
    verdict->to = STATE_FAILED;
    verdict->task = TASK_FAILED;
    say(verdict, "group-failed", text_span(&text));
}

static struct span killed_one(const struct attempt *attempt) {
    for (size_t i = 0; i < attempt->companion_count; i++)
        if (attempt->companions[i].tracked->killer == RETRY_OPERATOR)
            return attempt->companions[i].tracked->job.id;
    return attempt->tracked->job.id;
}

struct retry_verdict scheduler_group_verdict(const struct attempt *attempt,
                                             const struct tracked_job *tracked,
                                             const struct retry_verdict *whole,
                                             struct span detail) {
    struct retry_verdict own = *whole;
    struct span why, id;
    CLEANUP(text_clear) struct text text = TEXT_INIT;
    if (attempt->companion_count == 0)
        return own;
    if (whole->to == STATE_DONE) {
        say(&own, whole->reason,
            commit_of(detail, tracked->job.id, tracked == attempt->tracked));
    } else if (whole->to == STATE_TERMINATED &&
               tracked->killer != RETRY_OPERATOR) {
        fail_with(&own, killed_one(attempt), "was cancelled");
    } else if (whole->to == STATE_ABANDONED &&
               tracked->killer != RETRY_ROLLBACK) {
        own.to = STATE_PENDING; /* until that rollback is over */
        say(&own, "returned", SPAN(""));
    } else if (whole->to == STATE_FAILED) {
        id = blamed(attempt, detail, &why);
        if (id.len > 0 && span_equal(id, tracked->job.id)) {
            say(&own, whole->reason, why);
        } else if (id.len > 0) {
            text_addf(&text, "did not land: %s: %.*s", whole->reason,
                      (int)why.len, why.p);
            fail_with(&own, id, text_string(&text));
        }
    }
    return own;
}
