/* From labels to instants.
 *
 * The item fires at each instant whose label matches, with two corrections
 * where a zone changes its offset. A label that occurs at several instants
 * is one event or several, as the item specifies. A label that never occurs,
 * because the clock jumped over it, is either no event or an event in the
 * second before the jump.
 *
 * The search goes from stretch to stretch. Within a stretch labels and
 * instants run in parallel, so the calendar alone gives the next label.
 * Labels that occur twice lie near an end of the stretch, nearer than the
 * zone's span; everywhere else the first answer of the calendar is the
 * answer.
 *
 * From the end of a stretch the search may jump far: `label` is the smallest
 * matching one at or above the cursor's. Only a clock that was turned back
 * can show labels below the cursor's again, and that happens later than one
 * span after the cursor. From there on no event is earlier than `label` less
 * the greatest offset or, for lost labels, one second earlier. */
#include "cron/calendar.h"
#include "cron/item.h"
#include "cron/zone.h"

/* Greater than every label, and sums with it do not overflow. */
#define LABEL_NEVER (INT64_C(1) << 61)

static int64_t label_next(const struct cron_item *item, int64_t label) {
    int64_t found;

    return calendar_next(item, label, &found) ? found : LABEL_NEVER;
}

static bool holds(const struct stretch *stretch, int64_t label) {
    int64_t at = label - stretch->offset_s;

    return at >= stretch->start && at < stretch->end;
}

/* ---- labels that come more than once ------------------------------------- */

/* Moves the cursor past the labels that `other` shows as well. */
static int64_t behind(const struct stretch *stretch,
                      const struct stretch *other) {
    if (other->end == INT64_MAX)
        return stretch->end;
    int64_t at = other->end + other->offset_s - stretch->offset_s;
    return at > stretch->end ? stretch->end : at;
}

static bool occurs_earlier(const struct cron_zone *zone,
                           const struct stretch *stretch, int64_t label,
                           int64_t at, int64_t *ret_cursor) {
    struct stretch other = *stretch;

    while (other.start > at - zone->span_s) {
        other = zone_stretch_before(zone, &other);
        if (holds(&other, label)) {
            *ret_cursor = behind(stretch, &other);
            return true;
        }
    }
    return false;
}

static bool occurs_later(const struct cron_zone *zone,
                         const struct stretch *stretch, int64_t label,
                         int64_t at, int64_t *ret_cursor) {
    struct stretch other = *stretch;

    while (other.end <= at + zone->span_s) {
        other = zone_stretch_after(zone, &other);
        if (holds(&other, label)) {
            *ret_cursor = behind(stretch, &other);
            return true;
        }
    }
    return false;
}

/* True if this label occurs at several instants and the item fires at
 * another one of them. */
static bool fires_elsewhere(const struct cron_item *item,
                            const struct cron_zone *zone,
                            const struct stretch *stretch, int64_t label,
                            int64_t at, int64_t *ret_cursor) {
    switch (item->repeat) {
    case REPEAT_BOTH:
        return false;
    case REPEAT_EARLY:
        return occurs_earlier(zone, stretch, label, at, ret_cursor);
    case REPEAT_LATE:
        return occurs_later(zone, stretch, label, at, ret_cursor);
    }
    return false;
}

/* ---- labels that never come ---------------------------------------------- */

/* The stretch near `jump` that shows the label, if there is one. */
static bool shown(const struct cron_zone *zone, int64_t jump, int64_t label,
                  struct stretch *ret) {
    *ret = zone_stretch(zone, jump - zone->span_s);
    for (;;) {
        if (holds(ret, label))
            return true;
        if (ret->end > jump + zone->span_s)
            return false;
        *ret = zone_stretch_after(zone, ret);
    }
}

/* True if the jump from `stretch` to `next` loses a label of the item;
 * `label` is the smallest one that `stretch` does not reach. */
