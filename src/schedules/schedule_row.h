/* The registry's record of schedules: the definition, and the instant up to
 * which firings have been handled. A noun of the registry (store/noun.h):
 * writes are operations of a batch, each conditional on what the registry says;
 * reads see everything committed.
 *
 * A firing is the admission of a job and a mark in one atomic batch: after a
 * crash either both are there or neither. Since the mark names the place from
 * which it was made, and the job's id the schedule and the instant, no instant
 * is ever fired twice. */
#ifndef POINTSMAN_SCHEDULES_SCHEDULE_ROW_H
#define POINTSMAN_SCHEDULES_SCHEDULE_ROW_H

#include "store/noun.h"

extern const struct store_noun schedule_noun;

enum { SCHEDULE_RECENT = 32 };

struct schedule_row {
    struct span name;
    struct span spec;   /* the definition in JSON, wire/schedule_spec.h */
    struct span origin; /* "config", or who added it: "uid:1000" */
    uint32_t uid;       /* owner of its jobs */
    uint64_t serial;    /* the event of its latest definition */
    uint64_t seed;      /* seed of its offset and jitter; never changes */
    bool paused;
    int64_t high_s;         /* all its instants up to here have been handled */
    int32_t offset_s;       /* UTC offset of its zone at high_s */
    unsigned round;         /* grows when a clock that is set far back starts
                               again */
    uint64_t fired, missed; /* since it was added */
    uint64_t
        recent[SCHEDULE_RECENT]; /* nums of its newest jobs, oldest first */
    size_t recent_count;
};

/* ---- events -------------------------------------------------------------- */

/* Reasons of EVENT_SCHEDULE, besides those of schedule_reason_word(). True: the
 * definition or the pause has changed. */
#define SCHEDULE_EVENTS(X)      \
    X(ADDED, "added", true)     \
    X(CHANGED, "changed", true) \
    X(REMOVED, "removed", true) \
    X(PAUSED, "paused", true)   \
    X(RESUMED, "resumed", true) \
    X(RUN, "run", false)        \
    X(TAKEN, "taken", false)    \
    X(REFUSED, "refused", false)

enum schedule_event {
#define X(name, word, changes) SCHEDULE_##name,
    SCHEDULE_EVENTS(X)
#undef X
};
struct span schedule_event_word(enum schedule_event event);
/* True if after an event of that reason the row has to be read again. */
bool schedule_event_changes(struct span reason);

/* ---- writing; results as in store.h -------------------------------------- */

enum schedule_mode {
    SCHEDULE_ADD,     /* DUPLICATE if one with another definition exists */
    SCHEDULE_REPLACE, /* replaces it, continues from its high_s */
    SCHEDULE_RENEW    /* replaces it, starts at the high_s given */
};
/* Name, spec, origin, uid, seed, high_s and offset_s are as given; an existing
 * schedule keeps its seed, counts and pause. SAME: the definition is identical.
 * Event ADDED or CHANGED. */
unsigned schedule_row_set(struct store_batch *batch,
                          const struct schedule_row *row,
                          enum schedule_mode mode);
/* UNKNOWN: there is none. Its jobs stay. Event REMOVED. */
unsigned schedule_row_remove(struct store_batch *batch, struct span name);
/* SAME if it is in that state. A resumed schedule starts at `high_s`: instants
 * during the pause are not caught up. Event PAUSED or RESUMED. */
unsigned schedule_row_pause(struct store_batch *batch, struct span name,
                            bool paused, int64_t high_s, int32_t offset_s);

enum { SCHEDULE_NO_JOB = UINT32_MAX };

struct schedule_mark {
    struct span name;
    uint64_t serial; /* of the definition that the decision is based on */
    bool moves;      /* false: only the job is recorded */
    int64_t from_s;  /* the place before */
    int64_t high_s;  /* the place after */
    int32_t offset_s;
    unsigned round;
    unsigned job;               /* the admission earlier in this batch, or
                                   SCHEDULE_NO_JOB */
    uint64_t missed;            /* number of instants that were not fired, */
    struct span reason, detail; /* and why: an EVENT_SCHEDULE, unless empty */
};
/* CONFLICT: it is paused, redefined or at another place (a mark that does not
 * move it never conflicts). UNKNOWN: there is none. */
unsigned schedule_row_mark(struct store_batch *batch,
                           const struct schedule_mark *mark);

/* ---- reading ------------------------------------------------------------- */

bool schedule_row_find(struct store *store, struct span name,
                       struct arena *arena, struct schedule_row *ret_row,
                       bool *ret_found, struct err *err);
/* Sorted by name, after `after` (empty: from the first); limit 0 = all. */
bool schedule_row_list(struct store *store, struct span after, size_t limit,
                       struct arena *arena, struct schedule_row **ret_rows,
                       size_t *ret_count, struct err *err);
/* Its jobs that have not ended, fired or started by hand, oldest first; without
 * spec. */
bool schedule_row_jobs(struct store *store, struct span name,
                       struct arena *arena, struct job **ret_jobs,
                       size_t *ret_count, struct err *err);

#endif
