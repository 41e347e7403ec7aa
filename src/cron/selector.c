#include "cron/selector.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "cron/civil.h"

static const char *const weekday_names[] = {"Sunday",    "Monday",   "Tuesday",
                                            "Wednesday", "Thursday", "Friday",
                                            "Saturday",  NULL};
static const char *const month_names[] = {
    "January", "February",  "March",   "April",    "May",      "June", "July",
    "August",  "September", "October", "November", "December", NULL};

/* clang-format off */
static const struct field fields[FIELDS] = {
    [FIELD_EPOCH] =   {"epoch", 0, INT64_MAX, false, NULL},
    [FIELD_SECOND] =  {"second", 0, 59, false, NULL},
    [FIELD_MINUTE] =  {"minute", 0, 59, false, NULL},
    [FIELD_HOUR] =    {"hour", 0, 23, false, NULL},
    [FIELD_WEEKDAY] = {"day_of_week", 1, 7, false, weekday_names},
    [FIELD_DAY] =     {"day_of_month", 1, 31, true, NULL},
    [FIELD_MONTH] =   {"month", 1, 12, false, month_names},
    [FIELD_YEAR] =    {"year", YEAR_LEAST, YEAR_MOST, false, NULL},
    [FIELD_NTH] =     {"n", 1, 5, true, NULL},
};
/* clang-format on */

enum { NAME_LETTERS_LEAST = 3 };

/* ---- values -------------------------------------------------------------- */

static bool name_value(const struct field *field, struct reader *reader,
                       int64_t *ret_value) {
    const char *word = reader->string, *meant;
    size_t len = strlen(word), count = 0;

    for (; field->names[count] != NULL; count++)
        if (len >= NAME_LETTERS_LEAST &&
            strncasecmp(field->names[count], word, len) == 0) {
            *ret_value = field->least + (int64_t)count;
            return true;
        }
    for (size_t i = 0; i < count; i++)
        if (len > 0 && len < NAME_LETTERS_LEAST &&
            strncasecmp(field->names[i], word, len) == 0)
            return fault_at(reader->err, CRON_ERR_ITEM, reader->text,
                            reader->at,
                            "'%s' is too short for a name for %s; write at "
                            "least three letters, '%.3s'",
                            word, field->name, field->names[i]);
    meant = fault_nearest_word(word, field->names, count);
    /* "Sept.", "Weds": the beginning is enough. */
    for (size_t i = 0; i < count && meant == NULL && len > 0; i++)
        if (strncasecmp(field->names[i], word, NAME_LETTERS_LEAST) == 0)
            meant = field->names[i];
    if (meant != NULL)
        return fault_at(reader->err, CRON_ERR_ITEM, reader->text, reader->at,
                        "'%s' is not a name for %s; did you mean '%s'?", word,
                        field->name, meant);
    return fault_at(reader->err, CRON_ERR_ITEM, reader->text, reader->at,
                    "'%s' is not a name for %s; the names are %s to %s", word,
                    field->name, field->names[0], field->names[count - 1]);
}

static bool in_range(const struct field *field, int64_t value,
                     struct reader *reader) {
    if (value >= field->least && value <= field->most)
        return true;
    if (field->from_end && value < 0 && value >= -field->most)
        return true;
    return fault_at(
        reader->err, CRON_ERR_ITEM, reader->text, reader->at,
        "%s must be from %" PRId64 " to %" PRId64 "%s, not %" PRId64,
        field->name, field->least, field->most,
        field->from_end ? ", or negative to count from the end" : "", value);
}

static bool wrong_kind(const struct field *field, enum reader_kind kind,
                       const char *wanted, struct reader *reader) {
    if (kind == READER_END)
        return reader_no_value(reader);
    return fault_at(reader->err, CRON_ERR_ITEM, reader->text, reader->at,
                    "%s takes %s, not %s", field->name, wanted,
                    reader_kind_name(kind));
}

/* Reads one value, a number or a name. */
static bool read_value(enum field_id id, struct reader *reader,
                       int64_t *ret_value) {
    const struct field *field = &fields[id];
    enum reader_kind kind = reader_peek(reader);
    size_t at = reader->at;

    if (kind == READER_NUMBER) {
        if (!reader_integer(reader, field->name, ret_value))
            return false;
        reader->at = at;
        return in_range(field, *ret_value, reader);
    }
    if (kind != READER_STRING)
        return wrong_kind(field, kind,
                          field->names == NULL ? "numbers here"
                                               : "numbers and names here",
                          reader);
    if (!reader_string(reader))
        return false;
    reader->at = at;
    if (field->names != NULL)
        return name_value(field, reader, ret_value);
    return fault_at(reader->err, CRON_ERR_ITEM, reader->text, at,
                    "%s takes a number, not the string '%s'", field->name,
                    reader->string);
}

