/* The timetable: which schedule fires when, and which of its firings are left
 * out (spec/cron.md §4.2, issue of schedules).
 *
 * It is told what time it is and answers with decisions, one by one; it reads
 * no clock and starts nothing. All instants of a schedule up to its `high` are
 * dealt with. A decision moves it on; whoever carries the decision out records
 * both in one transaction and says so (timetable_settle), or says that it did
 * not come about (timetable_place): until then that schedule rests, the others
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
#ifndef POINTSMAN_CORE_TIMETABLE_H
#define POINTSMAN_CORE_TIMETABLE_H

#include "core/repeat.h"

/* An instant this late is on time while somebody watches. */
enum { TIMETABLE_PATIENCE_S = 60 };

#define TIMETABLE_NEVER INT64_MAX

enum timed_overlap {
    OVERLAP_FORBID,  /* left out while the job before lives */
    OVERLAP_ALLOW,   /* fires beside it */
    OVERLAP_REPLACE, /* the job before is taken back */
    OVERLAP_QUEUE    /* waits behind it */
};
enum timed_missed { MISSED_RUN, MISSED_SKIP };

struct timed_rule {
    struct repeat repeat;
    struct cron_zone *zone; /* NULL: UTC */
    int64_t max_shift_s;
    enum timed_overlap overlap;
    enum timed_missed missed;
    int64_t offset_s;   /* fires so much after its instant, */
    int64_t jitter_s;   /* and up to so much more, by chance */
    int64_t deadline_s; /* later than that it need not start; 0: no matter */
    uint64_t seed;      /* of that chance */
};

/* Where a schedule stands, as the registry knows it. */
struct timed_place {
    int64_t high_s;
    int32_t offset_s; /* of the zone at high_s */
    unsigned round;
};

struct timetable;
struct timed; /* one schedule in it */

struct timetable *timetable_new(int64_t system_s, int64_t boot_s);
void timetable_free(struct timetable *timetable); /* NULL is fine */

/* One more schedule; it refers to pattern and zone itself. Whatever lies
 * between its place and now was missed. `data` is the caller's. */
struct timed *timetable_add(struct timetable *timetable,
                            const struct timed_rule *rule,
                            const struct timed_place *place, void *data);
void timetable_remove(struct timetable *timetable, struct timed *timed);
void *timed_data(const struct timed *timed);
const struct timed_rule *timed_rule(const struct timed *timed);
/* What it stands at and what it waits for next; NEVER: nothing. */
struct timed_place timed_place(const struct timed *timed);
int64_t timed_next(const struct timed *timed);
/* Instant, offset and jitter. */
int64_t timed_due(const struct timed_rule *rule, int64_t at);

/* Jobs of the schedule that live: one more, one less. */
void timed_live(struct timed *timed, int more);
/* The zone's name means another zone now. Before the tick. */
void timetable_zone(struct timetable *timetable, struct timed *timed,
                    struct cron_zone *zone);

/* What disturbed the time since the tick before. */
struct timetable_told {
    int64_t passed_s;      /* of the clock that nobody sets */
    int64_t clock_shift_s; /* the system's clock was set by so much */
};
struct timetable_told timetable_tick(struct timetable *timetable,
                                     int64_t system_s, int64_t boot_s);

enum timed_reason {
    TIMED_ON_TIME, /* fires */
    TIMED_LATE,    /* fires */
    TIMED_SKIP,    /* late, and missed = skip */
    TIMED_STALE,   /* later than max_shift */
    TIMED_DEADLINE,
    TIMED_OVERLAP
};
const char *timed_reason_word(enum timed_reason reason); /* "overlap" */

struct timed_decision {
    struct timed *timed;
    enum timed_reason reason;
    bool fires;
    bool replaces;     /* what lives of it is to be taken back */
    int64_t at, until; /* what does not fire: all from the first to the last */
    uint64_t count;    /* so many instants */
    int64_t late_s;    /* of the first, against when it was due */
    struct timed_place from, to; /* the place moves from here to there */
};
/* Whose decision is next. NULL: none is due, until timetable_next(). */
struct timed *timetable_due(const struct timetable *timetable);
/* The next decision that is due. False: none is, until timetable_next(). */
bool timetable_decide(struct timetable *timetable,
                      struct timed_decision *ret_decision);
/* The decision is recorded: on with the next of that schedule. */
void timetable_settle(struct timetable *timetable, struct timed *timed);
/* It is not: the schedule stands where the registry says. */
void timetable_place(struct timetable *timetable, struct timed *timed,
                     const struct timed_place *place);

/* When something is due, by the system's clock; NEVER: nothing is. */
int64_t timetable_next(const struct timetable *timetable);

#endif
