#include "core/repeat.h"

#include <string.h>

enum { WALKED = 20000, GAPS = 100 };

/* Start of the hundred sampled gaps: 2024-01-01T00:00:00Z. */
#define GAPS_FROM INT64_C(1704067200)

static bool refuse(struct err *err, const struct cron_err *from) {
    return err_set(err, from->kind == CRON_ERR_SYSTEM ? ERR_CANNOT : ERR_DATA,
                   "%s", from->text);
}

static bool add_item(struct repeat *repeat, const char *text, size_t bytes,
                     struct err *err) {
    struct cron_err cron_err;
    if (!cron_item_parse(text, bytes, &repeat->items[repeat->count], &cron_err))
        return refuse(err, &cron_err);
    repeat->count++;
    return true;
}

/* False (ERR_DATA): the line has six or seven columns, as in programs that know
 * seconds and years; true says nothing else about it. */
static bool has_five_columns(const char *line, struct err *err) {
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
           err_set(err, ERR_DATA,
                   "'%s' has %zu columns; a crontab line has five: minute, "
                   "hour, day of month, month, day of week, without seconds "
                   "and years",
                   line, columns);
}

bool repeat_crontab_parse(const char *line, const char *hash_name,
                          struct cron_crontab *ret_crontab, struct err *err) {
    struct cron_err cron_err;
    if (!has_five_columns(line, err))
        return false;
    if (!cron_crontab_parse(line, hash_name, ret_crontab, &cron_err))
        return refuse(err, &cron_err);
    if (ret_crontab->kind == CRON_LINE_TIMES && *ret_crontab->rest == '\0')
        return true;
    if (ret_crontab->kind != CRON_LINE_TIMES)
        err_set(err, ERR_DATA,
                "'%s' is not an item: an item is JSON or the five columns "
                "of a crontab line",
                line);
    else
        err_set(err, ERR_DATA,
                "'%s' follows the five columns; an item does not include the "
                "command",
                ret_crontab->rest);
    cron_crontab_clear(ret_crontab);
    return false;
}

static bool add_crontab(struct repeat *repeat, const char *line,
                        const char *hash_name, struct err *err) {
    struct cron_crontab crontab;
    bool ok = true;
    if (!repeat_crontab_parse(line, hash_name, &crontab, err))
        return false;
    for (size_t i = 0; i < crontab.item_count && ok; i++)
        ok = add_item(repeat, crontab.items[i], strlen(crontab.items[i]), err);
    cron_crontab_clear(&crontab);
    return ok;
}

bool repeat_parse(struct repeat *ret_repeat, struct span text,
                  const char *hash_name, struct err *err) {
    struct span trimmed = span_trim(text);
    bool ok;
    *ret_repeat = (struct repeat){.max_shift_s = -1};
    if (trimmed.len == 0)
        return err_set(err, ERR_DATA, "an item is missing");
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
