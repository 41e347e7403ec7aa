/* Instants in the forms that people write. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cron/civil.h"
#include "cron/zone.h"

char *cron_instant_format(const struct cron_zone *zone, int64_t at,
                          char ret[CRON_INSTANT_BYTES]) {
    int32_t offset = 0;
    unsigned away_min;
    struct civil date;
    int64_t day;
    unsigned s;

    snprintf(ret, CRON_INSTANT_BYTES, "%" PRId64, at);
    if (at < CRON_OLDEST || at > CRON_NEWEST)
        return ret;
    if (zone != NULL)
        offset = cron_zone_offset_s(zone, at);
    /* RFC 3339 has no offsets with seconds, or of a day or more. */
    if (offset % 60 != 0 || offset <= -DAY_S || offset >= DAY_S)
        offset = 0;
    day = floor_div(at + offset, DAY_S);
    s = (unsigned)(at + offset - day * DAY_S);
    away_min = (unsigned)(offset < 0 ? -offset : offset) / 60;
    date = civil_of_day((int32_t)day);
    if (date.year < 0 || date.year > 9999)
        return ret;
    snprintf(ret, CRON_INSTANT_BYTES,
             "%04u-%02u-%02uT%02u:%02u:%02u%c%02u:%02u",
             (unsigned)date.year % 10000, date.month % 100, date.day % 100,
             s / 3600 % 100, s / 60 % 60, s % 60, offset < 0 ? '-' : '+',
             away_min / 60 % 100, away_min % 60);
    return ret;
}

static bool number(const char **p, size_t digits, int64_t *ret_value) {
    *ret_value = 0;
    for (; digits > 0; digits--, (*p)++) {
        if (**p < '0' || **p > '9')
            return false;
        *ret_value = *ret_value * 10 + (**p - '0');
    }
    return true;
}

static bool take(const char **p, char c) {
    bool found = **p == c;

    *p += found;
    return found;
}

static bool parse_date(const char **p, int64_t *ret_day) {
    int64_t year, month, day;

    if (!number(p, 4, &year) || !take(p, '-') || !number(p, 2, &month) ||
        !take(p, '-') || !number(p, 2, &day) || month < 1 || month > 12 ||
        day < 1 || day > month_days((int32_t)year, (uint32_t)month))
        return false;
    *ret_day = day_of_civil((int32_t)year, (uint32_t)month, (uint32_t)day);
    return true;
}

static bool parse_time(const char **p, int64_t *ret_s) {
    int64_t h, m, s;

    if (!number(p, 2, &h) || !take(p, ':') || !number(p, 2, &m) ||
        !take(p, ':') || !number(p, 2, &s) || h > 23 || m > 59 || s > 60)
        return false;
    *ret_s = h * 3600 + m * 60 + (s == 60 ? 59 : s);
    if (take(p, '.')) {
        if (**p < '0' || **p > '9')
            return false;
        while (**p >= '0' && **p <= '9')
            (*p)++;
    }
    return true;
}

static bool parse_epoch(const char *text, int64_t *ret_at) {
    bool negative = text[0] == '-';
    const char *p = text + negative;
    uint64_t value = 0;

    if (*p == '\0' || strlen(p) > 19)
        return false;
    for (; *p != '\0'; p++) {
        if (*p < '0' || *p > '9')
            return false;
        value = value * 10 + (uint64_t)(*p - '0');
    }
    if (value > (uint64_t)INT64_MAX + negative)
        return false;
    *ret_at = (int64_t)(negative ? 0 - value : value);
    return true;
}

bool cron_instant_parse(const char *text, int64_t *ret_at) {
    int64_t day, s;
    int32_t offset;
    const char *p = text;

    if (parse_epoch(text, ret_at))
        return true;
    if (!parse_date(&p, &day) || (*p != 'T' && *p != 't' && *p != ' '))
        return false;
    p++;
    if (!parse_time(&p, &s) || !zone_offset_parse(p, &offset))
        return false;
    /* RFC 3339: Z, or hours and minutes with a colon. */
    if (p[1] != '\0' && (strlen(p) != 6 || p[3] != ':'))
        return false;
    *ret_at = day * DAY_S + s - offset;
    return true;
}
