/* [schedule "NAME"]: the schedules of pointsman.conf. They are checked with
 * file and line and then stored in the registry, where they live like those of
 * `cron add` but belong to the file: a schedule that is no longer in the file
 * is removed. */
#ifndef POINTSMAN_SCHEDULES_SCHEDULE_CONFIG_H
#define POINTSMAN_SCHEDULES_SCHEDULE_CONFIG_H

#include "base/base.h"
#include "wire/config_section.h"
#include "wire/schedule_spec.h"

/* Origin of a row that belongs to the file. */
#define SCHEDULE_OF_CONFIG "config"

struct config_schedule {
    struct span name;
    struct config_origin origin; /* its first section line */
#define CONFIG_KEY(key, kind, field, ...) CONFIG_FIELD(kind, field)
#include "schedules/config_schedule.def"
};

extern const struct config_section schedule_section;

/* Those of the files in their order; NULL: there are no more. */
const struct config_schedule *schedule_config_at(const struct config *config,
                                                 size_t index);
/* NULL: no such schedule. */
const struct config_schedule *schedule_config_find(const struct config *config,
                                                   struct span name);
/* Results live in the arena. ERR_CONFIG, "FILE:LINE: ...", also for an invalid
 * item or zone. `zones`: as in schedule_rule_make. */
bool schedule_config_read(const struct config_schedule *schedule,
                          struct cron_zones *zones, struct arena *arena,
                          struct schedule_spec *ret_spec, struct err *err);
/* Refuses a request for a schedule that the files define, or pause (`what`:
 * "defined"), and names the place. `base` NULL: the place is not known. Returns
 * false: ERR_REFUSED. */
bool schedule_config_refuse(const struct base *base, struct span name,
                            const char *what, struct err *err);
/* Checks all of them. False: the first error. */
bool schedule_config_check(const struct base *base, struct err *err);
/* Makes the registry match the file; writes nothing if it does already. A
 * schedule of the same name that was added by hand stays, which is logged. */
bool schedule_config_store(struct base *base, struct wall now, struct err *err);

#endif
