/* Explains an item in words: when it fires, and what happens when clocks
 * change. */
#include <inttypes.h>
#include <stdio.h>

#include "cron/item.h"
#include "cron/words.h"

static const char *const weekday_names[7] = {"Sunday",    "Monday",   "Tuesday",
                                             "Wednesday", "Thursday", "Friday",
                                             "Saturday"};
static const char *const month_names[13] = {
    "",     "January", "February",  "March",   "April",    "May",     "June",
    "July", "August",  "September", "October", "November", "December"};
static const char *const nth_names[6] = {"",      "first",  "second",
                                         "third", "fourth", "fifth"};

static size_t count_of(uint64_t bits) {
    return (size_t)__builtin_popcountll(bits);
}

static const char *ordinal(unsigned number) {
    if (number / 10 != 1) {
        if (number % 10 == 1)
            return "st";
        if (number % 10 == 2)
            return "nd";
        if (number % 10 == 3)
            return "rd";
    }
    return "th";
}

/* ---- sets of numbers ----------------------------------------------------- */

/* The distance between all neighbours if it is the same, else 0. */
static unsigned stride_of(uint64_t bits) {
    unsigned last = (unsigned)__builtin_ctzll(bits), stride = 0;

    for (bits &= bits - 1; bits != 0; bits &= bits - 1) {
        unsigned value = (unsigned)__builtin_ctzll(bits);
        if (stride != 0 && value - last != stride)
            return 0;
        stride = value - last;
        last = value;
    }
    return stride;
}

static unsigned least_of(uint64_t bits) {
    return (unsigned)__builtin_ctzll(bits);
}

static unsigned most_of(uint64_t bits) {
    return 63 - (unsigned)__builtin_clzll(bits);
}

/* "5 to 9", "every 7th from 3 to 59", "1, 4 and 5". */
static void add_numbers(struct words *words, uint64_t bits) {
    unsigned stride = stride_of(bits);
    size_t count = count_of(bits), index = 0;

    if (count > 2 && stride == 1) {
        words_add(words, "%u to %u", least_of(bits), most_of(bits));
        return;
    }
    if (count > 4 && stride > 1) {
        words_add(words, "every %u%s from %u to %u", stride, ordinal(stride),
                  least_of(bits), most_of(bits));
        return;
    }
    for (; bits != 0; bits &= bits - 1, index++) {
        words_comma(words, index, count);
        words_add(words, "%u", least_of(bits));
    }
}

static void add_names(struct words *words, uint64_t bits,
                      const char *const *names) {
    size_t count = count_of(bits), index = 0;

    if (count > 2 && stride_of(bits) == 1) {
        words_add(words, "%s to %s", names[least_of(bits)],
                  names[most_of(bits)]);
        return;
    }
    for (; bits != 0; bits &= bits - 1, index++) {
        words_comma(words, index, count);
        words_add(words, "%s", names[least_of(bits)]);
    }
}

/* ---- the time of day ----------------------------------------------------- */

enum { CLOCK_TIMES_MOST = 6 };

/* 0, n, 2n, ... up to the limit. */
static bool is_every(uint64_t bits, unsigned limit) {
    unsigned stride = count_of(bits) > 1 ? stride_of(bits) : 0;

    return stride > 0 && least_of(bits) == 0 && most_of(bits) + stride >= limit;
}

/* " (uneven: 4 minutes from :56 to :00)": a stride that does not divide the
 * hour, or the day, begins anew with it. */
static void add_uneven_minutes(struct words *words, uint64_t minutes) {
    unsigned gap = 60 - most_of(minutes);

    if (gap != stride_of(minutes))
        words_add(words, " (uneven: %u minute%s from :%02u to :00)", gap,
                  gap == 1 ? "" : "s", most_of(minutes));
}

static void add_uneven_hours(struct words *words, uint32_t hours) {
    unsigned gap = 24 - most_of(hours);

    if (count_of(hours) > 2 && is_every(hours, 24) && stride_of(hours) > 1 &&
        gap != stride_of(hours))
        words_add(words, " (uneven: %u hour%s from hour %u to midnight)", gap,
                  gap == 1 ? "" : "s", most_of(hours));
}

