#include "landing/merge.h"

#include <stdlib.h>
#include <string.h>

#include "landing/history.h"
#include "landing/tree.h"
#include "wire/words.h"

enum { PATHS_NAMED = 20 }; /* conflicts listed in full */

bool merge_read_tip(struct merge *merge, struct err *err) {
    struct git_pipe objects;
    CLEANUP(text_clear) struct text ref = TEXT_INIT;
    text_addf(&ref, "refs/heads/%s", merge->order->branch);
    merge->tip[0] = merge->tip_tree[0] = '\0';
    bool found = false;
    if (!git_objects_open(merge->git, &objects, err))
        return false;
    bool ok = git_commit_read(&objects, text_string(&ref), merge->tip,
                              merge->tip_tree, &found, err);
    git_pipe_drop(&objects);
    return ok;
}

void merge_clear(struct merge *merge) {
    text_clear(&merge->why);
}

static bool merge_refuse(struct merge *merge, const char *why) {
    merge->result = MERGE_REFUSED;
    text_reset(&merge->why);
    text_adds(&merge->why, why);
    return true;
}

/* Conflicts, gathered: paths first, then why each is one. */
struct conflicts {
    struct text paths, reasons;
    size_t count;
};

static void conflict_add(struct conflicts *conflicts, struct span path,
                         const char *reason) {
    CLEANUP(text_clear) struct text name = TEXT_INIT;
    word_quote(path, &name);
    printf("conflict: %s %s\n", text_string(&name), reason);
    if (conflicts->count++ >= PATHS_NAMED)
        return;
    text_addf(&conflicts->paths, "%s%s", conflicts->paths.len > 0 ? " " : "",
              text_string(&name));
    text_addf(&conflicts->reasons, "%s%s %s",
              conflicts->reasons.len > 0 ? "; " : "", text_string(&name),
              reason);
}

/* Ends the gathering: the merge is a conflict when there are any. */
static void conflicts_settle(struct conflicts *conflicts, struct merge *merge) {
    if (conflicts->count > 0) {
        merge->result = MERGE_CONFLICT;
        text_reset(&merge->why);
        text_addspan(&merge->why, text_span(&conflicts->paths));
        if (conflicts->count > PATHS_NAMED)
            text_addf(&merge->why, " and %zu more",
                      conflicts->count - PATHS_NAMED);
        text_addf(&merge->why, " (%s)", text_string(&conflicts->reasons));
    }
    text_clear(&conflicts->paths);
    text_clear(&conflicts->reasons);
}

/* "was changed by C9", between two commits. */
static bool changed_by(struct merge *merge, const char *from, struct span path,
                       struct text *reason, struct err *err) {
    text_adds(reason, "was changed");
    CLEANUP(text_clear) struct text who = TEXT_INIT;
    if (!history_changer(merge->git, from, merge->tip, path, &who, err))
        return false;
    if (who.len > 0)
        text_addf(reason, " by %s", text_string(&who));
    return true;
}

static const char *clash_reason(enum tree_clash clash, bool in_base) {
    switch (clash) {
    case TREE_MISSING:
        return in_base ? "is to be deleted but is not in the base"
                       : "is to be deleted but is not there";
    case TREE_DIRECTORY:
        return "is a directory";
    case TREE_FILE:
        return "lies below a file";
    case TREE_FITS:
        break;
    }
    return "";
}

/* The set put onto `root`; clashes make a conflict. */
static bool set_apply(struct merge *merge, struct trees *trees,
                      const char *root, bool in_base, char ret_oid[OID_BYTES],
                      struct err *err) {
    const struct set_blobs *set = merge->set;
    bool fits = false;
    enum tree_clash *clashes = mem_grow(NULL, set->count + 1, sizeof *clashes);
    bool ok = tree_apply(trees, root, set->edits, set->count,
                         merge->order->blind == BLIND_ALLOW && !in_base,
                         clashes, ret_oid, &fits, err);
    struct conflicts conflicts = {0};
    for (size_t i = 0; ok && !fits && i < set->count; i++)
        if (clashes[i] != TREE_FITS)
            conflict_add(&conflicts, set->edits[i].path,
                         clash_reason(clashes[i], in_base));
    free(clashes);
    conflicts_settle(&conflicts, merge);
    return ok;
}

