/* Reverts one commit on top of those reverted so far: each path that it changed
 * is merged separately from that commit (base), the chain (ours) and its parent
 * (theirs); see landing/path_merge.h. No other path changes. */
#include <stdlib.h>
#include <string.h>

#include "os/clock.h"
#include "landing/commit.h"
#include "landing/history.h"
#include "landing/path_merge.h"
#include "landing/revert_parts.h"
#include "wire/set_name.h"
#include "wire/path.h"
#include "wire/words.h"

enum { PATHS_NAMED = 10, SETS_NAMED = 5 };

/* The commit to revert. */
struct bad {
    struct history_commit commit; /* its spans point into `message` */
    struct text message;
    char parent_tree[OID_BYTES];
};

static bool bad_keep(void *ctx, const struct history_commit *commit) {
    struct bad *bad = ctx;
    bad->commit = *commit;
    size_t subject = bad->message.len;
    text_addspan(&bad->message, commit->subject);
    size_t csid = bad->message.len;
    text_addspan(&bad->message, commit->csid);
    size_t trailers = bad->message.len;
    text_addspan(&bad->message, commit->trailers);
    const char *p = text_string(&bad->message);
    bad->commit.subject = span_make(p + subject, csid - subject);
    bad->commit.csid = span_make(p + csid, trailers - csid);
    bad->commit.trailers = span_make(p + trailers, bad->message.len - trailers);
    return false;
}

static void bad_clear(struct bad *bad) {
    text_clear(&bad->message);
}

static bool bad_read(struct reverting *reverting, const char *oid,
                     struct bad *bad, struct err *err) {
    char parent[OID_BYTES];
    bool found = true;
    if (!history_walk(&reverting->git, oid, bad_keep, bad, err))
        return false;
    if (bad->commit.parent[0] == '\0')
        return git_run_oid(
            &reverting->git,
            GIT_ARGS("hash-object", "-t", "tree", "-w", "--stdin"), GIT_PLAIN,
            SPAN(""), bad->parent_tree, err);
    if (!git_commit_read(&reverting->trees.objects, bad->commit.parent, parent,
                         bad->parent_tree, &found, err))
        return false;
    return found ||
           err_set(err, ERR_UNAVAILABLE,
                   "the repository is damaged: commit %s, the parent of %s, "
                   "is missing",
                   bad->commit.parent, oid);
}

/* ---- conflicts ----------------------------------------------------------- */

struct culprits {
    const struct revert_steps *steps;
    struct text names; /* " C9 C12": sets that could be rolled back too */
    struct text said;  /* "C9 (done), commit 0123456789ab by Ann" */
    size_t count;
};

static bool is_among(const struct revert_steps *steps, const char *oid) {
    for (size_t i = 0; i < steps->count; i++)
        if (strcmp(steps->p[i].of, oid) == 0)
            return true;
    return false;
}

static bool culprit_add(void *ctx, const struct history_commit *commit) {
    struct culprits *culprits = ctx;
    if (is_among(culprits->steps, commit->oid))
        return true;
    if (culprits->count++ > 0)
        text_adds(&culprits->said, ", ");
    history_who(commit, &culprits->said);
    if (commit->csid.len > 0) {
        text_adds(&culprits->said, " (done)");
        text_addf(&culprits->names, " %.*s", (int)commit->csid.len,
                  commit->csid.p);
    }
    return culprits->count < SETS_NAMED;
}

static bool conflict_say(struct reverting *reverting, const char *of,
                         struct span path, struct text *why, struct err *err) {
    struct culprits culprits = {.steps = reverting->steps};
    bool ok = history_changers(&reverting->git, of, reverting->tip, path,
                               culprit_add, &culprits, err);
    text_adds(why, why->len > 0 ? "; " : "");
    word_quote(path, why);
    if (culprits.count == 0)
        text_adds(why, " cannot be merged, revert by hand");
    else
        text_addf(why, " was also changed by %s, ",
                  text_string(&culprits.said));
    if (culprits.names.len > 0)
        text_addf(why, "add%s to the rollback or revert by hand",
                  text_string(&culprits.names));
    else if (culprits.count > 0)
        text_adds(why, "revert by hand");
    text_clear(&culprits.said);
    text_clear(&culprits.names);
    return ok;
}

