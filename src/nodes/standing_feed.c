#include "nodes/standing_feed.h"

#include <stdlib.h>
#include <unistd.h>

#include "nodes/node_row.h"
#include "nodes/standing.h"

struct standing_feed {
    struct node_feed feed;
    const struct config *config;
    struct node_settings settings;
    char host[256];
    struct node_mark mark; /* up to which the rows of nodes are read */
};

/* ---- what the configuration says ------------------------------------------
 */

static void setup(void *ctx, unsigned slots, struct node_setup *ret_setup) {
    struct standing_feed *feed = ctx;
    struct node_settings *settings = &feed->settings;
    struct node_names *names = &ret_setup->names;

    node_settings_read(feed->config, settings);
    *ret_setup = (struct node_setup){
        .names.level_count = settings->level_count,
        .pass = {.root = settings->level_names[0],
                 .levels = settings->levels,
                 .level_count = settings->level_count,
                 .worker_resource_count = settings->worker_resource_count,
                 .worker_weights = settings->worker_weights,
                 .policy = settings->policy,
                 .selector = settings->selector,
                 .kill_orphans_after_ms = settings->kill_orphans_after_ms},
        .host = span_of(feed->host),
    };
    memcpy(names->levels, settings->level_names, sizeof(names->levels));
    memcpy(names->of_level, settings->names, sizeof(names->of_level));
    memcpy(names->of_worker, settings->worker_names, sizeof(names->of_worker));
    node_settings_worker_limits(settings, ret_setup->host, ret_setup->limits);
    ret_setup->limits[NODE_SLOT] = slots;
}

static void set_limits(const struct standing_feed *feed,
                       struct node_pass *pass) {
    const struct node_tree *tree = node_pass_tree(pass);
    struct span name;
    unsigned level, resource;
    int64_t limit;

    for (size_t i = 0; node_settings_limit_at(&feed->settings, i, &name, &level,
                                              &resource, &limit);
         i++) {
        uint32_t node = node_tree_find(tree, name);
        if (node != NODE_NONE && tree->nodes[node].level == level)
            node_pass_set_limit(pass, node, resource, limit);
    }
}

static void set_accounts(const struct standing_feed *feed,
                         struct node_pass *pass) {
    struct span name;
    uint32_t weight, limit;

    for (size_t i = 0;
         node_settings_account_at(&feed->settings, i, &name, &weight, &limit);
         i++)
        node_pass_set_account(pass, name, weight, limit);
}

/* ---- nodes ----------------------------------------------------------------
 */

struct reading {
    const struct standing_feed *feed;
    struct node_pass *pass;
    struct wall now;
    node_feed_came *came;
    void *came_ctx;
};

/* False: its parent is not there yet. */
static bool put(const struct reading *reading, const struct node_row *row) {
    const struct standing_feed *feed = reading->feed;
    struct span parent =
        row->parent.len > 0 ? row->parent : feed->settings.level_names[0];
    unsigned level;
    enum node_put result;

    if (!node_config_level(feed->config, row->level, &level))
        return true; /* the level is gone, until the next refresh */
    result =
        node_pass_put_node(reading->pass, level, row->name, parent,
                           node_row_is_enabled(row, reading->now), row->tags);
    if (result == NODE_PUT_ADDED)
        reading->came(reading->came_ctx, row->name);
    return result != NODE_PUT_NO_PARENT;
}

/* A row may come before that of its parent. */
static void put_all(const struct reading *reading, struct node_row *rows,
                    size_t count) {
    size_t left = count, before;

    do {
        before = left;
        left = 0;
        for (size_t i = 0; i < before; i++)
            if (!put(reading, &rows[i]))
                rows[left++] = rows[i];
    } while (left > 0 && left < before);
}

/* Takes out what is gone; returns the number of the other rows, which come
 * first from then on. */
static size_t drop_gone(const struct reading *reading, struct node_row *rows,
                        size_t count) {
    size_t left = 0;

    for (size_t i = 0; i < count; i++)
        if (rows[i].gone.ns == 0)
            rows[left++] = rows[i];
        else
            (void)node_pass_drop_node(
                reading->pass, rows[i].name,
                rows[i].parent.len > 0
                    ? rows[i].parent
                    : reading->feed->settings.level_names[0]);
    return left;
}

