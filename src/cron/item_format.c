/* An item as JSON, in a fixed form. */
#include <inttypes.h>
#include <stdio.h>

#include "cron/item.h"
#include "cron/words.h"

static void add_key(struct words *words, const char *key) {
    words_add(words, "%s\"%s\": ", words->len > 1 ? ", " : "", key);
}

/* ---- sets and series ----------------------------------------------------- */

/* The distance between all neighbours of at least three values, else 0. */
static unsigned stride_of(uint64_t bits) {
    unsigned last = (unsigned)__builtin_ctzll(bits), stride = 0, count = 1;

    for (bits &= bits - 1; bits != 0; bits &= bits - 1, count++) {
        unsigned value = (unsigned)__builtin_ctzll(bits);
        if (stride != 0 && value - last != stride)
            return 0;
        stride = value - last;
        last = value;
    }
    return count > 2 ? stride : 0;
}

/* {}, a number, a range or a list. */
static void add_set(struct words *words, uint64_t bits, unsigned least,
                    unsigned most) {
    unsigned first = (unsigned)__builtin_ctzll(bits);
    unsigned last = 63 - (unsigned)__builtin_clzll(bits);
    unsigned stride = stride_of(bits);
    const char *comma = "";

    if (first == last) {
        words_add(words, "%u", first);
        return;
    }
    if (stride == 0) {
        for (words_add(words, "["); bits != 0; bits &= bits - 1, comma = ", ")
            words_add(words, "%s%d", comma, __builtin_ctzll(bits));
        words_add(words, "]");
        return;
    }
    words_add(words, "{");
    if (first > least) {
        words_add(words, "\"start\": %u", first);
        comma = ", ";
    }
    if (last + stride <= most) {
        words_add(words, "%s\"end\": %u", comma, last);
        comma = ", ";
    }
    if (stride > 1)
        words_add(words, "%s\"period\": %u", comma, stride);
    words_add(words, "}");
}

static void add_series(struct words *words, const struct series *series,
                       int64_t least, int64_t most) {
    const char *comma = "";

    if (series->list != NULL) {
        words_add(words, "[");
        for (size_t i = 0; i < series->count; i++)
            words_add(words, "%s%" PRId64, i > 0 ? ", " : "", series->list[i]);
        words_add(words, "]");
        return;
    }
    words_add(words, "{");
    if (series->start > least) {
        words_add(words, "\"start\": %" PRId64, series->start);
        comma = ", ";
    }
    if (series->end < most) {
        words_add(words, "%s\"end\": %" PRId64, comma, series->end);
        comma = ", ";
    }
    if (series->period > 1)
        words_add(words, "%s\"period\": %" PRId64, comma, series->period);
    words_add(words, "}");
}

/* ---- days ---------------------------------------------------------------- */

/* A list if days are counted from the end. */
static void add_month_days(struct words *words, const struct cron_item *item) {
    const char *comma = "";

    if (item->month_days == 0xfffffffe && item->month_days_end == 0)
        return;
    add_key(words, "day_of_month");
    if (item->month_days_end == 0) {
        add_set(words, item->month_days, 1, 31);
        return;
    }
    words_add(words, "[");
    for (uint32_t d = item->month_days; d != 0; d &= d - 1, comma = ", ")
        words_add(words, "%s%d", comma, __builtin_ctz(d));
    for (uint32_t d = item->month_days_end; d != 0; d &= d - 1, comma = ", ")
        words_add(words, "%s-%d", comma, __builtin_ctz(d));
    words_add(words, "]");
}

static void add_nths(struct words *words, const uint8_t nths[6],
                     const char *sign, const char **comma) {
    for (unsigned n = 1; n <= 5; n++) {
        if (nths[n] == 0)
            continue;
        words_add(words, "%s{\"n\": %s%u, \"day\": ", *comma, sign, n);
        add_set(words, (uint64_t)nths[n] << 1, 1, 7);
        words_add(words, "}");
        *comma = ", ";
    }
}

static void add_weekdays(struct words *words, const struct cron_item *item) {
    const char *comma = "";
    unsigned any = 0;

    if (item->weekdays != 0 && item->weekdays != 127) {
        add_key(words, "day_of_week");
        add_set(words, (uint64_t)item->weekdays << 1, 1, 7);
    }
    for (unsigned n = 1; n <= 5; n++)
        any |= item->nths[n] | item->nths_end[n];
    if (any == 0)
        return;
    add_key(words, "weekday_of_month");
    words_add(words, "[");
    add_nths(words, item->nths, "", &comma);
    add_nths(words, item->nths_end, "-", &comma);
    words_add(words, "]");
}

static void add_date(struct words *words, int32_t day) {
    struct civil date = civil_of_day(day);

    words_add(words, "\"%04d-%02u-%02u\"", (int)date.year, date.month,
              date.day);
}

