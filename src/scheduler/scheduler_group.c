/* Sets that land together (##group), as the scheduler sees them. core/groups
 * decides which sets and when; here the open members are passed to the order as
 * one entry, its proposals become steps of every member, and one attempt
 * carries all that are ready. */
#include "scheduler/scheduler_group.h"

#include <stdio.h>
#include <stdlib.h>

#include "lib/log.h"
#include "scheduler/group_read.h"
#include "scheduler/why.h"
#include "scheduler/scheduler_job.h"
#include "scheduler/scheduler_offer.h"
#include "scheduler/scheduler_plan.h"
#include "scheduler/scheduler_state.h"

/* Holds the entry of a group in the order; not one of the holds of life.def. */
#define HOLD_OF_GROUP (1u << 31)

/* ---- what a set replaces ------------------------------------------------- */

/* The ids of the sets that a member supersedes, directly or through others. */
struct replaced {
    struct arena arena;
    struct span *ids;
    size_t count, cap;
};

static void replaced_clear(struct replaced *replaced) {
    free(replaced->ids);
    arena_clear(&replaced->arena);
}

static bool is_replaced(const struct replaced *replaced, struct span id) {
    for (size_t i = 0; i < replaced->count; i++)
        if (span_equal(replaced->ids[i], id))
            return true;
    return false;
}

static void replaced_add(struct replaced *replaced,
                         const struct job_edge *edges, size_t count) {
    for (size_t i = 0; i < count; i++) {
        if (edges[i].kind != EDGE_SUPERSEDES ||
            is_replaced(replaced, edges[i].to))
            continue;
        if (replaced->count == replaced->cap) {
            replaced->cap = 2 * replaced->cap + 4;
            replaced->ids =
                mem_grow(replaced->ids, replaced->cap, sizeof(*replaced->ids));
        }
        replaced->ids[replaced->count++] =
            arena_span(&replaced->arena, edges[i].to);
    }
}

/* Adds what a set with these edges supersedes, and what that superseded. */
static bool replaced_find(struct scheduler *scheduler,
                          struct replaced *replaced,
                          const struct job_edge *edges, size_t count,
                          struct err *err) {
    size_t at = replaced->count;
    replaced_add(replaced, edges, count);
    for (; at < replaced->count; at++) {
        CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
        struct job_edge *more;
        struct job old;
        size_t more_count;
        bool found;
        if (!store_lookup(scheduler->store, replaced->ids[at], &arena, &old,
                          &found, err))
            return false;
        if (!found)
            continue;
        if (!store_edges_from(scheduler->store, old.num, &arena, &more,
                              &more_count, err))
            return false;
        replaced_add(replaced, more, more_count);
    }
    return true;
}

/* ---- joining ------------------------------------------------------------- */

/* Sets of that name that ended without landing before any of it was known. If
 * the first that is known is queued, no other live one is older: after a start
 * the queued ones come last, and they come in order of admission, as newcomers
 * do. So what ended before it was admitted is of another group. */
static void report_ended_sets(struct scheduler *scheduler,
                              const struct job *joined,
                              const struct group_id *group) {
    struct arena arena = ARENA_INIT;
    struct store_edge_to *edges;
    size_t count;
    struct err err;
    if (!store_edges_to(scheduler->store, group->name, &arena, &edges, &count,
                        &err)) {
        log_error("cannot read the sets of group '%.*s': %s",
                  (int)group->name.len, group->name.p, err.text);
        count = 0;
    }
    for (size_t i = 0; i < count; i++) {
        struct group_life life;
        struct job job;
        if (edges[i].kind != EDGE_GROUP ||
            !(STATE_BIT(edges[i].state) & STATES_FINAL) ||
            edges[i].state == STATE_DONE)
            continue;
        if (store_job(scheduler->store, edges[i].num, &arena, &job, &err) &&
            job_shares_group(joined, &job) &&
            !(joined->state == STATE_QUEUED &&
              job.state_seq < joined->admitted_seq) &&
            group_life_read(scheduler->store, &job, &life, &err))
            groups_ended(scheduler->groups, group, job.id, &life);
    }
    arena_clear(&arena);
}

