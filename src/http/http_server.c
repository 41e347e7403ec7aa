/* The transport of api.h over libmicrohttpd.
 *
 * The callbacks of one connection come in this order: first the request line
 * (on_uri), then the handler with the header, then the handler once for each
 * piece of the body, once at its end, and again each time it is resumed.
 * libmicrohttpd works with an epoll descriptor of its own, which the loop
 * watches; after everything that may give it work (the descriptor, its own
 * timeout, a resumed connection) it is run from one place, http_server_turn.
 *
 * A suspended connection is invisible to libmicrohttpd, even if the caller
 * has hung up. Calls that may last are therefore watched by a separate
 * handle on the same descriptor. */
#include "http/http_server.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/list.h"
#include "http/http_caller.h"
#include "http/mhd.h"

enum {
    /* Memory of a connection: header and buffers. The library clears all of
     * it twice per request; this size still holds the ids of a `wait` for a
     * thousand jobs. */
    HTTP_MEMORY_BYTES = 32 << 10,
    HTTP_BLOCK_BYTES = 16 << 10,
    HTTP_CONNECTIONS = 4000,
    HTTP_CONNECTIONS_LEAST = 16,
    HTTP_IDLE_S = 60,
    HTTP_HANDLES = 3, /* of the loop */
    ROUNDS = 2        /* runs of the library in one turn of the loop */
};

struct http_server {
    struct http_server_options options;
    struct MHD_Daemon *daemon;
    uv_poll_t poll;
    uv_timer_t timer;
    uv_prepare_t prepare;
    unsigned handles;   /* open handles, including the watches of exchanges */
    unsigned connected; /* when libmicrohttpd was last run */
    bool due;           /* libmicrohttpd has something to do */
    bool closing;
    struct list exchanges;
    struct http_callers callers;
    void (*closed)(void *ctx);
    void *ctx;
};

/* One request and its answer. */
struct exchange {
    struct http_server *server;
    struct list link;
    struct MHD_Connection *connection;
    struct text uri;
    struct api_call *call;
    bool changes;  /* it is not only a question */
    bool finished; /* the body is complete */
    bool suspended;
    bool gone;        /* the caller hung up */
    uv_poll_t *watch; /* of the caller's hanging up; NULL: none */
};

static int fd_of(struct MHD_Connection *connection) {
    const union MHD_ConnectionInfo *info =
        mhd.get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    return info == NULL ? -1 : info->connect_fd;
}

/* ---- the caller hangs up ------------------------------------------------- */

static void handle_closed(struct http_server *server);

static void watch_closed(uv_handle_t *handle) {
    struct http_server *server = handle->data;

    free(handle);
    handle_closed(server);
}

static void watch_end(struct exchange *exchange) {
    if (exchange->watch == NULL)
        return;
    exchange->watch->data = exchange->server;
    uv_close((uv_handle_t *)exchange->watch, watch_closed);
    exchange->watch = NULL;
}

static void exchange_resume(struct exchange *exchange) {
    if (!exchange->suspended)
        return;
    exchange->suspended = false;
    watch_end(exchange);
    mhd.resume_connection(exchange->connection);
    exchange->server->due = true;
}

/* A half-close (the caller shut down its writing side) is no hang-up. */
static void on_hang_up(uv_poll_t *watch, int status, int events) {
    struct exchange *exchange = watch->data;
    struct pollfd look = {.events = POLLIN};

    (void)events;
    uv_fileno((uv_handle_t *)watch, &look.fd);
    uv_poll_stop(watch);
    if (status >= 0 &&
        (poll(&look, 1, 0) <= 0 || (look.revents & (POLLHUP | POLLERR)) == 0))
        return;
    exchange->gone = true;
    exchange_resume(exchange);
}

static void exchange_suspend(struct exchange *exchange) {
    struct http_server *server = exchange->server;

    mhd.suspend_connection(exchange->connection);
    exchange->suspended = true;
    if (!api_call_is_long(exchange->call))
        return;
    uv_poll_t *watch = mem_alloc(sizeof *watch);
    if (uv_poll_init(server->options.loop, watch,
                     fd_of(exchange->connection)) != 0) {
        free(watch);
        return;
    }
    server->handles++;
    watch->data = exchange;
    exchange->watch = watch;
    uv_poll_start(watch, UV_DISCONNECT, on_hang_up);
}

static void on_ready(void *ctx) {
    exchange_resume(ctx);
}

/* ---- the answer ---------------------------------------------------------- */

