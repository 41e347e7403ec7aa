#include "scheduler/scheduler_train.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "lib/log.h"
#include "core/reason.h"
#include "core/retry_landing.h"
#include "scheduler/check_result.h"
#include "scheduler/scheduler_attempt.h"
#include "scheduler/scheduler_train_follow.h"
#include "scheduler/scheduler_group.h"
#include "scheduler/scheduler_offer.h"
#include "scheduler/scheduler_environment.h"
#include "scheduler/scheduler_state.h"
#include "scheduler/scheduler_target.h"
#include "scheduler/scheduler_train_end.h"
#include "scheduler/scheduler_train_leave.h"
#include "scheduler/scheduler_train_run.h"
#include "scheduler/scheduler_verdict.h"
#include "scheduler/target_train.h"

enum {
    PAGE_JOBS = 1000,
    POLL_MS = 5000,
    MERGE_DELAY_MS = 2000,
    FOLLOW_DELAY_MS = 2000,
    FOLLOW_DEPTH_MAX = 256
};

/* ---- joining ------------------------------------------------------------- */

static bool load_pending(struct scheduler *scheduler, struct err *err) {
    struct store_list list = {.states = STATE_BIT(STATE_PENDING),
                              .kinds = job_kinds_with(JOB_LANDS),
                              .limit = PAGE_JOBS};
    size_t count = PAGE_JOBS;
    while (count == PAGE_JOBS) {
        CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
        struct job *jobs;
        if (!store_jobs(scheduler->store, &list, &arena, &jobs, &count, err))
            return false;
        for (size_t i = 0; i < count; i++) {
            list.after_num = jobs[i].num;
            if (jobs[i].holds == 0)
                target_train_offer(scheduler, &jobs[i]);
        }
    }
    return true;
}

bool scheduler_train_load(struct scheduler *scheduler, struct err *err) {
    return list_empty(&scheduler->trains) ||
           !(scheduler->options.parts & SCHEDULER_STARTS) ||
           load_pending(scheduler, err);
}

/* Sets that ran before this start join in the order in which they had begun, so
 * that their candidates are the same again. */
bool scheduler_train_recall(struct scheduler *scheduler,
                            const struct job *job) {
    CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
    struct target_train *target = target_train_of(scheduler, job);
    struct store_attempt *rows;
    size_t count;
    struct err err;
    if (target == NULL || !store_attempts(scheduler->store, job->num, &arena,
                                          &rows, &count, &err))
        return false;
    if (count == 0) /* a group's attempt is that of its last set */
        return true;
    target_waiting_add(target, job->num, (struct wall){0});
    target_waiting_find(target, job->num)->begun = rows[0].assigned;
    return rows[count - 1].ended.ns != 0;
}

/* A job that is to join, with its row. */
struct joining {
    struct job job;
    struct wall begun;
    bool tried;
};

struct joins {
    struct map by_num; /* of struct joining */
    size_t depth;
};

static int compare_joining(const void *a, const void *b) {
    const struct joining *x = a, *y = b;
    bool x_ran = x->begun.ns > 0, y_ran = y->begun.ns > 0;
    if (x_ran != y_ran)
        return x_ran ? -1 : 1;
    if (x->begun.ns != y->begun.ns)
        return x->begun.ns < y->begun.ns ? -1 : 1;
    int order = span_compare(job_rank(&x->job), job_rank(&y->job));
    return order != 0 ? order
                      : (x->job.num > y->job.num) - (x->job.num < y->job.num);
}

static bool may_join(struct scheduler *scheduler, const struct job *job) {
    const struct tracked_job *tracked = scheduler_job_get(scheduler, job->num);
    return job->state == STATE_PENDING && job->holds == 0 &&
           job->not_before.ns <= scheduler->now.ns &&
           (tracked == NULL || !tracked->executing);
}