static void join(struct scheduler *scheduler, const struct job *job,
                 const struct job_edge *edges, size_t edge_count) {
    struct arena arena = ARENA_INIT;
    struct job full = *job;
    struct err err;
    struct span *needs = arena_alloc(&arena, (edge_count + 1) * sizeof(*needs));
    size_t need_count = 0;
    for (size_t i = 0; i < edge_count; i++)
        if (edges[i].kind == EDGE_DEPENDENCY)
            needs[need_count++] = edges[i].to;
    CLEANUP(replaced_clear) struct replaced replaced = {0};
    if (!replaced_find(scheduler, &replaced, edges, edge_count, &err))
        scheduler_log_read_failure("the relations", job->num, &err);
    if (!store_job(scheduler->store, job->num, &arena, &full, &err))
        scheduler_log_read_failure("the row", job->num, &err);
    full.state = job->state;
    const struct group_id group = {.target = full.target,
                                   .submitter = full.actor,
                                   .name = group_of_edges(edges, edge_count)};
    struct group_life life;
    if (!group_life_read(scheduler->store, &full, &life, &err))
        scheduler_log_read_failure("the events", job->num, &err);
    life.ended_seq = 0;
    bool known = groups_knows(scheduler->groups, &group);
    struct group_member entry = {.life = life,
                                 .id = job->id,
                                 .group = group,
                                 .state = job->state,
                                 .holds = job->holds,
                                 .admitted =
                                     scheduler_job_admitted(scheduler, job),
                                 .key = job->key,
                                 .needs = needs,
                                 .need_count = need_count,
                                 .replaces = replaced.ids,
                                 .replace_count = replaced.count};
    groups_join(scheduler->groups, &entry);
    if (!known)
        report_ended_sets(scheduler, &full, &group);
    arena_clear(&arena);
}

/* ---- the entry in the order ---------------------------------------------- */

/* The union of the open members. */
struct whole {
    struct arena arena;
    struct order_entry entry;
    struct job_edge *edges;
    struct job_touch *touches;
    size_t edge_cap, touch_cap;
    struct span *ids; /* ids of all members */
    struct replaced replaced;
};

/* A dependency that the landing of the group itself satisfies: on a member, or
 * on a set that a member replaces (O10). */
static bool is_inside(const struct whole *whole, size_t count, struct span id) {
    for (size_t i = 0; i < count; i++)
        if (span_equal(whole->ids[i], id))
            return true;
    return is_replaced(&whole->replaced, id);
}

/* A member's SUPERSEDES edges are passed by order_outside: the successor is the
 * member itself, not the member that stands for the group. */
static void add_edges(struct whole *whole, const struct job_edge *edges,
                      size_t count, size_t members) {
    struct order_entry *entry = &whole->entry;
    for (size_t i = 0; i < count; i++) {
        if (edges[i].kind == EDGE_GROUP || edges[i].kind == EDGE_SUPERSEDES ||
            is_inside(whole, members, edges[i].to))
            continue;
        if (entry->edge_count == whole->edge_cap) {
            whole->edge_cap = 2 * whole->edge_cap + 16;
            whole->edges =
                mem_grow(whole->edges, whole->edge_cap, sizeof(*whole->edges));
        }
        whole->edges[entry->edge_count++] = edges[i];
    }
}

static void add_touches(struct whole *whole, const struct job_touch *touches,
                        size_t count) {
    struct order_entry *entry = &whole->entry;
    for (size_t i = 0; i < count; i++) {
        if (entry->touch_count == whole->touch_cap) {
            whole->touch_cap = 2 * whole->touch_cap + 16;
            whole->touches = mem_grow(whole->touches, whole->touch_cap,
                                      sizeof(*whole->touches));
        }
        whole->touches[entry->touch_count++] = touches[i];
    }
}