/* When an operator's window ends, the node is enabled without any event. */
static struct wall next_end(const struct node_row *rows, size_t count,
                            struct wall now) {
    struct wall next = WALL_NEVER;

    for (size_t i = 0; i < count; i++)
        if (rows[i].window.until.ns > now.ns &&
            rows[i].window.until.ns < next.ns)
            next = rows[i].window.until;
    return next;
}

/* While windows have ends, all rows are read: there are few such times. */
static bool read_nodes(void *ctx, struct store *store, struct node_pass *pass,
                       bool all, struct wall now, node_feed_came *came,
                       void *came_ctx, struct wall *ret_next, struct err *err) {
    CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
    struct standing_feed *feed = ctx;
    const struct reading reading = {feed, pass, now, came, came_ctx};
    struct node_row *rows;
    size_t count;

    if (all || ret_next->ns != WALL_NEVER.ns)
        feed->mark = (struct node_mark){0};
    if (!node_row_changes(store, &feed->mark, 0, &arena, &rows, &count, err))
        return false;
    if (all)
        set_accounts(feed, pass);
    count = drop_gone(&reading, rows, count);
    put_all(&reading, rows, count);
    set_limits(feed, pass);
    *ret_next = next_end(rows, count, now);
    return true;
}

/* ---- standing jobs --------------------------------------------------------
 */

static bool find_name(void *ctx, struct span name, uint64_t *ret_num) {
    CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
    struct standing_row row;
    struct err err;
    bool found;

    if (!standing_row_find(ctx, name, &arena, &row, &found, &err) || !found)
        return false;
    *ret_num = row.num;
    return true;
}

static void visit_row(const struct standing_feed *feed, struct store *store,
                      const struct standing_row *row, node_feed_visit *visit,
                      void *visit_ctx) {
    const struct standing_names names = {find_name, store};
    struct node_feed_job job = {
        .num = row->num, .name = row->name, .is_deleted = row->deleted};
    struct standing *standing = mem_alloc(sizeof(*standing));
    struct err err;

    if (!row->deleted &&
        standing_make(row, &feed->settings, &names, standing, &err)) {
        job.is_valid = true;
        job.spec = standing->spec;
        job.name = standing->name;
        job.submission = standing->submission;
        job.memory = standing;
    } else {
        job.why = mem_string(row->deleted ? "" : err.text);
        free(standing);
    }
    visit(visit_ctx, &job);
}

static bool read_jobs(void *ctx, struct store *store, uint64_t *seq,
                      node_feed_visit *visit, void *visit_ctx,
                      struct err *err) {
    CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
    struct standing_row *rows;
    size_t count;

    if (!standing_row_list(store, *seq, 0, &arena, &rows, &count, err))
        return false;
    for (size_t i = 0; i < count; i++) {
        visit_row(ctx, store, &rows[i], visit, visit_ctx);
        *seq = rows[i].seq;
    }
    return true;
}

static void release(struct node_feed_job *job) {
    struct standing *standing = job->memory;

    if (standing != NULL)
        standing_clear(standing);
    free(standing);
    free(job->why);
}

static bool read_forgives(void *ctx, struct store *store, struct arena *arena,
                          struct node_feed_forgive **ret_forgives,
                          size_t *ret_count, struct err *err) {
    struct standing_forgive *requests;

    (void)ctx;
    if (!standing_row_forgives(store, arena, &requests, ret_count, err))
        return false;
    *ret_forgives =
        arena_alloc(arena, (*ret_count + 1) * sizeof(**ret_forgives));
    for (size_t i = 0; i < *ret_count; i++)
        (*ret_forgives)[i] = (struct node_feed_forgive){
            requests[i].seq, requests[i].num, requests[i].node};
    return true;
}

static void forgiven(struct store_batch *batch, uint64_t seq) {
    (void)standing_row_forgiven(batch, seq);
}

/* ---- life -----------------------------------------------------------------
 */

struct standing_feed *standing_feed_new(const struct config *config) {
    struct standing_feed *feed = mem_alloc(sizeof(*feed));

    feed->config = config;
    if (gethostname(feed->host, sizeof(feed->host) - 1) != 0)
        feed->host[0] = '\0';
    feed->feed = (struct node_feed){
        .ctx = feed,
        .setup = setup,
        .read_nodes = read_nodes,
        .read_jobs = read_jobs,
        .release = release,
        .read_forgives = read_forgives,
        .forgiven = forgiven,
    };
    return feed;
}

void standing_feed_free(struct standing_feed *feed) {
    free(feed);
}

const struct node_feed *standing_feed_of(struct standing_feed *feed) {
    return &feed->feed;
}
