#include "core/timetable.h"

#include <assert.h>
#include <stdlib.h>

#include "lib/heap.h"
#include "lib/list.h"

struct timed {
    struct list link; /* of timetable.all */
    size_t place;     /* in timetable.heap */
    struct timed_rule rule;
    void *data;
    unsigned live;
    /* As recorded, and as it really stands: a clock set back moves only the
     * latter. */
    struct timed_place recorded, now;
    int64_t spent_s; /* its instants up to here were dealt with in this round */
    int64_t next_s;  /* its next instant; NEVER */
    int64_t due_s;
    bool rests;        /* a decision is being carried out */
    int64_t nobody_s;  /* what was due up to here passed while nobody watched */
    int64_t lost_s;    /* what lies up to here the zone jumped over, */
    int64_t lost_by_s; /* by so much */
};

struct timetable {
    struct list all;
    struct heap heap; /* those that wait, by due_s */
    int64_t system_s, boot_s;
};

static int64_t more_of(int64_t a, int64_t b) {
    return a > b ? a : b;
}

static int64_t less_of(int64_t a, int64_t b) {
    return a < b ? a : b;
}

static int sooner(const void *a, const void *b) {
    const struct timed *x = a, *y = b;
    if (x->due_s != y->due_s)
        return x->due_s < y->due_s ? -1 : 1;
    return (x->next_s > y->next_s) - (x->next_s < y->next_s);
}

/* ---- one schedule -------------------------------------------------------- */

/* The same after a restart; the seed is the schedule's alone. */
static int64_t jitter_of(const struct timed_rule *rule, int64_t at) {
    if (rule->jitter_s <= 0)
        return 0;
    return cron_random_delay("", rule->seed, at, (uint32_t)rule->jitter_s + 1);
}

int64_t timed_due(const struct timed_rule *rule, int64_t at) {
    return at + rule->offset_s + jitter_of(rule, at);
}

/* The most by which it may fire after its instant. */
static int64_t delay_most(const struct timed *timed) {
    return timed->rule.offset_s + more_of(timed->rule.jitter_s, 0);
}

static int32_t zone_offset(const struct timed *timed, int64_t at) {
    if (timed->rule.zone == NULL)
        return 0;
    return cron_zone_offset_s(timed->rule.zone, at);
}

/* Looks for the instant after its place. */
static void seek(struct timetable *timetable, struct timed *timed) {
    int64_t at;
    bool found = timed->now.high_s < INT64_MAX &&
                 repeat_next(&timed->rule.repeat, timed->rule.zone,
                             timed->now.high_s + 1, &at);
    heap_remove(&timetable->heap, timed);
    timed->next_s = found ? at : TIMETABLE_NEVER;
    timed->due_s = found ? timed_due(&timed->rule, at) : TIMETABLE_NEVER;
    if (found && !timed->rests)
        heap_push(&timetable->heap, timed);
}

/* It has dealt with everything up to `high_s`. When that lies ahead of now, no
 * farther than max_shift, it waits there; farther, it begins anew. */
static void stand(struct timetable *timetable, struct timed *timed,
                  int64_t high_s) {
    int64_t at;
    if (high_s - timetable->system_s > timed->rule.max_shift_s) {
        if (repeat_next(&timed->rule.repeat, timed->rule.zone,
                        timetable->system_s + 1, &at) &&
            at <= timed->spent_s)
            timed->now.round++;
        high_s = timed->spent_s = timetable->system_s;
    }
    timed->now.high_s = high_s;
    timed->now.offset_s = zone_offset(timed, high_s);
    seek(timetable, timed);
}

/* Up to where everything is dealt with: what waits for its delay is not. */
static int64_t reach(const struct timetable *timetable,
                     const struct timed *timed) {
    int64_t end = timed->next_s == TIMETABLE_NEVER ? timetable->system_s
                                                   : timed->next_s - 1;
    return more_of(timed->now.high_s, less_of(timetable->system_s, end));
}

/* The zone's clock was moved by that much: what it showed at `high_s` it shows
 * so much earlier (or, when it went back, later) now. */
static void shift(struct timetable *timetable, struct timed *timed,
                  int64_t high_s, int64_t by_s) {
    if (by_s > 0) {
        timed->lost_s = less_of(high_s, timetable->system_s);
        timed->lost_by_s = by_s;
    }
    stand(timetable, timed, high_s - by_s);
}

static bool has_zone(const struct timed *timed) {
    return repeat_needs_zone(&timed->rule.repeat);
}

static void take_place(struct timetable *timetable, struct timed *timed,
                       struct timed_place place) {
    timed->recorded = timed->now = place;
    timed->rests = false;
    timed->spent_s = more_of(timed->spent_s, place.high_s);
    int64_t by_s =
        has_zone(timed) ? zone_offset(timed, place.high_s) - place.offset_s : 0;
    shift(timetable, timed, place.high_s, by_s);
}

