#include "scheduler/scheduler_train_run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/reason.h"
#include "scheduler/scheduler_bases.h"
#include "scheduler/scheduler_job.h"
#include "scheduler/scheduler_state.h"

/* The answer of a merge is one line of at most 4,000 bytes. */
enum { STEPS_MAX = 32, STEP_SETS_MAX = 256 };

/* ---- sets ---------------------------------------------------------------- */

struct span *scheduler_train_ids(struct scheduler *scheduler,
                                 const struct target_unit *unit,
                                 struct arena *arena, size_t *ret_count) {
    size_t count = unit != NULL ? unit->set_count : 0;
    struct span *ids = arena_alloc(arena, (count + 1) * sizeof(*ids));
    for (size_t i = 0; i < count; i++) {
        struct job job;
        struct err err;
        if (!store_job(scheduler->store, unit->sets[i], arena, &job, &err))
            scheduler_log_read_failure("the row", unit->sets[i], &err);
        else
            ids[i] = job.id;
    }
    *ret_count = count;
    return ids;
}

static bool read_set(struct scheduler *scheduler, uint64_t num,
                     struct arena *arena, struct run_set *ret_set) {
    struct job *job = arena_alloc(arena, sizeof(*job));
    struct err err;
    if (!store_job(scheduler->store, num, arena, job, &err)) {
        scheduler_log_read_failure("the row", num, &err);
        return false;
    }
    scheduler_read_approvals(scheduler, arena, job, ret_set);
    scheduler_bases_read(scheduler, arena, ret_set);
    return true;
}

static bool has_set(const struct target_unit *unit, uint64_t num) {
    for (size_t i = 0; i < unit->set_count; i++)
        if (unit->sets[i] == num)
            return true;
    return false;
}

static bool is_run_for(const struct attempt *attempt,
                       const struct target_train *target,
                       const struct target_unit *unit) {
    return attempt->train == target && attempt->checks &&
           has_set(unit, attempt->tracked->num);
}

bool scheduler_train_is_quiet(const struct scheduler *scheduler,
                              const struct target_train *target,
                              const struct target_unit *unit) {
    (void)target;
    for (size_t i = 0; i < unit->set_count; i++) {
        const struct tracked_job *tracked =
            map_get(&scheduler->jobs, map_num_key(&unit->sets[i]));
        if (tracked != NULL && tracked->attempts > 0)
            return false;
    }
    return true;
}

/* ---- stops --------------------------------------------------------------- */

static void stop(struct scheduler *scheduler, struct attempt *attempt) {
    attempt->stopped = true;
    if (!attempt->is_started || attempt->is_ended)
        return;
    scheduler->runner.stop(scheduler->runner.ctx, attempt->handle,
                           RUN_STOP_TERM);
    scheduler->runner.flush(scheduler->runner.ctx);
}

void scheduler_train_stop(struct scheduler *scheduler,
                          struct target_train *target, uint64_t num) {
    struct target_unit *unit = num != 0 ? target_unit_find(target, num) : NULL;
    struct attempt *attempt = num == 0       ? target->tip_run
                              : unit != NULL ? unit->run
                                             : NULL;
    if (attempt != NULL)
        stop(scheduler, attempt);
}

void scheduler_train_stop_unit(struct scheduler *scheduler,
                               struct target_train *target,
                               struct target_unit *unit) {
    LIST_EACH (&scheduler->attempts, link) {
        struct attempt *attempt = LIST_OF(link, struct attempt, link);
        if (is_run_for(attempt, target, unit) && !attempt->stopped)
            stop(scheduler, attempt);
    }
}

void scheduler_train_stop_landing(struct scheduler *scheduler,
                                  struct target_train *target) {
    target->stop_landing = true;
    if (target->landing != NULL)
        stop(scheduler, target->landing);
}

/* ---- merges -------------------------------------------------------------- */

static void merge_start(struct scheduler *scheduler,
                        struct target_train *target,
                        const struct run_train *train,
                        const struct run_set *sets, size_t count) {
    target->merge_handle = ++scheduler->next_handle;
    target->merge_ended = false;
    struct run_start start = {.handle = target->merge_handle,
                              .job = sets[0].job,
                              .set = sets[0],
                              .sets = sets,
                              .set_count = count,
                              .train = train};
    scheduler->runner.start(scheduler->runner.ctx, &start);
    scheduler->runner.flush(scheduler->runner.ctx);
}

