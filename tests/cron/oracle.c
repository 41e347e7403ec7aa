#include "cron/oracle.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
    DAY = 86400,
    WINDOW = 26 * 3600,
    SAMPLE = 900,
    OFFSETS_MOST = 16,
    KNOWN = 1 << 16
};

/* The offsets of the C library for quarters of an hour with the same offset at
 * both ends; no clock was ever changed twice within one. */
static struct known {
    int64_t quarter;
    int32_t offset;
    bool valid;
} known[KNOWN];

void oracle_zone(const char *name) {
    setenv("TZ", name, 1);
    tzset();
    memset(known, 0, sizeof(known));
}

int32_t oracle_offset(int64_t at) {
    time_t time = (time_t)at;
    struct tm tm;

    localtime_r(&time, &tm);
    return (int32_t)tm.tm_gmtoff;
}

static int32_t offset_at(int64_t at) {
    int64_t quarter = at / SAMPLE - (at % SAMPLE < 0);
    struct known *cell = &known[(uint64_t)quarter % KNOWN];

    if (!cell->valid || cell->quarter != quarter) {
        int32_t offset = oracle_offset(quarter * SAMPLE);
        if (offset != oracle_offset(quarter * SAMPLE + SAMPLE - 1))
            return oracle_offset(at);
        *cell = (struct known){quarter, offset, true};
    }
    return cell->offset;
}

/* ---- labels -------------------------------------------------------------- */

/* Days since 1970-01-01, calculated as on paper. */
static int64_t day_number(int year, int month, int day) {
    static const int before[13] = {0,   0,   31,  59,  90,  120, 151,
                                   181, 212, 243, 273, 304, 334};
    int64_t years = year - 1;
    bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
    int64_t days = years * 365 + years / 4 - years / 100 + years / 400;

    return days + before[month] + (leap && month > 2) + day - 1 - 719162;
}

static int length_of(int year, int month) {
    return (int)(month == 12 ? 31
                             : day_number(year, month + 1, 1) -
                                   day_number(year, month, 1));
}

static void split(int64_t label, struct tm *ret) {
    time_t time = (time_t)label;

    gmtime_r(&time, ret);
    ret->tm_year += 1900;
    ret->tm_mon += 1;
    ret->tm_wday += 1;
}

static bool step_admits(const struct oracle_step *step, const struct tm *tm) {
    int64_t start = day_number(step->year, step->month, step->day);
    int64_t day = day_number(tm->tm_year, tm->tm_mon, tm->tm_mday);
    int months = (tm->tm_year - step->year) * 12 + tm->tm_mon - step->month;

    if (step->unit == 0)
        return true;
    if (day < start)
        return false;
    if (step->unit == 'd')
        return (day - start) % step->period == 0;
    if (step->unit == 'w')
        return (day - start) / 7 % step->period == 0;
    return months % step->period == 0;
}

static bool date_admits(const struct oracle_item *item, const struct tm *tm) {
    int from_end = length_of(tm->tm_year, tm->tm_mon) - tm->tm_mday + 1;

    if (tm->tm_year < 1969 || tm->tm_year > 9999 || !item->year[tm->tm_year])
        return false;
    if (!item->month[tm->tm_mon] || !item->weekday[tm->tm_wday])
        return false;
    if (!item->day[tm->tm_mday] && !item->day_end[from_end])
        return false;
    if (item->has_nth && !item->nth[(tm->tm_mday + 6) / 7][tm->tm_wday] &&
        !item->nth_end[(from_end + 6) / 7][tm->tm_wday])
        return false;
    if (item->has_except && tm->tm_mon == item->except_month &&
        tm->tm_mday == item->except_day)
        return false;
    return step_admits(&item->step, tm);
}

static bool label_admits(const struct oracle_item *item, int64_t label) {
    int64_t time = (label % DAY + DAY) % DAY;
    struct tm tm;

    if (item->has_second ? !item->second[time % 60] : time % 60 != 0)
        return false;
    if (!item->minute[time / 60 % 60] || !item->hour[time / 3600])
        return false;
    split(label, &tm);
    return date_admits(item, &tm);
}

/* ---- instants of a label ------------------------------------------------- */

