#include "lib/time.h"

#include <inttypes.h>
#include <stdio.h>

enum { SECONDS_PER_DAY = 86400, STEP_MS = 100 };

static int64_t divide_down(int64_t a, int64_t b) {
    return a / b - (a % b < 0);
}

int64_t wall_s(struct wall wall) {
    return divide_down(wall.ns, NS_PER_S);
}

struct wall wall_from_s(int64_t s) {
    int64_t ns;

    if (__builtin_mul_overflow(s, NS_PER_S, &ns))
        ns = s < 0 ? INT64_MIN : INT64_MAX;
    return (struct wall){ns};
}

struct wall wall_add_ms(struct wall wall, int64_t ms) {
    return (struct wall){duration_add(wall.ns, ms)};
}

int64_t wall_ms_since(struct wall later, struct wall earlier) {
    return duration_between(later.ns, earlier.ns);
}

struct wall wall_set_back(struct wall planned, int64_t ms) {
    bool stays = planned.ns == 0 || planned.ns == WALL_NEVER.ns;

    return stays ? planned : wall_add_ms(planned, -ms);
}

int64_t wall_watch_step(struct wall_watch *watch, struct wall wall,
                        struct boot boot) {
    int64_t ahead_ns = wall.ns - boot.ns;
    int64_t ms = duration_between(watch->ahead_ns, ahead_ns);
    bool is_back = watch->is_begun && ms >= STEP_MS;

    if (!watch->is_begun || is_back || ahead_ns > watch->ahead_ns)
        watch->ahead_ns = ahead_ns;
    watch->is_begun = true;
    return is_back ? ms : 0;
}

/* Days and dates of the Gregorian calendar, which repeats after 400 years of
 * 146097 days. Years begin in March here, so that leap days come last. */
static int64_t days_of_date(int64_t year, int month, int day) {
    int64_t y = month <= 2 ? year - 1 : year;
    int64_t era = divide_down(y, 400), of_era = y - era * 400;
    int64_t of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;

    return era * 146097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year -
           719468;
}

static void date_of_days(int64_t days, int *ret_year, int *ret_month,
                         int *ret_day) {
    int64_t z = days + 719468, era = divide_down(z, 146097);
    int64_t d = z - era * 146097;
    int64_t y = (d - d / 1460 + d / 36524 - d / 146096) / 365;
    int64_t of_year = d - (365 * y + y / 4 - y / 100);
    int64_t m = (5 * of_year + 2) / 153;

    *ret_day = (int)(of_year - (153 * m + 2) / 5 + 1);
    *ret_month = (int)(m < 10 ? m + 3 : m - 9);
    *ret_year = (int)(y + era * 400 + (*ret_month <= 2));
}

uint32_t wall_fraction(struct wall wall) {
    /* Unsigned, because the earliest second may overflow. */
    uint64_t whole = (uint64_t)wall_s(wall) * (uint64_t)NS_PER_S;

    return (uint32_t)((uint64_t)wall.ns - whole);
}

char *wall_format(struct wall wall, char ret[WALL_TEXT_BYTES]) {
    int64_t s = wall_s(wall), days = divide_down(s, SECONDS_PER_DAY);
    unsigned of_day = (unsigned)(s - days * SECONDS_PER_DAY);
    unsigned ms = wall_fraction(wall) / (unsigned)NS_PER_MS;
    int year, month, day;

    date_of_days(days, &year, &month, &day);
    snprintf(ret, WALL_TEXT_BYTES, "%04d-%02d-%02dT%02u:%02u:%02u.%03uZ", year,
             month % 100, day % 100, of_day / 3600 % 24, of_day / 60 % 60,
             of_day % 60, ms % 1000);
    return ret;
}

/* Cuts exactly `digits` digits off the front. */
static bool take_number(struct span *rest, size_t digits, int *ret_value) {
    uint64_t value;

    if (rest->len < digits || !span_u64(span_make(rest->p, digits), &value))
        return false;
    *rest = span_make(rest->p + digits, rest->len - digits);
    *ret_value = (int)value;
    return true;
}

static bool take_one_of(struct span *rest, const char *set) {
    if (rest->len == 0 || rest->p[0] == '\0' || strchr(set, rest->p[0]) == NULL)
        return false;
    *rest = span_make(rest->p + 1, rest->len - 1);
    return true;
}

static int month_days(int year, int month) {
    static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    bool leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);

    return days[month - 1] + (month == 2 && leap);
}

static bool take_date(struct span *rest, int64_t *ret_days) {
    int year, month, day;

    if (!take_number(rest, 4, &year) || !take_one_of(rest, "-") ||
        !take_number(rest, 2, &month) || !take_one_of(rest, "-") ||
        !take_number(rest, 2, &day) || month < 1 || month > 12 || day < 1 ||
        day > month_days(year, month))
        return false;
    *ret_days = days_of_date(year, month, day);
    return true;
}

/* A leap second (:60) counts as the following second. */
static bool take_clock(struct span *rest, int *ret_seconds) {
    int hour, minute, second;

    if (!take_number(rest, 2, &hour) || !take_one_of(rest, ":") ||
        !take_number(rest, 2, &minute) || !take_one_of(rest, ":") ||
        !take_number(rest, 2, &second) || hour > 23 || minute > 59 ||
        second > 60)
        return false;
    *ret_seconds = (hour * 60 + minute) * 60 + second;
    return true;
}

/* Digits after the ninth are dropped. */
static bool take_fraction(struct span *rest, int64_t *ret_ns) {
    int64_t unit = NS_PER_S / 10;
    bool some = false;

    *ret_ns = 0;
    if (!take_one_of(rest, "."))
        return true;
    while (rest->len > 0 && rest->p[0] >= '0' && rest->p[0] <= '9') {
        *ret_ns += unit * (rest->p[0] - '0');
        unit /= 10;
        some = true;
        *rest = span_make(rest->p + 1, rest->len - 1);
    }
    return some;
}

static bool take_offset(struct span *rest, int *ret_seconds) {
    int sign, hour, minute;

    *ret_seconds = 0;
    if (take_one_of(rest, "Zz"))
        return true;
    sign = rest->len > 0 && rest->p[0] == '-' ? -1 : 1;
    if (!take_one_of(rest, "+-") || !take_number(rest, 2, &hour) ||
        !take_one_of(rest, ":") || !take_number(rest, 2, &minute) ||
        hour > 23 || minute > 59)
        return false;
    *ret_seconds = sign * (hour * 60 + minute) * 60;
    return true;
}

bool wall_parse(struct span span, struct wall *ret_wall) {
    int64_t days, ns, sum;
    int of_day, offset;

    *ret_wall = (struct wall){0};
    if (!take_date(&span, &days) || !take_one_of(&span, "Tt ") ||
        !take_clock(&span, &of_day) || !take_fraction(&span, &ns) ||
        !take_offset(&span, &offset) || span.len > 0)
        return false;
    if (__builtin_mul_overflow(days * SECONDS_PER_DAY + of_day - offset,
                               NS_PER_S, &sum) ||
        __builtin_add_overflow(sum, ns, &sum))
        return false;
    ret_wall->ns = sum;
    return true;
}
