#include "nodes/standing_graph.h"

#include <stdlib.h>

static struct standing_vertex *find(const struct standing_graph *graph,
                                    struct span name) {
    uintptr_t at = (uintptr_t)map_get(&graph->by_name, name);

    return at == 0 ? NULL : &graph->jobs[at - 1];
}

static struct lines copy(struct arena *arena, const struct lines *names) {
    struct lines list = {.count = names->count};

    list.items = arena_alloc(arena, (list.count + 1) * sizeof(*list.items));
    for (size_t i = 0; i < list.count; i++)
        list.items[i] = arena_span(arena, names->items[i]);
    return list;
}

void standing_graph_put(struct standing_graph *graph, struct span name,
                        const struct standing_definition *definition) {
    struct standing_vertex *job = find(graph, name);
    unsigned level = graph->settings->level_count - 1;

    if (job == NULL) {
        if (graph->count == graph->room) {
            graph->room = graph->room * 2 + 16;
            graph->jobs =
                mem_grow(graph->jobs, graph->room, sizeof(*graph->jobs));
        }
        job = &graph->jobs[graph->count++];
        map_put(&graph->by_name, name, (void *)(uintptr_t)graph->count);
    }
    if (definition->level.len > 0 &&
        !node_config_level(graph->settings->config, definition->level, &level))
        level = 0;
    *job = (struct standing_vertex){
        .name = arena_span(&graph->arena, name),
        .level = level,
        .depends_on = copy(&graph->arena, &definition->depends_on),
        .after_all_nodes_of =
            copy(&graph->arena, &definition->after_all_nodes_of)};
}

bool standing_graph_read(struct standing_graph *graph, struct store *store,
                         const struct node_settings *settings,
                         struct err *err) {
    CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
    struct standing_row *rows;
    size_t count;

    *graph = (struct standing_graph){.settings = settings};
    if (!standing_row_list(store, 0, 0, &arena, &rows, &count, err))
        return false;
    for (size_t i = 0; i < count; i++) {
        CLEANUP(text_clear) struct text errors = TEXT_INIT;
        struct standing_definition definition;
        graph->seen = rows[i].seq;
        (void)standing_definition_parse(rows[i].definition, &arena, &definition,
                                        &errors);
        if (!rows[i].deleted)
            standing_graph_put(graph, rows[i].name, &definition);
    }
    return true;
}

void standing_graph_clear(struct standing_graph *graph) {
    arena_clear(&graph->arena);
    map_clear(&graph->by_name);
    free(graph->jobs);
    *graph = (struct standing_graph){0};
}

/* ---- rings --------------------------------------------------------------- */

/* Appends the jobs that the ring through `job` consists of, as found from it
 * to `last`. */
static void ring_format(const struct standing_graph *graph,
                        const struct standing_vertex *job,
                        const struct standing_vertex *last, struct text *out) {
    CLEANUP(text_clear) struct text behind = TEXT_INIT;

    for (const struct standing_vertex *at = last; at != job;
         at = &graph->jobs[at->from - 1]) {
        CLEANUP(text_clear) struct text rest = behind;
        behind = TEXT_INIT;
        text_addf(&behind, "'%.*s' waits for %.*s", (int)at->name.len,
                  at->name.p, (int)rest.len, rest.p == NULL ? "" : rest.p);
    }
    text_addf(out, "'%.*s' waits for %.*s'%.*s'\n", (int)job->name.len,
              job->name.p, (int)behind.len, behind.p == NULL ? "" : behind.p,
              (int)job->name.len, job->name.p);
}

/* Puts what `at` waits for behind those to be visited. True: it waits for
 * `job`. */
static bool visit(struct standing_graph *graph,
                  const struct standing_vertex *job,
                  const struct standing_vertex *at, const struct lines *names,
                  size_t *queue, size_t *queued) {
    for (size_t i = 0; i < names->count; i++) {
        struct standing_vertex *next = find(graph, names->items[i]);
        if (next == job)
            return true;
        if (next == NULL || next->from > 0)
            continue;
        next->from = (size_t)(at - graph->jobs) + 1;
        queue[(*queued)++] = (size_t)(next - graph->jobs);
    }
    return false;
}

static bool find_ring(struct standing_graph *graph,
                      const struct standing_vertex *job, struct text *errors) {
    size_t *queue = mem_alloc((graph->count + 1) * sizeof(*queue));
    size_t queued = 0;
    bool found = false;

    for (size_t i = 0; i < graph->count; i++)
        graph->jobs[i].from = 0;
    queue[queued++] = (size_t)(job - graph->jobs);
    for (size_t i = 0; i < queued && !found; i++) {
        const struct standing_vertex *at = &graph->jobs[queue[i]];
        found = visit(graph, job, at, &at->depends_on, queue, &queued) ||
                visit(graph, job, at, &at->after_all_nodes_of, queue, &queued);
        if (found)
            ring_format(graph, job, at, errors);
    }
    free(queue);
    return found;
}

/* ---- checks -------------------------------------------------------------- */

static bool check_known(const struct standing_graph *graph, const char *key,
                        const struct lines *names, struct text *errors) {
    bool ok = true;

    for (size_t i = 0; i < names->count; i++) {
        struct span name = names->items[i];
        if (find(graph, name) != NULL)
            continue;
        text_addf(errors, "%s: there is no standing job '%.*s'\n", key,
                  (int)name.len, name.p);
        ok = false;
    }
    return ok;
}

static bool check_levels(const struct standing_graph *graph,
                         const struct standing_vertex *job,
                         struct text *errors) {
    const struct span *levels = graph->settings->level_names;
    bool ok = true;

    for (size_t i = 0; i < job->depends_on.count; i++) {
        const struct standing_vertex *other =
            find(graph, job->depends_on.items[i]);
        if (other == NULL || other->level == job->level)
            continue;
        text_addf(errors,
                  "depends_on: the tasks of '%.*s' are on level '%.*s', not "
                  "'%.*s'\n",
                  (int)other->name.len, other->name.p,
                  (int)levels[other->level].len, levels[other->level].p,
                  (int)levels[job->level].len, levels[job->level].p);
        ok = false;
    }
    return ok;
}

bool standing_graph_check(struct standing_graph *graph, struct span name,
                          struct text *errors) {
    const struct standing_vertex *job = find(graph, name);
    bool ok = check_known(graph, "depends_on", &job->depends_on, errors);

    ok = check_known(graph, "after_all_nodes_of", &job->after_all_nodes_of,
                     errors) &&
         ok;
    ok = check_levels(graph, job, errors) && ok;
    return !find_ring(graph, job, errors) && ok;
}

void standing_graph_dependents(const struct standing_graph *graph,
                               struct span name, struct text *out) {
    for (size_t i = 0; i < graph->count; i++) {
        const struct standing_vertex *other = &graph->jobs[i];
        if (span_is_among(name, other->depends_on.items,
                          other->depends_on.count) ||
            span_is_among(name, other->after_all_nodes_of.items,
                          other->after_all_nodes_of.count))
            text_addf(out, "%s%.*s", out->len > 0 ? ", " : "",
                      (int)other->name.len, other->name.p);
    }
}
