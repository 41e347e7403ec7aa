#include "landing/set_base.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "os/fd.h"
#include "landing/history.h"

static bool commit_read(struct trees *trees, struct span name,
                        struct found_commit *commit, struct err *err) {
    CLEANUP(text_clear) struct text rev = TEXT_INIT;
    /* With this suffix only commits are found, no other objects. */
    text_addf(&rev, "%.*s^{commit}", (int)name.len, name.p);
    return git_commit_read(&trees->objects, text_string(&rev), commit->oid,
                           commit->tree, &commit->exists, err);
}

/* A commit that is not found may be one that cannot be read at the moment. So
 * the branch is asked for its name, which shows that all of the branch can be
 * read, and then a new git is asked for the commit: the old one may have
 * started while the objects of the repository were away. */
static bool commit_read_again(struct merge *merge, struct trees *trees,
                              struct span name, struct found_commit *commit,
                              struct err *err) {
    CLEANUP(text_free_string) char *oid = span_string(name);
    if (!history_contains(merge->git, merge->tip, oid, &commit->on_branch, err))
        return false;
    trees_drop(trees);
    if (!trees_open(merge->git, trees, err) ||
        !commit_read(trees, name, commit, err))
        return false;
    return commit->exists || !commit->on_branch ||
           err_set(err, ERR_UNAVAILABLE,
                   "the repository is damaged: commit %.12s of branch '%s' is "
                   "missing",
                   oid, merge->start->branch);
}

bool set_base_commit_read(struct merge *merge, struct trees *trees,
                          struct span name, struct found_commit *ret_commit,
                          struct err *err) {
    *ret_commit = (struct found_commit){0};
    return commit_read(trees, name, ret_commit, err) &&
           (ret_commit->exists || merge->tip[0] == '\0' ||
            commit_read_again(merge, trees, name, ret_commit, err));
}

static bool commit_find(struct merge *merge, struct trees *trees,
                        struct span name, struct found_commit *ret_commit,
                        struct err *err) {
    if (!set_base_commit_read(merge, trees, name, ret_commit, err))
        return false;
    if (!ret_commit->exists)
        return true;
    ret_commit->on_branch =
        merge->known != NULL &&
        map_get(&merge->known->commits, span_of(ret_commit->oid)) != NULL;
    return ret_commit->on_branch ||
           history_contains(merge->git, merge->tip, ret_commit->oid,
                            &ret_commit->on_branch, err);
}

/* A base that is not on the branch may have been there at admission: then the
 * branch was rewritten, and the author must look at it again. If the base is
 * missing, the branch counts as rewritten if its own tip of that time is
 * missing too. */
static bool rewrite_find(struct merge *merge, struct trees *trees,
                         const struct found_commit *base, bool *ret_rewritten,
                         struct err *err) {
    const char *seen = merge->start->seen;
    struct found_commit then;
    *ret_rewritten = false;
    if (seen == NULL || strcmp(seen, "none") == 0)
        return true;
    if (!commit_find(merge, trees, span_of(seen), &then, err))
        return false;
    if (then.on_branch)
        return true;
    if (!then.exists || !base->exists) {
        *ret_rewritten = !then.exists && !base->exists;
        return true;
    }
    return history_contains(merge->git, then.oid, base->oid, ret_rewritten,
                            err);
}

static bool rewrite_refuse(struct merge *merge) {
    const char *branch = merge->start->branch;
    return merge_end(merge, MERGE_CONFLICT,
                     "branch %s was rewritten after the set was admitted: it "
                     "was at %.12s then, and the ##base of the set, %.12s, is "
                     "no longer on it; pack again with --base-rev origin/%s",
                     branch, merge->start->seen, merge->set->check.meta.base.p,
                     branch);
}

static bool base_refuse(struct merge *merge, const struct found_commit *base) {
    const char *branch = merge->start->branch;
    const char *wanted = merge->set->check.meta.base.p;
    return base->exists
               ? merge_end(
                     merge, MERGE_REFUSED,
                     "its ##base commit is not on branch %s (%.12s): pack "
                     "again with --base-rev and a commit that is, such "
                     "as origin/%s, or as part of a stack (--depends)",
                     branch, wanted, branch)
               : merge_end(merge, MERGE_REFUSED,
                           "its ##base commit is not in the target's "
                           "repository (%.12s): pack again with --base-rev and "
                           "a commit that is, such as origin/%s, or as part of "
                           "a stack (--depends)",
                           wanted, branch);
}

/* ---- stacks ---------------------------------------------------------------
 */

static bool tree_exists(struct trees *trees, struct span tree, bool *ret_exists,
                        struct err *err) {
    CLEANUP(text_free_string) char *name = span_string(tree);
    char oid[OID_BYTES], type[16] = "";
    if (!git_object_read(&trees->objects, name, oid, type, NULL, ret_exists,
                         err))
        return false;
    *ret_exists = *ret_exists && strcmp(type, "tree") == 0;
    return true;
}

static void name_set(char ret_name[OID_BYTES], struct span name) {
    snprintf(ret_name, OID_BYTES, "%.*s", (int)name.len, name.p);
}

/* The base of a set in the stack; the sets below it are bases[below] and so on.
 * For `landed` sets it was verified before. merge->result says whether there is
 * one. */
static bool base_rebuild(struct merge *merge, struct trees *trees,
                         const struct meta *meta, size_t below,
                         char ret_tree[OID_BYTES], struct err *err);

