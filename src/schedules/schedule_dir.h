/* The directory of the commands of a schedule, which moves with the base: the
 * registry has it relative to the base if it lies in the base or, for a base
 * called .pointsman, beside it in the project that it belongs to. */
#ifndef POINTSMAN_SCHEDULES_SCHEDULE_DIR_H
#define POINTSMAN_SCHEDULES_SCHEDULE_DIR_H

#include "wire/schedule_spec.h"

/* Turns an absolute directory of its job into a relative one of the schedule,
 * if it lies there. The home of an imported crontab stays where it is. */
void schedule_dir_relate(struct schedule_spec *spec, const char *base_path,
                         struct arena *arena);
/* The reverse, before a job is made. */
void schedule_dir_resolve(struct schedule_spec *spec, const char *base_path,
                          struct arena *arena);

#endif
