#include "scheduler/scheduler_train_leave.h"

#include "core/reason.h"
#include "scheduler/scheduler_train_follow.h"
#include "scheduler/scheduler_state.h"
#include "scheduler/scheduler_target.h"
#include "scheduler/scheduler_train_run.h"
#include "scheduler/target_train.h"

static enum train_departure departure_of(enum retry_killer killer) {
    switch (killer) {
    case RETRY_OPERATOR:
        return TRAIN_LEFT_ENDED;
    case RETRY_ROLLBACK:
        return TRAIN_LEFT_ROLLED_BACK;
    case RETRY_NOBODY:
    case RETRY_STOP:
        break;
    }
    return TRAIN_LEFT_ALIVE;
}

/* It leaves the train now, and X when nothing of it runs any more. */
void scheduler_train_leave_unit(struct scheduler *scheduler,
                                struct target_train *target,
                                struct target_unit *unit,
                                enum train_departure how, const char *reason,
                                struct span detail) {
    if (unit->leaves)
        return;
    scheduler->idle = false;
    target_unit_leave(unit);
    unit->is_proposal = unit->told = false;
    unit->verdict = retry_verdict_make(STATE_PENDING, reason, detail);
    scheduler_train_follow_ride(scheduler, unit, false);
    train_leave(target->train, unit->num, how);
}

void scheduler_train_leave_killed(struct scheduler *scheduler,
                                  const struct tracked_job *tracked) {
    struct target_train *target = target_train_of(scheduler, &tracked->job);
    struct target_unit *unit =
        target != NULL ? target_unit_of_set(target, tracked->num) : NULL;
    if (unit != NULL)
        scheduler_train_leave_unit(scheduler, target, unit,
                                   departure_of(tracked->killer), REASON_LEFT,
                                   tracked->job.id);
}

/* ---- unavailable targets ------------------------------------------------- */

/* The registry shows an outage in the last step of a set (target_recall). */
static void show_outage(struct scheduler *scheduler,
                        const struct target_train *target, struct span why) {
    if (list_empty(&target->units))
        return;
    const struct target_unit *unit =
        LIST_OF(target->units.next, struct target_unit, link);
    if (unit->executing || unit->leaves)
        return;
    struct store_move begin = {.num = unit->num,
                               .from = STATE_PENDING,
                               .to = STATE_EXECUTING,
                               .reason = SPAN(REASON_START)};
    struct store_move back = {.num = unit->num,
                              .from = STATE_EXECUTING,
                              .to = STATE_PENDING,
                              .reason = SPAN(REASON_UNAVAILABLE),
                              .detail = why};
    store_move(scheduler->batch, &begin);
    store_move(scheduler->batch, &back);
}

void scheduler_train_unavailable(struct scheduler *scheduler,
                                 struct target_train *target,
                                 enum target_step step, struct span why) {
    bool is_new = target_trouble(scheduler, target->name).p == NULL;
    if (is_new || step > target->outage)
        target->outage = step;
    target_unavailable(scheduler, target->name, why);
    if (is_new)
        show_outage(scheduler, target, why);
}

void scheduler_train_usable(struct scheduler *scheduler,
                            struct target_train *target,
                            enum target_step step) {
    if (step >= target->outage)
        target_usable(scheduler, target->name);
}

void scheduler_train_leave_outage(struct scheduler *scheduler,
                                  struct target_train *target) {
    struct span why = target_trouble(scheduler, target->name);
    if (target_again(scheduler, target->name).ns <= scheduler->now.ns)
        return;
    LIST_EACH (&target->units, link) {
        struct target_unit *unit = LIST_OF(link, struct target_unit, link);
        if (unit->executing && !unit->landing &&
            scheduler_train_is_quiet(scheduler, target, unit))
            scheduler_train_leave_unit(scheduler, target, unit,
                                       TRAIN_LEFT_ALIVE, REASON_UNAVAILABLE,
                                       why);
    }
}

/* ---- events -------------------------------------------------------------- */

/* A set in P that is no longer pending, or is held: the others of its group
 * join again when they can. */
static void pending_left(struct scheduler *scheduler,
                         struct target_train *target, uint64_t num,
                         enum train_departure how) {
    struct target_unit *unit = target_unit_of_set(target, num);
    target_waiting_forget(target, num);
    if (unit == NULL || unit->executing)
        return;
    /* A start or a move of it is being recorded, and will be refused. */
    scheduler_train_leave_unit(scheduler, target, unit, how, REASON_LEFT,
                               SPAN(""));
}

static void on_move(struct scheduler *scheduler,
                    const struct store_event *event) {
    if (event->from != STATE_PENDING || event->to == STATE_EXECUTING)
        return;
    LIST_EACH (&scheduler->trains, link)
        pending_left(scheduler, LIST_OF(link, struct target_train, link),
                     event->num,
                     event->to == STATE_ABANDONED ? TRAIN_LEFT_ROLLED_BACK
                                                  : TRAIN_LEFT_ENDED);
}

static void on_hold(struct scheduler *scheduler,
                    const struct store_event *event) {
    LIST_EACH (&scheduler->trains, link) {
        struct target_train *target = LIST_OF(link, struct target_train, link);
        struct target_unit *unit = target_unit_of_set(target, event->num);
        target_waiting_forget(target, event->num);
        if (unit != NULL)
            scheduler_train_leave_unit(scheduler, target, unit,
                                       TRAIN_LEFT_ALIVE, REASON_HELD,
                                       event->id);
    }
}

static void on_train(struct scheduler *scheduler,
                     const struct store_event *event) {
    struct target_train *target = target_train_find(scheduler, event->id);
    if (target == NULL)
        return;
    if (span_is(event->reason, REASON_RECHECK)) {
        train_recheck(target->train);
        target->environment.due = (struct wall){0};
    } else if (span_is(event->reason, REASON_FORGOTTEN)) {
        train_checks_changed(target->train);
    }
}

void scheduler_train_leave_event(struct scheduler *scheduler,
                                 const struct store_event *event) {
    if (event->kind == EVENT_MOVE)
        on_move(scheduler, event);
    else if (event->kind == EVENT_HOLD)
        on_hold(scheduler, event);
    else if (event->kind == EVENT_TRAIN && event->num == 0)
        on_train(scheduler, event);
}
