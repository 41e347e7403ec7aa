/* How both halves of fsck report problems. */
#ifndef POINTSMAN_MAINTENANCE_FSCK_REPORT_H
#define POINTSMAN_MAINTENANCE_FSCK_REPORT_H

#include "lib/attr.h"
#include "maintenance/fsck.h"

/* Counts a problem and passes its sentence to report->problem, if there is
 * one. */
void fsck_problem(struct fsck_report *report, const char *format, ...)
    PRINTF_LIKE(2, 3);

#endif
