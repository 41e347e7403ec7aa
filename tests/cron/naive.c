#include "cron/naive.h"

#include <assert.h>
#include <stdlib.h>

enum { DAY_S = 86400, TEN_S = 36000 };

int32_t naive_offset(const struct naive_zone *zone, int64_t at) {
    return at < zone->change ? zone->before_s : zone->after_s;
}

static int64_t modulo(int64_t value, int64_t by) {
    return (value % by + by) % by;
}

static bool daily(const struct naive_zone *zone, int64_t at) {
    int64_t label = at + naive_offset(zone, at);

    if (modulo(label, DAY_S) == TEN_S)
        /* The second occurrence is skipped. */
        return !(at >= zone->change && zone->after_s < zone->before_s &&
                 label - zone->before_s < zone->change);
    if (at + 1 != zone->change)
        return false;
    for (label = zone->change + zone->before_s;
         label < zone->change + zone->after_s; label++)
        if (modulo(label, DAY_S) == TEN_S)
            return true;
    return false;
}

bool naive_fires(enum naive_kind kind, const struct naive_zone *zone,
                 int64_t at) {
    switch (kind) {
    case NAIVE_EPOCH:
        return at >= 0 && at % 420 == 0;
    case NAIVE_FIVE:
        return modulo(at + naive_offset(zone, at), 300) == 0;
    case NAIVE_DAILY:
        return daily(zone, at);
    case NAIVE_KINDS:
        break;
    }
    return false;
}

void naive_begin(struct naive *naive, const struct naive_zone *zone,
                 int64_t system_s, int64_t monotonic_s) {
    naive->zone = *zone;
    naive->system_s = system_s;
    naive->monotonic_s = monotonic_s;
    naive->event_count = 0;
    for (size_t i = 0; i < NAIVE_ITEMS; i++)
        naive->items[i].high = system_s;
}

static int64_t larger(int64_t a, int64_t b) {
    return a > b ? a : b;
}

static void note(struct naive *naive, size_t item, int64_t at, bool fired) {
    assert(naive->event_count < NAIVE_EVENTS);
    naive->events[naive->event_count++] = (struct naive_event){item, at, fired};
}

static int compare(const void *a, const void *b) {
    const struct naive_event *x = a, *y = b;

    if (x->at != y->at)
        return x->at < y->at ? -1 : 1;
    return (x->item > y->item) - (x->item < y->item);
}

void naive_tick(struct naive *naive, const struct naive_zone *zone,
                bool zone_changed, int64_t system_s, int64_t monotonic_s) {
    int64_t a = larger(monotonic_s - naive->monotonic_s, 0);
    int64_t c = system_s - naive->system_s - a;
    int64_t b = zone_changed ? naive_offset(zone, naive->system_s) -
                                   naive_offset(&naive->zone, naive->system_s)
                             : 0;
    int64_t jump = naive->system_s < naive->system_s + c ? naive->system_s
                                                         : naive->system_s + c;

    naive->zone = *zone;
    naive->event_count = 0;
    for (size_t i = 0; i < NAIVE_ITEMS; i++) {
        struct naive_item *item = &naive->items[i];
        bool local = item->kind != NAIVE_EPOCH;
        int64_t patience = larger(item->max_shift_s, naive->poll_s);
        int64_t high = larger(item->high, naive->system_s);
        high -= local ? b : 0;
        naive->released[i] = high - system_s > item->max_shift_s;
        if (naive->released[i])
            high = system_s;
        item->high = high;
        if (high < system_s - 4 * DAY_S && !(local && b > 0))
            high = system_s - 4 * DAY_S;
        for (int64_t at = high + 1; at <= system_s; at++) {
            if (!naive_fires(item->kind, zone, at))
                continue;
            if (local && b > 0 && at <= jump)
                note(naive, i, at, b + c <= item->max_shift_s && a <= patience);
            else
                note(naive, i, at, system_s - at <= patience);
            /* The distant past is skipped. */
            if (at > jump && at < system_s - 5 * DAY_S)
                at = system_s - 4 * DAY_S;
        }
    }
    naive->system_s = system_s;
    naive->monotonic_s = monotonic_s;
    qsort(naive->events, naive->event_count, sizeof(*naive->events), compare);
}
