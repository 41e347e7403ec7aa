/* What both halves of fsck tell with. */
#ifndef POINTSMAN_SERVE_FSCK_REPORT_H
#define POINTSMAN_SERVE_FSCK_REPORT_H

#include "base/attr.h"
#include "serve/fsck.h"

void fsck_problem(struct fsck_report *report, const char *format, ...)
    PRINTF_LIKE(2, 3);

#endif