void scheduler_train_read_tip(struct scheduler *scheduler,
                              struct target_train *target) {
    CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
    struct run_set set = {0};
    if (target->merge_handle != 0 || scheduler_rests_sets(scheduler) ||
        target->tip_again.ns > scheduler->now.ns || list_empty(&target->units))
        return;
    uint64_t num = LIST_OF(target->units.next, struct target_unit, link)->num;
    if (!read_set(scheduler, num, &arena, &set))
        return;
    target->step_count = target->step_cut = 0;
    struct run_train train = {.task = RUN_TRAIN_MERGE, .target = target->name};
    merge_start(scheduler, target, &train, &set, 1);
}

/* As many steps as one answer has room for. */
static size_t cut_steps(struct target_train *target,
                        const struct train_effect *effect,
                        size_t *ret_set_count) {
    size_t count = 0;
    *ret_set_count = 0;
    for (; count < effect->step_count && count < STEPS_MAX; count++) {
        const struct target_unit *unit =
            target_unit_find(target, effect->steps[count].num);
        size_t sets = unit != NULL ? unit->set_count : 0;
        if (sets == 0 || (count > 0 && *ret_set_count + sets > STEP_SETS_MAX))
            break;
        *ret_set_count += sets;
    }
    return count;
}

void scheduler_train_merge(struct scheduler *scheduler,
                           struct target_train *target,
                           const struct train_effect *effect) {
    CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
    size_t set_count, at = 0;
    size_t cut = cut_steps(target, effect, &set_count);
    struct run_set *sets = arena_alloc(&arena, (set_count + 1) * sizeof(*sets));
    bool *joined = arena_alloc(&arena, set_count + 1);
    bool ok = cut > 0 && target->merge_handle == 0;
    target->steps =
        mem_grow(target->steps, effect->step_count, sizeof(*target->steps));
    target->step_count = effect->step_count;
    target->step_cut = cut;
    for (size_t i = 0; i < effect->step_count; i++)
        target->steps[i] = effect->steps[i].num;
    for (size_t i = 0; ok && i < cut; i++) {
        const struct target_unit *unit =
            target_unit_find(target, effect->steps[i].num);
        for (size_t k = 0; ok && k < unit->set_count; k++, at++) {
            ok = read_set(scheduler, unit->sets[k], &arena, &sets[at]);
            joined[at] = k + 1 < unit->set_count;
        }
    }
    if (!ok) {
        train_merge_ended(target->train, TRAIN_MERGE_AGAIN);
        target->merge_wait = true;
        return;
    }
    struct run_train train = {.task = RUN_TRAIN_MERGE,
                              .target = target->name,
                              .tree = arena_span(&arena, effect->tree),
                              .aside = effect->steps[0].aside,
                              .fresh = !target->has_objects,
                              .joined = joined};
    target->removals += !target->has_objects;
    target->has_objects = true;
    merge_start(scheduler, target, &train, sets, set_count);
}

/* ---- runs ---------------------------------------------------------------- */

/* The unit under whose last set the run is recorded. */
static struct target_unit *home_of(const struct target_train *target,
                                   const struct train_run *run) {
    uint64_t num = run->num != 0 ? run->num : run->about;
    if (num != 0)
        return target_unit_find(target, num);
    LIST_EACH (&((struct target_train *)(uintptr_t)target)->units, link) {
        struct target_unit *unit = LIST_OF(link, struct target_unit, link);
        if (!unit->leaves && !unit->moves && !unit->landing)
            return unit;
    }
    return NULL;
}

static bool can_begin(const struct target_unit *unit) {
    return unit != NULL && !unit->leaves && !unit->moves && !unit->told;
}

static bool rank_of(struct scheduler *scheduler, const struct target_unit *unit,
                    const struct train_run *run, struct arena *arena,
                    struct span *ret_rank) {
    struct job job;
    struct err err;
    *ret_rank = (struct span){0};
    if (run->position > 1 && run->worth_ppm < TRAIN_WORTH_RANKED)
        return true;
    if (!store_job(scheduler->store, unit->num, arena, &job, &err)) {
        scheduler_log_read_failure("the row", unit->num, &err);
        return false;
    }
    *ret_rank = job_rank(&job);
    return true;
}