static bool loses(const struct cron_item *item, const struct cron_zone *zone,
                  const struct stretch *stretch, const struct stretch *next,
                  int64_t label) {
    int64_t end = stretch->end + next->offset_s;
    struct stretch other;

    while (label < end) {
        if (!shown(zone, stretch->end, label, &other))
            return true;
        if (other.end == INT64_MAX)
            return false;
        label = label_next(item, other.end + other.offset_s);
    }
    return false;
}

/* ---- the search ---------------------------------------------------------- */

static bool next_in_zone(const struct cron_item *item,
                         const struct cron_zone *zone, int64_t from,
                         struct stretch *stretch, int64_t *ret_at) {
    int64_t cursor = from;
    int64_t label = label_next(item, cursor + stretch->offset_s);

    for (;;) {
        int64_t at = label - stretch->offset_s, first;
        struct stretch next;
        if (at < stretch->end && label != LABEL_NEVER) {
            bool near = at <= stretch->start + zone->span_s ||
                        at >= stretch->end - zone->span_s;
            if (!near ||
                !fires_elsewhere(item, zone, stretch, label, at, &cursor)) {
                *ret_at = at;
                return true;
            }
            label = label_next(item, cursor + stretch->offset_s);
            continue;
        }
        if (stretch->end == INT64_MAX)
            return false;
        next = zone_stretch_after(zone, stretch);
        if (item->unskip && next.offset_s > stretch->offset_s &&
            stretch->end > from && loses(item, zone, stretch, &next, label)) {
            *ret_at = stretch->end - 1;
            return true;
        }
        first = label - zone->most_s - 1;
        if (cursor + zone->span_s > stretch->end || first <= stretch->end) {
            *stretch = next;
            cursor = next.start;
            label = label_next(item, cursor + stretch->offset_s);
        } else if (label == LABEL_NEVER) {
            return false;
        } else {
            *stretch = zone_stretch(zone, first);
            cursor = first;
        }
    }
}

/* The smallest instant at or above `from`, which lies in *stretch; an epoch
 * item ignores the stretch. Never fails. */
static bool search_next(const struct cron_item *item,
                        const struct cron_zone *zone, int64_t from,
                        struct stretch *stretch, int64_t *ret_at) {
    if (item->is_epoch)
        return item_series_next(&item->epoch, from, ret_at);
    return next_in_zone(item, zone, from, stretch, ret_at);
}

/* ---- what others call ---------------------------------------------------- */

static bool check(const struct cron_item *item, int64_t at,
                  struct cron_err *err) {
    if (item->is_epoch || (at >= CRON_OLDEST && at <= CRON_NEWEST))
        return true;
    return fault_set(err, CRON_ERR_RANGE,
                     "instant %lld is outside the years 0 to 10000",
                     (long long)at);
}

static const struct cron_zone *zone_or_utc(const struct cron_zone *zone) {
    return zone == NULL ? &zone_utc : zone;
}

enum cron_found cron_next(const struct cron_item *item,
                          const struct cron_zone *zone, int64_t from,
                          int64_t *ret_at, struct cron_err *err) {
    struct stretch stretch;

    if (item->is_epoch)
        return item_series_next(&item->epoch, from, ret_at) ? CRON_FOUND
                                                            : CRON_NONE;
    if (!check(item, from, err))
        return CRON_FAILED;
    zone = zone_or_utc(zone);
    stretch = zone_stretch(zone, from);
    return next_in_zone(item, zone, from, &stretch, ret_at) ? CRON_FOUND
                                                            : CRON_NONE;
}

bool cron_matches(const struct cron_item *item, const struct cron_zone *zone,
                  int64_t at) {
    int64_t found;

    return cron_next(item, zone, at, &found, NULL) == CRON_FOUND && found == at;
}

