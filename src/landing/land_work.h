/* The work directory of an attempt: created empty, and removed with its
 * contents. Its parent stays; notes that outlive the attempt lie there. */
#ifndef POINTSMAN_LANDING_LAND_WORK_H
#define POINTSMAN_LANDING_LAND_WORK_H

#include <stdbool.h>

#include "lib/err.h"

struct land_work {
    char *parent;     /* path of the parent directory */
    const char *name; /* name in the parent; NULL: not open */
    int parent_fd;
};

/* Creates `path` and removes anything that a killed attempt left there. `path`
 * must stay valid as long as `work`. Call land_work_close even after an error.
 */
bool land_work_open(struct land_work *work, const char *path, struct err *err);
/* Removes it; prints a line on stdout if that fails. */
void land_work_close(struct land_work *work);

#endif
