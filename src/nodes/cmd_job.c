/* Standing jobs: job add, set, enable, disable, forgive, delete, show, list,
 * import. */
#include "cli/commands.h"
#include "cli/call_connect.h"
#include "cli/console.h"
#include "cli/submission_line.h"
#include "cli/table.h"
#include "nodes/bistro_import.h"
#include "nodes/standing_definition.h"
#include "os/dir.h"
#include "wire/config.h"
#include "wire/words.h"

#include <inttypes.h>
#include <unistd.h>

#define ROUTE_STANDING "/api/v1/standing"

/* ---- errors -------------------------------------------------------------- */

/* Reports each line as an error of its own. */
static int report_lines(struct span lines) {
    struct span line;
    struct err err;
    int status = 0;

    while (span_cut(&lines, '\n', &line))
        if (line.len > 0) {
            err_set(&err, ERR_DATA, "%.*s", (int)line.len, line.p);
            status = console_error(&err);
        }
    return status;
}

/* Reports an error of a call with everything that the server found. */
static int report(const struct client *client, const struct err *err) {
    CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
    struct json_value list, item;
    struct span line;
    struct err each;
    size_t cursor = 0;
    int status = 0;

    if (client != NULL && json_find(client_problem(client), "errors", &list) &&
        list.type == JSON_ARRAY)
        while (json_next(list, &cursor, &arena, NULL, &item))
            if (json_get_string(item, &arena, &line)) {
                err_set(&each, err->kind, "%.*s", (int)line.len, line.p);
                status = console_error(&each);
            }
    return status != 0 ? status : console_error(err);
}

/* ---- definitions --------------------------------------------------------- */

static bool read_file(struct call *call, const char *file, uint64_t most,
                      struct span *ret, struct err *err) {
    CLEANUP(text_clear) struct text text = TEXT_INIT;
    int fd = -1;
    bool ok;

    if (!call_open_input(file, &fd, err))
        return false;
    ok = dir_read_file(fd, most, &text, err) || err_wrap(err, "'%s'", file);
    (void)close(fd);
    *ret = arena_span(&call->arena, text_span(&text));
    return ok;
}

/* The object of `job show --json`, or the definition alone. */
static void parse_definition(struct call *call, struct span text,
                             struct standing_definition *ret,
                             struct text *errors) {
    struct json_value inner, version;
    int64_t number = 0;

    if (json_find(text, "definition", &inner) && inner.type == JSON_OBJECT) {
        if (json_find(text, "version", &version))
            (void)json_get_i64(version, &number);
        text = inner.raw;
    }
    (void)standing_definition_parse(text, &call->arena, ret, errors);
    if (number > 0)
        ret->version = (uint64_t)number;
}

/* The operands behind the name: settings, then the command behind --. */
static void apply_words(struct call *call, struct standing_definition *d,
                        struct text *errors) {
    size_t end = call->has_dashes ? call->before_dashes : call->word_count;

    for (size_t i = 1; i < end; i++) {
        struct span value = span_of(call->words[i]), key;
        if (!span_cut(&value, '=', &key) || value.p == NULL)
            text_addf(errors,
                      "'%s' is not KEY=VALUE; a command stands behind --\n",
                      call->words[i]);
        else
            (void)standing_definition_set(d, key, value, &call->arena, errors);
    }
    if (!call->has_dashes || end == call->word_count)
        return;
    d->job.command.count = call->word_count - end;
    d->job.command.items = arena_alloc(
        &call->arena, d->job.command.count * sizeof(*d->job.command.items));
    for (size_t i = end; i < call->word_count; i++)
        d->job.command.items[i - end] = span_of(call->words[i]);
}

static void definition_json(const struct standing_definition *d,
                            struct span name, struct text *out) {
    CLEANUP(text_clear) struct text text = TEXT_INIT;
    CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
    struct json_value whole, value;
    struct span key;
    struct json json;
    size_t cursor = 0;

    standing_definition_format(d, &text);
    json_open(&json, out);
    json_object(&json);
    json_put_text(&json, "name", name);
    if (d->version > 0)
        json_put_i64(&json, "version", (int64_t)d->version);
    if (json_parse_object(text_span(&text), &whole, NULL))
        while (json_next(whole, &cursor, &arena, &key, &value)) {
            json_key(&json, arena_string(&arena, key));
            json_raw(&json, value.raw);
        }
    json_end(&json);
}

