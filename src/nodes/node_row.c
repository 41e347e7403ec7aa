#include "nodes/node_row.h"

#include <inttypes.h>

extern const struct store_step node_row_steps[]; /* schema/NNN.sql */

enum {
    PUT,
    DROP,
    PRUNE,
    LIST,
    CHANGES,
    EXISTS,
    SOURCE_PUT,
    SOURCE_ASK,
    SOURCE_DROP,
    SOURCES
};

#define COLUMNS                                                              \
    "n.name, n.parent, n.level, n.source, n.place, n.enabled, n.tags, "      \
    "n.expires, n.gone, n.seq, coalesce(w.since, 0), coalesce(w.until, 0), " \
    "coalesce(w.reason, ''), coalesce(w.actor, '') "                         \
    "FROM node n LEFT JOIN node_window w ON w.node = n.name "

/* clang-format off */
static const char *const statements[] = {
    [PUT] =
        ("INSERT INTO node (name, parent, level, source, place, enabled, tags, "
         "expires, gone, seq) VALUES (?1, ?2, ?3, ?4, coalesce((SELECT place "
         "FROM node ORDER BY place DESC LIMIT 1), 0) + 1, ?5, ?6, ?7, 0, ?8) "
         "ON CONFLICT (name, parent) DO UPDATE SET level = excluded.level, "
         "source = excluded.source, enabled = excluded.enabled, "
         "tags = excluded.tags, expires = excluded.expires, gone = 0, "
         "seq = excluded.seq, place = CASE WHEN node.gone > 0 "
         "THEN excluded.place ELSE node.place END"),
    [DROP] =
        ("UPDATE node SET gone = ?3, seq = ?4 "
         "WHERE name = ?1 AND parent = ?2 AND gone = 0"),
    [PRUNE] =
        ("DELETE FROM node WHERE (name, parent) IN (SELECT name, parent "
         "FROM node WHERE gone > 0 AND gone < ?1 ORDER BY gone LIMIT ?2)"),
    [LIST] =
        ("SELECT " COLUMNS "WHERE n.place > ?1 AND n.gone = 0 "
         "ORDER BY n.place LIMIT ?2"),
    [CHANGES] =
        ("SELECT " COLUMNS "WHERE (n.seq, n.place) > (?1, ?2) "
         "ORDER BY n.seq, n.place LIMIT ?3"),
    [EXISTS] = "SELECT place FROM node WHERE name = ?1 AND gone = 0 LIMIT 1",
    [SOURCE_PUT] =
        ("INSERT INTO node_source (name, refreshed, nodes, failed, error, "
         "added, changed, removed, asked) "
         "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, 0) "
         "ON CONFLICT (name) DO UPDATE SET refreshed = excluded.refreshed, "
         "nodes = excluded.nodes, failed = excluded.failed, "
         "error = excluded.error, added = excluded.added, "
         "changed = excluded.changed, removed = excluded.removed, "
         "asked = CASE WHEN node_source.asked > ?9 "
         "THEN node_source.asked ELSE 0 END"),
    [SOURCE_ASK] =
        ("INSERT INTO node_source (name, refreshed, nodes, failed, error, "
         "asked) VALUES (?1, 0, 0, 0, '', ?2) "
         "ON CONFLICT (name) DO UPDATE SET asked = excluded.asked"),
    [SOURCE_DROP] = "DELETE FROM node_source WHERE name = ?1",
    [SOURCES] =
        ("SELECT name, refreshed, nodes, failed, error, added, changed, "
         "removed, asked FROM node_source ORDER BY name"),
};
/* clang-format on */

/* ---- what the operations do, inside the transaction ---------------------- */

static bool put_operate(struct store_operation *operation, void *args,
                        struct err *err) {
    const struct node_row *row = args;

    operation->result = STORE_DONE;
    return store_run(
        operation->tables, &node_noun, PUT,
        STORE_VALUES(store_text(row->name), store_text(row->parent),
                     store_text(row->level), store_text(row->source),
                     store_number(row->enabled), store_text(row->tags),
                     store_number(row->expires.ns),
                     store_number((int64_t)operation->next_seq)),
        NULL, err);
}

