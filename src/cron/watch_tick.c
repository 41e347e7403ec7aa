/* One tick of a watch: what disturbed the time, and what is due.
 *
 *     A = M1 - M0              real time since the tick before
 *     C = (S1 - S0) - A        by how much the system's clock was set
 *     B = new zone's offset at S0 - the offset remembered of S0
 *
 * B is measured at S0 because that is where both zones can be asked even after
 * a restart; the offsets at S1 are compared as well, and reported. */
#include "cron/watch.h"

#include <string.h>

#define SYSTEM_MOST (INT64_C(1) << 60)

static int64_t more_of(int64_t a, int64_t b) {
    return a > b ? a : b;
}

static int64_t less_of(int64_t a, int64_t b) {
    return a < b ? a : b;
}

/* ---- disturbances -------------------------------------------------------- */

static void measure_clocks(const struct cron_watch *watch, struct tick *tick) {
    int64_t advance = tick->system_s - watch->system_s;
    int64_t passed = tick->monotonic_s - watch->monotonic_s;

    if (watch->restored && !watch->same_boot) {
        /* The machine was rebooted: all of it is taken as time that passed,
         * unless that is impossible. */
        passed = more_of(advance, 0);
    } else if (passed < 0) {
        tick->reported.monotonic_went_back = true;
        passed = 0;
    }
    tick->reported.passed_s = passed;
    tick->reported.clock_shift_s = advance - passed;
}

/* The instant up to which an item has handled everything. */
static int64_t reach_of(const struct cron_watch *watch,
                        const struct watched *watched) {
    if (watched->fresh)
        return watch->tick.system_s;
    return watched->behind ? watched->high
                           : more_of(watched->high, watch->system_s);
}

/* Everything up to `high` is handled; time stands at the tick. A `high`
 * nearer than max_shift is waited for, a farther one is forgotten. */
static void recompute(const struct cron_watch *watch, struct watched *watched,
                      int64_t high) {
    int64_t depth = high - watch->tick.system_s;

    watched->behind = watched->fresh = false;
    if (depth > watched->item->max_shift_s)
        high = watch->tick.system_s;
    watched->high = high;
    if (watch->options.all && high > watch->tick.system_s)
        high = watch->tick.system_s;
    watched->next =
        high == INT64_MAX ? AT_NEVER : watch_search(watch, watched, high + 1);
}

/* By how much the zone of the item moved its local time in this tick. */
static int64_t zone_shift_of(const struct cron_watch *watch,
                             const struct watched *watched) {
    if (watched->own_zone)
        return watched->is_shifted ? watched->shift_s : 0;
    return watch->tick.reported.zone_shift_s;
}

static void recompute_all(struct cron_watch *watch, bool zone_changed) {
    bool back = watch->tick.system_s < watch->system_s;

    for (size_t i = 0; i < watch->count; i++) {
        struct watched *watched = watch->heap[i];
        int64_t high = reach_of(watch, watched);
        bool changed = watched->own_zone ? watched->is_shifted : zone_changed;
        if (changed && !watched->item->is_epoch && !watched->fresh)
            recompute(watch, watched, high - zone_shift_of(watch, watched));
        else if (back || watch->restored)
            recompute(watch, watched, high);
    }
    watch_sift_all(watch);
}

/* Up to here a zone that moved the local time by that much moved over labels.
 */
static int64_t lost_until(const struct cron_watch *watch, int64_t shift_s) {
    int64_t moved = watch->system_s + watch->tick.reported.clock_shift_s;

    return shift_s > 0 ? less_of(watch->system_s, moved) : INT64_MIN;
}

/* Takes over the item's new zone. */
static void change_item_zone(struct cron_watch *watch,
                             struct watched *watched) {
    int64_t before = watched->has_offset
                         ? watched->offset_s
                         : cron_zone_offset_s(watch_zone_of(watch, watched),
                                              watch->system_s);

    if (watched->zone_is_new) {
        cron_zone_unref(watched->zone);
        watched->zone = watched->new_zone;
        watched->new_zone = NULL;
    }
    watched->is_shifted = watched->zone_is_new || watched->has_offset;
    watched->zone_is_new = watched->has_offset = false;
    watched->shift_s =
        cron_zone_offset_s(watch_zone_of(watch, watched), watch->system_s) -
        before;
    watched->lost_until = lost_until(watch, watched->shift_s);
    watch->item_zone_was_moved |= watched->is_shifted;
}

