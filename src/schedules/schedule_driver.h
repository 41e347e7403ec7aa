/* The role "clock": what the schedules decide (core/schedules.h) becomes jobs.
 *
 * Like the scheduler it touches the world only through the store and the times
 * it is given, so that the simulator drives the very same code. It learns of
 * schedules, and of what became of their jobs, from the store's events. A
 * firing is one atomic batch: the job, and the mark that its instant is dealt
 * with (schedules/schedule_row.h).
 *
 * There is one in a base at a time: whoever holds the role. */
#ifndef POINTSMAN_SCHEDULES_SCHEDULE_DRIVER_H
#define POINTSMAN_SCHEDULES_SCHEDULE_DRIVER_H

#include "lib/text.h"
#include "lib/time.h"
#include "store/store.h"

struct schedule_driver;

struct schedule_driver_options {
    struct span host; /* of this machine, for the order of jobs */
    int64_t zones_s;  /* files of zones are looked at that often; 0: 60 */
};

/* `boot`: of a clock that nobody sets and that goes on in suspension. */
struct schedule_driver *
schedule_driver_new(struct store *store,
                    const struct schedule_driver_options *options,
                    struct wall now, struct boot boot);
void schedule_driver_free(struct schedule_driver *driver); /* NULL is fine */
/* Loads all schedules. One that this program cannot read is told in the log and
 * left alone. Errors of the store only. */
bool schedule_driver_start(struct schedule_driver *driver, struct err *err);

/* Does what is due. *ret_next: when time alone will give it work (WALL_NEVER:
 * never). */
void schedule_driver_turn(struct schedule_driver *driver, struct wall now,
                          struct boot boot, struct wall *ret_next);
/* Nothing is under way and nothing is due at the time of the last turn. */
bool schedule_driver_idle(const struct schedule_driver *driver);
/* Fire nothing new from now on. */
void schedule_driver_drain(struct schedule_driver *driver);

#endif
