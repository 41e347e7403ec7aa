#include "api/api_call.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>

#include "os/clock.h"
#include "base/base.h"
#include "base/role.h"
#include "scheduler/work_kind.h"
#include "wire/submission.h"
#include "wire/uri.h"

const char api_json[] = "application/json";
const char api_lines[] = "application/x-ndjson";
const char api_text[] = "text/plain; charset=utf-8";
const char api_sse[] = "text/event-stream";
const char api_bytes[] = "application/octet-stream";

const char *api_method_word(enum api_method method) {
    static const char *const words[API_METHODS] = {"GET", "POST", "PUT"};
    assert(method < API_METHODS);
    return words[method];
}

/* ---- the API itself ------------------------------------------------------ */

static void on_event(void *ctx, const struct store_event *event) {
    struct api *api = ctx;
    struct list *of_job = &api->watchers[event->num % API_WATCH_BUCKETS];

    LIST_EACH (of_job, it) {
        struct api_call *call = LIST_OF(it, struct api_call, watching);
        if (call->watched == event->num || call->watched == 0)
            api_poke(call);
    }
    if (of_job == &api->watchers[0])
        return;
    LIST_EACH (&api->watchers[0], it) {
        struct api_call *call = LIST_OF(it, struct api_call, watching);
        if (call->watched == 0)
            api_poke(call);
    }
}

struct api *api_new(const struct api_options *options) {
    struct api *api = mem_alloc(sizeof *api);

    api->options = *options;
    if (api->options.now == NULL)
        api->options.now = clock_wall;
    api->started = api->options.now();
    api->due = MONO_NEVER;
    list_init(&api->calls);
    for (size_t i = 0; i < API_WATCH_BUCKETS; i++)
        list_init(&api->watchers[i]);
    if (options->store != NULL)
        store_listen(options->store, on_event, api);
    return api;
}

const struct access_rules *api_access(const struct api *api) {
    return api->options.access;
}

static void call_free(struct api_call *call) {
    if (call->clear != NULL)
        call->clear(call);
    list_remove(&call->link);
    list_remove(&call->watching);
    text_clear(&call->body);
    text_clear(&call->out);
    arena_clear(&call->arena);
    free(call);
}

void api_free(struct api *api) {
    if (api == NULL)
        return;
    if (api->options.store != NULL)
        store_unlisten(api->options.store, on_event, api);
    /* Calls that a batch of the store still refers to are freed by its
     * completion. */
    LIST_EACH (&api->calls, it) {
        struct api_call *call = LIST_OF(it, struct api_call, link);
        assert(call->closed && call->pending > 0);
        list_remove(&call->link);
    }
    log_indexes_clear(&api->log_indexes);
    free(api);
}

void api_turn_in(struct api_call *call, int64_t ms) {
    struct mono due = mono_add_ms(clock_mono(), ms);

    if (due.ns < call->due.ns)
        call->due = due;
    if (due.ns < call->api->due.ns)
        call->api->due = due;
}

int64_t api_turn(struct api *api) {
    if (api->due.ns == MONO_NEVER.ns)
        return -1;
    struct mono now = clock_mono();
    if (api->due.ns > now.ns)
        return (api->due.ns - now.ns + NS_PER_MS - 1) / NS_PER_MS;
    api->due = MONO_NEVER;
    bool poked = false;
    LIST_EACH (&api->calls, it) {
        struct api_call *call = LIST_OF(it, struct api_call, link);
        if (call->closed || call->ended)
            continue;
        if (call->due.ns <= now.ns) {
            call->due = MONO_NEVER;
            api_poke(call);
            poked = true; /* the transport reads from the call at once */
        }
        if (call->due.ns < api->due.ns)
            api->due = call->due;
    }
    return poked                          ? 0
           : api->due.ns == MONO_NEVER.ns ? -1
           : api->due.ns <= now.ns
               ? 0
               : (api->due.ns - now.ns + NS_PER_MS - 1) / NS_PER_MS;
}

/* ---- finding the way ----------------------------------------------------- */

/* Does the path match? {word} matches one part. */
static bool route_match(const char *pattern, struct span path,
                        struct span params[API_PARAMS]) {
    struct span want = span_of(pattern), part, pattern_part;
    size_t count = 0;

    for (;;) {
        bool more = span_cut(&path, '/', &part);
        if (span_cut(&want, '/', &pattern_part) != more)
            return false;
        if (!more)
            return true;
        if (span_starts(pattern_part, "{")) {
            if (part.len == 0 || count == API_PARAMS)
                return false;
            params[count++] = part;
        } else if (!span_equal(part, pattern_part)) {
            return false;
        }
    }
}

