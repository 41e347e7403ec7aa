#include "core/schedule_inner.h"

#include <stdlib.h>

enum {
    WINDOW_MAX = 4096,
    HORIZON_US = 200000, /* what begins within it may be assigned ahead */
    SHORT_MS = 100,      /* an attempt that earns trust */
    LONG_MS = 400        /* one that takes it away */
};

/* ---- lanes -------------------------------------------------------------- */

struct lane *lane_of(struct schedule *schedule, struct span target) {
    struct lane *lane = map_get(&schedule->lanes, target);

    if (lane == NULL) {
        lane = lane_new(target.len > 0 ? 1 : 0);
        map_put(&schedule->lanes, target, lane);
    }
    return lane;
}

void lane_changed(struct schedule *schedule, struct lane *lane) {
    bool wanted = lane->ready.count > 0 && !lane_is_full(lane);

    if (heap_has(&schedule->open, lane)) {
        if (wanted)
            heap_changed(&schedule->open, lane);
        else
            heap_remove(&schedule->open, lane);
    } else if (wanted) {
        heap_push(&schedule->open, lane);
    }
    if (lane_is_low(lane) && !lane_is_full(lane) && list_empty(&lane->hungry))
        list_push(&schedule->hungry, &lane->hungry);
}

void schedule_set_lanes(struct schedule *schedule, struct span target,
                        unsigned lanes) {
    struct lane *lane = lane_of(schedule, target);

    lane->limit = lanes;
    lane_changed(schedule, lane);
}

void schedule_close(struct schedule *schedule, struct span target,
                    uint64_t num) {
    struct lane *lane = lane_of(schedule, target);

    lane->closed_by = num;
    lane_changed(schedule, lane);
}

void schedule_pause(struct schedule *schedule, struct span target,
                    struct wall until) {
    struct lane *lane = lane_of(schedule, target);

    list_remove(&lane->in_paused);
    if (until.ns > 0)
        list_push(&schedule->paused, &lane->in_paused);
    lane->paused_until = until;
    lane_changed(schedule, lane);
}

/* ---- life --------------------------------------------------------------- */

struct schedule *schedule_new(const struct schedule_limits *limits) {
    struct schedule *schedule = mem_alloc(sizeof(*schedule));

    window_init(schedule);
    schedule_set_limits(schedule, limits);
    return schedule;
}

void schedule_free(struct schedule *schedule) {
    size_t at;
    void *value;

    if (schedule == NULL)
        return;
    window_clear(schedule);
    for (at = 0; map_next(&schedule->assigned, &at, NULL, &value);)
        free(value);
    for (at = 0; map_next(&schedule->lanes, &at, NULL, &value);)
        lane_free(value);
    map_clear(&schedule->assigned);
    map_clear(&schedule->lanes);
    free(schedule);
}

void schedule_set_limits(struct schedule *schedule,
                         const struct schedule_limits *limits) {
    schedule->limits = *limits;
    if (schedule->limits.window_max == 0)
        schedule->limits.window_max = WINDOW_MAX;
}

/* ---- slots -------------------------------------------------------------- */

unsigned schedule_assigned_count(const struct schedule *schedule) {
    return (unsigned)map_count(&schedule->assigned);
}

unsigned schedule_ahead(const struct schedule *schedule) {
    const struct schedule_limits *limits = &schedule->limits;
    uint64_t begun, slots, trust = 2 * (uint64_t)schedule->streak;

    if (schedule->mean_us == 0 || schedule->lasting >= limits->slots)
        return 0;
    slots = limits->slots - schedule->lasting;
    begun = slots * HORIZON_US / (uint64_t)schedule->mean_us;
    if (begun > trust)
        begun = trust;
    return begun < limits->ahead_max ? (unsigned)begun : limits->ahead_max;
}

static unsigned assigned_max(const struct schedule *schedule) {
    return schedule->limits.slots + schedule_ahead(schedule);
}

unsigned schedule_room(const struct schedule *schedule) {
    unsigned busy = schedule_assigned_count(schedule);

    return busy < assigned_max(schedule) ? assigned_max(schedule) - busy : 0;
}

unsigned schedule_excess(const struct schedule *schedule) {
    unsigned busy = schedule_assigned_count(schedule);

    return busy > assigned_max(schedule) ? busy - assigned_max(schedule) : 0;
}

