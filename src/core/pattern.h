/* When something repeats, as people write it: an item in JSON (see
 * pointsman/cron.h) or the five columns of a crontab line, which may mean two
 * items of which either is enough. An instant of both is one instant. */
#ifndef POINTSMAN_CORE_PATTERN_H
#define POINTSMAN_CORE_PATTERN_H

#include <pointsman/cron.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/text.h"

struct pattern {
    struct cron_item *items[2];
    size_t count;
    int64_t max_shift_s; /* of the item; -1: it says nothing */
    bool is_crontab;
};

/* `hash_name`: what H in a crontab line is taken from; NULL: H is refused.
 * Errors: ERR_DATA, with the place and perhaps what was meant. Clear it. */
bool pattern_parse(struct pattern *ret_pattern, struct span text,
                   const char *hash_name, struct err *err);
void pattern_clear(struct pattern *pattern);
/* One more owner of the same items. */
struct pattern pattern_ref(const struct pattern *pattern);

/* False for instants that need no zone ("epoch"). */
bool pattern_needs_zone(const struct pattern *pattern);
/* The first instant at or after `from`, the last at or before it. False: there
 * is none. `zone` NULL: UTC. */
bool pattern_next(const struct pattern *pattern, const struct cron_zone *zone,
                  int64_t from, int64_t *ret_at);
bool pattern_prev(const struct pattern *pattern, const struct cron_zone *zone,
                  int64_t from, int64_t *ret_at);
/* How many instants lie in [from, until]; of two items over a long time those
 * of both may count twice. */
uint64_t pattern_count(const struct pattern *pattern,
                       const struct cron_zone *zone, int64_t from,
                       int64_t until);
/* The shortest time between two neighbours among a hundred, always the same
 * hundred; 0: there are no two. */
int64_t pattern_gap_s(const struct pattern *pattern,
                      const struct cron_zone *zone);

#endif
