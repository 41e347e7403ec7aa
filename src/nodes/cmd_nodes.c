/* Nodes: nodes, nodes sources, nodes refresh. */
#include "cli/commands.h"
#include "cli/call_connect.h"
#include "cli/console.h"
#include "cli/table.h"

#include <inttypes.h>

static struct table table;

/* ---- nodes --------------------------------------------------------------- */

/* ["a","b"] as "a b". */
static const char *tags_of(struct span line, struct arena *arena) {
    CLEANUP(text_clear) struct text text = TEXT_INIT;
    struct json_value tags, tag;
    struct span word;
    size_t cursor = 0;

    if (!json_find(line, "tags", &tags) || tags.type != JSON_ARRAY)
        return "";
    while (json_next(tags, &cursor, arena, NULL, &tag))
        if (json_get_string(tag, arena, &word))
            text_addf(&text, "%s%.*s", text.len > 0 ? " " : "", (int)word.len,
                      word.p);
    return arena_string(arena, text_span(&text));
}

static void show_node(struct span line, struct arena *arena) {
    bool enabled = call_line_flag(line, "enabled");

    table_cell(&table, call_line_text(line, "name", arena), CONSOLE_PLAIN);
    table_cell(&table, call_line_text(line, "level", arena), CONSOLE_PLAIN);
    table_cell(&table, call_line_text(line, "parent", arena), CONSOLE_PLAIN);
    table_cell(&table, enabled ? "" : "disabled",
               enabled ? CONSOLE_PLAIN : CONSOLE_WARM);
    table_cell(&table, call_line_text(line, "source", arena), CONSOLE_PLAIN);
    table_cell(&table, tags_of(line, arena), CONSOLE_PLAIN);
}

static void note_failure(struct span line, struct arena *arena) {
    const char *error = call_line_printable(line, "error", arena);

    if (error[0] != '\0')
        console_note("pointsman: source '%s' fails, its %" PRId64
                     " nodes are those that it had before: %s",
                     call_line_printable(line, "name", arena),
                     call_line_number(line, "nodes"), error);
}

int cmd_nodes(struct call *call) {
    static const char *const titles[] = {"NODE",  "LEVEL",  "BELOW",
                                         "STATE", "SOURCE", "TAGS"};
    struct client *client = NULL;
    struct call_uri uri;
    struct err err = {0};
    bool ok;

    if (!call_operands(call, 0, 0, &err) || !call_client(call, &client, &err))
        return console_error(&err);
    call_uri_begin(&uri, "/api/v1/nodes");
    call_uri_add(&uri, "level", call_value(call, "level"));
    call_uri_add(&uri, "source", call_value(call, "source"));
    call_uri_add(&uri, "below", call_value(call, "below"));
    table_init(&table, titles, COUNT(titles));
    ok = call_show_lines(client, text_string(&uri.text), call_has(call, "json"),
                         show_node, &err);
    text_clear(&uri.text);
    table_print(&table, false);
    if (ok && !call_has(call, "json"))
        ok = call_show_lines(client, "/api/v1/nodes/sources", false,
                             note_failure, &err);
    client_close(client);
    return ok ? console_finish(0) : console_error(&err);
}

/* ---- nodes sources ------------------------------------------------------- */

static void show_source(struct span line, struct arena *arena) {
    const char *error = call_line_text(line, "error", arena);

    table_cell(&table, call_line_text(line, "name", arena), CONSOLE_PLAIN);
    table_cell(&table,
               arena_printf(arena, "%" PRId64, call_line_number(line, "nodes")),
               CONSOLE_PLAIN);
    table_cell(&table, call_line_text(line, "refreshed", arena), CONSOLE_PLAIN);
    table_cell(&table, error, error[0] != '\0' ? CONSOLE_BAD : CONSOLE_PLAIN);
}

int cmd_nodes_sources(struct call *call) {
    static const char *const titles[] = {"SOURCE", "NODES", "REFRESHED",
                                         "ERROR"};
    return call_show_table(call, "/api/v1/nodes/sources", &table, titles,
                           COUNT(titles), show_source);
}

/* ---- nodes refresh ------------------------------------------------------- */

/* Returns false if the source failed. */
static bool show_result(struct span line, struct arena *arena) {
    const char *name = call_line_printable(line, "name", arena);
    const char *error = call_line_printable(line, "error", arena);
    struct err err;

    if (error[0] != '\0') {
        err_set(&err, ERR_DATA, "source '%s' keeps its %" PRId64 " nodes: %s",
                name, call_line_number(line, "nodes"), error);
        (void)console_error(&err);
        return false;
    }
    (void)console_printf(
        "%s: %" PRId64 " nodes, %" PRId64 " added, %" PRId64
        " changed, %" PRId64 " removed\n",
        name, call_line_number(line, "nodes"), call_line_number(line, "added"),
        call_line_number(line, "changed"), call_line_number(line, "removed"));
    return true;
}

static bool refresh(struct call *call, struct client *client, const char *word,
                    int *ret_status, struct err *err) {
    CLEANUP(text_clear) struct text body = TEXT_INIT;
    CLEANUP(text_clear) struct text reply = TEXT_INIT;
    struct span rest, line;
    struct json json;

    json_open(&json, &body);
    json_object(&json);
    if (word != NULL) {
        json_key(&json, "source");
        json_string(&json, word);
    }
    json_end(&json);
    if (!client_call(client, API_POST, "/api/v1/nodes/refresh",
                     text_span(&body), &reply, err))
        return false;
    rest = text_span(&reply);
    while (span_cut(&rest, '\n', &line))
        if (line.len > 0 && !show_result(line, &call->arena))
            *ret_status = 65;
    return true;
}

int cmd_nodes_refresh(struct call *call) {
    struct client *client = NULL;
    struct err err = {0};
    int status = 0;
    bool ok;

    if (!call_operands(call, 0, SIZE_MAX, &err) ||
        !call_client(call, &client, &err))
        return console_error(&err);
    ok = call->word_count > 0 || refresh(call, client, NULL, &status, &err);
    for (size_t i = 0; ok && i < call->word_count; i++)
        ok = refresh(call, client, call->words[i], &status, &err);
    client_close(client);
    return ok ? console_finish(status) : console_error(&err);
}
