/* A simple watch that is obviously correct: it works second by second, with
 * zones that change their offset once. It shares no code with the library. */
#ifndef POINTSMAN_TESTS_CRON_NAIVE_H
#define POINTSMAN_TESTS_CRON_NAIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct naive_zone {
    int64_t change; /* INT64_MAX: never */
    int32_t before_s, after_s;
};

enum naive_kind {
    NAIVE_EPOCH, /* every 420 s since 1970 */
    NAIVE_FIVE,  /* every 5 minutes; skip, repeat_use_both */
    NAIVE_DAILY, /* 10:00; unskip, repeat_use_only_early */
    NAIVE_KINDS
};

struct naive_item {
    enum naive_kind kind;
    int64_t max_shift_s;
    int64_t high;
};

struct naive_event {
    size_t item;
    int64_t at;
    bool fired; /* or skipped */
};

enum { NAIVE_ITEMS = NAIVE_KINDS, NAIVE_EVENTS = 4096 };

struct naive {
    struct naive_item items[NAIVE_ITEMS];
    struct naive_zone zone;
    int64_t system_s, monotonic_s, poll_s;
    struct naive_event events[NAIVE_EVENTS];
    size_t event_count;
    bool released[NAIVE_ITEMS]; /* by the last tick: may fire again */
};

int32_t naive_offset(const struct naive_zone *zone, int64_t at);
bool naive_fires(enum naive_kind kind, const struct naive_zone *zone,
                 int64_t at);
void naive_begin(struct naive *naive, const struct naive_zone *zone,
                 int64_t system_s, int64_t monotonic_s);
/* Fills events, sorted by instant and item. Events skipped more than four
 * days before the tick are dropped. */
void naive_tick(struct naive *naive, const struct naive_zone *zone,
                bool zone_changed, int64_t system_s, int64_t monotonic_s);

#endif
