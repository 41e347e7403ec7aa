/* `change pack`: makes a change set from a range of git commits or from a
 * directory, so that `meta` need not be written by hand.
 *
 * A range A..B gives the files that differ between B and the merge base of A
 * and B, which becomes ##base; author, date and message are those of B, and if
 * there are several commits the messages of the others are listed below it. A
 * directory gives all its files (except .git). */
#ifndef POINTSMAN_LANDING_PACK_H
#define POINTSMAN_LANDING_PACK_H

#include <stdbool.h>
#include <stddef.h>

#include "lib/err.h"
#include "lib/text.h"
#include "wire/set_name.h"

/* Members are NULL or 0 if not given. */
struct pack_options {
    const char *source; /* "A..B" (also "A..", "..B"), or a directory */
    const char *repo;   /* repository of the revisions; NULL = this directory */
    const char *target; /* NULL: the only target of the base that it is
                           submitted to */
    const char *class;  /* "EM", "BF.200"; NULL = DC */
    const char *id;     /* NULL = generated */
    const char *base_rev; /* replaces the base of the range; or the base of a
                             directory */
    const char *base_set; /* the set that makes the tree of the base, also if
                             the base is not on the branch (##base-set); NULL:
                             the only set in `depends`, for a range without
                             base_rev */
    const char *const *depends;
    size_t depends_count;
    const char *supersedes;
    const char *group;          /* "NAME" or "NAME:COUNT" */
    const char *const *deletes; /* further paths to delete */
    size_t deletes_count;
    /* A rollback set (class RB) instead: it has no source; `depends` lists the
     * sets to roll back. */
    bool rollback;
    uint64_t rb_limit;            /* 0: the queue's */
    const char *closure;          /* "deps+files"; NULL: the queue's */
    const char *author, *message; /* replace those of the commit */
    const char *output; /* a file; or a directory: a file in it named after the
                           set; "-" = standard output; NULL = a file of that
                           name in this directory, but not in the work tree or
                           the directory that it belongs to: then beside that */
};

struct pack_result {
    char id[SET_ID_BYTES + 1];
    char name[SET_NAME_BYTES + 1]; /* of the set */
    char *path;                    /* of the tarball; NULL = standard output */
    size_t files, deleted;
};

/* Writes the whole tarball or nothing. Errors: ERR_USAGE (wrong options),
 * ERR_DATA (the content cannot be a change set). */
bool pack_write(const struct pack_options *options,
                struct pack_result *ret_packed, struct err *err);
/* Makes a set of each commit of the range, each stacked on the one before it;
 * the first one has the dependencies of `options`. If `id` is given, the sets
 * are called ID-1, ID-2 and so on; `output` is a directory. Writes all tarballs
 * or none. The results are in the order in which the sets must land; free them
 * with pack_stack_free. */
bool pack_stack_write(const struct pack_options *options,
                      struct pack_result **ret_packed, size_t *ret_count,
                      struct err *err);
void pack_stack_free(struct pack_result *packed, size_t count);
void pack_result_clear(struct pack_result *result);

#endif
