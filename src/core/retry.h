/* What follows from the way an attempt ended: the table of
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
    RETRY_RAN,         /* started, and ended somehow */
    RETRY_TAKEN,       /* somebody else has it (99) */
    RETRY_CANNOT,      /* cannot be executed (100) */
    RETRY_WITHDRAWN,   /* never started; nothing ran */
    RETRY_NOT_NOW,     /* no memory, no processes, full disk (111) */
    RETRY_UNAVAILABLE, /* its target cannot be used: nothing the job did */
    RETRY_CRASHED,     /* the wrapper around it ended abnormally */
    RETRY_RECOVERED    /* found after our own restart, proven to be gone */
};

enum retry_killer { /* who asked for its end before it ended */
                    RETRY_NOBODY,
                    RETRY_OPERATOR, /* cancel: TERM */
                    RETRY_ROLLBACK, /* HUP */
                    RETRY_STOP      /* our daemon stops */
};

/* What the last line on the status descriptor said (wire/status_line.h). */
enum retry_status {
    RETRY_STATUS_NONE,
    RETRY_STATUS_DONE,
    RETRY_STATUS_INCOMPLETE,         /* again at once, back-off forgotten */
    RETRY_STATUS_INCOMPLETE_BACKOFF, /* again after the present back-off */
    RETRY_STATUS_BACKOFF,            /* an error; retried as the job says */
    RETRY_STATUS_FAILED,             /* for good */
    RETRY_STATUS_UNREADABLE          /* as BACKOFF, and said so */
};

struct retry_end {
    enum retry_result result;
    int exit_code; /* -1: ended by a signal or never started */
    int signal;    /* 0: none */
    bool timed_out;
    enum retry_killer killer;
    enum retry_status status;
    bool landed;       /* its effect happened: the commit is on the target */
    struct span error; /* a sentence when it did not run; may be empty */
};

struct retry_counts { /* before this end, of this job or this task */
    unsigned temps, crashes, fails;
    struct wall first_begun; /* of its first attempt; 0 = not known */
};

struct retry_limits {
    unsigned max_temp;         /* 20: this many temporary ends are F */
    unsigned max_crash;        /* 3 */
    int64_t temp_max_ms;       /* 24 h since first_begun; 0 = no limit */
    unsigned retries;          /* failed ends of a command tried again */
    const uint32_t *backoff_s; /* waits after failed ends, ascending; none:
                                  as for temporary ends */
    size_t backoff_count;
    bool backoff_fails; /* past the end of the list F, else repeat last */
    bool temp_ends;     /* `run` without --retries: T temp-ended */
    bool at_most_once;
};

enum retry_action {
    RETRY_MOVE,    /* X -> `to` */
    RETRY_UNCOUNT, /* X -> P, and the attempt never was (unassign) */
    RETRY_NOTHING  /* not ours: leave it */
};

enum { RETRY_DETAIL_BYTES = 200 };

struct retry_verdict {
    enum retry_action action;
    enum job_state to;             /* D F T A P */
    char reason[JOB_REASON_BYTES]; /* of life.def */
    char detail[RETRY_DETAIL_BYTES];
    struct wall not_before;         /* on the way to P; 0 = at once */
    unsigned temps, crashes, fails; /* to be added to the counts */
    bool clear_counts;              /* back-off forgotten (INCOMPLETE) */
    bool alarm;                     /* an operator should look */
    enum task_status task;          /* of its task */
};

/* Total: every combination has an answer, and its step is in life.def. */
struct retry_verdict retry_after(const struct retry_end *end,
                                 const struct retry_counts *counts,
                                 const struct retry_limits *limits,
                                 struct wall now, struct random *random);

/* The job moves to `to`, and its task counts as done or failed; nothing else
 * follows. A detail that is too long is cut. */
struct retry_verdict retry_verdict_make(enum job_state to, const char *reason,
                                        struct span detail);

/* min(600, 2^k) s with +-20 %. */
int64_t retry_delay_ms(unsigned k, struct random *random);

#endif
