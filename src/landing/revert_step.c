/* Reverts one commit on top of those reverted so far. A path gets the content
 * of the replay (revert_replay.h) with the last commit that reverts it. Until
 * then it is merged from that commit (base), the chain (ours) and its parent
 * (theirs), or stays as it is if that merge conflicts: these commits in between
 * are for readers of the history, the branch never stands at one. Without a
 * replay that merge is all there is, and a conflict ends the rollback. No other
 * path changes. */
#include <stdlib.h>
#include <string.h>

#include "os/clock.h"
#include "landing/branch_log.h"
#include "landing/commit.h"
#include "landing/history.h"
#include "landing/objects_apart.h"
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
    size_t sum = bad->message.len;
    text_addspan(&bad->message, commit->sum);
    size_t trailers = bad->message.len;
    text_addspan(&bad->message, commit->trailers);
    const char *p = text_string(&bad->message);
    bad->commit.subject = span_make(p + subject, csid - subject);
    bad->commit.csid = span_make(p + csid, sum - csid);
    bad->commit.sum = span_make(p + sum, trailers - sum);
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
        return objects_apart_write(&reverting->git, "tree", SPAN(""),
                                   bad->parent_tree, err);
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

static bool is_among(const struct revert_steps *steps, const char *oid) {
    for (size_t i = 0; i < steps->count; i++)
        if (strcmp(steps->p[i].of, oid) == 0)
            return true;
    return false;
}

void revert_culprits_clear(struct revert_culprits *culprits) {
    text_clear(&culprits->said);
    text_clear(&culprits->names);
}

