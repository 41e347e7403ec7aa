#include "support/standing_world.h"

#include <stdio.h>
#include <stdlib.h>

#include "support/test.h"

static const uint32_t waits[] = {10, 20};

/* ---- the feed ------------------------------------------------------------ */

static void setup(void *ctx, unsigned slots, struct node_setup *ret_setup) {
    static const struct node_level levels[3] = {
        [1] = {.resource_count = 1, .limits = {STANDING_HOST_LIMIT}}};
    static const uint32_t weights[1] = {1};
    (void)ctx;
    *ret_setup = (struct node_setup){
        .names = {.levels = {SPAN("instance"), SPAN("host"), SPAN("shard")},
                  .level_count = 3,
                  .of_level = {[1] = {SPAN("load")}},
                  .of_worker = {SPAN("slot")}},
        .pass = {.root = SPAN("instance"),
                 .levels = levels,
                 .level_count = 3,
                 .worker_resource_count = 1,
                 .worker_weights = weights,
                 .kill_orphans_after_ms = 5000},
        .host = SPAN("here"),
        .limits = {slots},
    };
}

static bool read_nodes(void *ctx, struct store *store, struct node_pass *pass,
                       bool all, struct wall now, node_feed_came *came,
                       void *came_ctx, struct wall *ret_next, struct err *err) {
    struct standing_world *world = ctx;
    (void)store, (void)now, (void)err;
    for (size_t i = 0; i < STANDING_NODES; i++) {
        const struct standing_node *node = &world->nodes[i];
        struct span name = span_of(node->name);
        if (!all && node->change <= world->read)
            continue;
        if (!node->exists)
            (void)node_pass_drop_node(pass, name, span_of(node->parent));
        else if (node_pass_put_node(pass, node->level, name,
                                    span_of(node->parent), node->enabled,
                                    SPAN("")) == NODE_PUT_ADDED)
            came(came_ctx, name);
    }
    world->read = world->change;
    *ret_next = WALL_NEVER;
    return true;
}

static bool read_jobs(void *ctx, struct store *store, uint64_t *seq,
                      node_feed_visit *visit, void *visit_ctx,
                      struct err *err) {
    struct standing_world *world = ctx;
    uint64_t last = *seq;
    (void)store, (void)err;
    for (size_t i = 0; i < world->job_count; i++) {
        struct standing_def *def = &world->jobs[i];
        struct node_feed_job job = {.num = def->num,
                                    .is_deleted = def->deleted,
                                    .is_valid = !def->invalid,
                                    .spec = def->spec,
                                    .name = span_of(def->name),
                                    .submission = SPAN("{}"),
                                    .why = mem_string("a test says so")};
        if (*seq != 0 && def->seq <= *seq) {
            free(job.why);
            continue;
        }
        if (def->seq > last)
            last = def->seq;
        visit(visit_ctx, &job);
    }
    *seq = last;
    return true;
}

static void release(struct node_feed_job *job) {
    free(job->why);
}

static struct standing_world *the_world;

static bool read_forgives(void *ctx, struct store *store, struct arena *arena,
                          struct node_feed_forgive **ret_forgives,
                          size_t *ret_count, struct err *err) {
    struct standing_world *world = ctx;
    (void)store, (void)err;
    *ret_count = world->forgive_count;
    *ret_forgives =
        arena_alloc(arena, (*ret_count + 1) * sizeof(**ret_forgives));
    memcpy(*ret_forgives, world->forgives, *ret_count * sizeof(**ret_forgives));
    return true;
}

/* The worlds here never lose a batch between the request and its commit. */
static void forgiven(struct store_batch *batch, uint64_t seq) {
    struct standing_world *world = the_world;
    (void)batch;
    for (size_t i = 0; i < world->forgive_count; i++)
        if (world->forgives[i].seq == seq) {
            world->forgives[i] = world->forgives[--world->forgive_count];
            return;
        }
}

/* ---- changes ------------------------------------------------------------- */

static void note(struct standing_world *world, enum event_kind kind,
                 uint64_t num, struct wall now) {
    struct store_batch *batch = store_batch_new(world->store);
    store_batch_actor(batch, now, SPAN("uid:7"));
    store_note(batch, kind, num, num == 0 ? SPAN("test") : SPAN(""),
               SPAN("changed"), SPAN(""));
    assert_true(store_write(batch, NULL));
    store_batch_free(batch);
}

