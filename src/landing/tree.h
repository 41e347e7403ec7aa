/* Reads trees of a git repository and builds new ones without a work tree: only
 * the directories on the way to a changed path are touched, so the cost depends
 * on the size of the change, not of the repository. */
#ifndef POINTSMAN_LANDING_TREE_H
#define POINTSMAN_LANDING_TREE_H

#include <stdbool.h>
#include <stddef.h>

#include "lib/arena.h"
#include "lib/err.h"
#include "lib/map.h"
#include "lib/text.h"
#include "landing/git.h"

struct tree_entry {
    struct span name;
    unsigned mode; /* as in git: 0100644, 040000, ...; 0 = absent */
    char oid[OID_BYTES];
};

enum { MODE_TREE = 040000 };

/* Trees already read, by object name. */
struct trees {
    struct git_pipe objects; /* cat-file */
    struct git *git;
    struct arena arena;
    struct map known; /* oid -> struct tree */
    struct map sound; /* names of the trees that were made here, and so name
                         only objects that exist */
};

bool trees_open(struct git *git, struct trees *ret_trees, struct err *err);
/* Also accepts trees that are not open. */
void trees_drop(struct trees *trees);

struct tree {
    struct tree_entry *entries; /* sorted by span_compare of their names */
    size_t count;
};

/* Reads the tree `oid` ("" = an empty tree). It lives as long as `trees`. */
bool tree_read(struct trees *trees, const char *oid,
               const struct tree **ret_tree, struct err *err);

/* The entry at `path` below tree `root` ("" = an empty tree); mode 0: absent. A
 * path through something other than a directory is absent. */
bool tree_find(struct trees *trees, const char *root, struct span path,
               struct tree_entry *ret_entry, struct err *err);

/* One path of a change. */
struct tree_edit {
    struct span path;
    unsigned mode;       /* 0 = delete */
    char oid[OID_BYTES]; /* of the blob */
};

/* Why an edit cannot be made. */
enum tree_clash {
    TREE_FITS,
    TREE_MISSING,   /* to be deleted, but absent */
    TREE_DIRECTORY, /* is a directory that is not empty */
    TREE_FILE       /* a parent of the path is a file */
};

/* Makes the tree `root` with `edits` (sorted by path_compare, no path twice).
 * clashes[i] says which edits do not fit; if there are any, *ret_oid is
 * undefined and *ret_fits false. A directory that becomes empty is removed.
 * With `missing_is_fine` deleting an absent path fits. Every object that a new
 * tree names must exist; a missing or damaged one is an error. If `ret_oid` is
 * NULL, the edits are only checked and nothing is written. */
bool tree_apply(struct trees *trees, const char *root,
                const struct tree_edit *edits, size_t count,
                bool missing_is_fine, enum tree_clash *clashes,
                char ret_oid[OID_BYTES], bool *ret_fits, struct err *err);

#endif
