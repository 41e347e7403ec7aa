#include "scheduler/scheduler_follow.h"

#include <stdlib.h>
#include <string.h>

#include "scheduler/scheduler_job.h"
#include "scheduler/scheduler_offer.h"
#include "scheduler/scheduler_order.h"
#include "scheduler/scheduler_start.h"
#include "scheduler/scheduler_state.h"

/* The other process may be stopped, or decide otherwise: after this time, less
 * urgent jobs start. One that takes so many steps at once is not followed in
 * each of them. It knows no merge train, and never takes the step `follows`. */
enum { PATIENCE_MS = 5000, FOLLOWED_MAX = 1000 };

/* A step that the other process is about to take. */
struct followed {
    uint64_t num;
    struct wall since;
    struct span target; /* its bytes follow the struct */
    unsigned char urgency;
};

static void followed_drop(struct scheduler *scheduler,
                          struct followed *followed) {
    map_remove(&scheduler->followed, map_num_key(&followed->num));
    free(followed);
}

/* Nothing is less urgent than a development change. */
static void followed_add(struct scheduler *scheduler,
                         const struct order_effect *effect) {
    if (effect->urgency >= CLASS_DC ||
        map_count(&scheduler->followed) >= FOLLOWED_MAX ||
        map_get(&scheduler->followed, map_num_key(&effect->num)))
        return;
    struct followed *followed =
        mem_alloc(sizeof(*followed) + effect->target.len);
    char *bytes = (char *)(followed + 1);
    if (effect->target.len > 0)
        memcpy(bytes, effect->target.p, effect->target.len);
    *followed =
        (struct followed){.num = effect->num,
                          .since = scheduler->now,
                          .target = span_make(bytes, effect->target.len),
                          .urgency = effect->urgency};
    map_put(&scheduler->followed, map_num_key(&followed->num), followed);
}

/* A new rank has no event. */
static void offer_ranked(struct scheduler *scheduler,
                         const struct order_effect *effect) {
    CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
    struct job job;
    struct err err;
    if (!store_job(scheduler->store, effect->num, &arena, &job, &err)) {
        scheduler_log_read_failure("the row", effect->num, &err);
        return;
    }
    job.rank = effect->rank;
    if (job.state == STATE_PENDING)
        scheduler_offer(scheduler, &job);
}

void scheduler_follow_set_back(struct scheduler *scheduler, int64_t ms) {
    void *value;
    for (size_t at = 0; map_next(&scheduler->followed, &at, NULL, &value);) {
        struct followed *followed = value;
        followed->since = wall_set_back(followed->since, ms);
    }
}

static struct wall end_of(const struct followed *followed) {
    return wall_add_ms(followed->since, PATIENCE_MS);
}

/* Steps are collected although nothing is followed at the moment: the order
 * proposes each only once. */
void scheduler_follow_plan(struct scheduler *scheduler) {
    CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
    struct order_effect *effects;
    void *value;
    scheduler_order_answer(scheduler);
    size_t count =
        order_scan(scheduler->order, scheduler->now, &arena, &effects);
    for (size_t i = 0; i < count; i++) {
        if (effects[i].kind == ORDER_RANK)
            offer_ranked(scheduler, &effects[i]);
        else if (effects[i].kind == ORDER_OFFER)
            scheduler_offer_again(scheduler, effects[i].num);
        else if (effects[i].kind != ORDER_SPLICE &&
                 effects[i].kind != ORDER_FOLLOW)
            followed_add(scheduler, &effects[i]);
    }
    for (size_t at = 0; map_next(&scheduler->followed, &at, NULL, &value);) {
        struct followed *followed = value;
        if (end_of(followed).ns > scheduler->now.ns && scheduler->follows)
            scheduler_yield(scheduler, followed->target, followed->urgency,
                            followed->num);
    }
}

void scheduler_follow_forget(struct scheduler *scheduler, uint64_t num) {
    struct followed *followed =
        map_get(&scheduler->followed, map_num_key(&num));
    if (followed)
        followed_drop(scheduler, followed);
}

struct wall scheduler_follow_next(const struct scheduler *scheduler) {
    struct wall next = WALL_NEVER;
    void *value;
    for (size_t at = 0; map_next(&scheduler->followed, &at, NULL, &value);) {
        struct wall end = end_of(value);
        if (end.ns > scheduler->now.ns && end.ns < next.ns)
            next = end;
    }
    return scheduler->follows ? next : WALL_NEVER;
}

void scheduler_follow_clear(struct scheduler *scheduler) {
    void *value;
    for (size_t at = 0; map_next(&scheduler->followed, &at, NULL, &value);)
        free(value);
    map_clear(&scheduler->followed);
}
