#include "cron/date.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static bool digits(const char *text, size_t count, uint32_t *ret_value) {
    *ret_value = 0;
    for (size_t i = 0; i < count; i++) {
        if (text[i] < '0' || text[i] > '9')
            return false;
        *ret_value = *ret_value * 10 + (uint32_t)(text[i] - '0');
    }
    return true;
}

static bool month_and_day(const char *text, uint32_t *ret_month,
                          uint32_t *ret_day) {
    return digits(text, 2, ret_month) && text[2] == '-' &&
           digits(text + 3, 2, ret_day) && text[5] == '\0' && *ret_month >= 1 &&
           *ret_month <= 12 && *ret_day >= 1;
}

/* The string the reader has just read. */
static bool date_of(struct reader *reader, const char *what, int32_t *ret_day) {
    uint32_t year, month, day;
    const char *text = reader->string;

    if (!digits(text, 4, &year) || text[4] != '-' ||
        !month_and_day(text + 5, &month, &day) ||
        day > month_days((int32_t)year, month) || year < YEAR_LEAST)
        return fault_at(reader->err, CRON_ERR_ITEM, reader->text, reader->at,
                        "%s must be a date in the years %d to %d such as "
                        "\"2026-01-06\", not '%s'",
                        what, YEAR_LEAST, YEAR_MOST, text);
    *ret_day = day_of_civil((int32_t)year, month, day);
    return true;
}

static bool read_date(struct reader *reader, const char *what,
                      int32_t *ret_day) {
    enum reader_kind kind = reader_peek(reader);
    size_t at = reader->at;

    if (kind == READER_END)
        return reader_no_value(reader);
    if (kind != READER_STRING)
        return fault_at(reader->err, CRON_ERR_ITEM, reader->text, at,
                        "%s must be a date such as \"2026-01-06\", not %s",
                        what, reader_kind_name(kind));
    if (!reader_string(reader))
        return false;
    reader->at = at;
    return date_of(reader, what, ret_day);
}

/* ---- steps --------------------------------------------------------------- */

enum step_key { STEP_START, STEP_END, STEP_PERIOD, STEP_KEYS };
static const char *const step_keys[STEP_KEYS] = {"start", "end", "period"};

static bool find_step_key(struct reader *reader, bool given[STEP_KEYS],
                          enum step_key *ret_key) {
    const char *meant;

    for (enum step_key key = 0; key < STEP_KEYS; key++) {
        if (strcmp(reader->string, step_keys[key]) != 0)
            continue;
        if (given[key])
            return fault_at(reader->err, CRON_ERR_ITEM, reader->text,
                            reader->at, "'%s' is given twice", step_keys[key]);
        given[key] = true;
        *ret_key = key;
        return true;
    }
    meant = fault_nearest_word(reader->string, step_keys, STEP_KEYS);
    return fault_at(reader->err, CRON_ERR_ITEM, reader->text, reader->at,
                    "unknown key '%s'; %s", reader->string,
                    meant == NULL ? "the keys are start, period and end"
                    : meant == step_keys[0] ? "did you mean 'start'?"
                    : meant == step_keys[1] ? "did you mean 'end'?"
                                            : "did you mean 'period'?");
}

static bool read_period(struct reader *reader, int32_t *ret_period) {
    enum reader_kind kind = reader_peek(reader);
    size_t at = reader->at;
    int64_t value;

    if (kind == READER_END)
        return reader_no_value(reader);
    if (kind != READER_NUMBER)
        return fault_at(reader->err, CRON_ERR_ITEM, reader->text, at,
                        "a period must be a number, not %s",
                        reader_kind_name(kind));
    if (!reader_integer(reader, "period", &value))
        return false;
    if (value < 1 || value > STEP_GIVEN_MOST)
        return fault_at(reader->err, CRON_ERR_ITEM, reader->text, at,
                        "this period must be from 1 to %d, not %" PRId64,
                        STEP_GIVEN_MOST, value);
    *ret_period = (int32_t)value;
    return true;
}

static bool read_step(struct reader *reader, struct step *step,
                      bool given[STEP_KEYS]) {
    bool first = true, more;
    enum step_key key = STEP_START;

    for (;;) {
        if (!reader_member(reader, &first, &more))
            return false;
        if (!more)
            return true;
        if (!find_step_key(reader, given, &key))
            return false;
        if (key == STEP_PERIOD
                ? !read_period(reader, &step->period)
                : !read_date(reader, step_keys[key],
                             key == STEP_START ? &step->start : &step->end))
            return false;
    }
}

