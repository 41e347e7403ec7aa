#include "landing/merge.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "landing/history.h"
#include "landing/path_merge.h"
#include "landing/set_base.h"
#include "landing/tip.h"
#include "landing/tree.h"
#include "landing/tree_compare.h"
#include "wire/words.h"

enum { PATHS_NAMED = 20 }; /* conflicts that are listed in full */

static bool merge_wake(struct merge *merge, struct err *err) {
    return merge->trees.objects.pid != 0 ||
           trees_open(merge->git, &merge->trees, err);
}

bool merge_read_tip(struct merge *merge, struct err *err) {
    return merge_wake(merge, err) &&
           tip_read(&merge->trees.objects, merge->start->branch, merge->tip,
                    merge->tip_tree, err);
}

void merge_clear(struct merge *merge) {
    trees_drop(&merge->trees);
    text_clear(&merge->why);
    merge_shared_clear(&merge->shared);
    map_clear(&merge->rebuilt);
    arena_clear(&merge->arena);
}

bool merge_end(struct merge *merge, enum merge_result result,
               const char *format, ...) {
    va_list args;
    va_start(args, format);
    merge->result = result;
    text_reset(&merge->why);
    text_addv(&merge->why, format, args);
    va_end(args);
    return true;
}

/* Collected conflicts: first the paths, then the reason for each. */
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

/* Finishes the collection: if there are any, the merge is a conflict. */
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

/* Appends "was changed by C9", between two commits; `how` is "was changed". */
static bool changed_by(struct merge *merge, const char *from, const char *how,
                       struct span path, struct text *reason, struct err *err) {
    text_adds(reason, how);
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
        return "is below a file";
    case TREE_FITS:
        break;
    }
    return "";
}

/* Applies the edits to `root`; clashes are a conflict. `ret_oid` NULL: only
 * checks whether they fit the base. */
static bool edits_apply(struct merge *merge, struct trees *trees,
                        const char *root, const struct tree_edit *edits,
                        size_t count, bool in_base, char *ret_oid,
                        struct err *err) {
    bool fits = false;
    enum tree_clash *clashes = mem_grow(NULL, count + 1, sizeof *clashes);
    bool ok = tree_apply(trees, root, edits, count,
                         merge->start->blind == BLIND_ALLOW && !in_base,
                         clashes, ret_oid, &fits, err);
    struct conflicts conflicts = {0};
    for (size_t i = 0; ok && !fits && i < count; i++)
        if (clashes[i] != TREE_FITS)
            conflict_add(&conflicts, edits[i].path,
                         clash_reason(clashes[i], in_base));
    free(clashes);
    conflicts_settle(&conflicts, merge);
    return ok;
}

/* Finds the listed paths whose content on the branch differs from that in
 * `then`. */
static bool blind_compare(struct merge *merge, struct trees *trees,
                          const char *then, struct conflicts *conflicts,
                          struct err *err) {
    char oid[OID_BYTES], then_tree[OID_BYTES] = "";
    bool found = true;
    if (then[0] != '\0' &&
        !git_commit_read(&trees->objects, then, oid, then_tree, &found, err))
        return false;
    if (!found)
        return err_set(err, ERR_UNAVAILABLE,
                       "the repository is damaged: commit %s is missing", then);
    for (size_t i = 0; i < merge->set->count; i++) {
        struct span path = merge->set->edits[i].path;
        struct tree_entry before, now;
        if (!tree_find(trees, then_tree, path, &before, err) ||
            !tree_find(trees, merge->tip_tree, path, &now, err))
            return false;
        if (path_entry_same(&before, &now))
            continue;
        CLEANUP(text_clear) struct text reason = TEXT_INIT;
        if (!changed_by(merge, then, "was changed", path, &reason, err))
            return false;
        conflict_add(conflicts, path, text_string(&reason));
    }
    return true;
}