static bool read_ids(struct scheduler *scheduler, struct arena *arena,
                     const uint64_t *nums, size_t count,
                     struct train_set *sets) {
    for (size_t i = 0; i < count; i++) {
        struct job job;
        struct err err;
        if (!store_job(scheduler->store, nums[i], arena, &job, &err)) {
            scheduler_log_read_failure("the row", nums[i], &err);
            return false;
        }
        if (job.state != STATE_PENDING || job.holds != 0)
            return false;
        sets[i] = (struct train_set){nums[i], job.id};
    }
    return true;
}

/* Sets that may not start any more (daemon --jobs) do not join. */
static bool has_room(const struct scheduler *scheduler) {
    uint64_t limit = scheduler->options.job_limit, count = scheduler->started;
    if (limit == 0)
        return true;
    LIST_EACH (&((struct scheduler *)(uintptr_t)scheduler)->trains, link) {
        struct target_train *target = LIST_OF(link, struct target_train, link);
        LIST_EACH (&target->units, at)
            count += !LIST_OF(at, struct target_unit, link)->executing;
    }
    return count < limit;
}

static void join(struct scheduler *scheduler, struct target_train *target,
                 struct joins *joins, struct joining *joining);

/* What it follows joins first, if it is among those that are to join. False:
 * some of it is not on the train. */
static bool join_followed(struct scheduler *scheduler,
                          struct target_train *target, struct joins *joins,
                          const struct train_follow *follows, size_t count) {
    bool all = true;
    for (size_t i = 0; i < count; i++) {
        uint64_t num = follows[i].num;
        struct joining *followed = map_get(&joins->by_num, map_num_key(&num));
        if (followed != NULL && !train_has(target->train, num))
            join(scheduler, target, joins, followed);
        all = all && train_has(target->train, num);
    }
    return all;
}

/* False: not now. Unless it asks again later, it is offered when something
 * changes. */
static bool may_follow(struct scheduler *scheduler, struct target_train *target,
                       struct joins *joins, const struct train_entry *entry) {
    if (!target->target->train.follow)
        return entry->follow_count == 0;
    if (!join_followed(scheduler, target, joins, entry->follows,
                       entry->follow_count))
        return false;
    if (train_can_follow(target->train, entry->follows, entry->follow_count))
        return true;
    /* What it follows is about to leave. */
    target_waiting_add(target, entry->num,
                       wall_add_ms(scheduler->now, FOLLOW_DELAY_MS));
    return false;
}

static void join(struct scheduler *scheduler, struct target_train *target,
                 struct joins *joins, struct joining *joining) {
    CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
    const struct job *job = &joining->job;
    uint64_t *nums;
    if (joining->tried || joins->depth == FOLLOW_DEPTH_MAX)
        return;
    joining->tried = true;
    if (!has_room(scheduler))
        target_waiting_add(target, job->num, job->not_before);
    if (!has_room(scheduler) || !may_join(scheduler, job))
        return;
    size_t count = scheduler_group_sets(scheduler, job->num, &arena, &nums);
    struct train_set *sets = arena_alloc(&arena, (count + 1) * sizeof(*sets));
    struct train_follow *follows;
    struct train_entry entry = {
        .job_class = target_train_class(job), .sets = sets, .set_count = count};
    if (count == 0 || !read_ids(scheduler, &arena, nums, count, sets) ||
        !scheduler_train_follow_read(scheduler, nums, count, &arena, &follows,
                                     &entry.follow_count))
        return;
    entry.num = nums[count - 1];
    entry.follows = follows;
    joins->depth++;
    bool may = may_follow(scheduler, target, joins, &entry);
    joins->depth--;
    if (may && train_join(target->train, &entry))
        scheduler_train_follow_ride(scheduler,
                                    target_unit_new(target, nums, count),
                                    target->target->train.follow);
}

