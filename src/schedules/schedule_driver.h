/* The role "clock": turns the decisions of schedules (core/schedules.h) into
 * jobs.
 *
 * Like the scheduler it touches the world only through the store and the
 * times it is given, so that the simulator drives the very same code. It
 * learns of schedules, and of what became of their jobs, from the store's
 * events. A firing is one atomic batch: the job, and the mark that its
 * instant has been handled (schedules/schedule_row.h).
 *
 * There is one driver per base at a time: in the process that holds the
 * role. */
#ifndef POINTSMAN_SCHEDULES_SCHEDULE_DRIVER_H
#define POINTSMAN_SCHEDULES_SCHEDULE_DRIVER_H

#include "lib/text.h"
#include "lib/time.h"
#include "store/store.h"

struct schedule_driver;

struct base; /* base/base.h */

struct schedule_driver_options {
    const struct base *base; /* whose jobs they make; NULL: as in
                                command_admit */
    struct span host;        /* name of this machine, for the order of jobs */
    int64_t zones_s; /* how often zone files are checked; 0: every 60 s */
};

/* `boot`: from a clock that cannot be set and goes on during suspension. */
struct schedule_driver *
schedule_driver_new(struct store *store,
                    const struct schedule_driver_options *options,
                    struct wall now, struct boot boot);
void schedule_driver_free(struct schedule_driver *driver); /* NULL is fine */
/* Loads all schedules. A schedule that this program cannot read is logged and
 * left alone. Errors of the store only. */
bool schedule_driver_start(struct schedule_driver *driver, struct err *err);

/* Does what is due. *ret_next: when the passing of time alone gives it work
 * (WALL_NEVER: never). */
void schedule_driver_turn(struct schedule_driver *driver, struct wall now,
                          struct boot boot, struct wall *ret_next);
/* True if nothing is in progress and nothing was due at the last turn. */
bool schedule_driver_idle(const struct schedule_driver *driver);
/* Fires nothing new from now on. */
void schedule_driver_drain(struct schedule_driver *driver);

#endif