/* ---- the table ----------------------------------------------------------- */

struct timetable *timetable_new(int64_t system_s, int64_t boot_s) {
    struct timetable *timetable = mem_alloc(sizeof(*timetable));
    list_init(&timetable->all);
    heap_init(&timetable->heap, offsetof(struct timed, place), sooner);
    timetable->system_s = system_s;
    timetable->boot_s = boot_s;
    return timetable;
}

static void timed_free(struct timed *timed) {
    list_remove(&timed->link);
    repeat_clear(&timed->rule.repeat);
    cron_zone_unref(timed->rule.zone);
    free(timed);
}

void timetable_free(struct timetable *timetable) {
    if (!timetable)
        return;
    LIST_EACH (&timetable->all, link)
        timed_free(LIST_OF(link, struct timed, link));
    heap_clear(&timetable->heap);
    free(timetable);
}

struct timed *timetable_add(struct timetable *timetable,
                            const struct timed_rule *rule,
                            const struct timed_place *place, void *data) {
    struct timed *timed = mem_alloc(sizeof(*timed));
    assert(rule->max_shift_s >= 0 && rule->repeat.count > 0);
    timed->rule = *rule;
    timed->rule.repeat = repeat_ref(&rule->repeat);
    if (rule->zone)
        cron_zone_ref(rule->zone);
    timed->data = data;
    timed->spent_s = INT64_MIN;
    timed->nobody_s = timetable->system_s;
    timed->lost_s = INT64_MIN;
    list_push(&timetable->all, &timed->link);
    take_place(timetable, timed, *place);
    return timed;
}

void timetable_remove(struct timetable *timetable, struct timed *timed) {
    heap_remove(&timetable->heap, timed);
    timed_free(timed);
}

void *timed_data(const struct timed *timed) {
    return timed->data;
}

const struct timed_rule *timed_rule(const struct timed *timed) {
    return &timed->rule;
}

struct timed_place timed_place(const struct timed *timed) {
    return timed->recorded;
}

int64_t timed_next(const struct timed *timed) {
    return timed->next_s;
}

void timed_live(struct timed *timed, int more) {
    assert(more >= 0 || timed->live > 0);
    timed->live += (unsigned)more;
}

/* ---- time ---------------------------------------------------------------- */

void timetable_zone(struct timetable *timetable, struct timed *timed,
                    struct cron_zone *zone) {
    /* Both zones are asked about the tick before, wherever it stands. */
    int64_t at = timetable->system_s;
    int32_t before_s = zone_offset(timed, at);
    if (zone == timed->rule.zone)
        return;
    if (zone)
        cron_zone_ref(zone);
    cron_zone_unref(timed->rule.zone);
    timed->rule.zone = zone;
    if (has_zone(timed) && !timed->rests)
        shift(timetable, timed, reach(timetable, timed),
              zone_offset(timed, at) - before_s);
}

/* The clock went back. */
static void go_back(struct timetable *timetable, int64_t system_s) {
    LIST_EACH (&timetable->all, link) {
        struct timed *timed = LIST_OF(link, struct timed, link);
        timed->lost_s = less_of(timed->lost_s, system_s);
        timed->nobody_s = less_of(timed->nobody_s, system_s);
        timed->now.high_s = reach(timetable, timed);
        timed->spent_s = more_of(timed->spent_s, timed->now.high_s);
    }
    timetable->system_s = system_s;
    LIST_EACH (&timetable->all, link) {
        struct timed *timed = LIST_OF(link, struct timed, link);
        if (!timed->rests)
            stand(timetable, timed, timed->now.high_s);
    }
}

struct timetable_told timetable_tick(struct timetable *timetable,
                                     int64_t system_s, int64_t boot_s) {
    int64_t passed_s = more_of(boot_s - timetable->boot_s, 0);
    struct timetable_told told = {
        .passed_s = passed_s,
        .clock_shift_s = system_s - timetable->system_s - passed_s,
    };
    if (system_s < timetable->system_s)
        go_back(timetable, system_s);
    timetable->system_s = system_s;
    timetable->boot_s = boot_s;
    return told;
}

int64_t timetable_next(const struct timetable *timetable) {
    const struct timed *timed = heap_first(&timetable->heap);
    return timed ? timed->due_s : TIMETABLE_NEVER;
}

/* ---- decisions ----------------------------------------------------------- */

