#include "cli/call_connect.h"

#include <stdio.h>
#include <stdlib.h>

#include "cli/console.h"
#include "base/base.h"
#include "base/output_loss.h"
#include "wire/uri.h"

bool call_client(const struct call *call, struct client **ret_client,
                 struct err *err) {
    return call_client_with(call, &(struct client_options){.interrupt_fd = -1},
                            ret_client, err);
}

bool call_client_with(const struct call *call,
                      const struct client_options *options,
                      struct client **ret_client, struct err *err) {
    struct client_options all = *options;

    all.base_path = call_value(call, "base");
    all.server_url = call_value(call, "server");
    all.person = call->person;
    if (all.base_path != NULL && all.server_url != NULL)
        return err_set(err, ERR_USAGE, "give --base or --server, not both");
    return client_open(&all, ret_client, err);
}

/* A command that opens the files of the base itself asks no server whether the
 * caller has the role that its row names. */
static bool may_open(const struct call *call, const char *path,
                     struct err *err) {
    struct access_rules rules = {0};
    uid_t owner;

    bool ours = base_is_ours(path, &owner);
    rules.owner = owner;
    struct access_actor caller = base_caller(&rules);
    /* Their roles are in a file that only the owner and root can read, and do
     * not matter here. */
    if (!ours &&
        !access_allows(&rules, &caller, call->command->need, NULL, NULL))
        return err_set(err, ERR_DENIED,
                       "'%s' opens the files of base '%s', and only its owner "
                       "(uid %ld) and root can do that",
                       call->command->name, path, (long)owner);
    return access_allows(&rules, &caller, call->command->need, NULL, err) ||
           err_wrap(err, "'%s' opens the files of base '%s'",
                    call->command->name, path);
}

bool call_base(struct call *call, const char **ret_path, struct err *err) {
    return call_base_path(call, ret_path, err) &&
           may_open(call, *ret_path, err);
}

bool call_base_path(struct call *call, const char **ret_path, struct err *err) {
    CLEANUP(text_free_string) char *path = NULL;

    if (call_has(call, "server"))
        return err_set(err, ERR_USAGE,
                       "'%s' works on the base's files and does not take "
                       "--server",
                       call->command->name);
    if (!base_find(call_value(call, "base"), &path, err))
        return false;
    *ret_path = arena_string(&call->arena, span_of(path));
    return true;
}

bool call_operands_not_empty(const struct call *call, size_t words,
                             struct err *err) {
    for (size_t i = 0; i < call->word_count && i < words; i++)
        if (call->words[i][0] == '\0')
            return err_set(err, ERR_USAGE, "'%s': an argument is empty (%s)",
                           call->command->name, call->command->arguments);
    return true;
}

bool call_operands(const struct call *call, size_t least, size_t most,
                   struct err *err) {
    if (call->word_count < least)
        return err_set(err, ERR_USAGE, "'%s' needs %s; try pointsman help %s",
                       call->command->name, call->command->arguments,
                       call->command->name);
    if (call->word_count > most)
        return err_set(
            err, ERR_USAGE, "'%s' takes no '%s'; try pointsman help %s",
            call->command->name, call->words[most], call->command->name);
    return call_operands_not_empty(call, most == SIZE_MAX ? most : least, err);
}

/* ---- lines --------------------------------------------------------------- */

const char *call_line_text(struct span line, const char *key,
                           struct arena *arena) {
    struct json_value value;
    struct span text;

    if (!json_find(line, key, &value))
        return "";
    if (value.type == JSON_NUMBER)
        return arena_string(arena, value.raw);
    return json_get_string(value, arena, &text) ? arena_string(arena, text)
                                                : "";
}

const char *call_printable(const char *text, struct arena *arena) {
    CLEANUP(text_clear) struct text line = TEXT_INIT;

    text_add_printable(&line, span_of(text));
    return arena_string(arena, text_span(&line));
}

const char *call_line_printable(struct span line, const char *key,
                                struct arena *arena) {
    return call_printable(call_line_text(line, key, arena), arena);
}

int64_t call_line_number(struct span line, const char *key) {
    struct json_value value;
    int64_t number = 0;

    if (json_find(line, key, &value))
        (void)json_get_i64(value, &number);
    return number;
}

