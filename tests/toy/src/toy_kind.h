/* The row for toys in the table of work kinds. */
#ifndef POINTSMAN_TOY_TOY_KIND_H
#define POINTSMAN_TOY_TOY_KIND_H

#include "scheduler/work_kind.h"

#define TOY_KIND JOB_TOY /* kind of a job that winds up a toy */

extern const struct work_kind toy_kind;

#endif
