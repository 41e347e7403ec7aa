#include "cli/cron_query.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "cli/call_connect.h"
#include "core/repeat.h"
#include "os/clock.h"
#include "wire/schedule_spec.h"

enum { ITEM_BYTES = 1 << 20 };

bool cron_query_err_set(struct err *err, const struct cron_err *from) {
    enum err_kind kind = from->kind == CRON_ERR_SYSTEM  ? ERR_CANNOT
                         : from->kind == CRON_ERR_RANGE ? ERR_USAGE
                                                        : ERR_DATA;

    return err_set(err, kind, "%s", from->text);
}

/* ---- patterns ------------------------------------------------------------ */

static bool add_item(struct cron_query *query, const char *text, size_t bytes,
                     struct cron_err *err) {
    if (!cron_item_parse(text, bytes, &query->items[query->count], err))
        return false;
    query->texts[query->count++] = mem_copy(text, bytes);
    return true;
}

/* Positions in the items of a line mean nothing to who wrote the line. */
static bool add_crontab(struct cron_query *query, const char *line,
                        struct err *err) {
    struct cron_crontab crontab;
    struct cron_err cron_err;
    bool ok = true;

    if (!repeat_crontab_parse(line, NULL, &crontab, &cron_err))
        return cron_query_err_set(err, &cron_err);
    query->days = crontab.days;
    for (size_t i = 0; i < crontab.item_count && ok; i++)
        ok = add_item(query, crontab.items[i], strlen(crontab.items[i]),
                      &cron_err) ||
             err_set(err, ERR_DATA, "%s", cron_err.text + cron_err.sentence_at);
    cron_crontab_clear(&crontab);
    return ok;
}

bool cron_query_parse(struct cron_query *query, struct span text,
                      struct err *err) {
    struct span trimmed = span_trim(text);

    *query = (struct cron_query){0};
    if (trimmed.len > 0 &&
        (strchr("@*~H", trimmed.p[0]) != NULL ||
         memchr(trimmed.p, ' ', trimmed.len) != NULL) &&
        strchr("{[\"", trimmed.p[0]) == NULL) {
        query->line = span_string(trimmed);
        return add_crontab(query, query->line, err);
    }
    struct cron_err cron_err;
    return add_item(query, text.p, text.len, &cron_err) ||
           cron_query_err_set(err, &cron_err);
}

void cron_query_clear(struct cron_query *query) {
    for (size_t i = 0; i < query->count; i++) {
        cron_item_unref(query->items[i]);
        free(query->texts[i]);
    }
    free(query->line);
    *query = (struct cron_query){0};
}

typedef enum cron_found cron_search(const struct cron_item *item,
                                    const struct cron_zone *zone, int64_t from,
                                    int64_t *ret_at, struct cron_err *err);

/* The instant nearest to `from` among those that the items find. */
static enum cron_found nearest(const struct cron_query *query,
                               cron_search *search,
                               const struct cron_zone *zone, int64_t from,
                               int64_t *ret_at, struct err *err) {
    enum cron_found best = CRON_NONE;

    for (size_t i = 0; i < query->count; i++) {
        struct cron_err cron_err;
        int64_t at;
        enum cron_found found =
            search(query->items[i], zone, from, &at, &cron_err);
        if (found == CRON_FAILED) {
            cron_query_err_set(err, &cron_err);
            return found;
        }
        bool nearer = best == CRON_NONE ||
                      (search == cron_next ? at < *ret_at : at > *ret_at);
        if (found == CRON_FOUND && nearer) {
            *ret_at = at;
            best = found;
        }
    }
    return best;
}

enum cron_found cron_query_next(const struct cron_query *query,
                                const struct cron_zone *zone, int64_t from,
                                int64_t *ret_at, struct err *err) {
    return nearest(query, cron_next, zone, from, ret_at, err);
}

enum cron_found cron_query_prev(const struct cron_query *query,
                                const struct cron_zone *zone, int64_t from,
                                int64_t *ret_at, struct err *err) {
    return nearest(query, cron_prev, zone, from, ret_at, err);
}

/* ---- from the command line ----------------------------------------------- */

bool cron_query_zone(const struct call *call, struct cron_zone **ret_zone,
                     struct err *err) {
    struct cron_err cron_err;

    if (!cron_zone_open(call_value(call, "zone"), ret_zone, &cron_err))
        return cron_query_err_set(err, &cron_err);
    return true;
}

bool cron_query_from(const struct call *call, int64_t *ret_from,
                     struct err *err) {
    const char *value = call_value(call, "from");

    if (value == NULL)
        *ret_from = wall_s(clock_wall());
    else if (!cron_instant_parse(value, ret_from))
        return err_set(err, ERR_USAGE,
                       "'--from' must be seconds since 1970 or a time such as "
                       "2026-03-08T01:59:30-08:00, not '%s'",
                       value);
    return true;
}

bool cron_query_input(struct text *text, struct err *err) {
    char piece[4096];

    for (;;) {
        ssize_t got = read(STDIN_FILENO, piece, sizeof(piece));
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return err_errno(err, errno, "cannot read standard input");
        if (got == 0)
            return true;
        if (text->len > ITEM_BYTES)
            return err_set(err, ERR_DATA, "more than 1 MiB on standard input");
        text_add(text, piece, (size_t)got);
    }
}

bool cron_query_item(struct call *call, struct cron_query *query,
                     struct err *err) {
    CLEANUP(text_clear) struct text text = TEXT_INIT;

    if (call->word_count == 0)
        return err_set(err, ERR_USAGE,
                       "'%s' needs an item, such as '{\"minute\": 0, "
                       "\"dst_fixes\": [\"skip\", \"repeat_use_both\"]}' or "
                       "'0 * * * *'",
                       call->command->name);
    /* Five columns without quotes arrive as five words. */
    for (size_t i = 0; i < call->word_count; i++)
        text_addf(&text, "%s%s", i == 0 ? "" : " ", call->words[i]);
    if (strcmp(text_string(&text), "-") == 0) {
        text_reset(&text);
        if (!cron_query_input(&text, err))
            return false;
    }
    if (cron_query_parse(query, text_span(&text), err))
        return true;
    cron_query_clear(query);
    if (!schedule_name_check(text_span(&text), NULL))
        return false;
    return err_set(err, ERR_DATA,
                   "'%s' is not an item: an item is JSON or the five columns "
                   "of a crontab line; for a schedule, try pointsman cron list "
                   "or pointsman cron explain %s",
                   text_string(&text), text_string(&text));
}
