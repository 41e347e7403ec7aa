#include "nodes/node_request.h"

#include "api/api_call.h"
#include "nodes/node_refresh.h"
#include "nodes/node_row.h"
#include "nodes/nodes_role.h"

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

/* The sources are marked first. Whoever holds the role refreshes them; if
 * nobody does, this call takes the role until it has done so itself. */
struct refreshing {
    struct span *names;
    size_t count;
    int lock; /* -1: the role is not held here */
    struct node_refresh refresh;
    struct subprocesses *subprocesses; /* that end before they return */
};

static void refresh_clear(struct api_call *call) {
    struct refreshing *refreshing = call->state;

    node_refresh_clear(&refreshing->refresh);
    subprocesses_free(refreshing->subprocesses);
    refreshing->subprocesses = NULL;
    if (refreshing->lock >= 0)
        base_give_role(call->api->options.base, nodes_role.name,
                       &refreshing->lock);
}

static void result_json(struct api_call *call,
                        const struct node_source_row *source) {
    struct json json;

    json_open(&json, &call->out);
    json_object(&json);
    json_put_span(&json, "name", source->name);
    json_put_i64(&json, "nodes", (int64_t)source->nodes);
    json_put_i64(&json, "added", (int64_t)source->counts.added);
    json_put_i64(&json, "changed", (int64_t)source->counts.changed);
    json_put_i64(&json, "removed", (int64_t)source->counts.removed);
    json_put_text(&json, "error", source->error);
    json_end(&json);
    text_addc(&call->out, '\n');
}

static const struct node_source_row *
find_row(const struct node_source_row *rows, size_t count, struct span name) {
    for (size_t i = 0; i < count; i++)
        if (span_equal(rows[i].name, name))
            return &rows[i];
    return NULL;
}

/* Answers if none of the sources is to be refreshed any more. */
static bool answer(struct api_call *call, bool *ret_answered, struct err *err) {
    CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
    const struct refreshing *refreshing = call->state;
    const struct node_source_row *row;
    struct node_source_row *rows;
    size_t count;

    *ret_answered = false;
    if (!node_row_sources(call->api->options.store, &arena, &rows, &count, err))
        return false;
    for (size_t i = 0; i < refreshing->count; i++) {
        row = find_row(rows, count, refreshing->names[i]);
        if (row != NULL && row->asked > 0)
            return true;
    }
    *ret_answered = true;
    api_reply(call, 200, api_lines);
    for (size_t i = 0; i < refreshing->count; i++) {
        row = find_row(rows, count, refreshing->names[i]);
        if (row != NULL) /* it may have left the configuration meanwhile */
            result_json(call, row);
    }
    api_end(call);
    return true;
}

static void here_recorded(void *ctx, struct store_batch *batch, bool ok,
                          const struct err *err) {
    struct api_call *call = ctx;

    (void)batch;
    if (!api_unhold(call))
        return;
    if (!ok)
        api_fail(call, err);
    api_poke(call);
}

static bool here_begin(struct api_call *call, struct err *err) {
    struct refreshing *refreshing = call->state;
    struct node_refresh *refresh = &refreshing->refresh;
    struct base *base = call->api->options.base;
    struct node_means means = {.base = base};

    if (!base_run_as_owner(base, err))
        return false;
    refreshing->subprocesses = subprocesses_new(base, NULL, NULL);
    means.subprocesses = refreshing->subprocesses;
    if (!node_refresh_begin(refresh, &means, api_now(call), err))
        return false;
    for (size_t i = 0; i < refresh->source_count; i++)
        refresh->sources[i].is_chosen = refresh->sources[i].before.asked > 0;
    return true;
}

static bool here_step(struct api_call *call, struct err *err) {
    struct refreshing *refreshing = call->state;
    struct node_refresh *refresh = &refreshing->refresh;
    struct store_batch *batch;

    if (refresh->next == NODE_REFRESH_RECORD) {
        batch = api_batch(call);
        node_refresh_record(refresh, batch);
        api_hold(call);
        store_submit(batch, here_recorded, call);
        return true;
    }
    if (refresh->next == NODE_REFRESH_STEP && !node_refresh_step(refresh, err))
        return false;
    api_turn_in(call, 0);
    if (refresh->next != NODE_REFRESH_OVER)
        return true;
    refresh_clear(call);
    api_trigger(call->api);
    return true;
}

enum { ROLE_LOOK_MS = 200 /* whether somebody holds the role */ };

static bool refresh_step(struct api_call *call, struct err *err) {
    struct refreshing *refreshing = call->state;
    struct base *base = call->api->options.base;
    bool answered;

    if (refreshing->lock >= 0)
        return here_step(call, err);
    if (!answer(call, &answered, err) || answered)
        return answered;
    if (base_take_role(base, nodes_role.name, LOCK_PID_BORROW,
                       &refreshing->lock, err))
        return here_begin(call, err) && here_step(call, err);
    api_turn_in(call, ROLE_LOOK_MS);
    return err->kind == ERR_RUNNING;
}

static void refresh_work(struct api_call *call) {
    struct err err = {0};

    if (call->pending == 0 && !call->ended && !refresh_step(call, &err))
        api_fail(call, &err);
}

static void refresh_asked(void *ctx, struct store_batch *batch, bool ok,
                          const struct err *err) {
    struct api_call *call = ctx;

    (void)batch;
    if (!api_unhold(call))
        return;
    if (ok)
        api_trigger(call->api);
    else
        api_fail(call, err);
    api_poke(call);
}

/* Those of the configuration; `only` empty: all. */
static bool choose(struct api_call *call, struct span only,
                   struct refreshing *refreshing, struct err *err) {
    const struct config *config = &call->api->options.base->config;
    const struct config_node_source *source;
    size_t count = 0;

    while (node_config_source_at(config, count) != NULL)
        count++;
    refreshing->names =
        arena_alloc(&call->arena, (count + 1) * sizeof(*refreshing->names));
    for (size_t i = 0; (source = node_config_source_at(config, i)) != NULL; i++)
        if (only.len == 0 || span_equal(source->name, only))
            refreshing->names[refreshing->count++] =
                arena_span(&call->arena, source->name);
    return refreshing->count > 0 || only.len == 0 ||
           err_set(err, ERR_NO_JOB,
                   "there is no section [node-source \"%.*s\"]", (int)only.len,
                   only.p);
}

void node_request_refresh(struct api_call *call) {
    static const char *const keys[] = {"source", NULL};
    struct refreshing *refreshing =
        arena_alloc(&call->arena, sizeof(*refreshing));
    struct store_batch *batch;
    struct json_value body;
    struct span source = SPAN("");
    struct err err = {0};

    if (!api_body_object(call, keys, &body) ||
        !api_body_string(call, body, "source", &source))
        return;
    *refreshing = (struct refreshing){.lock = -1};
    refreshing->refresh.next = NODE_REFRESH_OVER;
    if (call->api->options.base == NULL)
        err_set(&err, ERR_UNAVAILABLE, "the base is not open");
    if (err.text[0] != '\0' || !choose(call, source, refreshing, &err)) {
        api_fail(call, &err);
        return;
    }
    call->state = refreshing;
    call->clear = refresh_clear;
    call->work = refresh_work;
    api_watch(call, 0);
    batch = api_batch(call);
    for (size_t i = 0; i < refreshing->count; i++)
        node_row_ask(batch, refreshing->names[i]);
    api_hold(call);
    store_submit(batch, refresh_asked, call);
}
