/* Statistics of jobs by day, class and target (`pointsman report`): how long
 * they waited and ran, and how they failed. Pure. */
#ifndef POINTSMAN_CORE_REPORT_H
#define POINTSMAN_CORE_REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/arena.h"
#include "core/job.h"

struct report;

struct report_by {
    bool day, job_class, target;
};

struct report_sample {
    struct wall admitted;
    enum job_class job_class;
    enum job_state state;
    struct span target; /* empty: commands */
    struct span reason; /* reason of the last step */
    int64_t wait_ms;    /* until the first process started; -1: none did */
    bool adds;          /* `run_ms` is that of all attempts together */
    int64_t run_ms;     /* of the attempt that ended last; -1: none ended */
    struct wall ended;  /* when that was */
    uint64_t cpu_us;    /* of all attempts together; 0: not known */
    uint64_t peak_kib;  /* most memory that one of them used; 0: not known */
    bool inverted;      /* a more urgent job waited for it (O14) */
    bool rolled_back;
    bool rollback, rollback_empty; /* it rolled others back; nothing was left
                                      of one of them */
    bool owed, overdue; /* its approval is owed, overdue (core/job.h) */
};

struct report_failure {
    struct span reason;
    size_t count;
};

struct report_group {
    struct span day; /* "2026-07-31", UTC; empty unless asked for */
    struct span job_class, target;
    size_t jobs, rolled_back, inverted, owed, overdue;
    size_t rollbacks, rollbacks_empty;
    size_t count[JOB_STATES];
    uint64_t cpu_us, peak_kib; /* sum, highest; 0: not known */
    int64_t wait_p50_ms, wait_p95_ms, run_p50_ms, run_p95_ms; /* -1: none */
    const struct report_failure *failures; /* most frequent first */
    size_t failure_count;
};

/* Takes the times of one attempt, in any order: when its process started and
 * ended; 0: it did not. `wait_ms` and `run_ms` begin at -1. */
void report_sample_attempt(struct report_sample *sample, struct wall started,
                           struct wall ended);

struct report *report_new(const struct report_by *by); /* copies `by` */
void report_free(struct report *report);               /* NULL is fine */
/* Adds one job to its group; copies what it needs of the sample. */
void report_add(struct report *report, const struct report_sample *sample);
/* Groups by day, class and target, as requested. Spans live as long as the
 * report, the rest in the arena. */
void report_finish(struct report *report, struct arena *arena,
                   struct report_group **ret_groups, size_t *ret_count);

#endif
