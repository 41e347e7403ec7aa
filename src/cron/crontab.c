/* Classic crontab lines. The days follow Vixie's rule: if both day fields
 * are restricted, either of them is enough (two items); if one begins with a
 * star, both must match. Clock changes follow Vixie's heuristic too,
 * expressed as dst_fixes. */
#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "cron/crontab.h"
#include "cron/words.h"

static const char *const month_names[] = {"",    "Jan", "Feb", "Mar", "Apr",
                                          "May", "Jun", "Jul", "Aug", "Sep",
                                          "Oct", "Nov", "Dec", NULL};
static const char *const weekday_names[] = {"Sun", "Mon", "Tue", "Wed", "Thu",
                                            "Fri", "Sat", "Sun", NULL};

/* clang-format off */
const struct column crontab_columns[COLUMNS] = {
    [MINUTE] =  {"minute", 0, 59, 59, 58, NULL},
    [HOUR] =    {"hour", 0, 23, 23, 22, NULL},
    [DAY] =     {"day_of_month", 1, 31, 28, 29, NULL},
    [MONTH] =   {"month", 1, 12, 12, 10, month_names},
    [WEEKDAY] = {"day_of_week", 0, 7, 6, 5, weekday_names},
};
static const struct {
    const char *name, *times;
} words_for[] = {
    {"@hourly", "0 * * * *"},   {"@daily", "0 0 * * *"},
    {"@midnight", "0 0 * * *"}, {"@weekly", "0 0 * * 0"},
    {"@monthly", "0 0 1 * *"},  {"@yearly", "0 0 1 1 *"},
    {"@annually", "0 0 1 1 *"},
};
/* clang-format on */

static bool is_blank(char c) {
    return c == ' ' || c == '\t';
}

static void skip_blanks(struct line *line) {
    while (is_blank(*line->p))
        line->p++;
}

/* ---- one column ---------------------------------------------------------- */

static bool take_number(struct line *line, const struct column *column,
                        unsigned *ret_value) {
    const char *from = line->p;
    unsigned value = 0, index = 0;

    if (isdigit((unsigned char)*line->p)) {
        while (isdigit((unsigned char)*line->p) && line->p - from < 4)
            value = value * 10 + (unsigned)(*line->p++ - '0');
        if (value < column->least || value > column->most)
            return WRONG(line, from, "%s must be from %u to %u, not %u",
                         column->key, column->least, column->most, value);
        *ret_value = value;
        return true;
    }
    while (isalpha((unsigned char)*line->p))
        line->p++;
    for (index = column->least;
         column->names != NULL && column->names[index] != NULL; index++)
        if (line->p - from == 3 &&
            strncasecmp(from, column->names[index], 3) == 0) {
            *ret_value = index;
            return true;
        }
    if (line->p == from)
        return WRONG(line, from, "expected a number for %s, not '%.1s'",
                     column->key, from);
    return WRONG(line, from, "'%.*s' is not a value of %s%s",
                 (int)(line->p - from > 40 ? 40 : line->p - from), from,
                 column->key,
                 column->names != NULL
                     ? ": a crontab line has five columns before its command, "
                       "and their names have three letters, as Mon or Jan"
                 : toupper((unsigned char)*from) == 'L'
                     ? "; in a JSON item, the last day is -1"
                     : "");
}

/* /n after a range; 1 if it is absent. */
static bool take_step(struct line *line, const struct column *column,
                      unsigned *ret_step) {
    const char *from;
    unsigned value = 0;

    *ret_step = 1;
    if (*line->p != '/')
        return true;
    from = ++line->p;
    while (isdigit((unsigned char)*line->p) && line->p - from < 4)
        value = value * 10 + (unsigned)(*line->p++ - '0');
    if (value == 0)
        return WRONG(line, from, "the step of %s must be at least 1",
                     column->key);
    *ret_step = value;
    return true;
}

