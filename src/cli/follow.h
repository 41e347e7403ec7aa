/* What lasts as long as what it shows: `run`, `wait`, `logs -f`, `events -f`.
 * If the connection to the server is lost, the request goes to the server that
 * answers next, or to the registry, and goes on where it was. */
#ifndef POINTSMAN_CLI_FOLLOW_H
#define POINTSMAN_CLI_FOLLOW_H

#include <stdbool.h>

#include "cli/client.h"

struct follow {
    struct client *client;
    /* The request from where it is now; malloc'ed. */
    char *(*uri)(void *ctx);
    client_take *take; /* with ctx */
    /* The reply broke off: forget the unfinished part. May be NULL. */
    void (*broken)(void *ctx);
    /* A signal came. False: give up (with an error). NULL: give up. */
    bool (*interrupted)(void *ctx, struct err *err);
    void *ctx;
    struct mono until; /* ERR_TIMEOUT if no server answers until then */
};

/* True: the whole reply came, or `take` has had enough. */
bool follow_stream(const struct follow *follow, struct err *err);

/* The same for one short request, which may be repeated: it counts once. The
 * reply replaces the contents of *ret_body. */
bool follow_call(struct client *client, enum api_method method, const char *uri,
                 struct span body, struct text *ret_body, struct err *err);

#endif