/* The state that the author had worked from, as far as it can be known. */
static bool blind_then(struct merge *merge, struct trees *trees,
                       char ret_then[OID_BYTES], struct err *err) {
    const struct land_start *start = merge->start;
    struct found_commit then = {0};
    ret_then[0] = '\0';
    /* The time in the set's name may be later than its admission. */
    const char *seen =
        start->since.ns <= start->admitted.ns ? start->seen : NULL;
    if (seen != NULL && strcmp(seen, "none") == 0)
        return true;
    if (seen != NULL &&
        !set_base_commit_read(merge, trees, span_of(seen), &then, err))
        return false;
    memcpy(ret_then, then.oid, OID_BYTES);
    return then.exists || merge->tip[0] == '\0' ||
           history_tip_at(merge->git, start->branch, merge->tip, start->since,
                          ret_then, err);
}

static bool merge_blind(struct merge *merge, struct trees *trees,
                        struct err *err) {
    enum config_blind blind = merge->start->blind;
    /* In a tree that does not exist yet nothing can be overwritten. The tree
     * may have other sets that are not on the branch yet. */
    if (merge->tip_tree[0] != '\0' && blind == BLIND_DENY)
        return merge_end(merge, MERGE_REFUSED,
                         "the target takes only sets with ##base "
                         "(blind = deny)");
    if (merge->tip_tree[0] != '\0') {
        char then[OID_BYTES];
        struct conflicts conflicts = {0};
        bool ok = blind_then(merge, trees, then, err);
        if (ok && strcmp(then, merge->tip) != 0)
            printf("no ##base: comparing with the branch as it was, %.12s\n",
                   then[0] != '\0' ? then : "empty");
        ok = ok && blind_compare(merge, trees, then, &conflicts, err);
        if (blind == BLIND_ALLOW && conflicts.count > 0)
            printf("blind = allow: landing over these changes\n");
        struct merge ignored = {0};
        conflicts_settle(&conflicts, blind == BLIND_ALLOW ? &ignored : merge);
        text_clear(&ignored.why);
        if (!ok || merge->result != MERGE_CLEAN)
            return ok;
    }
    return edits_apply(merge, trees, merge->tip_tree, merge->set->edits,
                       merge->set->count, false, merge->tree, err);
}

/* Describes what happened on the branch to a path that the set changes too. */
static const char *conflict_how(enum path_merged result,
                                const struct tree_entry *base,
                                const struct tree_entry *ours) {
    if (result == PATH_BINARY)
        return "is binary and was changed";
    if (S_ISDIR(ours->mode))
        return "has become a directory";
    if (ours->mode == 0)
        return "was deleted";
    return base->mode == 0 ? "was added" : "was changed";
}

/* The edits that the branch gets: those of the set, each merged with the
 * changes to its path since `base`. */
struct merging {
    struct merge *merge;
    struct trees *trees;
    struct path_merge paths;
    const char *base, *base_tree;
    struct tree_edit *edits;
    size_t count;
    struct conflicts conflicts;
};

static bool merge_one(struct merging *merging, const struct tree_edit *edit,
                      struct err *err) {
    struct merge *merge = merging->merge;
    struct tree_entry base, ours, merged, theirs = {.mode = edit->mode};
    enum path_merged result;
    memcpy(theirs.oid, edit->oid, OID_BYTES);
    if (!tree_find(merging->trees, merging->base_tree, edit->path, &base,
                   err) ||
        !tree_find(merging->trees, merge->tip_tree, edit->path, &ours, err) ||
        !path_merge(&merging->paths, &base, &ours, &theirs, &merged, &result,
                    err))
        return false;
    if (result != PATH_CLEAN) {
        CLEANUP(text_clear) struct text reason = TEXT_INIT;
        if (!changed_by(merge, merging->base,
                        conflict_how(result, &base, &ours), edit->path, &reason,
                        err))
            return false;
        conflict_add(&merging->conflicts, edit->path, text_string(&reason));
        return true;
    }
    if (!merge_shared_note(&merge->shared, &merging->paths, edit->path, &base,
                           &ours, &theirs, &merged, err))
        return false;
    if (path_entry_same(&merged, &ours))
        return true;
    struct tree_edit *out = &merging->edits[merging->count++];
    *out = (struct tree_edit){.path = edit->path, .mode = merged.mode};
    memcpy(out->oid, merged.oid, OID_BYTES);
    return true;
}