static bool recovers(const struct scheduler *scheduler,
                     const struct target_train *target) {
    LIST_EACH (&((struct scheduler *)(uintptr_t)scheduler)->ended, link) {
        const struct attempt *attempt = LIST_OF(link, struct attempt, link);
        if (attempt->recovery &&
            span_equal(attempt->tracked->job.target, target->name))
            return true;
    }
    return false;
}

static size_t read_waiting(struct scheduler *scheduler,
                           struct target_train *target, struct arena *arena,
                           struct joining **ret_joining) {
    size_t count = 0, cap = 0;
    struct joining *joining = NULL;
    struct list *head = &target->waiting, *next;
    for (struct list *link = head->next; link != head; link = next) {
        struct target_waiting *waiting =
            LIST_OF(link, struct target_waiting, link);
        struct err err;
        next = link->next;
        if (waiting->not_before.ns > scheduler->now.ns)
            continue;
        if (count == cap) {
            cap = cap > 0 ? 2 * cap : 16;
            joining = mem_grow(joining, cap, sizeof(*joining));
        }
        joining[count].begun = waiting->begun;
        joining[count].tried = false;
        if (store_job(scheduler->store, waiting->num, arena,
                      &joining[count].job, &err))
            count++;
        else
            scheduler_log_read_failure("the row", waiting->num, &err);
        target_waiting_forget(target, waiting->num);
    }
    *ret_joining = joining;
    return count;
}

static void join_all(struct scheduler *scheduler, struct target_train *target) {
    CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
    struct joining *joining;
    if (list_empty(&target->waiting) || recovers(scheduler, target) ||
        !has_room(scheduler))
        return;
    size_t count = read_waiting(scheduler, target, &arena, &joining);
    struct joins joins = {MAP_INIT, 0};
    if (count > 1)
        qsort(joining, count, sizeof(*joining), compare_joining);
    for (size_t i = 0; i < count; i++)
        map_put(&joins.by_num, map_num_key(&joining[i].job.num), &joining[i]);
    for (size_t i = 0; i < count; i++)
        join(scheduler, target, &joins, &joining[i]);
    map_clear(&joins.by_num);
    free(joining);
}

/* ---- leaving ------------------------------------------------------------- */

/* The scheduler starts nothing any more: sets go back when nothing of them
 * runs, or at once. */
static void return_all(struct scheduler *scheduler) {
    LIST_EACH (&scheduler->trains, link) {
        struct target_train *target = LIST_OF(link, struct target_train, link);
        LIST_EACH (&target->units, at) {
            struct target_unit *unit = LIST_OF(at, struct target_unit, link);
            if (unit->executing && !unit->landing &&
                (scheduler->returning ||
                 scheduler_train_is_quiet(scheduler, target, unit)))
                scheduler_train_leave_unit(scheduler, target, unit,
                                           TRAIN_LEFT_ALIVE, REASON_RETURNED,
                                           SPAN(""));
        }
    }
}

/* ---- steps of the sets --------------------------------------------------- */

static struct retry_verdict verdict_on_set(const struct target_unit *unit,
                                           const struct retry_carried *sets,
                                           size_t at) {
    switch (sets[at].killer) {
    case RETRY_OPERATOR:
        return retry_verdict_make(STATE_TERMINATED, REASON_OPERATOR, SPAN(""));
    case RETRY_ROLLBACK:
        return retry_verdict_make(STATE_ABANDONED, REASON_ROLLBACK, SPAN(""));
    case RETRY_STOP:
        return retry_verdict_make(STATE_PENDING, REASON_RETURNED, SPAN(""));
    case RETRY_NOBODY:
        break;
    }
    return retry_of_carried(sets, unit->set_count, at, &unit->verdict,
                            span_of(unit->verdict.detail));
}

