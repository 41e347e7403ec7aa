/* The consequences of the end of an attempt: the table of
 * doc/design/processes.md (P11, how a task answers). Pure; the jitter is drawn
 * from a generator that the caller owns. */
#ifndef POINTSMAN_CORE_RETRY_H
#define POINTSMAN_CORE_RETRY_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/random.h"
#include "lib/text.h"
#include "lib/time.h"
#include "core/job.h"

enum retry_result {
    RETRY_RAN,         /* started and ended in some way */
    RETRY_TAKEN,       /* another process has it (99) */
    RETRY_CANNOT,      /* cannot be executed (100) */
    RETRY_WITHDRAWN,   /* never started; nothing ran */
    RETRY_NOT_NOW,     /* no memory, no processes, full disk (111) */
    RETRY_UNAVAILABLE, /* its target cannot be used; not the job's fault */
    RETRY_BASE_LOST,   /* what it depends on is not there any more */
    RETRY_FORBIDDEN,   /* may not run here; nothing of it ran */
    RETRY_CRASHED,     /* the wrapper around it ended abnormally */
    RETRY_LOST,        /* its worker is not heard of any more */
    RETRY_RECOVERED    /* found after a restart of the scheduler, proven gone */
};

enum retry_killer { /* the request that ended it, if any */
                    RETRY_NOBODY,
                    RETRY_OPERATOR, /* cancel: TERM */
                    RETRY_ROLLBACK, /* HUP */
                    RETRY_STOP      /* the scheduler stops */
};

/* The last line on the status descriptor (wire/status_line.h). */
enum retry_status {
    RETRY_STATUS_NONE,
    RETRY_STATUS_DONE,
    RETRY_STATUS_INCOMPLETE,         /* run again at once, back-off reset; from
                                        the tenth time in a row on after one */
    RETRY_STATUS_INCOMPLETE_BACKOFF, /* run again after the current back-off */
    RETRY_STATUS_BACKOFF,            /* a failure; retried according to the
                                        job */
    RETRY_STATUS_FAILED,             /* a permanent failure */
    RETRY_STATUS_UNREADABLE          /* like BACKOFF, and reported */
};

struct retry_end {
    enum retry_result result;
    int exit_code; /* -1: ended by a signal or never started */
    int signal;    /* 0: none */
    bool timed_out;
    enum retry_killer killer;
    enum retry_status status;
    bool landed;       /* it took effect: the commit is on the target */
    struct span error; /* a sentence if it did not run; may be empty */
};

struct retry_counts { /* before this end, for this job or task */
    unsigned temps, crashes, fails;
    unsigned base_lost;      /* ends in a row with RETRY_BASE_LOST */
    unsigned incompletes;    /* ends in a row with RETRY_STATUS_INCOMPLETE */
    struct wall first_begun; /* start of its first attempt; 0 = unknown */
};

struct retry_limits {
    unsigned max_temp;         /* 20: F after this many temporary failures */
    unsigned max_crash;        /* 3 */
    int64_t temp_max_ms;       /* 24 h since first_begun; 0 = no limit */
    unsigned retries;          /* number of retries after a command failed */
    const uint32_t *backoff_s; /* waits after failed ends, ascending; none: as
                                  for temporary failures */
    size_t backoff_count;
    bool backoff_fails; /* past the end of the list: F, or else repeat the
                           last */
    bool temp_ends;     /* `run` without --retries: a temporary end gives T */
    bool at_most_once;
};

enum retry_action {
    RETRY_MOVE,    /* X -> `to` */
    RETRY_UNCOUNT, /* X -> P, and the attempt is not counted (unassign) */
    RETRY_NOTHING  /* not ours: leave the job alone */
};

enum { RETRY_DETAIL_BYTES = 512 }; /* a whole error, with its paths */
/* The detail of REASON_AT_MOST_ONCE. */
#define RETRY_ONCE_DETAIL "it had been started and must not be started again"

struct retry_verdict {
    enum retry_action action;
    enum job_state to;             /* D F T A P */
    char reason[JOB_REASON_BYTES]; /* from life.def */
    char detail[RETRY_DETAIL_BYTES];
    struct wall not_before;         /* for a step to P; 0 = at once */
    unsigned temps, crashes, fails; /* to be added to the counts */
    bool clear_counts;              /* reset the back-off (INCOMPLETE) */
    unsigned hold;                  /* of enum job_hold: set with the step */
    bool alarm;                     /* an operator should look at it */
    enum task_status task;          /* status of its task */
};

/* Total: every combination has an answer, and the step is always in
 * life.def. */
struct retry_verdict retry_after(const struct retry_end *end,
                                 const struct retry_counts *counts,
                                 const struct retry_limits *limits,
                                 struct wall now, struct random *random);

/* The job moves to `to`, and its task counts as done or failed; nothing else
 * happens. A detail that is too long is truncated. */
struct retry_verdict retry_verdict_make(enum job_state to, const char *reason,
                                        struct span detail);

/* When a back-off ends that began at `since` and was to end at `not_before`. If
 * the clock has been set back to before it began, it counts from now: it never
 * lasts longer than it was meant to. */
struct wall retry_backoff_end(struct wall since, struct wall not_before,
                              struct wall now);

/* min(600, 2^k) s with +-20 %. */
int64_t retry_delay_ms(unsigned k, struct random *random);

#endif
