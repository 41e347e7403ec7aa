/* Labels of an item: the local times at which it fires, as a wall clock
 * shows them, in seconds since 1970-01-01 00:00:00 of that clock. No zone is
 * involved. */
#ifndef POINTSMAN_CRON_CALENDAR_H
#define POINTSMAN_CRON_CALENDAR_H

#include "cron/item.h"

/* 1969-01-01 00:00:00 to 9999-12-31 23:59:59. */
#define LABEL_LEAST INT64_C(-31536000)
#define LABEL_MOST INT64_C(253402300799)

/* The smallest label at or above `label`. */
bool calendar_next(const struct cron_item *item, int64_t label,
                   int64_t *ret_label);
/* The number of labels in [from, until). */
uint64_t calendar_count(const struct cron_item *item, int64_t from,
                        int64_t until);

#endif
