/* approve: approves change sets, with or without a signature. */
#include "cli/commands.h"
#include "cli/approval_file.h"
#include "cli/call_connect.h"
#include "cli/console.h"

static void add(struct json *json, const char *key, const char *value) {
    if (value == NULL)
        return;
    json_key(json, key);
    json_string(json, value);
}

static bool send_word(struct call *call, struct client *client, const char *id,
                      struct span body, struct err *err) {
    CLEANUP(text_clear) struct text reply = TEXT_INIT;
    const char *uri = arena_printf(&call->arena, "/api/v1/jobs/%s/approve",
                                   client_word(&call->arena, id));
    if (!client_call(client, API_POST, uri, body, &reply, err))
        return false;
    const char *lacks =
        call_line_text(text_span(&reply), "lacks_ticket", &call->arena);
    if (lacks[0] != '\0')
        console_note("pointsman: %s: your approval is recorded, but is not "
                     "enough without a ticket (--ticket): %s",
                     id, lacks);
    return true;
}

static bool approve_one(struct call *call, struct client *client,
                        const char *id, const void *ctx, struct err *err) {
    CLEANUP(text_clear) struct text approval = TEXT_INIT, body = TEXT_INIT;
    const char *key = call_value(call, "sign-with");
    const char *file = call_value(call, "signature");
    struct json json;

    (void)ctx;
    if (file != NULL) {
        if (!approval_file_read(file, &approval, err))
            return false;
    } else if (key != NULL || call_has(call, "print")) {
        if (!approval_file_of_set(call, client, id, &approval, err))
            return false;
        if (key != NULL && !approval_file_sign(&approval, key, err))
            return false;
    }
    if (call_has(call, "print"))
        return console_write(text_span(&approval));
    if (file != NULL || key != NULL) {
        approval_file_body(text_span(&approval), &body);
    } else {
        json_open(&json, &body);
        json_object(&json);
        add(&json, "ticket", call_value(call, "ticket"));
        add(&json, "expires", call_value(call, "expires"));
        add(&json, "reason", call_value(call, "because"));
        json_end(&json);
    }
    return send_word(call, client, id, text_span(&body), err);
}

/* The set was not submitted yet: its approval is only written to a file. */
static int approve_tarball(struct call *call, const char *file) {
    CLEANUP(text_clear) struct text approval = TEXT_INIT;
    const char *key = call_value(call, "sign-with");
    struct err err = {0};

    if (!call_operands(call, 0, 0, &err) ||
        !approval_file_of_tarball(call, file, &approval, &err) ||
        (key != NULL && !approval_file_sign(&approval, key, &err)))
        return console_error(&err);
    (void)console_write(text_span(&approval));
    return console_finish(0);
}

int cmd_approve(struct call *call) {
    const char *tarball = call_value(call, "tarball");
    bool reads = call_has(call, "signature"), prints = call_has(call, "print");
    struct err err = {0};

    if (reads && (prints || call_has(call, "sign-with") || tarball != NULL)) {
        err_set(&err, ERR_USAGE,
                "--signature takes a text that is signed already; it does "
                "not go with --print, --sign-with or --tarball");
        return console_error(&err);
    }
    if (tarball != NULL)
        return approve_tarball(call, tarball);
    return call_for_each(call, approve_one, NULL);
}