static bool drop_operate(struct store_operation *operation, void *args,
                         struct err *err) {
    const struct node_row *row = args;
    uint64_t dropped = 0;
    bool ok =
        store_run(operation->tables, &node_noun, DROP,
                  STORE_VALUES(store_text(row->name), store_text(row->parent),
                               store_number(row->gone.ns),
                               store_number((int64_t)operation->next_seq)),
                  &dropped, err);

    operation->result = dropped > 0 ? STORE_DONE : STORE_UNKNOWN;
    return ok;
}

struct changed_args {
    struct span source;
    struct node_counts counts;
};

static bool changed_operate(struct store_operation *operation, void *args,
                            struct err *err) {
    const struct changed_args *changed = args;
    const struct node_counts *counts = &changed->counts;
    const struct event_facts facts = {.source = changed->source,
                                      .added = (int64_t)counts->added,
                                      .changed = (int64_t)counts->changed,
                                      .removed = (int64_t)counts->removed};
    struct span detail = span_of(arena_printf(
        operation->arena,
        "%" PRIu64 " added, %" PRIu64 " changed, %" PRIu64 " removed",
        counts->added, counts->changed, counts->removed));

    operation->result = STORE_DONE;
    return store_operation_event_facts(operation, EVENT_NODES, changed->source,
                                       SPAN("changed"), detail, &facts, err);
}

struct prune_args {
    struct wall before;
    size_t limit;
};

static bool prune_operate(struct store_operation *operation, void *args,
                          struct err *err) {
    const struct prune_args *prune = args;

    operation->result = STORE_DONE;
    return store_run(operation->tables, &node_noun, PRUNE,
                     STORE_VALUES(store_number(prune->before.ns),
                                  store_number((int64_t)prune->limit)),
                     NULL, err);
}

struct source_args {
    struct node_source_row row;
    struct span detail;
};

static bool source_operate(struct store_operation *operation, void *args,
                           struct err *err) {
    const struct source_args *source = args;
    const struct node_source_row *row = &source->row;

    operation->result = STORE_DONE;
    return store_run(operation->tables, &node_noun, SOURCE_PUT,
                     STORE_VALUES(
                         store_text(row->name), store_number(row->refreshed.ns),
                         store_number((int64_t)row->nodes),
                         store_number(row->failed.ns), store_text(row->error),
                         store_number((int64_t)row->counts.added),
                         store_number((int64_t)row->counts.changed),
                         store_number((int64_t)row->counts.removed),
                         store_number((int64_t)row->asked)),
                     NULL, err) &&
           (source->detail.len == 0 ||
            store_operation_event(operation, EVENT_NODES, row->name,
                                  row->failed.ns > 0 ? SPAN("failed")
                                                     : SPAN("refreshed"),
                                  source->detail, err));
}

static bool ask_operate(struct store_operation *operation, void *args,
                        struct err *err) {
    struct span name = *(const struct span *)args;

    operation->result = STORE_DONE;
    return store_run(operation->tables, &node_noun, SOURCE_ASK,
                     STORE_VALUES(store_text(name),
                                  store_number((int64_t)operation->next_seq)),
                     NULL, err) &&
           store_operation_event(operation, EVENT_NODES, name, SPAN("asked"),
                                 SPAN("to be refreshed"), err);
}

static bool drop_source_operate(struct store_operation *operation, void *args,
                                struct err *err) {
    uint64_t dropped = 0;
    bool ok = store_run(operation->tables, &node_noun, SOURCE_DROP,
                        STORE_VALUES(store_text(*(const struct span *)args)),
                        &dropped, err);

    operation->result = dropped > 0 ? STORE_DONE : STORE_UNKNOWN;
    return ok;
}

/* ---- writing ------------------------------------------------------------- */

