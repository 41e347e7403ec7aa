/* Paths a change set may name: relative, '/' between components, normal form
 * only (no empty, "." or ".." component), no LF or NUL, and nothing that any
 * file system takes for ".git": any letter case, trailing dots and blanks,
 * NTFS short names and streams, code points HFS+ ignores. */
#ifndef POINTSMAN_WIRE_PATH_H
#define POINTSMAN_WIRE_PATH_H

#include <stdbool.h>
#include <stddef.h>

#include "lib/text.h"
#include "wire/refusal.h"

struct path_limits {
    size_t path_bytes, component_bytes, depth;
};

#define PATH_LIMITS ((struct path_limits){4096, 255, 64})

bool path_check(struct span path, const struct path_limits *limits,
                struct refusal *why);
/* Does `target`, the content of a symbolic link at `path`, stay inside the
 * tree? Relative, `..` only in front and no more of them than the link lies
 * deep, and otherwise as path_check. */
bool path_link_check(struct span path, struct span target,
                     const struct path_limits *limits, struct refusal *why);
bool path_is_dot_git(struct span component);
/* Why a pattern (* and ? inside a component, ** across) can match no path that
 * path_check accepts, with what to write instead; NULL: it may match one. */
const char *path_pattern_fault(struct span pattern);

/* Order of a walk through the tree: '/' sorts before every other byte, so
 * what lies below a path directly follows it. */
int path_compare(struct span a, struct span b);
/* Is `inner` below `outer` ("a/b" below "a")? */
bool path_is_below(struct span inner, struct span outer);

#endif
