#include "cli/cron_check.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "lib/json.h"

enum {
    YEAR_S = 31556952,
    LOOK_YEARS = 2, /* for changes of the clock */
    FAR_YEARS = 5,
    EVENTS = 1000, /* looked at for bursts */
    BURST_LEAST = 10
};

struct check {
    const struct cron_query *query;
    const struct cron_zone *zone;
    int64_t from;
    cron_finding *finding;
    void *ctx;
    bool well;
};

static void find(struct check *check, const char *name, bool bad,
                 const char *format, ...) PRINTF_LIKE(4, 5);

static void find(struct check *check, const char *name, bool bad,
                 const char *format, ...) {
    CLEANUP(text_clear) struct text text = TEXT_INIT;
    va_list args;

    va_start(args, format);
    text_addv(&text, format, args);
    va_end(args);
    check->well &= !bad;
    check->finding(check->ctx, name, bad, text_string(&text));
}

/* ---- the zone ------------------------------------------------------------ */

/* The name by which the zone was requested; the system's zone may be a rule
 * in $TZ. */
static const char *query_name(const struct check *check) {
    const char *name = cron_zone_name(check->zone), *system = getenv("TZ");

    return name[0] == '\0' && system != NULL ? system : name;
}

/* "MST-07" is seven hours east, which may surprise; "Etc/GMT-7" is a file
 * with the same meaning. */
static void check_zone(struct check *check) {
    const char *name = query_name(check), *word = name;
    int32_t offset = cron_zone_offset_s(check->zone, check->from);
    size_t letters = 0;

    if (strncmp(word, "Etc/", 4) == 0)
        word += 4;
    else if (!cron_zone_is_rule(check->zone))
        return;
    while (isalpha((unsigned char)word[letters]))
        letters++;
    find(check, "zone", false, "zone '%s' has the offset %c%02d:%02d then",
         name, offset < 0 ? '-' : '+', (offset < 0 ? -offset : offset) / 3600,
         (offset < 0 ? -offset : offset) / 60 % 60);
    if (letters < 3 || offset == 0 ||
        (word[letters] != '-' && word[letters] != '+'))
        return;
    find(check, "zone-sign", true,
         "in a POSIX TZ string the sign counts westwards: '%s' is %s of "
         "Greenwich; write %c%02d:%02d if the opposite was meant",
         name, offset > 0 ? "east" : "west", offset > 0 ? '-' : '+',
         (offset < 0 ? -offset : offset) / 3600,
         (offset < 0 ? -offset : offset) / 60 % 60);
}

/* ---- changes of the clock ------------------------------------------------ */

/* In UTC labels are instants, so labels can be counted there. */
static uint64_t labels_between(const struct check *check, int64_t from,
                               int64_t until) {
    uint64_t count = 0, one;

    for (size_t i = 0; i < check->query->count; i++)
        if (cron_item_is_timezone_dependent(check->query->items[i]) &&
            cron_count(check->query->items[i], NULL, from, until, &one, NULL))
            count += one;
    return count;
}

static bool fires_at(const struct check *check, int64_t at) {
    for (size_t i = 0; i < check->query->count; i++)
        if (cron_matches(check->query->items[i], check->zone, at))
            return true;
    return false;
}

static void check_jump(struct check *check, int64_t at, int32_t before,
                       int32_t after) {
    uint64_t lost = labels_between(check, at + before, at + after);
    char text[CRON_INSTANT_BYTES], then[CRON_INSTANT_BYTES];

    if (lost == 0)
        return;
    cron_instant_format(check->zone, at, text);
    if (fires_at(check, at - 1))
        find(check, "gap", false,
             "%" PRIu64 " run%s in the time the clock skips at %s: fires once "
             "in the second before, %s",
             lost, lost == 1 ? "" : "s", text,
             cron_instant_format(check->zone, at - 1, then));
    else
        find(check, "gap", lost == 1,
             "%" PRIu64 " run%s in the time the clock skips at %s: skipped%s",
             lost, lost == 1 ? "" : "s", text,
             lost == 1 ? "; 'unskip' would fire just before" : "");
}

static void check_repeat(struct check *check, int64_t at, int32_t before,
                         int32_t after) {
    uint64_t twice = labels_between(check, at + after, at + before), fired = 0;
    char text[CRON_INSTANT_BYTES];

    if (twice == 0)
        return;
    for (size_t i = 0; i < check->query->count; i++) {
        uint64_t one;
        if (cron_count(check->query->items[i], check->zone,
                       at - (before - after), at + (before - after), &one,
                       NULL))
            fired += one;
    }
    find(check, "repeat", fired > twice && twice == 1,
         "the clock is turned back at %s: %" PRIu64
         " local time%s occur%s twice; fires %" PRIu64 " time%s",
         cron_instant_format(check->zone, at, text), twice,
         twice == 1 ? "" : "s", twice == 1 ? "s" : "", fired,
         fired == 1 ? "" : "s");
}