const char *call_line_loss(struct span line, struct arena *arena) {
    CLEANUP(text_clear) struct text text = TEXT_INIT;
    const char *why = call_line_printable(line, "lost_reason", arena);
    int64_t bytes = call_line_number(line, "lost_bytes");

    if (why[0] == '\0')
        return "";
    struct output_loss loss = {.any = true,
                               .bytes = bytes > 0 ? (uint64_t)bytes : 0,
                               .origins = call_line_flag(line, "lost_origins")};
    snprintf(loss.why, sizeof(loss.why), "%s", why);
    output_loss_format(&loss, &text);
    return arena_string(arena, text_span(&text));
}

bool call_line_flag(struct span line, const char *key) {
    struct json_value value;

    return json_find(line, key, &value) && value.type == JSON_TRUE;
}

void call_uri_begin(struct call_uri *uri, const char *path) {
    *uri = (struct call_uri){0};
    text_adds(&uri->text, path);
}

void call_uri_add(struct call_uri *uri, const char *key, const char *value) {
    if (value == NULL)
        return;
    text_addc(&uri->text, uri->more ? '&' : '?');
    uri->more = true;
    text_adds(&uri->text, key);
    text_addc(&uri->text, '=');
    uri_encode(span_of(value), &uri->text);
}

/* ---- asking and showing -------------------------------------------------- */

struct call_printable {
    bool json;
    void (*show)(struct span line, struct arena *arena);
};

static bool show_line(void *ctx, struct span line) {
    const struct call_printable *call_printable = ctx;

    if (call_printable->json) {
        (void)console_write(line);
        return console_printf("\n");
    }
    struct arena arena = ARENA_INIT;
    call_printable->show(line, &arena);
    arena_clear(&arena);
    return true;
}

static bool take_and_flush(void *ctx, struct span bytes) {
    return client_take_lines(ctx, bytes) && console_flush();
}

bool call_show_lines(struct client *client, const char *uri, bool json,
                     void (*show)(struct span line, struct arena *arena),
                     struct err *err) {
    struct call_printable call_printable = {json, show};
    struct client_lines lines = {.line = show_line, .ctx = &call_printable};
    bool ok = client_stream(client, API_GET, uri, (struct span){0},
                            take_and_flush, &lines, err);

    client_lines_end(&lines);
    return ok;
}

int call_show_table(struct call *call, const char *uri, struct table *table,
                    const char *const *titles, size_t columns,
                    void (*row)(struct span line, struct arena *arena)) {
    struct client *client = NULL;
    struct err err = {0};

    if (!call_operands(call, 0, 0, &err) || !call_client(call, &client, &err))
        return console_error(&err);
    table_init(table, titles, columns);
    bool ok = call_show_lines(client, uri, call_has(call, "json"), row, &err);
    client_close(client);
    table_print(table, false);
    return ok ? console_finish(0) : console_error(&err);
}

int call_for_each(struct call *call, call_one *one, const void *ctx) {
    struct client *client = NULL;
    struct err err = {0};
    int status = 0;

    if (!call_operands(call, 1, SIZE_MAX, &err) ||
        !call_client(call, &client, &err))
        return console_error(&err);
    for (size_t i = 0; i < call->word_count; i++) {
        err_clear(&err);
        if (one(call, client, call->words[i], ctx, &err))
            continue;
        int failed = console_error(&err);
        status = status == 0 ? failed : status;
    }
    client_close(client);
    return console_finish(status);
}

struct asking {
    const char *path_format;
    bool json; /* lines are printed as they are */
    void (*show)(struct span line, struct arena *arena);
};

static bool ask_one(struct call *call, struct client *client, const char *word,
                    const void *ctx, struct err *err) {
    const struct asking *asking = ctx;
    CLEANUP(text_clear) struct text uri = TEXT_INIT;
    struct span format = span_of(asking->path_format), front;

    (void)span_cut(&format, '%', &front);
    text_addspan(&uri, front);
    text_adds(&uri, client_word(&call->arena, word));
    text_addspan(&uri, format);
    return call_show_lines(client, text_string(&uri), asking->json,
                           asking->show, err);
}

int call_show_each(struct call *call, const char *path_format,
                   void (*show)(struct span line, struct arena *arena)) {
    bool json = call_has(call, "json");
    return call_for_each(call, ask_one,
                         &(struct asking){path_format, json, show});
}

int call_take_each(struct call *call, const char *path_format,
                   void (*take)(struct span line, struct arena *arena)) {
    return call_for_each(call, ask_one,
                         &(struct asking){path_format, false, take});
}