static struct retry_carried *carried_of(struct scheduler *scheduler,
                                        const struct target_unit *unit,
                                        struct arena *arena) {
    struct retry_carried *sets =
        arena_alloc(arena, unit->set_count * sizeof(*sets));
    for (size_t i = 0; i < unit->set_count; i++) {
        struct tracked_job *tracked =
            scheduler_job_get(scheduler, unit->sets[i]);
        struct job job = {0};
        if (tracked == NULL)
            (void)store_job(scheduler->store, unit->sets[i], arena, &job, NULL);
        sets[i] = (struct retry_carried){
            tracked != NULL ? arena_span(arena, tracked->job.id) : job.id,
            tracked != NULL && unit->executing ? tracked->killer
                                               : RETRY_NOBODY};
    }
    return sets;
}

static void plan_moves(struct scheduler *scheduler, struct target_train *target,
                       struct target_unit *unit) {
    CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
    struct retry_carried *sets = carried_of(scheduler, unit, &arena);
    struct plan *plan = scheduler_plan_add(scheduler, PLAN_TRAIN_LEAVE);
    plan->train = target;
    plan->num = unit->num;
    unit->moves = true;
    for (size_t i = 0; i < unit->set_count; i++) {
        struct retry_verdict own = verdict_on_set(unit, sets, i);
        struct store_move move = {
            .num = unit->sets[i],
            .from = unit->executing ? STATE_EXECUTING : STATE_PENDING,
            .to = own.to,
            .reason = span_of(own.reason),
            .detail = span_of(own.detail),
            .not_before = own.not_before,
            .temps = own.temps,
            .crashes = own.crashes,
            .fails = own.fails,
            .clear_counts = own.clear_counts,
        };
        if (own.to == STATE_ABANDONED && scheduler->rollback_run.attempt) {
            move.rollback = scheduler->rollback_run.attempt->tracked->job.id;
            move.detail = move.rollback;
        }
        if (own.alarm)
            store_note(scheduler->batch, EVENT_ALARM, unit->sets[i], sets[i].id,
                       span_of(own.reason), span_of(own.detail));
        plan->op = store_move(scheduler->batch, &move);
        if (own.hold != 0)
            store_hold(scheduler->batch, unit->sets[i], (enum job_hold)own.hold,
                       span_of(own.reason));
    }
}

void scheduler_train_leave_committed(struct scheduler *scheduler,
                                     const struct plan *plan, bool ok) {
    struct target_train *target = plan->train;
    struct target_unit *unit = target_unit_find(target, plan->num);
    if (unit == NULL)
        return;
    unit->moves = false;
    if (!ok) {
        if (unit->is_proposal)
            train_again(target->train, unit->num);
        return;
    }
    if (unit->is_proposal)
        train_leave(target->train, unit->num, unit->departs);
    scheduler_train_follow_ride(scheduler, unit, false);
    size_t count = unit->set_count;
    uint64_t *sets = target_unit_free_but_sets(unit);
    for (size_t i = 0; i < count; i++) {
        struct tracked_job *tracked = scheduler_job_get(scheduler, sets[i]);
        if (tracked != NULL)
            scheduler_job_drop(scheduler, tracked);
        scheduler_offer_num(scheduler, sets[i]);
    }
    scheduler_offer_group(scheduler, sets[0]);
    free(sets);
}

/* Nothing of a unit that never began has to be recorded. */
static void pending_unit_forget(struct scheduler *scheduler,
                                struct target_unit *unit) {
    size_t count = unit->set_count;
    uint64_t *sets = target_unit_free_but_sets(unit);
    for (size_t i = 0; i < count; i++)
        scheduler_offer_num(scheduler, sets[i]);
    free(sets);
}

static void plan_departures(struct scheduler *scheduler,
                            struct target_train *target) {
    LIST_EACH (&target->leaving, link) {
        struct target_unit *unit =
            LIST_OF(link, struct target_unit, leave_link);
        if (unit->landing || unit->moves ||
            !scheduler_train_is_quiet(scheduler, target, unit))
            continue;
        if (unit->executing || unit->verdict.to != STATE_PENDING)
            plan_moves(scheduler, target, unit);
        else
            pending_unit_forget(scheduler, unit);
    }
}

