#include "cron/calendar.h"

/* The last day of the years of items. */
enum { DAY_MOST = LABEL_MOST / DAY_S };

/* ---- days ---------------------------------------------------------------- */

/* Beyond every day of an item. */
#define DAY_NEVER INT32_MAX

/* The first day of the step from `day` on. */
static int32_t step_next(const struct step *step, int32_t day) {
    int32_t passed, unit = step->kind == STEP_WEEK ? 7 : 1;
    struct civil date;

    if (day < step->start)
        day = step->start;
    if (step->kind == STEP_MONTH) {
        date = civil_of_day(day);
        passed = (date.year * 12 + (int32_t)date.month - step->start_month) %
                 step->period;
        if (passed > 0) {
            int32_t month = date.year * 12 + (int32_t)date.month - 1 +
                            step->period - passed;
            day = day_of_civil(month / 12, (uint32_t)(month % 12) + 1, 1);
        }
    } else {
        passed = (day - step->start) / unit % step->period;
        if (passed > 0)
            day += (step->period - passed) * unit - (day - step->start) % unit;
    }
    return day <= step->end ? day : DAY_NEVER;
}

/* The first day of all steps from `day` on. Each turn advances to the next day
 * of one of them, so the one with the longest period decides how many turns
 * there are. */
static int32_t steps_next(const struct cron_item *item, int32_t day) {
    for (;;) {
        int32_t from = day;
        for (size_t i = 0; i < item->search_count; i++) {
            day = step_next(&item->search[i], day);
            if (day > DAY_MOST)
                return DAY_NEVER;
        }
        if (day == from)
            return day;
    }
}

/* The excepted range that the day lies in; NULL: there is none. */
static const struct day_range *excepted_range(const struct cron_item *item,
                                              int32_t day) {
    size_t low = 0, high = item->except_count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (item->except[middle].last < day)
            low = middle + 1;
        else
            high = middle;
    }
    return low < item->except_count && item->except[low].first <= day
               ? &item->except[low]
               : NULL;
}

static uint32_t filter(const struct cron_item *item, uint32_t month,
                       int32_t first, uint32_t days) {
    days &= ~item->except_yearly[month];
    for (uint32_t rest = days; rest != 0; rest &= rest - 1) {
        uint32_t bit = rest & -rest;
        int32_t day = first + __builtin_ctz(rest) - 1;
        bool well = excepted_range(item, day) == NULL;
        for (size_t i = 0; i < item->search_count && well; i++)
            well = step_next(&item->search[i], day) == day;
        if (!well)
            days &= ~bit;
    }
    return days;
}

/* Bits of the item's days in that month, whose first day is `first`. */
static uint32_t days_of_month(const struct cron_item *item, int32_t year,
                              uint32_t month, int32_t first) {
    uint32_t days =
        item->days[month_days(year, month) - 28][weekday_of_day(first)];

    if (item->has_steps || item->has_except)
        days = filter(item, month, first, days);
    return days;
}

/* The earliest admitted year from `year` on, 0: none. */
static int32_t year_next(const struct cron_item *item, int32_t year) {
    int64_t found;

    for (;;) {
        if (item->leap_only && !is_leap(year)) {
            year = (year + 3) & ~3;
            year += is_leap(year) ? 0 : 4;
        }
        if (!item_series_next(&item->years, year, &found))
            return 0;
        if (!item->leap_only || is_leap((int32_t)found))
            return (int32_t)found;
        year = (int32_t)found + 1;
    }
}

/* The first day of the item in or after that month. */
static bool day_from_month(const struct cron_item *item, int32_t year,
                           uint32_t month, int32_t *ret_day) {
    for (;;) {
        int32_t found = year_next(item, year);
        uint32_t months = item->months;
        if (found == 0)
            return false;
        if (found == year)
            months = (uint32_t)((uint64_t)months >> month << month);
        year = found;
        for (; months != 0; months &= months - 1) {
            uint32_t m = (uint32_t)__builtin_ctz(months);
            int32_t first = day_of_civil(year, m, 1);
            uint32_t days = days_of_month(item, year, m, first);
            if (days != 0) {
                *ret_day = first + __builtin_ctz(days) - 1;
                return true;
            }
        }
        year++;
        month = 1;
    }
}

/* The same for an item with steps or excepted days, from `day` on: jumps from
 * one day of the steps to the next, and over whole ranges of excepted days. */
static bool day_from(const struct cron_item *item, int32_t day,
                     int32_t *ret_day) {
    for (;;) {
        const struct day_range *range;
        struct civil date;
        int32_t year, first;
        uint32_t months, days;

        day = steps_next(item, day);
        if (day > DAY_MOST)
            return false;
        date = civil_of_day(day);
        year = year_next(item, date.year);
        months = item->months >> date.month;
        first = day - (int32_t)date.day + 1;
        if (year == 0)
            return false;
        if (year > date.year || months == 0) {
            day = day_of_civil(year > date.year ? year : year + 1, 1, 1);
        } else if ((months & 1) == 0) {
            date.month += (uint32_t)__builtin_ctz(months);
            day = day_of_civil(year, date.month, 1);
        } else if ((range = excepted_range(item, day)) != NULL) {
            day = range->last + 1;
        } else {
            days = days_of_month(item, year, date.month, first) >> date.day;
            if (days != 0) {
                *ret_day = day + __builtin_ctz(days);
                return true;
            }
            day = first + (int32_t)month_days(year, date.month);
        }
    }
}

/* ---- the time of day ----------------------------------------------------- */