/* All instants at which the clock shows the label, in order. */
static size_t instants_of(int64_t label, int64_t near, int64_t ret[8]) {
    int32_t offsets[OFFSETS_MOST];
    size_t offset_count = 0, count = 0;

    for (int64_t at = near - WINDOW; at <= near + WINDOW; at += SAMPLE) {
        int32_t offset = offset_at(at);
        size_t i = 0;
        while (i < offset_count && offsets[i] != offset)
            i++;
        if (i == offset_count && offset_count < OFFSETS_MOST)
            offsets[offset_count++] = offset;
    }
    for (size_t i = 0; i < offset_count; i++) {
        int64_t at = label - offsets[i];
        if (offset_at(at) != offsets[i] || count == 8)
            continue;
        size_t place = count++;
        for (; place > 0 && ret[place - 1] > at; place--)
            ret[place] = ret[place - 1];
        ret[place] = at;
    }
    return count;
}

static bool fires_at(const struct oracle_item *item, int64_t at,
                     int32_t offset) {
    int64_t instants[8];
    size_t count;

    if (!label_admits(item, at + offset))
        return false;
    if (item->repeat == ORACLE_BOTH)
        return true;
    count = instants_of(at + offset, at, instants);
    return at ==
           (item->repeat == ORACLE_EARLY ? instants[0] : instants[count - 1]);
}

/* Whether the change of the offset at `jump` skips a label of the item. */
static bool loses_label(const struct oracle_item *item, int64_t jump,
                        int32_t before, int32_t after) {
    int64_t instants[8], label = jump + before;
    int64_t by = item->has_second ? 1 : 60;

    if (!item->has_second)
        label += (60 - (label % 60 + 60) % 60) % 60;
    for (; label < jump + after; label += by)
        if (label_admits(item, label) &&
            instants_of(label, jump, instants) == 0)
            return true;
    return false;
}

/* ---- the search ---------------------------------------------------------- */

static bool walk_second(const struct oracle_item *item, int64_t at) {
    int32_t offset = offset_at(at), after = offset_at(at + 1);

    if (fires_at(item, at, offset))
        return true;
    return item->unskip && after > offset &&
           loses_label(item, at + 1, offset, after);
}

/* Searches [at, at + 60) up to `until`. */
static bool walk_minute(const struct oracle_item *item, int64_t at,
                        int64_t until, int64_t *ret_at) {
    int64_t end = at + 60 < until ? at + 60 : until;
    int32_t offset = offset_at(at);
    bool constant = offset == offset_at(end);

    for (; at < end; at++) {
        bool found;
        if (!constant) {
            found = walk_second(item, at);
        } else {
            if (!item->has_second)
                at += (60 - ((at + offset) % 60 + 60) % 60) % 60;
            found = at < end && fires_at(item, at, offset);
        }
        if (found) {
            *ret_at = at;
            return true;
        }
    }
    return false;
}

/* A day can be skipped if the clock does not change and no date is admitted. */
static bool skip_day(const struct oracle_item *item, int64_t at) {
    int32_t offset = offset_at(at);
    struct tm first, last;

    for (int part = 1; part <= 4; part++)
        if (offset_at(at + part * (DAY / 4)) != offset)
            return false;
    split(at + offset, &first);
    split(at + offset + DAY - 1, &last);
    return !date_admits(item, &first) && !date_admits(item, &last);
}

bool oracle_next(const struct oracle_item *item, int64_t from, int64_t until,
                 int64_t *ret_at) {
    while (from < until) {
        if (skip_day(item, from)) {
            from += DAY;
            continue;
        }
        for (int minute = 0; minute < 1440 && from < until; minute++) {
            if (walk_minute(item, from, until, ret_at))
                return true;
            from += 60;
        }
    }
    return false;
}

size_t oracle_changes(int64_t from, int64_t until, int64_t *ret, size_t most) {
    size_t count = 0;

    for (int64_t at = from; at < until && count < most; at += DAY / 2) {
        int64_t low = at, high = at + DAY / 2;
        if (offset_at(low) == offset_at(high))
            continue;
        while (high - low > 1) {
            int64_t middle = low + (high - low) / 2;
            if (offset_at(middle) == offset_at(low))
                low = middle;
            else
                high = middle;
        }
        ret[count++] = high;
    }
    return count;
}
