/* The three-way merge of one path: what becomes of it when two sides, `ours`
 * and `theirs`, were both made from `base`. Nothing but that path is looked at,
 * so that a change never moves to another path: git's tree merges follow
 * renames, and would change files that a set does not list and nobody approved.
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

/* Zero it, set the first two; clear it with path_merge_clear. */
struct path_merge {
    struct git *git; /* its work directory holds the files while they merge */
    struct git_pipe *objects; /* cat-file */
    struct git_pipe hasher;   /* opened when the first file was merged */
};

enum path_merged {
    PATH_CLEAN,
    PATH_CONFLICT, /* both changed it */
    PATH_BINARY    /* both changed it, and it is not text */
};

/* Merges and sets `ret_merged` (mode 0: the path goes away), whose content is
 * in the repository; it is `ours` itself if nothing is left to do. The entries
 * come from tree_find; a directory counts as absent, because the paths below it
 * are merged by themselves. */
bool path_merge(struct path_merge *merge, const struct tree_entry *base,
                const struct tree_entry *ours, const struct tree_entry *theirs,
                struct tree_entry *ret_merged, enum path_merged *ret_result,
                struct err *err);
void path_merge_clear(struct path_merge *merge);

/* Do both stand for the same file, or for none? */
bool path_entry_same(const struct tree_entry *a, const struct tree_entry *b);

#endif