static bool comes_before(struct span a, struct span b) {
    if (a.len == 0 || b.len == 0)
        return a.len > 0 && b.len == 0;
    return span_compare(a, b) < 0;
}

struct target_train *scheduler_train_best(struct scheduler *scheduler,
                                          struct train_run *ret_run,
                                          struct arena *arena,
                                          struct span *ret_rank) {
    struct target_train *best = NULL;
    LIST_EACH (&scheduler->trains, link) {
        struct target_train *target = LIST_OF(link, struct target_train, link);
        struct train_run run;
        struct span rank;
        if (target->closed != 0 || target->waits_for_batch ||
            !train_next_run(target->train, scheduler->now, &run))
            continue;
        const struct target_unit *unit = home_of(target, &run);
        if (!can_begin(unit) || unit->landing ||
            (unit->alone != NULL && run.position > 1) ||
            (run.num == 0 && target->tip_run_again.ns > scheduler->now.ns) ||
            !rank_of(scheduler, unit, &run, arena, &rank) ||
            picker_yields(scheduler->picker, target->name, rank))
            continue;
        if (best != NULL && !comes_before(rank, *ret_rank))
            continue;
        best = target;
        *ret_run = run;
        *ret_rank = rank;
    }
    return best;
}

/* P -> X for the sets of a unit. The last one gets the attempt. */
static bool plan_begin(struct scheduler *scheduler, struct target_unit *unit,
                       unsigned *ret_op) {
    for (size_t i = 0; i < unit->set_count; i++)
        if (scheduler_job_pending(scheduler, unit->sets[i]) == NULL)
            return false;
    for (size_t i = 0; i < unit->set_count; i++) {
        struct store_move move = {.num = unit->sets[i],
                                  .from = STATE_PENDING,
                                  .to = STATE_EXECUTING,
                                  .reason = SPAN(REASON_START),
                                  .begin_attempt = i + 1 == unit->set_count};
        *ret_op = store_move(scheduler->batch, &move);
        scheduler_job_execute(scheduler,
                              scheduler_job_get(scheduler, unit->sets[i]));
    }
    return true;
}

/* The candidate of the run contains the units that it is on top of. */
static void take_below(struct target_train *target, struct attempt *attempt,
                       uint64_t num) {
    CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
    struct train_place place;
    size_t count = 0;
    if (num == 0 || !train_find(target->train, num, &arena, &place))
        return;
    for (size_t i = 0; i < place.on_top_count; i++) {
        const struct target_unit *unit =
            target_unit_find(target, place.on_top_of[i]);
        if (unit == NULL)
            continue;
        attempt->below = mem_grow(attempt->below, count + unit->set_count,
                                  sizeof(*attempt->below));
        memcpy(attempt->below + count, unit->sets,
               unit->set_count * sizeof(*attempt->below));
        count += unit->set_count;
    }
    attempt->below_count = count;
}

/* The result counts for the circumstances in which the run began. */
static void note_key(struct scheduler *scheduler, struct target_train *target,
                     struct attempt *attempt, const struct target_unit *unit) {
    CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
    size_t count = 0;
    if (!target_train_remembers(target))
        return;
    struct span *ids = scheduler_train_ids(scheduler, unit, &arena, &count);
    struct span key = target_train_key(
        scheduler, target, span_of(attempt->tree), ids, count, &arena);
    snprintf(attempt->key, sizeof(attempt->key), "%.*s", (int)key.len, key.p);
}