/* The name, as the first operand in front of any --. */
static bool has_name(struct call *call, const char *usage, struct err *err) {
    return (call->word_count > 0 &&
            (!call->has_dashes || call->before_dashes > 0)) ||
           err_set(err, ERR_USAGE, "a name is missing: pointsman %s", usage);
}

static const char *uri_of(struct call *call, const char *name,
                          const char *verb) {
    return arena_printf(&call->arena, ROUTE_STANDING "/%s%s",
                        client_word(&call->arena, name), verb);
}

static void say_version(struct span line, const char *what,
                        struct arena *arena) {
    if (console_quiet())
        return;
    if (call_line_number(line, "version") == 0)
        (void)console_printf("%s: %s\n",
                             call_line_printable(line, "name", arena), what);
    else
        (void)console_printf("%s: %s, version %" PRId64 ", job %s\n",
                             call_line_printable(line, "name", arena), what,
                             call_line_number(line, "version"),
                             call_line_text(line, "id", arena));
}

static void say_jobs(struct span reply, const char *what, struct arena *arena) {
    struct json_value list, item;
    size_t cursor = 0;

    if (json_find(reply, "jobs", &list) && list.type == JSON_ARRAY)
        while (json_next(list, &cursor, arena, NULL, &item))
            say_version(item.raw, what, arena);
}

/* ---- add ----------------------------------------------------------------- */

static int send_added(struct call *call, struct span body) {
    CLEANUP(text_clear) struct text reply = TEXT_INIT;
    struct client *client = NULL;
    struct err err = {0};
    bool check = call_has(call, "check");
    int status;

    if (!call_client(call, &client, &err))
        return console_error(&err);
    if (client_call(client, API_POST,
                    check ? ROUTE_STANDING "?check" : ROUTE_STANDING, body,
                    &reply, &err)) {
        say_jobs(text_span(&reply), check ? "fine" : "added", &call->arena);
        status = console_finish(0);
    } else {
        status = report(client, &err);
    }
    client_close(client);
    return status;
}

int cmd_job_add(struct call *call) {
    CLEANUP(text_clear) struct text errors = TEXT_INIT;
    CLEANUP(text_clear) struct text body = TEXT_INIT;
    const char *file = call_value(call, "file");
    struct standing_definition d;
    struct span text;
    struct err err = {0};

    if (!has_name(call, "job add NAME KEY=VALUE... -- COMMAND", &err) ||
        (file != NULL && !read_file(call, file, STANDING_BYTES, &text, &err)))
        return console_error(&err);
    standing_definition_init(&d);
    if (file != NULL)
        parse_definition(call, text, &d, &errors);
    apply_words(call, &d, &errors);
    if (errors.len == 0 && !submission_fill(&d.job, &call->arena, &err))
        return console_error(&err);
    d.version = 0;
    d.name = span_of(call->words[0]);
    (void)standing_name_check(d.name, &errors);
    if (errors.len == 0)
        (void)standing_definition_check(&d, &errors);
    if (errors.len > 0)
        return report_lines(text_span(&errors));
    text_adds(&body, "{\"jobs\":[");
    definition_json(&d, d.name, &body);
    text_adds(&body, "]}");
    return send_added(call, text_span(&body));
}

/* ---- set ----------------------------------------------------------------- */

/* What is changed: the file, or else the version in effect. */
static bool read_present(struct call *call, struct client *client,
                         struct standing_definition *ret, struct text *errors,
                         struct err *err) {
    CLEANUP(text_clear) struct text reply = TEXT_INIT;
    const char *file = call_value(call, "file");
    struct span text;

    if (file != NULL) {
        if (!read_file(call, file, STANDING_BYTES, &text, err))
            return false;
    } else {
        if (!client_call(client, API_GET, uri_of(call, call->words[0], ""),
                         (struct span){0}, &reply, err))
            return false;
        text = arena_span(&call->arena, text_span(&reply));
    }
    parse_definition(call, text, ret, errors);
    return true;
}