static void check_changes(struct check *check) {
    int64_t at = check->from, end = check->from + LOOK_YEARS * YEAR_S;
    int32_t before, after;

    while (cron_zone_change(check->zone, at, &at, &before, &after, NULL) ==
               CRON_FOUND &&
           at < end) {
        if (after > before)
            check_jump(check, at, before, after);
        else
            check_repeat(check, at, before, after);
    }
}

/* ---- strides ------------------------------------------------------------- */

/* A range with a period from the least value on, to the end of the unit. */
struct stride {
    const char *unit, *next; /* "minute", "the full hour" */
    int64_t span, period;
};

/* N of a star with a step, or of {"period": N}. 0: there is none, or it does
 * not begin at the least value, or it ends before the greatest. */
static int64_t stride_in_line(const char *line, int column) {
    const char *p = line;
    int64_t period = 0;

    for (; column > 0; column--) {
        p += strspn(p, " \t");
        p += strcspn(p, " \t");
    }
    p += strspn(p, " \t");
    if (p[0] != '*' || p[1] != '/')
        return 0;
    for (p += 2; isdigit((unsigned char)*p) && period < 1000; p++)
        period = period * 10 + (*p - '0');
    return *p == ' ' || *p == '\t' || *p == '\0' ? period : 0;
}

static int64_t stride_in_item(const char *text, const char *key) {
    struct json_value range, value;
    int64_t period;

    if (!json_find(span_of(text), key, &range) || range.type != JSON_OBJECT ||
        json_member(range, "start", &value) ||
        json_member(range, "end", &value) ||
        !json_member(range, "period", &value) || !json_get_i64(value, &period))
        return 0;
    return period;
}

static void check_stride(struct check *check, const struct stride *stride) {
    int64_t count, gap;

    if (stride->period <= 1 || stride->period >= stride->span ||
        stride->span % stride->period == 0)
        return;
    count = (stride->span - 1) / stride->period;
    gap = stride->span - count * stride->period;
    find(check, "uneven", true,
         "every %" PRId64 " %ss is uneven: only %" PRId64
         " %s%s from %s %" PRId64 " to %s, because %" PRId64
         " is no multiple of %" PRId64,
         stride->period, stride->unit, gap, stride->unit, gap == 1 ? "" : "s",
         stride->unit, count * stride->period, stride->next, stride->span,
         stride->period);
}

/* A period starts again in each hour, day or month. */
static void check_strides(struct check *check) {
    static const struct stride fields[] = {
        {"minute", "the full hour", 60, 0},
        {"hour", "midnight", 24, 0},
    };
    const struct cron_query *query = check->query;

    for (size_t i = 0; i < COUNT(fields); i++) {
        struct stride stride = fields[i];
        stride.period = query->line != NULL
                            ? stride_in_line(query->line, (int)i)
                            : stride_in_item(query->texts[0], stride.unit);
        check_stride(check, &stride);
    }
    int64_t days = query->line != NULL
                       ? stride_in_line(query->line, 2)
                       : stride_in_item(query->texts[0], "day_of_month");
    if (days > 1)
        find(check, "uneven", true,
             "every %" PRId64 " days of the month starts again on the 1st; use "
             "iter_day for every %" PRId64 " days across months",
             days, days);
}

/* ---- days ---------------------------------------------------------------- */

static void check_day_columns(struct check *check) {
    if (check->query->days == CRON_DAYS_EITHER)
        find(check, "either-day", true,
             "either of the two day columns is enough, because neither begins "
             "with a star; for both, write a JSON item with weekday_of_month");
    if (check->query->days == CRON_DAYS_BOTH)
        find(check, "both-days", true,
             "both day columns must match, because one of them begins with a "
             "star; without it, one match would be enough");
}

/* An item of some of its keys: "day_of_month" and "month", or only the latter.
 * NULL: it has no such day, or no memory. */
static struct cron_item *part_of(const char *text, bool with_days) {
    CLEANUP(text_clear) struct text part = TEXT_INIT;
    struct cron_item *item = NULL;
    struct json_value days, months;

    if (!json_find(span_of(text), "day_of_month", &days))
        return NULL;
    text_adds(&part, "{\"minute\": 0, \"hour\": 0, ");
    if (with_days)
        text_addf(&part, "\"day_of_month\": %.*s, ", (int)days.raw.len,
                  days.raw.p);
    if (json_find(span_of(text), "month", &months))
        text_addf(&part, "\"month\": %.*s, ", (int)months.raw.len,
                  months.raw.p);
    text_adds(&part, "\"dst_fixes\": [\"skip\", \"repeat_use_both\"]}");
    return cron_item_parse(part.p, part.len, &item, NULL) ? item : NULL;
}

