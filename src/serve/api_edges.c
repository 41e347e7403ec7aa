/* Every change set with what it depends on: for export. */
#include "serve/api_call.h"

struct exporting {
    struct store_list list;
    struct wall since;
};

static bool set_json(struct api_call *call, const struct job *job,
                     struct arena *arena, struct err *err) {
    struct job_edge *edges;
    size_t count;
    struct json json;
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
    json_end(&json);
    text_addc(&call->out, '\n');
    return true;
}

static void edges_work(struct api_call *call) {
    struct exporting *exporting = call->state;
    struct store *store = call->api->options.store;
    for (unsigned pages = 0; call->out.len < API_OUT_BYTES && !call->ended;
         pages++) {
        CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
        struct job *jobs;
        size_t count;
        struct err err = {0};
        if (pages == API_PAGES) {
            api_turn_in(call, 0);
            return;
        }
        bool ok =
            store_jobs(store, &exporting->list, &arena, &jobs, &count, &err);
        for (size_t i = 0; ok && i < count; i++) {
            exporting->list.after_num = jobs[i].num;
            if (jobs[i].admitted.ns >= exporting->since.ns)
                ok = set_json(call, &jobs[i], &arena, &err);
        }
        if (!ok) {
            api_fail(call, &err);
            return;
        }
        if (count < exporting->list.limit)
            api_end(call);
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
    exporting->list =
        (struct store_list){.kinds = 1u << JOB_CHANGE, .limit = API_PAGE};
    if (since.p != NULL && !wall_parse(since, &exporting->since)) {
        err_set(&err, ERR_USAGE,
                "'since' is a time like 2026-07-01T00:00:00Z, not '%.*s'",
                (int)since.len, since.p);
        api_fail(call, &err);
        return;
    }
    call->state = exporting;
    call->work = edges_work;
    api_reply(call, 200, api_lines);
}