bool date_step_parse(struct cron_item *item, enum step_kind kind, int32_t scale,
                     struct reader *reader) {
    struct step step = {.kind = kind, .end = INT32_MAX, .period = 1};
    bool given[STEP_KEYS] = {false};
    enum reader_kind found = reader_peek(reader);
    size_t at = reader->at;
    struct civil date;

    if (found == READER_END)
        return reader_no_value(reader);
    if (found != READER_OBJECT)
        return fault_at(reader->err, CRON_ERR_ITEM, reader->text, at,
                        "expected an object such as {\"start\": "
                        "\"2026-01-06\", \"period\": 2}, not %s",
                        reader_kind_name(found));
    if (!read_step(reader, &step, given))
        return false;
    if (!given[STEP_START])
        return fault_at(reader->err, CRON_ERR_ITEM, reader->text, at,
                        "'start' is missing: the date to count from");
    if (step.end < step.start)
        return fault_at(reader->err, CRON_ERR_ITEM, reader->text, at,
                        "the end is before the start");
    date = civil_of_day(step.start);
    step.start_month = date.year * 12 + (int32_t)date.month;
    step.period *= scale;
    item->steps[item->step_count++] = step;
    return true;
}

/* ---- days left out ------------------------------------------------------- */

static bool add_range(struct cron_item *item, int32_t first, int32_t last,
                      struct reader *reader) {
    struct day_range *grown;

    /* The room is always a power of two. */
    if ((item->except_count & (item->except_count - 1)) == 0) {
        size_t room = item->except_count == 0 ? 1 : item->except_count * 2;
        grown = realloc(item->except, room * sizeof(*grown));
        if (grown == NULL)
            return fault_memory(reader->err);
        item->except = grown;
    }
    item->except[item->except_count++] = (struct day_range){first, last};
    return true;
}

static bool except_dates(struct cron_item *item, struct reader *reader) {
    struct step range = {.period = 1};
    bool given[STEP_KEYS] = {false};
    size_t at = reader->at;

    if (!read_step(reader, &range, given))
        return false;
    if (!given[STEP_START] || !given[STEP_END] || given[STEP_PERIOD])
        return fault_at(reader->err, CRON_ERR_ITEM, reader->text, at,
                        "a range of days to skip has a start and an end");
    if (range.end < range.start)
        return fault_at(reader->err, CRON_ERR_ITEM, reader->text, at,
                        "the end is before the start");
    return add_range(item, range.start, range.end, reader);
}

static bool except_one(struct cron_item *item, struct reader *reader) {
    enum reader_kind kind = reader_peek(reader);
    size_t at = reader->at;
    uint32_t month, day;
    int32_t date;

    if (kind == READER_END)
        return reader_no_value(reader);
    if (kind == READER_OBJECT)
        return except_dates(item, reader);
    if (kind != READER_STRING)
        return fault_at(reader->err, CRON_ERR_ITEM, reader->text, at,
                        "days to skip must be dates such as \"2026-12-24\", or "
                        "\"12-25\" for each year, not %s",
                        reader_kind_name(kind));
    if (!reader_string(reader))
        return false;
    reader->at = at;
    if (month_and_day(reader->string, &month, &day) &&
        day <= month_days(2000, month)) {
        item->except_yearly[month] |= 1u << day;
        return true;
    }
    return date_of(reader, "a day to skip", &date) &&
           add_range(item, date, date, reader);
}

static int compare(const void *a, const void *b) {
    const struct day_range *x = a, *y = b;

    return (x->first > y->first) - (x->first < y->first);
}

/* Sorts the ranges and joins those that overlap or touch. */
static void join(struct cron_item *item) {
    struct day_range *ranges = item->except;
    size_t kept = 0;

    if (item->except_count > 1)
        qsort(ranges, item->except_count, sizeof(*ranges), compare);
    for (size_t i = 0; i < item->except_count; i++) {
        if (kept > 0 && ranges[i].first <= ranges[kept - 1].last + 1) {
            if (ranges[i].last > ranges[kept - 1].last)
                ranges[kept - 1].last = ranges[i].last;
        } else {
            ranges[kept++] = ranges[i];
        }
    }
    item->except_count = kept;
}

bool date_except_parse(struct cron_item *item, struct reader *reader) {
    bool first = true, more;

    if (reader_peek(reader) != READER_ARRAY)
        return except_one(item, reader);
    for (;;) {
        if (!reader_element(reader, &first, &more))
            return false;
        if (!more)
            break;
        if (!except_one(item, reader))
            return false;
    }
    join(item);
    return true;
}
