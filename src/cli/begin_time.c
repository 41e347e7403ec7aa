#include "cli/begin_time.h"

#include <stdio.h>

#include "os/clock.h"
#include <pointsman/cron.h>

enum { ITEM_BYTES = 240, DAY_S = 86400, END_YEAR = 2262 };

static bool refuse(const char *text, struct err *err) {
    return err_set(err, ERR_USAGE,
                   "'--begin' must be a time such as "
                   "2026-12-01T02:00:00+01:00, 02:00, 'tomorrow 02:00', "
                   "'2026-12-01 02:00', +90m or now+90m, not '%s'",
                   text);
}

/* The registry counts nanoseconds in 64 bits. */
static bool refuse_late(const char *text, struct err *err) {
    return err_set(err, ERR_USAGE,
                   "'--begin' must be a time before the year %d, not '%s'",
                   END_YEAR, text);
}

/* "07" as 7, up to `most`. */
static bool take_two(struct span *rest, unsigned most, unsigned *ret_value) {
    uint64_t value;

    if (rest->len < 2 || !span_u64(span_make(rest->p, 2), &value) ||
        value > most)
        return false;
    *ret_value = (unsigned)value;
    *rest = span_make(rest->p + 2, rest->len - 2);
    return true;
}

static bool take_char(struct span *rest, char c) {
    if (rest->len == 0 || rest->p[0] != c)
        return false;
    *rest = span_make(rest->p + 1, rest->len - 1);
    return true;
}

struct local {
    bool dated;
    unsigned year, month, day, hour, minute, second;
};

/* HH:MM[:SS] */
static bool clock_parse(struct span text, struct local *local) {
    return take_two(&text, 23, &local->hour) && take_char(&text, ':') &&
           take_two(&text, 59, &local->minute) &&
           (text.len == 0 ||
            (take_char(&text, ':') && take_two(&text, 59, &local->second))) &&
           text.len == 0;
}

/* The date of today, or of the day after, in the zone. */
static bool date_of(const struct cron_zone *zone, int64_t now, bool next,
                    struct local *local) {
    char text[CRON_INSTANT_BYTES];
    unsigned last = local->day;
    int64_t at = now;

    /* A day has 23 to 25 hours; some zones once left out a whole one. */
    for (int steps = 0; steps < 50; steps++, at += DAY_S / 24) {
        cron_instant_format(zone, at, text);
        if (sscanf(text, "%4u-%2u-%2uT", &local->year, &local->month,
                   &local->day) != 3)
            return false;
        if (!next || (steps > 0 && local->day != last))
            return true;
        last = local->day;
    }
    return false;
}

/* YYYY-MM-DD */
static bool date_parse(struct span text, struct local *local) {
    unsigned century;

    return take_two(&text, 99, &century) && take_two(&text, 99, &local->year) &&
           take_char(&text, '-') && take_two(&text, 12, &local->month) &&
           take_char(&text, '-') && take_two(&text, 31, &local->day) &&
           text.len == 0 && (local->year += 100 * century) > 0;
}

/* [today|tomorrow|YYYY-MM-DD] HH:MM[:SS] */
static bool local_parse(struct span text, const struct cron_zone *zone,
                        int64_t now, struct local *ret_local) {
    struct span first, rest = text;

    *ret_local = (struct local){0};
    if (!span_cut(&rest, ' ', &first) || rest.p == NULL)
        return clock_parse(text, ret_local);
    ret_local->dated = true;
    bool next = span_is(first, "tomorrow");
    bool fine = next || span_is(first, "today")
                    ? date_of(zone, now, next, ret_local)
                    : date_parse(first, ret_local);
    return fine && clock_parse(span_trim(rest), ret_local);
}

/* The next instant at which the clock of the zone shows so; of a date, the first
 * one if all have passed. */
static bool local_find(const struct local *local, const struct cron_zone *zone,
                       int64_t now, int64_t *ret_at, struct cron_err *err) {
    char text[ITEM_BYTES], date[ITEM_BYTES / 2] = "";
    struct cron_item *item;

    if (local->dated)
        snprintf(date, sizeof(date),
                 "\"year\": %u, \"month\": %u, \"day_of_month\": %u, ",
                 local->year, local->month, local->day);
    int bytes =
        snprintf(text, sizeof(text),
                 "{%s\"hour\": %u, \"minute\": %u, \"second\": %u, "
                 "\"dst_fixes\": [\"unskip\", \"repeat_use_both\"]}",
                 date, local->hour, local->minute, local->second);
    if (!cron_item_parse(text, (size_t)bytes, &item, err))
        return false;
    enum cron_found found = cron_next(item, zone, now, ret_at, err);
    if (found == CRON_NONE && local->dated)
        found = cron_next(item, zone, 0, ret_at, err);
    cron_item_unref(item);
    return found == CRON_FOUND;
}

static bool parse_local(const char *text, struct wall now,
                        struct wall *ret_begin, struct err *err) {
    struct cron_err cron_err = {0};
    struct cron_zone *zone;
    struct local local;
    int64_t at;

    if (!cron_zone_open(NULL, &zone, &cron_err))
        return err_set(err, ERR_CONFIG, "%s", cron_err.text);
    bool fine = local_parse(span_of(text), zone, wall_s(now), &local) &&
                local_find(&local, zone, wall_s(now) + 1, &at, &cron_err);
    cron_zone_unref(zone);
    if (!fine)
        return refuse(text, err);
    *ret_begin = wall_from_s(at);
    return true;
}

static bool is_late(struct span text) {
    uint64_t year;
    return text.len > 4 && text.p[4] == '-' &&
           span_u64(span_make(text.p, 4), &year) && year >= END_YEAR;
}

static bool parse(const char *text, struct wall now, struct wall *ret_begin,
                  struct err *err) {
    struct span span = span_of(text);
    int64_t ms;

    if (is_late(span))
        return refuse_late(text, err);
    if (wall_parse(span, ret_begin))
        return ret_begin->ns > 0 || refuse(text, err);
    if (span_starts(span, "now"))
        span = span_make(span.p + 3, span.len - 3);
    if (span.len > 0 && span.p[0] == '+') {
        if (!duration_parse(span_make(span.p + 1, span.len - 1), &ms))
            return refuse(text, err);
        *ret_begin = wall_add_ms(now, ms);
        return ret_begin->ns < WALL_NEVER.ns || refuse_late(text, err);
    }
    return parse_local(text, now, ret_begin, err);
}

bool begin_time_given(struct call *call, struct wall *ret_begin,
                      struct err *err) {
    const char *text =
        call_knows(call, "begin") ? call_value(call, "begin") : NULL;

    *ret_begin = (struct wall){0};
    return text == NULL || parse(text, clock_wall(), ret_begin, err);
}
