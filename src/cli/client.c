#include "cli/client.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "lib/json.h"
#include "cli/client_inner.h"
#include "cli/console.h"
#include "os/clock.h"
#include "os/fd.h"
#include "os/sock.h"
#include "wire/uri.h"

/* How often a server that was lost is looked for, and how long until the
 * registry is read instead. */
enum {
    LOOK_FIRST_MS = 20,
    LOOK_LAST_MS = 1000,
    LOOK_CALM_MS = 10000, /* a connection that lasts so long is no problem */
    LOOK_MS = 3000
};

/* ---- who answers --------------------------------------------------------- */

/* http://HOST:PORT or unix:PATH, or a path. */
static bool parse_url(struct client *client, const char *url, struct err *err) {
    client->remote = true;
    if (strncmp(url, "unix:", 5) == 0) {
        client->unix_path = mem_string(url + 5);
        client->host = mem_string("localhost");
        return true;
    }
    if (url[0] == '/' || url[0] == '.') {
        client->unix_path = mem_string(url);
        client->host = mem_string("localhost");
        return true;
    }
    if (strncmp(url, "http://", 7) == 0) {
        struct span rest = span_of(url + 7), host;
        if (!span_cut(&rest, '/', &host) || host.len == 0 || rest.len > 0)
            return err_set(err, ERR_USAGE, "'%s' is not http://HOST:PORT", url);
        client->host = span_string(host);
        client->tcp_address = span_string(host);
        return true;
    }
    return err_set(err, ERR_USAGE,
                   "cannot connect to '%s': use http://HOST:PORT or unix:PATH",
                   url);
}

/* Does a server answer on the base's socket? */
static bool look_for_server(struct client *client, struct err *err) {
    CLEANUP(text_free_string) char *ctrl = NULL;
    struct text path = TEXT_INIT;

    text_addf(&path, "%s/ctrl", client->base_path);
    ctrl = text_take(&path);
    CLEANUP(fd_close) int dir = open(ctrl, O_PATH | O_DIRECTORY | O_CLOEXEC);
    struct err why = {0};
    if (dir < 0 || !sock_connect(dir, BASE_SOCKET, &client->fd, &why)) {
        client->fd = -1;
        if (dir >= 0 && why.kind == ERR_DENIED) {
            if (err != NULL)
                *err = why;
            return false;
        }
        return true;
    }
    client->remote = client->answered = true;
    client->host = mem_string("localhost");
    text_addf(&path, "%s/%s", ctrl, BASE_SOCKET);
    client->unix_path = text_take(&path);
    return true;
}

bool client_open(const struct client_options *options,
                 struct client **ret_client, struct err *err) {
    struct client *client = mem_alloc(sizeof *client);

    client->options = *options;
    client->fd = client->watch_fd = -1;
    bool ok = options->server_url != NULL
                  ? parse_url(client, options->server_url, err)
                  : base_find(options->base_path, &client->base_path, err) &&
                        look_for_server(client, err);
    if (!ok) {
        client_close(client);
        return false;
    }
    *ret_client = client;
    return true;
}

void client_close(struct client *client) {
    if (client == NULL)
        return;
    client_http_close(client);
    client_local_close(client);
    free(client->base_path);
    free(client->host);
    free(client->unix_path);
    free(client->tcp_address);
    text_clear(&client->problem);
    free(client);
}

void client_use_host(struct client *client, struct host *host) {
    client_http_close(client);
    client_local_close(client);
    client->remote = false;
    client->hosted = host;
}

/* Does a server answer at the address that the client was given? */
static bool look_at_url(struct client *client) {
    return client_http_connect(client, NULL);
}

bool client_look_again(struct client *client) {
    client_http_close(client);
    if (client->options.server_url != NULL)
        return look_at_url(client);
    free(client->host);
    free(client->unix_path);
    client->host = client->unix_path = NULL;
    client->remote = false;
    return look_for_server(client, NULL) && client->remote;
}

void client_report_wait(struct client *client, bool waits) {
    struct mono now = clock_mono();
    bool begins = waits && !client->waits, ends = !waits && client->waits;

    if (begins)
        client->waits_since = now;
    client->waits = waits;
    int64_t s = waits ? mono_ms_since(now, client->waits_since) / 1000 : -1;
    if (client->options.waiting != NULL &&
        (begins || ends || (waits && s != client->waits_s)))
        client->options.waiting(client->options.ctx, s);
    client->waits_s = s;
}

bool client_was_cut(const struct client *client) {
    return client->hosted == NULL && client->answered && client->broke;
}

bool client_reconnect(struct client *client, struct mono until, const char *why,
                      struct err *err) {
    struct mono began = clock_mono();
    bool found = client->lost && client->remote && client->fd >= 0;

    client_local_close(client);
    client->lost = true;
    if (mono_ms_since(began, client->found) > LOOK_CALM_MS)
        client->look_ms = 0;
    if (!found && client->look_ms == 0)
        console_note("pointsman: %s; waiting for a server", why);
    while (!found) {
        client_report_wait(client, true);
        if (!client_poll(client, -1, 0, (int)client->look_ms, err))
            return false;
        client->look_ms = client->look_ms == 0 ? LOOK_FIRST_MS
                          : client->look_ms > LOOK_LAST_MS / 2
                              ? LOOK_LAST_MS
                              : 2 * client->look_ms;
        found = client_look_again(client);
        struct mono now = clock_mono();
        if (!found && mono_ms_since(now, began) >= LOOK_MS &&
            client->options.server_url == NULL && client_may_open(client, NULL))
            return true;
        if (!found && now.ns >= until.ns)
            return err_set(err, ERR_TIMEOUT, "no server answers");
    }
    client->found = clock_mono();
    client_report_wait(client, false);
    return true;
}