/* ---- proposals ----------------------------------------------------------- */

static void answer(struct scheduler *scheduler, struct target_train *target) {
    struct train_question question;
    /* Keys of results need the configuration. */
    if (target->target == NULL || scheduler_environment_is_awaited(target))
        return;
    while (train_next_question(target->train, &question)) {
        CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
        const struct target_unit *unit =
            question.num != 0 ? target_unit_find(target, question.num) : NULL;
        struct span tree = arena_span(&arena, question.tree);
        size_t count = 0;
        struct span *ids = scheduler_train_ids(scheduler, unit, &arena, &count);
        struct span key =
            target_train_key(scheduler, target, tree, ids, count, &arena);
        struct train_record record = {0};
        struct err err;
        if (!check_result_find(scheduler->store, key, &record, &err))
            log_error("cannot read a result of checks: %s", err.text);
        train_record(target->train, question.num, tree, &record,
                     scheduler->now);
    }
}

/* The dependency of one of the unit's sets that is `about`, the first set of a
 * unit that ended, or else has ended like it. */
static bool find_dependency(struct scheduler *scheduler,
                            const struct target_unit *unit, uint64_t about,
                            struct arena *arena, struct job *ret_dependency,
                            uint64_t *ret_set) {
    enum {
        ENDED = STATE_BIT(STATE_FAILED) | STATE_BIT(STATE_TERMINATED) |
                STATE_BIT(STATE_ABANDONED)
    };
    for (size_t i = 0; i < 2 * unit->set_count; i++) {
        bool any = i >= unit->set_count;
        struct job_edge *edges;
        size_t count;
        *ret_set = unit->sets[i % unit->set_count];
        if (!store_edges_from(scheduler->store, *ret_set, arena, &edges, &count,
                              NULL))
            return false;
        for (size_t k = 0; k < count; k++) {
            bool found;
            if (edges[k].kind != EDGE_DEPENDENCY)
                continue;
            if (!store_lookup(scheduler->store, edges[k].to, arena,
                              ret_dependency, &found, NULL))
                return false;
            if (found && (any ? (ENDED & STATE_BIT(ret_dependency->state)) != 0
                              : ret_dependency->num == about))
                return true;
        }
    }
    return false;
}

/* "C2: dependency C1 failed": of a group, C2 needs it, and the others fail with
 * C2. */
static void dependency_detail(struct scheduler *scheduler,
                              const struct target_unit *unit,
                              const struct job *about, struct arena *arena,
                              struct text *out) {
    struct job dependency, set;
    uint64_t num;
    bool found =
        find_dependency(scheduler, unit, about->num, arena, &dependency, &num);
    if (!found)
        dependency = *about;
    if (found && unit->set_count > 1 &&
        store_job(scheduler->store, num, arena, &set, NULL)) {
        text_addspan(out, set.id);
        text_adds(out, ": ");
    }
    bool terminated =
        dependency.state == STATE_TERMINATED || dependency.cancel_asked;
    text_adds(out, "dependency ");
    text_addspan(out, dependency.id);
    text_adds(out, terminated ? " was terminated" : " failed");
}

/* What it followed, and how that ended. */
static void end_detail(struct scheduler *scheduler,
                       const struct target_unit *unit,
                       const struct train_effect *effect, struct text *out) {
    CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
    struct job about;
    text_addspan(out, effect->detail);
    if (effect->about == 0 || effect->detail.len > 0 ||
        !store_job(scheduler->store, effect->about, &arena, &about, NULL))
        return;
    if (effect->kind == TRAIN_FAIL)
        dependency_detail(scheduler, unit, &about, &arena, out);
    else
        text_addspan(out, about.id);
}

