/* Searches that remember in which stretch of the zone they are. */
#ifndef POINTSMAN_CRON_SEARCH_H
#define POINTSMAN_CRON_SEARCH_H

#include "cron/item.h"
#include "cron/zone.h"

/* The least instant at or above `from`, which lies in *stretch; of an epoch
 * item the stretch is not looked at. Never fails. */
bool search_next(const struct cron_item *item, const struct cron_zone *zone,
                 int64_t from, struct stretch *stretch, int64_t *ret_at);

#endif