/* The same for all items with zones of their own. Items are gone through only
 * if one of them has a new zone, or was moved in the tick before. */
static void change_item_zones(struct cron_watch *watch) {
    bool moved = watch->item_zone_was_moved;

    if (!watch->item_zone_is_new && !watch->restored && !moved)
        return;
    watch->item_zone_is_new = watch->item_zone_was_moved = false;
    for (size_t i = 0; watch->own_zones > 0 && i < watch->count; i++) {
        struct watched *watched = watch->heap[i];
        watched->is_shifted = false;
        if (watched->own_zone && (watched->zone_is_new || watched->has_offset))
            change_item_zone(watch, watched);
    }
}

/* Takes over the zone that was set meanwhile. True: it differs from the old
 * one. */
static bool change_zone(struct cron_watch *watch) {
    struct cron_zone *old = watch->zone;
    struct tick *tick = &watch->tick;
    bool known = !watch->restored;

    if (!watch->zone_is_new && known)
        return false;
    if (watch->zone_is_new) {
        watch->zone = watch->new_zone;
        watch->new_zone = NULL;
        watch->zone_is_new = false;
    } else {
        cron_zone_ref(old);
    }
    if (known && watch->zone == old) {
        cron_zone_unref(old);
        return false;
    }
    tick->reported.zone_shift_s =
        cron_zone_offset_s(watch_zone(watch), watch->system_s) -
        watch->offset_s;
    tick->reported.rule_shift_s =
        known ? cron_zone_offset_s(watch_zone(watch), tick->system_s) -
                    cron_zone_offset_s(old == NULL ? &zone_utc : old,
                                       tick->system_s)
              : tick->reported.zone_shift_s;
    cron_zone_unref(old);
    return true;
}

static void begin_first(struct cron_watch *watch) {
    if (watch->zone_is_new) {
        watch->zone = watch->new_zone;
        watch->new_zone = NULL;
        watch->zone_is_new = false;
    }
    watch->begun = true;
    watch->system_s = watch->tick.system_s;
    change_item_zones(watch);
    for (size_t i = 0; i < watch->count; i++) {
        struct watched *watched = watch->heap[i];
        watched->high = watch->system_s;
        watched->is_shifted = false;
        watched->next = watch_search(watch, watched, watch->system_s + 1);
    }
    watch_sift_all(watch);
}

static void begin(struct cron_watch *watch, int64_t system_s,
                  int64_t monotonic_s) {
    struct tick *tick = &watch->tick;
    bool zone_changed;

    *tick = (struct tick){.system_s = system_s, .monotonic_s = monotonic_s};
    watch->busy = true;
    if (!watch->begun) {
        begin_first(watch);
        return;
    }
    measure_clocks(watch, tick);
    zone_changed = change_zone(watch);
    change_item_zones(watch);
    tick->lost_until = lost_until(watch, tick->reported.zone_shift_s);
    if (zone_changed || watch->item_zone_was_moved || watch->restored ||
        system_s < watch->system_s)
        recompute_all(watch, zone_changed);
    watch->restored = false;
}

static void end(struct cron_watch *watch) {
    watch->system_s = watch->tick.system_s;
    watch->monotonic_s = watch->tick.monotonic_s;
    watch->offset_s = cron_zone_offset_s(watch_zone(watch), watch->system_s);
    watch->busy = false;
}

/* ---- events -------------------------------------------------------------- */

/* How late an event of the item may be and still fire. */
static int64_t max_shift_of(const struct cron_watch *watch,
                            const struct watched *watched) {
    return more_of(watched->item->max_shift_s, watch->options.poll_s);
}