/* H, H/n, H(a-b), H(a-b)/n: a value that depends only on the name. */
static bool take_hash(struct line *line, int which, uint64_t *mask) {
    const struct column *column = &crontab_columns[which];
    unsigned low = column->least, high = column->hash_most, step, start;
    const char *from = line->p++;

    if (line->hash_name == NULL)
        return WRONG(line, from,
                     "H needs a name, from which its value is derived");
    if (*line->p == '(') {
        line->p++;
        if (!take_number(line, column, &low))
            return false;
        if (*line->p++ != '-')
            return WRONG(line, line->p - 1, "H takes a range such as (0-29)");
        if (!take_number(line, column, &high))
            return false;
        if (*line->p++ != ')' || low > high)
            return WRONG(line, line->p - 1, "H takes a range such as (0-29)");
    }
    if (!take_step(line, column, &step))
        return false;
    start = step > 1 && step < high - low + 1 ? step : high - low + 1;
    start = low + cron_stable_offset(line->hash_name, (uint64_t)which, start);
    for (unsigned value = start; value <= high; value += step) {
        *mask |= UINT64_C(1) << value;
        if (step == 1)
            break;
    }
    return true;
}

static bool take_range(struct line *line, int which, uint64_t *mask) {
    const struct column *column = &crontab_columns[which];
    unsigned low, high, step;
    const char *from = line->p;

    if (*line->p == 'H' && !isalpha((unsigned char)line->p[1]))
        return take_hash(line, which, mask);
    if (*line->p == '*') {
        line->p++;
        low = column->least;
        high = which == WEEKDAY ? 6 : column->most;
    } else {
        if (!take_number(line, column, &low))
            return false;
        high = low;
        if (*line->p == '-') {
            line->p++;
            if (!take_number(line, column, &high))
                return false;
            /* Sunday is both 0 and 7. */
            if (which == WEEKDAY && high == 0 && low > 0)
                high = 7;
        } else if (*line->p == '/') {
            return WRONG(line, line->p,
                         "a step must follow a range, as in %u-%u/5", low,
                         column->most);
        } else if (*line->p == '~') {
            return WRONG(line, line->p,
                         "random times (~) are not supported; H chooses a time "
                         "that stays the same");
        }
    }
    if (low > high)
        return WRONG(line, from, "the range %u-%u ends before it begins", low,
                     high);
    if (!take_step(line, column, &step))
        return false;
    for (; low <= high; low += step)
        *mask |= UINT64_C(1) << low;
    return true;
}

static bool take_column(struct line *line, int which) {
    uint64_t mask = 0;

    skip_blanks(line);
    if (*line->p == '\0' || *line->p == '\n' || *line->p == '\r')
        return WRONG(line, line->p,
                     "expected five columns: minute, hour, day of month, "
                     "month, day of week; '%s' is missing",
                     crontab_columns[which].key);
    line->starts[which] = line->p;
    line->stars[which] = *line->p == '*';
    for (;;) {
        if (!take_range(line, which, &mask))
            return false;
        if (*line->p != ',')
            break;
        line->p++;
    }
    if (!is_blank(*line->p) && *line->p != '\0' && *line->p != '\n' &&
        *line->p != '\r')
        return WRONG(line, line->p, "'%.1s' is not allowed in %s%s", line->p,
                     crontab_columns[which].key,
                     *line->p == '#' ? "; a JSON item has weekday_of_month"
                                     : "");
    if (which == WEEKDAY)
        mask = (mask & 127) | (mask >> 7 & 1);
    line->masks[which] = mask;
    return true;
}

/* ---- @words -------------------------------------------------------------- */

/* A hundred years. */
#define PERIOD_MOST_S (INT64_C(36525) * 86400)

static size_t word_length(const char *p) {
    return strcspn(p, " \t\r\n");
}

/* "90", "1h30m", "45s": seconds. */
static bool take_duration(struct line *line, int64_t *ret_s) {
    const char *from;
    int64_t total = 0;

    skip_blanks(line);
    from = line->p;
    while (isdigit((unsigned char)*line->p)) {
        int64_t value = 0, unit;
        while (isdigit((unsigned char)*line->p) && value < INT64_C(1) << 40)
            value = value * 10 + (*line->p++ - '0');
        unit = *line->p == 'd'   ? 86400
               : *line->p == 'h' ? 3600
               : *line->p == 'm' ? 60
                                 : 1;
        if (*line->p != '\0' && strchr("dhms", *line->p) != NULL)
            line->p++;
        /* Neither the product nor the sum comes near the end of 64 bits. */
        if (value > PERIOD_MOST_S || total > PERIOD_MOST_S)
            return WRONG(line, from, "@every is longer than a century");
        total += value * unit;
    }
    if (total <= 0 || (!is_blank(*line->p) && *line->p != '\0' &&
                       *line->p != '\n' && *line->p != '\r'))
        return WRONG(line, from,
                     "@every needs a time such as 300, 90s or 1h30m");
    *ret_s = total;
    return true;
}

