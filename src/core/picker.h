/* The picker chooses which job to start next, from free slots, lanes and the
 * ready jobs in order. Pure.
 *
 * The backlog stays in the registry. The picker holds a window of its best
 * jobs: all ready jobs up to a bound, at most `window_max` of them. Jobs beyond
 * the bound are turned away when offered and read from the registry when the
 * window runs low (picker_needs_refill). A target whose lanes are busy keeps
 * only a few of its jobs in the window, so that it cannot crowd out the others;
 * the rest is read again when needed.
 *
 * Ready = pending, not held, not before its time. Jobs offered before their
 * time are kept aside and become ready by themselves.
 *
 * Ageing (O15) moves jobs ahead inside the window; jobs beyond the bound are
 * searched class by class every eighth of a step (a refill like any other).
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
    unsigned slots;      /* number of attempts that may run at once */
    size_t window_max;   /* 0 = 4096 */
    unsigned ahead_max;  /* assignments beyond the slots; 0 = none at all */
    int64_t age_step_ms; /* O15: after each step BF and DC gain a class; 0 =
                            off */
};

struct picker *picker_new(const struct picker_limits *limits);
void picker_free(struct picker *picker); /* NULL is fine */
/* For all later choices; what runs already is not affected, even if it is more
 * than the new slots. */
void picker_set_limits(struct picker *picker,
                       const struct picker_limits *limits);
/* How many jobs of a target may be executing at once; 0 = no limit. Targets
 * that were never set have 1; the empty target (commands) has no limit. */
void picker_set_lanes(struct picker *picker, struct span target,
                      unsigned lanes);

/* While a target is closed, none of its jobs is picked, however many lanes it
 * has. `num`: the job that closes it, which holds no lane itself; 0: reopens
 * it. */
void picker_close(struct picker *picker, struct span target, uint64_t num);

/* No job of the target is picked before `until` (0: ends the pause). */
void picker_pause(struct picker *picker, struct span target, struct wall until);

/* The job `num` is about to become ready, and a lane or a slot that becomes
 * free is not given away in front of it: until picker_proceed, no less urgent
 * job of its target is picked. `urgency` is the first byte of its rank. */
void picker_yield(struct picker *picker, struct span target,
                  unsigned char urgency, uint64_t num);
/* The same for the jobs of all targets, and commands. */
void picker_yield_all(struct picker *picker, unsigned char urgency);
void picker_proceed(struct picker *picker);
/* True if picker_yield_all, or picker_yield for this target (empty: for none),
 * keeps a job of this rank from being picked. An empty rank is the least
 * urgent. */
bool picker_yields(const struct picker *picker, struct span target,
                   struct span rank);

struct picker_job {
    uint64_t num;
    struct span rank;         /* key used for scheduling; its first byte is the
                                 number of its class */
    enum job_class job_class; /* class of its rank; for ageing */
    struct span target;       /* empty: a command */
    struct wall admitted;     /* for ageing */
    struct wall not_before;   /* 0: at once */
    bool begins;              /* not_before stays if the clock is set back */
};

/* Offers a job that is pending and not held (it became so, was read by a
 * refill, or got another rank or not-before). Offering twice is harmless. A job
 * that is executing must not be offered. */
void picker_offer(struct picker *picker, const struct picker_job *job,
                  struct wall now);
/* Many jobs became ready at once and were not offered: forgets the ready jobs
 * in the window and reads them again from the beginning. */
void picker_restart(struct picker *picker);
/* The job is no longer pending, or is held. Unknown nums are ignored. */
void picker_forget(struct picker *picker, uint64_t num);

/* The next job to assign now; it leaves the window and holds its lane and one
 * assignment until picker_ended. False: none, or none at present. */
bool picker_next(struct picker *picker, struct wall now, uint64_t *ret_num);
/* Adds a job that is executing already (at start-up) or was picked
 * elsewhere. */
void picker_assigned(struct picker *picker, uint64_t num, struct span target);
/* The attempt has been running for more than a moment: no further job is
 * assigned ahead for its slot. */
void picker_lasting(struct picker *picker, uint64_t num);
/* The attempt ended, or its assignment was withdrawn (ran_ms < 0: it says
 * nothing about how long attempts last). If the job is pending again, it has to
 * be offered. */
void picker_ended(struct picker *picker, uint64_t num, int64_t ran_ms);

/* True if a job is ready that only lacks a slot. */
bool picker_is_wanted(const struct picker *picker);
/* How many more jobs may be assigned now if there are enough. */
unsigned picker_room(const struct picker *picker);
/* The number of assignments in excess, since attempts turned out to be long:
 * the youngest unstarted ones may be withdrawn. */
unsigned picker_excess(const struct picker *picker);

/* True if the picker needs a refill: read the ready jobs beyond (rank, num) in
 * their order, at most *ret_limit of them, offer each that may start, then call
 * picker_refilled with their number and the place of the last one. (num 0: from
 * the beginning.) At start-up it needs one at once; a long backlog is read some
 * hundred rows at a time.
 * Between the two calls only picker_offer is allowed; the rank is valid until
 * then. Ask until it returns false. If the registry cannot be read, ask again
 * later. */
bool picker_needs_refill(struct picker *picker, struct wall now,
                         struct span *ret_after_rank, uint64_t *ret_after_num,
                         size_t *ret_limit);
void picker_refilled(struct picker *picker, size_t count, struct span last_rank,
                     uint64_t last_num);

/* When the passing of time alone makes a job ready or calls for a refill;
 * WALL_NEVER: never. */
struct wall picker_next_time(const struct picker *picker);

/* The clock was set back by so much. */
void picker_set_back(struct picker *picker, int64_t ms);

enum picker_reason {
    PICKER_NEXT,       /* nothing: the job is about to start */
    PICKER_SLOT,       /* all slots are busy */
    PICKER_LANE,       /* waits for a lane of its target, behind `behind` */
    PICKER_NOT_BEFORE, /* not before `until` */
    PICKER_BEHIND      /* other jobs come first */
};
struct picker_why {
    enum picker_reason reason;
    uint64_t behind;      /* LANE: the job executing there longest, or the one
                             that is about to become ready; BEHIND: the next
                             job to be picked */
    struct wall until;    /* for NOT_BEFORE */
    unsigned slots, busy; /* for SLOT */
};
/* Explains why a pending job waits, whether it is in the window or not. */
struct picker_why picker_why(const struct picker *picker,
                             const struct picker_job *job, struct wall now);

#endif
