/* Which paths the commits of a branch changed, from one `git log`. A merge
 * counts as what it changed on the branch. */
#ifndef POINTSMAN_LANDING_BRANCH_LOG_H
#define POINTSMAN_LANDING_BRANCH_LOG_H

#include <stdbool.h>

#include "lib/err.h"
#include "lib/text.h"
#include "landing/git.h"
#include "landing/tree.h"

/* Valid only during the call. */
struct branch_change {
    struct span commit, path;
    struct tree_entry before, after; /* mode 0: there is none */
};

/* False ends it: the output of git is unexpected. */
typedef bool branch_log_visit(void *ctx, const struct branch_change *change);

/* Calls `visit` for each path that each commit changed, newest commit first.
 * `commits`: one a line, "^" before those whose ancestors are left out. `walk`:
 * whether to go on to the ancestors, as an option of git log. */
bool branch_log_each(struct git *git, const char *walk,
                     const struct text *commits, branch_log_visit *visit,
                     void *ctx, struct err *err);
/* ":MODE MODE OID OID STATUS": the entries before and after. */
bool branch_log_entry_parse(struct span head, struct tree_entry *ret_before,
                            struct tree_entry *ret_after);

#endif