/* ---- lists --------------------------------------------------------------- */

static bool add(struct selector *selector, int64_t value,
                struct reader *reader) {
    int64_t *values =
        selector->values == selector->few ? NULL : selector->values;

    if (selector->count == selector->room) {
        values = realloc(values, selector->room * 2 * sizeof(*values));
        if (values == NULL)
            return fault_memory(reader->err);
        if (selector->values == selector->few)
            memcpy(values, selector->few, sizeof(selector->few));
        selector->values = values;
        selector->room *= 2;
    }
    selector->values[selector->count++] = value;
    return true;
}

static int compare(const void *a, const void *b) {
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return (x > y) - (x < y);
}

static void sort(struct selector *selector) {
    size_t kept = 0;

    if (selector->count > 1)
        qsort(selector->values, selector->count, sizeof(*selector->values),
              compare);
    for (size_t i = 0; i < selector->count; i++)
        if (i == 0 || selector->values[i] != selector->values[kept - 1])
            selector->values[kept++] = selector->values[i];
    selector->count = kept;
}

static bool parse_list(struct selector *selector, enum field_id id,
                       struct reader *reader) {
    bool first = true, more;
    int64_t value;

    for (;;) {
        if (!reader_element(reader, &first, &more))
            return false;
        if (!more)
            break;
        if (!read_value(id, reader, &value) || !add(selector, value, reader))
            return false;
    }
    sort(selector);
    selector->kind = selector->count == 0 ? SELECTOR_ALL : SELECTOR_LIST;
    return true;
}

/* ---- ranges -------------------------------------------------------------- */

enum range_key { RANGE_START, RANGE_END, RANGE_PERIOD, RANGE_KEYS };
static const char *const range_keys[RANGE_KEYS] = {"start", "end", "period"};
static const struct {
    const char *word;
    enum range_key key;
} range_alias[] = {
    {"from", RANGE_START},      {"begin", RANGE_START},
    {"min", RANGE_START},       {"to", RANGE_END},
    {"stop", RANGE_END},        {"until", RANGE_END},
    {"max", RANGE_END},         {"step", RANGE_PERIOD},
    {"stride", RANGE_PERIOD},   {"every", RANGE_PERIOD},
    {"interval", RANGE_PERIOD},
};

static bool find_range_key(const struct field *field, struct reader *reader,
                           enum range_key *ret_key) {
    const char *meant = NULL;

    for (enum range_key key = 0; key < RANGE_KEYS; key++)
        if (strcmp(reader->string, range_keys[key]) == 0) {
            *ret_key = key;
            return true;
        }
    for (size_t i = 0; i < sizeof(range_alias) / sizeof(*range_alias); i++)
        if (strcasecmp(reader->string, range_alias[i].word) == 0)
            meant = range_keys[range_alias[i].key];
    if (meant == NULL)
        meant = fault_nearest_word(reader->string, range_keys, RANGE_KEYS);
    if (meant != NULL)
        return fault_at(reader->err, CRON_ERR_ITEM, reader->text, reader->at,
                        "unknown key '%s' in the range of %s; did you mean "
                        "'%s'?",
                        reader->string, field->name, meant);
    return fault_at(reader->err, CRON_ERR_ITEM, reader->text, reader->at,
                    "unknown key '%s' in the range of %s; the keys are start, "
                    "end and period",
                    reader->string, field->name);
}

