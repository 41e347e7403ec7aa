/* The directory an attempt works in: made anew, removed with all in it. Its
 * parent stays; notes that outlive the attempt lie there. */
#ifndef POINTSMAN_LANDING_LAND_WORK_H
#define POINTSMAN_LANDING_LAND_WORK_H

#include <stdbool.h>

#include "lib/err.h"

struct land_work {
    char *parent;     /* path of the directory it lies in */
    const char *name; /* in that; NULL: not open */
    int parent_fd;
};

/* Makes `path`; what an attempt that was killed left there goes. `path` must
 * last as long as `work`. Clear it with land_work_close in any case. */
bool land_work_open(struct land_work *work, const char *path, struct err *err);
/* Removes it; says on stdout when it cannot. */
void land_work_close(struct land_work *work);

#endif