static void lane_take(struct schedule *schedule, struct lane *lane,
                      uint64_t num) {
    struct assigned *assigned = mem_alloc(sizeof(*assigned));

    assigned->num = num;
    assigned->lane = lane;
    list_push(&lane->assigned, &assigned->in_lane);
    map_put(&schedule->assigned, num_key(&assigned->num), assigned);
    lane->busy++;
    lane_changed(schedule, lane);
}

void schedule_assigned(struct schedule *schedule, uint64_t num,
                       struct span target) {
    if (map_get(&schedule->assigned, num_key(&num)) != NULL)
        return;
    schedule_forget(schedule, num);
    lane_take(schedule, lane_of(schedule, target), num);
}

void schedule_lasting(struct schedule *schedule, uint64_t num) {
    struct assigned *assigned = map_get(&schedule->assigned, num_key(&num));

    if (assigned == NULL || assigned->lasting)
        return;
    assigned->lasting = true;
    schedule->lasting++;
}

static void learn(struct schedule *schedule, int64_t ran_ms) {
    int64_t us;

    if (ran_ms < 0)
        return;
    us = ran_ms == 0 ? 500 : ran_ms > 1000000 ? 1000000000 : ran_ms * 1000;
    if (schedule->mean_us == 0)
        schedule->mean_us = us;
    else
        schedule->mean_us += (us - schedule->mean_us) / 8;
    if (ran_ms >= LONG_MS)
        schedule->streak = 0;
    else if (ran_ms < SHORT_MS && schedule->streak < UINT16_MAX)
        schedule->streak++;
}

void schedule_ended(struct schedule *schedule, uint64_t num, int64_t ran_ms) {
    struct assigned *assigned = map_remove(&schedule->assigned, num_key(&num));

    if (assigned == NULL)
        return;
    if (assigned->lasting)
        schedule->lasting--;
    learn(schedule, ran_ms);
    list_remove(&assigned->in_lane);
    assigned->lane->busy--;
    lane_changed(schedule, assigned->lane);
    free(assigned);
}

bool schedule_pick(struct schedule *schedule, struct wall now,
                   uint64_t *ret_num) {
    struct lane *lane;
    struct entry *entry;

    window_tick(schedule, now);
    if (schedule_room(schedule) == 0)
        return false;
    lane = heap_first(&schedule->open);
    if (lane == NULL)
        return false;
    entry = heap_first(&lane->ready);
    *ret_num = entry->num;
    entry_drop(schedule, entry);
    lane_take(schedule, lane, *ret_num);
    return true;
}

/* ---- why ---------------------------------------------------------------- */

static uint64_t first_assigned(const struct lane *lane) {
    if (list_empty(&lane->assigned))
        return 0;
    return LIST_OF(lane->assigned.next, struct assigned, in_lane)->num;
}

/* What was assigned ahead does not run yet. */
static unsigned running(const struct schedule *schedule) {
    unsigned slots = schedule->limits.slots;
    unsigned assigned = schedule_assigned_count(schedule);

    if (schedule->lasting > slots)
        return schedule->lasting;
    return assigned < slots ? assigned : slots;
}

struct schedule_why schedule_why(const struct schedule *schedule,
                                 const struct schedule_job *job,
                                 struct wall now) {
    const struct lane *lane = map_get(&schedule->lanes, job->target);
    const struct lane *open = heap_first(&schedule->open);
    struct schedule_why why = {.slots = schedule->limits.slots,
                               .busy = running(schedule)};

    if (job->not_before.ns > now.ns) {
        why.reason = SCHEDULE_NOT_BEFORE;
        why.until = job->not_before;
    } else if (lane != NULL && lane->paused_until.ns > now.ns) {
        why.reason = SCHEDULE_NOT_BEFORE;
        why.until = lane->paused_until;
    } else if (lane != NULL && lane_is_full(lane)) {
        why.reason = SCHEDULE_LANE;
        why.behind = lane->closed_by ? lane->closed_by : first_assigned(lane);
    } else if (schedule_room(schedule) == 0) {
        why.reason = SCHEDULE_SLOT;
    } else if (open != NULL &&
               ((struct entry *)heap_first(&open->ready))->num != job->num) {
        why.reason = SCHEDULE_TURN;
        why.behind = ((struct entry *)heap_first(&open->ready))->num;
    }
    return why;
}
