/* The three-way merge of a single path that two sides, `ours` and `theirs`,
 * both derived from `base`. Only that path is looked at, so that a change never
 * moves to another path: git's tree merges follow renames, and would change
 * files that a set does not list and that were not approved.
 *
 * A path that only one side changed needs no content and no process. Two
 * changed text files are merged by `git merge-file`. Everything else is a
 * conflict: binary files, a change of type, a file that one side deleted or
 * that both added. */
#ifndef POINTSMAN_LANDING_PATH_MERGE_H
#define POINTSMAN_LANDING_PATH_MERGE_H

#include <stdbool.h>

#include "lib/err.h"
#include "landing/git.h"
#include "landing/tree.h"

struct path_merge {
    struct git *git; /* its work directory holds the files during a merge; a
                        result is stored among its objects apart */
    struct git_pipe *objects; /* cat-file */
};

enum path_merged {
    PATH_CLEAN,
    PATH_CONFLICT, /* both sides changed it */
    PATH_BINARY    /* both sides changed it, and it is not text */
};

/* Merges and sets `ret_merged` (mode 0: the path is deleted), whose content is
 * in the repository; if nothing has to be done, it is `ours` itself. The
 * entries come from tree_find; a directory counts as absent, because the paths
 * below it are merged separately. */
bool path_merge(struct path_merge *merge, const struct tree_entry *base,
                const struct tree_entry *ours, const struct tree_entry *theirs,
                struct tree_entry *ret_merged, enum path_merged *ret_result,
                struct err *err);

/* True if both are the same file, or both absent. */
bool path_entry_same(const struct tree_entry *a, const struct tree_entry *b);

#endif
