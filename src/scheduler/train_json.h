/* Merge trains as JSON, one object per line: the train of a target, then its
 * units in order. The member `kind` tells them apart. */
#ifndef POINTSMAN_SCHEDULER_TRAIN_JSON_H
#define POINTSMAN_SCHEDULER_TRAIN_JSON_H

#include <stdbool.h>

#include "lib/text.h"

struct scheduler;

/* Appends the train of the target; empty: of all. False: there is none. */
bool train_json(struct scheduler *scheduler, struct span name,
                struct text *out);

#endif
