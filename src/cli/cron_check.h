/* Warnings about surprising patterns. */
#ifndef POINTSMAN_CLI_CRON_CHECK_H
#define POINTSMAN_CLI_CRON_CHECK_H

#include "cli/cron_query.h"

/* Receives one finding; `bad`: worth a second look, else only information. */
typedef void cron_finding(void *ctx, const char *name, bool bad,
                          const char *sentence);

/* Looks at the years after `from`. *ret_well: nothing bad was found. */
bool cron_check(const struct cron_query *query, const struct cron_zone *zone,
                int64_t from, cron_finding *finding, void *ctx, bool *ret_well,
                struct err *err);

#endif