static bool fires_between(const struct cron_item *item, int64_t from,
                          int64_t until) {
    int64_t at;

    return cron_next(item, NULL, from, &at, NULL) == CRON_FOUND && at < until;
}

/* Months that the pattern selects, and that have none of its days. */
static void check_months(struct check *check) {
    static const struct {
        const char *name;
        int days;
    } months[] = {
        {"January", 31},   {"February", 28}, {"March", 31},    {"April", 30},
        {"May", 31},       {"June", 30},     {"July", 31},     {"August", 31},
        {"September", 30}, {"October", 31},  {"November", 30}, {"December", 31},
    };
    enum { DAY_S = 86400 };
    CLEANUP(text_clear) struct text without = TEXT_INIT;
    struct cron_item *days = part_of(check->query->texts[0], true);
    struct cron_item *any = part_of(check->query->texts[0], false);
    /* 2025, and 29 February 2028. */
    int64_t at = 1735689600, leap_day = 1835395200;

    for (size_t i = 0; days != NULL && any != NULL && i < COUNT(months); i++) {
        int64_t until = at + months[i].days * (int64_t)DAY_S;
        if (fires_between(any, at, until) && !fires_between(days, at, until))
            text_addf(&without, "%s%s%s", without.len ? ", " : "",
                      months[i].name,
                      i == 1 && fires_between(days, leap_day, leap_day + 1)
                          ? " (except in leap years)"
                          : "");
        at = until;
    }
    cron_item_unref(days);
    cron_item_unref(any);
    if (without.len > 0)
        find(check, "months", true,
             "months without such a day are skipped: %s; -1 in a JSON item is "
             "the last day of every month",
             text_string(&without));
}

/* ---- events -------------------------------------------------------------- */

/* "1 hour 30 minutes" */
static const char *duration(struct text *text, int64_t s) {
    static const struct {
        int64_t s;
        const char *name;
    } units[] = {{86400, "day"}, {3600, "hour"}, {60, "minute"}, {1, "second"}};

    for (size_t i = 0; i < COUNT(units); i++) {
        int64_t count = s / units[i].s;
        if (count == 0)
            continue;
        text_addf(text, "%s%" PRId64 " %s%s", text->len > 0 ? " " : "", count,
                  units[i].name, count == 1 ? "" : "s");
        s -= count * units[i].s;
    }
    return text_string(text);
}

static void find_burst(struct check *check, uint64_t run, int64_t gap,
                       int64_t last, int64_t silence) {
    CLEANUP(text_clear) struct text apart = TEXT_INIT, silent = TEXT_INIT;
    char from[CRON_INSTANT_BYTES], until[CRON_INSTANT_BYTES];

    cron_instant_format(check->zone, last - (int64_t)(run - 1) * gap, from);
    cron_instant_format(check->zone, last, until);
    find(check, "burst", gap <= 60,
         "fires %" PRIu64 " times in a row, %s apart, from %s to %s, then not "
         "for %s%s",
         run, duration(&apart, gap), from, until, duration(&silent, silence),
         gap <= 60 ? "; was one run meant, with a number for the minute?" : "");
}

/* Many runs in a row, then a long silence: `* 3 * * *` instead of the
 * intended `0 3 * * *`. */
static void check_bursts(struct check *check, int64_t first) {
    int64_t last = first, at, gap = 0;
    uint64_t run = 1;

    for (int i = 0; i < EVENTS; i++) {
        if (cron_query_next(check->query, check->zone, last + 1, &at, NULL) !=
            CRON_FOUND)
            return;
        if (run >= BURST_LEAST && at - last >= 10 * gap) {
            find_burst(check, run, gap, last, at - last);
            return;
        }
        if (at - last != gap)
            run = 1;
        gap = at - last;
        last = at;
        run++;
    }
}

static bool check_events(struct check *check, struct err *err) {
    char text[CRON_INSTANT_BYTES];
    int64_t at;
    enum cron_found found =
        cron_query_next(check->query, check->zone, check->from, &at, err);

    if (found == CRON_FAILED)
        return false;
    if (found == CRON_NONE) {
        find(check, "never", true, "never fires after %s",
             cron_instant_format(check->zone, check->from, text));
        return true;
    }
    cron_instant_format(check->zone, at, text);
    if (at - check->from > FAR_YEARS * (int64_t)YEAR_S)
        find(check, "far", true, "first fires at %s, in more than %d years",
             text, FAR_YEARS);
    check_bursts(check, at);
    return true;
}

bool cron_check(const struct cron_query *query, const struct cron_zone *zone,
                int64_t from, cron_finding *finding, void *ctx, bool *ret_well,
                struct err *err) {
    struct check check = {query, zone, from, finding, ctx, true};

    check_zone(&check);
    check_strides(&check);
    check_day_columns(&check);
    check_months(&check);
    if (!check_events(&check, err))
        return false;
    check_changes(&check);
    *ret_well = check.well;
    return true;
}
