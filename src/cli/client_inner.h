/* Shared by client.c, client_http.c and client_local.c. */
#ifndef POINTSMAN_CLI_CLIENT_INNER_H
#define POINTSMAN_CLI_CLIENT_INNER_H

#include <poll.h>

#include "cli/client.h"
#include "base/base.h"
#include "serve/host.h"
#include "wire/http_reply.h"

struct client {
    struct client_options options;
    char *base_path;
    bool remote;         /* a server answers: HTTP */
    bool answered;       /* a server has answered */
    bool broke;          /* the last call: there was no whole reply */
    bool lost;           /* the connection to it was lost */
    bool waits;          /* and no server answers */
    struct text problem; /* see client_problem */
    struct mono waits_since;
    int64_t waits_s;   /* as reported last */
    int64_t look_ms;   /* pause before it is looked for again */
    struct mono found; /* when it was found again */
    /* remote */
    char *host; /* of the Host field */
    char *unix_path, *tcp_address;
    int fd; /* of the connection; -1 */
    /* local */
    struct base *base;
    bool writes; /* opened for writing */
    struct output *output;
    struct api *api;
    struct host *hosted; /* owned by the caller */
    struct mono ticked;
    int64_t again_ms; /* wait this long after a write was seen; 0: none was
                         seen */
    int watch_fd;     /* inotify of the registry; -1 */
};

/* One request as the transports see it. */
struct client_ask {
    enum api_method method;
    const char *uri;
    struct span body;
    int body_fd; /* -1: the body is `body` */
    client_take *take;
    void *ctx;
    int status;        /* of the reply, once known */
    struct text error; /* its body, when status is 400 or more */
};

/* Each sends the request and passes the body of the reply to ask->take; an
 * error status is not a failure here. False: there was no whole reply. */
bool client_http_ask(struct client *client, struct client_ask *ask,
                     struct err *err);
/* Connects unless it is connected. */
bool client_http_connect(struct client *client, struct err *err);
void client_http_close(struct client *client);
/* Passes on how long no server has answered, if that has changed. */
void client_report_wait(struct client *client, bool waits);
/* Checks again whether a server answers, and connects to it. */
bool client_look_again(struct client *client);
bool client_local_ask(struct client *client, struct client_ask *ask,
                      struct err *err);
void client_local_close(struct client *client);

/* Waits for `fd` (-1: none) or the interrupt. False: interrupted, poll failed,
 * or this is done for a person and nobody reads standard output any more.
 * timeout_ms -1: no limit. */
bool client_poll(struct client *client, int fd, short events, int timeout_ms,
                 struct err *err);

#endif