/* Finds the route of method and path; else fails the call. */
static bool call_route(struct api_call *call, struct span path) {
    const struct api_tables *tables = call->api->options.tables;
    struct err err = {0};
    bool other_method = false;

    for (size_t i = 0; i < tables->route_count; i++) {
        struct span params[API_PARAMS] = {0};
        if (!route_match(tables->routes[i].path, path, params))
            continue;
        if (tables->routes[i].method != call->request.method) {
            other_method = true;
            continue;
        }
        call->route = &tables->routes[i];
        for (size_t p = 0; p < API_PARAMS; p++)
            if (params[p].len > 0 &&
                !uri_decode(params[p], false, &call->arena, &call->params[p])) {
                err_set(&err, ERR_USAGE, "'%.*s' is not UTF-8 text",
                        (int)params[p].len, params[p].p);
                api_fail(call, &err);
                return false;
            }
        return true;
    }
    if (other_method)
        err_set(&err, ERR_USAGE, "'%.*s' does not support %s", (int)path.len,
                path.p, api_method_word(call->request.method));
    else
        err_set(&err, ERR_USAGE, "no resource '%.*s'", (int)path.len, path.p);
    api_fail_status(call, other_method ? 405 : 404, &err);
    return false;
}

static bool call_query(struct api_call *call, struct span query) {
    size_t most = 1;
    for (size_t i = 0; i < query.len; i++)
        most += query.p[i] == '&';
    call->query = arena_alloc(&call->arena, most * sizeof *call->query);
    bool ok = true;
    struct api_pair pair;
    while (uri_next(&query, &call->arena, &pair.key, &pair.value, &ok))
        call->query[call->query_count++] = pair;
    if (!ok) {
        struct err err = {0};
        err_set(&err, ERR_USAGE, "the query is not UTF-8 text");
        api_fail(call, &err);
    }
    return ok;
}

static bool call_permitted(struct api_call *call) {
    struct err err = {0};

    if (api_allows(call, NULL, &err))
        return true;
    api_fail(call, &err);
    return false;
}

/* ---- one call ------------------------------------------------------------ */

struct api_call *api_call_open(struct api *api,
                               const struct api_request *request,
                               void (*ready)(void *ctx), void *ctx) {
    struct api_call *call = mem_alloc(sizeof *call);

    call->api = api;
    call->request = *request;
    call->ready = ready;
    call->ctx = ctx;
    call->due = call->beat = call->deadline = MONO_NEVER;
    list_push(&api->calls, &call->link);
    list_init(&call->watching);
    call->request.actor.job = arena_span(&call->arena, request->actor.job);
    call->request.uri = arena_span(&call->arena, request->uri);
    call->request.last_event_id =
        arena_span(&call->arena, request->last_event_id);
    call->request.idempotency_key =
        arena_span(&call->arena, request->idempotency_key);
    call->request.actor.person =
        arena_span(&call->arena, request->actor.person);

    call->inside = true;
    struct uri uri = uri_split(call->request.uri);
    if (call_route(call, uri.path) && call_permitted(call) &&
        call_query(call, uri.query) && call->route->body == API_STREAM)
        call->route->handle(call);
    call->inside = false;
    return call;
}

static size_t body_limit(const struct api_route *route) {
    switch (route->body) {
    case API_NO_BODY:
    case API_STREAM:
        return 0;
    case API_OBJECT:
        return API_BODY_BYTES;
    case API_JOB:
        return SUBMISSION_BYTES;
    case API_LINES:
        return API_LINES_BYTES;
    }
    return 0;
}

bool api_call_give(struct api_call *call, struct span bytes) {
    if (call->status != 0)
        return false;
    if (bytes.len == 0)
        return true;
    call->inside = true;
    struct err err = {0};
    if (call->route->body == API_STREAM) {
        if (call->take != NULL && !call->take(call, bytes, &err))
            api_fail(call, &err);
    } else if (bytes.len > body_limit(call->route) - call->body.len) {
        err_set(&err, ERR_DATA, "the body is longer than %zu bytes",
                body_limit(call->route));
        api_fail_status(call, 413, &err);
    } else {
        text_addspan(&call->body, bytes);
    }
    call->inside = false;
    return call->status == 0;
}

static void call_work(struct api_call *call) {
    bool inside = call->inside;

    call->inside = true;
    if (!call->ended && call->work != NULL && call->out_at == call->out.len)
        call->work(call);
    call->inside = inside;
}

void api_call_finish(struct api_call *call) {
    call->inside = true;
    if (call->status == 0 && call->route->body != API_STREAM)
        call->route->handle(call);
    if (call->status == 0 || call->out.len == 0)
        call_work(call);
    call->inside = false;
    call->waits = call->status == 0;
}

int api_call_status(const struct api_call *call) {
    return call->status;
}

