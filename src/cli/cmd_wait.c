#include "cli/commands.h"
#include "cli/call_connect.h"
#include "cli/table.h"
#include "cli/wait_note.h"
#include "cli/console.h"
#include "cli/follow.h"
#include "cli/job_output.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/job.h"
#include "os/clock.h"

/* ---- wait ---------------------------------------------------------------- */

struct waited {
    const struct call *call;
    struct client_lines lines;
    bool json;
    int status;          /* the first that is not 0 */
    size_t count, again; /* answers; of which so many come once more */
    struct mono until;
    struct mono asked_until; /* of the present request; not beyond `until` */
};

static bool on_job_ended(void *ctx, struct span line) {
    struct waited *waited = ctx;
    int code = (int)call_line_number(line, "exit_code");

    if (waited->again > 0) {
        waited->again--;
        return true;
    }
    waited->count++;
    if (waited->status == 0)
        waited->status = code;
    if (waited->json) {
        (void)console_write(line);
        (void)console_printf("\n");
        return true;
    }
    struct arena arena = ARENA_INIT;
    const char *detail = call_line_printable(line, "detail", &arena);
    /* The code of a change set says nothing about its checks. */
    enum job_kind kind;
    char ending[32] = "";
    if (job_kind_parse(span_of(call_line_text(line, "kind", &arena)), &kind) &&
        job_kind_has(kind, JOB_HAS_EXIT_CODE))
        snprintf(ending, sizeof(ending), ", exit code %d", code);
    if (code != 0)
        console_note("%s: %s%s%s%s", call_line_text(line, "id", &arena),
                     call_line_text(line, "reason", &arena),
                     detail[0] == '\0' ? "" : ": ", detail, ending);
    if (code != 0 && call_line_number(line, "tasks") > 1)
        console_note("pointsman tasks %s state:failed lists the tasks that "
                     "failed",
                     call_line_text(line, "id", &arena));
    arena_clear(&arena);
    return true;
}

static char *wait_uri(void *ctx) {
    const struct waited *waited = ctx;
    const struct call *call = waited->call;
    struct call_uri uri;

    call_uri_begin(&uri, "/api/v1/wait");
    for (size_t i = 0; i < call->word_count; i++)
        call_uri_add(&uri, "id", call->words[i]);
    if (waited->asked_until.ns != MONO_NEVER.ns) {
        int64_t left = mono_ms_since(waited->asked_until, clock_mono());
        char timeout[32];
        snprintf(timeout, sizeof(timeout), "%" PRId64,
                 left > 0 ? (left + 999) / 1000 : 0);
        call_uri_add(&uri, "timeout", timeout);
    }
    return text_take(&uri.text);
}

static bool take_ends(void *ctx, struct span bytes) {
    struct waited *waited = ctx;
    return client_take_lines(&waited->lines, bytes);
}

static void wait_broken(void *ctx) {
    struct waited *waited = ctx;
    text_reset(&waited->lines.rest);
    waited->again = waited->count;
}

/* Shows how far an array has come, if the job is one that is executing. */
static void show_progress(struct client *client, const struct call *call,
                          struct progress *progress) {
    CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
    CLEANUP(text_clear) struct text reply = TEXT_INIT;

    if (!client_get(client, &reply, NULL, "/api/v1/jobs/%s/progress",
                    client_word(&arena, call->words[0])))
        return;
    const char *line = call_line_text(text_span(&reply), "line", &arena);
    if (line[0] != '\0')
        progress_set(
            progress,
            span_of(arena_printf(
                &arena, "%s%% %s",
                call_line_text(text_span(&reply), "percent", &arena), line)));
}

static bool wait_once(struct client *client, struct waited *waited,
                      struct err *err) {
    return follow_stream(&(struct follow){.client = client,
                                          .uri = wait_uri,
                                          .take = take_ends,
                                          .broken = wait_broken,
                                          .ctx = waited,
                                          .until = waited->until},
                         err);
}

/* While the progress of one job is drawn, a request lasts a second. */
static bool wait_all(struct client *client, struct waited *waited,
                     struct err *err) {
    const struct call *call = waited->call;
    struct progress progress = PROGRESS_INIT;
    bool draws = call->word_count == 1 && !waited->json && progress_is_wanted();
    bool ok;

    for (;;) {
        waited->asked_until = waited->until;
        if (draws) {
            struct mono next = mono_add_ms(clock_mono(), 1000);
            show_progress(client, call, &progress);
            if (next.ns < waited->until.ns)
                waited->asked_until = next;
        }
        ok = wait_once(client, waited, err);
        if (ok || err->kind != ERR_TIMEOUT ||
            waited->asked_until.ns == waited->until.ns)
            break;
        err_clear(err);
    }
    progress_clear(&progress);
    return ok;
}