bool scheduler_train_plan_run(struct scheduler *scheduler,
                              struct target_train *target,
                              const struct train_run *run) {
    struct target_unit *unit = home_of(target, run);
    bool begins = !unit->executing;
    unsigned op = 0;
    if (begins && unit->set_count > 1) {
        if (store_batch_count(scheduler->batch) > 0) {
            target->waits_for_batch = true;
            return true;
        }
        store_batch_atomic(scheduler->batch);
    }
    if (begins && !plan_begin(scheduler, unit, &op)) {
        target->waits_for_batch = true; /* its events report the rest */
        return true;
    }
    struct tracked_job *tracked = scheduler_job_get(scheduler, unit->num);
    struct attempt *attempt =
        scheduler_attempt_new(scheduler, tracked, tracked->job.attempt + 1);
    attempt->train = target;
    attempt->checks = true;
    attempt->unit = run->num;
    attempt->home = unit->num;
    attempt->begins = begins;
    snprintf(attempt->tree, sizeof(attempt->tree), "%.*s", (int)run->tree.len,
             run->tree.p);
    attempt->lane = target_lane_take(target);
    attempt->removals = target->removals;
    note_key(scheduler, target, attempt, run->num != 0 ? unit : NULL);
    take_below(target, attempt, run->num);
    unit->alone = NULL;
    if (run->num != 0)
        unit->run = attempt;
    else
        target->tip_run = attempt;
    unsigned assigned = scheduler_attempt_assign(scheduler, unit->num, SPAN(""),
                                                 attempt->number, !begins);
    picker_assigned(scheduler->picker, scheduler_attempt_slot(attempt),
                    (struct span){0});
    struct plan *plan = scheduler_plan_add(scheduler, PLAN_TRAIN_START);
    plan->train = target;
    plan->attempt = attempt;
    plan->op = begins ? op : assigned;
    /* The next attempt of the same turn gets another number. */
    tracked->job.attempt = attempt->number;
    scheduler->started += begins;
    train_run_begun(target->train, run->num, scheduler->now);
    return true;
}

void scheduler_train_spare(struct scheduler *scheduler) {
    LIST_EACH (&scheduler->trains, link) {
        struct target_train *target = LIST_OF(link, struct target_train, link);
        struct train_run run;
        uint64_t num;
        bool wants = target->closed == 0 &&
                     train_next_run(target->train, scheduler->now, &run);
        if ((wants && train_spare(target->train,
                                  run.interrupts ? TRAIN_CLAIM_INTERRUPT
                                                 : TRAIN_CLAIM_RUN,
                                  &num)) ||
            (picker_is_wanted(scheduler->picker) &&
             train_spare(target->train, TRAIN_CLAIM_OTHER, &num)))
            scheduler_train_stop(scheduler, target, num);
    }
}

/* ---- landings ------------------------------------------------------------ */

void scheduler_train_land(struct target_train *target,
                          const struct train_effect *effect) {
    struct arena *arena = &target->land_arena;
    arena_clear(arena);
    target->land_wanted = true;
    target->stop_landing = false;
    target->land_tip = arena_span(arena, effect->commit);
    target->land_count = effect->unit_count;
    target->land_units =
        arena_alloc(arena, effect->unit_count * sizeof(*effect->units));
    for (size_t i = 0; i < effect->unit_count; i++)
        target->land_units[i] = (struct train_landing_unit){
            effect->units[i].num, arena_span(arena, effect->units[i].tree)};
}

static void land_refuse(struct target_train *target,
                        enum train_landing_end end) {
    target->land_wanted = false;
    train_landing_ended(target->train, end, (struct span){0});
}

/* Runs of earlier candidates would go on beside the landing: their end is
 * awaited. */
static bool units_are_quiet(struct scheduler *scheduler,
                            struct target_train *target) {
    bool quiet = true;
    for (size_t i = 0; i < target->land_count; i++) {
        struct target_unit *unit =
            target_unit_find(target, target->land_units[i].num);
        if (unit == NULL || scheduler_train_is_quiet(scheduler, target, unit))
            continue;
        scheduler_train_stop_unit(scheduler, target, unit);
        quiet = false;
    }
    return quiet;
}

static bool plan_landing_set(struct scheduler *scheduler,
                             struct attempt *attempt, bool executing,
                             uint64_t num, unsigned *ret_op) {
    struct tracked_job *tracked = executing
                                      ? scheduler_job_get(scheduler, num)
                                      : scheduler_job_pending(scheduler, num);
    if (tracked == NULL)
        return false;
    unsigned number = tracked->job.attempt + 1;
    if (!executing)
        scheduler_attempt_begin(scheduler, num, SPAN(REASON_START));
    /* Only if it has begun: otherwise nothing of it is recorded. */
    *ret_op = scheduler_attempt_assign(scheduler, num, SPAN(""), number, true);
    if (tracked == attempt->tracked) {
        attempt->number = number;
        return true;
    }
    attempt->companions[attempt->companion_count++] =
        (struct companion){tracked, number};
    tracked->attempts++;
    scheduler_job_execute(scheduler, tracked);
    return true;
}

