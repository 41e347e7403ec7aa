/* The command line's way to a base: over its socket if a server answers
 * there, else the same handlers (api/api.h) in this process on the opened
 * base. Callers cannot tell the difference.
 *
 * Every function here may block. */
#ifndef POINTSMAN_CLI_CLIENT_H
#define POINTSMAN_CLI_CLIENT_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/arena.h"
#include "lib/err.h"
#include "lib/text.h"
#include "lib/time.h"
#include "api/api.h"

struct client;

struct client_options {
    const char *base_path;  /* --base, or NULL: searched for (base/base.h) */
    const char *server_url; /* --server, or NULL */
    const char *person;     /* for whom `pointsman shell` acts, or NULL; then
                               only a server is used */
    /* Called before each wait, and again when `interrupt_fd` (-1: none) has
     * become readable, which this must undo; true: give up
     * (ERR_INTERRUPTED). May be NULL. */
    bool (*interrupted)(void *ctx);
    int interrupt_fd;
    /* Called about once a second during a wait without a server; true: give
     * up in the same way. May be NULL. */
    bool (*tick)(void *ctx);
    /* Called when a server that answered before is looked for, then about once
     * a second as long as none answers, and at last with -1. May be NULL. */
    void (*waiting)(void *ctx, int64_t s);
    void *ctx;
};

/* Finds the base and checks whether a server answers, but opens nothing yet:
 * the first call does. Errors: ERR_UNAVAILABLE, ERR_USAGE (an unsupported
 * URL), and those of base/base.h for a directory that is no base. */
bool client_open(const struct client_options *options,
                 struct client **ret_client, struct err *err);
void client_close(struct client *client); /* NULL is fine */
/* From now on this host answers the calls; it must outlive the client. */
struct host;
void client_use_host(struct client *client, struct host *host);
bool client_has_server(const struct client *client);
/* The last call got no whole reply, although a server has answered before. */
bool client_was_cut(const struct client *client);
/* Then: waits until a server answers again, and returns true: the next call
 * goes there. If none does for a moment and the registry may be opened here,
 * the next call reads that; its waits end with ERR_UNAVAILABLE once a server
 * answers. `why` is printed unless that has just happened before. Errors:
 * ERR_TIMEOUT (none did until then), ERR_INTERRUPTED. */
bool client_reconnect(struct client *client, struct mono until, const char *why,
                      struct err *err);
/* ERR_UNAVAILABLE if the base belongs to another account, or if this is done
 * for a person: without a server it cannot be used from here. */
bool client_may_open(const struct client *client, struct err *err);
/* Path of the base; NULL if there is only a URL. */
const char *client_base_path(const struct client *client);

/* Receives a reply piece by piece; false: enough, hang up (no error). */
typedef bool client_take(void *ctx, struct span bytes);

/* Makes one call; the whole reply goes to `ret_body` (emptied first). A
 * reply with status 400 or more is an error of the kind and with the
 * sentence that the server sent. */
bool client_call(struct client *client, enum api_method method, const char *uri,
                 struct span body, struct text *ret_body, struct err *err);
bool client_get(struct client *client, struct text *ret_body, struct err *err,
                const char *uri_format, ...) PRINTF_LIKE(4, 5);
/* The same, with the reply passed on as it comes. */
bool client_stream(struct client *client, enum api_method method,
                   const char *uri, struct span body, client_take *take,
                   void *ctx, struct err *err);
/* Sends the contents of `fd`, to the end, as the body (change submit). */
bool client_send_file(struct client *client, const char *uri, int fd,
                      struct text *ret_body, struct err *err);

/* Splits a reply into lines, whatever pieces it came in. */
struct client_lines {
    struct text rest;
    bool (*line)(void *ctx, struct span line);
    void *ctx;
};
bool client_take_lines(void *client_lines, struct span bytes);
void client_lines_end(struct client_lines *lines); /* the unfinished last one */

/* The body of the last reply if that was an error; otherwise empty. */
struct span client_problem(const struct client *client);

/* One word of a URI, percent-encoded. */
char *client_word(struct arena *arena, const char *word);

#endif