/* The listed paths that are not on the branch what they were on `then`. */
static bool blind_compare(struct merge *merge, struct trees *trees,
                          const char *then, struct conflicts *conflicts,
                          struct err *err) {
    char oid[OID_BYTES], then_tree[OID_BYTES] = "";
    bool found = true;
    if (then[0] != '\0' &&
        !git_commit_read(&trees->objects, then, oid, then_tree, &found, err))
        return false;
    for (size_t i = 0; i < merge->set->count; i++) {
        struct span path = merge->set->edits[i].path;
        struct tree_entry before, now;
        if (!tree_find(trees, then_tree, path, &before, err) ||
            !tree_find(trees, merge->tip_tree, path, &now, err))
            return false;
        if (before.mode == now.mode && strcmp(before.oid, now.oid) == 0)
            continue;
        CLEANUP(text_clear) struct text reason = TEXT_INIT;
        if (!changed_by(merge, then, path, &reason, err))
            return false;
        conflict_add(conflicts, path, text_string(&reason));
    }
    return true;
}

/* What the author had in front of him, as well as it can be told. */
static bool blind_then(struct merge *merge, struct trees *trees,
                       char ret_then[OID_BYTES], struct err *err) {
    const struct land_order *order = merge->order;
    bool found = false;
    char tree[OID_BYTES];
    ret_then[0] = '\0';
    if (order->seen != NULL && strcmp(order->seen, "none") == 0)
        return true;
    if (order->seen != NULL && !git_commit_read(&trees->objects, order->seen,
                                                ret_then, tree, &found, err))
        return false;
    return found || history_tip_at(merge->git, order->branch, merge->tip,
                                   order->since, ret_then, err);
}

static bool merge_blind(struct merge *merge, struct trees *trees,
                        struct err *err) {
    enum config_blind blind = merge->order->blind;
    /* A branch that does not exist yet has nothing to be overwritten. */
    if (merge->tip[0] != '\0' && blind == BLIND_DENY)
        return merge_refuse(merge, "the target takes only sets with ##base "
                                   "(blind = deny)");
    if (merge->tip[0] != '\0') {
        char then[OID_BYTES];
        struct conflicts conflicts = {0};
        bool ok = blind_then(merge, trees, then, err);
        if (ok && strcmp(then, merge->tip) != 0) {
            printf("no ##base: comparing with the branch as it was, %.12s\n",
                   then[0] != '\0' ? then : "empty");
            ok = blind_compare(merge, trees, then, &conflicts, err);
        }
        if (blind == BLIND_ALLOW && conflicts.count > 0)
            printf("blind = allow: landing over these changes\n");
        struct merge ignored = {0};
        conflicts_settle(&conflicts, blind == BLIND_ALLOW ? &ignored : merge);
        text_clear(&ignored.why);
        if (!ok || merge->result != MERGE_CLEAN)
            return ok;
    }
    return set_apply(merge, trees, merge->tip_tree, false, merge->tree, err);
}

static bool commit_scratch(struct merge *merge, const char *tree,
                           const char *parent, char ret_oid[OID_BYTES],
                           struct err *err) {
    const char *const *args =
        parent[0] != '\0'
            ? GIT_ARGS("commit-tree", tree, "-p", parent, "-m", "scratch")
            : GIT_ARGS("commit-tree", tree, "-m", "scratch");
    return git_run_oid(merge->git, args, GIT_CARELESS, SPAN(""), ret_oid, err);
}

/* Two commits whose merge base is the set's: git 2.39's merge-tree takes no
 * tree for a base. On a branch that contains the base the branch itself is one
 * of them. Nothing refers to these commits afterwards. */
