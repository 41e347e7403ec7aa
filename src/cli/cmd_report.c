/* report: the outcome of jobs, in figures. */
#include "cli/commands.h"
#include "cli/call_connect.h"
#include "cli/table.h"
#include "cli/console.h"

#include <inttypes.h>

static const char *const titles[] = {
    "DAY",         "CLASS",   "TARGET",   "JOBS",       "SUBMITTED",
    "IN PROGRESS", "APPLIED", "FAILED",   "TERMINATED", "BACK",
    "ROLLBACKS",   "OWED",    "WAIT p50", "p95",        "RUN p50",
    "p95",         "CPU",     "MEMORY",   "INVERTED",   "FAILURES"};
static struct table table;

static const char *count_of(struct span line, const char *key,
                            struct arena *arena) {
    return arena_printf(arena, "%" PRId64, call_line_number(line, key));
}

/* "350 ms", "12.3 s", "4.0 min"; empty if there is no time. The value has
 * `in_ms` parts of a millisecond. */
static const char *time_of(struct span line, const char *key, double in_ms,
                           struct arena *arena) {
    const char *text = call_line_text(line, key, arena);
    double ms = (double)call_line_number(line, key) / in_ms;
    if (text[0] == '\0')
        return "";
    if (ms < 1000)
        return arena_printf(arena, "%.0f ms", ms);
    if (ms < 120000)
        return arena_printf(arena, "%.1f s", ms / 1000);
    return arena_printf(arena, "%.1f min", ms / 60000);
}

/* "34.0 MiB"; empty if it is not known. */
static const char *memory_of(struct span line, struct arena *arena) {
    int64_t kib = call_line_number(line, "peak_kib");
    return kib == 0 ? "" : arena_printf(arena, "%.1f MiB", (double)kib / 1024);
}

/* "2", "2, 1 overdue" */
static const char *count_with(struct span line, const char *key,
                              const char *part, const char *word,
                              struct arena *arena) {
    int64_t number = call_line_number(line, part);
    const char *count = count_of(line, key, arena);
    return number == 0
               ? count
               : arena_printf(arena, "%s, %" PRId64 " %s", count, number, word);
}

/* By the groups of states (core/life.def). */
static void groups_of(struct span line, struct arena *arena) {
    static const char *const words[] = {"submitted", "in progress", "applied",
                                        "failed", "terminated"};
    struct json_value groups = {0};
    bool any = json_find(line, "groups", &groups);
    for (size_t i = 0; i < COUNT(words); i++)
        table_cell(&table, any ? count_of(groups.raw, words[i], arena) : "",
                   CONSOLE_PLAIN);
}

static const char *failures_of(struct span line, struct arena *arena) {
    struct json_value failures, value;
    struct text text = TEXT_INIT;
    struct span key;
    size_t cursor = 0;
    if (json_find(line, "failures", &failures))
        while (json_next(failures, &cursor, arena, &key, &value))
            text_addf(&text, "%s%.*s %.*s", text.len > 0 ? ", " : "",
                      (int)key.len, key.p, (int)value.raw.len, value.raw.p);
    const char *all = arena_string(arena, text_span(&text));
    text_clear(&text);
    return all;
}

static void row(struct span line, struct arena *arena) {
    static const char *const words[] = {"day", "class", "target"};
    static const char *const times[] = {"wait_p50_ms", "wait_p95_ms",
                                        "run_p50_ms", "run_p95_ms"};
    for (size_t i = 0; i < COUNT(words); i++) {
        const char *word = call_line_text(line, words[i], arena);
        table_cell(&table, word[0] ? word : "-", CONSOLE_PLAIN);
    }
    table_cell(&table, count_of(line, "jobs", arena), CONSOLE_PLAIN);
    groups_of(line, arena);
    table_cell(&table, count_of(line, "rolled_back", arena), CONSOLE_PLAIN);
    table_cell(&table,
               count_with(line, "rollbacks", "rollbacks_empty", "empty", arena),
               CONSOLE_PLAIN);
    table_cell(&table, count_with(line, "owed", "overdue", "overdue", arena),
               CONSOLE_PLAIN);
    for (size_t i = 0; i < COUNT(times); i++)
        table_cell(&table, time_of(line, times[i], 1, arena), CONSOLE_PLAIN);
    table_cell(&table, time_of(line, "cpu_us", 1000, arena), CONSOLE_PLAIN);
    table_cell(&table, memory_of(line, arena), CONSOLE_PLAIN);
    table_cell(&table, count_of(line, "inversions", arena), CONSOLE_PLAIN);
    table_cell(&table, failures_of(line, arena), CONSOLE_PLAIN);
}

