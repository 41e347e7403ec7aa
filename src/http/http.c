#include "http/http.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdlib.h>

#include "os/sock.h"
#include "http/http_server.h"

struct http {
    struct http_server *local, *tcp;
    unsigned open; /* servers */
    char *address;
};

static bool socket_copy(int fd, int *ret_fd, struct err *err) {
    *ret_fd = fcntl(fd, F_DUPFD_CLOEXEC, 3);
    return *ret_fd >= 0 || err_errno(err, errno, "cannot copy a descriptor");
}

static bool open_local(struct http *http, const struct http_options *options,
                       struct err *err) {
    const struct base *base = options->base;
    struct http_server_options local = {
        .loop = options->loop,
        .api = options->api,
        .base = base,
    };

    const struct http_sockets *adopted = options->adopted;
    bool ok = adopted != NULL && adopted->local >= 0
                  ? socket_copy(adopted->local, &local.fd, err)
                  : sock_listen(base->dirs[BASE_CTRL], BASE_SOCKET, 0666,
                                &local.fd, err);
    if (!ok || !http_server_open(&local, &http->local, err))
        return err_wrap(err, "cannot answer on 'ctrl/%s'", BASE_SOCKET);
    http->open++;
    return true;
}

static bool open_tcp(struct http *http, const struct http_options *options,
                     struct err *err) {
    struct http_server_options tcp = {
        .loop = options->loop,
        .api = options->api,
    };

    if (options->listen.len == 0 || span_is(options->listen, "off"))
        return true;
    CLEANUP(text_free_string) char *where = span_string(options->listen);
    CLEANUP(text_clear) struct text address = TEXT_INIT;
    const struct http_sockets *adopted = options->adopted;
    bool ok = adopted != NULL && adopted->tcp >= 0
                  ? socket_copy(adopted->tcp, &tcp.fd, err)
                  : http_server_listen_tcp(where, &tcp.fd, &address, err);
    if (ok && address.len == 0)
        http_server_url(tcp.fd, &address);
    if (!ok || !http_server_open(&tcp, &http->tcp, err))
        return false;
    http->open++;
    http->address = text_take(&address);
    return true;
}

bool http_open(const struct http_options *options, struct http **ret_http,
               struct err *err) {
    struct http *http = mem_alloc(sizeof *http);

    if (open_local(http, options, err) && open_tcp(http, options, err)) {
        *ret_http = http;
        return true;
    }
    if (http->open == 0)
        free(http);
    else
        http_close(http);
    return false;
}

void http_quiesce(struct http *http, struct http_sockets *ret_sockets) {
    ret_sockets->local = http_server_quiesce(http->local);
    ret_sockets->tcp = http->tcp ? http_server_quiesce(http->tcp) : -1;
}

bool http_is_busy(const struct http *http) {
    return http_server_is_busy(http->local);
}

static void server_closed(void *ctx) {
    struct http *http = ctx;

    if (--http->open > 0)
        return;
    free(http->address);
    free(http);
}

void http_close(struct http *http) {
    if (http == NULL)
        return;
    struct http_server *tcp = http->tcp;
    http_server_close(http->local, server_closed, http);
    if (tcp != NULL)
        http_server_close(tcp, server_closed, http);
}

const char *http_address(const struct http *http) {
    return http->address;
}