static ssize_t answer_read(void *ctx, uint64_t at, char *block, size_t bytes) {
    struct exchange *exchange = ctx;
    struct span span;

    (void)at;
    if (!api_call_read(exchange->call, &span))
        return MHD_CONTENT_READER_END_OF_STREAM;
    if (span.len == 0) {
        if (exchange->server->closing || exchange->gone)
            return MHD_CONTENT_READER_END_WITH_ERROR;
        exchange_suspend(exchange);
        return 0;
    }
    if (span.len > bytes)
        span.len = bytes;
    memcpy(block, span.p, span.len);
    api_call_skip(exchange->call, span.len);
    return (ssize_t)span.len;
}

static enum MHD_Result answer(struct exchange *exchange) {
    struct api_call *call = exchange->call;
    struct MHD_Response *response;
    struct span span = {0};

    if (api_call_is_whole(call)) {
        (void)api_call_read(call, &span);
        response = mhd.create_response_from_buffer(
            span.len, (void *)(uintptr_t)span.p, MHD_RESPMEM_MUST_COPY);
    } else {
        response = mhd.create_response_from_callback(
            MHD_SIZE_UNKNOWN, HTTP_BLOCK_BYTES, answer_read, exchange, NULL);
    }
    if (response == NULL)
        return MHD_NO;
    (void)mhd.add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE,
                                  api_call_content_type(call));
    int status = api_call_status(call);
    if (status == MHD_HTTP_SERVICE_UNAVAILABLE)
        (void)mhd.add_response_header(response, MHD_HTTP_HEADER_RETRY_AFTER,
                                      "1");
    enum MHD_Result result =
        mhd.queue_response(exchange->connection, (unsigned)status, response);
    mhd.destroy_response(response);
    return result;
}

/* ---- the question -------------------------------------------------------- */

static void *on_uri(void *ctx, const char *uri,
                    struct MHD_Connection *connection) {
    struct http_server *server = ctx;
    struct exchange *exchange = mem_alloc(sizeof *exchange);

    exchange->server = server;
    exchange->connection = connection;
    text_adds(&exchange->uri, uri);
    list_push(&server->exchanges, &exchange->link);
    return exchange;
}

static bool method_of(const char *word, enum api_method *ret_method) {
    for (unsigned method = 0; method < API_METHODS; method++)
        if (strcmp(word, api_method_word((enum api_method)method)) == 0) {
            *ret_method = (enum api_method)method;
            return true;
        }
    return false;
}

static struct http_caller *caller_of(struct MHD_Connection *connection) {
    const union MHD_ConnectionInfo *info =
        mhd.get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    return info == NULL ? NULL : info->socket_context;
}

static void on_connection(void *ctx, struct MHD_Connection *connection,
                          void **caller,
                          enum MHD_ConnectionNotificationCode what) {
    struct http_server *server = ctx;

    if (what == MHD_CONNECTION_NOTIFY_STARTED)
        *caller = http_caller_new(&server->callers, fd_of(connection));
    else
        http_caller_free(&server->callers, *caller);
}

static enum MHD_Result refuse_method(struct MHD_Connection *connection) {
    CLEANUP(text_clear) struct text body = TEXT_INIT;
    struct err err;

    err_set(&err, ERR_USAGE, "only GET, POST and PUT are supported");
    api_problem_format(MHD_HTTP_METHOD_NOT_ALLOWED, err_meaning(err.kind), &err,
                       &body);
    struct MHD_Response *response = mhd.create_response_from_buffer(
        body.len, body.p, MHD_RESPMEM_MUST_COPY);

    if (response == NULL)
        return MHD_NO;
    (void)mhd.add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE,
                                  "application/problem+json");
    (void)mhd.add_response_header(response, MHD_HTTP_HEADER_ALLOW,
                                  "GET, POST, PUT");
    enum MHD_Result result =
        mhd.queue_response(connection, MHD_HTTP_METHOD_NOT_ALLOWED, response);
    mhd.destroy_response(response);
    return result;
}

