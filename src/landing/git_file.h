/* Small files of a git directory, read without starting git: HEAD, a branch,
 * the beginning of a reflog, the configuration. Whoever finds something that is
 * not plain asks git. */
#ifndef POINTSMAN_LANDING_GIT_FILE_H
#define POINTSMAN_LANDING_GIT_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

#include "lib/text.h"

enum git_file {
    GIT_FILE_READ,
    GIT_FILE_MISSING, /* also if a directory has that name, or a file that of
                         a directory above it */
    GIT_FILE_ODD      /* no regular file, or it cannot be read */
};

/* Appends the first bytes of a file, `most` of them: ret_st->st_size shows
 * whether there are more. `dir`: the git directory, or AT_FDCWD; `how`:
 * O_NOFOLLOW, or 0. `ret_st` may be NULL. */
enum git_file git_file_read(int dir, const char *name, int how, size_t most,
                            struct text *out, struct stat *ret_st);

/* The repository may have only the newest part of its history, or that cannot
 * be seen. */
bool git_file_shallow(int dir);

/* What HEAD refers to, such as "refs/heads/main"; "": a commit. False: that
 * cannot be seen. The result is appended. */
bool git_file_head(int dir, struct text *ret_ref);

/* The value of core.KEY (`key` in lower case) in the repository's own
 * configuration; "": it is not set there. False: it is not as git writes it,
 * and only git knows. The result is appended. */
bool git_file_core(int dir, const char *key, struct text *ret_value);

#endif
