#include "cron/tz_rule.h"

#include "cron/civil.h"

struct scan {
    const char *text, *p, *end;
    struct cron_err *err;
};

static bool wrong(struct scan *scan, const char *what) {
    return fault_at(scan->err, CRON_ERR_ZONE, scan->text,
                    (size_t)(scan->p - scan->text), "%s", what);
}

static char look(const struct scan *scan) {
    return scan->p < scan->end ? *scan->p : '\0';
}

static bool take(struct scan *scan, char c) {
    bool found = look(scan) == c && c != '\0';

    scan->p += found;
    return found;
}

static bool is_letter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

static bool scan_name(struct scan *scan) {
    bool quoted = take(scan, '<');
    const char *from = scan->p;

    while (is_letter(look(scan)) ||
           (quoted &&
            (is_digit(look(scan)) || look(scan) == '+' || look(scan) == '-')))
        scan->p++;
    if (scan->p - from < 3)
        return wrong(scan,
                     "a zone's abbreviation must have three letters or more");
    if (quoted && !take(scan, '>'))
        return wrong(scan, "an abbreviation lacks its >");
    return true;
}

static bool scan_number(struct scan *scan, int32_t least, int32_t most,
                        const char *what, int32_t *ret_value) {
    const char *from = scan->p;
    int32_t value = 0;

    while (is_digit(look(scan)) && scan->p - from < 4)
        value = value * 10 + (*scan->p++ - '0');
    if (scan->p == from || value < least || value > most) {
        scan->p = from;
        return wrong(scan, what);
    }
    *ret_value = value;
    return true;
}

/* [+-]h[:mm[:ss]] */
static bool scan_time(struct scan *scan, int32_t hours_most,
                      int32_t *ret_time_s) {
    bool negative = take(scan, '-');
    int32_t h, m = 0, s = 0;

    if (!negative)
        (void)take(scan, '+');
    if (!scan_number(scan, 0, hours_most,
                     hours_most == 24
                         ? "hours of an offset must be from 0 to 24"
                         : "hours of a rule must be from 0 to 167",
                     &h))
        return false;
    if (take(scan, ':')) {
        if (!scan_number(scan, 0, 59, "minutes must be from 0 to 59", &m))
            return false;
        if (take(scan, ':') &&
            !scan_number(scan, 0, 59, "seconds must be from 0 to 59", &s))
            return false;
    }
    s += h * 3600 + m * 60;
    *ret_time_s = negative ? -s : s;
    return true;
}

static bool scan_day(struct scan *scan, struct tz_day *ret) {
    int32_t number;

    *ret = (struct tz_day){.time_s = 2 * 3600};
    if (!take(scan, ','))
        return wrong(scan, "summer time needs the days when it begins and "
                           "ends, such as ,M3.5.0,M10.5.0/3");
    if (take(scan, 'M')) {
        ret->kind = TZ_DAY_WEEK;
        if (!scan_number(scan, 1, 12, "months must be from 1 to 12", &number))
            return false;
        ret->month = (uint32_t)number;
        if (!take(scan, '.'))
            return wrong(scan, "a day must be written Mmonth.week.weekday");
        if (!scan_number(scan, 1, 5, "weeks must be from 1 to 5", &number))
            return false;
        ret->week = (uint32_t)number;
        if (!take(scan, '.'))
            return wrong(scan, "a day must be written Mmonth.week.weekday");
        if (!scan_number(scan, 0, 6, "weekdays must be from 0 (Sunday) to 6",
                         &ret->day))
            return false;
    } else if (take(scan, 'J')) {
        ret->kind = TZ_DAY_JULIAN;
        if (!scan_number(scan, 1, 365, "days after J must be from 1 to 365",
                         &ret->day))
            return false;
    } else {
        ret->kind = TZ_DAY_ZERO;
        if (!scan_number(scan, 0, 365, "a day must be Mm.w.d, Jn, or 0 to 365",
                         &ret->day))
            return false;
    }
    return !take(scan, '/') || scan_time(scan, 167, &ret->time_s);
}

bool tz_rule_parse(const char *text, size_t bytes, struct tz_rule *ret_rule,
                   struct cron_err *err) {
    struct scan scan = {text, text, text + bytes, err};
    struct tz_rule rule = {0};

    if (!scan_name(&scan) || !scan_time(&scan, 24, &rule.standard_s))
        return false;
    rule.standard_s = -rule.standard_s; /* POSIX counts westwards */
    if (scan.p < scan.end) {
        rule.has_summer = true;
        rule.summer_s = rule.standard_s + 3600;
        if (!scan_name(&scan))
            return false;
        if (look(&scan) != ',' && scan.p < scan.end) {
            if (!scan_time(&scan, 24, &rule.summer_s))
                return false;
            rule.summer_s = -rule.summer_s;
        }
        if (!scan_day(&scan, &rule.start) || !scan_day(&scan, &rule.end))
            return false;
        if (scan.p != scan.end)
            return wrong(&scan, "unexpected text after the rule");
    }
    *ret_rule = rule;
    return true;
}

/* The day, counted from 1970-01-01. */
static int32_t day_in(const struct tz_day *day, int32_t year) {
    int32_t first, found, last;

    if (day->kind == TZ_DAY_JULIAN)
        return day_of_civil(year, 1, 1) + day->day - 1 +
               (is_leap(year) && day->day >= 60);
    if (day->kind == TZ_DAY_ZERO)
        return day_of_civil(year, 1, 1) + day->day;
    first = day_of_civil(year, day->month, 1);
    last = first + (int32_t)month_days(year, day->month) - 1;
    found = first + (day->day - (int32_t)weekday_of_day(first) + 7) % 7 +
            7 * ((int32_t)day->week - 1);
    return found > last ? found - 7 : found;
}

int64_t tz_rule_start(const struct tz_rule *rule, int32_t year) {
    return (int64_t)day_in(&rule->start, year) * DAY_S + rule->start.time_s -
           rule->standard_s;
}

int64_t tz_rule_end(const struct tz_rule *rule, int32_t year) {
    return (int64_t)day_in(&rule->end, year) * DAY_S + rule->end.time_s -
           rule->summer_s;
}
