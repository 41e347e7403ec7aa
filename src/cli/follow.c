#include "cli/follow.h"

/* Another server, or the same one a moment later, may answer. */
static bool may_pass(const struct err *err) {
    return err->kind == ERR_UNAVAILABLE || err->kind == ERR_TEMPORARY ||
           err->kind == ERR_BUSY || err->kind == ERR_RUNNING;
}

/* False: `why` is final, or says why the search for a server has ended. */
static bool goes_on(struct client *client, struct mono until, struct err *why) {
    struct err lost = *why;

    if (!may_pass(why) || !client_was_cut(client))
        return false;
    err_clear(why);
    return client_reconnect(client, until, lost.text, why);
}

bool follow_stream(const struct follow *follow, struct err *err) {
    for (;;) {
        CLEANUP(text_free_string) char *uri = follow->uri(follow->ctx);
        struct err why = {0};
        if (client_stream(follow->client, API_GET, uri, (struct span){0},
                          follow->take, follow->ctx, &why))
            return true;
        if (follow->broken != NULL)
            follow->broken(follow->ctx);
        if (goes_on(follow->client, follow->until, &why))
            continue;
        if (why.kind == ERR_INTERRUPTED && follow->interrupted != NULL) {
            if (!follow->interrupted(follow->ctx, err))
                return false;
            continue;
        }
        *err = why;
        return false;
    }
}

bool follow_call(struct client *client, enum api_method method, const char *uri,
                 struct span body, struct text *ret_body, struct err *err) {
    for (;;) {
        struct err why = {0};
        if (client_call(client, method, uri, body, ret_body, &why))
            return true;
        if (goes_on(client, MONO_NEVER, &why))
            continue;
        if (err != NULL)
            *err = why;
        return false;
    }
}
