/* A second opinion on when an item fires, written from the definitions so as to
 * be obviously correct: it walks through time minute by minute and asks the C
 * library what the clock shows (TZ, localtime_r). It shares no code with the
 * library under test. */
#ifndef POINTSMAN_TESTS_CRON_ORACLE_H
#define POINTSMAN_TESTS_CRON_ORACLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum oracle_repeat { ORACLE_BOTH, ORACLE_EARLY, ORACLE_LATE };

struct oracle_step {
    char unit; /* 'd', 'w', 'm', or 0 for none */
    int year, month, day, period;
};

/* The values that an item admits, field by field. */
struct oracle_item {
    bool second[60], minute[60], hour[24];
    bool has_second;
    bool weekday[8];  /* 1 is Sunday */
    bool day[32];     /* of the month */
    bool day_end[32]; /* 1 is the last day */
    bool month[13];
    bool year[10000];
    bool has_nth;
    bool nth[6][8], nth_end[6][8];
    struct oracle_step step;
    bool has_except;
    int except_month, except_day; /* every year */
    bool unskip;
    enum oracle_repeat repeat;
};

/* Selects the zone for the functions below. */
void oracle_zone(const char *name);
int32_t oracle_offset(int64_t at);
/* The earliest instant in [from, until) at which the item fires. */
bool oracle_next(const struct oracle_item *item, int64_t from, int64_t until,
                 int64_t *ret_at);
/* The instants in [from, until) at which the offset changes; at most `most`. */
size_t oracle_changes(int64_t from, int64_t until, int64_t *ret, size_t most);

#endif