/* ---- csv ----------------------------------------------------------------- */

/* RFC 4180: CRLF at the end of each record, quotes only where needed. */
static void add_field(struct text *out, const char *value) {
    if (out->len > 0)
        text_addc(out, ',');
    if (strpbrk(value, ",\"\r\n") == NULL) {
        text_adds(out, value);
        return;
    }
    text_addc(out, '"');
    for (; *value != '\0'; value++) {
        if (*value == '"')
            text_addc(out, '"');
        text_addc(out, *value);
    }
    text_addc(out, '"');
}

static const char *const csv_words[] = {"day", "class", "target"};
static const char *const csv_groups[][2] = {{"submitted", "submitted"},
                                            {"in_progress", "in progress"},
                                            {"applied", "applied"},
                                            {"failed", "failed"},
                                            {"terminated", "terminated"}};
static const char *const csv_figures[] = {
    "rolled_back", "rollbacks",   "rollbacks_empty", "owed",
    "overdue",     "wait_p50_ms", "wait_p95_ms",     "run_p50_ms",
    "run_p95_ms",  "cpu_us",      "peak_kib",        "inversions"};

static void csv_head(void) {
    CLEANUP(text_clear) struct text out = TEXT_INIT;
    for (size_t i = 0; i < COUNT(csv_words); i++)
        add_field(&out, csv_words[i]);
    add_field(&out, "jobs");
    for (size_t i = 0; i < COUNT(csv_groups); i++)
        add_field(&out, csv_groups[i][0]);
    for (size_t i = 0; i < COUNT(csv_figures); i++)
        add_field(&out, csv_figures[i]);
    add_field(&out, "failures");
    text_adds(&out, "\r\n");
    (void)console_write(text_span(&out));
}

static void csv_row(struct span line, struct arena *arena) {
    CLEANUP(text_clear) struct text out = TEXT_INIT;
    struct json_value groups = {0};
    (void)json_find(line, "groups", &groups);
    /* "-" as in the table, since an empty first field would be lost. */
    for (size_t i = 0; i < COUNT(csv_words); i++) {
        const char *word = call_line_text(line, csv_words[i], arena);
        add_field(&out, word[0] ? word : "-");
    }
    add_field(&out, count_of(line, "jobs", arena));
    for (size_t i = 0; i < COUNT(csv_groups); i++)
        add_field(&out, count_of(groups.raw, csv_groups[i][1], arena));
    for (size_t i = 0; i < COUNT(csv_figures); i++)
        add_field(&out, call_line_text(line, csv_figures[i], arena));
    add_field(&out, failures_of(line, arena));
    text_adds(&out, "\r\n");
    (void)console_write(text_span(&out));
}

int cmd_report(struct call *call) {
    struct client *client = NULL;
    struct call_uri uri;
    struct err err = {0};
    bool json = call_has(call, "json"), csv = call_has(call, "csv");
    if (json && csv) {
        err_set(&err, ERR_USAGE, "report prints either --json or --csv");
        return console_error(&err);
    }
    if (!call_operands(call, 0, 0, &err) || !call_client(call, &client, &err))
        return console_error(&err);
    call_uri_begin(&uri, "/api/v1/report");
    call_uri_add(&uri, "since", call_value(call, "since"));
    call_uri_add(&uri, "by", call_value(call, "by"));
    if (csv)
        csv_head();
    else if (!json)
        table_init(&table, titles, COUNT(titles));
    bool ok = call_show_lines(client, text_string(&uri.text), json,
                              csv ? csv_row : row, &err);
    if (!json && !csv)
        table_print(&table, false);
    text_clear(&uri.text);
    client_close(client);
    return ok ? console_finish(0) : console_error(&err);
}