static bool merge_sides(struct merge *merge, const char *base,
                        const char *base_tree, const char *theirs,
                        char ret_ours[OID_BYTES], char ret_theirs[OID_BYTES],
                        struct err *err) {
    CLEANUP(text_clear) struct text out = TEXT_INIT;
    char root[OID_BYTES];
    int not_ancestor = 0;
    if (!git_run(merge->git,
                 GIT_ARGS("merge-base", "--is-ancestor", base, merge->tip),
                 GIT_PLAIN, SPAN(""), &out, &not_ancestor, err))
        return false;
    if (not_ancestor == 0) {
        memcpy(ret_ours, merge->tip, OID_BYTES);
        return commit_scratch(merge, theirs, base, ret_theirs, err);
    }
    return commit_scratch(merge, base_tree, "", root, err) &&
           commit_scratch(merge, merge->tip_tree, root, ret_ours, err) &&
           commit_scratch(merge, theirs, root, ret_theirs, err);
}

/* Output of merge-tree -z --name-only: the tree, the paths in conflict, an
 * empty string, messages of no interest here. */
static bool merge_answer(struct merge *merge, const char *base,
                         struct span answer, struct err *err) {
    struct span part;
    if (!span_cut(&answer, '\0', &part) || !oid_is_valid(part))
        return err_set(err, ERR_INTERNAL,
                       "git merge-tree printed no object name");
    snprintf(merge->tree, OID_BYTES, "%.*s", (int)part.len, part.p);
    struct conflicts conflicts = {0};
    bool ok = true;
    while (ok && span_cut(&answer, '\0', &part) && part.len > 0) {
        CLEANUP(text_clear) struct text reason = TEXT_INIT;
        ok = changed_by(merge, base, part, &reason, err);
        if (ok)
            conflict_add(&conflicts, part, text_string(&reason));
    }
    conflicts_settle(&conflicts, merge);
    return ok;
}

static bool merge_three(struct merge *merge, const char *base,
                        const char *base_tree, const char *theirs,
                        struct err *err) {
    char x[OID_BYTES], y[OID_BYTES];
    CLEANUP(text_clear) struct text answer = TEXT_INIT;
    int status = 0;
    if (!merge_sides(merge, base, base_tree, theirs, x, y, err) ||
        !git_run(merge->git,
                 GIT_ARGS("merge-tree", "--write-tree", "-z", "--name-only",
                          "--allow-unrelated-histories", x, y),
                 GIT_PLAIN, SPAN(""), &answer, &status, err))
        return false;
    if (status > 1)
        return err_set(err, ERR_TEMPORARY, "git merge-tree ended with %d",
                       status);
    if (!merge_answer(merge, base, text_span(&answer), err))
        return false;
    if (status == 1 && merge->result == MERGE_CLEAN)
        return merge_refuse(merge, "git sees a conflict but names no path");
    return true;
}

static bool merge_based(struct merge *merge, struct trees *trees,
                        struct err *err) {
    struct span wanted = merge->set->check.meta.base;
    CLEANUP(text_clear) struct text name = TEXT_INIT;
    char base[OID_BYTES], base_tree[OID_BYTES], theirs[OID_BYTES];
    bool found;
    /* Other objects than commits are not found that way. */
    text_addf(&name, "%.*s^{commit}", (int)wanted.len, wanted.p);
    if (!git_commit_read(&trees->objects, text_string(&name), base, base_tree,
                         &found, err))
        return false;
    if (!found)
        return merge_refuse(merge, "its ##base commit is not in the target's "
                                   "repository");
    if (merge->tip[0] == '\0')
        return merge_refuse(merge, "it has a ##base, but the branch does not "
                                   "exist");
    if (!set_apply(merge, trees, base_tree, true, theirs, err) ||
        merge->result != MERGE_CLEAN)
        return merge->result != MERGE_CLEAN;
    memcpy(merge->tree, theirs, OID_BYTES);
    if (strcmp(base_tree, merge->tip_tree) == 0)
        return true;
    printf("merging with base %.12s\n", base);
    return merge_three(merge, base, base_tree, theirs, err);
}

bool merge_make(struct merge *merge, struct err *err) {
    struct trees trees;
    merge->result = MERGE_CLEAN;
    if (!trees_open(merge->git, &trees, err))
        return false;
    bool ok = merge->set->check.meta.base.len > 0
                  ? merge_based(merge, &trees, err)
                  : merge_blind(merge, &trees, err);
    if (!ok) {
        trees_drop(&trees);
        return false;
    }
    return trees_close(&trees, err);
}