const char *timed_reason_word(enum timed_reason reason) {
    static const char *const words[] = {
        [TIMED_ON_TIME] = "on-time",   [TIMED_LATE] = "late",
        [TIMED_SKIP] = "skip",         [TIMED_STALE] = "stale",
        [TIMED_DEADLINE] = "deadline", [TIMED_OVERLAP] = "overlap",
    };
    return words[reason];
}

static bool was_lost(const struct timed *timed) {
    return timed->next_s <= timed->lost_s;
}

static bool was_unseen(const struct timed *timed) {
    return timed->due_s <= timed->nobody_s;
}

/* How late it may be and still fires. What the zone jumped over is late by the
 * jump besides. */
static int64_t patience(const struct timed *timed) {
    int64_t most = timed->rule.max_shift_s;
    if (was_lost(timed))
        return timed->lost_by_s <= most
                   ? more_of(most, TIMETABLE_PATIENCE_S) + timed->lost_by_s
                   : -1;
    return was_unseen(timed) ? most : more_of(most, TIMETABLE_PATIENCE_S);
}

static bool is_on_time(const struct timed *timed, int64_t late_s) {
    return !was_lost(timed) && !was_unseen(timed) &&
           late_s <= TIMETABLE_PATIENCE_S;
}

/* The last instant that shares the fate of the next one for certain: where it
 * lies decides, not how its jitter falls. */
static int64_t fate_until(const struct timetable *timetable,
                          const struct timed *timed, enum timed_reason reason) {
    int64_t end = timetable->system_s;
    if (reason == TIMED_DEADLINE)
        end -= timed->rule.deadline_s + 1;
    if (reason == TIMED_STALE && patience(timed) >= 0)
        end -= patience(timed) + 1;
    if (reason == TIMED_SKIP && !was_unseen(timed) && !was_lost(timed))
        end -= TIMETABLE_PATIENCE_S + 1;
    end -= delay_most(timed);
    if (was_lost(timed))
        end = less_of(end, timed->lost_s);
    else if (was_unseen(timed) && reason != TIMED_OVERLAP)
        end = less_of(end, timed->nobody_s - delay_most(timed));
    return more_of(end, timed->next_s);
}

static enum timed_reason judge(const struct timed *timed, int64_t late_s) {
    if (late_s > patience(timed))
        return TIMED_STALE;
    if (timed->rule.deadline_s > 0 && late_s > timed->rule.deadline_s)
        return TIMED_DEADLINE;
    if (!is_on_time(timed, late_s) && timed->rule.missed == MISSED_SKIP)
        return TIMED_SKIP;
    if (timed->rule.overlap == OVERLAP_FORBID && timed->live > 0)
        return TIMED_OVERLAP;
    return is_on_time(timed, late_s) ? TIMED_ON_TIME : TIMED_LATE;
}

/* Everything that shares the fate is left out at once: a year costs no more
 * than a minute. */
static void leave_out(const struct timetable *timetable, struct timed *timed,
                      struct timed_decision *decision) {
    int64_t end = fate_until(timetable, timed, decision->reason);
    const struct repeat *repeat = &timed->rule.repeat;
    if (end == decision->at ||
        !repeat_prev(repeat, timed->rule.zone, end, &decision->until))
        decision->until = decision->at;
    decision->count =
        repeat_count(repeat, timed->rule.zone, decision->at, decision->until);
}

struct timed *timetable_due(const struct timetable *timetable) {
    struct timed *timed = heap_first(&timetable->heap);
    return timed && timed->due_s <= timetable->system_s ? timed : NULL;
}

bool timetable_decide(struct timetable *timetable,
                      struct timed_decision *ret_decision) {
    struct timed *timed = timetable_due(timetable);
    if (!timed)
        return false;
    int64_t late_s = timetable->system_s - timed->due_s;
    enum timed_reason reason = judge(timed, late_s);
    *ret_decision = (struct timed_decision){
        .timed = timed,
        .reason = reason,
        .fires = reason == TIMED_ON_TIME || reason == TIMED_LATE,
        .replaces = timed->rule.overlap == OVERLAP_REPLACE && timed->live > 0,
        .at = timed->next_s,
        .until = timed->next_s,
        .count = 1,
        .late_s = late_s,
        .from = timed->recorded,
    };
    if (!ret_decision->fires)
        leave_out(timetable, timed, ret_decision);
    heap_remove(&timetable->heap, timed);
    timed->rests = true;
    timed->now.high_s = ret_decision->until;
    timed->now.offset_s = zone_offset(timed, ret_decision->until);
    ret_decision->to = timed->now;
    return true;
}

void timetable_settle(struct timetable *timetable, struct timed *timed) {
    take_place(timetable, timed, timed->now);
}

void timetable_place(struct timetable *timetable, struct timed *timed,
                     const struct timed_place *place) {
    take_place(timetable, timed, *place);
}