/* The first member gives the number, the most urgent one the key. `as`: its
 * state, or for an undecided member the state to which it may come back. */
static void add_job(struct whole *whole, const struct job *job,
                    enum job_state as) {
    struct order_entry *entry = &whole->entry;
    if (entry->num == 0) {
        entry->num = job->num;
        entry->id = job->id;
        entry->target = job->target;
        entry->job_class = job->job_class;
        entry->key = job->key;
        entry->rank = job->rank;
        entry->admitted = job->admitted;
        entry->state = STATE_ABANDONED;
        entry->was = as;
    }
    if (span_compare(job->key, entry->key) < 0) {
        entry->key = job->key;
        entry->job_class = job->job_class;
    }
    /* The entry is as far as the slowest member, except for undecided ones,
     * which make the others wait by a hold. */
    if (as < entry->was)
        entry->was = as;
    if (job->state == STATE_QUEUED ||
        (job->state == STATE_STAGED && entry->state == STATE_ABANDONED))
        entry->state = job->state;
    if (job->since.ns > entry->since.ns)
        entry->since = job->since;
    entry->holds |= job->holds;
}

static bool read_member(struct scheduler *scheduler, struct whole *whole,
                        uint64_t num, size_t members, struct err *err) {
    struct job job;
    struct job_relations relations;
    struct arena *arena = &whole->arena;
    if (!store_job(scheduler->store, num, arena, &job, err) ||
        !scheduler_entry_read(scheduler, &job, arena, &relations, err))
        return false;
    add_job(whole, &job,
            rollback_scope_stands_as(&scheduler->scope, num, job.state));
    add_edges(whole, relations.edges, relations.edge_count, members);
    whole->entry.inherits |= relations.inherits;
    add_touches(whole, relations.touches, relations.touch_count);
    return true;
}

static void whole_clear(struct whole *whole) {
    free(whole->edges);
    free(whole->touches);
    replaced_clear(&whole->replaced);
    arena_clear(&whole->arena);
}

static bool read_ids(struct scheduler *scheduler, struct whole *whole,
                     const uint64_t *nums, size_t count, struct err *err) {
    whole->ids = arena_alloc(&whole->arena, (count + 1) * sizeof(struct span));
    for (size_t i = 0; i < count; i++) {
        struct job job;
        struct job_edge *edges;
        size_t edge_count;
        if (!store_job(scheduler->store, nums[i], &whole->arena, &job, err) ||
            !store_edges_from(scheduler->store, nums[i], &whole->arena, &edges,
                              &edge_count, err) ||
            !replaced_find(scheduler, &whole->replaced, edges, edge_count, err))
            return false;
        whole->ids[i] = job.id;
    }
    return true;
}

static void stand(struct scheduler *scheduler, const uint64_t *nums,
                  size_t count, uint64_t entry) {
    for (size_t i = 0; i < count; i++)
        groups_enter(scheduler->groups, nums[i], entry);
}

/* Passes the open members of the group of `num` to the order, as one entry,
 * which goes to the end of the line like any newcomer. */
static void report_open(struct scheduler *scheduler, uint64_t num) {
    struct groups *groups = scheduler->groups;
    struct whole whole = {0};
    struct err err;
    uint64_t *nums;
    size_t count = groups_open(groups, num, &whole.arena, &nums);
    bool ok = read_ids(scheduler, &whole, nums, count, &err);
    for (size_t i = 0; ok && i < count; i++)
        ok = read_member(scheduler, &whole, nums[i], count, &err);
    if (!ok)
        scheduler_log_read_failure("its group", num, &err);
    stand(scheduler, nums, count, count > 0 ? nums[0] : 0);
    if (ok && count > 0) {
        whole.entry.edges = whole.edges;
        whole.entry.touches = whole.touches;
        whole.entry.aliases = whole.ids + 1;
        whole.entry.alias_count = count - 1;
        if (!groups_may_stage(groups, num))
            whole.entry.holds |= HOLD_OF_GROUP;
        order_admit(scheduler->order, &whole.entry);
    }
    whole_clear(&whole);
}