const char *api_call_content_type(const struct api_call *call) {
    return call->content_type;
}

bool api_call_is_whole(const struct api_call *call) {
    return call->status != 0 && call->ended;
}

bool api_call_is_long(const struct api_call *call) {
    return call->is_long;
}

bool api_call_read(struct api_call *call, struct span *ret_bytes) {
    if (call->out_at == call->out.len) {
        text_reset(&call->out);
        call->out_at = 0;
        call_work(call);
    }
    *ret_bytes = span_make(text_string(&call->out) + call->out_at,
                           call->out.len - call->out_at);
    call->waits = ret_bytes->len == 0 && !call->ended;
    return ret_bytes->len > 0 || !call->ended;
}

void api_call_skip(struct api_call *call, size_t bytes) {
    assert(bytes <= call->out.len - call->out_at);
    call->out_at += bytes;
}

static void unwatch(struct api_call *call) {
    list_remove(&call->watching);
    call->due = MONO_NEVER;
}

void api_call_close(struct api_call *call) {
    if (call == NULL)
        return;
    if (call->pending == 0) {
        call_free(call);
        return;
    }
    call->closed = true;
    unwatch(call);
}

/* ---- answers ------------------------------------------------------------- */

void api_reply(struct api_call *call, int status, const char *content_type) {
    assert(call->status == 0);
    call->status = status;
    call->content_type = content_type;
    call->api->answered[status / 100]++;
}

void api_end(struct api_call *call) {
    call->ended = true;
    unwatch(call);
}

static void problem_format(int status, const char *title, const struct err *err,
                           struct span lines, struct text *out) {
    CLEANUP(text_clear) struct text type = TEXT_INIT;
    struct json json;
    text_addf(&type, "/errors/%s", err_name(err->kind));
    json_open(&json, out);
    json_object(&json);
    json_key(&json, "type");
    json_span(&json, text_span(&type));
    json_key(&json, "title");
    json_string(&json, title);
    json_key(&json, "status");
    json_i64(&json, status);
    json_key(&json, "detail");
    json_string(&json, err->text);
    json_key(&json, "kind");
    json_string(&json, err_name(err->kind));
    if (lines.len > 0) {
        struct span line;
        json_key(&json, "errors");
        json_array(&json);
        while (span_cut(&lines, '\n', &line))
            if (line.len > 0)
                json_span(&json, line);
        json_end(&json);
    }
    json_end(&json);
    text_addc(out, '\n');
}

void api_problem_format(int status, const char *title, const struct err *err,
                        struct text *out) {
    problem_format(status, title, err, (struct span){0}, out);
}

void api_fail_lines(struct api_call *call, const struct err *err,
                    struct span lines) {
    int status = err_http_status(err->kind);

    text_reset(&call->out);
    api_reply(call, status, "application/problem+json");
    problem_format(status, err_meaning(err->kind), err, lines, &call->out);
    api_end(call);
}

void api_fail_status(struct api_call *call, int status, const struct err *err) {
    if (call->status == 0) {
        text_reset(&call->out);
        api_reply(call, status, "application/problem+json");
        api_problem_format(status, err_meaning(err->kind), err, &call->out);
    }
    api_end(call);
}

void api_fail(struct api_call *call, const struct err *err) {
    api_fail_status(call, err_http_status(err->kind), err);
}

/* ---- questions ----------------------------------------------------------- */

struct wall api_now(const struct api_call *call) {
    return call->api->options.now();
}

struct span api_actor(struct api_call *call) {
    if (call->actor.len == 0) {
        CLEANUP(text_clear) struct text actor = TEXT_INIT;
        access_actor_format(&call->request.actor, &actor);
        call->actor = arena_span(&call->arena, text_span(&actor));
    }
    return call->actor;
}

struct span api_from(const struct api_call *call, struct arena *arena) {
    const struct access_actor *actor = &call->request.actor;
    if (actor->place != ACCESS_IN_JOB)
        return call->request.from;
    return actor->job.len == 0
               ? SPAN("a job")
               : span_of(arena_printf(arena, "job %.*s", (int)actor->job.len,
                                      actor->job.p));
}

struct store_batch *api_batch(struct api_call *call) {
    struct store_batch *batch = store_batch_new(call->api->options.store);
    store_batch_actor(batch, api_now(call), api_actor(call));
    store_batch_from(batch, api_from(call, &call->arena));
    return batch;
}

struct span api_query(const struct api_call *call, const char *key) {
    for (size_t i = 0; i < call->query_count; i++)
        if (span_is(call->query[i].key, key))
            return call->query[i].value;
    return (struct span){0};
}

bool api_query_flag(const struct api_call *call, const char *key) {
    struct span value = api_query(call, key);
    return value.p != NULL && !span_is(value, "0") && !span_is(value, "no") &&
           !span_is(value, "false");
}

