/* A zone is a sequence of stretches of time with one offset each. It makes
 * no difference here whether an offset is summer time and what it is called;
 * neighbours with the same offset are one stretch.
 *
 * A rule that holds for ever is written out for 400 years, after which the
 * calendar repeats itself; an instant beyond is moved back by whole cycles,
 * so that the year 9998 costs as much as this one. */
#ifndef POINTSMAN_CRON_ZONE_H
#define POINTSMAN_CRON_ZONE_H

#include "cron/fault.h"
#include "cron/tz_rule.h"

struct cron_zone {
    unsigned refs; /* atomic */
    bool is_rule;
    size_t count;     /* of changes */
    int64_t *times;   /* of the changes, increasing */
    int32_t *offsets; /* count + 1: before the first change, after each */
    /* The number of changes up to the start of each span of 2^23 s (97 days)
     * from the first change on: a search has one or two left to look at. */
    uint32_t *index;
    size_t index_count;
    /* The stretch that is repeated after it, and perhaps before it. */
    bool cycles, cycles_back;
    int64_t cycle_start;
    int32_t least_s, most_s; /* of the offsets */
    /* The instants of one label are at most this far apart. */
    int32_t span_s;
    char *name;
};

/* [start, end) with one offset. INT64_MIN and INT64_MAX stand for ever. */
struct stretch {
    int64_t start, end;
    int32_t offset_s;
    size_t index;
    int64_t moved_s; /* whole cycles */
};

struct stretch zone_stretch(const struct cron_zone *zone, int64_t at);
/* The neighbours; the stretch must not be the last (first) one. */
struct stretch zone_stretch_after(const struct cron_zone *zone,
                                  const struct stretch *stretch);
struct stretch zone_stretch_before(const struct cron_zone *zone,
                                   const struct stretch *stretch);

/* True if both mean the same at all times. */
bool zone_equal(const struct cron_zone *a, const struct cron_zone *b);

/* Offset 0 for ever. */
extern const struct cron_zone zone_utc;

/* ---- making one ---------------------------------------------------------- */

/* Changes collected in order. */
struct zone_draft {
    int64_t *times;
    int32_t *offsets;
    size_t count, room;
    int32_t first_s; /* before the first change */
    /* The last change that was added, also when it changed no offset. */
    int64_t last;
    bool any;
};

bool zone_draft_add(struct zone_draft *draft, int64_t at, int32_t offset_s,
                    struct cron_err *err);
void zone_draft_clear(struct zone_draft *draft);
/* Makes a zone of the draft and the rule (may be NULL) that holds after its
 * last change; without any change the rule holds at all times. The draft is
 * cleared. */
bool zone_make(struct zone_draft *draft, const struct tz_rule *rule,
               struct cron_zone **ret_zone, struct cron_err *err);
bool zone_set_name(struct cron_zone *zone, const char *name,
                   struct cron_err *err);

/* "Z", "+02", "+02:00", "+0200", "-03:30:15". */
bool zone_offset_parse(const char *text, int32_t *ret_offset_s);

#endif
