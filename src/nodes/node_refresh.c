#include "nodes/node_refresh.h"

#include <inttypes.h>
#include <stdlib.h>

#include "nodes/node_config.h"
#include "nodes/node_source.h"

enum { STEP_ROWS = 5000 };

void node_refresh_clear(struct node_refresh *refresh) {
    arena_clear(&refresh->arena);
    node_list_clear(&refresh->list);
}

/* ---- as it is to be ------------------------------------------------------ */

/* What the source had. A node whose parent is gone, or whose name another
 * source has now, cannot stay. */
static void keep_rows(struct node_refresh *refresh,
                      const struct config_node_source *source) {
    size_t most = refresh->list.most;

    refresh->list.most = SIZE_MAX; /* there are as many already */
    for (size_t i = 0; i < refresh->row_count; i++) {
        const struct node_row *row = &refresh->rows[i];
        struct err err;
        unsigned level;
        if (span_equal(row->source, source->name) &&
            node_config_level(&refresh->base->config, row->level, &level))
            (void)node_list_add(&refresh->list, row, level, &err);
    }
    refresh->list.most = most;
}

static void make_source(struct node_refresh *refresh,
                        const struct config_node_source *source,
                        struct node_refresh_source *result) {
    size_t before = refresh->list.count;

    result->name = arena_span(&refresh->arena, source->name);
    for (size_t i = 0; i < refresh->recorded_count; i++)
        if (span_equal(refresh->recorded[i].name, result->name))
            result->before = refresh->recorded[i];
    if (!result->is_chosen || !node_source_make(refresh->base, source,
                                                &refresh->list, &result->err)) {
        node_list_cut(&refresh->list, before);
        keep_rows(refresh, source);
    }
    result->nodes = refresh->list.count - before;
}

static bool make_list(struct node_refresh *refresh, struct span only,
                      struct err *err) {
    const struct config *config = &refresh->base->config;
    const struct config_node_source *source;
    size_t chosen = 0, count = 0;

    while (node_config_source_at(config, count) != NULL)
        count++;
    refresh->sources =
        arena_alloc(&refresh->arena, (count + 1) * sizeof(*refresh->sources));
    refresh->source_count = count;
    for (size_t i = 0; (source = node_config_source_at(config, i)) != NULL;
         i++) {
        refresh->sources[i].is_chosen =
            only.len == 0 || span_equal(source->name, only);
        chosen += refresh->sources[i].is_chosen;
        make_source(refresh, source, &refresh->sources[i]);
    }
    return chosen > 0 || only.len == 0 ||
           err_set(err, ERR_NO_JOB,
                   "there is no section [node-source \"%.*s\"]", (int)only.len,
                   only.p);
}

/* ---- the difference ------------------------------------------------------ */

static struct node_refresh_source *source_of(struct node_refresh *refresh,
                                             struct span name) {
    for (size_t i = 0; i < refresh->source_count; i++)
        if (span_equal(refresh->sources[i].name, name))
            return &refresh->sources[i];
    return NULL;
}

static bool is_same(const struct node_row *a, const struct node_row *b) {
    return span_equal(a->level, b->level) && span_equal(a->source, b->source) &&
           a->enabled == b->enabled && span_equal(a->tags, b->tags) &&
           a->expires.ns == b->expires.ns;
}

/* The source that was refreshed last goes first, because nodes of later sources
 * are below those of earlier ones, but not the other way round. */
static int drops_sooner(const void *a, const void *b) {
    const struct node_row *x = *(struct node_row *const *)a;
    const struct node_row *y = *(struct node_row *const *)b;
    int order = (x->depth < y->depth) - (x->depth > y->depth);

    return order != 0 ? order : (x->place < y->place) - (x->place > y->place);
}

/* Rows of the list that are kept need not be written; a row that is only
 * changed has its place. */
static void compare(struct node_refresh *refresh) {
    refresh->drops = arena_alloc(&refresh->arena, (refresh->row_count + 1) *
                                                      sizeof(*refresh->drops));
    for (size_t i = 0; i < refresh->list.count; i++) {
        refresh->list.rows[i].is_kept = false;
        refresh->list.rows[i].place = 0;
        source_of(refresh, refresh->list.rows[i].source)->counts.added++;
    }
    for (size_t i = 0; i < refresh->row_count; i++) {
        struct node_row *row = &refresh->rows[i];
        struct node_row *wanted =
            node_list_find(&refresh->list, row->name, row->parent);
        struct node_refresh_source *source =
            source_of(refresh, wanted != NULL ? wanted->source : row->source);
        if (wanted == NULL) {
            refresh->drops[refresh->drop_count++] = row;
            row->depth =
                source == NULL ? 0 : (unsigned)(source - refresh->sources) + 1;
            if (source != NULL)
                source->counts.removed++;
            continue;
        }
        wanted->place = row->place;
        wanted->is_kept = is_same(row, wanted);
        source->counts.added--;
        source->counts.changed += !wanted->is_kept;
    }
    qsort(refresh->drops, refresh->drop_count, sizeof(struct node_row *),
          drops_sooner);
}

