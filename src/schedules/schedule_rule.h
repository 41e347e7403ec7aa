/* Turns the definition of a schedule (wire/schedule_spec.h) into the rule used
 * for decisions (core/schedules.h): parses its pattern and opens its zone. All
 * errors in a schedule are found here or in schedule_spec_check. */
#ifndef POINTSMAN_SCHEDULES_SCHEDULE_RULE_H
#define POINTSMAN_SCHEDULES_SCHEDULE_RULE_H

#include "core/schedules.h"
#include "wire/schedule_spec.h"

/* Vixie's limit: a clock change of less than three hours is followed. */
enum { CRONTAB_MAX_SHIFT_S = 3 * 3600, HASH_SPAN_S = 3600 };

/* `zones` NULL: the zone is read from its file. ERR_DATA for the item, for an
 * item without max_shift (if the schedule has none either), and for the zone.
 * The caller clears the result. */
bool schedule_rule_make(const struct schedule_spec *spec, struct span name,
                        uint64_t seed, struct cron_zones *zones,
                        struct schedule_rule *ret_rule, struct err *err);
void schedule_rule_clear(struct schedule_rule *rule);
/* True if both have the same item in the same zone. */
bool schedule_fires_alike(const struct schedule_spec *a,
                          const struct schedule_spec *b);
/* The place of a schedule that starts after `at_s`; `zones` as above. */
void schedule_begin(const struct schedule_spec *spec, struct cron_zones *zones,
                    int64_t at_s, int64_t *ret_high_s, int32_t *ret_offset_s);
/* The first time it fires after `now_s`, offset and jitter included; instants up
 * to `handled_s` have fired already, unless the clock was set back by more than
 * max_shift since. False: never. */
bool schedule_rule_next(const struct schedule_rule *rule, int64_t now_s,
                        int64_t handled_s, int64_t *ret_due_s);
/* The id of the job of a firing: NAME.20261122T023000Z, with .rN in a later
 * round. */
char *schedule_firing_id(struct arena *arena, struct span name, int64_t at,
                         unsigned round);
/* "2026-11-22T02:30:00Z" */
char *schedule_instant_text(struct arena *arena, int64_t at);

#endif
