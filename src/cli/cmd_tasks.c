/* tasks: the tasks of a job, or those of all jobs that run, one row each. */
#include "cli/commands.h"
#include "cli/call_connect.h"
#include "cli/table.h"
#include "cli/console.h"

#include <inttypes.h>
#include <string.h>

#include "core/job.h"
#include "os/clock.h"

static const char *const task_titles[] = {"TASK", "STATUS", "ATTEMPT",
                                          "EXIT", "TOOK",   "DETAIL"};

static const char *const running_titles[] = {"JOB",     "TASK",   "STATUS",
                                             "ATTEMPT", "WORKER", "TOOK"};

static struct table task_table;

/* "1.2s", "95s", "12m": from this time of the last attempt to its end, or until
 * now. */
static const char *took(struct span line, const char *since,
                        struct arena *arena) {
    struct wall from, to;
    if (!wall_parse(span_of(call_line_text(line, since, arena)), &from))
        return "";
    if (!wall_parse(span_of(call_line_text(line, "ended", arena)), &to))
        to = clock_wall();
    int64_t ms = wall_ms_since(to, from);
    if (ms < 10000)
        return arena_printf(arena, "%.1fs", (double)(ms < 0 ? 0 : ms) / 1000);
    return ms < 120000 ? arena_printf(arena, "%" PRId64 "s", ms / 1000)
                       : arena_printf(arena, "%" PRId64 "m", ms / 60000);
}

static enum console_colour task_colour(const char *word) {
    enum task_status status;
    if (!job_task_status_parse(span_of(word), &status))
        return CONSOLE_PLAIN;
    return status == TASK_DONE      ? CONSOLE_GOOD
           : status == TASK_FAILED  ? CONSOLE_BAD
           : status == TASK_RUNNING ? CONSOLE_BOLD
                                    : CONSOLE_PLAIN;
}

static void task_row(struct span line, struct arena *arena) {
    const char *node = call_line_text(line, "node", arena);
    const char *status = call_line_text(line, "status", arena);
    const char *signal = call_line_text(line, "signal", arena);
    const char *cells[] = {
        node[0] != '\0' ? node : call_line_text(line, "job", arena),
        status,
        call_line_text(line, "attempt", arena),
        signal[0] != '\0' ? arena_printf(arena, "signal %s", signal)
                          : call_line_text(line, "exit_code", arena),
        took(line, "started", arena),
        call_line_text(line, "detail", arena),
    };
    for (size_t i = 0; i < COUNT(cells); i++)
        table_cell(&task_table, cells[i],
                   i == 1 ? task_colour(status) : CONSOLE_PLAIN);
}

static void running_row(struct span line, struct arena *arena) {
    const char *name = call_line_text(line, "name", arena);
    struct json_value awaited;
    bool is_awaited =
        json_find(line, "awaited", &awaited) && awaited.type == JSON_TRUE;
    const char *cells[] = {
        name[0] != '\0' ? name : call_line_text(line, "job", arena),
        call_line_text(line, "node", arena),
        is_awaited ? "awaited" : call_line_text(line, "status", arena),
        call_line_text(line, "attempt", arena),
        call_line_text(line, "worker", arena),
        took(line, "assigned", arena),
    };
    for (size_t i = 0; i < COUNT(cells); i++)
        table_cell(&task_table, cells[i],
                   i != 2       ? CONSOLE_PLAIN
                   : is_awaited ? CONSOLE_WARM
                                : task_colour(cells[i]));
}

/* Ids and names have no such characters. */
static bool is_filter(const char *word) {
    return word[0] == '-' || strpbrk(word, ":~") != NULL;
}

int cmd_tasks(struct call *call) {
    CLEANUP(text_clear) struct text filter = TEXT_INIT;
    struct client *client = NULL;
    struct call_uri uri;
    struct err err = {0};
    bool json = call_has(call, "json");

    if (!call_operands(call, 0, SIZE_MAX, &err) ||
        !call_client(call, &client, &err))
        return console_error(&err);
    bool all = call->word_count == 0 || is_filter(call->words[0]);
    for (size_t i = all ? 0 : 1; i < call->word_count; i++)
        text_addf(&filter, "%s%s", filter.len == 0 ? "" : " ", call->words[i]);
    call_uri_begin(
        &uri, all ? "/api/v1/tasks"
                  : arena_printf(&call->arena, "/api/v1/jobs/%s/tasks",
                                 client_word(&call->arena, call->words[0])));
    call_uri_add(&uri, "filter", filter.len > 0 ? text_string(&filter) : NULL);
    if (!json)
        table_init(&task_table, all ? running_titles : task_titles,
                   COUNT(task_titles));
    bool ok = call_show_lines(client, text_string(&uri.text), json,
                              all ? running_row : task_row, &err);
    if (!json)
        table_print(&task_table, false);
    text_clear(&uri.text);
    client_close(client);
    return ok ? console_finish(0) : console_error(&err);
}