enum cron_found cron_next_n(const struct cron_item *item,
                            const struct cron_zone *zone, int64_t from,
                            int64_t *ret_at, size_t most, size_t *ret_count,
                            struct cron_err *err) {
    struct stretch stretch;
    size_t count = 0;

    *ret_count = 0;
    if (!check(item, from, err))
        return CRON_FAILED;
    zone = zone_or_utc(zone);
    stretch = zone_stretch(zone, from);
    while (count < most &&
           search_next(item, zone, from, &stretch, &ret_at[count])) {
        if (ret_at[count++] == INT64_MAX)
            break;
        from = ret_at[count - 1] + 1;
        if (from < stretch.start || from >= stretch.end)
            stretch = zone_stretch(zone, from);
    }
    *ret_count = count;
    return count > 0 ? CRON_FOUND : CRON_NONE;
}

/* Searches backwards: next() is a staircase, so the last step at or before
 * an instant is found by bisection. This costs some dozen searches, and
 * cannot contradict next(). */
enum cron_found cron_prev(const struct cron_item *item,
                          const struct cron_zone *zone, int64_t from,
                          int64_t *ret_at, struct cron_err *err) {
    int64_t low = from, high = from, step = 64, best;

    if (item->is_epoch)
        return item_series_prev(&item->epoch, from, ret_at) ? CRON_FOUND
                                                            : CRON_NONE;
    if (!check(item, from, err))
        return CRON_FAILED;
    while (cron_next(item, zone, low, &best, NULL) != CRON_FOUND ||
           best > from) {
        if (low == CRON_OLDEST)
            return CRON_NONE;
        high = low;
        low = low - CRON_OLDEST > step ? low - step : CRON_OLDEST;
        step *= 2;
    }
    while (best < from && best + 1 < high) {
        int64_t middle = best + 1 + (high - best - 1) / 2, found;
        if (cron_next(item, zone, middle, &found, NULL) == CRON_FOUND &&
            found <= from)
            best = found;
        else
            high = middle;
    }
    *ret_at = best;
    return CRON_FOUND;
}

/* ---- counting ------------------------------------------------------------ */

/* In the middle of a stretch each label occurs exactly once. */
static bool single_range(const struct cron_zone *zone,
                         const struct stretch *stretch, int64_t from,
                         int64_t until, int64_t *ret_start, int64_t *ret_end) {
    int64_t start =
        stretch->start == INT64_MIN ? from : stretch->start + zone->span_s + 1;
    int64_t end =
        stretch->end == INT64_MAX ? until : stretch->end - zone->span_s - 1;

    *ret_start = start < from ? from : start;
    *ret_end = end > until ? until : end;
    return *ret_start < *ret_end;
}

static uint64_t walk(const struct cron_item *item, const struct cron_zone *zone,
                     int64_t from, int64_t until) {
    struct stretch stretch = zone_stretch(zone, from);
    uint64_t count = 0;
    int64_t at;

    while (from < until && search_next(item, zone, from, &stretch, &at) &&
           at < until) {
        count++;
        from = at + 1;
        if (from < stretch.start || from >= stretch.end)
            stretch = zone_stretch(zone, from);
    }
    return count;
}

static uint64_t count_in_zone(const struct cron_item *item,
                              const struct cron_zone *zone, int64_t from,
                              int64_t until) {
    uint64_t count = 0;

    while (from < until) {
        struct stretch stretch = zone_stretch(zone, from);
        int64_t start, end;
        if (!single_range(zone, &stretch, from, until, &start, &end)) {
            end = stretch.end < until ? stretch.end : until;
            count += walk(item, zone, from, end);
        } else {
            count += walk(item, zone, from, start) +
                     calendar_count(item, start + stretch.offset_s,
                                    end + stretch.offset_s);
        }
        from = end;
    }
    return count;
}

bool cron_count(const struct cron_item *item, const struct cron_zone *zone,
                int64_t from, int64_t until, uint64_t *ret_count,
                struct cron_err *err) {
    if (!check(item, from, err) || !check(item, until, err))
        return false;
    if (from >= until)
        *ret_count = 0;
    else if (item->is_epoch)
        *ret_count = item_series_count_below(&item->epoch, until) -
                     item_series_count_below(&item->epoch, from);
    else
        *ret_count = count_in_zone(item, zone_or_utc(zone), from, until);
    return true;
}