static bool set(struct call *call, struct client *client, struct text *errors,
                struct err *err) {
    CLEANUP(text_clear) struct text body = TEXT_INIT;
    CLEANUP(text_clear) struct text reply = TEXT_INIT;
    struct standing_definition d;
    long long version = 0;

    if (!call_number(call, "if-version", 1, INT64_MAX, &version, err) ||
        !read_present(call, client, &d, errors, err))
        return false;
    apply_words(call, &d, errors);
    if (errors->len > 0)
        return true;
    if (version > 0)
        d.version = (uint64_t)version;
    definition_json(&d, d.name, &body);
    if (!client_call(client, API_PUT, uri_of(call, call->words[0], ""),
                     text_span(&body), &reply, err))
        return false;
    say_version(text_span(&reply),
                call_line_flag(text_span(&reply), "again") ? "unchanged"
                                                           : "changed",
                &call->arena);
    return true;
}

int cmd_job_set(struct call *call) {
    CLEANUP(text_clear) struct text errors = TEXT_INIT;
    struct client *client = NULL;
    struct err err = {0};
    int status;

    if (!has_name(call, "job set NAME KEY=VALUE...", &err) ||
        !call_client(call, &client, &err))
        return console_error(&err);
    if (!set(call, client, &errors, &err))
        status = report(client, &err);
    else if (errors.len > 0)
        status = report_lines(text_span(&errors));
    else
        status = console_finish(0);
    client_close(client);
    return status;
}

/* ---- enable, disable, delete, forgive ------------------------------------ */

static bool post(struct call *call, struct client *client, const char *name,
                 const char *verb, const char *node, struct err *err) {
    CLEANUP(text_clear) struct text body = TEXT_INIT;
    CLEANUP(text_clear) struct text reply = TEXT_INIT;
    struct json json;

    json_open(&json, &body);
    json_object(&json);
    if (node != NULL) {
        json_key(&json, "node");
        json_string(&json, node);
    }
    json_end(&json);
    return client_call(client, API_POST, uri_of(call, name, verb),
                       text_span(&body), &reply, err);
}

static bool post_one(struct call *call, struct client *client, const char *word,
                     const void *ctx, struct err *err) {
    return post(call, client, word, ctx, NULL, err);
}

int cmd_job_enable(struct call *call) {
    return call_for_each(call, post_one, "/enable");
}

int cmd_job_disable(struct call *call) {
    return call_for_each(call, post_one, "/disable");
}

int cmd_job_delete(struct call *call) {
    return call_for_each(call, post_one, "/delete");
}

int cmd_job_forgive(struct call *call) {
    struct client *client = NULL;
    struct err err = {0};
    bool ok;

    if (!call_operands(call, 1, SIZE_MAX, &err) ||
        !call_client(call, &client, &err))
        return console_error(&err);
    ok = call->word_count > 1 ||
         post(call, client, call->words[0], "/forgive", NULL, &err);
    for (size_t i = 1; ok && i < call->word_count; i++)
        ok = post(call, client, call->words[0], "/forgive", call->words[i],
                  &err);
    client_close(client);
    return ok ? console_finish(0) : console_error(&err);
}

/* ---- show ---------------------------------------------------------------- */

static struct span text_of(struct json_value value, struct arena *arena) {
    struct span text;

    return json_get_string(value, arena, &text) ? text : value.raw;
}

/* A value as an option says it: lists with commas, objects with a line for each
 * member. */
static void show_value(struct span key, struct json_value value,
                       struct arena *arena) {
    CLEANUP(text_clear) struct text text = TEXT_INIT;
    struct json_value inner;
    struct span name, word;
    size_t cursor = 0;

    if (value.type == JSON_OBJECT) {
        while (json_next(value, &cursor, arena, &name, &inner))
            show_value(span_of(arena_printf(arena, "%.*s.%.*s", (int)key.len,
                                            key.p, (int)name.len, name.p)),
                       inner, arena);
        return;
    }
    if (value.type == JSON_ARRAY) {
        bool is_command = span_is(key, "command");
        while (json_next(value, &cursor, arena, NULL, &inner)) {
            word = text_of(inner, arena);
            if (text.len > 0)
                text_addc(&text, is_command ? ' ' : ',');
            if (is_command)
                word_quote(word, &text);
            else
                text_addspan(&text, word);
        }
        word = text_span(&text);
    } else {
        word = text_of(value, arena);
    }
    (void)console_printf(
        "%.*s%s%s\n", (int)key.len, key.p,
        span_is(key, "command") ? " -- " : "=",
        value.type == JSON_NULL
            ? "(hidden)"
            : call_printable(arena_string(arena, word), arena));
}

