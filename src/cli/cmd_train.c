/* Merge trains: train, train recheck, train forget. */
#include "cli/commands.h"
#include "cli/call_connect.h"
#include "cli/console.h"

#include <stdio.h>

/* ---- train ----------------------------------------------------------------
 */

static const char *add_prefixed(const char *prefix, const char *text,
                                struct arena *arena) {
    return text[0] == '\0' ? "" : arena_printf(arena, "%s%s", prefix, text);
}

/* "0:41" */
static const char *minutes(int64_t ms, struct arena *arena) {
    long long s = ms > 0 ? (long long)ms / 1000 : 0;
    return arena_printf(arena, "%lld:%02lld", s / 60, s % 60);
}

static void show_train(struct span line, struct arena *arena) {
    const char *tip = call_line_printable(line, "tip", arena);
    int64_t units = call_line_number(line, "units");
    (void)console_printf(
        "%s: tip %s, %s%s\n", call_line_printable(line, "target", arena),
        tip[0] == '\0' ? "not read yet" : arena_printf(arena, "%.12s", tip),
        call_line_text(line, "proof", arena),
        add_prefixed(": ", call_line_printable(line, "detail", arena), arena));
    (void)console_printf(
        "%lld set%s or group%s; %lld of %lld lanes, %lld of %lld slots in use; "
        "%lld %% of sets are expected to pass\n",
        (long long)units, units == 1 ? "" : "s", units == 1 ? "" : "s",
        (long long)call_line_number(line, "busy"),
        (long long)call_line_number(line, "lanes"),
        (long long)call_line_number(line, "running"),
        (long long)call_line_number(line, "slots"),
        (long long)(call_line_number(line, "pass_ppm") + 5000) / 10000);
    const char *environment = call_line_text(line, "environment", arena);
    if (strcmp(environment, "failed") == 0)
        (void)console_printf(
            "no result is used again: %s\n",
            call_line_printable(line, "environment_detail", arena));
    else if (strcmp(environment, "awaited") == 0)
        (void)console_printf("waits for its environment command\n");
}

/* Members of an array of strings, or of the strings `key` of an array of
 * objects, as one printable word list. */
static const char *joined(struct span line, const char *list_name,
                          const char *key, struct arena *arena) {
    CLEANUP(text_clear) struct text text = TEXT_INIT;
    struct json_value object, list, item;
    size_t cursor = 0;
    if (!json_parse_object(line, &object, NULL) ||
        !json_member(object, list_name, &list))
        return "";
    while (json_next(list, &cursor, arena, NULL, &item)) {
        struct span word = SPAN("running");
        bool found = key == NULL || json_member(item, key, &item);
        if (found && !json_get_string(item, arena, &word))
            continue;
        text_adds(&text, text.len > 0 ? ", " : "");
        text_addspan(&text, word);
    }
    return call_printable(text_string(&text), arena);
}

static void show_unit(struct span line, struct arena *arena) {
    const char *below = joined(line, "on_top_of", NULL, arena);
    int64_t elapsed_ms = call_line_number(line, "elapsed_ms");
    int64_t expected_ms = call_line_number(line, "expected_ms");
    (void)console_printf("%4lld  %-20s %s  %-8s on top of %s",
                         (long long)call_line_number(line, "position"),
                         call_line_printable(line, "id", arena),
                         call_line_text(line, "class", arena),
                         call_line_text(line, "state", arena),
                         below[0] == '\0' ? "the tip" : below);
    if (call_line_text(line, "begun", arena)[0] != '\0') {
        (void)console_printf(", for %s", minutes(elapsed_ms, arena));
        if (expected_ms >= 1000)
            (void)console_printf(" of about %s", minutes(expected_ms, arena));
    }
    if (call_line_flag(line, "reused"))
        (void)console_printf(", an earlier result");
    (void)console_printf(
        "%s%s\n",
        add_prefixed("; attempts: ", joined(line, "attempts", "reason", arena),
                     arena),
        add_prefixed(": ", call_line_printable(line, "detail", arena), arena));
}

static void show_landing(struct span line, struct arena *arena) {
    int64_t attempts = call_line_number(line, "attempts");
    (void)console_printf("%s  %-20s landed, %lld attempt%s\n",
                         call_line_text(line, "at", arena),
                         call_line_printable(line, "id", arena),
                         (long long)attempts, attempts == 1 ? "" : "s");
}

static void show_failure(struct span line, struct arena *arena) {
    (void)console_printf(
        "%s  %-20s failed, %s%s\n", call_line_text(line, "at", arena),
        call_line_printable(line, "id", arena),
        call_line_text(line, "reason", arena),
        add_prefixed(": ", call_line_printable(line, "detail", arena), arena));
}

static void show_day(struct span line, struct arena *arena) {
    int64_t stopped_ms = call_line_number(line, "stopped_ms");
    (void)console_printf("last 24 hours: %lld landed, %lld failed, %lld checks "
                         "run (%lld flaky), %lld "
                         "results used again, %s\n",
                         (long long)call_line_number(line, "landed"),
                         (long long)call_line_number(line, "failed"),
                         (long long)call_line_number(line, "runs"),
                         (long long)call_line_number(line, "flaky"),
                         (long long)call_line_number(line, "reused"),
                         stopped_ms == 0
                             ? "no check was stopped"
                             : arena_printf(arena, "%s of checks stopped",
                                            minutes(stopped_ms, arena)));
}

static void show_line(struct span line, struct arena *arena) {
    static const struct {
        const char *kind;
        void (*show)(struct span line, struct arena *arena);
    } kinds[] = {{"train", show_train},
                 {"unit", show_unit},
                 {"landing", show_landing},
                 {"failure", show_failure},
                 {"day", show_day}};
    const char *kind = call_line_text(line, "kind", arena);
    for (size_t i = 0; i < COUNT(kinds); i++)
        if (strcmp(kind, kinds[i].kind) == 0)
            kinds[i].show(line, arena);
}

int cmd_train(struct call *call) {
    struct client *client = NULL;
    struct err err = {0};
    if (!call_operands(call, 0, 1, &err) || !call_client(call, &client, &err))
        return console_error(&err);
    const char *uri =
        call->word_count == 0
            ? "/api/v1/trains"
            : arena_printf(&call->arena, "/api/v1/targets/%s/train",
                           client_word(&call->arena, call->words[0]));
    bool ok =
        call_show_lines(client, uri, call_has(call, "json"), show_line, &err);
    client_close(client);
    return ok ? console_finish(0) : console_error(&err);
}

/* ---- train recheck, train forget ------------------------------------------
 */

static int post(struct call *call, const char *what) {
    CLEANUP(text_clear) struct text reply = TEXT_INIT;
    struct client *client = NULL;
    struct err err = {0};
    if (!call_operands(call, 1, 1, &err) || !call_client(call, &client, &err))
        return console_error(&err);
    const char *uri =
        arena_printf(&call->arena, "/api/v1/targets/%s/train/%s",
                     client_word(&call->arena, call->words[0]), what);
    bool ok = client_call(client, API_POST, uri, SPAN("{}"), &reply, &err);
    client_close(client);
    if (!ok)
        return console_error(&err);
    const char *note =
        call_line_printable(text_span(&reply), "note", &call->arena);
    if (note[0] != '\0')
        console_note("%s", note);
    return console_finish(0);
}

int cmd_train_recheck(struct call *call) {
    return post(call, "recheck");
}

int cmd_train_forget(struct call *call) {
    return post(call, "forget");
}
