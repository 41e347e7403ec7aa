#include "core/schedules.h"

#include <assert.h>
#include <stdlib.h>

#include "lib/heap.h"
#include "lib/list.h"

struct schedule {
    struct list link; /* of schedules.all */
    size_t place;     /* index in schedules.heap */
    struct schedule_rule rule;
    void *data;
    unsigned live;
    /* The recorded place, and the present one: a clock that is set back moves
     * only the latter. */
    struct schedule_place recorded, now;
    int64_t spent_s; /* its instants up to here were handled in this round */
    int64_t next_s;  /* its next instant; NEVER */
    int64_t due_s;
    bool rests;        /* a decision is being carried out */
    int64_t nobody_s;  /* instants due up to here passed without a server */
    int64_t lost_s;    /* the zone jumped over instants up to here, */
    int64_t lost_by_s; /* by this much */
};

struct schedules {
    struct list all;
    struct heap heap; /* waiting schedules, by due_s */
    int64_t system_s, boot_s;
};

static int64_t more_of(int64_t a, int64_t b) {
    return a > b ? a : b;
}

static int64_t less_of(int64_t a, int64_t b) {
    return a < b ? a : b;
}

static int sooner(const void *a, const void *b) {
    const struct schedule *x = a, *y = b;
    if (x->due_s != y->due_s)
        return x->due_s < y->due_s ? -1 : 1;
    return (x->next_s > y->next_s) - (x->next_s < y->next_s);
}

/* ---- one schedule -------------------------------------------------------- */

/* The same after a restart: the seed belongs to the schedule. */
static int64_t jitter_of(const struct schedule_rule *rule, int64_t at) {
    if (rule->jitter_s <= 0)
        return 0;
    return cron_random_delay("", rule->seed, at, (uint32_t)rule->jitter_s + 1);
}

int64_t schedule_due(const struct schedule_rule *rule, int64_t at) {
    return at + rule->offset_s + jitter_of(rule, at);
}

/* The most by which it may fire after its instant. */
static int64_t delay_most(const struct schedule *schedule) {
    return schedule->rule.offset_s + more_of(schedule->rule.jitter_s, 0);
}

static int32_t zone_offset(const struct schedule *schedule, int64_t at) {
    if (schedule->rule.zone == NULL)
        return 0;
    return cron_zone_offset_s(schedule->rule.zone, at);
}

/* Finds the instant after its place. */
static void seek(struct schedules *schedules, struct schedule *schedule) {
    int64_t at;
    bool found = schedule->now.high_s < INT64_MAX &&
                 repeat_next(&schedule->rule.repeat, schedule->rule.zone,
                             schedule->now.high_s + 1, &at);
    heap_remove(&schedules->heap, schedule);
    schedule->next_s = found ? at : SCHEDULES_NEVER;
    schedule->due_s =
        found ? schedule_due(&schedule->rule, at) : SCHEDULES_NEVER;
    if (found && !schedule->rests)
        heap_push(&schedules->heap, schedule);
}

/* Everything up to `high_s` is handled. If that is ahead of now by at most
 * max_shift, the schedule waits there; if by more, it starts a new round. */
static void stand(struct schedules *schedules, struct schedule *schedule,
                  int64_t high_s) {
    int64_t at;
    if (high_s - schedules->system_s > schedule->rule.max_shift_s) {
        if (repeat_next(&schedule->rule.repeat, schedule->rule.zone,
                        schedules->system_s + 1, &at) &&
            at <= schedule->spent_s)
            schedule->now.round++;
        high_s = schedule->spent_s = schedules->system_s;
    }
    schedule->now.high_s = high_s;
    schedule->now.offset_s = zone_offset(schedule, high_s);
    seek(schedules, schedule);
}

/* The time up to which everything is handled; instants that wait for their
 * delay are not. */
static int64_t reach(const struct schedules *schedules,
                     const struct schedule *schedule) {
    int64_t end = schedule->next_s == SCHEDULES_NEVER ? schedules->system_s
                                                      : schedule->next_s - 1;
    return more_of(schedule->now.high_s, less_of(schedules->system_s, end));
}

/* The zone's clock was moved by this much: it now shows the time of `high_s`
 * that much earlier (or, if it went back, later). */
static void shift(struct schedules *schedules, struct schedule *schedule,
                  int64_t high_s, int64_t by_s) {
    if (by_s > 0) {
        schedule->lost_s = less_of(high_s, schedules->system_s);
        schedule->lost_by_s = by_s;
    }
    stand(schedules, schedule, high_s - by_s);
}

static bool has_zone(const struct schedule *schedule) {
    return repeat_needs_zone(&schedule->rule.repeat);
}

static void take_place(struct schedules *schedules, struct schedule *schedule,
                       struct schedule_place place) {
    schedule->recorded = schedule->now = place;
    schedule->rests = false;
    schedule->spent_s = more_of(schedule->spent_s, place.high_s);
    int64_t by_s = has_zone(schedule)
                       ? zone_offset(schedule, place.high_s) - place.offset_s
                       : 0;
    shift(schedules, schedule, place.high_s, by_s);
}