static void propose_end(struct scheduler *scheduler,
                        struct target_train *target,
                        const struct train_effect *effect) {
    struct target_unit *unit = target_unit_find(target, effect->num);
    if (unit == NULL)
        return;
    if (!scheduler_train_is_quiet(scheduler, target, unit)) {
        /* A run of an earlier candidate goes on. When it has ended, the train
         * decides again. */
        scheduler_train_stop_unit(scheduler, target, unit);
        unit->told = true;
        return;
    }
    struct tracked_job *tracked = scheduler_job_get(scheduler, unit->num);
    unit->is_proposal = true;
    unit->departs =
        effect->kind == TRAIN_FAIL ? TRAIN_LEFT_ENDED : TRAIN_LEFT_ALIVE;
    CLEANUP(text_clear) struct text detail = TEXT_INIT;
    end_detail(scheduler, unit, effect, &detail);
    char reason[JOB_REASON_BYTES];
    snprintf(reason, sizeof(reason), "%.*s", (int)effect->reason.len,
             effect->reason.p);
    if (effect->backoff && unit->executing && tracked != NULL)
        unit->verdict =
            scheduler_verdict_temporary(scheduler, tracked, effect->detail);
    else
        unit->verdict = retry_verdict_make(
            effect->kind == TRAIN_FAIL ? STATE_FAILED : STATE_PENDING, reason,
            text_span(&detail));
    if (unit->verdict.to == STATE_FAILED)
        unit->departs = TRAIN_LEFT_ENDED;
    if (unit->executing || unit->verdict.to != STATE_PENDING) {
        plan_moves(scheduler, target, unit);
        return;
    }
    /* It never began: it joins again, when it can. */
    uint64_t num = unit->num;
    scheduler_train_follow_ride(scheduler, unit, false);
    train_leave(target->train, num, TRAIN_LEFT_ALIVE);
    target_unit_free(unit);
    target_waiting_add(
        target, num,
        wall_add_ms(scheduler->now, effect->backoff ? MERGE_DELAY_MS : 0));
}

static void propose(struct scheduler *scheduler, struct target_train *target,
                    const struct train_effect *effect) {
    switch (effect->kind) {
    case TRAIN_MERGE:
        scheduler_train_merge(scheduler, target, effect);
        break;
    case TRAIN_STOP:
        scheduler_train_stop(scheduler, target, effect->num);
        break;
    case TRAIN_LAND:
        scheduler_train_land(target, effect);
        break;
    case TRAIN_STOP_LANDING:
        scheduler_train_stop_landing(scheduler, target);
        break;
    case TRAIN_FAIL:
    case TRAIN_LEAVE:
        propose_end(scheduler, target, effect);
        break;
    }
}

static unsigned closed_by(const struct scheduler *scheduler,
                          const struct target_train *target) {
    const struct attempt *rollback = scheduler->rollback_run.attempt;
    unsigned closed = 0;
    if (rollback != NULL &&
        span_equal(rollback->tracked->job.target, target->name))
        closed |= TRAIN_CLOSED_ROLLBACK;
    if (target->tip_wanted || scheduler_rests_sets(scheduler) ||
        target->target == NULL ||
        target_again(scheduler, target->name).ns > scheduler->now.ns)
        closed |= TRAIN_CLOSED_UNAVAILABLE;
    if (scheduler_environment_is_awaited(target))
        closed |= TRAIN_CLOSED_ENVIRONMENT;
    return closed;
}

/* Somebody else may have moved the branch. While a landing of ours is on its
 * way, it is not known who did. Without checks, the tip is only shown. */
static void look_at_tip(struct scheduler *scheduler,
                        struct target_train *target) {
    char commit[TRAIN_TREE_BYTES];
    if (target->landing != NULL)
        return;
    bool moved = scheduler->options.read_tip != NULL &&
                 scheduler->options.read_tip(scheduler->options.ctx,
                                             target->name, commit) &&
                 strcmp(commit, target->tip) != 0;
    if (target_train_checks(target)) {
        target->tip_wanted |= moved || target->tip[0] == '\0';
        return;
    }
    target->tip_wanted = false;
    if (!moved)
        return;
    memcpy(target->tip, commit, sizeof(target->tip));
    train_tip(target->train, span_of(commit), (struct span){0});
}