static bool base_of_set(struct merge *merge, struct trees *trees,
                        const struct meta *meta, size_t at,
                        char ret_tree[OID_BYTES], struct err *err) {
    const struct land_base_set *set = &merge->start->bases[at];
    struct found_commit base = {0};
    bool exists = false;
    if (meta->base_set.len == 0)
        name_set(merge->root, meta->base);
    if (set->landed && meta->base_tree.len > 0 &&
        !tree_exists(trees, meta->base_tree, &exists, err))
        return false;
    if (exists) {
        name_set(ret_tree, meta->base_tree);
        return true;
    }
    if (meta->base.len > 0 &&
        !commit_find(merge, trees, meta->base, &base, err))
        return false;
    if (base.on_branch || (set->landed && base.exists)) {
        name_set(ret_tree, span_of(base.tree));
        return true;
    }
    if (meta->base_set.len > 0)
        return base_rebuild(merge, trees, meta, at + 1, ret_tree, err);
    return merge_end(merge, MERGE_REFUSED,
                     "the base of its base set '%s' is not on branch %s, so "
                     "its own base is not known: pack again with --base-rev "
                     "origin/%s",
                     set->id, merge->start->branch, merge->start->branch);
}

/* Symbolic links are accepted: the set was admitted under the rules of that
 * time, and only its tree is needed. */
static bool set_load(struct merge *merge, const struct land_base_set *set,
                     struct arena *arena, struct set_blobs *ret_blobs,
                     struct err *err) {
    enum { HOW = O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK };
    CLEANUP(fd_close) int fd = open(set->tarball, HOW);
    if (fd < 0 && errno == ENOENT && set->archived != NULL)
        fd = open(set->archived, HOW);
    if (fd < 0)
        return err_errno(err, errno,
                         "cannot read the tarball '%s' of base set '%s'",
                         set->tarball, set->id);
    return set_blobs_load(merge->git, fd, span_of(set->sum), true, arena,
                          ret_blobs, err);
}

/* Applies the set to `tree`, which it replaces. */
static bool set_apply(struct merge *merge, struct trees *trees,
                      const struct set_blobs *blobs, const char *id,
                      char tree[OID_BYTES], struct err *err) {
    char before[OID_BYTES];
    bool fits = false;
    enum tree_clash *clashes =
        mem_grow(NULL, blobs->count + 1, sizeof *clashes);
    memcpy(before, tree, OID_BYTES);
    bool ok = tree_apply(trees, before, blobs->edits, blobs->count, false,
                         clashes, tree, &fits, err);
    free(clashes);
    return ok && (fits || merge_end(merge, MERGE_REFUSED,
                                    "its base set '%s' does not fit the base "
                                    "of that set",
                                    id));
}

/* The tree that bases[at] makes of its own base. Each is made once per landing:
 * all sets of a group may be stacked. */
static bool base_make(struct merge *merge, struct trees *trees, size_t at,
                      char ret_tree[OID_BYTES], struct err *err) {
    CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
    const struct land_base_set *set = &merge->start->bases[at];
    const char *known = map_get(&merge->rebuilt, span_of(set->id));
    struct set_blobs blobs;
    if (known != NULL) {
        name_set(ret_tree, span_of(known));
        return true;
    }
    printf("rebuilding the tree of base set %s\n", set->id);
    if (!set_load(merge, set, &arena, &blobs, err) ||
        !base_of_set(merge, trees, &blobs.check.meta, at, ret_tree, err))
        return false;
    if (merge->result != MERGE_CLEAN)
        return true;
    if (!set_apply(merge, trees, &blobs, set->id, ret_tree, err))
        return false;
    if (merge->result == MERGE_CLEAN)
        map_put(&merge->rebuilt, span_of(set->id),
                arena_string(&merge->arena, span_of(ret_tree)));
    return true;
}

static bool base_rebuild(struct merge *merge, struct trees *trees,
                         const struct meta *meta, size_t below,
                         char ret_tree[OID_BYTES], struct err *err) {
    const struct land_start *start = merge->start;
    if (below == start->base_count ||
        !span_is(meta->base_set, start->bases[below].id))
        return merge_end(merge, MERGE_REFUSED,
                         "its base set '%.*s' is not known here",
                         (int)meta->base_set.len, meta->base_set.p);
    if (!base_make(merge, trees, below, ret_tree, err))
        return false;
    if (merge->result != MERGE_CLEAN || span_is(meta->base_tree, ret_tree))
        return true;
    return merge_end(merge, MERGE_REFUSED,
                     "its ##base-tree %.12s is not the tree that its base set "
                     "'%s' makes (%.12s)",
                     meta->base_tree.p, start->bases[below].id, ret_tree);
}

bool set_base_find(struct merge *merge, struct trees *trees,
                   struct set_base *ret_base, struct err *err) {
    const struct meta *meta = &merge->set->check.meta;
    struct found_commit base = {0};
    bool rewritten = false;
    if (meta->base.len > 0 &&
        !commit_find(merge, trees, meta->base, &base, err))
        return false;
    *ret_base = (struct set_base){0};
    if (base.on_branch) {
        memcpy(ret_base->commit, base.oid, OID_BYTES);
        memcpy(ret_base->tree, base.tree, OID_BYTES);
        return meta->base_tree.len == 0 ||
               span_is(meta->base_tree, base.tree) ||
               merge_end(merge, MERGE_REFUSED,
                         "its ##base-tree %.12s is not the tree of its ##base "
                         "(%.12s)",
                         meta->base_tree.p, base.tree);
    }
    if (meta->base.len > 0 &&
        !rewrite_find(merge, trees, &base, &rewritten, err))
        return false;
    if (meta->base_set.len > 0 && !(rewritten && base.exists))
        return base_rebuild(merge, trees, meta, 0, ret_base->tree, err);
    return rewritten ? rewrite_refuse(merge) : base_refuse(merge, &base);
}