/* ---- the table ----------------------------------------------------------- */

struct schedules *schedules_new(int64_t system_s, int64_t boot_s) {
    struct schedules *schedules = mem_alloc(sizeof(*schedules));
    list_init(&schedules->all);
    heap_init(&schedules->heap, offsetof(struct schedule, place), sooner);
    schedules->system_s = system_s;
    schedules->boot_s = boot_s;
    return schedules;
}

static void schedule_free(struct schedule *schedule) {
    list_remove(&schedule->link);
    repeat_clear(&schedule->rule.repeat);
    cron_zone_unref(schedule->rule.zone);
    free(schedule);
}

void schedules_free(struct schedules *schedules) {
    if (!schedules)
        return;
    LIST_EACH (&schedules->all, link)
        schedule_free(LIST_OF(link, struct schedule, link));
    heap_clear(&schedules->heap);
    free(schedules);
}

struct schedule *schedules_add(struct schedules *schedules,
                               const struct schedule_rule *rule,
                               const struct schedule_place *place, void *data) {
    struct schedule *schedule = mem_alloc(sizeof(*schedule));
    assert(rule->max_shift_s >= 0 && rule->repeat.count > 0);
    schedule->rule = *rule;
    schedule->rule.repeat = repeat_ref(&rule->repeat);
    if (rule->zone)
        cron_zone_ref(rule->zone);
    schedule->data = data;
    schedule->spent_s = INT64_MIN;
    schedule->nobody_s = schedules->system_s;
    schedule->lost_s = INT64_MIN;
    list_push(&schedules->all, &schedule->link);
    take_place(schedules, schedule, *place);
    return schedule;
}

void schedules_remove(struct schedules *schedules, struct schedule *schedule) {
    heap_remove(&schedules->heap, schedule);
    schedule_free(schedule);
}

void *schedule_data(const struct schedule *schedule) {
    return schedule->data;
}

const struct schedule_rule *schedule_rule(const struct schedule *schedule) {
    return &schedule->rule;
}

void schedule_add_live(struct schedule *schedule, int more) {
    assert(more >= 0 || schedule->live > 0);
    schedule->live += (unsigned)more;
}

/* ---- time ---------------------------------------------------------------- */

void schedules_zone(struct schedules *schedules, struct schedule *schedule,
                    struct cron_zone *zone) {
    /* Both zones are queried at the previous tick, wherever the place is. */
    int64_t at = schedules->system_s;
    int32_t before_s = zone_offset(schedule, at);
    if (zone == schedule->rule.zone)
        return;
    if (zone)
        cron_zone_ref(zone);
    cron_zone_unref(schedule->rule.zone);
    schedule->rule.zone = zone;
    if (has_zone(schedule) && !schedule->rests)
        shift(schedules, schedule, reach(schedules, schedule),
              zone_offset(schedule, at) - before_s);
}

/* The clock went back. */
static void reset_to(struct schedules *schedules, int64_t system_s) {
    LIST_EACH (&schedules->all, link) {
        struct schedule *schedule = LIST_OF(link, struct schedule, link);
        schedule->lost_s = less_of(schedule->lost_s, system_s);
        schedule->nobody_s = less_of(schedule->nobody_s, system_s);
        schedule->now.high_s = reach(schedules, schedule);
        schedule->spent_s = more_of(schedule->spent_s, schedule->now.high_s);
    }
    schedules->system_s = system_s;
    LIST_EACH (&schedules->all, link) {
        struct schedule *schedule = LIST_OF(link, struct schedule, link);
        if (!schedule->rests)
            stand(schedules, schedule, schedule->now.high_s);
    }
}

struct schedules_disturbance schedules_tick(struct schedules *schedules,
                                            int64_t system_s, int64_t boot_s) {
    int64_t passed_s = more_of(boot_s - schedules->boot_s, 0);
    struct schedules_disturbance disturbance = {
        .passed_s = passed_s,
        .clock_shift_s = system_s - schedules->system_s - passed_s,
    };
    if (system_s < schedules->system_s)
        reset_to(schedules, system_s);
    schedules->system_s = system_s;
    schedules->boot_s = boot_s;
    return disturbance;
}

int64_t schedules_next(const struct schedules *schedules) {
    const struct schedule *schedule = heap_first(&schedules->heap);
    return schedule ? schedule->due_s : SCHEDULES_NEVER;
}

/* ---- decisions ----------------------------------------------------------- */

const char *schedule_reason_word(enum schedule_reason reason) {
    static const char *const words[] = {
        [SCHEDULE_ON_TIME] = "on-time",   [SCHEDULE_LATE] = "late",
        [SCHEDULE_SKIP] = "skip",         [SCHEDULE_STALE] = "stale",
        [SCHEDULE_DEADLINE] = "deadline", [SCHEDULE_OVERLAP] = "overlap",
    };
    return words[reason];
}

