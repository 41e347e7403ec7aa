/* The API over HTTP in a libuv loop: on ctrl/sock for all users of the base
 * (identity by SO_PEERCRED), and on TCP, which serves only health checks
 * until there are accounts (doc/design/processes.md, P15). */
#ifndef POINTSMAN_HTTP_HTTP_H
#define POINTSMAN_HTTP_HTTP_H

#include <stdbool.h>
#include <uv.h>

#include "lib/err.h"
#include "lib/text.h"
#include "api/api.h"
#include "base/base.h"

struct http;

/* Listening sockets that another program in this process goes on with. */
struct http_sockets {
    int local, tcp; /* -1: none */
};

struct http_options {
    uv_loop_t *loop;
    struct api *api;
    struct base *base;
    struct span listen; /* "ADDR:PORT"; "off" or empty: no TCP */
    const struct http_sockets *adopted; /* listen on copies of these; NULL: on
                                           new ones */
};

/* Errors: ERR_UNAVAILABLE (address in use, ...), ERR_CONFIG (not an address).
 */
bool http_open(const struct http_options *options, struct http **ret_http,
               struct err *err);
/* Accepts no more connections: those that are made wait for whoever listens on
 * the sockets next. They are the caller's now. */
void http_quiesce(struct http *http, struct http_sockets *ret_sockets);
/* See http_server_is_busy. */
bool http_is_busy(const struct http *http);
/* Closes every connection and call; the loop frees the rest later. NULL is
 * fine. */
void http_close(struct http *http);
/* "http://127.0.0.1:8750/", or NULL without TCP. */
const char *http_address(const struct http *http);

#endif
