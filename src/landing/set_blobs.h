/* Copies a change set's files into git: content goes from the tarball straight
 * into blobs, names go only into the list of edits. The first small files are
 * stored by this program (landing/objects_apart.h); large files, and those
 * behind the first hundred, by one `git fast-import`, which compresses them
 * and makes one file of many. */
#ifndef POINTSMAN_LANDING_SET_BLOBS_H
#define POINTSMAN_LANDING_SET_BLOBS_H

#include <stdbool.h>

#include "lib/arena.h"
#include "lib/err.h"
#include "landing/git.h"
#include "landing/tree.h"
#include "wire/set_tar.h"

/* A set as stored in the repository. Lives in the arena. */
struct set_blobs {
    struct set_check check;
    struct tree_edit *edits; /* files and deleted, sorted by path_compare */
    size_t count;
    size_t imported; /* so many files went through git fast-import */
};

/* Reads the tarball `fd` and writes its blobs. Errors: ERR_REFUSED if the
 * tarball differs from what was admitted (sum, rules); or git's errors. */
bool set_blobs_load(struct git *git, int fd, struct span sum, bool symlinks,
                    struct arena *arena, struct set_blobs *ret_blobs,
                    struct err *err);

/* Limits for a tarball that was checked on admission: at that time the
 * configured limits applied, which may have been wider than the defaults. */
struct set_limits set_limits_admitted(bool symlinks);

/* Checks that the result is the set that was admitted. */
bool set_check_admitted(const struct set_check *check, struct span sum,
                        struct err *err);

#endif
