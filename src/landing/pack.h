/* `change pack`: a change set made of a range of git commits or of a directory,
 * so that nobody writes `meta` by hand.
 *
 * A range A..B gives the files that differ between B and the commit A and B
 * have in common, which becomes ##base; author, date and message are those of
 * B, and when there are several commits their subjects are listed under it. A
 * directory gives all its files (.git left out). */
#ifndef POINTSMAN_LANDING_PACK_H
#define POINTSMAN_LANDING_PACK_H

#include <stdbool.h>
#include <stddef.h>

#include "lib/err.h"
#include "lib/text.h"
#include "wire/set_name.h"

/* NULL and 0 where nothing was said. */
struct pack_options {
    const char *source; /* "A..B" (also "A..", "..B"), or a directory */
    const char *repo;   /* where the revisions are; NULL = here */
    const char *target;
    const char *class;    /* "EM", "BF.200"; NULL = DC */
    const char *id;       /* NULL = made here */
    const char *base_rev; /* instead of the range's; a directory's */
    const char *const *depends;
    size_t depends_count;
    const char *supersedes;
    const char *group;          /* "NAME" or "NAME:COUNT" */
    const char *const *deletes; /* more paths that go away */
    size_t deletes_count;
    /* A rollback set (class RB) instead: no source; `depends` is what to take
     * back. */
    bool rollback;
    uint64_t rb_limit;            /* 0: the queue's */
    const char *closure;          /* "deps+files"; NULL: the queue's */
    const char *author, *message; /* instead of the commit's */
    const char *output; /* a file; a directory: in it, under the set's name;
                           "-" = standard output; NULL = here */
};

struct pack_result {
    char id[SET_ID_BYTES + 1];
    char name[SET_NAME_BYTES + 1]; /* of the set */
    char *path;                    /* of the tarball; NULL = standard output */
    size_t files, deleted;
};

/* Writes it whole or not at all. Errors: ERR_USAGE (the call), ERR_DATA (what
 * is to be packed cannot be a change set). */
bool pack_write(const struct pack_options *options,
                struct pack_result *ret_packed, struct err *err);
void pack_result_clear(struct pack_result *result);

#endif
