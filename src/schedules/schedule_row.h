/* What the registry remembers of schedules: the definition, and up to which
 * instant its firings were dealt with. A noun of the registry (store/noun.h):
 * writes are operations of a batch, each conditional on what the registry says;
 * reads see everything committed.
 *
 * A firing is the admission of a job and a mark in one atomic batch: either
 * both are there after a crash or neither, and since the mark names the place
 * it was made from, and the job's id the schedule and the instant, no instant
 * is ever fired twice. */
#ifndef POINTSMAN_SCHEDULES_SCHEDULE_ROW_H
#define POINTSMAN_SCHEDULES_SCHEDULE_ROW_H

#include "store/noun.h"

extern const struct store_noun schedule_noun;

enum { SCHEDULE_RECENT = 32 };

struct schedule_row {
    struct span name;
    struct span spec;   /* the definition in JSON, wire/schedule_spec.h */
    struct span origin; /* "config", else who added it: "uid:1000" */
    uint32_t uid;       /* its jobs belong to */
    uint64_t serial;    /* the event of its last definition */
    uint64_t seed;      /* of its offset and its jitter; never changes */
    bool paused;
    int64_t high_s;         /* all its instants up to here are dealt with */
    int32_t offset_s;       /* of its zone at high_s */
    unsigned round;         /* grows when a clock set far back begins anew */
    uint64_t fired, missed; /* since it was added */
    uint64_t
        recent[SCHEDULE_RECENT]; /* nums of its newest jobs, oldest first */
    size_t recent_count;
};

/* ---- writing; results as in store.h -------------------------------------- */

enum schedule_mode {
    SCHEDULE_ADD,     /* DUPLICATE when there is one of another definition */
    SCHEDULE_REPLACE, /* takes its place, goes on from its high_s */
    SCHEDULE_RENEW    /* takes its place, begins at the high_s given */
};
/* Name, spec, origin, uid, seed, high_s and offset_s are as given; of one that
 * is there seed, counts and pause stay. SAME: the definition is this very one.
 * An EVENT_SCHEDULE, reason "added" or "changed". */
unsigned schedule_row_set(struct store_batch *batch,
                          const struct schedule_row *row,
                          enum schedule_mode mode);
/* UNKNOWN: there is none. Its jobs stay. Reason "removed". */
unsigned schedule_row_remove(struct store_batch *batch, struct span name);
/* SAME when it is so. Resumed, it begins at `high_s`: what fell into the pause
 * is not caught up. Reason "paused" or "resumed". */
unsigned schedule_row_pause(struct store_batch *batch, struct span name,
                            bool paused, int64_t high_s, int32_t offset_s);

enum { SCHEDULE_NO_JOB = UINT32_MAX };

struct schedule_mark {
    struct span name;
    uint64_t serial; /* of the definition it was decided by */
    bool moves;      /* else only the job is remembered */
    int64_t from_s;  /* where it stood */
    int64_t high_s;  /* and stands now */
    int32_t offset_s;
    unsigned round;
    unsigned job;               /* the admission in this batch, before it; or
                                   SCHEDULE_NO_JOB */
    uint64_t missed;            /* so many instants were not fired, */
    struct span reason, detail; /* why: an EVENT_SCHEDULE, unless empty */
};
/* CONFLICT: it is paused, defined anew or stands elsewhere (a mark that does
 * not move it is never in conflict). UNKNOWN: there is none. */
unsigned schedule_row_mark(struct store_batch *batch,
                           const struct schedule_mark *mark);

/* ---- reading ------------------------------------------------------------- */

bool schedule_row_find(struct store *store, struct span name,
                       struct arena *arena, struct schedule_row *ret_row,
                       bool *ret_found, struct err *err);
/* By name, beyond `after` (empty: from the first); limit 0 = all. */
bool schedule_row_list(struct store *store, struct span after, size_t limit,
                       struct arena *arena, struct schedule_row **ret_rows,
                       size_t *ret_count, struct err *err);
/* Its jobs that have not ended, fired or run by hand, oldest first; without
 * spec. */
bool schedule_row_jobs(struct store *store, struct span name,
                       struct arena *arena, struct job **ret_jobs,
                       size_t *ret_count, struct err *err);

#endif