static void exchange_open(struct exchange *exchange, enum api_method method) {
    struct MHD_Connection *connection = exchange->connection;
    const char *accept = mhd.lookup_connection_value(
        connection, MHD_HEADER_KIND, MHD_HTTP_HEADER_ACCEPT);
    const char *last = mhd.lookup_connection_value(connection, MHD_HEADER_KIND,
                                                   "Last-Event-ID");
    const char *key = mhd.lookup_connection_value(connection, MHD_HEADER_KIND,
                                                  "Idempotency-Key");
    const char *person = mhd.lookup_connection_value(
        connection, MHD_HEADER_KIND, API_PERSON_FIELD);
    struct api_request request = {
        .method = method,
        .uri = text_span(&exchange->uri),
        .actor =
            http_caller_actor(&exchange->server->callers, caller_of(connection),
                              fd_of(connection), person),
        .from = SPAN("socket"),
        .wants_sse =
            accept != NULL && strstr(accept, "text/event-stream") != NULL,
        .last_event_id = span_of(last),
        .idempotency_key = span_of(key),
    };

    exchange->changes = method != API_GET;
    exchange->call = api_call_open(exchange->server->options.api, &request,
                                   on_ready, exchange);
}

static enum MHD_Result handle(void *ctx, struct MHD_Connection *connection,
                              const char *url, const char *method_word,
                              const char *version, const char *body,
                              size_t *body_bytes, void **state) {
    struct exchange *exchange = *state;
    enum api_method method = API_GET;

    (void)ctx, (void)url, (void)version;
    if (exchange->call == NULL) {
        if (http_caller_is_refused(caller_of(connection)))
            return MHD_NO;
        bool head = strcmp(method_word, MHD_HTTP_METHOD_HEAD) == 0;
        if (!head && !method_of(method_word, &method))
            return refuse_method(connection);
        exchange_open(exchange, method);
        return MHD_YES;
    }
    if (*body_bytes > 0) {
        (void)api_call_give(exchange->call, span_make(body, *body_bytes));
        *body_bytes = 0; /* the rest of a refused body is read and dropped */
        return MHD_YES;
    }
    if (!exchange->finished) {
        exchange->finished = true;
        api_call_finish(exchange->call);
    }
    if (api_call_status(exchange->call) != 0)
        return answer(exchange);
    if (exchange->server->closing || exchange->gone)
        return MHD_NO;
    exchange_suspend(exchange);
    return MHD_YES;
}

static void completed(void *ctx, struct MHD_Connection *connection,
                      void **state, enum MHD_RequestTerminationCode why) {
    struct exchange *exchange = *state;

    (void)ctx, (void)connection, (void)why;
    if (exchange == NULL)
        return;
    *state = NULL;
    watch_end(exchange);
    api_call_close(exchange->call);
    list_remove(&exchange->link);
    text_clear(&exchange->uri);
    free(exchange);
}

/* ---- the loop ------------------------------------------------------------ */

static void on_timer(uv_timer_t *timer) {
    struct http_server *server = timer->data;
    server->due = true;
}

/* At the limit of connections, libmicrohttpd removes its listening socket
 * from its epoll descriptor, and adds it again only at the beginning of a
 * run. When callers have left it is therefore run once more; otherwise new
 * callers would never be accepted after the last one has gone. */
static void run_library(struct http_server *server) {
    (void)mhd.run(server->daemon);
    unsigned now =
        mhd.get_daemon_info(server->daemon, MHD_DAEMON_INFO_CURRENT_CONNECTIONS)
            ->num_connections;
    server->due = server->due || now < server->connected;
    server->connected = now;
}

/* Before the loop waits: handles what has come up, and sets the timer for
 * the next time. A call that works for seconds without output, such as a
 * search in a large log, is due again at once each time: the loop's other
 * handles have their turn in between. */
static void http_server_turn(uv_prepare_t *prepare) {
    struct http_server *server = prepare->data;
    MHD_UNSIGNED_LONG_LONG http_ms;
    int64_t wait_ms = 0;

    for (int round = 0; round < ROUNDS; round++) {
        wait_ms = api_turn(server->options.api);
        if (server->due) {
            server->due = false;
            run_library(server);
            if (wait_ms != 0)
                wait_ms = api_turn(server->options.api);
        }
        if (!server->due)
            break;
    }
    if (server->due)
        wait_ms = 0;
    if (mhd.get_timeout(server->daemon, &http_ms) == MHD_YES &&
        (wait_ms < 0 || http_ms < (uint64_t)wait_ms))
        wait_ms = (int64_t)http_ms;
    if (wait_ms < 0)
        uv_timer_stop(&server->timer);
    else
        uv_timer_start(&server->timer, on_timer, (uint64_t)wait_ms, 0);
}

static void on_readable(uv_poll_t *poll, int status, int events) {
    struct http_server *server = poll->data;

    (void)status, (void)events;
    server->due = true;
}

/* A caller that waits for a job keeps its connection, so many are needed.
 * The process that runs tasks was started before and keeps its limit. */