unsigned node_row_put(struct store_batch *batch, const struct node_row *row) {
    struct arena *arena = store_batch_arena(batch);
    struct node_row *args = arena_alloc(arena, sizeof(*args));

    *args = *row;
    args->name = arena_span(arena, row->name);
    args->parent = arena_span(arena, row->parent);
    args->level = arena_span(arena, row->level);
    args->source = arena_span(arena, row->source);
    args->tags = arena_span(arena, row->tags);
    return store_operation_add(batch, put_operate, args);
}

unsigned node_row_drop(struct store_batch *batch, struct span name,
                       struct span parent, struct wall now) {
    struct arena *arena = store_batch_arena(batch);
    struct node_row *args = arena_alloc(arena, sizeof(*args));

    args->name = arena_span(arena, name);
    args->parent = arena_span(arena, parent);
    args->gone = now;
    return store_operation_add(batch, drop_operate, args);
}

unsigned node_row_changed(struct store_batch *batch, struct span source,
                          const struct node_counts *counts) {
    struct arena *arena = store_batch_arena(batch);
    struct changed_args *args = arena_alloc(arena, sizeof(*args));

    args->source = arena_span(arena, source);
    args->counts = *counts;
    return store_operation_add(batch, changed_operate, args);
}

unsigned node_row_prune(struct store_batch *batch, struct wall before,
                        size_t limit) {
    struct prune_args *args =
        arena_alloc(store_batch_arena(batch), sizeof(*args));

    *args = (struct prune_args){before, limit};
    return store_operation_add(batch, prune_operate, args);
}

unsigned node_row_put_source(struct store_batch *batch,
                             const struct node_source_row *source,
                             struct span detail) {
    struct arena *arena = store_batch_arena(batch);
    struct source_args *args = arena_alloc(arena, sizeof(*args));

    args->row = *source;
    args->row.name = arena_span(arena, source->name);
    args->row.error = arena_span(arena, source->error);
    args->detail = arena_span(arena, detail);
    return store_operation_add(batch, source_operate, args);
}

unsigned node_row_ask(struct store_batch *batch, struct span source) {
    struct arena *arena = store_batch_arena(batch);
    struct span *args = arena_alloc(arena, sizeof(*args));

    *args = arena_span(arena, source);
    return store_operation_add(batch, ask_operate, args);
}

unsigned node_row_drop_source(struct store_batch *batch, struct span name) {
    struct arena *arena = store_batch_arena(batch);
    struct span *args = arena_alloc(arena, sizeof(*args));

    *args = arena_span(arena, name);
    return store_operation_add(batch, drop_source_operate, args);
}

/* ---- reading ------------------------------------------------------------- */

bool node_row_is_enabled(const struct node_row *row, struct wall now) {
    const struct node_window *window = &row->window;

    return row->enabled &&
           (window->since.ns == 0 ||
            (window->until.ns > 0 && window->until.ns <= now.ns));
}

static struct node_row row_of(const struct store_query *query,
                              struct arena *arena) {
    return (struct node_row){
        .name = store_query_text(query, 0, arena),
        .parent = store_query_text(query, 1, arena),
        .level = store_query_text(query, 2, arena),
        .source = store_query_text(query, 3, arena),
        .place = store_query_number(query, 4),
        .enabled = store_query_number(query, 5) != 0,
        .tags = store_query_text(query, 6, arena),
        .expires = {store_query_number(query, 7)},
        .gone = {store_query_number(query, 8)},
        .seq = (uint64_t)store_query_number(query, 9),
        .window = {.since = {store_query_number(query, 10)},
                   .until = {store_query_number(query, 11)},
                   .reason = store_query_text(query, 12, arena),
                   .actor = store_query_text(query, 13, arena)},
        .is_kept = true,
    };
}

