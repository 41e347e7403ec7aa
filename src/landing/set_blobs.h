/* A change set's files on their way into git: content goes from the tarball
 * straight into blobs, by one `git fast-import`; names go nowhere but into the
 * list of edits. */
#ifndef POINTSMAN_LANDING_SET_BLOBS_H
#define POINTSMAN_LANDING_SET_BLOBS_H

#include <stdbool.h>

#include "lib/arena.h"
#include "lib/err.h"
#include "landing/git.h"
#include "landing/tree.h"
#include "wire/set_tar.h"

/* A set as the repository has it now. Lives in the arena. */
struct set_blobs {
    struct set_check check;
    struct tree_edit *edits; /* files and deleted, by path_compare */
    size_t count;
};

/* Reads the tarball `fd` and writes its blobs. Errors: ERR_REFUSED, the
 * tarball is not what it was when it was admitted (sum, rules); or git's. */
bool set_blobs_load(struct git *git, int fd, struct span sum, bool symlinks,
                    struct arena *arena, struct set_blobs *ret_blobs,
                    struct err *err);

/* Limits for a tarball that was checked when it was admitted: then they were
 * the configuration's, and may have been wider than the default. */
struct set_limits set_limits_admitted(bool symlinks);

/* Did it come out as the set that was admitted? */
bool set_check_admitted(const struct set_check *check, struct span sum,
                        struct err *err);

#endif
