/* The command line's way to a base: over its socket when a server answers
 * there, else the same handlers (api/api.h) in this process on the opened
 * base. Who calls cannot tell the difference.
 *
 * Every function here may wait. */
#ifndef POINTSMAN_CLI_CLIENT_H
#define POINTSMAN_CLI_CLIENT_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/arena.h"
#include "lib/err.h"
#include "lib/text.h"
#include "api/api.h"

struct client;

struct client_options {
    const char *base_path;  /* --base, or NULL: looked for (base/base.h) */
    const char *server_url; /* --server, or NULL */
    /* Called when `interrupt_fd` (-1: none) became readable while we waited;
     * true: give up (ERR_INTERRUPTED). */
    bool (*interrupted)(void *ctx);
    int interrupt_fd;
    /* Called about once a second while we wait without a server; true: give up
     * in the same way. May be NULL. */
    bool (*tick)(void *ctx);
    void *ctx;
};

/* Finds the base and looks who answers, but opens nothing yet: the first call
 * does. Errors: ERR_UNAVAILABLE, ERR_USAGE (a URL we do not speak), what
 * base/base.h says of a base that is none. */
bool client_open(const struct client_options *options,
                 struct client **ret_client, struct err *err);
void client_close(struct client *client); /* NULL is fine */
/* From now on the calls are answered by this host, which lives as long. */
struct host;
void client_use_host(struct client *client, struct host *host);
bool client_has_server(const struct client *client);
/* After ERR_UNAVAILABLE: looks anew who answers for the base, another server or
 * nobody; the next call goes there. False: a URL was given, or no server was
 * asked. */
bool client_look_again(struct client *client);
/* Path of the base; NULL when there is only a URL. */
const char *client_base_path(const struct client *client);

/* Where a reply goes piece by piece; false: enough, hang up (no error). */
typedef bool client_take(void *ctx, struct span bytes);

/* One call; the whole reply in `ret_body` (emptied first). A reply of 400 and
 * more is an error with the kind and the sentence the server gave. */
bool client_call(struct client *client, enum api_method method, const char *uri,
                 struct span body, struct text *ret_body, struct err *err);
bool client_get(struct client *client, struct text *ret_body, struct err *err,
                const char *uri_format, ...) PRINTF_LIKE(4, 5);
/* The same, the reply as it comes. */
bool client_stream(struct client *client, enum api_method method,
                   const char *uri, struct span body, client_take *take,
                   void *ctx, struct err *err);
/* Sends what `fd` holds, to its end, as the body (change submit). */
bool client_send_file(struct client *client, const char *uri, int fd,
                      struct text *ret_body, struct err *err);

/* Lines of a reply one by one, whatever pieces they came in. */
struct client_lines {
    struct text rest;
    bool (*line)(void *ctx, struct span line);
    void *ctx;
};
bool client_take_lines(void *client_lines, struct span bytes);
void client_lines_end(struct client_lines *lines); /* the unfinished last one */

/* One word of a URI, percent-encoded. */
char *client_word(struct arena *arena, const char *word);

#endif
