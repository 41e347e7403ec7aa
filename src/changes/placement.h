/* Where the job file of a set lies, and getting it to where it belongs. The
 * caller holds the lock of the projection, or has the base for itself. */
#ifndef POINTSMAN_CHANGES_PLACEMENT_H
#define POINTSMAN_CHANGES_PLACEMENT_H

#include <stdbool.h>
#include <sys/stat.h>

#include "lib/err.h"
#include "core/job.h"
#include "base/base.h"

struct placement {
    unsigned dirs; /* bits of the state directories that have the name */
    bool one_file; /* all of them mean the same inode */
    struct stat st[JOB_STATES];
};

bool placement_find(const struct base *base, const char *name,
                    struct placement *ret_placement, struct err *err);

enum placed {
    PLACED_THERE,    /* it was in its place */
    PLACED_MOVED,    /* now it is */
    PLACED_NOWHERE,  /* no such file in any state directory */
    PLACED_ELSEWHERE /* it lies where none of `from` allows, and stays there */
};
/* To the directory of `to`, from one of `from` (bits of states). Second names
 * go; a second file of the same name goes to reject/. */
bool placement_move(const struct base *base, const char *name,
                    enum job_state to, unsigned from, enum placed *ret_placed,
                    struct err *err);

/* Is this the job file of that set: whole, of its name and sum? */
bool placement_is_good(const struct base *base, enum job_state state,
                       const struct job *job);

/* Puts something aside: reject/NAME (or NAME.1, ... when taken), and a line of
 * why beside it, NAME.why. `word` is the reason's short word. */
bool placement_reject(const struct base *base, int dir, const char *name,
                      const char *word, const char *sentence, struct err *err);

#endif