/* Its sets wait, and that is shown like any other outage. */
static void note_missing(struct scheduler *scheduler,
                         struct target_train *target) {
    CLEANUP(text_clear) struct text why = TEXT_INIT;
    if (target->target != NULL ||
        target_trouble(scheduler, target->name).p != NULL)
        return;
    text_addf(&why,
              "target '%.*s' is no longer configured; add it to "
              "pointsman.conf again",
              (int)target->name.len, target->name.p);
    scheduler_train_unavailable(scheduler, target, TARGET_STEP_MERGE,
                                text_span(&why));
}

static void plan_target(struct scheduler *scheduler,
                        struct target_train *target) {
    CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
    struct train_effect *effects;
    size_t count;
    scheduler_train_merge_take(scheduler, target);
    scheduler_environment_take(scheduler, target);
    if (target->target != NULL)
        join_all(scheduler, target);
    if (list_empty(&target->units))
        return;
    if (!target_train_is_empty(target)) {
        note_missing(scheduler, target);
        look_at_tip(scheduler, target);
    }
    scheduler_environment_plan(scheduler, target);
    unsigned closed = closed_by(scheduler, target);
    if (closed != target->closed)
        train_close(target->train, closed);
    target->closed = closed;
    scheduler_train_leave_outage(scheduler, target);
    if (target->tip_wanted && !target_train_is_empty(target))
        scheduler_train_read_tip(scheduler, target);
    target->merge_wait = false;
    do {
        if (target->target != NULL)
            join_all(scheduler, target);
        answer(scheduler, target);
        count = train_scan(target->train, scheduler->now, &arena, &effects);
        for (size_t i = 0; i < count; i++)
            propose(scheduler, target, &effects[i]);
    } while (count > 0 && !target->merge_wait);
    plan_departures(scheduler, target);
}

void scheduler_train_plan(struct scheduler *scheduler) {
    if (scheduler_rests_sets(scheduler))
        return_all(scheduler);
    LIST_EACH (&scheduler->trains, link)
        plan_target(scheduler, LIST_OF(link, struct target_train, link));
}

static struct wall earlier(struct wall a, struct wall b) {
    return a.ns < b.ns ? a : b;
}

struct wall scheduler_train_next(const struct scheduler *scheduler) {
    struct wall next = WALL_NEVER, now = scheduler->now;
    LIST_EACH (&((struct scheduler *)(uintptr_t)scheduler)->trains, link) {
        const struct target_train *target =
            LIST_OF(link, struct target_train, link);
        LIST_EACH (&((struct target_train *)(uintptr_t)target)->waiting, at) {
            struct wall due =
                LIST_OF(at, struct target_waiting, link)->not_before;
            if (due.ns > now.ns)
                next = earlier(next, due);
        }
        if (list_empty(&target->units))
            continue;
        next = earlier(next, train_next_time(target->train));
        struct wall again = target_again(scheduler, target->name);
        if (again.ns > now.ns)
            next = earlier(next, again);
        if (target->tip_again.ns > now.ns)
            next = earlier(next, target->tip_again);
        struct wall due = scheduler_environment_next(target);
        if (due.ns > now.ns)
            next = earlier(next, due);
        if (target->tip_run_again.ns > now.ns)
            next = earlier(next, target->tip_run_again);
        if (scheduler->options.read_tip != NULL)
            next = earlier(next, wall_add_ms(now, POLL_MS));
    }
    return next;
}

