/* A standing job as the pass takes it: its stored definition, with levels,
 * resources and other jobs as numbers (core/node_job.h). */
#ifndef POINTSMAN_NODES_STANDING_H
#define POINTSMAN_NODES_STANDING_H

#include "lib/text.h"
#include "nodes/node_settings.h"
#include "nodes/standing_row.h"

enum { STANDING_RETRIES = 1000000000 /* of a list of waits that repeats */ };

struct standing {
    struct node_job_spec spec; /* its memory belongs to this struct; num,
                                  enabled and job_class are set too.
                                  rules.lost_wait_ms is 0: set it */
    struct span name;
    uint64_t version;
    struct span submission; /* of its tasks, as JSON (wire/submission.h): what
                               `spec` of a command's job is */
    struct standing_memory *memory;
};

/* Finds a standing job that is not deleted by its name. */
struct standing_names {
    bool (*find)(void *ctx, struct span name, uint64_t *ret_num);
    void *ctx;
};

/* Makes the job of the row. False: it does not fit the configuration, or a job
 * that it depends on is gone; nothing is made, and err says what. Then the job
 * is not valid, and goes on with its present spec and `enabled` false (N12 of
 * doc/design/nodes.md). A job of another level than before cannot be given to
 * node_pass_set_job: `job set` refuses to change the level, but the levels of
 * the configuration may change between two starts. ERR_DATA. */
bool standing_make(const struct standing_row *row,
                   const struct node_settings *settings,
                   const struct standing_names *names,
                   struct standing *ret_standing, struct err *err);
/* The same, with a line in `errors` for everything that is wrong. `names` NULL:
 * relations are left out. */
bool standing_make_all(const struct standing_row *row,
                       const struct node_settings *settings,
                       const struct standing_names *names,
                       struct standing *ret_standing, struct text *errors);
/* Frees its memory; must not be in use by a pass any more. A CLEANUP function.
 */
void standing_clear(struct standing *standing);

#endif
