#include "landing/set_base.h"

#include <string.h>

#include "landing/history.h"

/* A commit that may be missing. */
struct found_commit {
    char oid[OID_BYTES], tree[OID_BYTES];
    bool exists, on_branch;
};

static bool commit_find(struct merge *merge, struct trees *trees,
                        struct span name, struct found_commit *ret_commit,
                        struct err *err) {
    CLEANUP(text_clear) struct text rev = TEXT_INIT;
    *ret_commit = (struct found_commit){0};
    /* With this suffix only commits are found, no other objects. */
    text_addf(&rev, "%.*s^{commit}", (int)name.len, name.p);
    return git_commit_read(&trees->objects, text_string(&rev), ret_commit->oid,
                           ret_commit->tree, &ret_commit->exists, err) &&
           (!ret_commit->exists ||
            history_contains(merge->git, merge->tip, ret_commit->oid,
                             &ret_commit->on_branch, err));
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

static bool base_refuse(struct merge *merge, struct trees *trees,
                        const struct found_commit *base, struct err *err) {
    const char *branch = merge->start->branch;
    struct span wanted = merge->set->check.meta.base;
    bool rewritten;
    if (!rewrite_find(merge, trees, base, &rewritten, err))
        return false;
    if (rewritten)
        return merge_end(merge, MERGE_CONFLICT,
                         "branch %s was rewritten after the set was admitted: "
                         "it was at %.12s then, and the ##base of the set, "
                         "%.12s, is no longer on it; pack again with "
                         "--base-rev origin/%s",
                         branch, merge->start->seen, wanted.p, branch);
    return merge_end(merge, MERGE_REFUSED,
                     "its ##base commit is not %s (%.12s): pack again with "
                     "--base-rev and a commit that is, such as origin/%s",
                     base->exists
                         ? arena_printf(&trees->arena, "on branch %s", branch)
                         : "in the target's repository",
                     wanted.p, branch);
}

bool set_base_find(struct merge *merge, struct trees *trees,
                   struct set_base *ret_base, struct err *err) {
    struct found_commit base;
    if (!commit_find(merge, trees, merge->set->check.meta.base, &base, err))
        return false;
    memcpy(ret_base->commit, base.oid, OID_BYTES);
    memcpy(ret_base->tree, base.tree, OID_BYTES);
    return base.on_branch || base_refuse(merge, trees, &base, err);
}