bool scheduler_train_is_busy(const struct scheduler *scheduler) {
    LIST_EACH (&((struct scheduler *)(uintptr_t)scheduler)->trains, link) {
        const struct target_train *target =
            LIST_OF(link, struct target_train, link);
        if (target->merge_handle != 0 || target->environment.handle != 0 ||
            !list_empty(&target->leaving))
            return true;
    }
    return false;
}

bool scheduler_train_executes(const struct scheduler *scheduler) {
    LIST_EACH (&((struct scheduler *)(uintptr_t)scheduler)->trains, link) {
        struct target_train *target = LIST_OF(link, struct target_train, link);
        LIST_EACH (&target->units, at)
            if (LIST_OF(at, struct target_unit, link)->executing)
                return true;
    }
    return false;
}

/* ---- events and explanations --------------------------------------------- */

/* Why a unit has left: what is or will be recorded of its last set. */
static void add_left(struct scheduler *scheduler,
                     const struct target_train *target, uint64_t num,
                     struct text *out) {
    CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
    const struct target_unit *unit = target_unit_find(target, num);
    const struct tracked_job *tracked = scheduler_job_get(scheduler, num);
    struct job job;
    text_adds(out, ", ");
    if (tracked != NULL && tracked->killer == RETRY_OPERATOR)
        text_adds(out, REASON_OPERATOR);
    else if (tracked != NULL && tracked->killer == RETRY_ROLLBACK)
        text_adds(out, REASON_ROLLBACK);
    else if (unit != NULL && unit->leaves)
        text_adds(out, unit->verdict.reason);
    else if (store_job(scheduler->store, num, &arena, &job, NULL))
        text_addspan(out, job.holds != 0 ? SPAN(REASON_HELD) : job.reason);
}

static void note_detail(struct scheduler *scheduler,
                        const struct target_train *target,
                        const struct train_note *note, struct text *out) {
    CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
    struct job about;
    if (note->position > 0)
        text_addf(out, "position %zu on the train of %.*s", note->position,
                  (int)target->name.len, target->name.p);
    else
        text_addf(out, "train of %.*s", (int)target->name.len, target->name.p);
    if (note->tree.len > 0)
        text_addf(out, ", tree %.*s", (int)note->tree.len, note->tree.p);
    if (note->about != 0 &&
        store_job(scheduler->store, note->about, &arena, &about, NULL))
        text_addf(out, ", %.*s", (int)about.id.len, about.id.p);
    if (note->kind == TRAIN_NOTE_LEFT)
        add_left(scheduler, target, note->num, out);
}

void scheduler_train_notes(struct scheduler *scheduler) {
    LIST_EACH (&scheduler->trains, link) {
        struct target_train *target = LIST_OF(link, struct target_train, link);
        struct train_note note;
        while (train_next_note(target->train, &note)) {
            CLEANUP(text_clear) struct text detail = TEXT_INIT;
            note_detail(scheduler, target, &note, &detail);
            target->counts[note.kind]++;
            store_note(scheduler->batch, EVENT_TRAIN, note.num,
                       note.num == 0 ? target->name : SPAN(""),
                       span_of(train_note_word(note.kind)), text_span(&detail));
        }
    }
}

bool scheduler_train_why(struct scheduler *scheduler, const struct job *job,
                         struct wall now, struct why *why) {
    CLEANUP(text_clear) struct text text = TEXT_INIT;
    struct target_train *target = target_train_of(scheduler, job);
    if (target == NULL ||
        !train_why(target->train, job->num, scheduler->options.slots,
                   (unsigned)scheduler->running, now, &text))
        return false;
    struct span line, rest = text_span(&text);
    while (span_cut(&rest, '\n', &line))
        why_add_text(why, "train", line);
    const struct target_unit *unit = target_unit_of_set(target, job->num);
    if (unit != NULL && unit->alone != NULL)
        why_add_text(why, "train", span_of(unit->alone));
    scheduler_environment_why(target, why);
    return true;
}