/* Merges every path separately: a set lands exactly what it lists. */
static bool merge_three(struct merge *merge, struct trees *trees,
                        const char *base, const char *base_tree,
                        struct err *err) {
    const struct set_blobs *set = merge->set;
    struct merging merging = {
        .merge = merge,
        .trees = trees,
        .paths = {.git = merge->git, .objects = &trees->objects},
        .base = base,
        .base_tree = base_tree,
        .edits = mem_grow(NULL, set->count + 1, sizeof *merging.edits)};
    bool ok = true;
    bool in_stack = base[0] == '\0';
    memcpy(merge->shared.base, in_stack ? merge->root : base, OID_BYTES);
    merge->shared.stack = merge->start->bases;
    merge->shared.stack_count = in_stack ? merge->start->base_count : 0;
    for (size_t i = 0; ok && i < set->count; i++)
        ok = merge_one(&merging, &set->edits[i], err);
    conflicts_settle(&merging.conflicts, merge);
    memcpy(merge->tree, merge->tip_tree, OID_BYTES);
    if (ok && merge->result == MERGE_CLEAN && merging.count > 0)
        ok = edits_apply(merge, trees, merge->tip_tree, merging.edits,
                         merging.count, false, merge->tree, err);
    free(merging.edits);
    path_merge_clear(&merging.paths);
    return ok;
}

static bool merge_based(struct merge *merge, struct trees *trees,
                        struct err *err) {
    struct set_base base;
    if (!set_base_find(merge, trees, &base, err))
        return false;
    if (merge->result != MERGE_CLEAN)
        return true;
    bool at_base = strcmp(base.tree, merge->tip_tree) == 0;
    if (!edits_apply(merge, trees, base.tree, merge->set->edits,
                     merge->set->count, true, at_base ? merge->tree : NULL,
                     err))
        return false;
    if (at_base || merge->result != MERGE_CLEAN)
        return true;
    printf("merging with base %.12s\n",
           base.commit[0] != '\0' ? base.commit : base.tree);
    return merge_three(merge, trees, base.commit, base.tree, err);
}

static bool has_base(const struct merge *merge) {
    const struct meta *meta = &merge->set->check.meta;
    return meta->base.len > 0 || meta->base_set.len > 0;
}

/* True if the set was made for, or admitted to, a branch that existed then. */
static bool branch_is_gone(const struct merge *merge) {
    const char *seen = merge->start->seen;
    return merge->tip[0] == '\0' &&
           (has_base(merge) || (seen != NULL && strcmp(seen, "none") != 0));
}

/* The edits cannot change another path; this verifies it, so that an error of
 * the program cannot change a file that nobody approved. */
static bool merge_verify(struct merge *merge, struct trees *trees,
                         struct err *err) {
    CLEANUP(text_clear) struct text path = TEXT_INIT;
    struct conflicts conflicts = {0};
    if (!tree_compare(trees, merge->tip_tree, merge->tree, merge->set->edits,
                      merge->set->count, &path, err))
        return false;
    if (path.len > 0)
        conflict_add(&conflicts, text_span(&path),
                     "would change, but the set does not list it");
    conflicts_settle(&conflicts, merge);
    return true;
}

bool merge_make(struct merge *merge, struct err *err) {
    struct trees *trees = &merge->trees;
    merge->result = MERGE_CLEAN;
    merge_shared_clear(&merge->shared);
    if (branch_is_gone(merge))
        return err_set(err, ERR_UNAVAILABLE,
                       "no branch '%s' in the repository '%s'",
                       merge->start->branch, merge->git->dir);
    return merge_wake(merge, err) &&
           (has_base(merge) ? merge_based(merge, trees, err)
                            : merge_blind(merge, trees, err)) &&
           (merge->result != MERGE_CLEAN || merge_verify(merge, trees, err));
}
