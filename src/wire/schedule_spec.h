/* A schedule in JSON, as sent by `cron add` and kept in the registry.
 *
 *     {"item": {"hour": 2, ...} or "30 2 * * *", "zone": "Europe/London",
 *      "overlap": "forbid", "missed": "run", "max_shift": 3600,
 *      "offset": "hash 15m", "jitter": 30, "deadline": 600, "paused": false,
 *      "import": "crontab", "dir": "..", "job": {"command": ["make",
 * "nightly"], ...}}
 *
 * Only item and job are required; job is a submission (wire/submission.h)
 * without an id, a begin, a template, an array or a hold. Times are in seconds or such as "15m".
 * Whether item and zone are valid is not checked here. null counts as absent.
 */
#ifndef POINTSMAN_WIRE_SCHEDULE_SPEC_H
#define POINTSMAN_WIRE_SCHEDULE_SPEC_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/arena.h"
#include "lib/err.h"
#include "lib/text.h"
#include "core/schedules.h"
#include "wire/submission.h"

enum {
    SCHEDULE_NAME_BYTES = 40,
    SCHEDULE_SECONDS_MOST = 31536000 /* largest value of each time */
};

struct schedule_spec {
    struct span item; /* JSON, or a crontab line */
    struct span zone; /* empty: the system's zone */
    enum schedule_overlap overlap;
    enum schedule_missed missed;
    int64_t max_shift_s; /* -1: taken from the item */
    bool hash;           /* derive the offset from the name */
    int64_t offset_s; /* with `hash`: the upper bound (0: one hour, or the time
                         between two instants if less); otherwise the offset
                         itself */
    int64_t jitter_s, deadline_s;
    bool paused;
    struct span import; /* the crontab that `cron import` made it from: the
                           prefix of its names; else empty */
    struct span dir;    /* of its jobs, relative to the base; else empty */
    struct submission job;
};

void schedule_spec_init(struct schedule_spec *spec); /* sets the defaults */
/* A letter or digit, then letters, digits and '-', at most SCHEDULE_NAME_BYTES:
 * the ids of its jobs begin with it. ERR_DATA. */
bool schedule_name_check(struct span name, struct err *err);
/* The result lives in the arena or in `text`. ERR_DATA; for an unknown key with
 * a suggestion. */
bool schedule_spec_parse(struct span text, struct arena *arena,
                         struct schedule_spec *ret_spec, struct err *err);
/* Applies the same rules to a spec that was not parsed. */
bool schedule_spec_check(const struct schedule_spec *spec, struct err *err);
/* Appends one line of JSON without LF, omitting defaults. */
void schedule_spec_format(const struct schedule_spec *spec, struct text *out);

/* Parses "off", "hash", "hash 15m" or "90". False: none of these. */
bool schedule_offset_parse(struct span text, struct schedule_spec *spec);
/* Appends the offset in the form that schedule_offset_parse reads. */
void schedule_offset_format(const struct schedule_spec *spec, struct text *out);
/* "forbid", "run", and back; parse is false for any other word. */
const char *schedule_overlap_word(enum schedule_overlap overlap);
const char *schedule_missed_word(enum schedule_missed missed);
bool schedule_overlap_parse(struct span word, enum schedule_overlap *ret);
bool schedule_missed_parse(struct span word, enum schedule_missed *ret);

#endif
