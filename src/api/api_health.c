/* Health checks for people, load balancers and Prometheus; who the caller is;
 * and the API itself as a document. */
#include "api/api_call.h"
#include "api/api_handlers.h"

#include <inttypes.h>

#include "base/base.h"
#include "lib/map.h"

void api_healthz(struct api_call *call) {
    api_reply(call, 200, api_text);
    text_adds(&call->out, "ok\n");
    api_end(call);
}

void api_readyz(struct api_call *call) {
    const struct api_roles *roles = call->api->options.roles;
    struct err err = {0};
    struct store_tally tally;

    if (!store_count(call->api->options.store, &tally, &err) ||
        (roles != NULL && roles->ready != NULL &&
         !roles->ready(roles->ctx, &err))) {
        api_fail_status(call, 503, &err);
        return;
    }
    api_reply(call, 200, api_text);
    text_adds(&call->out, "ready\n");
    const struct base *base = call->api->options.base;
    if (base != NULL && base->refused[0] != '\0')
        text_addf(&call->out, "the configuration was not reloaded: %s\n",
                  base->refused);
    api_end(call);
}

static bool upgrade_hooks(struct api_call *call,
                          const struct api_roles **ret_roles) {
    struct err err;
    *ret_roles = call->api->options.roles;
    if (*ret_roles != NULL && (*ret_roles)->upgrade != NULL)
        return true;
    err_set(&err, ERR_UNAVAILABLE, "only a running server can be upgraded");
    api_fail(call, &err);
    return false;
}

void api_upgrade_show(struct api_call *call) {
    const struct api_roles *roles;
    if (!upgrade_hooks(call, &roles))
        return;
    roles->upgrade_show(roles->ctx, &call->out);
    api_reply(call, 200, api_json);
    api_end(call);
}

static void upgrade_do(struct api_call *call, bool give_up) {
    const struct api_roles *roles;
    struct err err = {0};
    if (!upgrade_hooks(call, &roles))
        return;
    if (!(give_up ? roles->upgrade_give_up(roles->ctx, &err)
                  : roles->upgrade(roles->ctx, &err))) {
        api_fail(call, &err);
        return;
    }
    roles->upgrade_show(roles->ctx, &call->out);
    api_reply(call, 200, api_json);
    api_end(call);
}

void api_upgrade(struct api_call *call) {
    upgrade_do(call, false);
}

void api_upgrade_give_up(struct api_call *call) {
    upgrade_do(call, true);
}

void api_caller(struct api_call *call) {
    const struct access_actor *actor = &call->request.actor;
    struct json json;

    json_open(&json, &call->out);
    json_object(&json);
    json_key(&json, "actor");
    json_span(&json, api_actor(call));
    if (actor->person.len > 0) {
        json_key(&json, "person");
        json_span(&json, actor->person);
    }
    json_key(&json, "role");
    json_string(&json, access_role_word(actor->role));
    json_end(&json);
    text_addc(&call->out, '\n');
    api_reply(call, 200, api_json);
    api_end(call);
}

/* ---- metrics ------------------------------------------------------------- */

