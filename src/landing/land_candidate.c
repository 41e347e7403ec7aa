#include "landing/land_candidate.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "os/dir.h"
#include "os/fd.h"
#include "landing/branch_note.h"
#include "landing/git.h"
#include "landing/history.h"
#include "landing/land_session.h"
#include "landing/merge.h"
#include "landing/ref_move.h"
#include "landing/set_blobs.h"
#include "landing/target_command.h"

struct candidate {
    const struct land_start *start;
    struct land_session *session;
    struct history_search *sets; /* which are on the branch; 1 + others */
    struct child_stop *stop;
    struct land_status *status;
    struct git git;
    struct merge merge;
    struct arena arena; /* what the merge knows of the sets */
    struct text line;   /* the answer */
    bool refused;       /* the answer ends with why a step cannot be merged */
    bool looks_everywhere; /* for the sets, in the whole history */
};

static const char *or_none(const char *oid) {
    return oid[0] != '\0' ? oid : "none";
}

static bool stop_asked(struct candidate *candidate) {
    if (child_stop_requested(candidate->stop) == 0)
        return false;
    land_status_set(candidate->status, LAND_STOPPED, "", SPAN(""));
    return true;
}

/* Creates the directory of the objects; its parent has to exist. */
static bool objects_open(struct candidate *candidate, struct err *err) {
    const char *apart = candidate->start->apart;
    const char *slash = apart != NULL ? strrchr(apart, '/') : NULL;
    if (slash == NULL || slash == apart)
        return err_set(err, ERR_DATA, "'apart' is missing");
    char *parent = mem_copy(apart, (size_t)(slash - apart));
    CLEANUP(fd_close)
    int fd = open(parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    bool ok = fd >= 0 || err_errno(err, errno, "cannot open '%s'", parent);
    free(parent);
    if (!ok ||
        (candidate->start->fresh && !dir_remove_tree(fd, slash + 1, err)) ||
        !dir_make(fd, slash + 1, 0700, err))
        return false;
    git_objects_apart(&candidate->git, apart);
    return true;
}

static void refuse(struct candidate *candidate, const struct land_start *set,
                   const char *word, struct span why) {
    text_addf(&candidate->line, " %s ", word);
    if (set->joined || set != candidate->start)
        text_addf(&candidate->line, "%s: ", set->id);
    text_addspan(&candidate->line, why);
    candidate->refused = true;
}

static bool merge_loaded(struct candidate *candidate,
                         const struct land_start *set,
                         const struct set_blobs *blobs, struct err *err) {
    struct merge *merge = &candidate->merge;
    merge->start = set;
    merge->set = blobs;
    if (!merge_make(merge, err))
        return false;
    struct span why = text_span(&merge->why);
    if (merge->result == MERGE_CONFLICT)
        refuse(candidate, set, "conflict", why);
    else if (merge->result == MERGE_REFUSED)
        refuse(candidate, set, "policy", why);
    else
        memcpy(merge->tip_tree, merge->tree, OID_BYTES);
    return true;
}

/* Merges the set onto merge.tip_tree, which becomes the result. */
static bool merge_set(struct candidate *candidate, const struct land_start *set,
                      struct err *err) {
    CLEANUP(fd_close)
    int fd = open(set->tarball, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    struct set_blobs blobs;
    if (fd < 0)
        return err_errno(err, errno, "cannot read the tarball '%s'",
                         set->tarball);
    if (set_blobs_load(&candidate->git, fd, span_of(set->sum), set->symlinks,
                       &candidate->arena, &blobs, err))
        return merge_loaded(candidate, set, &blobs, err);
    if (err->kind != ERR_REFUSED)
        return false;
    refuse(candidate, set, "policy", span_of(err->text));
    return true;
}

static const struct land_start *set_at(const struct land_start *start,
                                       size_t i) {
    return i == 0 ? start : &start->others[i - 1];
}

/* The number of sets of the step that begins here if all of them are on the
 * branch, else 0. */
static size_t count_landed(const struct candidate *candidate, size_t from) {
    const struct land_start *start = candidate->start;
    for (size_t i = from;; i++) {
        if (candidate->sets[i].oid[0] == '\0')
            return 0;
        if (!set_at(start, i)->joined || i == start->other_count)
            return i + 1 - from;
    }
}

static bool sets_find(struct candidate *candidate, struct err *err) {
    const struct land_start *start = candidate->start;
    const struct merge *merge = &candidate->merge;
    size_t count = 1 + start->other_count;
    candidate->sets =
        arena_alloc(&candidate->arena, count * sizeof(*candidate->sets));
    for (size_t i = 0; i < count; i++) {
        const struct land_start *set = set_at(start, i);
        candidate->sets[i] = (struct history_search){
            .csid = span_of(set->id),
            .sum = span_of(set->sum),
            .admitted =
                candidate->looks_everywhere ? HISTORY_ALL : set->admitted};
    }
    return merge->tip[0] == '\0' ||
           history_find_sets(&candidate->git, NULL, merge->tip, candidate->sets,
                             count, &candidate->session->known, false, err);
}

/* Ends at the first step that cannot be merged: the trees behind it depend on
 * what the caller makes of that. */
static bool merge_steps(struct candidate *candidate, struct err *err) {
    const struct land_start *start = candidate->start;
    struct merge *merge = &candidate->merge;
    char onto[OID_BYTES] = "";
    if (strcmp(start->onto, "none") != 0)
        snprintf(onto, sizeof onto, "%s", start->onto);
    memcpy(merge->tip_tree, onto, OID_BYTES);
    bool any = false;
    for (size_t i = 0; !candidate->refused && i <= start->other_count; i++) {
        const struct land_start *set = set_at(start, i);
        struct err why = {0};
        size_t landed = count_landed(candidate, i);
        if (stop_asked(candidate))
            return true;
        if (landed > 0) {
            text_adds(&candidate->line, " landed");
            any = true;
            i += landed - 1;
            continue;
        }
        if (!merge_set(candidate, set, &why)) {
            /* The trees so far are an answer; the next merge meets the error
             * at its first step. */
            if (any)
                break;
            *err = why;
            return false;
        }
        if (candidate->refused || set->joined)
            continue;
        text_addf(&candidate->line, " %s", merge->tip_tree);
        any = true;
        if (start->aside)
            memcpy(merge->tip_tree, onto, OID_BYTES);
    }
    return true;
}

/* What a set conflicts with may be its own commit, behind old dates. */
static bool merge_found(struct candidate *candidate, struct err *err) {
    size_t begin = candidate->line.len;
    if (!merge_steps(candidate, err))
        return false;
    if (!candidate->refused)
        return true;
    candidate->looks_everywhere = true;
    candidate->refused = false;
    candidate->line.len = begin;
    return sets_find(candidate, err) && merge_steps(candidate, err);
}

/* The objects of candidates may be deleted at any time. */
static bool changed(struct candidate *candidate, const struct err *err) {
    if (err->kind != ERR_UNAVAILABLE)
        return false;
    land_status_set(candidate->status, LAND_CHANGED, "", span_of(err->text));
    return true;
}

static bool merge_all(struct candidate *candidate, struct err *err) {
    const struct land_start *start = candidate->start;
    struct merge *merge = &candidate->merge;
    char tip_tree[OID_BYTES];
    merge->git = &candidate->git;
    merge->start = start;
    merge->known = &candidate->session->known;
    /* Nothing is checked that could not land. */
    if (!ref_is_free(&candidate->git, start->branch, err) ||
        !merge_read_tip(merge, err) ||
        !branch_note_meet(start->branches, &candidate->git, start->branch,
                          merge->tip, &merge->trees.objects, err) ||
        (start->onto != NULL && !sets_find(candidate, err))) {
        if (err->kind == ERR_CANNOT || err->kind == ERR_DENIED)
            err->kind = ERR_UNAVAILABLE;
        return false;
    }
    text_addf(&candidate->line, "%s %s", or_none(merge->tip),
              or_none(merge->tip_tree));
    memcpy(tip_tree, merge->tip_tree, OID_BYTES);
    if (start->onto != NULL && !merge_found(candidate, err))
        return strcmp(start->onto, or_none(tip_tree)) != 0 &&
               changed(candidate, err);
    if (candidate->status->verdict == LAND_NONE)
        land_status_set(candidate->status, LAND_MERGED, "",
                        text_span(&candidate->line));
    return true;
}

static bool check(struct candidate *candidate, struct err *err) {
    const struct land_start *start = candidate->start;
    bool pass = false;
    if (!target_checks_run(start, &candidate->git, start->check,
                           candidate->stop, &pass, candidate->status, err))
        return false;
    if (pass)
        land_status_set(candidate->status, LAND_PASSED, "", SPAN(""));
    return true;
}

bool land_candidate(const struct land_start *start,
                    struct land_session *session, struct child_stop *stop,
                    struct land_status *ret_status, struct err *err) {
    struct candidate candidate = {
        .start = start, .session = session, .stop = stop, .status = ret_status};
    *ret_status = (struct land_status){.verdict = LAND_NONE};
    bool ok =
        (!start->merge ||
         land_session_open(session, start->git, start->work, stop, err)) &&
        git_open(start->git, start->work, stop, &candidate.git, err) &&
        objects_open(&candidate, err) &&
        (start->merge ? merge_all(&candidate, err) : check(&candidate, err));
    merge_clear(&candidate.merge);
    arena_clear(&candidate.arena);
    text_clear(&candidate.line);
    git_close(&candidate.git);
    return ok;
}
