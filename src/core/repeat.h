/* When something repeats, as people write it: an item in JSON (see
 * pointsman/cron.h) or the five columns of a crontab line, which may mean two
 * items of which either is enough. An instant of both is one instant. */
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
    int64_t max_shift_s; /* of the item; -1: it says nothing */
    bool is_crontab;
};

/* `hash_name`: what H in a crontab line is taken from; NULL: H is refused.
 * Errors: ERR_DATA, with the place and perhaps what was meant. Clear it. */
bool repeat_parse(struct repeat *ret_repeat, struct span text,
                  const char *hash_name, struct err *err);
void repeat_clear(struct repeat *repeat);
/* One more owner of the same items. */
struct repeat repeat_ref(const struct repeat *repeat);

/* False for instants that need no zone ("epoch"). */
bool repeat_needs_zone(const struct repeat *repeat);
/* The first instant at or after `from`, the last at or before it. False: there
 * is none. `zone` NULL: UTC. */
bool repeat_next(const struct repeat *repeat, const struct cron_zone *zone,
                 int64_t from, int64_t *ret_at);
bool repeat_prev(const struct repeat *repeat, const struct cron_zone *zone,
                 int64_t from, int64_t *ret_at);
/* How many instants lie in [from, until]; of two items over a long time those
 * of both may count twice. */
uint64_t repeat_count(const struct repeat *repeat, const struct cron_zone *zone,
                      int64_t from, int64_t until);
/* The shortest time between two neighbours among a hundred, always the same
 * hundred; 0: there are no two. */
int64_t repeat_gap_s(const struct repeat *repeat, const struct cron_zone *zone);

#endif
