/* One attempt that carries several sets: those of a group land together, the
 * first of them leads, the others ride. How it starts, all or nothing, whom it
 * carries, and what its end means for each of them. */
#include <stdio.h>

#include "scheduler/scheduler_inner.h"

/* ---- starting ----------------------------------------------------------- */

static void plan_carried(struct scheduler *scheduler, struct card *card,
                         unsigned number, struct attempt *attempt) {
    struct store_move move = {.num = card->num,
                              .from = STATE_PENDING,
                              .to = STATE_EXECUTING,
                              .reason = SPAN("start"),
                              .begin_attempt = true};
    struct store_attempt row = {.num = card->num,
                                .attempt = number,
                                .status = TASK_RUNNING,
                                .assigned = scheduler->now,
                                .exit_code = -1,
                                .worker = scheduler->options.worker};
    struct plan *plan = NULL;
    if (attempt) {
        plan = plan_add(scheduler, PLAN_START);
        plan->attempt = attempt;
    }
    unsigned op = store_move(scheduler->batch, &move);
    if (plan)
        plan->op = op;
    store_assign(scheduler->batch, &row);
}

static bool take_riders(struct scheduler *scheduler, struct attempt *attempt,
                        const uint64_t *nums, size_t count) {
    attempt->riders = mem_alloc(count * sizeof(*attempt->riders));
    attempt->landing = mem_alloc(count * sizeof(*attempt->landing));
    for (size_t i = 0; i < count; i++) {
        attempt->landing[i] = nums[i];
        if (nums[i] == attempt->card->num)
            continue;
        struct card *card = card_pending(scheduler, nums[i]);
        if (!card)
            return false;
        attempt->riders[attempt->rider_count++] =
            (struct rider){card, card->job.attempt + 1};
        card->attempts++;
        card_execute(scheduler, card);
    }
    return true;
}

void plan_group_start(struct scheduler *scheduler) {
    struct card *card = scheduler->group_next;
    struct arena arena = ARENA_INIT;
    uint64_t *nums;
    size_t count =
        together_landing(scheduler->together, card->num, &arena, &nums);
    struct attempt *attempt =
        attempt_new(scheduler, card, card->job.attempt + 1);
    scheduler->group_next = NULL;
    if (scheduler->draining || scheduler->fence.num != 0 || count == 0 ||
        !take_riders(scheduler, attempt, nums, count)) {
        group_start_failed(scheduler, attempt);
        arena_clear(&arena);
        return;
    }
    arena_clear(&arena);
    store_batch_atomic(scheduler->batch);
    plan_carried(scheduler, card, attempt->number, attempt);
    for (size_t i = 0; i < attempt->rider_count; i++)
        plan_carried(scheduler, attempt->riders[i].card,
                     attempt->riders[i].number, NULL);
}

void group_start_failed(struct scheduler *scheduler, struct attempt *attempt) {
    uint64_t leader = attempt->card->num;
    struct card *card = attempt->card;
    for (size_t i = 0; i < attempt->rider_count; i++) {
        attempt->riders[i].card->attempts--;
        card_drop(scheduler, attempt->riders[i].card);
    }
    attempt->rider_count = 0;
    schedule_ended(scheduler->schedule, leader, -1);
    attempt_free(scheduler, attempt);
    card_drop(scheduler, card);
    if (together_has(scheduler->together, leader))
        group_offer(scheduler, leader);
}

/* ---- under way ---------------------------------------------------------- */

bool attempt_carries(const struct attempt *attempt, const struct card *card) {
    if (attempt->card == card)
        return true;
    for (size_t i = 0; i < attempt->rider_count; i++)
        if (attempt->riders[i].card == card)
            return true;
    return false;
}

enum retry_killer attempt_killer(const struct attempt *attempt) {
    enum retry_killer killer = attempt->card->killer;
    for (size_t i = 0; killer == RETRY_NOBODY && i < attempt->rider_count; i++)
        killer = attempt->riders[i].card->killer;
    return killer;
}

/* ---- ending ------------------------------------------------------------- */

/* "C2: why" with the id of one of those that landed together. */
static struct span blamed(const struct attempt *attempt, struct span detail,
                          struct span *ret_why) {
    struct span id, rest = detail;
    *ret_why = detail;
    if (!span_cut(&rest, ':', &id) || rest.p == NULL)
        return (struct span){0};
    bool is_ours = span_equal(id, attempt->card->job.id);
    for (size_t i = 0; i < attempt->rider_count; i++)
        is_ours = is_ours || span_equal(id, attempt->riders[i].card->job.id);
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
    for (size_t i = 0; i < attempt->rider_count; i++)
        if (attempt->riders[i].card->killer == RETRY_OPERATOR)
            return attempt->riders[i].card->job.id;
    return attempt->card->job.id;
}

struct retry_verdict group_verdict(const struct attempt *attempt,
                                   const struct card *card,
                                   const struct retry_verdict *whole,
                                   struct span detail) {
    struct retry_verdict own = *whole;
    struct span why, id;
    CLEANUP(text_clear) struct text text = TEXT_INIT;
    if (attempt->rider_count == 0)
        return own;
    if (whole->to == STATE_DONE) {
        say(&own, whole->reason,
            commit_of(detail, card->job.id, card == attempt->card));
    } else if (whole->to == STATE_TERMINATED &&
               card->killer != RETRY_OPERATOR) {
        fail_with(&own, killed_one(attempt), "was cancelled");
    } else if (whole->to == STATE_ABANDONED && card->killer != RETRY_ROLLBACK) {
        own.to = STATE_PENDING; /* until that rollback is over */
        say(&own, "returned", SPAN(""));
    } else if (whole->to == STATE_FAILED) {
        id = blamed(attempt, detail, &why);
        if (id.len > 0 && span_equal(id, card->job.id)) {
            say(&own, whole->reason, why);
        } else if (id.len > 0) {
            text_addf(&text, "did not land: %s: %.*s", whole->reason,
                      (int)why.len, why.p);
            fail_with(&own, id, text_string(&text));
        }
    }
    return own;
}