bool api_query_u64(struct api_call *call, const char *key, uint64_t most,
                   uint64_t *ret_value) {
    struct span value = api_query(call, key);
    uint64_t number;
    struct err err = {0};

    if (value.p == NULL)
        return true;
    if (span_u64(value, &number) && number <= most) {
        *ret_value = number;
        return true;
    }
    err_set(&err, ERR_USAGE,
            "'%s' must be a number up to %" PRIu64 ", not '%.*s'", key, most,
            (int)value.len, value.p);
    api_fail(call, &err);
    return false;
}

bool api_query_check(struct api_call *call, const char *const *keys) {
    for (size_t i = 0; i < call->query_count; i++) {
        size_t known = 0;
        while (keys[known] != NULL && !span_is(call->query[i].key, keys[known]))
            known++;
        if (keys[known] != NULL)
            continue;
        struct err err = {0};
        const char *key = arena_string(&call->arena, call->query[i].key);
        const char *meant = text_nearest(key, keys, known);
        err_set(&err, ERR_USAGE, "unknown parameter '%s'%s%s%s", key,
                meant == NULL ? "" : "; did you mean '",
                meant == NULL ? "" : meant, meant == NULL ? "" : "'?");
        api_fail(call, &err);
        return false;
    }
    return true;
}

bool api_allows(const struct api_call *call, const struct job *job,
                struct err *err) {
    struct access_owner owner = {0};
    if (job != NULL)
        owner = (struct access_owner){job->uid, job->actor};
    return access_allows(call->api->options.access, &call->request.actor,
                         call->route->need, job == NULL ? NULL : &owner, err);
}

bool api_sees_values(struct api_call *call, const struct job *job) {
    struct access_owner owner = {job->uid, job->actor};
    struct access_owner caller = {call->request.actor.uid, api_actor(call)};
    return call->request.actor.role >= ACCESS_OPERATOR ||
           (call->request.actor.is_known &&
            access_owner_is_same(&caller, &owner));
}

bool api_has_account(const struct api_call *call, struct err *err) {
    struct span person = call->request.actor.person;
    return person.len == 0 ||
           err_set(err, ERR_DENIED,
                   "person '%.*s' has no account under which a command could "
                   "run; submit change sets, or use an account of this machine",
                   (int)person.len, person.p);
}

/* An id comes before a name, and a name before the beginning of an id. */
static bool find_job(struct api_call *call, struct span id, struct job *ret_job,
                     struct err *err) {
    const struct work_kinds *kinds = call->api->options.tables->kinds;
    struct store *store = call->api->options.store;
    uint64_t num = 0;
    bool found;

    if (!store_lookup(store, id, &call->arena, ret_job, &found, err))
        return false;
    if (found)
        return true;
    for (size_t i = 0; num == 0 && i < kinds->count; i++)
        if (kinds->rows[i]->find != NULL &&
            !kinds->rows[i]->find(store, id, &num, err))
            return false;
    return num != 0 ? store_job(store, num, &call->arena, ret_job, err)
                    : store_find(store, id, &call->arena, ret_job, err);
}

bool api_job(struct api_call *call, struct job *ret_job) {
    struct err err = {0};

    if (find_job(call, call->params[0], ret_job, &err))
        return true;
    api_fail(call, &err);
    return false;
}

/* ---- waiting ------------------------------------------------------------- */

/* A call that watches the same again keeps its place in the list: it does so
 * while the list is walked, and if it moved to the end it would be met again
 * and again. */
void api_watch(struct api_call *call, uint64_t num) {
    if (call->watched == num && !list_empty(&call->watching))
        return;
    list_remove(&call->watching);
    call->watched = num;
    list_push(&call->api->watchers[num % API_WATCH_BUCKETS], &call->watching);
}

void api_poke(struct api_call *call) {
    if (!call->waits || call->inside || call->closed)
        return;
    if (call->status == 0) {
        call_work(call);
        if (call->status == 0)
            return;
    }
    call->waits = false;
    if (call->ready != NULL)
        call->ready(call->ctx);
}

void api_hold(struct api_call *call) {
    call->pending++;
}

bool api_unhold(struct api_call *call) {
    assert(call->pending > 0);
    if (--call->pending > 0 || !call->closed)
        return !call->closed;
    call_free(call);
    return false;
}

void api_trigger(struct api *api) {
    const struct api_roles *roles = api->options.roles;

    if (roles != NULL) {
        if (roles->trigger != NULL)
            roles->trigger(roles->ctx);
        return;
    }
    if (api->options.base == NULL)
        return;
    role_trigger_readers(api->options.tables->roles, api->options.base);
}