static size_t count_sets(const struct target_train *target) {
    size_t count = 0;
    for (size_t i = 0; i < target->land_count; i++) {
        const struct target_unit *unit =
            target_unit_find(target, target->land_units[i].num);
        if (!can_begin(unit))
            return 0;
        count += unit->set_count;
    }
    return count;
}

static struct tracked_job *first_of(struct scheduler *scheduler,
                                    const struct target_train *target) {
    const struct target_unit *unit =
        target_unit_find(target, target->land_units[0].num);
    return unit->executing ? scheduler_job_get(scheduler, unit->sets[0])
                           : scheduler_job_pending(scheduler, unit->sets[0]);
}

static bool plan_landing(struct scheduler *scheduler,
                         struct target_train *target, bool alone) {
    size_t count = count_sets(target);
    struct tracked_job *first = count > 0 ? first_of(scheduler, target) : NULL;
    if (first == NULL) {
        land_refuse(target, TRAIN_LANDING_REFUSED);
        return false;
    }
    if (alone)
        store_batch_atomic(scheduler->batch);
    struct attempt *attempt = scheduler_attempt_new(scheduler, first, 0);
    unsigned op = 0;
    attempt->train = target;
    snprintf(attempt->tree, sizeof(attempt->tree), "%.*s",
             (int)target->land_units[target->land_count - 1].tree.len,
             target->land_units[target->land_count - 1].tree.p);
    note_key(scheduler, target, attempt, NULL);
    attempt->companions = mem_alloc(count * sizeof(*attempt->companions));
    attempt->landing = mem_alloc(count * sizeof(*attempt->landing));
    target->landing = attempt;
    size_t at = 0;
    for (size_t i = 0; i < target->land_count; i++) {
        struct target_unit *unit =
            target_unit_find(target, target->land_units[i].num);
        unit->landing = true;
        scheduler->started += !unit->executing;
        for (size_t k = 0; k < unit->set_count; k++) {
            attempt->landing[at++] = unit->sets[k];
            if (!plan_landing_set(scheduler, attempt, unit->executing,
                                  unit->sets[k], &op))
                attempt->stopped = true;
        }
    }
    struct plan *plan = scheduler_plan_add(scheduler, PLAN_TRAIN_START);
    plan->train = target;
    plan->attempt = attempt;
    plan->op = op;
    target->land_wanted = false;
    return true;
}

static bool plan_landings(struct scheduler *scheduler) {
    LIST_EACH (&scheduler->trains, link) {
        struct target_train *target = LIST_OF(link, struct target_train, link);
        if (!target->land_wanted || target->landing != NULL ||
            target->landed != NULL)
            continue;
        if (target->stop_landing || target->closed != 0) {
            land_refuse(target, TRAIN_LANDING_STOPPED);
            scheduler->idle = false;
            continue;
        }
        if (units_are_quiet(scheduler, target) &&
            plan_landing(scheduler, target, true))
            return true;
    }
    return false;
}

/* True if one set lands by itself: if it may not begin, that undoes nothing
 * else. */
static bool lands_one(const struct target_train *target) {
    const struct target_unit *unit =
        target->land_count == 1
            ? target_unit_find(target, target->land_units[0].num)
            : NULL;
    return unit != NULL && unit->set_count == 1;
}

/* Whatever else the batch records may be what a more urgent set waits for. */
static bool only_landed(const struct scheduler *scheduler) {
    for (size_t i = 0; i < scheduler->plan_count; i++)
        if (scheduler->plans[i].kind != PLAN_TRAIN_END ||
            scheduler->plans[i].train->landed != scheduler->plans[i].attempt)
            return false;
    return true;
}

static bool records_landed(const struct scheduler *scheduler,
                           const struct target_train *target) {
    for (size_t i = 0; i < scheduler->plan_count; i++)
        if (scheduler->plans[i].attempt == target->landed)
            return target->landed != NULL;
    return false;
}

