/* What to start next: free slots, lanes, and the ready jobs in order. Pure.
 *
 * The backlog stays in the registry. Here is a window of its best: all ready
 * jobs up to a bound, at most `window_max` of them; what lies beyond the bound
 * is turned away when offered, and read from the registry when the window runs
 * low (picker_needs_refill). A target whose lanes are busy keeps only a few
 * of its jobs in the window, so that it cannot crowd out the others; its rest
 * is read again when it needs them.
 *
 * Ready = pending, not held, not before its time. Jobs offered before their
 * time are kept aside and become ready by themselves.
 *
 * Ageing (O15) moves jobs ahead inside the window; those beyond the bound are
 * looked for class by class every eighth of a step (a refill like others).
 *
 * Every step is O(log window). The same calls give the same picks. */
#ifndef POINTSMAN_CORE_PICKER_H
#define POINTSMAN_CORE_PICKER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/text.h"
#include "lib/time.h"
#include "core/job.h"

struct picker;

struct picker_limits {
    unsigned slots;      /* attempts that may run at once */
    size_t window_max;   /* 0 = 4096 */
    unsigned ahead_max;  /* assignments beyond the slots; 0 = none at all */
    int64_t age_step_ms; /* O15: BF and DC gain a class each; 0 = off */
};

struct picker *picker_new(const struct picker_limits *limits);
void picker_free(struct picker *picker); /* NULL is fine */
void picker_set_limits(struct picker *picker,
                       const struct picker_limits *limits);
/* How many jobs of a target may be executing at once; 0 = no limit. Targets
 * never named have 1; the empty target (commands) has no limit. */
void picker_set_lanes(struct picker *picker, struct span target,
                      unsigned lanes);

/* While closed, no job of the target is picked, however many lanes it has.
 * `num`: who closes it, a job that holds no lane itself; 0: opens it again. */
void picker_close(struct picker *picker, struct span target, uint64_t num);

/* No job of the target is picked before `until` (0: lifts that). */
void picker_pause(struct picker *picker, struct span target, struct wall until);

struct picker_job {
    uint64_t num;
    struct span rank;         /* key it is scheduled with; its first byte is the
                                 number of its class */
    enum job_class job_class; /* of its rank; for ageing */
    struct span target;       /* empty: a command */
    struct wall admitted;     /* for ageing */
    struct wall not_before;   /* 0: at once */
};

/* A job that is pending and not held (became so, was read by a refill, or has
 * another rank or not-before than before). Offering twice is harmless. A job
 * being executed is not offered. */
void picker_offer(struct picker *picker, const struct picker_job *job,
                  struct wall now);
/* Many became ready at once and were not offered: what is here of ready jobs is
 * forgotten, and read anew from the beginning. */
void picker_restart(struct picker *picker);
/* It is not pending any more, or held. Unknown nums are fine. */
void picker_forget(struct picker *picker, uint64_t num);

/* The next to be assigned now; it leaves the window and holds its lane and one
 * assignment until picker_ended. False: none (or none now). */
bool picker_next(struct picker *picker, struct wall now, uint64_t *ret_num);
/* One executing already (start-up), or picked elsewhere. */
void picker_assigned(struct picker *picker, uint64_t num, struct span target);
/* It runs, and longer than a moment: no further one is assigned ahead for its
 * slot. */
void picker_lasting(struct picker *picker, uint64_t num);
/* It ended, or the assignment was taken back (ran_ms < 0: says nothing about
 * how long attempts last). When it is pending again it has to be offered. */
void picker_ended(struct picker *picker, uint64_t num, int64_t ran_ms);

/* How many more may be assigned now, were there enough jobs. */
unsigned picker_room(const struct picker *picker);
/* How many assignments there are too many, since attempts turned out to be
 * long: the youngest unstarted ones may be taken back. */
unsigned picker_excess(const struct picker *picker);

/* Wants to be fed: read the ready jobs beyond (rank, num) in their order, at
 * most *ret_limit of them, offer each, then say picker_refilled with how many
 * there were. (num 0: from the beginning.) At start-up it wants that at once;
 * of a long backlog some hundreds at a time. No other call between the two but
 * picker_offer; the rank is valid until then. Ask until it is false. When the
 * registry cannot be read, ask again later. */
bool picker_needs_refill(struct picker *picker, struct wall now,
                         struct span *ret_after_rank, uint64_t *ret_after_num,
                         size_t *ret_limit);
void picker_refilled(struct picker *picker, size_t count);

/* When time alone makes something ready, or asks for a refill; WALL_NEVER:
 * never. */
struct wall picker_next_time(const struct picker *picker);

enum picker_reason {
    PICKER_NEXT,       /* nothing: it is about to be started */
    PICKER_SLOT,       /* all slots are busy */
    PICKER_LANE,       /* lane of its target, behind `behind` */
    PICKER_NOT_BEFORE, /* not before `until` */
    PICKER_BEHIND      /* others come first */
};
struct picker_why {
    enum picker_reason reason;
    uint64_t behind;      /* LANE: the one executing there longest; TURN: the
                             next one to be picked */
    struct wall until;    /* NOT_BEFORE */
    unsigned slots, busy; /* SLOT */
};
/* Of a pending job, in the window or not. */
struct picker_why picker_why(const struct picker *picker,
                             const struct picker_job *job, struct wall now);

#endif
