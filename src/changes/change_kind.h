/* The rows for change sets and rollbacks in the table of work kinds. */
#ifndef POINTSMAN_CHANGES_CHANGE_KIND_H
#define POINTSMAN_CHANGES_CHANGE_KIND_H

#include "scheduler/work_kind.h"

#define CHANGE_KIND JOB_CHANGE /* kind of a job that is a change set */

extern const struct work_kind change_kind;
extern const struct work_kind change_kind_rollback;

#endif