static void add_clock_times(struct words *words, const struct cron_item *item) {
    size_t count = count_of(item->hours) * count_of(item->minutes);
    size_t index = 0;

    words_add(words, "at ");
    for (uint64_t h = item->hours; h != 0; h &= h - 1)
        for (uint64_t m = item->minutes; m != 0; m &= m - 1) {
            words_comma(words, index++, count);
            words_add(words, "%02u:%02u", least_of(h), least_of(m));
        }
    add_uneven_hours(words, item->hours);
}

static void add_hours(struct words *words, uint32_t hours) {
    if (count_of(hours) == 24)
        return;
    if (count_of(hours) > 4 && stride_of(hours) > 1) {
        words_add(words, " of every %u%s hour from %u to %u", stride_of(hours),
                  ordinal(stride_of(hours)), least_of(hours), most_of(hours));
    } else {
        words_add(words, count_of(hours) == 1 ? " of hour " : " of hours ");
        add_numbers(words, hours);
    }
    add_uneven_hours(words, hours);
}

/* Many times in a row and then a long silence: one was perhaps meant. */
static void add_burst(struct words *words, const struct cron_item *item) {
    size_t minutes = count_of(item->minutes), hours = count_of(item->hours);

    if (minutes < 60 || hours > 12 ||
        most_of(item->hours) - least_of(item->hours) + 1 != hours)
        return;
    words_add(words, " (%zu times, from %02u:%02u to %02u:%02u)",
              minutes * hours, least_of(item->hours), least_of(item->minutes),
              most_of(item->hours), most_of(item->minutes));
}

static void add_minutes(struct words *words, const struct cron_item *item) {
    uint64_t minutes = item->minutes;
    bool all_hours = count_of(item->hours) == 24;

    if (count_of(minutes) == 60)
        words_add(words, "every minute");
    else if (is_every(minutes, 60)) {
        words_add(words, "every %u minutes", stride_of(minutes));
        add_uneven_minutes(words, minutes);
    } else {
        words_add(words, "at minute%s ", count_of(minutes) == 1 ? "" : "s");
        add_numbers(words, minutes);
        words_add(words, all_hours ? " of every hour" : "");
    }
    add_hours(words, item->hours);
    add_burst(words, item);
}

static void add_time(struct words *words, const struct cron_item *item) {
    if (count_of(item->hours) * count_of(item->minutes) <= CLOCK_TIMES_MOST)
        add_clock_times(words, item);
    else
        add_minutes(words, item);
    if (item->seconds == 1)
        return;
    if (count_of(item->seconds) == 60) {
        words_add(words, ", every second of it");
        return;
    }
    words_add(words, ", at second%s ", count_of(item->seconds) == 1 ? "" : "s");
    add_numbers(words, item->seconds);
}

/* ---- days ---------------------------------------------------------------- */

static void add_month_days(struct words *words, const struct cron_item *item) {
    size_t count = count_of(item->month_days) + count_of(item->month_days_end);
    size_t index = 0;

    if (count > 4 && item->month_days_end == 0 &&
        stride_of(item->month_days) > 1) {
        unsigned stride = stride_of(item->month_days);
        words_add(words, " on every %u%s day of the month from %u to %u",
                  stride, ordinal(stride), least_of(item->month_days),
                  most_of(item->month_days));
        words_add(words, " (starts again each month)");
        return;
    }
    words_add(words, " on the ");
    if (count > 2 && item->month_days_end == 0 &&
        stride_of(item->month_days) == 1) {
        add_numbers(words, item->month_days);
        words_add(words, " of the month");
        return;
    }
    for (uint64_t d = item->month_days; d != 0; d &= d - 1) {
        words_comma(words, index++, count);
        words_add(words, "%u%s", least_of(d), ordinal(least_of(d)));
    }
    for (uint64_t d = item->month_days_end; d != 0; d &= d - 1) {
        words_comma(words, index++, count);
        if (least_of(d) == 1)
            words_add(words, "last day");
        else
            words_add(words, "%u%s last day", least_of(d),
                      ordinal(least_of(d)));
    }
    words_add(words, " of the month");
}

/* Months that the item names, or does not exclude, and that have none of its
 * days. */
