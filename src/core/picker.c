#include "core/picker_inner.h"

#include <limits.h>
#include <stdlib.h>

enum {
    WINDOW_MAX = 4096,
    HORIZON_US = 200000, /* jobs that start within it may be assigned ahead */
    SHORT_MS = 100,      /* an attempt this short earns trust */
    LONG_MS = 400        /* an attempt this long loses it */
};

/* ---- lanes -------------------------------------------------------------- */

struct picker_lane *picker_lane_find(struct picker *picker,
                                     struct span target) {
    struct picker_lane *lane = map_get(&picker->lanes, target);

    if (lane == NULL) {
        lane = picker_lane_new(target.len > 0 ? 1 : 0);
        map_put(&picker->lanes, target, lane);
    }
    return lane;
}

void picker_lane_changed(struct picker *picker, struct picker_lane *lane) {
    bool wanted = lane->ready.count > 0 && !picker_lane_is_full(lane);

    if (heap_has(&picker->open, lane)) {
        if (wanted)
            heap_changed(&picker->open, lane);
        else
            heap_remove(&picker->open, lane);
    } else if (wanted) {
        heap_push(&picker->open, lane);
    }
    if (picker_lane_is_low(lane) && !picker_lane_is_full(lane) &&
        list_empty(&lane->hungry))
        list_push(&picker->hungry, &lane->hungry);
}

void picker_set_lanes(struct picker *picker, struct span target,
                      unsigned lanes) {
    struct picker_lane *lane = picker_lane_find(picker, target);

    lane->limit = lanes;
    picker_lane_changed(picker, lane);
}

void picker_close(struct picker *picker, struct span target, uint64_t num) {
    struct picker_lane *lane = picker_lane_find(picker, target);

    lane->closed_by = num;
    picker_lane_changed(picker, lane);
}

void picker_pause(struct picker *picker, struct span target,
                  struct wall until) {
    struct picker_lane *lane = picker_lane_find(picker, target);

    list_remove(&lane->in_paused);
    if (until.ns > 0)
        list_push(&picker->paused, &lane->in_paused);
    lane->paused_until = until;
    picker_lane_changed(picker, lane);
}

/* ---- jobs that are about to become ready -------------------------------- */

void picker_yield(struct picker *picker, struct span target,
                  unsigned char urgency, uint64_t num) {
    struct picker_lane *lane = picker_lane_find(picker, target);

    if (lane->yields_to > 0 && lane->yield_urgency <= urgency)
        return;
    if (lane->yields_to == 0)
        list_push(&picker->yielding, &lane->in_yielding);
    lane->yields_to = num;
    lane->yield_urgency = urgency;
    picker_lane_changed(picker, lane);
}

void picker_yield_all(struct picker *picker, unsigned char urgency) {
    if (picker->all_yield && picker->yield_urgency <= urgency)
        return;
    picker->all_yield = true;
    picker->yield_urgency = urgency;
}

void picker_proceed(struct picker *picker) {
    struct list *link;

    picker->all_yield = false;
    while ((link = list_pop(&picker->yielding)) != NULL) {
        struct picker_lane *lane =
            LIST_OF(link, struct picker_lane, in_yielding);
        lane->yields_to = 0;
        picker_lane_changed(picker, lane);
    }
}

bool picker_yields(const struct picker *picker, struct span target,
                   struct span rank) {
    unsigned urgency = rank.len > 0 ? (unsigned char)rank.p[0] : UCHAR_MAX;
    const struct picker_lane *lane =
        target.len > 0 ? map_get(&picker->lanes, target) : NULL;

    return (picker->all_yield && urgency > picker->yield_urgency) ||
           (lane != NULL && lane->yields_to > 0 &&
            urgency > lane->yield_urgency);
}

/* ---- life --------------------------------------------------------------- */

struct picker *picker_new(const struct picker_limits *limits) {
    struct picker *picker = mem_alloc(sizeof(*picker));

    picker_window_init(picker);
    picker_set_limits(picker, limits);
    return picker;
}

void picker_free(struct picker *picker) {
    size_t at;
    void *value;

    if (picker == NULL)
        return;
    picker_window_clear(picker);
    for (at = 0; map_next(&picker->assigned, &at, NULL, &value);)
        free(value);
    for (at = 0; map_next(&picker->lanes, &at, NULL, &value);)
        picker_lane_free(value);
    map_clear(&picker->assigned);
    map_clear(&picker->lanes);
    free(picker);
}

void picker_set_limits(struct picker *picker,
                       const struct picker_limits *limits) {
    picker->limits = *limits;
    if (picker->limits.window_max == 0)
        picker->limits.window_max = WINDOW_MAX;
}

/* ---- slots -------------------------------------------------------------- */

/* How many jobs may be assigned beyond the slots now: none until attempts have
 * proved short, then the number that the slots are likely to start within a
 * fifth of a second. A long attempt resets the trust. */
static unsigned ahead(const struct picker *picker) {
    const struct picker_limits *limits = &picker->limits;
    uint64_t begun, slots, trust = 2 * (uint64_t)picker->streak;

    if (picker->mean_us == 0 || picker->lasting >= limits->slots)
        return 0;
    slots = limits->slots - picker->lasting;
    begun = slots * HORIZON_US / (uint64_t)picker->mean_us;
    if (begun > trust)
        begun = trust;
    return begun < limits->ahead_max ? (unsigned)begun : limits->ahead_max;
}

