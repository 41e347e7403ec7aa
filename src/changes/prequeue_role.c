/* The prequeue as a role: when to scan and how long to wait. */
#include <inttypes.h>
#include <stdlib.h>

#include "lib/log.h"
#include "changes/prequeue.h"

enum { RETRY_MS = 1000 };

struct prequeue_engine {
    struct role_host *host;
    struct prequeue *prequeue;
    bool once;
    bool has_scanned;
    struct wall next;
};

static bool engine_open(struct role_host *host, void **ret_self,
                        struct err *err) {
    struct prequeue_engine *engine = mem_alloc(sizeof(*engine));
    (void)err;
    engine->prequeue =
        prequeue_new(host->base, host->checker, host->projection);
    engine->host = host;
    host->awaits_rollback = true; /* until the first scan */
    engine->once = host->once;
    *ret_self = engine;
    return true;
}

static void engine_reload(void *self) {
    struct prequeue_engine *engine = self;
    prequeue_configure(engine->prequeue);
}

static void scan(struct prequeue_engine *engine, struct wall now) {
    struct err err;
    if (!prequeue_scan(engine->prequeue, now, &engine->next, &err)) {
        log_error("cannot read prequeue/, trying again: %s", err.text);
        engine->next = wall_add_ms(now, RETRY_MS);
    }
    engine->host->awaits_rollback = prequeue_has_rollback(engine->prequeue);
    if (engine->once && engine->has_scanned && engine->next.ns > now.ns)
        engine->next = WALL_NEVER;
    engine->has_scanned = true;
}

static void engine_set_back(void *self, struct wall now, int64_t ms) {
    struct prequeue_engine *engine = self;
    (void)now;
    prequeue_set_back(engine->prequeue, ms);
    engine->next = wall_set_back(engine->next, ms);
}

static bool engine_turn(void *self, const struct role_turn *turn,
                        struct wall *ret_next, struct err *err) {
    struct prequeue_engine *engine = self;
    (void)err;
    if (turn->is_stopping)
        return true;
    if (turn->look || turn->now.ns >= engine->next.ns ||
        prequeue_is_due(engine->prequeue))
        scan(engine, turn->now);
    *ret_next = engine->next;
    return true;
}

static bool engine_is_idle(const void *self) {
    const struct prequeue_engine *engine = self;
    return engine->has_scanned && !prequeue_is_due(engine->prequeue) &&
           prequeue_is_idle(engine->prequeue);
}

static void engine_metrics(const void *self, struct text *out) {
    const struct prequeue_engine *engine = self;
    struct prequeue_tally tally = prequeue_tally(engine->prequeue);
    text_addf(out,
              "# TYPE pointsman_prequeue_total counter\n"
              "pointsman_prequeue_total{result=\"admitted\"} %" PRIu64 "\n"
              "pointsman_prequeue_total{result=\"rejected\"} %" PRIu64 "\n",
              tally.admitted, tally.rejected);
}

static void engine_close(void *self, void (*closed)(void *ctx), void *ctx) {
    struct prequeue_engine *engine = self;
    prequeue_free(engine->prequeue);
    free(engine);
    closed(ctx);
}

static const struct role_engine prequeue_engine = {
    .open = engine_open,
    .reload = engine_reload,
    .set_back = engine_set_back,
    .turn = engine_turn,
    .is_idle = engine_is_idle,
    .metrics = engine_metrics,
    .close = engine_close,
};

const struct role prequeue_role = {
    .name = "prequeue",
    .help = "accepts change sets",
    .engine = &prequeue_engine,
    .children = ROLE_CHECKS,
    .is_hosted = true,
};
