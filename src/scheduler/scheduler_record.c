/* What a job inherits when the registry does not know it yet. */
#include "scheduler/scheduler_record.h"

#include <stdlib.h>

#include "lib/map.h"

bool scheduler_record_passes_on(const struct job *job, uint64_t record_seq) {
    return job_state_is_final(job->state) && job->state != STATE_DONE &&
           job->state_seq > record_seq;
}

/* A record, while it gets what it inherits. */
struct record {
    struct store *store;
    struct arena *arena;
    struct map named; /* ids that it names -> themselves */
    struct job_edge *edges;
    size_t count, cap;
    struct job *left; /* that pass on their precursors to it */
    size_t left_count, left_cap;
};

static void record_clear(struct record *record) {
    map_clear(&record->named);
    free(record->edges);
    free(record->left);
}

/* `seq`: when the record that these edges are from was made. */
static bool record_add(struct record *record, const struct job_edge *edges,
                       size_t count, uint64_t seq, struct err *err) {
    for (size_t i = 0; i < count; i++) {
        struct job to;
        bool found;
        if (edges[i].kind != EDGE_PRECURSOR ||
            map_put(&record->named, edges[i].to, record) != NULL)
            continue;
        if (record->count == record->cap) {
            record->cap = 2 * record->cap + 4;
            record->edges =
                mem_grow(record->edges, record->cap, sizeof(*record->edges));
        }
        record->edges[record->count++] = edges[i];
        if (!store_lookup(record->store, edges[i].to, record->arena, &to,
                          &found, err))
            return false;
        if (!found || !scheduler_record_passes_on(&to, seq))
            continue;
        if (record->left_count == record->left_cap) {
            record->left_cap = 2 * record->left_cap + 4;
            record->left =
                mem_grow(record->left, record->left_cap, sizeof(*record->left));
        }
        record->left[record->left_count++] = to;
    }
    return true;
}

static bool record_inherit(struct record *record, struct err *err) {
    for (size_t i = 0; i < record->left_count; i++) {
        struct job left = record->left[i];
        struct job_edge *edges;
        size_t count;
        if (!store_edges_from(record->store, left.num, record->arena, &edges,
                              &count, err) ||
            !record_add(record, edges, count, left.record_seq, err))
            return false;
    }
    return true;
}

bool scheduler_record_edges(struct store *store, const struct job *job,
                            struct arena *arena, struct job_edge **ret_edges,
                            size_t *ret_count, bool *ret_inherits,
                            struct err *err) {
    CLEANUP(record_clear)
    struct record record = {.store = store, .arena = arena};
    struct job_edge *edges;
    size_t count, kept = 0;
    *ret_inherits = false;
    if (!store_edges_from(store, job->num, arena, &edges, &count, err) ||
        !record_add(&record, edges, count, job->record_seq, err))
        return false;
    size_t own = record.count;
    if (!record_inherit(&record, err))
        return false;
    *ret_inherits = record.count > own;
    *ret_edges = edges;
    *ret_count = count;
    if (!*ret_inherits)
        return true;
    *ret_edges =
        arena_alloc(arena, (count + record.count) * sizeof(**ret_edges));
    for (size_t i = 0; i < count; i++)
        if (edges[i].kind != EDGE_PRECURSOR)
            (*ret_edges)[kept++] = edges[i];
    memcpy(*ret_edges + kept, record.edges, record.count * sizeof(**ret_edges));
    *ret_count = kept + record.count;
    return true;
}
