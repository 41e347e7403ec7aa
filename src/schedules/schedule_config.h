/* The schedules of pointsman.conf: what they say, checked with file and line,
 * and their way into the registry, where they live like those of `cron add`
 * but belong to the file: what is no longer in it goes. */
#ifndef POINTSMAN_SCHEDULES_SCHEDULE_CONFIG_H
#define POINTSMAN_SCHEDULES_SCHEDULE_CONFIG_H

#include "base/base.h"
#include "wire/schedule_spec.h"

/* Of a row that belongs to the file. */
#define SCHEDULE_OF_CONFIG "config"

/* In the arena. ERR_CONFIG, "FILE:LINE: ...", also for an item or a zone that
 * is none. `base_path`: what its directory is relative to. */
bool schedule_config_read(const struct config_schedule *schedule,
                          const char *base_path, struct arena *arena,
                          struct schedule_spec *ret_spec, struct err *err);
/* All of them. The first that is wrong. */
bool schedule_config_check(const struct base *base, struct err *err);
/* The registry as the file says; writes nothing when it is so. One that
 * somebody added by hand under the same name stays, and is told in the log. */
bool schedule_config_store(struct base *base, struct wall now, struct err *err);

#endif
