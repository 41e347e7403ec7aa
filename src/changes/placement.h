/* Finds the job file of a set and moves it to its place. The caller holds the
 * lock of the projection, or has exclusive use of the base. */
#ifndef POINTSMAN_CHANGES_PLACEMENT_H
#define POINTSMAN_CHANGES_PLACEMENT_H

#include <stdbool.h>
#include <sys/stat.h>

#include "lib/err.h"
#include "core/job.h"
#include "base/base.h"

struct placement {
    unsigned dirs; /* bits of the state directories with this name */
    bool one_file; /* all of them are the same inode */
    struct stat st[JOB_STATES];
};

bool placement_find(const struct base *base, const char *name,
                    struct placement *ret_placement, struct err *err);

enum placed {
    PLACED_THERE,    /* it was in its place already */
    PLACED_MOVED,    /* it has been moved there */
    PLACED_NOWHERE,  /* no such file in any state directory */
    PLACED_ELSEWHERE /* it is in a directory outside `from`, and stays there */
};
/* Moves the file to the directory of `to`, from one of `from` (bits of states).
 * Second names are removed; a second file of the same name goes to reject/. */
bool placement_move(const struct base *base, const char *name,
                    enum job_state to, unsigned from, enum placed *ret_placed,
                    struct err *err);

/* True if this is the job file of that set: complete, with its name and sum. */
bool placement_is_good(const struct base *base, enum job_state state,
                       const struct job *job);

/* Sets an entry aside: moves it to reject/NAME (or NAME.1, ... if taken) and
 * writes a line with the reason to NAME.why. `word` is the reason's short
 * word. */
bool placement_reject(const struct base *base, int dir, const char *name,
                      const char *word, const char *sentence, struct err *err);

#endif