static bool state_is_open(enum job_state state) {
    return state == STATE_QUEUED || state == STATE_STAGED ||
           state == STATE_ABANDONED;
}

static void report(struct scheduler *scheduler, uint64_t num) {
    CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
    enum job_state state = groups_member_state(scheduler->groups, num);
    struct job_relations relations;
    struct job job;
    struct err err;
    if (state_is_open(state)) {
        report_open(scheduler, num);
        return;
    }
    if (!store_job(scheduler->store, num, &arena, &job, &err) ||
        !scheduler_entry_read(scheduler, &job, &arena, &relations, &err)) {
        scheduler_log_read_failure("the relations", num, &err);
        return;
    }
    job.state = state; /* the events of its next steps are still to come */
    groups_enter(scheduler->groups, num, num);
    scheduler_entry_admit(scheduler, &job, &relations);
}

/* Makes the entries of the order fit the groups of the name that `num`
 * belongs to. */
static void adjust(struct scheduler *scheduler, uint64_t num) {
    CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
    struct groups *groups = scheduler->groups;
    uint64_t *nums;
    size_t count = groups_strays(groups, num, &arena, &nums);
    for (size_t i = 0; i < count; i++) {
        if (groups_entry(groups, nums[i]) != 0)
            order_forget(scheduler->order, groups_entry(groups, nums[i]));
        groups_enter(groups, nums[i], 0);
    }
    for (size_t i = 0; i < count; i++)
        if (groups_entry(groups, nums[i]) == 0)
            report(scheduler, nums[i]);
}

bool scheduler_group_take(struct scheduler *scheduler, const struct job *job,
                          const struct job_relations *relations) {
    struct groups *groups = scheduler->groups;
    if (!job_has(job, JOB_CAN_BE_GROUPED) ||
        group_of_edges(relations->edges, relations->edge_count).len == 0)
        return false;
    if (groups_entry(groups, job->num) != 0)
        return true;
    if (!groups_has(groups, job->num))
        join(scheduler, job, relations->edges, relations->edge_count);
    if (state_is_open(job->state)) {
        adjust(scheduler, job->num);
        return true;
    }
    /* A ready member waits for no other and stands by itself. */
    groups_enter(groups, job->num, job->num);
    return false;
}

void scheduler_group_ended(struct scheduler *scheduler, const struct job *job) {
    CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
    struct job_edge *edges;
    struct store_edge_to *others;
    struct group_life life;
    struct err err;
    size_t count;
    if (!job_has(job, JOB_CAN_BE_GROUPED))
        return;
    if (!store_edges_from(scheduler->store, job->num, &arena, &edges, &count,
                          &err)) {
        scheduler_log_read_failure("the relations", job->num, &err);
        return;
    }
    const struct group_id group = {.target = job->target,
                                   .submitter = job->actor,
                                   .name = group_of_edges(edges, count)};
    if (group.name.len == 0 || !groups_knows(scheduler->groups, &group))
        return;
    if (!group_life_read(scheduler->store, job, &life, &err) ||
        !store_edges_to(scheduler->store, group.name, &arena, &others, &count,
                        &err)) {
        scheduler_log_read_failure("its group", job->num, &err);
        return;
    }
    groups_ended(scheduler->groups, &group, job->id, &life);
    for (size_t i = 0; i < count; i++)
        if (others[i].kind == EDGE_GROUP &&
            groups_has(scheduler->groups, others[i].num)) {
            adjust(scheduler, others[i].num);
            scheduler_offer_group(scheduler, others[i].num);
        }
}

/* ---- steps ----------------------------------------------------------------
 */

static unsigned holds_of(const struct scheduler *scheduler, uint64_t num,
                         uint64_t entry) {
    const struct groups *groups = scheduler->groups;
    unsigned holds = groups_holds(groups, num, entry);
    enum job_state state = groups_state(groups, num, entry);
    bool open = state == STATE_QUEUED || state == STATE_STAGED;
    return open && !groups_may_stage(groups, num) ? holds | HOLD_OF_GROUP
                                                  : holds;
}

