/* A repetition as people write it: an item in JSON (see pointsman/cron.h) or
 * the five columns of a crontab line, which may mean two items, either of which
 * is enough. An instant of both counts once. */
#ifndef POINTSMAN_CORE_REPEAT_H
#define POINTSMAN_CORE_REPEAT_H

#include <pointsman/cron.h>
#include <stdbool.h>
#include <stdint.h>

#include "lib/err.h"
#include "lib/text.h"

struct repeat {
    struct cron_item *items[2];
    size_t count;
    int64_t max_shift_s; /* from the item; -1: not given */
    bool is_crontab;
};

/* `hash_name`: the value from which H in a crontab line is derived; NULL: H is
 * refused. Errors: ERR_DATA, with the position and perhaps a suggestion. The
 * caller clears the result. */
bool repeat_parse(struct repeat *ret_repeat, struct span text,
                  const char *hash_name, struct err *err);
void repeat_clear(struct repeat *repeat);
/* The same with an error of the library, for callers that know the position of
 * the text themselves. */
bool repeat_parse_fault(struct repeat *ret_repeat, struct span text,
                        const char *hash_name, struct cron_err *err);
/* Parses a crontab line of five columns without a command. The caller clears
 * the result. */
bool repeat_crontab_parse(const char *line, const char *hash_name,
                          struct cron_crontab *ret_crontab,
                          struct cron_err *err);
/* Another reference to the same items. */
struct repeat repeat_ref(const struct repeat *repeat);

/* False if the instants need no zone ("epoch"). */
bool repeat_needs_zone(const struct repeat *repeat);
/* The first instant at or after `from`, and the last at or before it. False:
 * there is none. `zone` NULL: UTC. */
bool repeat_next(const struct repeat *repeat, const struct cron_zone *zone,
                 int64_t from, int64_t *ret_at);
bool repeat_prev(const struct repeat *repeat, const struct cron_zone *zone,
                 int64_t from, int64_t *ret_at);
/* The number of instants in [from, until]; with two items over a long time,
 * instants of both may count twice. */
uint64_t repeat_count(const struct repeat *repeat, const struct cron_zone *zone,
                      int64_t from, int64_t until);
/* The shortest time between neighbouring instants in a fixed sample of a
 * hundred; 0: there are fewer than two. */
int64_t repeat_gap_s(const struct repeat *repeat, const struct cron_zone *zone);

#endif
