/* Trees of a git repository, read and made anew without a work tree: only the
 * directories on the way to a changed path are touched, so that the cost is
 * that of the change and not that of the repository. */
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
    unsigned mode; /* as git has it: 0100644, 040000, ...; 0 = absent */
    char oid[OID_BYTES];
};

/* Trees already read, by object name. */
struct trees {
    struct git_pipe objects; /* cat-file */
    struct git_pipe maker;   /* hash-object; opened when first needed */
    int draft_fd;            /* memory: the tree it is to store */
    struct git *git;
    struct arena arena;
    struct map known; /* oid -> struct tree */
};

bool trees_open(struct git *git, struct trees *ret_trees, struct err *err);
/* Ends both gits; what they made stays. False: hash-object did not end well. */
bool trees_close(struct trees *trees, struct err *err);
/* The same when it does not matter; also for one that is not open. */
void trees_drop(struct trees *trees);

/* What lies at `path` below tree `root` ("" = an empty tree); mode 0: nothing.
 * A path through something that is no directory leads to nothing. */
bool tree_find(struct trees *trees, const char *root, struct span path,
               struct tree_entry *ret_entry, struct err *err);

/* One path of a change. */
struct tree_edit {
    struct span path;
    unsigned mode;       /* 0 = goes away */
    char oid[OID_BYTES]; /* of the blob */
};

/* Why an edit cannot be made. */
enum tree_clash {
    TREE_FITS,
    TREE_MISSING,   /* goes away, but is not there */
    TREE_DIRECTORY, /* is a directory with something in it */
    TREE_FILE       /* a parent of it is a file */
};

/* Makes the tree `root` with `edits` (in the order of path_compare, no path
 * twice). clashes[i] tells which do not fit; with any, *ret_oid is undefined
 * and *ret_fits false. A directory left empty goes. Edits that go away
 * although nothing is there fit when `missing_is_fine`. Every object that a new
 * tree names is there; one that is missing or damaged is an error. If `ret_oid`
 * is NULL, the edits are only checked and nothing is written. */
bool tree_apply(struct trees *trees, const char *root,
                const struct tree_edit *edits, size_t count,
                bool missing_is_fine, enum tree_clash *clashes,
                char ret_oid[OID_BYTES], bool *ret_fits, struct err *err);

#endif
