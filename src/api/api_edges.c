/* Every change set with its dependencies: for export. */
#include "api/api_call.h"
#include "api/api_handlers.h"

#include "base/base.h"

struct exporting {
    struct api_walk walk;
    struct wall since;
};

static bool set_json(struct api_call *call, const struct job *job,
                     struct arena *arena, struct err *err) {
    const struct exporting *exporting = call->state;
    struct job_edge *edges;
    size_t count;
    struct json json;
    if (job->admitted.ns < exporting->since.ns)
        return true;
    if (!store_edges_from(call->api->options.store, job->num, arena, &edges,
                          &count, err))
        return false;
    json_open(&json, &call->out);
    json_object(&json);
    json_key(&json, "id");
    json_span(&json, job->id);
    json_key(&json, "target");
    json_span(&json, job->target);
    json_key(&json, "depends");
    json_array(&json);
    for (size_t i = 0; i < count; i++)
        if (edges[i].kind == EDGE_DEPENDENCY)
            json_span(&json, edges[i].to);
    json_end(&json);
    for (size_t i = 0; i < count; i++) {
        if (edges[i].kind != EDGE_SUPERSEDES)
            continue;
        json_key(&json, "supersedes");
        json_span(&json, edges[i].to);
    }
    json_end(&json);
    text_addc(&call->out, '\n');
    return true;
}

/* A target without any of these sets has a line too: what was exported for
 * it earlier is no longer valid. */
static void targets_json(struct api_call *call) {
    const struct base *base = call->api->options.base;
    struct json json;
    for (size_t i = 0; base && i < base->config.target_count; i++) {
        json_open(&json, &call->out);
        json_object(&json);
        json_key(&json, "target");
        json_span(&json, base->config.targets[i].name);
        json_end(&json);
        text_addc(&call->out, '\n');
    }
}

/* ?since= (RFC 3339): admitted at or after it. */
void api_edges(struct api_call *call) {
    static const char *const keys[] = {"since", NULL};
    struct exporting *exporting = arena_alloc(&call->arena, sizeof(*exporting));
    struct span since = api_query(call, "since");
    struct err err = {0};
    if (!api_query_check(call, keys))
        return;
    exporting->walk =
        (struct api_walk){.list = {.kinds = job_kinds_with(JOB_LANDS)},
                          .visit = set_json,
                          .last = targets_json};
    if (since.p != NULL && !wall_parse(since, &exporting->since)) {
        err_set(&err, ERR_USAGE,
                "'--since' is a time like 2026-07-01T00:00:00Z, not '%.*s'",
                (int)since.len, since.p);
        api_fail(call, &err);
        return;
    }
    api_walk(call, &exporting->walk);
    api_reply(call, 200, api_lines);
}