static int64_t lost_until_of(const struct cron_watch *watch,
                             const struct watched *watched) {
    if (watched->item->is_epoch)
        return INT64_MIN;
    if (watched->own_zone)
        return watched->is_shifted ? watched->lost_until : INT64_MIN;
    return watch->tick.lost_until;
}

static enum cron_event_kind kind_of(const struct cron_watch *watch,
                                    const struct watched *watched, int64_t at) {
    const struct cron_tick *reported = &watch->tick.reported;
    int64_t late = watch->tick.system_s - at;

    if (at <= watched->high)
        return CRON_SUPPRESSED_REPEAT;
    if (at <= lost_until_of(watch, watched))
        return zone_shift_of(watch, watched) + reported->clock_shift_s <=
                           watched->item->max_shift_s &&
                       reported->passed_s <= max_shift_of(watch, watched)
                   ? CRON_TZ_UNSKIPPED
                   : CRON_SKIPPED;
    if (late > max_shift_of(watch, watched))
        return CRON_SKIPPED;
    return late <= watch->options.poll_s ? CRON_ON_TIME : CRON_LATE;
}

/* The end of the skipped time that begins there. */
static int64_t skipped_until(const struct cron_watch *watch,
                             const struct watched *watched, int64_t at) {
    int64_t lost = lost_until_of(watch, watched);

    if (watch->options.all)
        return at;
    if (at <= lost)
        return lost;
    return watch->tick.system_s - max_shift_of(watch, watched) - 1;
}

static void take_event(struct cron_watch *watch, struct watched *watched,
                       struct cron_event *ret) {
    int64_t at = watched->next;

    /* Not as a whole: most of the name's room stays unused. */
    ret->kind = kind_of(watch, watched, at);
    memcpy(ret->name, watched->name, watched->name_bytes);
    ret->data = watched->data;
    ret->at = at;
    ret->until =
        ret->kind == CRON_SKIPPED ? skipped_until(watch, watched, at) : at;
    ret->label = at;
    ret->shift_s = watch->tick.system_s - at;
    if (!watched->item->is_epoch)
        ret->label += cron_zone_offset_s(watch_zone_of(watch, watched), at);
    watched->next = ret->until == INT64_MAX
                        ? AT_NEVER
                        : watch_search(watch, watched, ret->until + 1);
    watch_sift(watch, watched);
}

static bool is_due(const struct cron_watch *watch) {
    return watch->count > 0 && watch->heap[0]->next <= watch->tick.system_s &&
           watch->heap[0]->next != AT_NEVER;
}

/* Inlined in both functions below: a call more costs a fifth of a tick with
 * nothing due. */
__attribute__((always_inline)) static inline size_t
tick_inline(struct cron_watch *watch, int64_t system_s, int64_t monotonic_s,
            struct cron_event *events, size_t most,
            struct cron_tick *ret_tick) {
    size_t count = 0;

    /* Beyond everything that can be scheduled, and no difference overflows. */
    system_s = more_of(less_of(system_s, SYSTEM_MOST), -SYSTEM_MOST);
    monotonic_s = more_of(less_of(monotonic_s, SYSTEM_MOST), -SYSTEM_MOST);
    if (!watch->busy)
        begin(watch, system_s, monotonic_s);
    while (count < most && is_due(watch))
        take_event(watch, watch->heap[0], &events[count++]);
    watch->tick.reported.more = is_due(watch);
    if (ret_tick != NULL)
        *ret_tick = watch->tick.reported;
    if (!watch->tick.reported.more)
        end(watch);
    return count;
}

size_t watch_tick(struct cron_watch *watch, int64_t system_s,
                  int64_t monotonic_s, struct cron_event *events, size_t most,
                  struct cron_tick *ret_tick) {
    return tick_inline(watch, system_s, monotonic_s, events, most, ret_tick);
}

size_t cron_watch_tick(struct cron_watch *watch, int64_t system_s,
                       int64_t monotonic_s, struct cron_event *events,
                       size_t most, struct cron_tick *ret_tick) {
    pthread_mutex_lock(&watch->lock);
    size_t count =
        tick_inline(watch, system_s, monotonic_s, events, most, ret_tick);
    pthread_mutex_unlock(&watch->lock);
    return count;
}