static unsigned connections_most(void) {
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
        return HTTP_CONNECTIONS_LEAST;
    if (limit.rlim_cur < 2 * HTTP_CONNECTIONS) {
        struct rlimit more = limit;
        more.rlim_cur = limit.rlim_max < 2 * HTTP_CONNECTIONS
                            ? limit.rlim_max
                            : 2 * HTTP_CONNECTIONS;
        if (setrlimit(RLIMIT_NOFILE, &more) == 0)
            limit = more;
    }
    if (limit.rlim_cur >= 2 * HTTP_CONNECTIONS)
        return HTTP_CONNECTIONS;
    return limit.rlim_cur < 4 * HTTP_CONNECTIONS_LEAST
               ? HTTP_CONNECTIONS_LEAST
               : (unsigned)limit.rlim_cur / 2;
}

static void say_nothing(void *ctx, const char *format, va_list args) {
    (void)ctx, (void)format, (void)args;
}

static bool daemon_start(struct http_server *server, struct err *err) {
    const struct http_server_options *options = &server->options;

    if (!mhd_load(err))
        return false;
    unsigned flags =
        MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ERROR_LOG;
    /* Both ends have the same clock. */
    if (options->base != NULL)
        flags |= MHD_USE_SUPPRESS_DATE_NO_CLOCK;
    unsigned most =
        options->connections != 0 ? options->connections : connections_most();
    server->callers = (struct http_callers){
        .api = options->api, .base = options->base, .most = most};
    server->daemon = mhd.start_daemon(
        flags, 0, NULL, NULL, handle, server, MHD_OPTION_EXTERNAL_LOGGER,
        say_nothing, NULL, MHD_OPTION_LISTEN_SOCKET, options->fd,
        MHD_OPTION_URI_LOG_CALLBACK, on_uri, server,
        MHD_OPTION_NOTIFY_COMPLETED, completed, server,
        MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)HTTP_MEMORY_BYTES,
        MHD_OPTION_NOTIFY_CONNECTION, on_connection, server,
        MHD_OPTION_CONNECTION_LIMIT, most, MHD_OPTION_CONNECTION_TIMEOUT,
        options->idle_s != 0 ? options->idle_s : (unsigned)HTTP_IDLE_S,
        MHD_OPTION_END);
    if (server->daemon != NULL)
        return true;
    return err_errno(err, errno, "cannot start the HTTP server");
}

bool http_server_open(const struct http_server_options *options,
                      struct http_server **ret_server, struct err *err) {
    struct http_server *server = mem_alloc(sizeof *server);

    server->options = *options;
    list_init(&server->exchanges);
    if (!daemon_start(server, err)) {
        (void)close(options->fd);
        free(server);
        return false;
    }
    int epoll_fd =
        mhd.get_daemon_info(server->daemon, MHD_DAEMON_INFO_EPOLL_FD)->epoll_fd;
    server->handles = HTTP_HANDLES;
    uv_poll_init(options->loop, &server->poll, epoll_fd);
    uv_timer_init(options->loop, &server->timer);
    uv_prepare_init(options->loop, &server->prepare);
    server->poll.data = server->timer.data = server->prepare.data = server;
    uv_poll_start(&server->poll, UV_READABLE, on_readable);
    uv_prepare_start(&server->prepare, http_server_turn);
    *ret_server = server;
    return true;
}

int http_server_quiesce(struct http_server *server) {
    return mhd.quiesce_daemon(server->daemon);
}

bool http_server_is_busy(const struct http_server *server) {
    LIST_EACH (&((struct http_server *)(uintptr_t)server)->exchanges, it)
        if (LIST_OF(it, struct exchange, link)->changes)
            return true;
    return false;
}

static void handle_closed(struct http_server *server) {
    if (--server->handles > 0)
        return;
    if (server->closed != NULL)
        server->closed(server->ctx);
    map_clear(&server->callers.counts);
    free(server);
}

static void on_closed(uv_handle_t *handle) {
    handle_closed(handle->data);
}

void http_server_close(struct http_server *server, void (*closed)(void *ctx),
                       void *ctx) {
    server->closing = true;
    server->closed = closed;
    server->ctx = ctx;
    LIST_EACH (&server->exchanges, it) {
        struct exchange *exchange = LIST_OF(it, struct exchange, link);
        exchange_resume(exchange);
    }
    mhd.stop_daemon(server->daemon); /* closes the listening socket too */
    uv_close((uv_handle_t *)&server->poll, on_closed);
    uv_close((uv_handle_t *)&server->timer, on_closed);
    uv_close((uv_handle_t *)&server->prepare, on_closed);
}