bool client_has_server(const struct client *client) {
    return client->remote;
}

const char *client_base_path(const struct client *client) {
    return client->base_path;
}

bool client_poll(struct client *client, int fd, short events, int timeout_ms,
                 struct err *err) {
    /* Nobody signals a process of `pointsman shell` whose caller hangs up, and
     * one that only waits writes nothing either. */
    struct pollfd fds[3] = {
        {.fd = fd, .events = events},
        {.fd = client->options.interrupt_fd, .events = POLLIN},
        {.fd = client->options.person != NULL ? STDOUT_FILENO : -1},
    };

    if (client->options.interrupted == NULL)
        fds[1].fd = -1;
    else if (client->options.interrupted(client->options.ctx))
        return err_set(err, ERR_INTERRUPTED, "interrupted");
    if (poll(fds, 3, timeout_ms) < 0) {
        if (errno == EINTR)
            return true;
        return err_errno(err, errno, "cannot wait");
    }
    if ((fds[1].revents & POLLIN) != 0 &&
        client->options.interrupted(client->options.ctx))
        return err_set(err, ERR_INTERRUPTED, "interrupted");
    if ((fds[2].revents & (POLLERR | POLLHUP)) != 0)
        return err_set(err, ERR_INTERRUPTED, "the caller hung up");
    return true;
}

/* ---- calls --------------------------------------------------------------- */

/* Converts a problem document back into an error. */
static bool reply_error(const struct client_ask *ask, struct err *err) {
    struct arena arena = ARENA_INIT;
    struct json_value problem, value;
    struct span detail = {0}, name;
    enum err_kind kind = ask->status >= 500 ? ERR_UNAVAILABLE : ERR_USAGE;

    if (json_parse(text_span(&ask->error), &problem, NULL)) {
        if (json_member(problem, "detail", &value))
            (void)json_get_string(value, &arena, &detail);
        if (json_member(problem, "kind", &value) &&
            json_get_string(value, &arena, &name))
            (void)err_find(arena_string(&arena, name), &kind);
    }
    if (detail.len > 0)
        err_set(err, kind, "%.*s", (int)detail.len, detail.p);
    else
        err_set(err, kind, "the server answered %d", ask->status);
    arena_clear(&arena);
    return false;
}

static bool ask(struct client *client, struct client_ask *what,
                struct err *err) {
    bool ok = client->remote ? client_http_ask(client, what, err)
                             : client_local_ask(client, what, err);

    client->broke = !ok;
    text_reset(&client->problem);
    if (ok && what->status >= 400) {
        text_addspan(&client->problem, text_span(&what->error));
        ok = reply_error(what, err);
    }
    text_clear(&what->error);
    return ok;
}

static bool take_all(void *ctx, struct span bytes) {
    text_addspan(ctx, bytes);
    return true;
}

struct span client_problem(const struct client *client) {
    return text_span(&client->problem);
}

bool client_call(struct client *client, enum api_method method, const char *uri,
                 struct span body, struct text *ret_body, struct err *err) {
    text_reset(ret_body);
    return client_stream(client, method, uri, body, take_all, ret_body, err);
}

bool client_get(struct client *client, struct text *ret_body, struct err *err,
                const char *uri_format, ...) {
    CLEANUP(text_clear) struct text uri = TEXT_INIT;
    va_list args;

    va_start(args, uri_format);
    text_addv(&uri, uri_format, args);
    va_end(args);
    return client_call(client, API_GET, text_string(&uri), (struct span){0},
                       ret_body, err);
}

bool client_stream(struct client *client, enum api_method method,
                   const char *uri, struct span body, client_take *take,
                   void *ctx, struct err *err) {
    struct client_ask what = {.method = method,
                              .uri = uri,
                              .body = body,
                              .body_fd = -1,
                              .take = take,
                              .ctx = ctx};
    return ask(client, &what, err);
}

bool client_send_file(struct client *client, const char *uri, int fd,
                      struct text *ret_body, struct err *err) {
    struct client_ask what = {.method = API_POST,
                              .uri = uri,
                              .body_fd = fd,
                              .take = take_all,
                              .ctx = ret_body};
    text_reset(ret_body);
    return ask(client, &what, err);
}

/* ---- lines --------------------------------------------------------------- */

bool client_take_lines(void *client_lines, struct span bytes) {
    struct client_lines *lines = client_lines;

    while (bytes.len > 0) {
        const char *end = memchr(bytes.p, '\n', bytes.len);
        size_t len = end == NULL ? bytes.len : (size_t)(end - bytes.p);
        text_add(&lines->rest, bytes.p, len);
        if (end == NULL)
            return true;
        bytes = span_make(end + 1, bytes.len - len - 1);
        bool more = lines->rest.len == 0 || /* a heartbeat */
                    lines->line(lines->ctx, text_span(&lines->rest));
        text_reset(&lines->rest);
        if (!more)
            return false;
    }
    return true;
}

void client_lines_end(struct client_lines *lines) {
    if (lines->rest.len > 0)
        (void)lines->line(lines->ctx, text_span(&lines->rest));
    text_clear(&lines->rest);
}

char *client_word(struct arena *arena, const char *word) {
    CLEANUP(text_clear) struct text text = TEXT_INIT;

    uri_encode(span_of(word), &text);
    return arena_string(arena, text_span(&text));
}
