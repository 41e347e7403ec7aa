#include "nodes/node_refresh.h"

#include <inttypes.h>
#include <stdlib.h>

#include "nodes/node_config.h"

void node_refresh_clear(struct node_refresh *refresh) {
    node_making_clear(&refresh->making);
    node_list_clear(&refresh->list);
    arena_clear(&refresh->arena);
    free(refresh->rows);
    free(refresh->drops);
    *refresh = (struct node_refresh){.next = NODE_REFRESH_OVER};
}

static struct node_refresh_source *source_of(struct node_refresh *refresh,
                                             struct span name) {
    for (size_t i = 0; i < refresh->source_count; i++)
        if (span_equal(refresh->sources[i].name, name))
            return &refresh->sources[i];
    return NULL;
}

/* ---- the difference ------------------------------------------------------ */

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

static void compare_row(struct node_refresh *refresh, struct node_row *row) {
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
        return;
    }
    wanted->place = row->place;
    wanted->is_kept = is_same(row, wanted);
    source->counts.added--;
    source->counts.changed += !wanted->is_kept;
}

/* Rows of the list that are kept need not be written; a row that is only
 * changed has its place. */
static bool compare(struct node_refresh *refresh, struct err *err) {
    size_t end = refresh->compare_at + NODE_STEP_ROWS;

    (void)err;
    if (refresh->drops == NULL)
        refresh->drops =
            mem_alloc((refresh->row_count + 1) * sizeof(*refresh->drops));
    for (;
         refresh->compare_at < refresh->row_count && refresh->compare_at < end;
         refresh->compare_at++)
        compare_row(refresh, &refresh->rows[refresh->compare_at]);
    if (refresh->compare_at < refresh->row_count)
        return true;
    qsort(refresh->drops, refresh->drop_count, sizeof(struct node_row *),
          drops_sooner);
    refresh->next = NODE_REFRESH_RECORD;
    return true;
}

/* ---- as it is to be ------------------------------------------------------ */

/* What the source had. A node whose parent is gone, or whose name another
 * source has now, cannot stay. True: that was all. */
static bool keep_rows(struct node_refresh *refresh) {
    const struct node_refresh_source *source =
        &refresh->sources[refresh->source_at];
    size_t most = refresh->list.most, end = refresh->keep_at + NODE_STEP_ROWS;

    refresh->list.most = SIZE_MAX; /* there are as many already */
    for (; refresh->keep_at < refresh->row_count && refresh->keep_at < end;
         refresh->keep_at++) {
        const struct node_row *row = &refresh->rows[refresh->keep_at];
        struct err err;
        unsigned level;
        if (span_equal(row->source, source->name) &&
            node_config_level(&refresh->means.base->config, row->level, &level))
            (void)node_list_add(&refresh->list, row, level, &err);
    }
    refresh->list.most = most;
    return refresh->keep_at == refresh->row_count;
}

/* True: all nodes of the source are in the list. */
static bool make_nodes(struct node_refresh *refresh) {
    struct node_refresh_source *source = &refresh->sources[refresh->source_at];
    bool ok = source->is_chosen && source->err.text[0] == '\0';

    if (!refresh->makes && !refresh->keeps) {
        refresh->list_before = refresh->list.count;
        refresh->makes =
            ok &&
            node_making_begin(&refresh->making, &refresh->means, source->config,
                              &refresh->list, &source->err);
    }
    if (refresh->makes && node_making_step(&refresh->making, &source->err))
        return refresh->making.is_done;
    refresh->makes = false;
    if (!refresh->keeps) {
        node_list_cut(&refresh->list, refresh->list_before);
        refresh->keep_at = 0;
        refresh->keeps = true;
    }
    return keep_rows(refresh);
}