void scheduler_train_plan_next(struct scheduler *scheduler) {
    if (!only_landed(scheduler))
        return;
    LIST_EACH (&scheduler->trains, link) {
        struct target_train *target = LIST_OF(link, struct target_train, link);
        if (target->land_wanted && records_landed(scheduler, target) &&
            target->closed == 0 && !target->stop_landing && lands_one(target) &&
            units_are_quiet(scheduler, target))
            plan_landing(scheduler, target, false);
    }
}

/* The first run of a group. */
static bool plan_group_runs(struct scheduler *scheduler) {
    LIST_EACH (&scheduler->trains, link) {
        struct target_train *target = LIST_OF(link, struct target_train, link);
        struct train_run run;
        if (!target->waits_for_batch)
            continue;
        target->waits_for_batch = false;
        if (target->closed != 0 || picker_room(scheduler->picker) == 0 ||
            !train_next_run(target->train, scheduler->now, &run))
            continue;
        const struct target_unit *unit = home_of(target, &run);
        if (!can_begin(unit) || unit->landing)
            continue;
        scheduler_train_plan_run(scheduler, target, &run);
        if (store_batch_count(scheduler->batch) > 0)
            return true;
    }
    return false;
}

bool scheduler_train_plan_alone(struct scheduler *scheduler) {
    return plan_landings(scheduler) ||
           (!scheduler_rests_sets(scheduler) && plan_group_runs(scheduler));
}

/* ---- after the commit ---------------------------------------------------- */

void scheduler_train_attempt_free(struct scheduler *scheduler,
                                  struct attempt *attempt) {
    struct target_train *target = attempt->train;
    struct target_unit *unit =
        attempt->unit != 0 ? target_unit_find(target, attempt->unit) : NULL;
    if (unit != NULL && unit->run == attempt)
        unit->run = NULL;
    if (target->tip_run == attempt)
        target->tip_run = NULL;
    if (target->landing == attempt)
        target->landing = NULL;
    if (target->landed == attempt)
        target->landed = NULL;
    if (attempt->checks)
        target_lane_return(target, attempt->lane);
    scheduler_attempt_free(scheduler, attempt);
}

static void drop_sets(struct scheduler *scheduler,
                      const struct target_unit *unit) {
    for (size_t i = 0; i < unit->set_count; i++) {
        struct tracked_job *tracked =
            scheduler_job_get(scheduler, unit->sets[i]);
        if (tracked != NULL)
            scheduler_job_drop(scheduler, tracked);
    }
}

/* `ok`: a set was not executing and free any more, and its events report that.
 * Otherwise nothing could be recorded, and nothing will be reported. */
static void landing_failed(struct scheduler *scheduler,
                           struct target_train *target, struct attempt *attempt,
                           bool ok) {
    scheduler_train_attempt_free(scheduler, attempt);
    for (size_t i = 0; i < target->land_count; i++) {
        struct target_unit *unit =
            target_unit_find(target, target->land_units[i].num);
        if (unit == NULL)
            continue;
        unit->landing = false;
        if (!unit->executing)
            drop_sets(scheduler, unit);
    }
    train_landing_ended(target->train,
                        ok ? TRAIN_LANDING_REFUSED : TRAIN_LANDING_STOPPED,
                        (struct span){0});
}

static void run_failed(struct scheduler *scheduler, struct target_train *target,
                       struct attempt *attempt) {
    struct target_unit *unit = target_unit_find(target, attempt->home);
    struct tracked_job *tracked = attempt->tracked;
    uint64_t num = attempt->unit;
    bool begins = attempt->begins;
    tracked->job.attempt = attempt->number - 1;
    picker_ended(scheduler->picker, scheduler_attempt_slot(attempt), -1);
    scheduler_train_attempt_free(scheduler, attempt);
    if (begins && unit != NULL)
        drop_sets(scheduler, unit);
    train_run_ended(target->train, num, TRAIN_RUN_STOPPED, (struct span){0},
                    (struct span){0}, scheduler->now);
}

