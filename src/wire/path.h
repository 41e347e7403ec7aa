/* Paths that a change set may name: relative, '/' between components, normal
 * form only (no empty, "." or ".." component), no LF or NUL, and no component
 * that any file system treats as ".git": any letter case, trailing dots and
 * blanks, NTFS short names and streams, code points that HFS+ ignores. */
#ifndef POINTSMAN_WIRE_PATH_H
#define POINTSMAN_WIRE_PATH_H

#include <stdbool.h>
#include <stddef.h>

#include "lib/text.h"
#include "wire/refusal.h"

struct path_limits {
    size_t path_bytes, component_bytes, depth;
};

/* Linux accepts no longer path in a system call. */
enum { PATH_BYTES_MAX = 4095 };

#define PATH_LIMITS ((struct path_limits){PATH_BYTES_MAX, 255, 64})

bool path_check(struct span path, const struct path_limits *limits,
                struct refusal *why);
/* Checks that `target`, the content of a symbolic link at `path`, stays inside
 * the tree: it must be relative, with ".." only in front and no more often than
 * the link is deep, and otherwise pass path_check. No component of `path` may
 * be one that some file system treats as ".gitmodules": git refuses to check
 * out such a link. */
bool path_link_check(struct span path, struct span target,
                     const struct path_limits *limits, struct refusal *why);
bool path_is_dot_git(struct span component);
/* Explains why a pattern (* and ? inside a component, ** across) cannot match
 * any path that path_check accepts, with a suggestion; NULL: it may match one.
 */
const char *path_pattern_fault(struct span pattern);

/* The order of a walk through the tree: '/' sorts before every other byte, so
 * that the paths below a path directly follow it. */
int path_compare(struct span a, struct span b);
/* True if `inner` is below `outer` ("a/b" below "a"). */
bool path_is_below(struct span inner, struct span outer);

#endif
