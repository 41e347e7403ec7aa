/* One connection to a server, kept between calls. */
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "cli/client_inner.h"
#include "os/fd.h"
#include "os/sock.h"

enum { HTTP_PIECE_BYTES = 64 << 10 };

void client_http_close(struct client *client) {
    fd_close(&client->fd);
}

/* ---- connecting ---------------------------------------------------------- */

static bool connect_unix(struct client *client, struct err *err) {
    const char *path = client->unix_path;
    const char *slash = strrchr(path, '/');
    CLEANUP(text_free_string)
    char *dir_path = slash == NULL ? mem_string(".")
                                   : mem_copy(path, (size_t)(slash - path) + 1);
    CLEANUP(fd_close)
    int dir = open(dir_path, O_PATH | O_DIRECTORY | O_CLOEXEC);

    if (dir < 0)
        return err_set(err, ERR_UNAVAILABLE,
                       "no socket '%s'; is the server running?", path);
    if (sock_connect(dir, slash == NULL ? path : slash + 1, &client->fd, err))
        return true;
    client->fd = -1;
    if (err != NULL && err->kind == ERR_UNAVAILABLE)
        return err_set(err, ERR_UNAVAILABLE,
                       "no process listens on socket '%s'; is the server "
                       "running?",
                       path);
    return err_wrap(err, "cannot connect to '%s'", path);
}

static bool connect_tcp(struct client *client, struct err *err) {
    const char *colon = strrchr(client->tcp_address, ':');
    CLEANUP(text_free_string)
    char *host = colon == NULL
                     ? mem_string(client->tcp_address)
                     : mem_copy(client->tcp_address,
                                (size_t)(colon - client->tcp_address));
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM}, *found;
    int failed =
        getaddrinfo(host, colon == NULL ? "80" : colon + 1, &hints, &found);

    if (failed != 0)
        return err_set(err, ERR_UNAVAILABLE, "cannot find '%s': %s",
                       client->tcp_address, gai_strerror(failed));
    for (struct addrinfo *it = found; it != NULL && client->fd < 0;
         it = it->ai_next) {
        CLEANUP(fd_close)
        int fd = socket(it->ai_family, it->ai_socktype | SOCK_CLOEXEC,
                        it->ai_protocol);
        if (fd >= 0 && connect(fd, it->ai_addr, it->ai_addrlen) == 0)
            client->fd = take_fd(&fd);
    }
    int sys = errno;
    freeaddrinfo(found);
    if (client->fd >= 0)
        return true;
    return err_set(err, ERR_UNAVAILABLE, "cannot connect to '%s': %s",
                   client->tcp_address, strerror(sys));
}

bool client_http_connect(struct client *client, struct err *err) {
    if (client->fd >= 0)
        return true;
    return client->unix_path != NULL ? connect_unix(client, err)
                                     : connect_tcp(client, err);
}

/* ---- sending ------------------------------------------------------------- */

/* False without an error: the server stopped reading; it may have answered. */
static bool send_bytes(struct client *client, struct span bytes) {
    while (bytes.len > 0) {
        ssize_t sent = send(client->fd, bytes.p, bytes.len, MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR)
            continue;
        if (sent <= 0)
            return false;
        bytes = span_make(bytes.p + sent, bytes.len - (size_t)sent);
    }
    return true;
}

static bool send_file(struct client *client, int fd, struct err *err) {
    static char piece[HTTP_PIECE_BYTES];
    CLEANUP(text_clear) struct text chunk = TEXT_INIT;

    for (;;) {
        ssize_t got = read(fd, piece, sizeof(piece));
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return err_errno(err, errno, "cannot read the request body");
        text_reset(&chunk);
        text_addf(&chunk, "%zx\r\n", (size_t)got);
        text_add(&chunk, piece, (size_t)got);
        text_adds(&chunk, "\r\n");
        if (!send_bytes(client, text_span(&chunk)) || got == 0)
            return true;
    }
}

static bool send_request(struct client *client, const struct client_ask *ask,
                         bool *ret_sent, struct err *err) {
    CLEANUP(text_clear) struct text head = TEXT_INIT;

    text_addf(&head, "%s %s HTTP/1.1\r\nHost: %s\r\n",
              api_method_word(ask->method), ask->uri, client->host);
    if (client->options.person != NULL)
        text_addf(&head, "%s: %s\r\n", API_PERSON_FIELD,
                  client->options.person);
    if (ask->body_fd >= 0)
        text_adds(&head, "Transfer-Encoding: chunked\r\n");
    else if (ask->method != API_GET)
        text_addf(&head, "Content-Length: %zu\r\n", ask->body.len);
    text_adds(&head, "\r\n");
    if (ask->body_fd < 0)
        text_addspan(&head, ask->body);
    *ret_sent = send_bytes(client, text_span(&head));
    return !*ret_sent || ask->body_fd < 0 ||
           send_file(client, ask->body_fd, err);
}

/* ---- receiving ---------------------------------------------------------- */

/* Passes on what arrived of the body. False: enough. */
static bool pass_body(struct client_ask *ask, const struct http_reply *reply,
                      struct text *body) {
    bool more = true;

    ask->status = reply->status;
    if (body->len == 0)
        return true;
    if (reply->status >= 400)
        text_addspan(&ask->error, text_span(body));
    else
        more = ask->take(ask->ctx, text_span(body));
    text_reset(body);
    return more;
}

/* Receives the reply; ret_any: some of it arrived. */
static bool receive_reply(struct client *client, struct client_ask *ask,
                          struct http_reply *reply, bool *ret_any,
                          struct err *err) {
    static char piece[HTTP_PIECE_BYTES];
    CLEANUP(text_clear) struct text body = TEXT_INIT;

    *ret_any = false;
    while (reply->state != HTTP_REPLY_DONE) {
        if (!client_poll(client, client->fd, POLLIN, -1, err))
            return false;
        ssize_t got = recv(client->fd, piece, sizeof(piece), MSG_DONTWAIT);
        if (got < 0 && (errno == EINTR || errno == EAGAIN))
            continue;
        if (got < 0)
            return err_set(err, ERR_UNAVAILABLE,
                           "the server closed the connection: %s",
                           strerror(errno));
        if (got == 0) {
            if (!http_reply_end(reply, err))
                return false;
            break;
        }
        size_t used;
        *ret_any = client->answered = true;
        if (!http_reply_feed(reply, span_make(piece, (size_t)got), &used, &body,
                             err))
            return false;
        if (!pass_body(ask, reply, &body)) {
            client_http_close(client);
            return true;
        }
    }
    (void)pass_body(ask, reply, &body);
    if (!reply->keep_alive)
        client_http_close(client);
    return true;
}

bool client_http_ask(struct client *client, struct client_ask *ask,
                     struct err *err) {
    /* A connection kept from an earlier call may have been closed while
     * idle: the request is then repeated on a new one. */
    for (bool kept = client->fd >= 0;; kept = false) {
        struct http_reply reply;
        bool any = false, sent;
        struct err why = {0};
        if (!client_http_connect(client, err))
            return false;
        http_reply_init(&reply);
        bool ok = send_request(client, ask, &sent, &why) &&
                  receive_reply(client, ask, &reply, &any, &why);
        http_reply_clear(&reply);
        if (ok)
            return true;
        client_http_close(client);
        if (kept && !any && ask->body_fd < 0 && why.kind == ERR_UNAVAILABLE)
            continue;
        if (err != NULL)
            *err = why;
        return false;
    }
}
