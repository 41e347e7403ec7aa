#include "cron/calendar.h"

/* ---- days ---------------------------------------------------------------- */

static bool is_step(const struct step *step, int32_t day, int32_t month_index) {
    if (day < step->start || day > step->end)
        return false;
    switch (step->kind) {
    case STEP_DAY:
        return (day - step->start) % step->period == 0;
    case STEP_WEEK:
        return (day - step->start) / 7 % step->period == 0;
    case STEP_MONTH:
        return (month_index - step->start_month) % step->period == 0;
    case STEPS:
        break;
    }
    return false;
}

static bool is_excepted(const struct cron_item *item, int32_t day) {
    size_t low = 0, high = item->except_count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (item->except[middle].last < day)
            low = middle + 1;
        else
            high = middle;
    }
    return low < item->except_count && item->except[low].first <= day;
}

static uint32_t filter(const struct cron_item *item, int32_t year,
                       uint32_t month, int32_t first, uint32_t days) {
    int32_t month_index = year * 12 + (int32_t)month;

    days &= ~item->except_yearly[month];
    for (uint32_t rest = days; rest != 0; rest &= rest - 1) {
        uint32_t bit = rest & -rest;
        int32_t day = first + __builtin_ctz(rest) - 1;
        bool well = !is_excepted(item, day);
        for (size_t i = 0; i < item->step_count && well; i++)
            well = is_step(&item->steps[i], day, month_index);
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
        days = filter(item, year, month, first, days);
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
    if (!day_from_month(item, date.year, date.month + 1, &day))
        return false;
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