static void add_months_without(struct words *words,
                               const struct cron_item *item) {
    uint32_t without = 0;

    for (uint32_t months = item->months; months != 0; months &= months - 1) {
        uint32_t month = least_of(months);
        uint32_t least = month_days(2001, month);
        if ((item->month_days & ((UINT64_C(2) << least) - 2)) == 0 &&
            (item->month_days_end & ((UINT64_C(2) << least) - 2)) == 0)
            without |= 1u << month;
    }
    if (without == 0)
        return;
    if (without == 4 && item->months == 4) {
        words_add(words, " (only in leap years)");
        return;
    }
    words_add(words, " (not in ");
    for (uint32_t rest = without; rest != 0; rest &= rest - 1) {
        words_comma(words, count_of(without) - count_of(rest),
                    count_of(without));
        words_add(words, "%s", month_names[least_of(rest)]);
    }
    if ((without & 4) != 0 && (item->month_days >> 29 & 1) != 0)
        words_add(words, ", except in leap years");
    words_add(words, ")");
}

static bool add_nths(struct words *words, const uint8_t nths[6], bool end,
                     bool any) {
    for (unsigned n = 1; n <= 5; n++) {
        if (nths[n] == 0)
            continue;
        words_add(words, any ? " or the " : " on the ");
        if (!end)
            words_add(words, "%s ", nth_names[n]);
        else if (n == 1)
            words_add(words, "last ");
        else
            words_add(words, "%s last ", nth_names[n]);
        add_names(words, nths[n], weekday_names);
        any = true;
    }
    return any;
}

/* "Every n-th" counts as a plain weekday. */
static uint8_t weekdays_of(const struct cron_item *item) {
    uint8_t always = 127;

    for (unsigned n = 1; n <= 5; n++)
        always &= item->nths[n];
    return always;
}

static bool has_days(const struct cron_item *item) {
    return count_of(item->month_days) < 31 || item->month_days_end != 0;
}

static void add_days(struct words *words, const struct cron_item *item) {
    bool any = item->weekdays != 0 && item->weekdays != 127;

    if (any) {
        words_add(words, " on ");
        add_names(words, item->weekdays, weekday_names);
    }
    if (has_days(item)) {
        add_month_days(words, item);
        any = true;
    }
    if (weekdays_of(item) != 0) {
        words_add(words, any ? " if it is " : " on ");
        add_names(words, weekdays_of(item), weekday_names);
        any = true;
    } else if (add_nths(words, item->nths_end, true,
                        add_nths(words, item->nths, false, false))) {
        words_add(words, " of the month");
        any = true;
    }
    if (!any && item->step_count == 0 && item->hours != 0xffffff)
        words_add(words, " every day");
    if (item->months != 0x1ffe) {
        words_add(words, " in ");
        add_names(words, item->months, month_names);
    }
    if (has_days(item))
        add_months_without(words, item);
}

static void add_years(struct words *words, const struct cron_item *item) {
    const struct series *years = &item->years;

    if (item->any_year)
        return;
    if (years->list == NULL) {
        words_add(words, " in the years %" PRId64 " to %" PRId64, years->start,
                  years->end);
        if (years->period > 1)
            words_add(words, ", every %" PRId64 "%s", years->period,
                      ordinal((unsigned)years->period));
        return;
    }
    words_add(words, " in ");
    for (size_t i = 0; i < years->count; i++) {
        words_comma(words, i, years->count);
        words_add(words, "%" PRId64, years->list[i]);
    }
}

static void add_date(struct words *words, int32_t day) {
    struct civil date = civil_of_day(day);

    words_add(words, "%04d-%02u-%02u", (int)date.year, date.month, date.day);
}

static void add_steps(struct words *words, const struct cron_item *item) {
    static const char *const units[STEPS] = {
        [STEP_DAY] = "day", [STEP_WEEK] = "week", [STEP_MONTH] = "month"};

    for (size_t i = 0; i < item->step_count; i++) {
        const struct step *step = &item->steps[i];
        if (step->period == 1)
            words_add(words, ", every %s", units[step->kind]);
        else
            words_add(words, ", every %d%s %s", (int)step->period,
                      ordinal((unsigned)step->period), units[step->kind]);
        words_add(words, " counted from ");
        add_date(words, step->start);
        if (step->end != INT32_MAX) {
            words_add(words, " to ");
            add_date(words, step->end);
        }
    }
}

