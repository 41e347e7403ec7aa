/* Schedules: cron add, list, run, pause, resume, remove. */
#include "cli/commands.h"
#include "cli/call_connect.h"
#include "cli/table.h"
#include "cli/console.h"
#include "cli/submission_line.h"
#include "wire/schedule_spec.h"

#include <inttypes.h>
#include <stdio.h>

/* ---- add ----------------------------------------------------------------- */

/* Reads the options. Times are passed on as typed; the API parses them. */
static bool add_rules(const struct call *call, struct schedule_spec *spec,
                      struct err *err) {
    const char *overlap = call_value(call, "overlap");
    const char *missed = call_value(call, "missed");
    const char *offset = call_value(call, "offset");
    long long shift_ms = -1000, jitter_ms = 0, deadline_ms = 0;

    if (overlap != NULL &&
        !schedule_overlap_parse(span_of(overlap), &spec->overlap))
        return err_set(err, ERR_USAGE,
                       "'--overlap' must be forbid, allow, replace or queue, "
                       "not '%s'",
                       overlap);
    if (missed != NULL &&
        !schedule_missed_parse(span_of(missed), &spec->missed))
        return err_set(err, ERR_USAGE,
                       "'--missed' must be run or skip, not '%s'", missed);
    if (offset != NULL && !schedule_offset_parse(span_of(offset), spec))
        return err_set(
            err, ERR_USAGE,
            "'--offset' must be off, hash, 'hash 15m' or a time such "
            "as 90s, not '%s'",
            offset);
    if (!call_duration(call, "max-shift", &shift_ms, err) ||
        !call_duration(call, "jitter", &jitter_ms, err) ||
        !call_duration(call, "deadline", &deadline_ms, err))
        return false;
    spec->max_shift_s = shift_ms / 1000;
    spec->jitter_s = jitter_ms / 1000;
    spec->deadline_s = deadline_ms / 1000;
    spec->zone = span_of(call_value(call, "zone"));
    spec->paused = call_has(call, "paused");
    return true;
}

/* Without quotes, the shell makes five words of five columns, and file names of
 * the stars. */
static bool is_in_quotes(const char *item, struct err *err) {
    return *item == '\0' || *item == '{' || *item == '@' ||
           strpbrk(item, " \t") != NULL ||
           err_set(err, ERR_DATA,
                   "'%s' is not a pattern: put five columns into quotes, such "
                   "as '30 2 * * *', so that the shell keeps them together",
                   item);
}

/* Options end at the name, as everything behind the item may belong to the
 * command. "--" begins a command that looks like an option. */
static bool is_no_option(const char *word, struct err *err) {
    return word[0] != '-' || word[1] == '\0' || strcmp(word, "--") == 0 ||
           err_set(err, ERR_USAGE,
                   "'%s' is behind the name: options come first, as in "
                   "'pointsman cron add --paused NAME ITEM -- COMMAND'; if it "
                   "is the command, write -- before it",
                   word);
}

static bool added_spec(struct call *call, struct schedule_spec *spec,
                       struct err *err) {
    schedule_spec_init(spec);
    if (call->word_count < 3)
        return err_set(err, ERR_USAGE,
                       "'cron add' needs a name, an item and a command, such "
                       "as: pointsman cron add nightly '30 2 * * *' -- make "
                       "nightly");
    if (!is_no_option(call->words[1], err) ||
        !is_in_quotes(call->words[1], err) ||
        !is_no_option(call->words[2], err))
        return false;
    spec->item = span_of(call->words[1]);
    size_t first = 2;
    if (strcmp(call->words[first], "--") == 0 && call->word_count > 3)
        first++;
    struct call rest = *call;
    rest.words += first;
    rest.word_count -= first;
    bool ok = add_rules(call, spec, err) &&
              submission_of_call(&rest, &spec->job, err);
    call->arena = rest.arena;
    return ok;
}

static bool send_spec(struct call *call, struct client *client,
                      const char *name, const struct schedule_spec *spec,
                      struct err *err) {
    CLEANUP(text_clear) struct text body = TEXT_INIT;
    CLEANUP(text_clear) struct text reply = TEXT_INIT;
    struct call_uri uri;

    call_uri_begin(&uri, arena_printf(&call->arena, "/api/v1/schedules/%s",
                                      client_word(&call->arena, name)));
    if (call_has(call, "replace"))
        call_uri_add(&uri, "replace", "1");
    call_uri_add(&uri, "since", call_value(call, "since"));
    schedule_spec_format(spec, &body);
    bool ok = client_call(client, API_PUT, text_string(&uri.text),
                          text_span(&body), &reply, err);
    text_clear(&uri.text);
    return ok;
}

int cmd_cron_add(struct call *call) {
    struct schedule_spec spec;
    struct client *client = NULL;
    struct err err = {0};

    if (!added_spec(call, &spec, &err) || !call_client(call, &client, &err))
        return console_error(&err);
    bool ok = send_spec(call, client, call->words[0], &spec, &err);
    client_close(client);
    return ok ? console_finish(0) : console_error(&err);
}

