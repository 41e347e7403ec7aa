/* The source of the files for `change pack`: two trees of a repository, or a
 * directory. */
#ifndef POINTSMAN_LANDING_PACK_SOURCE_H
#define POINTSMAN_LANDING_PACK_SOURCE_H

#include <stdbool.h>

#include "lib/arena.h"
#include "lib/err.h"
#include "lib/text.h"
#include "landing/git.h"
#include "wire/sections.h"

struct pack_item {
    struct span path;
    unsigned mode;       /* 0100644, 0100755, 0120000; 0 = deleted */
    char oid[OID_BYTES]; /* in a repository */
};

struct pack_source {
    struct arena arena;
    struct pack_item *items; /* sorted by path_compare */
    size_t count, room;
    struct span base, author, date, message; /* empty where not known */
    bool has_git;
    struct git git;
    struct git_pipe objects;
    int dir; /* -1 for a repository */
};

/* `repo` NULL: the current directory. */
bool pack_range_open(const char *repo, const char *range,
                     struct pack_source *ret_source, struct err *err);
/* `base_rev` (or NULL) is looked up in `repo`. */
bool pack_dir_open(const char *repo, const char *dir, const char *base_rev,
                   struct pack_source *ret_source, struct err *err);
void pack_source_close(struct pack_source *source);

/* Sets the base to the commit that `rev` names. */
bool pack_source_rebase(struct pack_source *source, const char *repo,
                        const char *rev, struct err *err);

/* The tree of the base. Error: ERR_USAGE if there is no base. */
bool pack_source_base_tree(struct pack_source *source, struct span *ret_tree,
                           struct err *err);

/* The commits of the range, the oldest first, in the arena. Errors: ERR_DATA
 * unless each of them has one parent, the one before it. */
bool pack_range_commits(const char *repo, const char *range,
                        struct arena *arena, struct lines *ret_commits,
                        struct err *err);

/* Appends the content of a file, or the target of a link. */
bool pack_item_read(struct pack_source *source, const struct pack_item *item,
                    struct text *content, struct err *err);

#endif
