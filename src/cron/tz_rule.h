/* POSIX TZ strings: the rule of a zone in one line,
 * "CET-1CEST,M3.5.0,M10.5.0/3" (RFC 9636, 3.3.2: names in letters or <>, hours
 * of a rule from -167 to 167). A bare name and offset is a rule without summer
 * time. */
#ifndef POINTSMAN_CRON_TZ_RULE_H
#define POINTSMAN_CRON_TZ_RULE_H

#include "cron/fault.h"

enum tz_day_kind {
    TZ_DAY_JULIAN, /* Jn: 1 to 365, 29 February is never counted */
    TZ_DAY_ZERO,   /* n: 0 to 365, 29 February is counted */
    TZ_DAY_WEEK    /* Mm.w.d: week 5 is the last */
};

struct tz_day {
    enum tz_day_kind kind;
    int32_t day; /* weekday of TZ_DAY_WEEK, 0 is Sunday */
    uint32_t month, week;
    int32_t time_s; /* on the clock before the change */
};

struct tz_rule {
    int32_t standard_s, summer_s; /* east of UTC */
    bool has_summer;
    struct tz_day start, end; /* of summer time */
};

bool tz_rule_parse(const char *text, size_t bytes, struct tz_rule *ret_rule,
                   struct cron_err *err);
/* The two changes of a year, as instants. */
int64_t tz_rule_start(const struct tz_rule *rule, int32_t year);
int64_t tz_rule_end(const struct tz_rule *rule, int32_t year);

#endif