static void add_excepted(struct words *words, const struct cron_item *item) {
    size_t count = item->except_count, index = 0;

    for (unsigned month = 1; month <= 12; month++)
        count += count_of(item->except_yearly[month]);
    if (count == 0)
        return;
    words_add(words, ", but not on ");
    for (unsigned month = 1; month <= 12; month++)
        for (uint64_t d = item->except_yearly[month]; d != 0; d &= d - 1) {
            words_comma(words, index++, count);
            words_add(words, "%u %s", least_of(d), month_names[month]);
        }
    for (size_t i = 0; i < item->except_count; i++) {
        words_comma(words, index++, count);
        add_date(words, item->except[i].first);
        if (item->except[i].last > item->except[i].first) {
            words_add(words, " to ");
            add_date(words, item->except[i].last);
        }
    }
}

/* ---- all of it ----------------------------------------------------------- */

static void add_instant(struct words *words, int64_t at) {
    struct civil date;
    int64_t day = floor_div(at, DAY_S);
    int s = (int)(at - day * DAY_S);

    words_add(words, "%" PRId64, at);
    if (at > CRON_NEWEST || at < CRON_OLDEST)
        return;
    date = civil_of_day((int32_t)day);
    words_add(words, " (%04d-%02u-%02uT%02d:%02d:%02dZ)", (int)date.year,
              date.month, date.day, s / 3600, s / 60 % 60, s % 60);
}

static void add_period(struct words *words, int64_t period) {
    static const struct {
        int64_t s;
        const char *name;
    } units[] = {{DAY_S, "day"}, {3600, "hour"}, {60, "minute"}};

    if (period == 1) {
        words_add(words, "every second");
        return;
    }
    for (size_t i = 0; i < sizeof(units) / sizeof(*units); i++)
        if (period % units[i].s == 0) {
            if (period == units[i].s)
                words_add(words, "every %s", units[i].name);
            else
                words_add(words, "every %" PRId64 " %ss", period / units[i].s,
                          units[i].name);
            return;
        }
    words_add(words, "every %" PRId64 " seconds", period);
}

static void explain_epoch(struct words *words, const struct series *epoch) {
    if (epoch->list != NULL) {
        words_add(words, epoch->count == 1 ? "once, at " : "at ");
        for (size_t i = 0; i < epoch->count; i++) {
            words_comma(words, i, epoch->count);
            add_instant(words, epoch->list[i]);
        }
    } else {
        add_period(words, epoch->period);
        words_add(words, ", counted from ");
        add_instant(words, epoch->start);
        if (epoch->end != INT64_MAX) {
            words_add(words, " until ");
            add_instant(words, epoch->end);
        }
    }
    words_add(words, ". Time zones and clock changes do not matter.");
}

static void explain_fixes(struct words *words, const struct cron_item *item) {
    static const char *const repeats[] = {
        [REPEAT_BOTH] = "fires both times",
        [REPEAT_EARLY] = "fires only the first time",
        [REPEAT_LATE] = "fires only the last time",
    };

    words_add(words,
              ". When clocks change, a time that is skipped %s; a time that "
              "occurs twice %s.",
              item->unskip ? "fires one second before the jump"
                           : "does not fire",
              repeats[item->repeat]);
}

static void explain_max_shift(struct words *words,
                              const struct cron_item *item) {
    if (item->max_shift_s < 0)
        return;
    words_add(words,
              " It makes up for suspensions and for changes of clock and zone "
              "of up to %" PRId64 " second%s.",
              item->max_shift_s, item->max_shift_s == 1 ? "" : "s");
}

size_t cron_item_explain(const struct cron_item *item, char *buffer,
                         size_t bytes) {
    struct words words;

    words_init(&words, buffer, bytes);
    if (item->is_epoch) {
        explain_epoch(&words, &item->epoch);
        explain_max_shift(&words, item);
        return words.len;
    }
    add_time(&words, item);
    add_days(&words, item);
    add_steps(&words, item);
    add_years(&words, item);
    add_excepted(&words, item);
    explain_fixes(&words, item);
    explain_max_shift(&words, item);
    return words.len;
}