/* The first second of the item's day at or above `s`. */
static bool time_next(const struct cron_item *item, uint32_t s,
                      uint32_t *ret_s) {
    uint32_t hour = s / 3600, minute = s / 60 % 60, second = s % 60;
    uint64_t bits;

    if ((item->hours >> hour & 1) != 0) {
        if ((item->minutes >> minute & 1) != 0) {
            bits = item->seconds >> second;
            if (bits != 0) {
                *ret_s = s + (uint32_t)__builtin_ctzll(bits);
                return true;
            }
        }
        bits = item->minutes >> minute >> 1;
        if (bits != 0) {
            *ret_s = hour * 3600 +
                     (minute + 1 + (uint32_t)__builtin_ctzll(bits)) * 60 +
                     (uint32_t)__builtin_ctzll(item->seconds);
            return true;
        }
    }
    bits = item->hours >> hour >> 1;
    if (bits == 0)
        return false;
    *ret_s = (hour + 1 + (uint32_t)__builtin_ctzll(bits)) * 3600 +
             (uint32_t)item->least_s % 3600;
    return true;
}

bool calendar_next(const struct cron_item *item, int64_t label,
                   int64_t *ret_label) {
    int32_t day, first;
    struct civil date;
    uint32_t days, s;

    if (label > LABEL_MOST)
        return false;
    if (label < LABEL_LEAST)
        label = LABEL_LEAST;
    day = (int32_t)((uint64_t)(label - LABEL_LEAST) / DAY_S) +
          (int32_t)(LABEL_LEAST / DAY_S);
    date = civil_of_day(day);
    if ((item->months >> date.month & 1) != 0 &&
        (item->any_year || year_next(item, date.year) == date.year)) {
        first = day - (int32_t)date.day + 1;
        days = days_of_month(item, date.year, date.month, first) >> date.day;
        if ((days & 1) != 0 &&
            time_next(item, (uint32_t)(label - (int64_t)day * DAY_S), &s)) {
            *ret_label = (int64_t)day * DAY_S + s;
            return true;
        }
        days >>= 1;
        if (days != 0) {
            *ret_label = (int64_t)(day + 1 + __builtin_ctz(days)) * DAY_S +
                         item->least_s;
            return true;
        }
    }
    if (item->has_steps || item->has_except) {
        first = day - (int32_t)date.day + 1;
        if (!day_from(item, first + (int32_t)month_days(date.year, date.month),
                      &day))
            return false;
    } else if (!day_from_month(item, date.year, date.month + 1, &day)) {
        return false;
    }
    *ret_label = (int64_t)day * DAY_S + item->least_s;
    return true;
}

/* ---- counting ------------------------------------------------------------ */

static uint64_t bits_of(uint64_t bits) {
    return (uint64_t)__builtin_popcountll(bits);
}

static uint64_t below(uint64_t bits, uint32_t value) {
    return bits & ((UINT64_C(1) << value) - 1);
}

/* The number of labels below `s` on one day of the item. */
static uint64_t times_below(const struct cron_item *item, uint32_t s) {
    uint64_t of_minute = bits_of(item->seconds);
    uint64_t of_hour = bits_of(item->minutes) * of_minute;
    uint32_t hour = s / 3600, minute = s / 60 % 60, second = s % 60;
    uint64_t count = bits_of(below(item->hours, hour)) * of_hour;

    if (hour < 24 && (item->hours >> hour & 1) != 0) {
        count += bits_of(below(item->minutes, minute)) * of_minute;
        if ((item->minutes >> minute & 1) != 0)
            count += bits_of(below(item->seconds, second));
    }
    return count;
}

/* The number of labels below `label` in its month. */
static uint64_t month_below(const struct cron_item *item, int64_t label) {
    int32_t day = (int32_t)floor_div(label, DAY_S);
    struct civil date = civil_of_day(day);
    uint32_t days, s = (uint32_t)(label - (int64_t)day * DAY_S);
    uint64_t count;

    if ((item->months >> date.month & 1) == 0 ||
        year_next(item, date.year) != date.year)
        return 0;
    days =
        days_of_month(item, date.year, date.month, day - (int32_t)date.day + 1);
    count = bits_of(below(days, date.day)) * times_below(item, DAY_S);
    return (days >> date.day & 1) == 0 ? count : count + times_below(item, s);
}

static uint64_t whole_month(const struct cron_item *item, int32_t year,
                            uint32_t month) {
    if ((item->months >> month & 1) == 0 || year_next(item, year) != year)
        return 0;
    return bits_of(
               days_of_month(item, year, month, day_of_civil(year, month, 1))) *
           times_below(item, DAY_S);
}

uint64_t calendar_count(const struct cron_item *item, int64_t from,
                        int64_t until) {
    struct civil date, last;
    uint64_t count;

    if (from < LABEL_LEAST)
        from = LABEL_LEAST;
    if (until > LABEL_MOST + 1)
        until = LABEL_MOST + 1;
    for (size_t i = 0; i < item->search_count; i++) {
        const struct step *step = &item->search[i];
        if (from < step->start * (int64_t)DAY_S)
            from = step->start * (int64_t)DAY_S;
        if (until > (step->end + INT64_C(1)) * DAY_S)
            until = (step->end + INT64_C(1)) * DAY_S;
    }
    if (from >= until)
        return 0;
    date = civil_of_day((int32_t)floor_div(from, DAY_S));
    last = civil_of_day((int32_t)floor_div(until, DAY_S));
    count = month_below(item, until);
    while (date.year < last.year || date.month < last.month) {
        count += whole_month(item, date.year, date.month);
        date.year += date.month == 12;
        date.month = date.month == 12 ? 1 : date.month + 1;
    }
    return count - month_below(item, from);
}