int cmd_wait(struct call *call) {
    struct client *client = NULL;
    struct waited waited = {.call = call,
                            .lines = {.line = on_job_ended, .ctx = &waited},
                            .json = call_has(call, "json"),
                            .until = MONO_NEVER};
    struct err err = {0};
    long long ms = -1;

    if (!call_operands(call, 1, SIZE_MAX, &err) ||
        !call_duration(call, "timeout", &ms, &err) ||
        !call_client(call, &client, &err))
        return console_error(&err);
    if (ms >= 0)
        waited.until = mono_add_ms(clock_mono(), ms);
    for (size_t i = 0; i < call->word_count; i++)
        wait_note_print(client, call->words[i], false, &call->arena);
    bool ok = wait_all(client, &waited, &err);
    client_lines_end(&waited.lines);
    client_close(client);
    return ok ? console_finish(waited.status) : console_error(&err);
}

/* ---- logs ---------------------------------------------------------------- */

static bool to_stdout(void *ctx, struct span bytes) {
    (void)ctx;
    return console_write(bytes) && console_flush();
}

/* With --json each line of the output becomes an object. */
struct log_lines {
    uint64_t line;
    bool times; /* each line begins with time and stream, "-" if unknown */
};

/* Always with its stream, so that it is never taken for output of the task. */
static void log_note(void *ctx, struct span sentence) {
    struct client_lines *rest = ctx;
    struct log_lines *lines = rest->ctx;
    CLEANUP(text_clear) struct text text = TEXT_INIT;
    struct json json;

    client_lines_end(rest);
    json_open(&json, &text);
    json_object(&json);
    json_key(&json, "line");
    json_i64(&json, (int64_t)++lines->line);
    json_key(&json, "stream");
    json_string(&json, "pointsman");
    json_key(&json, "text");
    json_span(&json, sentence);
    json_end(&json);
    text_addc(&text, '\n');
    (void)console_write(text_span(&text));
}

static void add_word(struct json *json, const char *key, struct span *line) {
    struct span word = {0};

    (void)span_cut(line, ' ', &word);
    json_key(json, key);
    if (span_is(word, "-"))
        json_null(json);
    else
        json_span(json, word);
}

static bool log_line(void *ctx, struct span line) {
    struct log_lines *lines = ctx;
    struct text text = TEXT_INIT;
    struct json json;

    json_open(&json, &text);
    json_object(&json);
    json_key(&json, "line");
    json_i64(&json, (int64_t)++lines->line);
    if (lines->times) {
        add_word(&json, "time", &line);
        add_word(&json, "stream", &line);
    }
    json_key(&json, "text");
    json_span(&json, line);
    json_end(&json);
    text_addc(&text, '\n');
    bool more = console_write(text_span(&text));
    text_clear(&text);
    return more;
}

/* Shows when each event happened, for attempts whose end does not explain
 * everything. */
static void show_events(struct span line, struct arena *arena) {
    struct json_value list, event;
    const char *ended = call_line_text(line, "ended", arena);
    CLEANUP(text_clear) struct text events = TEXT_INIT;
    size_t cursor = 0;
    bool plain = true;

    if (!json_find(line, "events", &list))
        return;
    while (json_next(list, &cursor, arena, NULL, &event)) {
        const char *at = call_line_text(event.raw, "at", arena);
        const char *what = call_line_text(event.raw, "event", arena);
        text_addf(&events, "    %s %s\n", at, what);
        plain &= strcmp(at, ended) == 0 || strcmp(what, "running") == 0;
    }
    if (!plain)
        (void)console_write(text_span(&events));
    if (call_line_flag(line, "leftovers"))
        (void)console_printf("    other processes of it had to be killed\n");
}

static void show_attempt(struct span line, struct arena *arena) {
    const char *code = call_line_text(line, "exit_code", arena);
    const char *signal = call_line_text(line, "signal", arena);
    const char *node = call_line_printable(line, "node", arena);
    const char *detail = call_line_printable(line, "detail", arena);
    const char *started = call_line_text(line, "started", arena);

    /* Not known yet, or the server died before it recorded it. */
    bool unknown = started[0] == '\0';
    (void)console_printf(
        "attempt %s%s%s  %s  %s %s  ended %s%s%s%s%s  %s "
        "bytes\n",
        call_line_text(line, "attempt", arena), node[0] == '\0' ? "" : " on ",
        node, call_line_text(line, "status", arena),
        unknown ? "assigned" : "started",
        unknown ? call_line_text(line, "assigned", arena) : started,
        call_line_text(line, "ended", arena),
        code[0] == '\0' ? "" : "  exit code ", code,
        signal[0] == '\0' ? "" : "  signal ", signal,
        call_line_text(line, "output_bytes", arena));
    if (detail[0] != '\0')
        (void)console_printf("    %s\n", detail);
    if (call_line_loss(line, arena)[0] != '\0')
        (void)console_printf("    %s\n", call_line_loss(line, arena));
    show_events(line, arena);
}

/* An output that is shown while it grows. */
struct growing {
    struct job_output output;
    const char *uri;
};

static char *growing_uri(void *ctx) {
    struct growing *growing = ctx;
    struct call_uri uri = {.more = true};

    text_adds(&uri.text, growing->uri);
    if (growing->output.place.len > 0)
        call_uri_add(&uri, "from", text_string(&growing->output.place));
    return text_take(&uri.text);
}