/* A member under an entry ended: one of several, or the only one. */
static void member_left(struct scheduler *scheduler,
                        const struct store_event *event, uint64_t entry,
                        uint64_t other) {
    struct groups *groups = scheduler->groups;
    uint64_t under = groups_under(groups, other, entry);
    if (under == 0) {
        order_move(scheduler->order, entry, event->to, event->at, false);
    } else if (state_is_open(groups_member_state(groups, under))) {
        order_forget(scheduler->order, entry);
        groups_dissolve(groups, under, entry);
    }
}

bool scheduler_group_move(struct scheduler *scheduler,
                          const struct store_event *event, bool undecided) {
    struct groups *groups = scheduler->groups;
    uint64_t num = event->num;
    if (!groups_has(groups, num))
        return false;
    uint64_t entry = groups_entry(groups, num);
    uint64_t other = groups_other_member(groups, num);
    enum job_state before = groups_state(groups, num, entry);
    groups_move(groups, num, event->to, event->seq, undecided);
    if (!groups_has(groups, num)) {
        member_left(scheduler, event, entry, other);
        num = other;
    } else {
        enum job_state now = groups_state(groups, num, entry);
        if (now == STATE_NONE) /* all members are undecided */
            order_move(scheduler->order, entry, STATE_ABANDONED, event->at,
                       true);
        else if (now != before)
            order_move(scheduler->order, entry, now, event->at, false);
        order_hold(scheduler->order, entry, holds_of(scheduler, num, entry));
    }
    adjust(scheduler, num);
    if (num != 0)
        scheduler_offer_group(scheduler, num);
    return true;
}

void scheduler_group_settle(struct scheduler *scheduler) {
    uint64_t num;
    while (groups_settle(scheduler->groups, &num))
        adjust(scheduler, num);
}

bool scheduler_group_hold(struct scheduler *scheduler, uint64_t num,
                          unsigned holds) {
    struct groups *groups = scheduler->groups;
    if (!groups_hold(groups, num, holds))
        return false;
    uint64_t entry = groups_entry(groups, num);
    uint64_t leader = groups_leader(groups, num);
    order_hold(scheduler->order, entry, holds_of(scheduler, num, entry));
    if (leader != 0 && !groups_may_start(scheduler->groups, leader))
        picker_forget(scheduler->picker, leader);
    scheduler_offer_group(scheduler, num);
    return true;
}

/* ---- proposals ------------------------------------------------------------
 */

static void plan_member_move(struct scheduler *scheduler, uint64_t num,
                             enum job_state from, enum job_state to,
                             struct span reason, struct span detail) {
    struct store_move move = {
        .num = num, .from = from, .to = to, .reason = reason, .detail = detail};
    struct plan *plan = scheduler_plan_add(scheduler, PLAN_STAGE);
    plan->num = num;
    plan->op = store_move(scheduler->batch, &move);
}

/* A member's part of a proposal for the group. */
static void plan_member(struct scheduler *scheduler, uint64_t num,
                        const struct order_effect *effect) {
    struct store_batch *batch = scheduler->batch;
    enum job_state state = groups_member_state(scheduler->groups, num);
    struct span none = {0};
    switch (effect->kind) {
    case ORDER_STAGE:
        if (state == STATE_QUEUED) {
            store_record(batch, num, effect->precursors,
                         effect->precursor_count);
            plan_member_move(scheduler, num, STATE_QUEUED, STATE_STAGED,
                             effect->reason, none);
            break;
        } /* otherwise it was staged before the others came */
        store_splice(batch, num, effect->precursors, effect->precursor_count);
        break;
    case ORDER_SPLICE:
        store_splice(batch, num, effect->precursors, effect->precursor_count);
        break;
    case ORDER_RANK:
        store_rank(batch, num, effect->rank);
        break;
    case ORDER_READY:
    case ORDER_FOLLOW:
        plan_member_move(scheduler, num, STATE_STAGED, STATE_PENDING,
                         effect->reason, none);
        break;
    case ORDER_RECOMPUTE:
        if (state == STATE_STAGED)
            plan_member_move(scheduler, num, STATE_STAGED, STATE_QUEUED,
                             effect->reason, none);
        break;
    case ORDER_FAIL:
    case ORDER_OFFER:
    case ORDER_TO_PENDING_RB:
    default:
        break;
    }
}

