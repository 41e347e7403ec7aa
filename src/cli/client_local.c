/* The API in this process: on a base opened here, or in a host that also
 * runs the roles. */
#include <errno.h>
#include <grp.h>
#include <stdlib.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include "api/api_caller.h"
#include "serve/tables.h"
#include "lib/log.h"
#include "cli/client_inner.h"
#include "os/clock.h"
#include "os/fd.h"
#include "os/output.h"
#include "changes/projection.h"

enum { LOCAL_PIECE_BYTES = 64 << 10, LOCAL_NET_MS = 1000 };

/* If no role runs, only this process can move the job files of what was
 * changed. */
static void finish_files(struct client *client) {
    struct err err = {0};

    if (client->hosted == NULL && client->base != NULL && client->writes &&
        !projection_catch_up(client->base, clock_wall(), &err))
        log_warning("job files lag behind the registry: %s", err.text);
}

void client_local_close(struct client *client) {
    finish_files(client);
    if (client->hosted == NULL)
        api_free(client->api);
    client->api = NULL;
    output_close(client->output);
    client->output = NULL;
    base_close(client->base);
    client->base = NULL;
    fd_close(&client->watch_fd);
}

/* ---- opening ------------------------------------------------------------- */

bool client_may_open(const struct client *client, struct err *err) {
    uid_t owner;
    if (client->options.person != NULL)
        return err_set(err, ERR_UNAVAILABLE,
                       "no server is running in base '%s'", client->base_path);
    return base_is_ours(client->base_path, &owner) ||
           err_set(err, ERR_UNAVAILABLE,
                   "no server is running in base '%s', and only its owner "
                   "(uid %ld) and root can use it without one: the owner "
                   "starts it with 'pointsman serve'",
                   client->base_path, (long)owner);
}

static bool local_open(struct client *client, bool writes, struct err *err) {
    struct base_open how = {.read_only = !writes};

    if (client->hosted != NULL) {
        client->api = host_api(client->hosted);
        return true;
    }
    if (client->base != NULL && (client->writes || !writes))
        return true;
    if (!client_may_open(client, err))
        return false;
    client_local_close(client);
    if (!base_open(client->base_path, &how, &client->base, err) ||
        !output_open(client->base->fd, false, &client->output, err))
        return false;
    client->writes = writes;
    struct api_options options = {
        .tables = &serve_tables,
        .store = client->base->store,
        .base = client->base,
        .output = client->output,
        .access = &client->base->access,
        .seed = clock_seed(),
    };
    client->api = api_new(&options);
    return true;
}

/* ---- waiting ------------------------------------------------------------- */

/* A base that was removed stays open here, and nothing happens in it any
 * more. */
static bool is_there(const struct base *base, struct err *err) {
    struct stat stat;
    return fstat(base->dirs[BASE_CTRL], &stat) < 0 || stat.st_nlink > 0 ||
           base_was_removed(base, err);
}

/* Writes to the registry, by any process, wake the wait. The write is seen
 * before the commit is complete, and its last step is not seen at all, so
 * the registry is looked at again soon, then less and less often. The
 * interval of one second covers what inotify misses. */
static bool wait_for_registry(struct client *client, struct err *err) {
    int64_t ms = api_turn(client->api);
    char dropped[4096];

    if (client->watch_fd < 0) {
        CLEANUP(text_clear) struct text path = TEXT_INIT;
        text_addf(&path, "%s/ctrl", client->base->path);
        client->watch_fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
        if (client->watch_fd >= 0)
            (void)inotify_add_watch(client->watch_fd, text_string(&path),
                                    IN_MODIFY | IN_CREATE);
        ms = 0; /* writes from before the watch */
    }
    if (ms < 0 || ms > LOCAL_NET_MS)
        ms = LOCAL_NET_MS;
    if (client->again_ms > 0 && ms > client->again_ms)
        ms = client->again_ms;
    if (!client_poll(client, client->watch_fd, POLLIN, (int)ms, err))
        return false;
    client->again_ms *= 2;
    while (client->watch_fd >= 0 &&
           read(client->watch_fd, dropped, sizeof(dropped)) > 0)
        client->again_ms = 1;
    if (client->again_ms > LOCAL_NET_MS)
        client->again_ms = 0;
    (void)api_turn(client->api);
    struct mono now = clock_mono();
    if (mono_ms_since(now, client->ticked) >= LOCAL_NET_MS) {
        client->ticked = now;
        if (client->options.tick != NULL &&
            client->options.tick(client->options.ctx))
            return err_set(err, ERR_INTERRUPTED, "interrupted");
        if (client->lost)
            client_report_wait(client, true);
        if (client->lost && client_look_again(client))
            return err_set(err, ERR_UNAVAILABLE, "a server answers again");
    }
    return is_there(client->base, err) && store_poll(client->base->store, err);
}

static bool wait_here(struct client *client, struct err *err) {
    if (client->hosted != NULL) {
        if (client->options.interrupted != NULL &&
            !client_poll(client, -1, 0, 0, err))
            return false;
        return host_wait(client->hosted, -1, err);
    }
    if (!store_is_idle(client->base->store)) {
        store_turn(client->base->store);
        return true;
    }
    return wait_for_registry(client, err);
}

/* ---- a call -------------------------------------------------------------- */

static bool give_body(struct api_call *call, const struct client_ask *ask,
                      struct err *err) {
    static char piece[LOCAL_PIECE_BYTES];

    if (ask->body_fd < 0) {
        (void)api_call_give(call, ask->body);
        return true;
    }
    for (;;) {
        ssize_t got = read(ask->body_fd, piece, sizeof(piece));
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return err_errno(err, errno, "cannot read the request body");
        if (got == 0 || !api_call_give(call, span_make(piece, (size_t)got)))
            return true;
    }
}

static bool read_reply(struct client *client, struct client_ask *ask,
                       struct api_call *call, struct err *err) {
    struct span bytes;

    while (api_call_status(call) == 0)
        if (!wait_here(client, err))
            return false;
    ask->status = api_call_status(call);
    while (api_call_read(call, &bytes)) {
        if (bytes.len == 0) {
            if (!wait_here(client, err))
                return false;
            continue;
        }
        if (ask->status >= 400)
            text_addspan(&ask->error, bytes);
        else if (!ask->take(ask->ctx, bytes))
            return true;
        api_call_skip(call, bytes.len);
    }
    return true;
}

bool client_local_ask(struct client *client, struct client_ask *ask,
                      struct err *err) {
    if (!local_open(client, ask->method != API_GET, err))
        return false;
    struct api_request request = {
        .method = ask->method,
        .uri = span_of(ask->uri),
        .actor = base_caller(api_access(client->api)),
        .from = SPAN("command line"),
    };
    struct api_caller caller;
    api_caller_self(client->api, getenv("POINTSMAN_JOB"), &caller);
    api_caller_apply(client->api, &caller, &request.actor);
    struct api_call *call = api_call_open(client->api, &request, NULL, NULL);
    bool ok = give_body(call, ask, err);
    if (ok) {
        api_call_finish(call);
        ok = read_reply(client, ask, call, err);
    }
    api_call_close(call);
    return ok;
}