static bool read_rows(struct store_query *query, struct arena *arena,
                      struct node_row **ret_rows, size_t *ret_count,
                      struct err *err) {
    size_t room = 0;
    bool found;

    while (store_query_next(query, &found, err)) {
        if (!found)
            return true;
        if (*ret_count == room) {
            struct node_row *more =
                arena_alloc(arena, (room * 2 + 64) * sizeof(*more));
            if (*ret_count > 0)
                memcpy(more, *ret_rows, *ret_count * sizeof(*more));
            *ret_rows = more;
            room = room * 2 + 64;
        }
        (*ret_rows)[(*ret_count)++] = row_of(query, arena);
    }
    return false;
}

bool node_row_exists(struct store *store, struct span name, bool *ret_found,
                     struct err *err) {
    CLEANUP(store_query_end) struct store_query query = {0};

    return store_query_begin(&query, store_tables(store), &node_noun, EXISTS,
                             STORE_VALUES(store_text(name)), err) &&
           store_query_next(&query, ret_found, err);
}

static int64_t most_of(size_t limit) {
    return limit == 0 ? INT64_MAX : (int64_t)limit;
}

bool node_row_list(struct store *store, int64_t after, size_t limit,
                   struct arena *arena, struct node_row **ret_rows,
                   size_t *ret_count, struct err *err) {
    CLEANUP(store_query_end) struct store_query query = {0};

    *ret_rows = NULL;
    *ret_count = 0;
    return store_query_begin(
               &query, store_tables(store), &node_noun, LIST,
               STORE_VALUES(store_number(after), store_number(most_of(limit))),
               err) &&
           read_rows(&query, arena, ret_rows, ret_count, err);
}

bool node_row_changes(struct store *store, struct node_mark *mark, size_t limit,
                      struct arena *arena, struct node_row **ret_rows,
                      size_t *ret_count, struct err *err) {
    CLEANUP(store_query_end) struct store_query query = {0};

    *ret_rows = NULL;
    *ret_count = 0;
    if (!store_query_begin(&query, store_tables(store), &node_noun, CHANGES,
                           STORE_VALUES(store_number((int64_t)mark->seq),
                                        store_number(mark->place),
                                        store_number(most_of(limit))),
                           err) ||
        !read_rows(&query, arena, ret_rows, ret_count, err))
        return false;
    if (*ret_count > 0)
        *mark = (struct node_mark){(*ret_rows)[*ret_count - 1].seq,
                                   (*ret_rows)[*ret_count - 1].place};
    return true;
}

bool node_row_sources(struct store *store, struct arena *arena,
                      struct node_source_row **ret_rows, size_t *ret_count,
                      struct err *err) {
    CLEANUP(store_query_end) struct store_query query = {0};
    size_t room = 0;
    bool found;

    *ret_rows = NULL;
    *ret_count = 0;
    if (!store_query_begin(&query, store_tables(store), &node_noun, SOURCES,
                           NULL, 0, err))
        return false;
    while (store_query_next(&query, &found, err)) {
        if (!found)
            return true;
        if (*ret_count == room) {
            struct node_source_row *more =
                arena_alloc(arena, (room * 2 + 16) * sizeof(*more));
            if (*ret_count > 0)
                memcpy(more, *ret_rows, *ret_count * sizeof(*more));
            *ret_rows = more;
            room = room * 2 + 16;
        }
        (*ret_rows)[(*ret_count)++] = (struct node_source_row){
            .name = store_query_text(&query, 0, arena),
            .refreshed = {store_query_number(&query, 1)},
            .nodes = (uint64_t)store_query_number(&query, 2),
            .failed = {store_query_number(&query, 3)},
            .error = store_query_text(&query, 4, arena),
            .counts = {.added = (uint64_t)store_query_number(&query, 5),
                       .changed = (uint64_t)store_query_number(&query, 6),
                       .removed = (uint64_t)store_query_number(&query, 7)},
            .asked = (uint64_t)store_query_number(&query, 8)};
    }
    return false;
}

const struct store_noun node_noun = {
    .name = "node",
    .steps = node_row_steps,
    .statements = statements,
    .statement_count = COUNT(statements),
};