bool revert_culprit_add(void *ctx, const struct history_commit *commit) {
    struct revert_culprits *culprits = ctx;
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

struct merged_sets {
    struct text *said;
    size_t count;
};

static bool merged_add(void *ctx, const struct history_commit *commit) {
    struct merged_sets *merged = ctx;
    if (commit->csid.len == 0)
        return true;
    if (merged->count == SETS_NAMED) {
        text_adds(merged->said, " and more");
        return false;
    }
    text_addf(merged->said, "%s%.*s",
              merged->count++ == 0 ? ", which merged " : ", ",
              (int)commit->csid.len, commit->csid.p);
    return true;
}

bool revert_culprit_merged(struct revert_culprits *culprits, struct git *git,
                           const struct history_commit *merge, struct span path,
                           struct err *err) {
    struct merged_sets merged = {.said = &culprits->said};
    return merge->parent[0] == '\0' ||
           history_changers(git, merge->parent, merge->oid, path, merged_add,
                            &merged, err);
}

void revert_culprits_say(const struct revert_culprits *culprits,
                         struct span path, struct text *why) {
    text_adds(why, why->len > 0 ? "; " : "");
    word_quote(path, why);
    if (culprits->count == 0)
        text_adds(why, " cannot be merged, revert by hand");
    else
        text_addf(why, " was also changed by %.*s; ", (int)culprits->said.len,
                  culprits->said.p);
    if (culprits->names.len > 0)
        text_addf(why, "add%.*s to the rollback or revert by hand",
                  (int)culprits->names.len, culprits->names.p);
    else if (culprits->count > 0)
        text_adds(why, "revert by hand");
}

static bool conflict_say(struct reverting *reverting, const char *of,
                         struct span path, struct text *why, struct err *err) {
    CLEANUP(revert_culprits_clear)
    struct revert_culprits culprits = {.steps = reverting->steps};
    if (!history_changers(&reverting->git, of, reverting->tip, path,
                          revert_culprit_add, &culprits, err))
        return false;
    revert_culprits_say(&culprits, path, why);
    return true;
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

/* Some commits, each once. */
struct named_commits {
    const struct history_commit *p[SETS_NAMED];
    size_t count;
};

/* What a step finds. */
struct taken {
    bool left; /* there is something to revert */
    struct named_commits removers, keepers;
};

static void named_add(struct named_commits *named,
                      const struct history_commit *commit) {
    for (size_t i = 0; i < named->count; i++)
        if (named->p[i] == commit)
            return;
    if (commit != NULL && named->count < SETS_NAMED)
        named->p[named->count++] = commit;
}

static void taken_note(struct taken *taken, const struct replay_path *path) {
    for (size_t i = 0; i < path->keeper_count; i++)
        named_add(&taken->keepers, path->keepers[i]);
    if (!path_entry_same(&path->before, &path->after))
        taken->left = true;
    else if (path->keeper_count == 0)
        named_add(&taken->removers, path->remover);
}

/* One path that the commit changed. */
static bool path_take_out(struct reverting *reverting, size_t i,
                          struct path_merge *merge,
                          const struct tree_entry *before,
                          const struct tree_entry *after, struct span path,
                          struct edits *edits, struct taken *taken,
                          struct err *err) {
    const struct replay_path *replayed =
        revert_replay_path_find(&reverting->replay, path);
    struct tree_entry now, merged;
    enum path_merged result;
    if (replayed != NULL)
        taken_note(taken, replayed);
    if (reverting->replay.is_possible &&
        (replayed == NULL || replayed->last == i))
        return true; /* not affected, or done with the others of this step */
    if (!tree_find(&reverting->trees, reverting->at_tree, path, &now, err) ||
        !path_merge(merge, after, &now, before, &merged, &result, err))
        return false;
    if (result == PATH_CLEAN && !path_entry_same(&merged, &now))
        edit_add(edits, path, &merged);
    else if (result != PATH_CLEAN && replayed == NULL)
        conflict_add(edits, path);
    return true;
}

/* The paths that get their final content with this step. */
static bool edits_final(struct reverting *reverting, size_t i,
                        struct edits *edits, struct err *err) {
    const struct replay *replay = &reverting->replay;
    for (size_t k = 0; k < replay->count; k++) {
        const struct replay_path *path = replay->paths[k];
        struct tree_entry now;
        if (path->last != i)
            continue;
        if (!tree_find(&reverting->trees, reverting->at_tree, path->path, &now,
                       err))
            return false;
        bool is_absent =
            path->after.mode == 0 && (now.mode == 0 || now.mode == MODE_TREE);
        if (!is_absent && !path_entry_same(&path->after, &now))
            edit_add(edits, path->path, &path->after);
    }
    return true;
}

static bool edits_make(struct reverting *reverting, size_t i, struct span raw,
                       struct edits *edits, struct taken *taken,
                       struct err *err) {
    CLEANUP(path_merge_clear)
    struct path_merge merge = {.git = &reverting->git,
                               .objects = &reverting->trees.objects};
    struct span head, path;
    while (span_cut(&raw, '\0', &head) && head.len > 0) {
        struct tree_entry before, after;
        if (!span_cut(&raw, '\0', &path) ||
            !branch_log_entry_parse(head, &before, &after))
            return err_set(err, ERR_INTERNAL,
                           "cannot read what git diff-tree prints");
        if (!path_take_out(reverting, i, &merge, &before, &after, path, edits,
                           taken, err))
            return false;
    }
    return edits_final(reverting, i, edits, err);
}

/* A path that does not fit the tree any more is a conflict too, unless a later
 * step can still make it fit. */
static bool edits_apply(struct reverting *reverting, size_t i,
                        struct edits *edits, char ret_tree[OID_BYTES],
                        struct err *err) {
    struct replay *replay = &reverting->replay;
    bool fits;
    memcpy(ret_tree, reverting->at_tree, OID_BYTES);
    if (edits->count == 0)
        return true;
    enum tree_clash *clashes = mem_grow(NULL, edits->count, sizeof *clashes);
    qsort(edits->p, edits->count, sizeof *edits->p, edit_compare);
    bool ok = tree_apply(&reverting->trees, reverting->at_tree, edits->p,
                         edits->count, false, clashes, ret_tree, &fits, err);
    if (ok && !fits && replay->is_possible && i < replay->last_step) {
        memcpy(ret_tree, reverting->at_tree, OID_BYTES);
        for (size_t k = 0; k < replay->count; k++)
            if (replay->paths[k]->last == i)
                replay->paths[k]->last = replay->last_step;
        fits = true;
    }
    for (size_t k = 0; ok && !fits && k < edits->count; k++)
        if (clashes[k] != TREE_FITS)
            conflict_add(edits, edits->p[k].path);
    free(clashes);
    return ok;
}

static bool take_out(struct reverting *reverting, size_t i,
                     const struct bad *bad, char ret_tree[OID_BYTES],
                     struct taken *taken, struct err *err) {
    CLEANUP(text_clear) struct text raw = TEXT_INIT;
    CLEANUP(edits_clear) struct edits edits = {0};
    if (!git_run(&reverting->git,
                 GIT_ARGS("diff-tree", "-r", "-z", "--no-renames",
                          "--full-index", bad->parent_tree, bad->commit.tree),
                 GIT_PLAIN, SPAN(""), &raw, NULL, err) ||
        !edits_make(reverting, i, text_span(&raw), &edits, taken, err))
        return false;
    if (edits.conflicts.len == 0 &&
        !edits_apply(reverting, i, &edits, ret_tree, err))
        return false;
    return edits.conflicts.len == 0 ||
           conflict(reverting, &reverting->steps->p[i],
                    text_span(&edits.conflicts), err);
}

/* ---- its commit ---------------------------------------------------------- */

static void message_make(const struct reverting *reverting,
                         const struct bad *bad, bool left, struct text *out) {
    struct span subject = bad->commit.subject;
    const char *because = reverting->start->because;
    if (span_starts(subject, "Revert \""))
        text_addf(out, "Reapply %.*s", (int)subject.len - 7, subject.p + 7);
    else if (span_starts(subject, "Reapply \""))
        text_addf(out, "Revert %.*s", (int)subject.len - 8, subject.p + 8);
    else
        text_addf(out, "Revert \"%.*s\"", (int)subject.len,
                  subject.len > 0 ? subject.p : "");
    text_addf(out, "\n\nThis reverts commit %s%s.\n", bad->commit.oid,
              left ? "" : ", of which nothing was left");
    if (because != NULL && because[0] != '\0')
        text_addf(out, "\n%s\n", because);
}

/* The lines Reverts-CS and Restores-CS of the commit that undoes `commit`. The
 * commit is the member's own: all its lines turn. Or a rollback's that
 * restored the member, and stays in force: what stands below the member does.
 */
static void effects_turn(const struct revert_step *step,
                         const struct history_commit *commit,
                         struct text *out) {
    struct span rest = commit->trailers;
    struct history_effect effect = {false, span_of(step->member->id),
                                    span_of(step->member->sum)};
    const struct history_effect own = effect;
    bool below =
        span_equal(commit->csid, own.id) && span_equal(commit->sum, own.sum);
    history_effect_add(&own, out);
    while (history_effect_next(&rest, &effect)) {
        bool is_own =
            effect.in && history_effect_is_on(&effect, own.id, own.sum);
        effect.in = !effect.in;
        if (below)
            history_effect_add(&effect, out);
        below = below || is_own;
    }
}

static bool commit_make(struct reverting *reverting, struct revert_step *step,
                        const struct bad *bad, bool left, const char *tree,
                        struct err *err) {
    const struct revert_start *start = reverting->start;
    CLEANUP(text_clear) struct text message = TEXT_INIT;
    CLEANUP(text_clear) struct text more = TEXT_INIT;
    CLEANUP(text_clear) struct text object = TEXT_INIT;
    struct wall now = clock_wall();
    message_make(reverting, bad, left, &message);
    text_addf(&more, "RB-Id: %s\n", start->id);
    if (step->effects.len > 0)
        text_addspan(&more, step->effects);
    else
        effects_turn(step, &bad->commit, &more);
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
    return objects_apart_write(&reverting->git, "commit", text_span(&object),
                               step->commit, err);
}

/* ": C2, C3 removed it", and the sets among them. */
static void commits_say(const struct named_commits *named, const char *what,
                        struct text *note, struct text *sets) {
    for (size_t i = 0; i < named->count; i++) {
        const struct history_commit *commit = named->p[i];
        text_adds(note, i == 0 ? ": " : ", ");
        history_who(commit, note);
        if (commit->csid.len > 0)
            text_addf(sets, " %.*s", (int)commit->csid.len, commit->csid.p);
    }
    if (named->count > 0)
        text_adds(note, what);
}

/* "nothing of C1 is left to revert: C2 removed it; to undo that too, roll back
 * C2"; "a part of C1 stays: C2 made the same change; ..." */
static void note_kept(struct reverting *reverting,
                      const struct revert_step *step,
                      const struct taken *taken) {
    struct text *note = &reverting->note;
    CLEANUP(text_clear) struct text sets = TEXT_INIT;
    if (note->len > 0)
        text_adds(note, "; ");
    size_t begin = note->len;
    text_addf(note,
              taken->left ? "a part of %s stays"
                          : "nothing of %s is left to revert",
              step->member->id);
    if (!taken->left)
        commits_say(&taken->removers, " removed it", note, &sets);
    commits_say(&taken->keepers, " made the same change", note, &sets);
    if (sets.len > 0)
        text_addf(note, "; to undo that too, roll back%s", text_string(&sets));
    fprintf(reverting->account, "%s\n", text_string(note) + begin);
}

bool revert_one(struct reverting *reverting, size_t i, struct err *err) {
    struct revert_step *step = &reverting->steps->p[i];
    CLEANUP(bad_clear) struct bad bad = {0};
    struct taken taken = {0};
    char tree[OID_BYTES];
    if (!bad_read(reverting, step->of, &bad, err) ||
        !take_out(reverting, i, &bad, tree, &taken, err))
        return false;
    bool same = strcmp(tree, reverting->at_tree) == 0;
    taken.left = taken.left || !same;
    if (!taken.left || taken.keepers.count > 0)
        note_kept(reverting, step, &taken);
    if (!commit_make(reverting, step, &bad, taken.left, tree, err))
        return false;
    fprintf(reverting->account, "%s: %.12s reverts %.12s\n", step->member->id,
            step->commit, step->of);
    step->result = taken.left ? REVERT_MADE : REVERT_EMPTY;
    memcpy(reverting->at, step->commit, OID_BYTES);
    memcpy(reverting->at_tree, tree, OID_BYTES);
    return true;
}