/* A member that needs something unavailable fails for that reason; the others
 * fail with it once that is recorded. A cycle concerns all members. A member
 * that a rollback has abandoned fails when it has come back. */
static void plan_group_fail(struct scheduler *scheduler,
                            const struct order_effect *effect,
                            const uint64_t *nums, size_t count) {
    struct groups *groups = scheduler->groups;
    uint64_t whose =
        effect->about.len > 0
            ? groups_member_needing(groups, effect->num, effect->about)
            : 0;
    for (size_t i = 0; i < count; i++) {
        enum job_state from = groups_member_state(groups, nums[i]);
        bool legal = job_step_is_legal(from, STATE_FAILED, effect->reason);
        struct span reason = legal ? effect->reason : SPAN("group-failed");
        if ((whose == 0 || nums[i] == whose) &&
            job_step_is_legal(from, STATE_FAILED, reason))
            plan_member_move(scheduler, nums[i], from, STATE_FAILED, reason,
                             effect->detail);
    }
}

bool scheduler_group_effect(struct scheduler *scheduler,
                            const struct order_effect *effect) {
    struct groups *groups = scheduler->groups;
    struct arena arena = ARENA_INIT;
    uint64_t *nums;
    if (groups_entry(groups, effect->num) != effect->num)
        return false;
    /* Members that became ready before these land with them, but may be among
     * those that these follow through others. */
    if (effect->kind == ORDER_FOLLOW &&
        !groups_is_whole(groups, effect->num, effect->num))
        return true;
    size_t count =
        groups_members_under(groups, effect->num, effect->num, &arena, &nums);
    struct plan *plan = scheduler_plan_add(
        scheduler, effect->kind == ORDER_RANK ? PLAN_RANK : PLAN_STAGE);
    plan->num = effect->num;
    if (effect->kind == ORDER_FAIL)
        plan_group_fail(scheduler, effect, nums, count);
    else
        for (size_t i = 0; i < count; i++) {
            if (effect->kind == ORDER_READY || effect->kind == ORDER_FOLLOW)
                groups_propose(groups, nums[i]);
            plan_member(scheduler, nums[i], effect);
        }
    arena_clear(&arena);
    return true;
}

size_t scheduler_group_sets(struct scheduler *scheduler, uint64_t num,
                            struct arena *arena, uint64_t **ret_nums) {
    if (groups_has(scheduler->groups, num))
        return groups_landing(scheduler->groups, num, arena, ret_nums);
    *ret_nums = arena_alloc(arena, sizeof(**ret_nums));
    (*ret_nums)[0] = num;
    return 1;
}

void scheduler_group_plan_fails(struct scheduler *scheduler) {
    struct arena arena = ARENA_INIT;
    struct group_fail *fails;
    size_t count =
        groups_scan(scheduler->groups, scheduler->now,
                    scheduler->options.wait_for_dep_ms, &arena, &fails);
    for (size_t i = 0; i < count; i++) {
        struct tracked_job *tracked =
            scheduler_job_get(scheduler, fails[i].num);
        if (!tracked || !tracked->executing)
            plan_member_move(scheduler, fails[i].num, fails[i].from,
                             STATE_FAILED, span_of(fails[i].reason),
                             fails[i].detail);
    }
    arena_clear(&arena);
}

void scheduler_group_why(struct scheduler *scheduler, const struct job *job,
                         struct why *why) {
    struct span text =
        groups_why(scheduler->groups, job->num,
                   scheduler->options.wait_for_dep_ms, why->arena);
    if (text.len > 0)
        why_group(why, text);
}
