/* An item in the form that is searched: sets of bits, and for the days of a
 * month one set for each of the 28 kinds of month that exist (28 to 31 days,
 * beginning on one of seven weekdays). So weekdays, days from the end and
 * "the second Tuesday" all cost the same. */
#ifndef POINTSMAN_CRON_ITEM_H
#define POINTSMAN_CRON_ITEM_H

#include "cron/civil.h"
#include "cron/fault.h"

enum repeat { REPEAT_BOTH, REPEAT_EARLY, REPEAT_LATE };

/* The numbers start, start + period, ... up to end; or, if there is a list,
 * its values, in increasing order. */
struct series {
    int64_t start, end, period;
    int64_t *list;
    size_t count;
};

/* "Every other ...": counted from a date on the local calendar. */
enum step_kind { STEP_DAY, STEP_WEEK, STEP_MONTH, STEPS };
enum {
    STEP_GIVEN_MOST = 10000, /* longest period that can be given */
    /* A period that long has no second day in the years of items. */
    STEP_PERIOD_MOST = 4000000
};
struct step {
    enum step_kind kind;
    int32_t start, end; /* days */
    int32_t period;
    int32_t start_month; /* year * 12 + month */
};

/* Excluded days; the year YEAR_ANY stands for every year. */
struct day_range {
    int32_t first, last; /* days */
};

enum { ITEM_STEPS_MOST = 4 };

struct cron_item {
    unsigned refs; /* atomic */
    bool is_epoch, unskip, any_year, has_steps, has_except;
    bool leap_only;  /* days in leap years only */
    bool has_second; /* it was given */
    enum repeat repeat;
    uint64_t minutes, seconds;
    uint32_t hours, months;
    int32_t least_s;     /* the first instant of a day */
    uint32_t days[4][7]; /* by length - 28 and weekday of the first */
    struct series years;
    int64_t max_shift_s;  /* -1: not given */
    uint64_t fingerprint; /* of its text */

    struct series epoch; /* the only thing of an epoch item */

    struct step steps[ITEM_STEPS_MOST]; /* as they were given */
    size_t step_count;
    struct step search[STEPS]; /* the same, those of one kind in one */
    size_t search_count;
    struct day_range *except; /* sorted by first day, not adjacent */
    size_t except_count;
    uint32_t except_yearly[13]; /* bits of days, by month */

    /* The fields as they were given, for explanations. */
    uint32_t month_days, month_days_end;
    uint8_t weekdays;    /* bit 0 is Sunday; 0: not given */
    uint8_t nths[6];     /* weekdays of weekday_of_month, by n */
    uint8_t nths_end[6]; /* by -n */
};

/* The smallest number of the series at or above `value`. */
bool item_series_next(const struct series *series, int64_t value,
                      int64_t *ret_value);
bool item_series_prev(const struct series *series, int64_t value,
                      int64_t *ret_value);
/* The number of members below `value`. */
uint64_t item_series_count_below(const struct series *series, int64_t value);

#endif
