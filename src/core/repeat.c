#include "core/repeat.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { WALKED = 20000, GAPS = 100 };

/* Start of the hundred sampled gaps: 2024-01-01T00:00:00Z. */
#define GAPS_FROM INT64_C(1704067200)

/* An error of the library's kind that has no position. */
static bool wrong(struct cron_err *err, const char *format, ...)
    PRINTF_LIKE(2, 3);

static bool wrong(struct cron_err *err, const char *format, ...) {
    va_list args;
    *err = (struct cron_err){.kind = CRON_ERR_SYNTAX};
    va_start(args, format);
    vsnprintf(err->text, sizeof(err->text), format, args);
    va_end(args);
    return false;
}

static bool add_item(struct repeat *repeat, const char *text, size_t bytes,
                     struct cron_err *err) {
    if (!cron_item_parse(text, bytes, &repeat->items[repeat->count], err))
        return false;
    repeat->count++;
    return true;
}

/* False: the line has six or seven columns, as in programs that know
 * seconds and years; true says nothing else about it. */
static bool has_five_columns(const char *line, struct cron_err *err) {
    static const char blanks[] = " \t", signs[] = "0123456789*/,-?LW#";
    size_t columns = 0, len;
    for (const char *p = line + strspn(line, blanks); *p != '\0';
         p += len, p += strspn(p, blanks)) {
        len = strcspn(p, blanks);
        /* Names stand in the first columns; behind them, it is a command. */
        if (++columns > 5 && strspn(p, signs) < len)
            return true;
    }
    return (columns != 6 && columns != 7) ||
           wrong(err,
                 "'%s' has %zu columns; a crontab line has five: minute, hour, "
                 "day of month, month, day of week, without seconds and years",
                 line, columns);
}

bool repeat_crontab_parse(const char *line, const char *hash_name,
                          struct cron_crontab *ret_crontab,
                          struct cron_err *err) {
    if (!has_five_columns(line, err) ||
        !cron_crontab_parse(line, hash_name, ret_crontab, err))
        return false;
    if (ret_crontab->kind == CRON_LINE_TIMES && *ret_crontab->rest == '\0')
        return true;
    if (ret_crontab->kind != CRON_LINE_TIMES)
        wrong(err,
              "'%s' is not an item: an item is JSON or the five columns of a "
              "crontab line",
              line);
    else
        wrong(err,
              "'%s' follows the five columns; an item does not include the "
              "command",
              ret_crontab->rest);
    cron_crontab_clear(ret_crontab);
    return false;
}

/* Positions in the items of a line mean nothing to who wrote the line. */
static bool add_crontab(struct repeat *repeat, const char *line,
                        const char *hash_name, struct cron_err *err) {
    struct cron_crontab crontab;
    struct cron_err inner;
    bool ok = true;
    if (!repeat_crontab_parse(line, hash_name, &crontab, err))
        return false;
    for (size_t i = 0; i < crontab.item_count && ok; i++)
        ok = add_item(repeat, crontab.items[i], strlen(crontab.items[i]),
                      &inner) ||
             wrong(err, "%s", inner.text + inner.sentence_at);
    cron_crontab_clear(&crontab);
    return ok;
}

bool repeat_parse_fault(struct repeat *ret_repeat, struct span text,
                        const char *hash_name, struct cron_err *err) {
    struct span trimmed = span_trim(text);
    bool ok;
    *ret_repeat = (struct repeat){.max_shift_s = -1};
    if (trimmed.len == 0)
        return wrong(err, "an item is missing");
    if (trimmed.p[0] == '{') {
        ok = add_item(ret_repeat, text.p, text.len, err);
        if (ok)
            ret_repeat->max_shift_s =
                cron_item_max_shift_s(ret_repeat->items[0]);
    } else {
        CLEANUP(text_free_string) char *line = span_string(trimmed);
        ret_repeat->is_crontab = true;
        ok = add_crontab(ret_repeat, line, hash_name, err);
    }
    if (!ok)
        repeat_clear(ret_repeat);
    return ok;
}

bool repeat_parse(struct repeat *ret_repeat, struct span text,
                  const char *hash_name, struct err *err) {
    struct cron_err why;
    return repeat_parse_fault(ret_repeat, text, hash_name, &why) ||
           err_set(err, why.kind == CRON_ERR_SYSTEM ? ERR_CANNOT : ERR_DATA,
                   "%s", why.text);
}

void repeat_clear(struct repeat *repeat) {
    for (size_t i = 0; i < repeat->count; i++)
        cron_item_unref(repeat->items[i]);
    *repeat = (struct repeat){.max_shift_s = -1};
}

struct repeat repeat_ref(const struct repeat *repeat) {
    for (size_t i = 0; i < repeat->count; i++)
        cron_item_ref(repeat->items[i]);
    return *repeat;
}

bool repeat_needs_zone(const struct repeat *repeat) {
    return cron_item_is_timezone_dependent(repeat->items[0]);
}

/* Outside the supported range there is nothing to find. */
static int64_t bounded(int64_t at) {
    return at < CRON_OLDEST ? CRON_OLDEST : at;
}

bool repeat_next(const struct repeat *repeat, const struct cron_zone *zone,
                 int64_t from, int64_t *ret_at) {
    bool found = false;
    for (size_t i = 0; i < repeat->count; i++) {
        int64_t at;
        if (cron_next(repeat->items[i], zone, bounded(from), &at, NULL) !=
                CRON_FOUND ||
            (found && at >= *ret_at))
            continue;
        *ret_at = at;
        found = true;
    }
    return found;
}

bool repeat_prev(const struct repeat *repeat, const struct cron_zone *zone,
                 int64_t from, int64_t *ret_at) {
    bool found = false;
    if (from > CRON_NEWEST && repeat_needs_zone(repeat))
        from = CRON_NEWEST;
    for (size_t i = 0; i < repeat->count; i++) {
        int64_t at;
        if (cron_prev(repeat->items[i], zone, from, &at, NULL) != CRON_FOUND ||
            (found && at <= *ret_at))
            continue;
        *ret_at = at;
        found = true;
    }
    return found;
}

static uint64_t count_each(const struct repeat *repeat,
                           const struct cron_zone *zone, int64_t from,
                           int64_t until) {
    uint64_t sum = 0, one;
    for (size_t i = 0; i < repeat->count; i++)
        if (cron_count(repeat->items[i], zone, bounded(from), until + 1, &one,
                       NULL))
            sum += one;
    return sum;
}

uint64_t repeat_count(const struct repeat *repeat, const struct cron_zone *zone,
                      int64_t from, int64_t until) {
    uint64_t walked = 0;
    if (until < from)
        return 0;
    while (repeat->count > 1) {
        int64_t at;
        if (!repeat_next(repeat, zone, from, &at) || at > until)
            return walked;
        from = at + 1;
        if (++walked == WALKED)
            break;
    }
    return walked + count_each(repeat, zone, from, until);
}

int64_t repeat_gap_s(const struct repeat *repeat,
                     const struct cron_zone *zone) {
    int64_t last, at, gap = 0;
    if (!repeat_next(repeat, zone, GAPS_FROM, &last))
        return 0;
    for (int i = 0; i < GAPS; i++) {
        if (!repeat_next(repeat, zone, last + 1, &at))
            break;
        if (gap == 0 || at - last < gap)
            gap = at - last;
        last = at;
    }
    return gap;
}
