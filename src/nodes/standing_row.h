/* The registry's record of standing jobs: each version of each definition, and
 * the requests to forgive tasks. A noun of the registry (store/noun.h): writes
 * are operations of a batch, each conditional on what the registry says; reads
 * see everything committed.
 *
 * A standing job is also a row of `job` of kind `standing`, with a generated
 * id, which is admitted in the batch that adds it. While it is disabled, that
 * row has the hold `disabled`. Who owns it is the uid of that row. */
#ifndef POINTSMAN_NODES_STANDING_ROW_H
#define POINTSMAN_NODES_STANDING_ROW_H

#include "store/noun.h"

extern const struct store_noun standing_noun;

struct standing_row {
    uint64_t num; /* of its job */
    struct span name;
    uint64_t version;       /* from 1 */
    struct span definition; /* JSON, nodes/standing_definition.h */
    bool enabled;           /* what the definition says */
    bool deleted;           /* the name is free again; tasks that run are
                               orphans */
    struct span actor;      /* who made this version */
    struct wall at;         /* when */
    uint64_t seq;           /* the event that says so */
};

/* Reasons of EVENT_STANDING, which is about the job; its detail is the name
 * and, if tasks are forgiven, their node. The fact `version` is the version
 * that is in effect since then. */
#define STANDING_EVENTS(X)  \
    X(ADDED, "added")       \
    X(CHANGED, "changed")   \
    X(ENABLED, "enabled")   \
    X(DISABLED, "disabled") \
    X(FORGIVEN, "forgiven") \
    X(DELETED, "deleted")

enum standing_event {
#define X(name, word) STANDING_##name,
    STANDING_EVENTS(X)
#undef X
};
struct span standing_event_word(enum standing_event event);

/* ---- writing; results as in store.h -------------------------------------- */

/* The first version of a job that is admitted earlier in the same batch, whose
 * index there is `job`. Name, definition and enabled are as given; actor and
 * time are those of the batch. `seen`: CONFLICT if any standing job has changed
 * since that event, because the relations of the definition were checked
 * against what was there then; 0: not checked. DUPLICATE: another job has the
 * name. */
unsigned standing_row_add(struct store_batch *batch, unsigned job,
                          const struct standing_row *row, uint64_t seen);
/* Version row->version + 1 of the job: name and definition, enabled and
 * deleted as given. CONFLICT if the newest version is not row->version; `seen`
 * as above. UNKNOWN: it is deleted. */
unsigned standing_row_change(struct store_batch *batch,
                             const struct standing_row *row,
                             enum standing_event event, uint64_t seen);
/* Records that all tasks of the job (node empty), or that of the node, are to
 * be forgiven. UNKNOWN: there is no such job. */
unsigned standing_row_forgive(struct store_batch *batch, uint64_t num,
                              struct span node);
/* The request is carried out. In the batch that writes what became of the
 * tasks. UNKNOWN: there is none. */
unsigned standing_row_forgiven(struct store_batch *batch, uint64_t seq);

/* ---- reading ------------------------------------------------------------- */

/* The newest version of each job that changed after event `after` (0: of all),
 * in the order of these events; those that are deleted too. limit 0: all. */
bool standing_row_list(struct store *store, uint64_t after, size_t limit,
                       struct arena *arena, struct standing_row **ret_rows,
                       size_t *ret_count, struct err *err);
/* The newest version of the job of that name which is not deleted. */
bool standing_row_find(struct store *store, struct span name,
                       struct arena *arena, struct standing_row *ret_row,
                       bool *ret_found, struct err *err);
/* One version; 0: the newest, also of a job that is deleted. */
bool standing_row_version(struct store *store, uint64_t num, uint64_t version,
                          struct arena *arena, struct standing_row *ret_row,
                          bool *ret_found, struct err *err);

struct standing_forgive {
    uint64_t seq, num;
    struct span node; /* empty: all tasks */
};
/* Requests that are not carried out yet, oldest first. */
bool standing_row_forgives(struct store *store, struct arena *arena,
                           struct standing_forgive **ret_forgives,
                           size_t *ret_count, struct err *err);

#endif
