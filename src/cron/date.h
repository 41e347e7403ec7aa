/* Dates in items: where "every other" counts from, and excluded days. */
#ifndef POINTSMAN_CRON_DATE_H
#define POINTSMAN_CRON_DATE_H

#include "cron/item.h"
#include "cron/reader.h"

/* Parses {"start": "2026-01-06", "period": 2, "end": "2026-12-31"} as one
 * more step of the item; `scale` multiplies the period. */
bool date_step_parse(struct cron_item *item, enum step_kind kind, int32_t scale,
                     struct reader *reader);
/* Parses a date, "12-25" for each year, {"start": ..., "end": ...}, or a
 * list. */
bool date_except_parse(struct cron_item *item, struct reader *reader);

#endif