/* ---- list ---------------------------------------------------------------- */

static const char *const titles[] = {"NAME",    "NEXT",    "LAST",
                                     "SKIPPED", "PATTERN", "WHAT"};
static struct table list_table;
static const char *list_name; /* only this one; NULL: all */
static bool list_known;

static const char *next_of(struct span line, struct arena *arena) {
    const char *next = call_line_text(line, "next_local", arena);

    if (call_line_text(line, "error", arena)[0] != '\0')
        return "broken";
    if (call_line_flag(line, "paused"))
        return "paused";
    if (call_line_flag(line, "restored"))
        return "restored";
    return next[0] == '\0' ? "never" : next;
}

/* When the last job was made, and what became of it. */
static const char *last_of(struct span line, struct arena *arena) {
    struct json_value object, jobs, job;
    size_t cursor = 0;
    const char *state = "";

    if (json_parse_object(line, &object, NULL) &&
        json_member(object, "jobs", &jobs))
        while (json_next(jobs, &cursor, arena, NULL, &job))
            state = call_line_text(job.raw, "state", arena);
    return state[0] == '\0'
               ? ""
               : arena_printf(arena, "%s %s",
                              call_line_text(line, "last_local", arena), state);
}

static void list_row(struct span line, struct arena *arena) {
    const char *next = next_of(line, arena);
    const char *zone = call_line_text(line, "zone", arena);
    const char *item = call_line_text(line, "item", arena);
    const char *broken = call_line_text(line, "error", arena);
    const char *skipped = call_line_text(line, "left_out", arena);

    table_cell(&list_table, call_line_text(line, "name", arena), CONSOLE_BOLD);
    table_cell(&list_table, next,
               next[0] >= '0' && next[0] <= '9' ? CONSOLE_PLAIN : CONSOLE_WARM);
    table_cell(&list_table, last_of(line, arena), CONSOLE_PLAIN);
    table_cell(&list_table, strcmp(skipped, "0") == 0 ? "" : skipped,
               CONSOLE_WARM);
    table_cell(&list_table,
               zone[0] == '\0' ? item
                               : arena_printf(arena, "%s %s", item, zone),
               CONSOLE_PLAIN);
    table_cell(&list_table,
               broken[0] == '\0' ? call_line_text(line, "what", arena) : broken,
               broken[0] == '\0' ? CONSOLE_PLAIN : CONSOLE_BAD);
}

static bool list_line(void *ctx, struct span line) {
    const struct call *call = ctx;
    struct arena arena = ARENA_INIT;
    bool query = list_name == NULL ||
                 strcmp(call_line_text(line, "name", &arena), list_name) == 0;

    list_known |= query;
    if (query && call_has(call, "json")) {
        (void)console_write(line);
        (void)console_printf("\n");
    } else if (query) {
        list_row(line, &arena);
    }
    arena_clear(&arena);
    return true;
}

int cmd_cron_list(struct call *call) {
    struct client *client = NULL;
    struct client_lines lines = {.line = list_line, .ctx = call};
    struct err err = {0};

    if (!call_operands(call, 0, 1, &err) || !call_client(call, &client, &err))
        return console_error(&err);
    list_name = call->word_count > 0 ? call->words[0] : NULL;
    table_init(&list_table, titles, COUNT(titles));
    bool ok = client_stream(client, API_GET, "/api/v1/schedules",
                            (struct span){0}, client_take_lines, &lines, &err);
    client_lines_end(&lines);
    table_print(&list_table, false);
    client_close(client);
    if (ok && list_name != NULL && !list_known)
        ok = err_set(&err, ERR_NO_JOB, "no schedule '%s'", list_name);
    return ok ? console_finish(0) : console_error(&err);
}

/* ---- run, pause, resume, remove ------------------------------------------ */

static bool send_control(struct call *call, struct client *client,
                         const char *name, const void *verb, struct err *err) {
    CLEANUP(text_clear) struct text reply = TEXT_INIT;
    const char *uri =
        arena_printf(&call->arena, "/api/v1/schedules/%s/%s",
                     client_word(&call->arena, name), (const char *)verb);

    if (!client_call(client, API_POST, uri, (struct span){0}, &reply, err))
        return false;
    const char *id = call_line_text(text_span(&reply), "id", &call->arena);
    if (id[0] != '\0')
        (void)console_printf("%s\n", id);
    return true;
}

int cmd_cron_run(struct call *call) {
    return call_for_each(call, send_control, "run");
}

int cmd_cron_pause(struct call *call) {
    return call_for_each(call, send_control, "pause");
}

int cmd_cron_resume(struct call *call) {
    return call_for_each(call, send_control, "resume");
}

int cmd_cron_remove(struct call *call) {
    return call_for_each(call, send_control, "remove");
}