/* What lands, with approvers and bases, and the trees that were checked. */
static void fill_landing(struct scheduler *scheduler,
                         struct target_train *target, struct attempt *attempt,
                         struct arena *arena, struct run_start *start,
                         struct run_train *train) {
    size_t count = attempt->companion_count + 1, at = 0;
    struct run_set *sets = arena_alloc(arena, count * sizeof(*sets));
    struct span *trees = arena_alloc(arena, count * sizeof(*trees));
    bool *joined = arena_alloc(arena, count);
    for (size_t i = 0; i < target->land_count; i++) {
        const struct target_unit *unit =
            target_unit_find(target, target->land_units[i].num);
        for (size_t k = 0; k < unit->set_count; k++, at++) {
            struct tracked_job *tracked =
                scheduler_job_get(scheduler, unit->sets[k]);
            scheduler_read_approvals(scheduler, arena, &tracked->job,
                                     &sets[at]);
            scheduler_bases_read(scheduler, arena, &sets[at]);
            scheduler_needs_read(scheduler, arena, &sets[at]);
            joined[at] = k + 1 < unit->set_count;
            if (!joined[at])
                trees[at] = target->land_units[i].tree;
        }
    }
    start->set = sets[0];
    start->sets = sets;
    start->set_count = count;
    train->tip = target->land_tip;
    train->trees = trees;
    train->joined = joined;
}

static void fill_check(struct scheduler *scheduler, struct target_train *target,
                       struct attempt *attempt, struct arena *arena,
                       struct run_start *start, struct run_train *train) {
    const struct target_unit *unit = target_unit_find(target, attempt->home);
    size_t count = attempt->unit != 0 ? unit->set_count : 1;
    struct run_set *sets = arena_alloc(arena, count * sizeof(*sets));
    for (size_t i = 0; i < count; i++) {
        uint64_t num = attempt->unit != 0 ? unit->sets[i] : unit->num;
        sets[i].job = &scheduler_job_get(scheduler, num)->job;
    }
    start->set = sets[0];
    start->sets = sets;
    start->set_count = count;
    train->tree = span_of(attempt->tree);
    train->lane = attempt->lane;
    train->locks = attempt->unit != 0;
    struct run_set *below =
        arena_alloc(arena, (attempt->below_count + 1) * sizeof(*below));
    for (size_t i = 0; i < attempt->below_count; i++) {
        struct job *job = arena_alloc(arena, sizeof(*job));
        struct err err;
        if (!store_job(scheduler->store, attempt->below[i], arena, job, &err)) {
            scheduler_log_read_failure("the row", attempt->below[i], &err);
            *job = (struct job){.uid = UINT32_MAX}; /* of nobody */
        }
        below[i] = (struct run_set){.job = job};
    }
    train->below = below;
    train->below_count = attempt->below_count;
}

void scheduler_train_start_committed(struct scheduler *scheduler,
                                     const struct plan *plan, bool ok) {
    CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
    struct target_train *target = plan->train;
    struct attempt *attempt = plan->attempt;
    if (!ok || store_batch_result(scheduler->batch, plan->op) != STORE_DONE) {
        if (attempt->checks)
            run_failed(scheduler, target, attempt);
        else
            landing_failed(scheduler, target, attempt, ok);
        return;
    }
    attempt->tracked->job.attempt = attempt->number;
    for (size_t i = 0; i < attempt->companion_count; i++)
        attempt->companions[i].tracked->job.attempt =
            attempt->companions[i].number;
    struct run_train train = {.task = attempt->checks ? RUN_TRAIN_CHECK
                                                      : RUN_TRAIN_LAND,
                              .target = target->name,
                              .locks = true};
    struct run_start start = {.handle = attempt->handle,
                              .job = &attempt->tracked->job,
                              .attempt = attempt->number,
                              .train = &train};
    attempt->is_started = true;
    scheduler->running++;
    if (attempt->checks) {
        target_unit_find(target, attempt->home)->executing = true;
        fill_check(scheduler, target, attempt, &arena, &start, &train);
    } else {
        attempt->is_lasting = true;
        for (size_t i = 0; i < target->land_count; i++)
            target_unit_find(target, target->land_units[i].num)->executing =
                true;
        fill_landing(scheduler, target, attempt, &arena, &start, &train);
    }
    scheduler->runner.start(scheduler->runner.ctx, &start);
    if (attempt->stopped || scheduler_attempt_killer(attempt) != RETRY_NOBODY)
        scheduler->runner.stop(scheduler->runner.ctx, attempt->handle,
                               RUN_STOP_TERM);
}
