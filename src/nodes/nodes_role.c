#include "nodes/nodes_role.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <uv.h>

#include "lib/log.h"
#include "os/alarm.h"
#include "nodes/node_refresh.h"

struct nodes_engine {
    struct role_host *host;
    int fd; /* of the alarm */
    uv_poll_t poll;
    struct wall *dues; /* of each source of the configuration */
    size_t source_count;
    bool was_asked; /* perhaps: the registry says for which sources */
    bool is_due;    /* one of them was at the last turn */
    bool is_draining;
    struct node_refresh refresh;
    bool is_refreshing; /* `refresh` is under way */
    bool is_writing;    /* a batch is */
    void (*closed)(void *ctx);
    void *closed_ctx;
};

static void wake(struct nodes_engine *engine) {
    engine->host->wake(engine->host->ctx);
}

static void on_alarm(uv_poll_t *poll, int status, int events) {
    struct nodes_engine *engine = poll->data;
    (void)status;
    (void)events;
    (void)alarm_drain(engine->fd);
    wake(engine);
}

static void on_event(void *ctx, const struct store_event *event) {
    struct nodes_engine *engine = ctx;
    if (event->kind == EVENT_NODES && span_is(event->reason, "asked"))
        engine->was_asked = true;
}

/* ---- when a source is due ------------------------------------------------ */

/* At the start, and whenever the configuration was read: all of them. */
static void reset_dues(struct nodes_engine *engine) {
    const struct config *config = &engine->host->base->config;
    size_t count = 0;
    while (node_config_source_at(config, count) != NULL)
        count++;
    free(engine->dues);
    engine->dues = mem_alloc((count + 1) * sizeof(*engine->dues));
    engine->source_count = count;
}

static bool read_asked(struct nodes_engine *engine, struct err *err) {
    CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
    const struct base *base = engine->host->base;
    struct node_source_row *rows;
    size_t count;
    if (!node_row_sources(base->store, &arena, &rows, &count, err))
        return false;
    for (size_t i = 0; i < engine->source_count; i++)
        for (size_t k = 0; k < count; k++)
            if (rows[k].asked > 0 &&
                span_equal(rows[k].name,
                           node_config_source_at(&base->config, i)->name))
                engine->dues[i] = (struct wall){0};
    engine->was_asked = false;
    return true;
}

static struct wall next_due(const struct nodes_engine *engine) {
    struct wall next = WALL_NEVER;
    for (size_t i = 0; i < engine->source_count; i++)
        if (engine->dues[i].ns < next.ns)
            next = engine->dues[i];
    return next;
}

static struct wall due_after(const struct nodes_engine *engine,
                             const struct node_refresh_source *source) {
    const struct config_nodes *nodes = node_config(&engine->host->base->config);
    const struct config_node_source *own = source->config;
    int64_t refresh_s = own->refresh_s > 0 ? own->refresh_s : nodes->refresh_s;
    int64_t retry_s = own->retry_s > 0 ? own->retry_s : nodes->retry_s;
    bool failed = source->err.text[0] != '\0';
    return wall_add_ms(engine->refresh.now,
                       (failed ? retry_s : refresh_s) * 1000);
}

/* ---- a refresh ----------------------------------------------------------- */

static bool begin(struct nodes_engine *engine, struct wall now,
                  struct err *err) {
    struct node_refresh *refresh = &engine->refresh;
    const struct node_means means = {.base = engine->host->base,
                                     .subprocesses = engine->host->subprocesses,
                                     .wake = engine->host->wake,
                                     .ctx = engine->host->ctx};
    engine->is_refreshing = node_refresh_begin(refresh, &means, now, err);
    for (size_t i = 0; engine->is_refreshing && i < engine->source_count; i++)
        refresh->sources[i].is_chosen = engine->dues[i].ns <= now.ns;
    return engine->is_refreshing;
}

static void drop(struct nodes_engine *engine) {
    node_refresh_clear(&engine->refresh);
    engine->is_refreshing = false;
}

/* The registry cannot be read or written now. */
static void put_off(struct nodes_engine *engine, struct wall now,
                    const struct err *err) {
    int64_t s = node_config(&engine->host->base->config)->retry_s;
    log_error("cannot refresh the nodes, trying again in %" PRId64 " s: %s", s,
              err->text);
    for (size_t i = 0; i < engine->source_count; i++)
        if (engine->dues[i].ns <= now.ns)
            engine->dues[i] = wall_add_ms(now, s * 1000);
    drop(engine);
}

static void report(const struct node_refresh_source *source) {
    bool failed = source->err.text[0] != '\0';
    if (failed && !span_is(source->before.error, source->err.text))
        log_warning("source '%.*s' keeps its %" PRIu64 " nodes: %s",
                    (int)source->name.len, source->name.p, source->nodes,
                    source->err.text);
    if (!failed && source->before.failed.ns > 0)
        log_info("source '%.*s' has %" PRIu64 " nodes again",
                 (int)source->name.len, source->name.p, source->nodes);
}

static void end(struct nodes_engine *engine) {
    for (size_t i = 0; i < engine->refresh.source_count; i++) {
        const struct node_refresh_source *source = &engine->refresh.sources[i];
        if (!source->is_chosen)
            continue;
        engine->dues[i] = due_after(engine, source);
        report(source);
    }
    drop(engine);
    engine->was_asked = true; /* perhaps again meanwhile */
}