/* `paths`: each followed by a NUL. */
static bool conflict(struct reverting *reverting, struct revert_step *step,
                     struct span paths, struct err *err) {
    CLEANUP(text_clear) struct text why = TEXT_INIT;
    CLEANUP(text_clear) struct text said = TEXT_INIT;
    struct span path;
    size_t count = 0;
    step->result = REVERT_CONFLICT;
    while (span_cut(&paths, '\0', &path) && path.len > 0)
        if (count++ < PATHS_NAMED &&
            !conflict_say(reverting, step->of, path, &said, err))
            return false;
    text_addf(&why, "%s cannot be rolled back: %s", step->member->id,
              text_string(&said));
    if (count > PATHS_NAMED)
        text_addf(&why, "; and %zu more paths", count - PATHS_NAMED);
    return revert_finish(reverting, LAND_FAILED, "rb-conflict",
                         text_span(&why));
}

/* ---- the merge ----------------------------------------------------------- */

/* The changes that a commit's paths are to get. */
struct edits {
    struct tree_edit *p; /* their paths lie in the differences */
    size_t count, cap;
    struct text conflicts; /* paths, each with a NUL behind it */
};

static void edits_clear(struct edits *edits) {
    free(edits->p);
    text_clear(&edits->conflicts);
}

static int edit_compare(const void *a, const void *b) {
    const struct tree_edit *x = a, *y = b;
    return path_compare(x->path, y->path);
}

static void edit_add(struct edits *edits, struct span path,
                     const struct tree_entry *entry) {
    if (edits->count == edits->cap) {
        edits->cap = edits->cap > 0 ? 2 * edits->cap : 16;
        edits->p = mem_grow(edits->p, edits->cap, sizeof *edits->p);
    }
    struct tree_edit *edit = &edits->p[edits->count++];
    *edit = (struct tree_edit){.path = path, .mode = entry->mode};
    memcpy(edit->oid, entry->oid, OID_BYTES);
}

static void conflict_add(struct edits *edits, struct span path) {
    text_addspan(&edits->conflicts, path);
    text_addc(&edits->conflicts, '\0');
}

/* ":MODE MODE OID OID STATUS": before and after. */
static bool entry_parse(struct span head, struct tree_entry *ret_before,
                        struct tree_entry *ret_after) {
    char line[256];
    if (head.len >= sizeof line)
        return false;
    snprintf(line, sizeof line, "%.*s", (int)head.len, head.p);
    return sscanf(line, ":%o %o %64s %64s", &ret_before->mode, &ret_after->mode,
                  ret_before->oid, ret_after->oid) == 4;
}

/* Merges each path of the raw differences. */
static bool edits_make(struct reverting *reverting, struct span raw,
                       struct edits *edits, struct err *err) {
    struct path_merge merge = {.git = &reverting->git,
                               .objects = &reverting->trees.objects};
    struct span head, path;
    bool ok = true;
    while (ok && span_cut(&raw, '\0', &head) && head.len > 0) {
        struct tree_entry before = {0}, after = {0}, now, merged;
        enum path_merged result;
        if (!span_cut(&raw, '\0', &path) || !entry_parse(head, &before, &after))
            ok = err_set(err, ERR_INTERNAL,
                         "cannot read what git diff-tree prints");
        else if (!tree_find(&reverting->trees, reverting->at_tree, path, &now,
                            err) ||
                 !path_merge(&merge, &after, &now, &before, &merged, &result,
                             err))
            ok = false;
        else if (result != PATH_CLEAN)
            conflict_add(edits, path);
        else if (!path_entry_same(&merged, &now))
            edit_add(edits, path, &merged);
    }
    path_merge_clear(&merge);
    return ok;
}

/* A path that does not fit the tree any more is a conflict too. */
static bool edits_apply(struct reverting *reverting, struct edits *edits,
                        char ret_tree[OID_BYTES], struct err *err) {
    bool fits;
    memcpy(ret_tree, reverting->at_tree, OID_BYTES);
    if (edits->count == 0)
        return true;
    enum tree_clash *clashes = mem_grow(NULL, edits->count, sizeof *clashes);
    qsort(edits->p, edits->count, sizeof *edits->p, edit_compare);
    bool ok = tree_apply(&reverting->trees, reverting->at_tree, edits->p,
                         edits->count, false, clashes, ret_tree, &fits, err);
    for (size_t i = 0; ok && !fits && i < edits->count; i++)
        if (clashes[i] != TREE_FITS)
            conflict_add(edits, edits->p[i].path);
    free(clashes);
    return ok;
}