static bool growing_take(void *ctx, struct span bytes) {
    struct growing *growing = ctx;
    return job_output_take(&growing->output, bytes);
}

static void growing_broken(void *ctx) {
    struct growing *growing = ctx;
    job_output_break(&growing->output);
}

static bool show_growing(struct client *client, struct growing *growing,
                         struct err *err) {
    return follow_stream(&(struct follow){.client = client,
                                          .uri = growing_uri,
                                          .take = growing_take,
                                          .broken = growing_broken,
                                          .ctx = growing,
                                          .until = MONO_NEVER},
                         err);
}

/* As one request that is not repeated, unless the output grows. */
static bool show_output(struct client *client, const char *uri, bool json,
                        bool follow, struct client_lines *lines,
                        struct err *err) {
    struct growing growing = {.output = JOB_OUTPUT_INIT, .uri = uri};

    growing.output.sink = json ? client_take_lines : to_stdout;
    growing.output.note = json ? log_note : NULL;
    growing.output.ctx = lines;
    bool ok = follow ? show_growing(client, &growing, err)
                     : client_stream(client, API_GET, uri, (struct span){0},
                                     growing_take, &growing, err);
    job_output_clear(&growing.output);
    client_lines_end(lines);
    return ok;
}

/* JOB/NODE, the form of POINTSMAN_TASK, is the same as JOB --node NODE. */
static bool logs_operand(struct call *call, const char **ret_id,
                         const char **ret_node, struct err *err) {
    if (!call_operands(call, 1, 1, err))
        return false;
    const char *slash = strchr(call->words[0], '/');
    *ret_id = call->words[0];
    *ret_node = call_value(call, "node");
    if (slash == NULL)
        return true;
    if (*ret_node != NULL)
        return err_set(err, ERR_USAGE,
                       "give JOB/NODE or --node, not both: '%s'",
                       call->words[0]);
    *ret_id =
        arena_string(&call->arena, span_make(call->words[0],
                                             (size_t)(slash - call->words[0])));
    *ret_node = slash + 1;
    return true;
}

/* The attempts, of one task if `node` is not NULL. */
static int list_attempts(struct call *call, const char *id, const char *node) {
    struct client *client = NULL;
    struct call_uri uri;
    struct err err = {0};

    if (!call_client(call, &client, &err))
        return console_error(&err);
    call_uri_begin(&uri, arena_printf(&call->arena, "/api/v1/jobs/%s/attempts",
                                      client_word(&call->arena, id)));
    call_uri_add(&uri, "node", node);
    call_uri_add(&uri, "attempt", call_value(call, "attempt"));
    call_uri_add(&uri, "failed", call_has(call, "failed") ? "1" : NULL);
    bool ok = call_show_lines(client, text_string(&uri.text),
                              call_has(call, "json"), show_attempt, &err);
    text_clear(&uri.text);
    client_close(client);
    return ok ? console_finish(0) : console_error(&err);
}

int cmd_logs(struct call *call) {
    static const char *const passed[] = {"attempt", "tail", "lines", "grep",
                                         "stream"};
    const char *id, *node;
    struct client *client = NULL;
    struct log_lines numbered = {.times = call_has(call, "times")};
    struct client_lines lines = {.line = log_line, .ctx = &numbered};
    struct call_uri uri;
    struct err err = {0};
    bool json = call_has(call, "json"), follow = call_has(call, "follow");
    long long attempt = 0;

    if (!logs_operand(call, &id, &node, &err) ||
        !call_number(call, "attempt", 1, UINT32_MAX, &attempt, &err))
        return console_error(&err);
    if (json && call_has(call, "label")) {
        err_set(&err, ERR_USAGE,
                "--label is for lines of text; with --json, choose a task with "
                "--node");
        return console_error(&err);
    }
    if (call_has(call, "attempts"))
        return list_attempts(call, id, node);
    if (!call_client(call, &client, &err))
        return console_error(&err);
    call_uri_begin(&uri, arena_printf(&call->arena, "/api/v1/jobs/%s/logs",
                                      client_word(&call->arena, id)));
    call_uri_add(&uri, "node", node);
    for (size_t i = 0; i < COUNT(passed); i++)
        call_uri_add(&uri, passed[i], call_value(call, passed[i]));
    call_uri_add(&uri, "follow", follow ? "1" : NULL);
    call_uri_add(&uri, "places", "1");
    if (follow)
        wait_note_print(client, id, true, &call->arena);
    call_uri_add(&uri, "times", numbered.times ? "1" : NULL);
    call_uri_add(&uri, "failed", call_has(call, "failed") ? "1" : NULL);
    call_uri_add(&uri, "label", call_has(call, "label") ? "1" : NULL);
    call_uri_add(&uri, "fold", call_has(call, "ignore-case") ? "1" : NULL);
    bool ok =
        show_output(client, text_string(&uri.text), json, follow, &lines, &err);
    text_clear(&uri.text);
    client_close(client);
    return ok ? console_finish(0) : console_error(&err);
}
