/* Toys: toy wind, toy list. */
#include "cli/commands.h"
#include "cli/call_connect.h"
#include "cli/console.h"

int cmd_toy_wind(struct call *call) {
    CLEANUP(text_clear) struct text reply = TEXT_INIT;
    struct client *client = NULL;
    struct err err = {0};

    if (!call_operands(call, 1, 1, &err) || !call_client(call, &client, &err))
        return console_error(&err);
    const char *uri = arena_printf(&call->arena, "/api/v1/toys/%s",
                                   client_word(&call->arena, call->words[0]));
    bool ok =
        client_call(client, API_POST, uri, (struct span){0}, &reply, &err);
    client_close(client);
    if (!ok)
        return console_error(&err);
    (void)console_printf("%s\n",
                         call_line_text(text_span(&reply), "id", &call->arena));
    return console_finish(0);
}

static void show_toy(struct span line, struct arena *arena) {
    (void)console_printf("%-20s %s\n", call_line_text(line, "name", arena),
                         call_line_text(line, "sound", arena));
}

int cmd_toy_list(struct call *call) {
    struct client *client = NULL;
    struct err err = {0};

    if (!call_operands(call, 0, 0, &err) || !call_client(call, &client, &err))
        return console_error(&err);
    bool ok = call_show_lines(client, "/api/v1/toys", call_has(call, "json"),
                              show_toy, &err);
    client_close(client);
    return ok ? console_finish(0) : console_error(&err);
}
