#include "core/pattern.h"

#include <string.h>

enum { WALKED = 20000, GAPS = 100 };

/* Where the hundred gaps begin: 2024-01-01T00:00:00Z. */
#define GAPS_FROM INT64_C(1704067200)

static bool refuse(struct err *err, const struct cron_err *from) {
    return err_set(err, from->kind == CRON_ERR_SYSTEM ? ERR_CANNOT : ERR_DATA,
                   "%s", from->text);
}

static bool add_item(struct pattern *pattern, const char *text, size_t bytes,
                     struct err *err) {
    struct cron_err cron_err;
    if (!cron_item_parse(text, bytes, &pattern->items[pattern->count],
                         &cron_err))
        return refuse(err, &cron_err);
    pattern->count++;
    return true;
}

static bool add_crontab(struct pattern *pattern, const char *line,
                        const char *hash_name, struct err *err) {
    struct cron_crontab crontab;
    struct cron_err cron_err;
    bool ok = true;
    if (!cron_crontab_parse(line, hash_name, &crontab, &cron_err))
        return refuse(err, &cron_err);
    if (crontab.kind != CRON_LINE_TIMES)
        ok = err_set(err, ERR_DATA,
                     "'%s' is no item: an item is JSON or the five columns of "
                     "a crontab line",
                     line);
    else if (*crontab.rest != '\0')
        ok = err_set(err, ERR_DATA,
                     "'%s' stands behind the five columns; the command has a "
                     "place of its own",
                     crontab.rest);
    for (size_t i = 0; i < crontab.item_count && ok; i++)
        ok = add_item(pattern, crontab.items[i], strlen(crontab.items[i]), err);
    cron_crontab_clear(&crontab);
    return ok;
}

bool pattern_parse(struct pattern *ret_pattern, struct span text,
                   const char *hash_name, struct err *err) {
    struct span trimmed = span_trim(text);
    bool ok;
    *ret_pattern = (struct pattern){.max_shift_s = -1};
    if (trimmed.len == 0)
        return err_set(err, ERR_DATA, "an item is missing");
    if (trimmed.p[0] == '{') {
        ok = add_item(ret_pattern, text.p, text.len, err);
        if (ok)
            ret_pattern->max_shift_s =
                cron_item_max_shift_s(ret_pattern->items[0]);
    } else {
        CLEANUP(free_string) char *line = span_string(trimmed);
        ret_pattern->is_crontab = true;
        ok = add_crontab(ret_pattern, line, hash_name, err);
    }
    if (!ok)
        pattern_clear(ret_pattern);
    return ok;
}

void pattern_clear(struct pattern *pattern) {
    for (size_t i = 0; i < pattern->count; i++)
        cron_item_unref(pattern->items[i]);
    *pattern = (struct pattern){.max_shift_s = -1};
}

struct pattern pattern_ref(const struct pattern *pattern) {
    for (size_t i = 0; i < pattern->count; i++)
        cron_item_ref(pattern->items[i]);
    return *pattern;
}

bool pattern_needs_zone(const struct pattern *pattern) {
    return cron_item_is_timezone_dependent(pattern->items[0]);
}

/* Beyond what can be reckoned with there is nothing to be found. */
static int64_t bounded(int64_t at) {
    return at < CRON_OLDEST ? CRON_OLDEST : at;
}

bool pattern_next(const struct pattern *pattern, const struct cron_zone *zone,
                  int64_t from, int64_t *ret_at) {
    bool found = false;
    for (size_t i = 0; i < pattern->count; i++) {
        int64_t at;
        if (cron_next(pattern->items[i], zone, bounded(from), &at, NULL) !=
                CRON_FOUND ||
            (found && at >= *ret_at))
            continue;
        *ret_at = at;
        found = true;
    }
    return found;
}

bool pattern_prev(const struct pattern *pattern, const struct cron_zone *zone,
                  int64_t from, int64_t *ret_at) {
    bool found = false;
    if (from > CRON_NEWEST && pattern_needs_zone(pattern))
        from = CRON_NEWEST;
    for (size_t i = 0; i < pattern->count; i++) {
        int64_t at;
        if (cron_prev(pattern->items[i], zone, from, &at, NULL) != CRON_FOUND ||
            (found && at <= *ret_at))
            continue;
        *ret_at = at;
        found = true;
    }
    return found;
}

static uint64_t count_each(const struct pattern *pattern,
                           const struct cron_zone *zone, int64_t from,
                           int64_t until) {
    uint64_t sum = 0, one;
    for (size_t i = 0; i < pattern->count; i++)
        if (cron_count(pattern->items[i], zone, bounded(from), until + 1, &one,
                       NULL))
            sum += one;
    return sum;
}

uint64_t pattern_count(const struct pattern *pattern,
                       const struct cron_zone *zone, int64_t from,
                       int64_t until) {
    uint64_t walked = 0;
    if (until < from)
        return 0;
    while (pattern->count > 1) {
        int64_t at;
        if (!pattern_next(pattern, zone, from, &at) || at > until)
            return walked;
        from = at + 1;
        if (++walked == WALKED)
            break;
    }
    return walked + count_each(pattern, zone, from, until);
}

int64_t pattern_gap_s(const struct pattern *pattern,
                      const struct cron_zone *zone) {
    int64_t last, at, gap = 0;
    if (!pattern_next(pattern, zone, GAPS_FROM, &last))
        return 0;
    for (int i = 0; i < GAPS; i++) {
        if (!pattern_next(pattern, zone, last + 1, &at))
            break;
        if (gap == 0 || at - last < gap)
            gap = at - last;
        last = at;
    }
    return gap;
}