static bool take_out(struct reverting *reverting, struct revert_step *step,
                     const struct bad *bad, char ret_tree[OID_BYTES],
                     struct err *err) {
    CLEANUP(text_clear) struct text raw = TEXT_INIT;
    CLEANUP(edits_clear) struct edits edits = {0};
    if (!git_run(&reverting->git,
                 GIT_ARGS("diff-tree", "-r", "-z", "--no-renames",
                          "--full-index", bad->parent_tree, bad->commit.tree),
                 GIT_PLAIN, SPAN(""), &raw, NULL, err) ||
        !edits_make(reverting, text_span(&raw), &edits, err))
        return false;
    if (edits.conflicts.len == 0 &&
        !edits_apply(reverting, &edits, ret_tree, err))
        return false;
    return edits.conflicts.len == 0 ||
           conflict(reverting, step, text_span(&edits.conflicts), err);
}

/* ---- its commit ---------------------------------------------------------- */

static void message_make(const struct reverting *reverting,
                         const struct bad *bad, struct text *out) {
    struct span subject = bad->commit.subject;
    const char *because = reverting->start->because;
    if (span_starts(subject, "Revert \""))
        text_addf(out, "Reapply %.*s", (int)subject.len - 7, subject.p + 7);
    else if (span_starts(subject, "Reapply \""))
        text_addf(out, "Revert %.*s", (int)subject.len - 8, subject.p + 8);
    else
        text_addf(out, "Revert \"%.*s\"", (int)subject.len,
                  subject.len > 0 ? subject.p : "");
    text_addf(out, "\n\nThis reverts commit %s.\n", bad->commit.oid);
    if (because != NULL && because[0] != '\0')
        text_addf(out, "\n%s\n", because);
}

/* The commit is the member's own: all its lines turn. Or a rollback's that
 * restored the member, and stays in force: what stands below the member does.
 */
static void trailers_make(const struct reverting *reverting,
                          const struct revert_step *step, const struct bad *bad,
                          struct text *out) {
    const struct history_commit *commit = &bad->commit;
    struct span rest = commit->trailers, id;
    bool below = span_is(commit->csid, step->member->id), in;
    text_addf(out, "RB-Id: %s\nReverts-CS: %s\n", reverting->start->id,
              step->member->id);
    while (history_effect(&rest, &in, &id)) {
        if (below)
            text_addf(out, "%s-CS: %.*s\n", in ? "Reverts" : "Restores",
                      (int)id.len, id.p);
        below = below || (in && span_is(id, step->member->id));
    }
}

static bool commit_make(struct reverting *reverting, struct revert_step *step,
                        const struct bad *bad, const char *tree,
                        struct err *err) {
    const struct revert_start *start = reverting->start;
    CLEANUP(text_clear) struct text message = TEXT_INIT;
    CLEANUP(text_clear) struct text more = TEXT_INIT;
    CLEANUP(text_clear) struct text object = TEXT_INIT;
    struct wall now = clock_wall();
    message_make(reverting, bad, &message);
    trailers_make(reverting, step, bad, &more);
    struct commit_draft draft = {.tree = tree,
                                 .parent = reverting->at,
                                 .author = span_of(start->submitter),
                                 .authored = now,
                                 .committer = span_of(start->committer),
                                 .committed = now,
                                 .message = text_span(&message),
                                 .csid = span_of(start->id),
                                 .sum = span_of(start->sum),
                                 .class = span_of(set_class_name(SET_RB)),
                                 .approved_by = start->approved_by,
                                 .approved_count = start->approved_count,
                                 .more = text_span(&more)};
    commit_format(&draft, &object);
    return git_run_oid(&reverting->git,
                       GIT_ARGS("hash-object", "-t", "commit", "-w", "--stdin"),
                       GIT_PLAIN, text_span(&object), step->commit, err);
}

bool revert_one(struct reverting *reverting, size_t i, struct err *err) {
    struct revert_step *step = &reverting->steps->p[i];
    CLEANUP(bad_clear) struct bad bad = {0};
    char tree[OID_BYTES];
    if (!bad_read(reverting, step->of, &bad, err) ||
        !take_out(reverting, step, &bad, tree, err))
        return false;
    if (strcmp(tree, reverting->at_tree) == 0) {
        fprintf(reverting->account, "%s: nothing of %.12s is left\n",
                step->member->id, step->of);
        step->result = REVERT_EMPTY;
        return true;
    }
    if (!commit_make(reverting, step, &bad, tree, err))
        return false;
    fprintf(reverting->account, "%s: %.12s reverts %.12s\n", step->member->id,
            step->commit, step->of);
    step->result = REVERT_MADE;
    memcpy(reverting->at, step->commit, OID_BYTES);
    memcpy(reverting->at_tree, tree, OID_BYTES);
    return true;
}
