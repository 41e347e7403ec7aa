/* approve: one's word for change sets. */
#include "cli/reach.h"
#include "cli/talk.h"

static void add(struct json *json, const char *key, const char *value) {
    if (value == NULL)
        return;
    json_key(json, key);
    json_string(json, value);
}

int cmd_approve(struct call *call) {
    CLEANUP(text_clear) struct text body = TEXT_INIT, reply = TEXT_INIT;
    struct client *client = NULL;
    struct err err = {0};
    struct json json;
    int status = 0;

    if (!reach_words(call, 1, SIZE_MAX, &err) ||
        !reach_client(call, &client, &err))
        return talk_error(&err);
    json_open(&json, &body);
    json_object(&json);
    add(&json, "ticket", call_value(call, "ticket"));
    add(&json, "reason", call_value(call, "because"));
    json_end(&json);
    for (size_t i = 0; i < call->word_count; i++) {
        const char *uri =
            arena_printf(&call->arena, "/api/v1/jobs/%s/approve",
                         client_word(&call->arena, call->words[i]));
        err_clear(&err);
        if (!client_call(client, API_POST, uri, text_span(&body), &reply,
                         &err)) {
            int failed = talk_error(&err);
            status = status == 0 ? failed : status;
        }
    }
    client_close(client);
    return talk_end(status);
}
