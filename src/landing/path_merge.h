/* The three-way merge of a single path that two sides, `ours` and `theirs`,
 * both derived from `base`. Only that path is looked at, so that a change never
 * moves to another path: git's tree merges follow renames, and would change
 * files that a set does not list and that were not approved.
 *
 * A path that only one side changed needs no content and no process. Two text
 * files that were changed in different places need no process either; if the
 * changes interleave, `git merge-file` merges them. Everything else is a
 * conflict: binary files, a change of type, a file that one side deleted or
 * that both added. */
#ifndef POINTSMAN_LANDING_PATH_MERGE_H
#define POINTSMAN_LANDING_PATH_MERGE_H

#include <stdbool.h>

#include "lib/err.h"
#include "landing/git.h"
#include "landing/tree.h"

enum path_side { PATH_OURS, PATH_BASE, PATH_THEIRS, PATH_SIDES };

/* A file of the last merge. */
struct path_blob {
    char oid[OID_BYTES]; /* "": none */
    struct text content;
    bool is_new; /* a result that is only here */
};

/* Zero it and set the first two members; clear it with path_merge_clear. */
struct path_merge {
    struct git *git; /* its work directory holds the files during a merge; a
                        result is stored among its objects apart */
    struct git_pipe *objects; /* cat-file */
    /* Results are not stored: each is `ours` of the next merge, and the last
     * one is found in `blobs`. */
    bool is_in_memory;
    struct path_blob blobs[PATH_SIDES];
};

enum path_merged {
    PATH_CLEAN,
    PATH_CONFLICT, /* both sides changed it */
    PATH_BINARY    /* both sides changed it, and it is not text */
};

/* Merges and sets `ret_merged` (mode 0: the path is deleted), whose content is
 * in the repository or in memory; if nothing has to be done, it is `ours`
 * itself. The entries come from tree_find; a directory counts as absent,
 * because the paths below it are merged separately. */
bool path_merge(struct path_merge *merge, const struct tree_entry *base,
                const struct tree_entry *ours, const struct tree_entry *theirs,
                struct tree_entry *ret_merged, enum path_merged *ret_result,
                struct err *err);
void path_merge_clear(struct path_merge *merge);
/* Moves the content of a result that is only in memory; false: it is not. */
bool path_merge_take(struct path_merge *merge, const char *oid,
                     struct text *ret_content);

/* True if both are the same file, or both absent. */
bool path_entry_same(const struct tree_entry *a, const struct tree_entry *b);

#endif
