/* One listening socket that speaks HTTP/1.1: libmicrohttpd in the loop of
 * libuv, the API behind it.
 *
 * The socket identifies the caller (SO_PEERCRED); a caller over TCP has no
 * identity, so that the API refuses whatever needs one.
 *
 * A connection whose answer is late is suspended and costs nothing
 * meanwhile; if its caller hangs up, that is noticed and the call is closed. */
#ifndef POINTSMAN_HTTP_HTTP_SERVER_H
#define POINTSMAN_HTTP_HTTP_SERVER_H

#include <stdbool.h>
#include <sys/types.h>
#include <uv.h>

#include "lib/err.h"
#include "api/api.h"
#include "base/base.h"

struct http_server;

struct http_server_options {
    uv_loop_t *loop;
    struct api *api;
    int fd;                  /* listening, non-blocking; the server takes
                                ownership */
    const struct base *base; /* of a unix socket, whose peers are known; NULL:
                                TCP */
    unsigned connections;    /* limit; 0 = as many as descriptors allow, up to
                                4000; the soft limit is raised for it */
    unsigned idle_s; /* an idle connection is closed after this; 0 = 60 */
};

/* Serves the API on that descriptor from the loop of the options. If it fails,
 * the descriptor is closed as well. */
bool http_server_open(const struct http_server_options *options,
                      struct http_server **ret_server, struct err *err);
/* Accepts no connection any more; those that are made wait. Returns the
 * listening descriptor, which is the caller's now. */
int http_server_quiesce(struct http_server *server);
/* True if a request to change something is being read or not answered yet. */
bool http_server_is_busy(const struct http_server *server);
/* Closes all open connections, then calls closed (may be NULL) from the
 * loop. */
void http_server_close(struct http_server *server, void (*closed)(void *ctx),
                       void *ctx);

/* Appends the URL under which a listening TCP socket is reached. */
void http_server_url(int fd, struct text *url);
/* Checks that it is an address as below. ERR_CONFIG. */
bool http_server_address_check(const char *address, struct err *err);
/* Listens on "ADDR:PORT", "[ADDR6]:PORT" or ":PORT" (loopback); appends the
 * URL under which it is reached. ERR_CONFIG: not an address;
 * ERR_UNAVAILABLE: the port is taken. */
bool http_server_listen_tcp(const char *address, int *ret_fd,
                            struct text *ret_url, struct err *err);

#endif
