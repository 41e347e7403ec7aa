/* Merge trains: train show, train recheck, train forget. */
#include "cli/commands.h"
#include "cli/call_connect.h"
#include "cli/console.h"

static void show_train(struct span line, struct arena *arena) {
    const char *detail = call_line_printable(line, "detail", arena);
    (void)console_printf(
        "%s: tip %.12s, %s%s%s; %lld sets or groups, %lld of %lld lanes busy\n",
        call_line_printable(line, "target", arena),
        call_line_printable(line, "tip", arena),
        call_line_text(line, "proof", arena), detail[0] == '\0' ? "" : ": ",
        detail, (long long)call_line_number(line, "units"),
        (long long)call_line_number(line, "busy"),
        (long long)call_line_number(line, "lanes"));
}

static void show_unit(struct span line, struct arena *arena) {
    const char *detail = call_line_printable(line, "detail", arena);
    int64_t runs = call_line_number(line, "runs");
    (void)console_printf("%4lld  %-20s %s  %-8s %lld run%s%s%s\n",
                         (long long)call_line_number(line, "position"),
                         call_line_printable(line, "id", arena),
                         call_line_text(line, "class", arena),
                         call_line_text(line, "state", arena), (long long)runs,
                         runs == 1 ? "" : "s", detail[0] == '\0' ? "" : ": ",
                         detail);
}

static void show_line(struct span line, struct arena *arena) {
    if (call_line_text(line, "target", arena)[0] != '\0')
        show_train(line, arena);
    else
        show_unit(line, arena);
}

int cmd_train_show(struct call *call) {
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
    return ok ? console_finish(0) : console_error(&err);
}

int cmd_train_recheck(struct call *call) {
    return post(call, "recheck");
}

int cmd_train_forget(struct call *call) {
    return post(call, "forget");
}
