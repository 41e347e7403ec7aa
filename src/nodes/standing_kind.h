/* The row for standing jobs in the table of work kinds. */
#ifndef POINTSMAN_NODES_STANDING_KIND_H
#define POINTSMAN_NODES_STANDING_KIND_H

#include "scheduler/work_kind.h"

#define STANDING_KIND JOB_STANDING /* kind of a job that stands on nodes */

extern const struct work_kind standing_kind;

#endif