static unsigned assigned_max(const struct picker *picker) {
    return picker->limits.slots + ahead(picker);
}

unsigned picker_room(const struct picker *picker) {
    unsigned busy = (unsigned)map_count(&picker->assigned);

    return busy < assigned_max(picker) ? assigned_max(picker) - busy : 0;
}

unsigned picker_excess(const struct picker *picker) {
    unsigned busy = (unsigned)map_count(&picker->assigned);

    return busy > assigned_max(picker) ? busy - assigned_max(picker) : 0;
}

static void lane_take(struct picker *picker, struct picker_lane *lane,
                      uint64_t num) {
    struct picker_assigned *assigned = mem_alloc(sizeof(*assigned));

    assigned->num = num;
    assigned->lane = lane;
    list_push(&lane->assigned, &assigned->in_lane);
    map_put(&picker->assigned, map_num_key(&assigned->num), assigned);
    lane->busy++;
    picker_lane_changed(picker, lane);
}

void picker_assigned(struct picker *picker, uint64_t num, struct span target) {
    if (map_get(&picker->assigned, map_num_key(&num)) != NULL)
        return;
    picker_forget(picker, num);
    lane_take(picker, picker_lane_find(picker, target), num);
}

void picker_lasting(struct picker *picker, uint64_t num) {
    struct picker_assigned *assigned =
        map_get(&picker->assigned, map_num_key(&num));

    if (assigned == NULL || assigned->lasting)
        return;
    assigned->lasting = true;
    picker->lasting++;
}

static void update_mean(struct picker *picker, int64_t ran_ms) {
    int64_t us;

    if (ran_ms < 0)
        return;
    us = ran_ms == 0 ? 500 : ran_ms > 1000000 ? 1000000000 : ran_ms * 1000;
    if (picker->mean_us == 0)
        picker->mean_us = us;
    else
        picker->mean_us += (us - picker->mean_us) / 8;
    if (ran_ms >= LONG_MS)
        picker->streak = 0;
    else if (ran_ms < SHORT_MS && picker->streak < UINT16_MAX)
        picker->streak++;
}

void picker_ended(struct picker *picker, uint64_t num, int64_t ran_ms) {
    struct picker_assigned *assigned =
        map_remove(&picker->assigned, map_num_key(&num));

    if (assigned == NULL)
        return;
    if (assigned->lasting)
        picker->lasting--;
    update_mean(picker, ran_ms);
    list_remove(&assigned->in_lane);
    assigned->lane->busy--;
    picker_lane_changed(picker, assigned->lane);
    free(assigned);
}

bool picker_next(struct picker *picker, struct wall now, uint64_t *ret_num) {
    struct picker_lane *lane;
    struct picker_entry *entry;

    picker_window_tick(picker, now);
    if (picker_room(picker) == 0)
        return false;
    lane = heap_first(&picker->open);
    if (lane == NULL)
        return false;
    entry = heap_first(&lane->ready);
    if (picker_yields(picker, (struct span){0},
                      span_make(entry->rank, entry->rank_bytes)))
        return false;
    *ret_num = entry->num;
    picker_entry_drop(picker, entry);
    lane_take(picker, lane, *ret_num);
    return true;
}

bool picker_is_wanted(const struct picker *picker) {
    return heap_first(&picker->open) != NULL;
}

/* ---- why ---------------------------------------------------------------- */

static uint64_t first_assigned(const struct picker_lane *lane) {
    if (list_empty(&lane->assigned))
        return 0;
    return LIST_OF(lane->assigned.next, struct picker_assigned, in_lane)->num;
}

/* Jobs that were assigned ahead are not running yet. */
static unsigned running(const struct picker *picker) {
    unsigned slots = picker->limits.slots;
    unsigned assigned = (unsigned)map_count(&picker->assigned);

    if (picker->lasting > slots)
        return picker->lasting;
    return assigned < slots ? assigned : slots;
}

struct picker_why picker_why(const struct picker *picker,
                             const struct picker_job *job, struct wall now) {
    const struct picker_lane *lane = map_get(&picker->lanes, job->target);
    const struct picker_lane *open = heap_first(&picker->open);
    struct picker_why why = {.slots = picker->limits.slots,
                             .busy = running(picker)};

    if (job->not_before.ns > now.ns) {
        why.reason = PICKER_NOT_BEFORE;
        why.until = job->not_before;
    } else if (lane != NULL && lane->paused_until.ns > now.ns) {
        why.reason = PICKER_NOT_BEFORE;
        why.until = lane->paused_until;
    } else if (lane != NULL && picker_lane_is_full(lane)) {
        why.reason = PICKER_LANE;
        why.behind = lane->closed_by            ? lane->closed_by
                     : picker_lane_yields(lane) ? lane->yields_to
                                                : first_assigned(lane);
    } else if (picker_room(picker) == 0) {
        why.reason = PICKER_SLOT;
    } else if (open != NULL &&
               ((struct picker_entry *)heap_first(&open->ready))->num !=
                   job->num) {
        why.reason = PICKER_BEHIND;
        why.behind = ((struct picker_entry *)heap_first(&open->ready))->num;
    }
    return why;
}
