/* The schedules: which one fires when, and which firings are skipped
 * (doc/design/cron.md, S4 to S6).
 *
 * The caller passes the time and receives decisions, one by one; this module
 * reads no clock and starts nothing. All instants of a schedule up to its
 * `high` have been handled. A decision advances the schedule; its caller
 * records the decision and the new place in one transaction and then calls
 * schedules_recorded, or schedules_reset if that failed: until then this
 * schedule waits while the others go on.
 *
 * An instant that passed while no server was running (a restart), or that the
 * clock or the zone jumped over, is late. If it is late by at most max_shift,
 * it fires once or is reported, depending on `missed` and whatever `overlap`
 * says; if by more, it is always reported and never fired. A clock that is set
 * back by at most max_shift repeats nothing; if by more, earlier firings no
 * longer count, and new firings carry the number of the round.
 *
 * This is not the library's watch (pointsman/cron.h), because every schedule
 * here has its own zone and its own place in the registry, and may fire later
 * than its instant (offset, jitter). */
#ifndef POINTSMAN_CORE_SCHEDULES_H
#define POINTSMAN_CORE_SCHEDULES_H

#include "core/repeat.h"

/* While a server is running, an instant at most this late is on time. */
enum { SCHEDULES_PATIENCE_S = 60 };

#define SCHEDULES_NEVER INT64_MAX

/* What an instant that is on time does. One that is late and fires
 * (MISSED_RUN) neither is skipped nor cancels anything: unless overlap is
 * allowed, its job waits behind the previous ones. */
enum schedule_overlap {
    OVERLAP_FORBID,  /* skipped while a previous job is live */
    OVERLAP_ALLOW,   /* fires beside the previous jobs */
    OVERLAP_REPLACE, /* the previous jobs are cancelled */
    OVERLAP_QUEUE    /* waits behind the previous jobs */
};
enum schedule_missed { MISSED_RUN, MISSED_SKIP };

struct schedule_rule {
    struct repeat repeat;
    struct cron_zone *zone; /* NULL: UTC */
    int64_t max_shift_s;
    enum schedule_overlap overlap;
    enum schedule_missed missed;
    int64_t offset_s;   /* fires this much after its instant, */
    int64_t jitter_s;   /* plus up to this much more, at random */
    int64_t deadline_s; /* latest start after that; 0: any time */
    uint64_t seed;      /* seed of the jitter */
};

/* The place of a schedule as the registry has it. */
struct schedule_place {
    int64_t high_s;
    int32_t offset_s; /* UTC offset of the zone at high_s */
    unsigned round;
};

struct schedules;
struct schedule; /* one schedule in it */

struct schedules *schedules_new(int64_t system_s, int64_t boot_s);
void schedules_free(struct schedules *schedules); /* NULL is fine */

/* Adds a schedule; it keeps its own references to pattern and zone. All
 * instants between its place and now were missed. `data` belongs to the
 * caller. */
struct schedule *schedules_add(struct schedules *schedules,
                               const struct schedule_rule *rule,
                               const struct schedule_place *place, void *data);
void schedules_remove(struct schedules *schedules, struct schedule *schedule);
void *schedule_data(const struct schedule *schedule);
const struct schedule_rule *schedule_rule(const struct schedule *schedule);
/* The instant plus offset and jitter. */
int64_t schedule_due(const struct schedule_rule *rule, int64_t at);

/* Changes the number of live jobs of the schedule: one more, one less. */
void schedule_add_live(struct schedule *schedule, int more);
/* The zone's name now means another zone. Call it before the tick. */
void schedules_zone(struct schedules *schedules, struct schedule *schedule,
                    struct cron_zone *zone);

/* Disturbances of the time since the previous tick. */
struct schedules_disturbance {
    int64_t passed_s;      /* according to the monotonic clock */
    int64_t clock_shift_s; /* how far the system clock was set */
};
struct schedules_disturbance schedules_tick(struct schedules *schedules,
                                            int64_t system_s, int64_t boot_s);

enum schedule_reason {
    SCHEDULE_ON_TIME, /* fires */
    SCHEDULE_LATE,    /* fires */
    SCHEDULE_SKIP,    /* late, and missed = skip */
    SCHEDULE_STALE,   /* later than max_shift */
    SCHEDULE_DEADLINE,
    SCHEDULE_OVERLAP
};
const char *schedule_reason_word(enum schedule_reason reason); /* "overlap" */

struct schedule_decision {
    struct schedule *schedule;
    enum schedule_reason reason;
    bool fires;
    bool replaces;     /* live jobs of this schedule are to be cancelled */
    int64_t at, until; /* the skipped instants, from first to last */
    uint64_t count;    /* number of instants */
    int64_t late_s;    /* of the first one, after it was due */
    struct schedule_place from, to; /* the place before and after */
};
/* The schedule with the next decision. NULL: none is due before
 * schedules_next(). */
struct schedule *schedules_due(const struct schedules *schedules);
/* The next decision that is due. False: none is before schedules_next(). */
bool schedules_decide(struct schedules *schedules,
                      struct schedule_decision *ret_decision);
/* The decision is recorded: go on with the next one of that schedule. */
void schedules_recorded(struct schedules *schedules, struct schedule *schedule);
/* The decision was not recorded: the schedule stands where the registry
 * says. */
void schedules_reset(struct schedules *schedules, struct schedule *schedule,
                     const struct schedule_place *place);

/* When the next decision is due, by the system clock; NEVER: none is. */
int64_t schedules_next(const struct schedules *schedules);

#endif