static void on_recorded(void *ctx, struct store_batch *batch, bool ok,
                        const struct err *err) {
    struct nodes_engine *engine = ctx;
    (void)batch;
    engine->is_writing = false;
    if (!ok && engine->is_refreshing)
        put_off(engine, engine->refresh.now, err);
    wake(engine);
}

static void record(struct nodes_engine *engine, struct wall now) {
    struct store_batch *batch = store_batch_new(engine->host->base->store);
    char actor[32];
    snprintf(actor, sizeof(actor), "daemon:%s", nodes_role.name);
    store_batch_actor(batch, now, span_of(actor));
    node_refresh_record(&engine->refresh, batch);
    engine->is_writing = true;
    store_submit(batch, on_recorded, engine);
}

static bool step(struct nodes_engine *engine, struct wall now,
                 struct err *err) {
    switch (node_refresh_next(&engine->refresh)) {
    case NODE_REFRESH_WAIT:
        return true;
    case NODE_REFRESH_STEP:
        wake(engine);
        return node_refresh_step(&engine->refresh, err);
    case NODE_REFRESH_RECORD:
        record(engine, now);
        return true;
    case NODE_REFRESH_OVER:
        end(engine);
        wake(engine);
        return true;
    }
    return true;
}

/* ---- the engine ---------------------------------------------------------- */

static bool nodes_open(struct role_host *host, void **ret_self,
                       struct err *err) {
    struct nodes_engine *engine = mem_alloc(sizeof(*engine));
    engine->host = host;
    engine->was_asked = true;
    if (!alarm_open(&engine->fd, err)) {
        free(engine);
        return false;
    }
    reset_dues(engine);
    store_listen(host->base->store, on_event, engine);
    uv_poll_init(host->loop, &engine->poll, engine->fd);
    engine->poll.data = engine;
    uv_poll_start(&engine->poll, UV_READABLE, on_alarm);
    *ret_self = engine;
    return true;
}

static void nodes_reload(void *self) {
    struct nodes_engine *engine = self;
    drop(engine);
    reset_dues(engine);
}

static void nodes_set_back(void *self, struct wall now, int64_t ms) {
    struct nodes_engine *engine = self;
    (void)now;
    for (size_t i = 0; i < engine->source_count; i++)
        engine->dues[i] = wall_set_back(engine->dues[i], ms);
}

static bool work(struct nodes_engine *engine, struct wall now,
                 struct err *err) {
    if (engine->was_asked && !read_asked(engine, err))
        return false;
    if (!engine->is_refreshing && next_due(engine).ns > now.ns)
        return true;
    return (engine->is_refreshing || begin(engine, now, err)) &&
           step(engine, now, err);
}

static bool nodes_turn(void *self, const struct role_turn *turn,
                       struct wall *ret_next, struct err *err) {
    struct nodes_engine *engine = self;
    struct wall next;
    (void)ret_next;
    if (turn->is_stopping || engine->is_draining || engine->is_writing)
        return true;
    if (!work(engine, turn->now, err))
        put_off(engine, turn->now, err);
    next = next_due(engine);
    engine->is_due = next.ns <= turn->now.ns;
    if (!engine->is_refreshing)
        alarm_set(engine->fd,
                  engine->host->once && !engine->is_due ? WALL_NEVER : next);
    return true;
}

static bool nodes_is_idle(const void *self) {
    const struct nodes_engine *engine = self;
    return !engine->is_writing &&
           (engine->is_draining ||
            (!engine->is_refreshing && !engine->is_due && !engine->was_asked));
}

static void nodes_drain(void *self, enum role_drain how) {
    struct nodes_engine *engine = self;
    (void)how;
    engine->is_draining = true;
    drop(engine);
}

static void nodes_proceed(void *self) {
    struct nodes_engine *engine = self;
    engine->is_draining = false;
    wake(engine);
}

static void on_closed(uv_handle_t *handle) {
    struct nodes_engine *engine = handle->data;
    void (*closed)(void *) = engine->closed;
    void *ctx = engine->closed_ctx;
    close(engine->fd);
    free(engine);
    closed(ctx);
}

static void nodes_close(void *self, void (*closed)(void *ctx), void *ctx) {
    struct nodes_engine *engine = self;
    struct err err;
    drop(engine);
    if (!store_drain(engine->host->base->store, &err))
        log_error("the last changes of nodes may not be recorded: %s",
                  err.text);
    store_unlisten(engine->host->base->store, on_event, engine);
    free(engine->dues);
    engine->closed = closed;
    engine->closed_ctx = ctx;
    uv_close((uv_handle_t *)&engine->poll, on_closed);
}

static const struct role_engine nodes_engine = {
    .open = nodes_open,
    .reload = nodes_reload,
    .set_back = nodes_set_back,
    .turn = nodes_turn,
    .is_idle = nodes_is_idle,
    .drain = nodes_drain,
    .proceed = nodes_proceed,
    .close = nodes_close,
};

const struct role nodes_role = {
    .name = "nodes",
    .help = "finds the nodes that sources name",
    .engine = &nodes_engine,
    .children = ROLE_SCRIPTS,
    .reads_registry = true,
};
