/* Days and dates of the Gregorian calendar, without tables and branches
 * (C. Neri and L. Schneider, "Euclidean affine functions and their application
 * to calendar algorithms", 2022). Good for the years -32800 to 32800. */
#ifndef POINTSMAN_CRON_CIVIL_H
#define POINTSMAN_CRON_CIVIL_H

#include <stdbool.h>
#include <stdint.h>

enum { DAY_S = 86400, YEAR_LEAST = 1969, YEAR_MOST = 9999 };
/* The calendar repeats itself after 400 years, weekdays included. */
enum { CYCLE_YEARS = 400, CYCLE_DAYS = 146097 };
#define CYCLE_S ((int64_t)CYCLE_DAYS * DAY_S)

struct civil {
    int32_t year;
    uint32_t month, day; /* from 1 */
};

/* Rounds towards minus infinity. */
static inline int64_t floor_div(int64_t a, int64_t b) {
    return a / b - (a % b < 0);
}

static inline struct civil civil_of_day(int32_t day) {
    uint32_t n = (uint32_t)day + 719468 + 146097 * 82;
    uint32_t n1 = 4 * n + 3, century = n1 / 146097;
    uint32_t n2 = 4 * (n1 % 146097 / 4) + 3;
    uint64_t p = UINT64_C(2939745) * n2;
    uint32_t year = 100 * century + (uint32_t)(p >> 32);
    uint32_t day_of_year = (uint32_t)p / 2939745 / 4;
    uint32_t n3 = 2141 * day_of_year + 197913;
    uint32_t late = day_of_year >= 306; /* January and February */

    return (struct civil){
        .year = (int32_t)(year + late) - 400 * 82,
        .month = (n3 >> 16) - 12 * late,
        .day = (n3 & 0xffff) / 2141 + 1,
    };
}

/* Day 0 is 1970-01-01. */
static inline int32_t day_of_civil(int32_t year, uint32_t month, uint32_t day) {
    uint32_t early = month <= 2;
    uint32_t y = (uint32_t)(year + 400 * 82) - early;
    uint32_t m = month + 12 * early, century = y / 100;
    uint32_t n =
        1461 * y / 4 - century + century / 4 + (979 * m - 2919) / 32 + day - 1;

    return (int32_t)(n - 719468 - 146097 * 82);
}

/* 0 is Sunday. */
static inline uint32_t weekday_of_day(int32_t day) {
    return ((uint32_t)day + 4 + 7 * 20000000) % 7;
}

static inline bool is_leap(int32_t year) {
    return (year & (year % 100 == 0 ? 15 : 3)) == 0;
}

static inline uint32_t month_days(int32_t year, uint32_t month) {
    if (month == 2)
        return is_leap(year) ? 29 : 28;
    return 30 | (month ^ (month >> 3));
}

#endif