static bool parse_every(struct line *line, struct cron_crontab *ret) {
    char buffer[64];
    struct words out;
    int64_t period = 0;

    if (!take_duration(line, &period))
        return false;
    words_init(&out, buffer, sizeof(buffer));
    words_add(&out, "{\"epoch\": {\"period\": %" PRId64 "}}", period);
    return crontab_give_item(ret, buffer, line->err);
}

static const char *nearest_at(const char *from, size_t len) {
    const char *names[sizeof(words_for) / sizeof(*words_for) + 1] = {"@every"};
    char word[16];

    if (len >= sizeof(word))
        return NULL;
    for (size_t i = 0; i < sizeof(words_for) / sizeof(*words_for); i++)
        names[i + 1] = words_for[i].name;
    memcpy(word, from, len);
    word[len] = '\0';
    return fault_nearest_word(word, names, sizeof(names) / sizeof(*names));
}

static bool parse_word(struct line *line, struct cron_crontab *ret) {
    size_t len = word_length(line->p);
    struct line times = *line;
    const char *from = line->p, *meant = nearest_at(from, len);

    line->p += len;
    if (len == 6 && strncasecmp(from, "@every", 6) == 0)
        return parse_every(line, ret);
    if (len == 7 && strncasecmp(from, "@reboot", 7) == 0)
        return WRONG(line, from,
                     "@reboot is not supported; use a systemd unit");
    for (size_t i = 0; i < sizeof(words_for) / sizeof(*words_for); i++) {
        if (strlen(words_for[i].name) != len ||
            strncasecmp(from, words_for[i].name, len) != 0)
            continue;
        times.text = times.p = words_for[i].times;
        for (int which = 0; which < COLUMNS; which++)
            if (!take_column(&times, which))
                return false;
        return crontab_give_items(&times, ret);
    }
    if (meant != NULL)
        return WRONG(line, from, "unknown '%.*s'; did you mean '%s'?", (int)len,
                     from, meant);
    return WRONG(line, from,
                 "unknown '%.*s'; use @hourly, @daily, @weekly, @monthly, "
                 "@yearly or @every TIME",
                 (int)(len > 40 ? 40 : len), from);
}

/* ---- lines --------------------------------------------------------------- */

/* NAME = value, as Vixie reads it: a name, then an equals sign. */
static bool is_setting(const char *p) {
    if (!isalpha((unsigned char)*p) && *p != '_' && *p != '"' && *p != '\'')
        return false;
    p += strcspn(p, "= \t\r\n");
    p += strspn(p, " \t");
    return *p == '=';
}

bool cron_crontab_parse(const char *text, const char *hash_name,
                        struct cron_crontab *ret, struct cron_err *err) {
    struct line line = {text, text, hash_name, err, {NULL}, {0}, {false}};
    bool ok = true;

    *ret = (struct cron_crontab){.kind = CRON_LINE_EMPTY};
    skip_blanks(&line);
    ret->rest = line.p;
    if (*line.p == '\0' || *line.p == '#' || *line.p == '\n' || *line.p == '\r')
        return true;
    if (is_setting(line.p)) {
        ret->kind = CRON_LINE_SETTING;
        return true;
    }
    ret->kind = CRON_LINE_TIMES;
    if (*line.p == '@') {
        ok = parse_word(&line, ret);
    } else {
        for (int which = 0; which < COLUMNS && ok; which++)
            ok = take_column(&line, which);
        ok = ok && crontab_give_items(&line, ret);
    }
    if (!ok) {
        cron_crontab_clear(ret);
        return false;
    }
    skip_blanks(&line);
    ret->rest = line.p;
    return true;
}

void cron_crontab_clear(struct cron_crontab *crontab) {
    for (size_t i = 0; i < crontab->item_count; i++)
        free(crontab->items[i]);
    *crontab = (struct cron_crontab){.kind = CRON_LINE_EMPTY};
}