static void show_job(struct span line, struct arena *arena) {
    struct json_value definition, value;
    struct span key;
    size_t cursor = 0;

    (void)console_printf("%s, version %" PRId64 " by %s, %s\n",
                         call_line_printable(line, "name", arena),
                         call_line_number(line, "version"),
                         call_line_printable(line, "changed_by", arena),
                         call_line_text(line, "changed", arena));
    (void)console_printf("job %s, %s\n", call_line_text(line, "id", arena),
                         call_line_text(line, "state", arena));
    if (json_find(line, "definition", &definition) &&
        definition.type == JSON_OBJECT)
        while (json_next(definition, &cursor, arena, &key, &value))
            show_value(key, value, arena);
}

int cmd_job_show(struct call *call) {
    struct client *client = NULL;
    struct call_uri uri;
    struct err err = {0};
    bool ok;

    if (!call_operands(call, 1, 1, &err) || !call_client(call, &client, &err))
        return console_error(&err);
    call_uri_begin(&uri, uri_of(call, call->words[0], ""));
    call_uri_add(&uri, "version", call_value(call, "version"));
    ok = call_show_lines(client, text_string(&uri.text), call_has(call, "json"),
                         show_job, &err);
    text_clear(&uri.text);
    client_close(client);
    return ok ? console_finish(0) : console_error(&err);
}

/* ---- list ---------------------------------------------------------------- */

static struct table table;

static void list_job(struct span line, struct arena *arena) {
    bool enabled = call_line_flag(line, "enabled");
    const char *level = call_line_text(line, "level", arena);

    table_cell(&table, call_line_text(line, "name", arena), CONSOLE_BOLD);
    table_cell(&table,
               enabled ? call_line_text(line, "state", arena) : "disabled",
               enabled ? CONSOLE_PLAIN : CONSOLE_WARM);
    table_cell(
        &table,
        arena_printf(arena, "%" PRId64, call_line_number(line, "version")),
        CONSOLE_PLAIN);
    table_cell(&table, level, CONSOLE_PLAIN);
    table_cell(&table, call_line_text(line, "owner", arena), CONSOLE_PLAIN);
    table_cell(&table, call_line_text(line, "id", arena), CONSOLE_PLAIN);
}

int cmd_job_list(struct call *call) {
    static const char *const titles[] = {"NAME",  "STATE", "VERSION",
                                         "LEVEL", "OWNER", "ID"};
    return call_show_table(call, ROUTE_STANDING, &table, titles, COUNT(titles),
                           list_job);
}

/* ---- import -------------------------------------------------------------- */

/* Reads the sections as a file of the configuration. */
static void check_sections(struct span sections, struct text *errors) {
    struct config config;

    config_init(&config);
    config_collect(errors);
    (void)config_read(&config, sections, "the sections", NULL);
    (void)config_finish(&config, NULL);
    config_collect(NULL);
    config_clear(&config);
}

int cmd_job_import(struct call *call) {
    CLEANUP(text_clear) struct text sections = TEXT_INIT;
    CLEANUP(text_clear) struct text jobs = TEXT_INIT;
    CLEANUP(text_clear) struct text body = TEXT_INIT;
    CLEANUP(text_clear) struct text errors = TEXT_INIT;
    struct span text;
    struct err err = {0};

    if (!call_operands(call, 1, 1, &err) ||
        !read_file(call, call->words[0], BISTRO_BYTES, &text, &err))
        return console_error(&err);
    if (bistro_import(text, &sections, &jobs, &errors))
        check_sections(text_span(&sections), &errors);
    if (errors.len > 0)
        return report_lines(text_span(&errors));
    if (call_has(call, "sections")) {
        (void)console_write(text_span(&sections));
        return console_finish(0);
    }
    if (jobs.len == 0) {
        err_set(&err, ERR_DATA, "'%s' has no jobs", call->words[0]);
        return console_error(&err);
    }
    text_addf(&body, "{\"jobs\":[%s]}", text_string(&jobs));
    return send_added(call, text_span(&body));
}