static void metric_head(struct text *out, const char *name, const char *type,
                        const char *help) {
    text_addf(out, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

/* How long the oldest waiting job waits: more useful than a queue's length. */
static bool oldest_wait(struct api_call *call, int64_t *ret_ms,
                        struct err *err) {
    struct store_list list = {.states = STATES_WAITING, .limit = 1};
    struct job *jobs;
    size_t count;

    *ret_ms = 0;
    if (!store_jobs(call->api->options.store, &list, &call->arena, &jobs,
                    &count, err))
        return false;
    if (count > 0)
        *ret_ms = wall_ms_since(api_now(call), jobs[0].admitted);
    return true;
}

void api_metrics(struct api_call *call) {
    struct api *api = call->api;
    struct text *out = &call->out;
    struct store_tally tally;
    struct err err = {0};
    int64_t oldest_ms;

    if (!store_count(api->options.store, &tally, &err) ||
        !oldest_wait(call, &oldest_ms, &err)) {
        api_fail(call, &err);
        return;
    }
    metric_head(out, "pointsman_jobs", "gauge", "Jobs by state.");
    for (unsigned state = 0; state < JOB_STATES; state++)
        text_addf(out, "pointsman_jobs{state=\"%s\"} %" PRIu64 "\n",
                  job_state_word((enum job_state)state), tally.count[state]);
    metric_head(out, "pointsman_jobs_held", "gauge", "Jobs that are held.");
    text_addf(out, "pointsman_jobs_held %" PRIu64 "\n", tally.held);
    metric_head(out, "pointsman_oldest_wait_seconds", "gauge",
                "Age of the oldest waiting job.");
    text_addf(out, "pointsman_oldest_wait_seconds %.3f\n",
              (double)oldest_ms / 1000.0);
    metric_head(out, "pointsman_events_total", "counter",
                "Sequence number of the last event.");
    text_addf(out, "pointsman_events_total %" PRIu64 "\n",
              store_seq(api->options.store));
    metric_head(out, "pointsman_requests_total", "counter",
                "Responses by status class.");
    for (unsigned class = 2; class < COUNT(api->answered); class ++)
        text_addf(out,
                  "pointsman_requests_total{status=\"%uxx\"} %" PRIu64 "\n",
                  class, api->answered[class]);
    metric_head(out, "pointsman_start_time_seconds", "gauge",
                "Start time of this process.");
    text_addf(out, "pointsman_start_time_seconds %" PRId64 "\n",
              wall_s(api->started));
    const struct base *base = api->options.base;
    metric_head(out, "pointsman_config_refused", "gauge",
                "1: the configuration that was read last is not in force.");
    text_addf(out, "pointsman_config_refused %d\n",
              base != NULL && base->refused[0] != '\0');
    metric_head(out, "pointsman_map_longest_search", "gauge",
                "Slots that the longest search in a hash map looked at.");
    text_addf(out, "pointsman_map_longest_search %zu\n", map_longest_search());
    if (api->options.roles != NULL && api->options.roles->metrics != NULL)
        api->options.roles->metrics(api->options.roles->ctx, out);
    api_reply(call, 200, "text/plain; version=0.0.4; charset=utf-8");
    api_end(call);
}

/* ---- openapi.json -------------------------------------------------------- */

/* {id} in a path as its parameter. */
static void parameters_json(struct json *json, const char *path) {
    struct span rest = span_of(path), part;

    json_key(json, "parameters");
    json_array(json);
    while (span_cut(&rest, '/', &part)) {
        if (!span_starts(part, "{"))
            continue;
        json_object(json);
        json_key(json, "name");
        json_span(json, span_make(part.p + 1, part.len - 2));
        json_key(json, "in");
        json_string(json, "path");
        json_key(json, "required");
        json_bool(json, true);
        json_key(json, "schema");
        json_raw(json, SPAN("{\"type\":\"string\"}"));
        json_end(json);
    }
    json_end(json);
}

static void operation_json(struct json *json, const struct api_route *route) {
    static const char *const keys[API_METHODS] = {"get", "post", "put"};

    json_key(json, keys[route->method]);
    json_object(json);
    json_key(json, "summary");
    json_string(json, route->summary);
    json_key(json, "x-role");
    json_string(json, access_role_word(route->need.role));
    if (route->need.others != route->need.role) {
        json_key(json, "x-role-for-jobs-of-others");
        json_string(json, access_role_word(route->need.others));
    }
    parameters_json(json, route->path);
    json_key(json, "responses");
    json_raw(json, SPAN("{\"200\":{\"description\":\"success\"},\"default\":{"
                        "\"description\":\"an error (RFC 9457)\",\"content\":{"
                        "\"application/problem+json\":{\"schema\":{\"$ref\":"
                        "\"#/components/schemas/problem\"}}}}}"));
    json_end(json);
}

void api_openapi(struct api_call *call) {
    const struct api_tables *tables = call->api->options.tables;
    const struct api_route *routes = tables->routes;
    struct json json;

    json_open(&json, &call->out);
    json_object(&json);
    json_key(&json, "openapi");
    json_string(&json, "3.1.0");
    json_key(&json, "info");
    json_object(&json);
    json_key(&json, "title");
    json_string(&json, "Pointsman");
    json_key(&json, "version");
    json_string(&json, POINTSMAN_VERSION);
    json_end(&json);
    json_key(&json, "paths");
    json_object(&json);
    for (size_t i = 0; i < tables->route_count; i++) {
        const char *path = routes[i].path;
        bool seen = false;
        for (size_t k = 0; k < i && !seen; k++)
            seen = strcmp(routes[k].path, path) == 0;
        if (seen)
            continue;
        json_key(&json, path);
        json_object(&json);
        for (size_t k = i; k < tables->route_count; k++)
            if (strcmp(routes[k].path, path) == 0)
                operation_json(&json, &routes[k]);
        json_end(&json);
    }
    json_end(&json);
    json_key(&json, "components");
    json_raw(&json,
             SPAN("{\"schemas\":{\"problem\":{\"type\":\"object\","
                  "\"properties\":{\"type\":{\"type\":\"string\"},\"title\":{"
                  "\"type\":\"string\"},\"status\":{\"type\":\"integer\"},"
                  "\"detail\":{\"type\":\"string\"},\"kind\":{\"type\":"
                  "\"string\"}}}}}"));
    json_end(&json);
    text_addc(&call->out, '\n');
    api_reply(call, 200, api_json);
    api_end(call);
}
