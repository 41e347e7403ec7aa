/* Merge trains in the format of Prometheus, for GET /metrics. */
#ifndef POINTSMAN_SCHEDULER_TRAIN_METRICS_H
#define POINTSMAN_SCHEDULER_TRAIN_METRICS_H

#include "lib/text.h"

struct scheduler;

/* Appends the state of each train, and how many events of each sort it has had
 * since the start of this process. */
void train_metrics_format(const struct scheduler *scheduler, struct text *out);

#endif
