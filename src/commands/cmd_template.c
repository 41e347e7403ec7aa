/* Templates: template list, template show. */
#include "cli/commands.h"
#include "cli/call_connect.h"
#include "cli/console.h"
#include "cli/table.h"

#include "wire/words.h"

static struct table table;

typedef void visit_param(struct span param, struct arena *arena, void *ctx);

static void each_param(struct span line, struct arena *arena,
                       visit_param *visit, void *ctx) {
    struct json_value params, param;
    size_t cursor = 0;

    if (json_find(line, "params", &params) && params.type == JSON_ARRAY)
        while (json_next(params, &cursor, arena, NULL, &param))
            visit(param.raw, arena, ctx);
}

/* ---- list ---------------------------------------------------------------- */

static void add_name(struct span param, struct arena *arena, void *ctx) {
    struct text *text = ctx;

    text_addf(text, "%s%s%s", text->len > 0 ? " " : "",
              call_line_text(param, "name", arena),
              call_line_flag(param, "required") ? "*" : "");
}

static void list_row(struct span line, struct arena *arena) {
    CLEANUP(text_clear) struct text params = TEXT_INIT;
    bool allowed = call_line_flag(line, "allowed");

    each_param(line, arena, add_name, &params);
    table_cell(&table, call_line_text(line, "name", arena), CONSOLE_PLAIN);
    table_cell(&table, arena_string(arena, text_span(&params)), CONSOLE_PLAIN);
    table_cell(&table, allowed ? "" : "not for you",
               allowed ? CONSOLE_PLAIN : CONSOLE_WARM);
    table_cell(&table, call_line_printable(line, "description", arena),
               CONSOLE_PLAIN);
}

int cmd_template_list(struct call *call) {
    static const char *const titles[] = {"TEMPLATE", "PARAMETERS", "ALLOWED",
                                         "WHAT"};
    struct client *client = NULL;
    struct err err = {0};

    if (!call_operands(call, 0, 0, &err) || !call_client(call, &client, &err))
        return console_error(&err);
    table_init(&table, titles, COUNT(titles));
    bool ok = call_show_lines(client, "/api/v1/templates",
                              call_has(call, "json"), list_row, &err);
    client_close(client);
    table_print(&table, false);
    return ok ? console_finish(0) : console_error(&err);
}

/* ---- show ---------------------------------------------------------------- */

static void show_pair(const char *name, const char *value) {
    if (value[0] != '\0')
        (void)console_printf("%-11s %s\n", name, value);
}

/* The words as a line for a shell, or separated by `between`. */
static const char *words_of(struct span line, const char *key,
                            const char *between, struct arena *arena) {
    CLEANUP(text_clear) struct text text = TEXT_INIT;
    struct json_value words, word;
    struct span span;
    size_t cursor = 0;

    if (!json_find(line, key, &words) || words.type != JSON_ARRAY)
        return "";
    while (json_next(words, &cursor, arena, NULL, &word)) {
        if (!json_get_string(word, arena, &span))
            continue;
        if (text.len > 0)
            text_adds(&text, between);
        if (between[0] == ' ')
            word_quote(span, &text);
        else
            text_addspan(&text, span);
    }
    return call_printable(arena_string(arena, text_span(&text)), arena);
}

static void add_fact(struct text *text, const char *name, const char *value) {
    if (value[0] != '\0')
        text_addf(text, ", %s %s", name, value);
}

static void show_param(struct span param, struct arena *arena, void *ctx) {
    CLEANUP(text_clear) struct text text = TEXT_INIT;
    const char *description = call_line_printable(param, "description", arena);

    (void)ctx;
    text_adds(&text, call_line_text(param, "type", arena));
    add_fact(&text, "from", call_line_text(param, "min", arena));
    add_fact(&text, "to", call_line_text(param, "max", arena));
    add_fact(&text, "pattern", call_line_printable(param, "pattern", arena));
    add_fact(&text, "one of", words_of(param, "choices", "|", arena));
    if (call_line_flag(param, "required"))
        text_adds(&text, ", has to be given");
    else
        text_addf(&text, ", default '%s'",
                  call_line_printable(param, "default", arena));
    (void)console_printf(
        "param       %s: %s%s%s\n", call_line_text(param, "name", arena),
        text_string(&text), description[0] == '\0' ? "" : ": ", description);
}

static void show_template(struct span line, struct arena *arena) {
    static const char *const words[] = {"class", "retries", "timeout", "dir"};
    const char *allow = call_line_printable(line, "allow", arena);

    (void)console_printf("%s\n", call_line_text(line, "name", arena));
    show_pair("what", call_line_printable(line, "description", arena));
    show_pair("command", words_of(line, "command", " ", arena));
    for (size_t i = 0; i < COUNT(words); i++)
        show_pair(words[i], call_line_printable(line, words[i], arena));
    show_pair("touches", words_of(line, "touches", ", ", arena));
    show_pair("allow", allow);
    if (!call_line_flag(line, "allowed"))
        show_pair("allowed", "no: it is not for you");
    each_param(line, arena, show_param, NULL);
}

int cmd_template_show(struct call *call) {
    return call_show_each(call, "/api/v1/templates/%", show_template);
}
