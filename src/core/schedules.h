/* The schedules: which one fires when, and which of its firings are left
 * out (doc/design/cron.md, S4 to S6).
 *
 * It is told what time it is and answers with decisions, one by one; it reads
 * no clock and starts nothing. All instants of a schedule up to its `high` are
 * dealt with. A decision moves it on; whoever carries the decision out records
 * both in one transaction and says so (schedules_recorded), or says that it did
 * not come about (schedules_reset): until then that schedule rests, the others
 * go on.
 *
 * An instant that passed while nobody watched (a restart), or that the clock or
 * the zone jumped over, is late. Up to max_shift it fires once or is reported,
 * as `missed` says; what is later is always reported, never fired. A clock that
 * goes back by no more than max_shift repeats nothing; beyond, what was fired
 * before counts no more, and firings bear the number of the round.
 *
 * This is not the library's watch (pointsman/cron.h), because every schedule
 * here has a zone of its own, a place of its own in the registry, and may fire
 * later than its instant (offset, jitter). */
#ifndef POINTSMAN_CORE_SCHEDULES_H
#define POINTSMAN_CORE_SCHEDULES_H

#include "core/repeat.h"

/* An instant this late is on time while somebody watches. */
enum { SCHEDULES_PATIENCE_S = 60 };

#define SCHEDULES_NEVER INT64_MAX

enum schedule_overlap {
    OVERLAP_FORBID,  /* left out while the job before lives */
    OVERLAP_ALLOW,   /* fires beside it */
    OVERLAP_REPLACE, /* the job before is taken back */
    OVERLAP_QUEUE    /* waits behind it */
};
enum schedule_missed { MISSED_RUN, MISSED_SKIP };

struct schedule_rule {
    struct repeat repeat;
    struct cron_zone *zone; /* NULL: UTC */
    int64_t max_shift_s;
    enum schedule_overlap overlap;
    enum schedule_missed missed;
    int64_t offset_s;   /* fires so much after its instant, */
    int64_t jitter_s;   /* and up to so much more, by chance */
    int64_t deadline_s; /* later than that it need not start; 0: no matter */
    uint64_t seed;      /* of that chance */
};

/* Where a schedule stands, as the registry knows it. */
struct schedule_place {
    int64_t high_s;
    int32_t offset_s; /* of the zone at high_s */
    unsigned round;
};

struct schedules;
struct schedule; /* one schedule in it */

struct schedules *schedules_new(int64_t system_s, int64_t boot_s);
void schedules_free(struct schedules *schedules); /* NULL is fine */

/* One more schedule; it refers to pattern and zone itself. Whatever lies
 * between its place and now was missed. `data` is the caller's. */
struct schedule *schedules_add(struct schedules *schedules,
                               const struct schedule_rule *rule,
                               const struct schedule_place *place, void *data);
void schedules_remove(struct schedules *schedules, struct schedule *schedule);
void *schedule_data(const struct schedule *schedule);
const struct schedule_rule *schedule_rule(const struct schedule *schedule);
/* Instant, offset and jitter. */
int64_t schedule_due(const struct schedule_rule *rule, int64_t at);

/* Jobs of the schedule that live: one more, one less. */
void schedule_add_live(struct schedule *schedule, int more);
/* The zone's name means another zone now. Before the tick. */
void schedules_zone(struct schedules *schedules, struct schedule *schedule,
                    struct cron_zone *zone);

/* What disturbed the time since the tick before. */
struct schedules_disturbance {
    int64_t passed_s;      /* of the clock that nobody sets */
    int64_t clock_shift_s; /* the system's clock was set by so much */
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
    bool replaces;     /* what lives of it is to be taken back */
    int64_t at, until; /* what does not fire: all from the first to the last */
    uint64_t count;    /* so many instants */
    int64_t late_s;    /* of the first, against when it was due */
    struct schedule_place from, to; /* the place moves from here to there */
};
/* Whose decision is next. NULL: none is due, until schedules_next(). */
struct schedule *schedules_due(const struct schedules *schedules);
/* The next decision that is due. False: none is, until schedules_next(). */
bool schedules_decide(struct schedules *schedules,
                      struct schedule_decision *ret_decision);
/* The decision is recorded: on with the next of that schedule. */
void schedules_recorded(struct schedules *schedules, struct schedule *schedule);
/* It is not: the schedule stands where the registry says. */
void schedules_reset(struct schedules *schedules, struct schedule *schedule,
                     const struct schedule_place *place);

/* When something is due, by the system's clock; NEVER: nothing is. */
int64_t schedules_next(const struct schedules *schedules);

#endif