/* Digits in quotes are accepted as well: many JSON writers quote them. */
static bool parse_period(const struct field *field, struct reader *reader,
                         int64_t *ret_value) {
    enum reader_kind kind = reader_peek(reader);
    size_t at = reader->at, len;
    int64_t most = field->most - field->least - 1;

    if (kind == READER_STRING) {
        if (!reader_string(reader))
            return false;
        len = strspn(reader->string, "0123456789");
        if (len == 0 || len > 18 || reader->string[len] != '\0')
            return fault_at(reader->err, CRON_ERR_ITEM, reader->text, at,
                            "the period of %s must be a number, not '%s'",
                            field->name, reader->string);
        *ret_value = strtoll(reader->string, NULL, 10);
    } else if (kind == READER_NUMBER) {
        if (!reader_integer(reader, "period", ret_value))
            return false;
    } else {
        reader->at = at;
        return kind == READER_END
                   ? reader_no_value(reader)
                   : fault_at(reader->err, CRON_ERR_ITEM, reader->text, at,
                              "the period of %s must be a number, not %s",
                              field->name, reader_kind_name(kind));
    }
    if (*ret_value < 1 || *ret_value > most)
        return fault_at(reader->err, CRON_ERR_ITEM, reader->text, at,
                        "the period of %s must be from 1 to %" PRId64
                        ", not %" PRId64,
                        field->name, most, *ret_value);
    return true;
}

static bool parse_bound(enum field_id id, struct reader *reader,
                        int64_t *ret_value) {
    if (!read_value(id, reader, ret_value))
        return false;
    if (*ret_value < 0)
        return fault_at(reader->err, CRON_ERR_ITEM, reader->text, reader->at,
                        "days counted from the end are allowed alone or in a "
                        "list, but not in a range");
    return true;
}

static bool parse_range(struct selector *selector, enum field_id id,
                        struct reader *reader) {
    const struct field *field = &fields[id];
    size_t at = reader->at;
    bool first = true, more, given[RANGE_KEYS] = {false};

    selector->kind = SELECTOR_RANGE;
    selector->start = field->least;
    selector->end = field->most;
    selector->period = 1;
    for (;;) {
        enum range_key key = RANGE_START;
        if (!reader_member(reader, &first, &more))
            return false;
        if (!more)
            break;
        if (!find_range_key(field, reader, &key))
            return false;
        if (given[key])
            return fault_at(reader->err, CRON_ERR_ITEM, reader->text,
                            reader->at, "'%s' is given twice", range_keys[key]);
        given[key] = true;
        if (key == RANGE_PERIOD
                ? !parse_period(field, reader, &selector->period)
                : !parse_bound(id, reader,
                               key == RANGE_START ? &selector->start
                                                  : &selector->end))
            return false;
    }
    if (selector->start > selector->end)
        return fault_at(reader->err, CRON_ERR_ITEM, reader->text, at,
                        "the range of %s starts at %" PRId64
                        ", after its end %" PRId64
                        "; ranges do not wrap, use a list",
                        field->name, selector->start, selector->end);
    if (selector->start == field->least && selector->end == field->most &&
        selector->period == 1)
        selector->kind = SELECTOR_ALL;
    return true;
}

/* ---- all of it ----------------------------------------------------------- */

bool selector_parse(struct selector *selector, enum field_id id,
                    struct reader *reader) {
    enum reader_kind kind = reader_peek(reader);
    int64_t value;

    selector->kind = SELECTOR_LIST;
    selector->values = selector->few;
    selector->room = SELECTOR_FEW;
    selector->count = 0;
    if (kind == READER_ARRAY)
        return parse_list(selector, id, reader);
    if (kind == READER_OBJECT)
        return parse_range(selector, id, reader);
    return read_value(id, reader, &value) && add(selector, value, reader);
}

void selector_clear(struct selector *selector) {
    if (selector->values != selector->few)
        free(selector->values);
    selector->values = NULL;
}

uint64_t selector_mask(const struct selector *selector, enum field_id id) {
    int64_t start = fields[id].least, end = fields[id].most, period = 1;
    uint64_t mask = 0;

    if (selector->kind == SELECTOR_LIST) {
        for (size_t i = 0; i < selector->count; i++)
            if (selector->values[i] >= 0)
                mask |= UINT64_C(1) << selector->values[i];
        return mask;
    }
    if (selector->kind == SELECTOR_RANGE) {
        start = selector->start;
        end = selector->end;
        period = selector->period;
    }
    for (int64_t value = start; value <= end; value += period)
        mask |= UINT64_C(1) << value;
    return mask;
}

uint64_t selector_end_mask(const struct selector *selector) {
    uint64_t mask = 0;

    if (selector->kind == SELECTOR_LIST)
        for (size_t i = 0; i < selector->count; i++)
            if (selector->values[i] < 0)
                mask |= UINT64_C(1) << -selector->values[i];
    return mask;
}