static bool was_lost(const struct schedule *schedule) {
    return schedule->next_s <= schedule->lost_s;
}

static bool was_unseen(const struct schedule *schedule) {
    return schedule->due_s <= schedule->nobody_s;
}

/* How late it may be and still fire. Instants that the zone jumped over are
 * late by the jump in addition. */
static int64_t patience(const struct schedule *schedule) {
    int64_t most = schedule->rule.max_shift_s;
    if (was_lost(schedule))
        return schedule->lost_by_s <= most
                   ? more_of(most, SCHEDULES_PATIENCE_S) + schedule->lost_by_s
                   : -1;
    return was_unseen(schedule) ? most : more_of(most, SCHEDULES_PATIENCE_S);
}

static bool is_on_time(const struct schedule *schedule, int64_t late_s) {
    return !was_lost(schedule) && !was_unseen(schedule) &&
           late_s <= SCHEDULES_PATIENCE_S;
}

/* The last instant that certainly shares the fate of the next one: its position
 * decides, not its jitter. */
static int64_t fate_until(const struct schedules *schedules,
                          const struct schedule *schedule,
                          enum schedule_reason reason) {
    int64_t end = schedules->system_s;
    if (reason == SCHEDULE_DEADLINE)
        end -= schedule->rule.deadline_s + 1;
    if (reason == SCHEDULE_STALE && patience(schedule) >= 0)
        end -= patience(schedule) + 1;
    if (reason == SCHEDULE_SKIP && !was_unseen(schedule) && !was_lost(schedule))
        end -= SCHEDULES_PATIENCE_S + 1;
    end -= delay_most(schedule);
    if (was_lost(schedule))
        end = less_of(end, schedule->lost_s);
    else if (was_unseen(schedule))
        end = less_of(end, schedule->nobody_s - delay_most(schedule));
    return more_of(end, schedule->next_s);
}

static enum schedule_reason judge(const struct schedule *schedule,
                                  int64_t late_s) {
    if (late_s > patience(schedule))
        return SCHEDULE_STALE;
    if (schedule->rule.deadline_s > 0 && late_s > schedule->rule.deadline_s)
        return SCHEDULE_DEADLINE;
    if (!is_on_time(schedule, late_s) && schedule->rule.missed == MISSED_SKIP)
        return SCHEDULE_SKIP;
    if (!is_on_time(schedule, late_s))
        return SCHEDULE_LATE; /* it waits for the jobs before it, if it must */
    if (schedule->rule.overlap == OVERLAP_FORBID && schedule->live > 0)
        return SCHEDULE_OVERLAP;
    return SCHEDULE_ON_TIME;
}

/* Everything that shares the fate is skipped at once: a year costs no more than
 * a minute. */
static void skip_all(const struct schedules *schedules,
                     struct schedule *schedule,
                     struct schedule_decision *decision) {
    int64_t end = fate_until(schedules, schedule, decision->reason);
    const struct repeat *repeat = &schedule->rule.repeat;
    if (end == decision->at ||
        !repeat_prev(repeat, schedule->rule.zone, end, &decision->until))
        decision->until = decision->at;
    decision->count = repeat_count(repeat, schedule->rule.zone, decision->at,
                                   decision->until);
}

struct schedule *schedules_due(const struct schedules *schedules) {
    struct schedule *schedule = heap_first(&schedules->heap);
    return schedule && schedule->due_s <= schedules->system_s ? schedule : NULL;
}

bool schedules_decide(struct schedules *schedules,
                      struct schedule_decision *ret_decision) {
    struct schedule *schedule = schedules_due(schedules);
    if (!schedule)
        return false;
    int64_t late_s = schedules->system_s - schedule->due_s;
    enum schedule_reason reason = judge(schedule, late_s);
    *ret_decision = (struct schedule_decision){
        .schedule = schedule,
        .reason = reason,
        .fires = reason == SCHEDULE_ON_TIME || reason == SCHEDULE_LATE,
        .replaces = reason == SCHEDULE_ON_TIME &&
                    schedule->rule.overlap == OVERLAP_REPLACE &&
                    schedule->live > 0,
        .at = schedule->next_s,
        .until = schedule->next_s,
        .count = 1,
        .late_s = late_s,
        .from = schedule->recorded,
    };
    if (!ret_decision->fires)
        skip_all(schedules, schedule, ret_decision);
    heap_remove(&schedules->heap, schedule);
    schedule->rests = true;
    schedule->now.high_s = ret_decision->until;
    schedule->now.offset_s = zone_offset(schedule, ret_decision->until);
    ret_decision->to = schedule->now;
    return true;
}

void schedules_recorded(struct schedules *schedules,
                        struct schedule *schedule) {
    take_place(schedules, schedule, schedule->now);
}

void schedules_reset(struct schedules *schedules, struct schedule *schedule,
                     const struct schedule_place *place) {
    take_place(schedules, schedule, *place);
}
