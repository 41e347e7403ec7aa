#include "nodes/node_request.h"

#include "api/api_call.h"
#include "nodes/node_refresh.h"
#include "nodes/node_row.h"

/* ---- the nodes ----------------------------------------------------------- */

struct listing {
    int64_t after;
    bool is_changes;
    struct node_mark mark;            /* of changes */
    struct span level, source, below; /* p NULL: any */
};

static bool matches(const struct listing *listing, const struct node_row *row) {
    return (listing->level.p == NULL ||
            span_equal(listing->level, row->level)) &&
           (listing->source.p == NULL ||
            span_equal(listing->source, row->source)) &&
           (listing->below.p == NULL ||
            span_equal(listing->below, row->parent));
}

static void row_json(struct api_call *call, const struct node_row *row) {
    struct span rest = row->tags, tag;
    struct json json;

    json_open(&json, &call->out);
    json_object(&json);
    json_put_span(&json, "name", row->name);
    json_put_span(&json, "level", row->level);
    json_put_text(&json, "parent", row->parent);
    json_put_bool(&json, "enabled", node_row_is_enabled(row, api_now(call)));
    json_key(&json, "tags");
    json_array(&json);
    while (rest.len > 0 && span_cut(&rest, ' ', &tag))
        json_span(&json, tag);
    json_end(&json);
    json_put_span(&json, "source", row->source);
    json_put_time(&json, "expires", row->expires);
    json_put_time(&json, "gone", row->gone);
    json_put_i64(&json, "seq", (int64_t)row->seq);
    json_end(&json);
    text_addc(&call->out, '\n');
}

static bool list_step(struct api_call *call, struct err *err) {
    CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
    struct listing *listing = call->state;
    struct node_row *rows;
    size_t count;

    if (!(listing->is_changes
              ? node_row_changes(call->api->options.store, &listing->mark,
                                 API_PAGE, &arena, &rows, &count, err)
              : node_row_list(call->api->options.store, listing->after,
                              API_PAGE, &arena, &rows, &count, err)))
        return false;
    for (size_t i = 0; i < count; i++) {
        listing->after = rows[i].place;
        if (matches(listing, &rows[i]))
            row_json(call, &rows[i]);
    }
    if (count < API_PAGE)
        api_end(call);
    return true;
}

static void list_work(struct api_call *call) {
    api_steps(call, list_step);
}

static bool read_since(struct api_call *call, struct listing *listing) {
    if (!api_query_u64(call, "since", INT64_MAX, &listing->mark.seq))
        return false;
    listing->is_changes = api_query(call, "since").p != NULL;
    if (listing->mark.seq > 0) /* behind all rows of that event */
        listing->mark.place = INT64_MAX;
    return true;
}

void node_request_list(struct api_call *call) {
    static const char *const keys[] = {"level", "source", "below", "since",
                                       NULL};
    struct listing *listing = arena_alloc(&call->arena, sizeof(*listing));

    if (!api_query_check(call, keys) || !read_since(call, listing))
        return;
    listing->level = api_query(call, "level");
    listing->source = api_query(call, "source");
    listing->below = api_query(call, "below");
    call->state = listing;
    call->work = list_work;
    api_reply(call, 200, api_lines);
}

/* ---- the sources --------------------------------------------------------- */

void node_request_sources(struct api_call *call) {
    static const char *const keys[] = {NULL};
    struct node_source_row *rows;
    struct err err = {0};
    size_t count;

    if (!api_query_check(call, keys))
        return;
    if (!node_row_sources(call->api->options.store, &call->arena, &rows, &count,
                          &err)) {
        api_fail(call, &err);
        return;
    }
    api_reply(call, 200, api_lines);
    for (size_t i = 0; i < count; i++) {
        struct json json;
        json_open(&json, &call->out);
        json_object(&json);
        json_put_span(&json, "name", rows[i].name);
        json_put_i64(&json, "nodes", rows[i].nodes);
        json_put_time(&json, "refreshed", rows[i].refreshed);
        json_put_time(&json, "failed", rows[i].failed);
        json_put_text(&json, "error", rows[i].error);
        json_end(&json);
        text_addc(&call->out, '\n');
    }
    api_end(call);
}

/* ---- a refresh ----------------------------------------------------------- */

static void refresh_clear(struct api_call *call) {
    node_refresh_clear(call->state);
}

static void result_json(struct api_call *call,
                        const struct node_refresh_source *source) {
    struct json json;

    json_open(&json, &call->out);
    json_object(&json);
    json_put_span(&json, "name", source->name);
    json_put_i64(&json, "nodes", source->nodes);
    json_put_i64(&json, "added", (int64_t)source->counts.added);
    json_put_i64(&json, "changed", (int64_t)source->counts.changed);
    json_put_i64(&json, "removed", (int64_t)source->counts.removed);
    json_put_text(&json, "error", span_of(source->err.text));
    json_end(&json);
    text_addc(&call->out, '\n');
}

static void refresh_end(struct api_call *call) {
    const struct node_refresh *refresh = call->state;

    api_trigger(call->api);
    api_reply(call, 200, api_lines);
    for (size_t i = 0; i < refresh->source_count; i++)
        if (refresh->sources[i].is_chosen)
            result_json(call, &refresh->sources[i]);
    api_end(call);
}

static void refresh_work(struct api_call *call);

static void refresh_done(void *ctx, struct store_batch *batch, bool ok,
                         const struct err *err) {
    struct api_call *call = ctx;
    const struct node_refresh *refresh;

    (void)batch;
    if (!api_unhold(call))
        return;
    refresh = call->state;
    if (!ok)
        api_fail(call, err);
    else if (refresh->is_done)
        refresh_end(call);
    else
        refresh_work(call);
    api_poke(call);
}

static void refresh_work(struct api_call *call) {
    struct store_batch *batch;

    if (call->pending > 0 || call->ended)
        return;
    batch = api_batch(call);
    node_refresh_step(call->state, batch);
    api_hold(call);
    store_submit(batch, refresh_done, call);
}

void node_request_refresh(struct api_call *call) {
    static const char *const keys[] = {"source", NULL};
    struct node_refresh *refresh = arena_alloc(&call->arena, sizeof(*refresh));
    struct base *base = call->api->options.base;
    struct json_value body;
    struct span source = SPAN("");
    struct err err = {0};

    if (!api_body_object(call, keys, &body) ||
        !api_body_string(call, body, "source", &source))
        return;
    if (base == NULL) {
        err_set(&err, ERR_UNAVAILABLE, "the base is not open");
        api_fail(call, &err);
        return;
    }
    if (!node_refresh_begin(refresh, base, source, api_now(call), &err)) {
        api_fail(call, &err);
        return;
    }
    call->state = refresh;
    call->clear = refresh_clear;
    refresh_work(call);
}