/* Whether it was iter_day_of_week is not remembered. Of two steps of days, one
 * was; its period is a number of weeks, and a long one is none of iter_day. */
static bool is_of_week(const struct cron_item *item, size_t index) {
    const struct step *step = &item->steps[index], *other = NULL;

    for (size_t i = 0; i < item->step_count; i++)
        if (i != index && item->steps[i].kind == STEP_DAY)
            other = &item->steps[i];
    if (step->period % 7 != 0)
        return false;
    if (step->period > STEP_GIVEN_MOST || other == NULL)
        return step->period > STEP_GIVEN_MOST;
    return other->period % 7 != 0 ||
           (other->period <= STEP_GIVEN_MOST && step > other);
}

static const char *step_key(const struct cron_item *item, size_t index,
                            int32_t *ret_period) {
    const struct step *step = &item->steps[index];
    bool of_week = step->kind == STEP_DAY && is_of_week(item, index);

    *ret_period = of_week ? step->period / 7 : step->period;
    return step->kind == STEP_WEEK    ? "iter_week"
           : step->kind == STEP_MONTH ? "iter_month"
           : of_week                  ? "iter_day_of_week"
                                      : "iter_day";
}

static void add_steps(struct words *words, const struct cron_item *item) {
    for (size_t i = 0; i < item->step_count; i++) {
        const struct step *step = &item->steps[i];
        int32_t period;
        add_key(words, step_key(item, i, &period));
        words_add(words, "{\"start\": ");
        add_date(words, step->start);
        if (step->end != INT32_MAX) {
            words_add(words, ", \"end\": ");
            add_date(words, step->end);
        }
        if (period > 1)
            words_add(words, ", \"period\": %d", (int)period);
        words_add(words, "}");
    }
}

static void add_excepted(struct words *words, const struct cron_item *item) {
    const char *comma = "";

    if (!item->has_except)
        return;
    add_key(words, "except");
    words_add(words, "[");
    for (unsigned month = 1; month <= 12; month++)
        for (uint32_t d = item->except_yearly[month]; d != 0;
             d &= d - 1, comma = ", ")
            words_add(words, "%s\"%02u-%02d\"", comma, month, __builtin_ctz(d));
    for (size_t i = 0; i < item->except_count; i++, comma = ", ") {
        const struct day_range *range = &item->except[i];
        words_add(words, "%s", comma);
        if (range->first < range->last)
            words_add(words, "{\"start\": ");
        add_date(words, range->first);
        if (range->first == range->last)
            continue;
        words_add(words, ", \"end\": ");
        add_date(words, range->last);
        words_add(words, "}");
    }
    words_add(words, "]");
}

/* ---- all of it ----------------------------------------------------------- */

static void add_fixes(struct words *words, const struct cron_item *item) {
    static const char *const repeats[] = {
        [REPEAT_BOTH] = "repeat_use_both",
        [REPEAT_EARLY] = "repeat_use_only_early",
        [REPEAT_LATE] = "repeat_use_only_late",
    };

    add_key(words, "dst_fixes");
    words_add(words, "[\"%s\", \"%s\"]", item->unskip ? "unskip" : "skip",
              repeats[item->repeat]);
}

static void add_calendar(struct words *words, const struct cron_item *item) {
    if (item->seconds != 1) {
        add_key(words, "second");
        add_set(words, item->seconds, 0, 59);
    }
    add_key(words, "minute");
    add_set(words, item->minutes, 0, 59);
    if (item->hours != 0xffffff) {
        add_key(words, "hour");
        add_set(words, item->hours, 0, 23);
    }
    add_month_days(words, item);
    add_weekdays(words, item);
    if (item->months != 0x1ffe) {
        add_key(words, "month");
        add_set(words, item->months, 1, 12);
    }
    if (!item->any_year) {
        add_key(words, "year");
        add_series(words, &item->years, YEAR_LEAST, YEAR_MOST);
    }
    add_steps(words, item);
    add_excepted(words, item);
    add_fixes(words, item);
}

size_t cron_item_format(const struct cron_item *item, char *buffer,
                        size_t bytes) {
    struct words words;

    words_init(&words, buffer, bytes);
    words_add(&words, "{");
    if (item->is_epoch) {
        add_key(&words, "epoch");
        add_series(&words, &item->epoch, 0, INT64_MAX);
    } else {
        add_calendar(&words, item);
    }
    if (item->max_shift_s >= 0) {
        add_key(&words, "max_shift_seconds_for_unskip_and_do_not_repeat");
        words_add(&words, "%" PRId64, item->max_shift_s);
    }
    words_add(&words, "}");
    return words.len;
}
