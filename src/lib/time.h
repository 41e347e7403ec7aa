/* Types of time that cannot be mixed: wall time, which people read and which
 * may jump, and monotonic time, which only advances. Reading a clock is done by
 * os/clock; here are arithmetic and text. */
#ifndef POINTSMAN_LIB_TIME_H
#define POINTSMAN_LIB_TIME_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/text.h"

struct wall {
    int64_t ns; /* since 1970-01-01T00:00:00Z, leap seconds not counted */
};
struct mono {
    int64_t ns; /* since some point in the past of this boot */
};
struct boot {
    int64_t ns; /* since boot, including time asleep */
};

#define NS_PER_MS INT64_C(1000000)
#define NS_PER_S INT64_C(1000000000)
#define MONO_NEVER ((struct mono){INT64_MAX})
#define WALL_NEVER ((struct wall){INT64_MAX})

int64_t wall_s(struct wall wall);         /* rounded down */
uint32_t wall_fraction(struct wall wall); /* nanoseconds within the second */
struct wall wall_from_s(int64_t s);
struct wall wall_add_ms(struct wall wall, int64_t ms); /* saturates */
struct mono mono_add_ms(struct mono mono, int64_t ms); /* saturates */
/* Rounded down; negative if `earlier` is the later one; saturates. */
int64_t wall_ms_since(struct wall later, struct wall earlier);
int64_t mono_ms_since(struct mono later, struct mono earlier);
/* A time that was planned before the clock was set back by so many
 * milliseconds, on the clock as it is now. 0 and WALL_NEVER stay. */
struct wall wall_set_back(struct wall planned, int64_t ms);

/* Watches whether the clock is set. */
struct wall_watch {
    int64_t ahead_ns; /* of the time since boot, when last seen */
    bool is_begun;
};
/* By how many milliseconds the clock was set back since the last call; 0: not
 * by a tenth of a second, which is reported together with later steps. Both
 * times as of one moment. */
int64_t wall_watch_step(struct wall_watch *watch, struct wall wall,
                        struct boot boot);

enum { WALL_TEXT_BYTES = 40, TAI_TEXT_BYTES = 26 };

/* RFC 3339 in UTC with milliseconds: 2026-11-21T19:20:21.123Z. Returns ret. */
char *wall_format(struct wall wall, char ret[WALL_TEXT_BYTES]);
/* Parses RFC 3339 with any offset and any fraction. False: invalid. */
bool wall_parse(struct span span, struct wall *ret_wall);

/* "@" + 24 lower-case hex digits: a TAI64N label, 2^62 + 10 + Unix seconds,
 * then nanoseconds. Returns ret. */
char *tai_format(struct wall wall, char ret[TAI_TEXT_BYTES]);
/* Parses exactly this form. False: invalid, or not a time of struct wall;
 * *ret_wall is 0 then. */
bool tai_parse(struct span span, struct wall *ret_wall);

/* Adds milliseconds to nanoseconds; saturates. */
int64_t duration_add(int64_t ns, int64_t ms);
/* Milliseconds between two times in nanoseconds, rounded down; saturates. */
int64_t duration_between(int64_t later, int64_t earlier);
/* Parses "90", "90s", "15m", "2h", "7d" to ms. False: not a duration. */
bool duration_parse(struct span span, int64_t *ret_ms);

#endif
