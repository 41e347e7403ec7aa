/* When next? The cron commands that need no base, except to find a schedule. */
#include "cli/commands.h"
#include "cli/cron_query.h"
#include "cli/cron_check.h"
#include "cli/call_connect.h"
#include "cli/console.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "wire/schedule_spec.h"

enum { COUNT_MOST = 1000000 };

static void show(const struct call *call, const struct cron_zone *zone,
                 int64_t at) {
    char text[CRON_INSTANT_BYTES];

    cron_instant_format(zone, at, text);
    if (call_has(call, "json"))
        (void)console_printf("{\"epoch\":%" PRId64 ",\"at\":\"%s\"}\n", at,
                             text);
    else if (call_has(call, "epoch"))
        (void)console_printf("%" PRId64 "\n", at);
    else
        (void)console_printf("%s\n", text);
}

static void show_none(const struct call *call) {
    (void)console_printf(
        call_has(call, "json") ? "{\"epoch\":null,\"at\":null}\n" : "none\n");
}

typedef enum cron_found search(const struct cron_query *query,
                               const struct cron_zone *zone, int64_t from,
                               int64_t *ret_at, struct err *err);

/* Up to --count answers, `by` seconds apart. */
static bool show_answers(struct call *call, search *find, int64_t by,
                         const struct cron_query *query,
                         const struct cron_zone *zone, struct err *err) {
    long long count = 1;
    int64_t from, at = 0;

    if (!call_number(call, "count", 1, COUNT_MOST, &count, err) ||
        !cron_query_from(call, &from, err))
        return false;
    for (long long i = 0; i < count; i++) {
        enum cron_found found = find(query, zone, from, &at, err);
        if (found == CRON_FAILED)
            return false;
        if (found == CRON_NONE && i == 0)
            show_none(call);
        if (found == CRON_NONE)
            break;
        show(call, zone, at);
        if (at == (by > 0 ? INT64_MAX : INT64_MIN))
            break;
        from = at + by;
    }
    return true;
}

static int answer(struct call *call, search *find, int64_t by) {
    struct cron_query query = {0};
    struct cron_zone *zone = NULL;
    struct err err = {0};
    bool ok = cron_query_item(call, &query, &err) &&
              cron_query_zone(call, &zone, &err) &&
              show_answers(call, find, by, &query, zone, &err);

    cron_query_clear(&query);
    cron_zone_unref(zone);
    return ok ? console_finish(0) : console_error(&err);
}

int cmd_cron_next(struct call *call) {
    return call_has(call, "batch") ? cron_batch(call)
                                   : answer(call, cron_query_next, 1);
}

int cmd_cron_prev(struct call *call) {
    return answer(call, cron_query_prev, -1);
}

/* ---- explain ------------------------------------------------------------- */

static void explain_one(const struct call *call, const struct cron_item *item,
                        const char *json_text) {
    size_t len = cron_item_explain(item, NULL, 0);
    CLEANUP(text_free_string) char *words = mem_alloc(len + 1);

    (void)cron_item_explain(item, words, len + 1);
    if (!call_has(call, "json")) {
        (void)console_printf("%s\n", words);
        return;
    }
    CLEANUP(text_clear) struct text line = TEXT_INIT;
    struct json json;
    json_open(&json, &line);
    json_object(&json);
    json_key(&json, "words");
    json_string(&json, words);
    json_key(&json, "item");
    json_raw(&json, span_of(json_text));
    json_end(&json);
    text_addc(&line, '\n');
    (void)console_write(text_span(&line));
}

/* What the items of a crontab line do not show. */
static void explain_days(const struct cron_query *query) {
    if (query->days == CRON_DAYS_EITHER)
        (void)console_printf("fires if either day column matches, because "
                             "neither begins with a star:\n");
    if (query->days == CRON_DAYS_BOTH)
        (void)console_printf("fires only if both day columns match, because "
                             "one of them begins with a star:\n");
}

/* Prints the pattern of the schedule and its zone. */
static bool schedule_item(struct call *call, const char *name,
                          struct cron_query *query, struct err *err) {
    CLEANUP(text_clear) struct text reply = TEXT_INIT;
    struct arena *arena = &call->arena;
    struct client *client = NULL;
    struct span rest, line;

    if (!call_client(call, &client, err))
        return err_wrap(err, "'%s' is no item, and as a schedule", name);
    bool ok = client_get(client, &reply, err, "/api/v1/schedules");
    client_close(client);
    rest = text_span(&reply);
    while (ok && span_cut(&rest, '\n', &line) && line.len > 0) {
        if (strcmp(call_line_text(line, "name", arena), name) != 0)
            continue;
        const char *item = call_line_text(line, "item", arena);
        const char *zone = call_line_text(line, "zone", arena);
        if (!call_has(call, "json"))
            (void)console_printf("schedule %s%s%s\n", name,
                                 zone[0] == '\0' ? "" : ", in the time of ",
                                 zone);
        return cron_query_parse(query, span_of(item), err);
    }
    return ok && err_set(err, ERR_NO_JOB,
                         "no schedule '%s'; an item is JSON or the five "
                         "columns of a crontab line",
                         name);
}

static bool explained_item(struct call *call, struct cron_query *query,
                           struct err *err) {
    return call->word_count == 1 &&
                   schedule_name_check(span_of(call->words[0]), NULL)
               ? schedule_item(call, call->words[0], query, err)
               : cron_query_item(call, query, err);
}

int cmd_cron_explain(struct call *call) {
    struct cron_query query = {0};
    struct err err = {0};

    if (!explained_item(call, &query, &err))
        return console_error(&err);
    if (query.line != NULL && !call_has(call, "json")) {
        for (size_t i = 0; i < query.count; i++)
            (void)console_printf("%s\n", query.texts[i]);
        explain_days(&query);
    }
    for (size_t i = 0; i < query.count; i++)
        explain_one(call, query.items[i], query.texts[i]);
    cron_query_clear(&query);
    return console_finish(0);
}

/* ---- check --------------------------------------------------------------- */

static void show_finding(void *ctx, const char *name, bool bad,
                         const char *sentence) {
    const struct call *call = ctx;
    CLEANUP(text_clear) struct text line = TEXT_INIT;
    struct json json;

    if (!call_has(call, "json")) {
        (void)console_printf(
            "%s%s%s: %s\n", console_colour(bad ? CONSOLE_WARM : CONSOLE_PLAIN),
            bad ? "warning" : "note", console_colour(CONSOLE_PLAIN), sentence);
        return;
    }
    json_open(&json, &line);
    json_object(&json);
    json_key(&json, "name");
    json_string(&json, name);
    json_key(&json, "warning");
    json_bool(&json, bad);
    json_key(&json, "text");
    json_string(&json, sentence);
    json_end(&json);
    text_addc(&line, '\n');
    (void)console_write(text_span(&line));
}

int cmd_cron_check(struct call *call) {
    struct cron_query query = {0};
    struct cron_zone *zone = NULL;
    struct err err = {0};
    int64_t from;
    bool well = true;
    bool ok = cron_query_item(call, &query, &err) &&
              cron_query_zone(call, &zone, &err) &&
              cron_query_from(call, &from, &err) &&
              cron_check(&query, zone, from, show_finding, call, &well, &err);

    cron_query_clear(&query);
    cron_zone_unref(zone);
    return ok ? console_finish(well ? 0 : 1) : console_error(&err);
}
