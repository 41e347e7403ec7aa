/* Compares two trees with the paths that were meant to change between them. */
#ifndef POINTSMAN_LANDING_TREE_COMPARE_H
#define POINTSMAN_LANDING_TREE_COMPARE_H

#include <stdbool.h>

#include "lib/err.h"
#include "lib/text.h"
#include "landing/tree.h"

/* Appends to `ret_path` the first path whose file differs between the trees
 * `before` and `after` ("" = an empty tree) and that is not among `edits`
 * (sorted by path_compare). If there is none, nothing is appended. Only
 * directories that differ are read. */
bool tree_compare(struct trees *trees, const char *before, const char *after,
                  const struct tree_edit *edits, size_t count,
                  struct text *ret_path, struct err *err);

#endif