void standing_world_changed(struct standing_world *world,
                            struct standing_def *def, struct wall now) {
    def->seq = ++world->change;
    note(world, EVENT_STANDING, def->num, now);
}

void standing_world_node_changed(struct standing_world *world,
                                 struct standing_node *node, struct wall now) {
    node->change = ++world->change;
    note(world, EVENT_NODES, 0, now);
}

void standing_world_forgive(struct standing_world *world,
                            const struct standing_def *def, const char *node,
                            struct wall now) {
    size_t at = world->forgive_count++;
    assert_true(at < STANDING_FORGIVES);
    snprintf(world->forgive_nodes[at], sizeof(world->forgive_nodes[at]), "%s",
             node);
    world->forgives[at] =
        (struct node_feed_forgive){.seq = ++world->change,
                                   .num = def->num,
                                   .node = span_of(world->forgive_nodes[at])};
    note(world, EVENT_STANDING, def->num, now);
}

struct standing_node *standing_world_node(struct standing_world *world,
                                          const char *name) {
    for (size_t i = 0; i < STANDING_NODES; i++)
        if (strcmp(world->nodes[i].name, name) == 0)
            return &world->nodes[i];
    fail_msg("there is no node %s", name);
    return NULL;
}

struct standing_def *standing_world_add(struct standing_world *world,
                                        const char *name, struct wall now) {
    struct standing_def *def = &world->jobs[world->job_count++];
    struct store_batch *batch = store_batch_new(world->store);
    struct job job = {.id = span_of(name),
                      .kind = JOB_STANDING,
                      .job_class = CLASS_DC,
                      .state = STATE_PENDING,
                      .key = SPAN("key"),
                      .rank = SPAN("key"),
                      .actor = SPAN("uid:7"),
                      .spec = SPAN("{}")};
    unsigned op;
    assert_true(world->job_count <= STANDING_JOBS);
    store_batch_actor(batch, now, SPAN("uid:7"));
    op = store_admit(batch, &job, NULL, 0, NULL, 0, NULL, 0);
    assert_true(store_write(batch, NULL));
    def->num = store_batch_num(batch, op);
    store_batch_free(batch);
    snprintf(def->name, sizeof(def->name), "%s", name);
    def->spec = (struct node_job_spec){
        .num = def->num,
        .job_class = CLASS_DC,
        .account = SPAN("uid:7"),
        .enabled = true,
        .level = 2,
        .priority = 1000,
        .order = NODE_ORDER_ORIGINAL,
        .demand = {.of_level = {[1] = {1}}, .of_worker = {1}},
        .rules = {.limits = {.max_temp = 3,
                             .max_crash = 3,
                             .backoff_s = waits,
                             .backoff_count = COUNT(waits),
                             .backoff_fails = true,
                             .retries = 1000},
                  .killed_waits = true},
        .kill_orphans_after_ms = 5000,
    };
    standing_world_changed(world, def, now);
    return def;
}

void standing_world_init(struct standing_world *world, struct store *store) {
    size_t at = 0;
    *world = (struct standing_world){
        .store = store,
        .feed = {.ctx = world,
                 .setup = setup,
                 .read_nodes = read_nodes,
                 .read_jobs = read_jobs,
                 .release = release,
                 .read_forgives = read_forgives,
                 .forgiven = forgiven},
        .change = 1,
    };
    the_world = world;
    for (int h = 1; h <= STANDING_HOSTS; h++) {
        struct standing_node *host = &world->nodes[at++];
        *host = (struct standing_node){
            .parent = "instance", .level = 1, .enabled = true, .exists = true};
        snprintf(host->name, sizeof(host->name), "h%d", h);
        for (int s = 1; s <= STANDING_SHARDS; s++) {
            struct standing_node *shard = &world->nodes[at++];
            *shard = (struct standing_node){
                .level = 2, .enabled = true, .exists = true};
            snprintf(shard->name, sizeof(shard->name), "h%ds%d", h, s);
            snprintf(shard->parent, sizeof(shard->parent), "h%d", h);
        }
    }
}
