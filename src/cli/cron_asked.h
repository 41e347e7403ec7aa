/* What the cron verbs are asked about: an item or a crontab line, a zone, and
 * since when. */
#ifndef POINTSMAN_CLI_CRON_ASKED_H
#define POINTSMAN_CLI_CRON_ASKED_H

#include <pointsman/cron.h>

#include "lib/err.h"
#include "lib/json.h"
#include "lib/text.h"
#include "cli/command.h"

/* One pattern; a crontab line may be two of them, of which either is enough. */
struct cron_asked {
    struct cron_item *items[2];
    char *texts[2]; /* JSON */
    size_t count;
};

/* From JSON, or a crontab line without a command. */
bool cron_asked_parse(struct cron_asked *asked, struct span text,
                      struct err *err);
void cron_asked_clear(struct cron_asked *asked);
enum cron_found cron_asked_next(const struct cron_asked *asked,
                                const struct cron_zone *zone, int64_t from,
                                int64_t *ret_at, struct err *err);
enum cron_found cron_asked_prev(const struct cron_asked *asked,
                                const struct cron_zone *zone, int64_t from,
                                int64_t *ret_at, struct err *err);

/* The library's error as ours. Returns false. */
bool cron_err_set(struct err *err, const struct cron_err *from);

/* --zone (else the system's) and --from (else now). */
bool cron_asked_zone(const struct call *call, struct cron_zone **ret_zone,
                     struct err *err);
bool cron_asked_from(const struct call *call, int64_t *ret_from,
                     struct err *err);
/* The one operand ITEM; - is standard input. */
bool cron_asked_item(struct call *call, struct cron_asked *asked,
                     struct err *err);

/* All of standard input, at most 1 MiB. */
bool cron_asked_input(struct text *text, struct err *err);

/* JSON lines from standard input, an answer for each on standard output;
 * returns the exit status. */
int cron_batch(struct call *call);

#endif
