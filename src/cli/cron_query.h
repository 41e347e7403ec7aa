/* The operands of the cron commands: an item or a crontab line, a zone, and
 * a start time. */
#ifndef POINTSMAN_CLI_CRON_QUERY_H
#define POINTSMAN_CLI_CRON_QUERY_H

#include <pointsman/cron.h>

#include "lib/err.h"
#include "lib/json.h"
#include "lib/text.h"
#include "cli/call.h"

/* One pattern; a crontab line may consist of two, and fires if either does. */
struct cron_query {
    struct cron_item *items[2];
    char *texts[2]; /* JSON */
    size_t count;
    char *line;          /* of a crontab; NULL: the pattern was JSON */
    enum cron_days days; /* of a crontab line */
};

/* From JSON, or a crontab line without a command. */
bool cron_query_parse(struct cron_query *query, struct span text,
                      struct err *err);
void cron_query_clear(struct cron_query *query);
enum cron_found cron_query_next(const struct cron_query *query,
                                const struct cron_zone *zone, int64_t from,
                                int64_t *ret_at, struct err *err);
enum cron_found cron_query_prev(const struct cron_query *query,
                                const struct cron_zone *zone, int64_t from,
                                int64_t *ret_at, struct err *err);

/* Converts an error of the cron library. Returns false. */
bool cron_query_err_set(struct err *err, const struct cron_err *from);

/* --zone (default: the system's) and --from (default: now), in seconds since
 * 1970. ERR_USAGE: not a time. */
bool cron_query_zone(const struct call *call, struct cron_zone **ret_zone,
                     struct err *err);
bool cron_query_from(const struct call *call, int64_t *ret_from,
                     struct err *err);
/* The one operand ITEM; - is standard input. */
bool cron_query_item(struct call *call, struct cron_query *query,
                     struct err *err);

/* All of standard input, at most 1 MiB. */
bool cron_query_input(struct text *text, struct err *err);

/* Answers JSON lines from standard input with one line each on standard
 * output; returns the exit status. */
int cron_batch(struct call *call);

#endif