bool node_refresh_begin(struct node_refresh *refresh, const struct base *base,
                        struct span only, struct wall now, struct err *err) {
    const struct config_nodes *nodes = node_config(&base->config);

    *refresh = (struct node_refresh){.base = base, .now = now};
    node_list_init(&refresh->list, (size_t)nodes->max_nodes);
    if (!node_row_list(base->store, 0, 0, &refresh->arena, &refresh->rows,
                       &refresh->row_count, err) ||
        !node_row_sources(base->store, &refresh->arena, &refresh->recorded,
                          &refresh->recorded_count, err) ||
        !make_list(refresh, only, err)) {
        node_refresh_clear(refresh);
        return false;
    }
    compare(refresh);
    return true;
}

/* ---- recording ----------------------------------------------------------- */

/* The nodes that changed have events of their own. The same error is told
 * once. */
static struct span detail_of(const struct node_refresh_source *source,
                             struct arena *arena) {
    struct span error = span_of(source->err.text);

    if (error.len > 0)
        return span_equal(error, source->before.error) ? SPAN("") : error;
    if (source->before.failed.ns == 0)
        return SPAN("");
    return span_of(arena_printf(arena, "%" PRIu64 " nodes", source->nodes));
}

static void add_result(struct node_refresh *refresh,
                       const struct node_refresh_source *source,
                       struct store_batch *batch) {
    bool failed = source->err.text[0] != '\0';
    struct node_source_row row = {
        .name = source->name,
        .refreshed = failed ? source->before.refreshed : refresh->now,
        .nodes = source->nodes,
        .failed = failed ? refresh->now : (struct wall){0},
        .error = span_of(source->err.text)};

    node_row_put_source(batch, &row,
                        detail_of(source, store_batch_arena(batch)));
}

static void add_results(struct node_refresh *refresh,
                        struct store_batch *batch) {
    for (size_t i = 0; i < refresh->source_count; i++)
        if (refresh->sources[i].is_chosen)
            add_result(refresh, &refresh->sources[i], batch);
    for (size_t i = 0; i < refresh->recorded_count; i++)
        if (source_of(refresh, refresh->recorded[i].name) == NULL)
            node_row_drop_source(batch, refresh->recorded[i].name);
}

/* Counts in one event the rows that follow each other and are of one source. */
struct recording {
    struct store_batch *batch;
    struct span source;
    struct node_counts counts;
    size_t rows;
};

static void end_event(struct recording *recording) {
    const struct node_counts *counts = &recording->counts;

    if (counts->added + counts->changed + counts->removed > 0)
        node_row_changed(recording->batch, recording->source, counts);
    recording->counts = (struct node_counts){0};
}

static struct node_counts *count_row(struct recording *recording,
                                     struct span source) {
    if (!span_equal(recording->source, source))
        end_event(recording);
    recording->source = source;
    recording->rows++;
    return &recording->counts;
}

static void put(struct recording *recording, const struct node_row *row) {
    struct node_counts *counts = count_row(recording, row->source);

    node_row_put(recording->batch, row);
    if (row->place > 0)
        counts->changed++;
    else
        counts->added++;
}

static void drop(struct recording *recording, const struct node_row *row,
                 struct wall now) {
    count_row(recording, row->source)->removed++;
    node_row_drop(recording->batch, row->name, row->parent, now);
}

void node_refresh_step(struct node_refresh *refresh,
                       struct store_batch *batch) {
    struct recording recording = {.batch = batch};
    struct wall before = wall_from_s(wall_s(refresh->now) - NODE_GONE_KEPT_S);

    for (; refresh->put_at < refresh->list.count && recording.rows < STEP_ROWS;
         refresh->put_at++)
        if (!refresh->list.rows[refresh->put_at].is_kept)
            put(&recording, &refresh->list.rows[refresh->put_at]);
    for (; refresh->drop_at < refresh->drop_count && recording.rows < STEP_ROWS;
         refresh->drop_at++)
        drop(&recording, refresh->drops[refresh->drop_at], refresh->now);
    end_event(&recording);
    node_row_prune(batch, before, STEP_ROWS);
    if (recording.rows == STEP_ROWS)
        return;
    add_results(refresh, batch);
    refresh->is_done = true;
}