static bool make(struct node_refresh *refresh, struct err *err) {
    struct node_refresh_source *source = &refresh->sources[refresh->source_at];

    (void)err;
    if (refresh->source_at == refresh->source_count) {
        refresh->work = compare;
        return true;
    }
    if (!make_nodes(refresh))
        return true;
    for (size_t i = refresh->list_before; i < refresh->list.count; i++) {
        refresh->list.rows[i].is_kept = false;
        refresh->list.rows[i].place = 0;
    }
    source->nodes = refresh->list.count - refresh->list_before;
    source->counts.added = source->nodes;
    node_making_clear(&refresh->making);
    refresh->makes = refresh->keeps = false;
    refresh->source_at++;
    return true;
}

/* ---- as it is ------------------------------------------------------------ */

static bool read_rows(struct node_refresh *refresh, struct err *err) {
    struct node_row *rows;
    size_t count;
    int64_t after = refresh->row_count == 0
                        ? 0
                        : refresh->rows[refresh->row_count - 1].place;

    if (!node_row_list(refresh->means.base->store, after, NODE_STEP_ROWS,
                       &refresh->arena, &rows, &count, err))
        return false;
    if (refresh->row_count + count > refresh->row_room) {
        refresh->row_room = refresh->row_room * 2 + NODE_STEP_ROWS;
        refresh->rows =
            mem_grow(refresh->rows, refresh->row_room, sizeof(*refresh->rows));
    }
    if (count > 0)
        memcpy(refresh->rows + refresh->row_count, rows, count * sizeof(*rows));
    refresh->row_count += count;
    if (count < NODE_STEP_ROWS)
        refresh->work = make;
    return true;
}

bool node_refresh_begin(struct node_refresh *refresh,
                        const struct node_means *means, struct wall now,
                        struct err *err) {
    const struct base *base = means->base;
    const struct config *config = &base->config;
    const struct config_node_source *source;
    size_t count = 0;

    *refresh = (struct node_refresh){.means = *means, .now = now};
    node_list_init(&refresh->list, (size_t)node_config(config)->max_nodes);
    while (node_config_source_at(config, count) != NULL)
        count++;
    refresh->sources =
        arena_alloc(&refresh->arena, (count + 1) * sizeof(*refresh->sources));
    if (!node_row_sources(base->store, &refresh->arena, &refresh->recorded,
                          &refresh->recorded_count, err)) {
        node_refresh_clear(refresh);
        return false;
    }
    for (size_t i = 0; (source = node_config_source_at(config, i)) != NULL;
         i++) {
        struct node_refresh_source *to = &refresh->sources[i];
        *to = (struct node_refresh_source){
            .config = source,
            .name = arena_span(&refresh->arena, source->name)};
        for (size_t k = 0; k < refresh->recorded_count; k++)
            if (span_equal(refresh->recorded[k].name, to->name))
                to->before = refresh->recorded[k];
    }
    refresh->source_count = count;
    refresh->work = read_rows;
    return true;
}

enum node_refresh_next node_refresh_next(const struct node_refresh *refresh) {
    return refresh->making.waits ? NODE_REFRESH_WAIT : refresh->next;
}

bool node_refresh_step(struct node_refresh *refresh, struct err *err) {
    return refresh->work(refresh, err);
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
        .counts = source->counts,
        .asked = source->before.asked,
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

void node_refresh_record(struct node_refresh *refresh,
                         struct store_batch *batch) {
    struct recording recording = {.batch = batch};
    struct wall before = wall_from_s(wall_s(refresh->now) - NODE_GONE_KEPT_S);

    for (; refresh->put_at < refresh->list.count &&
           recording.rows < NODE_STEP_ROWS;
         refresh->put_at++)
        if (!refresh->list.rows[refresh->put_at].is_kept)
            put(&recording, &refresh->list.rows[refresh->put_at]);
    for (; refresh->drop_at < refresh->drop_count &&
           recording.rows < NODE_STEP_ROWS;
         refresh->drop_at++)
        drop(&recording, refresh->drops[refresh->drop_at], refresh->now);
    end_event(&recording);
    node_row_prune(batch, before, NODE_STEP_ROWS);
    if (recording.rows == NODE_STEP_ROWS)
        return;
    add_results(refresh, batch);
    refresh->next = NODE_REFRESH_OVER;
}
