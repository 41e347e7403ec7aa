/* Results of checks of candidates, which a merge train uses again
 * (doc/design/train.md, M13 to M15). A noun of the registry (store/noun.h). */
#ifndef POINTSMAN_SCHEDULER_CHECK_RESULT_H
#define POINTSMAN_SCHEDULER_CHECK_RESULT_H

#include <stdbool.h>

#include "core/train_result.h"
#include "store/noun.h"

extern const struct store_noun check_result_noun;

struct check_result {
    struct span key; /* 64 hex digits */
    struct span target, tree;
    struct wall at;
    bool passed;
};
/* Records the end of a run. No event. */
unsigned check_result_add(struct store_batch *batch,
                          const struct check_result *result);
/* Removes all results of the target. Event TRAIN, reason "forgotten". */
unsigned check_result_forget(struct store_batch *batch, struct span target);
/* Removes the failures that dispute passes of the target. Event TRAIN, reason
 * "recheck". */
unsigned check_result_settle(struct store_batch *batch, struct span target);
/* Removes the results of the target that are older than `before`. No event. */
unsigned check_result_prune(struct store_batch *batch, struct span target,
                            struct wall before);
/* *ret_record is zero if nothing is recorded. */
bool check_result_find(struct store *store, struct span key,
                       struct train_record *ret_record, struct err *err);

#endif
