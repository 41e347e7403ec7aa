#include "landing/land.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "os/clock.h"
#include "os/dir.h"
#include "landing/branch_note.h"
#include "landing/commit.h"
#include "landing/git.h"
#include "landing/history.h"
#include "landing/land_candidate.h"
#include "landing/land_session.h"
#include "landing/land_work.h"
#include "landing/merge.h"
#include "landing/objects_apart.h"
#include "landing/ref_move.h"
#include "landing/set_blobs.h"
#include "landing/target_command.h"
#include "landing/tip.h"

/* After this many tries a branch that others keep moving is left alone for a
 * while. */
enum { TRIES = 5 };

/* One of the sets that land. */
struct landing_set {
    const struct land_start *start;
    struct set_blobs blobs;
    bool is_loaded;      /* they are known */
    bool has_landed;     /* it is on the branch already */
    bool is_empty;       /* its commit changes nothing */
    char oid[OID_BYTES]; /* its commit */
};

/* The outcome of a step of an attempt. A function that can only fail is a step
 * too: see step_of(). */
enum step {
    STEP_FAILED,  /* `err` says why; no verdict was set */
    STEP_GO_ON,   /* continue with the next step */
    STEP_AGAIN,   /* the branch was moved: start again by looking at it */
    STEP_FINISHED /* `status` has the verdict */
};

/* One attempt. */
struct landing {
    const struct land_start *start;
    struct child_stop *stop;
    struct land_status *status;
    struct land_session *session;
    struct git *git; /* of the session */
    struct land_work work;
    struct arena arena;
    struct landing_set *sets;
    size_t set_count;
    /* The branch as found by this try. */
    char tip[OID_BYTES], tip_tree[OID_BYTES];
    struct merge merge;    /* on top of the sets already merged */
    bool looks_everywhere; /* for the sets, in the whole history */
    const char *head; /* commit of the last set that is not on the branch yet */
    struct ref_mover mover; /* waits for ref_move */
};

static void searches_free(struct history_search **searches) {
    free(*searches);
}

static enum step step_of(bool ok) {
    return ok ? STEP_GO_ON : STEP_FAILED;
}

static enum step finish(struct landing *landing, enum land_verdict verdict,
                        const char *reason, struct span text) {
    land_status_set(landing->status, verdict, reason, text);
    return STEP_FINISHED;
}

static enum step stop_if_asked(struct landing *landing) {
    return child_stop_requested(landing->stop) == 0
               ? STEP_GO_ON
               : finish(landing, LAND_STOPPED, "", SPAN(""));
}

static char mark_of(const struct landing_set *set) {
    return set->has_landed ? '=' : set->is_empty ? '~' : ':';
}

/* "COMMIT", or for several sets "TIP ID:COMMIT ID=COMMIT"; "=" for sets that
 * were on the branch already, and "~" for those whose content was: such a set
 * is named even if it is alone. */
static enum step finish_landed(struct landing *landing,
                               enum land_verdict verdict, const char *tip) {
    CLEANUP(text_clear) struct text text = TEXT_INIT;
    text_adds(&text, tip);
    for (size_t i = 0; i < landing->set_count; i++) {
        const struct landing_set *set = &landing->sets[i];
        if (landing->set_count > 1 || set->is_empty)
            text_addf(&text, " %s%c%s", set->start->id, mark_of(set), set->oid);
    }
    return finish(landing, verdict, "", text_span(&text));
}

static bool branch_remember(struct landing *landing, struct err *err) {
    const struct land_start *start = landing->start;
    return branch_note_meet(start->branches, landing->git, start->branch,
                            landing->tip, &landing->merge.trees.objects, err);
}

/* Reads the branch and finds the commits of the sets on it. If this takes two
 * git processes, they start at the same time. */
static bool sets_find(struct landing *landing, struct err *err) {
    struct merge *merge = &landing->merge;
    struct history_known *known = &landing->session->known;
    CLEANUP(git_pipe_drop) struct git_pipe begun = {0};
    if ((known->tip[0] == '\0' &&
         !history_begin(landing->git, landing->start->branch, &begun, err)) ||
        !merge_read_tip(merge, err))
        return false;
    CLEANUP(searches_free)
    struct history_search *searches =
        mem_grow(NULL, landing->set_count, sizeof *searches);
    for (size_t i = 0; i < landing->set_count; i++) {
        const struct land_start *start = landing->sets[i].start;
        searches[i] = (struct history_search){
            .csid = span_of(start->id),
            .sum = span_of(start->sum),
            .admitted =
                landing->looks_everywhere ? HISTORY_ALL : start->admitted};
    }
    if (merge->tip[0] == '\0')
        history_known_clear(known);
    else if (!history_find_sets(landing->git, &begun, merge->tip, searches,
                                landing->set_count, known, false, err))
        return false;
    for (size_t i = 0; i < landing->set_count; i++)
        memcpy(landing->sets[i].oid, searches[i].oid, OID_BYTES);
    return true;
}

/* What the sets depend on must be there: it has landed, but others may have
 * rewritten the branch since. */
static enum step find_needs(struct landing *landing, struct err *err) {
    CLEANUP(text_clear) struct text lost = TEXT_INIT;
    size_t count = 0, lost_count = 0;
    for (size_t i = 0; i < landing->set_count; i++)
        count += landing->sets[i].start->need_count;
    if (count == 0 || landing->tip[0] == '\0')
        return STEP_GO_ON;
    CLEANUP(searches_free)
    struct history_search *searches = mem_grow(NULL, count, sizeof *searches);
    count = 0;
    for (size_t i = 0; i < landing->set_count; i++) {
        const struct land_start *set = landing->sets[i].start;
        for (size_t k = 0; k < set->need_count; k++)
            searches[count++] =
                (struct history_search){.csid = span_of(set->needs[k].id),
                                        .sum = span_of(set->needs[k].sum),
                                        .admitted = HISTORY_ALL};
    }
    if (!history_find_sets(landing->git, NULL, landing->tip, searches, count,
                           &landing->session->known, true, err))
        return STEP_FAILED;
    for (size_t i = 0; i < count; i++) {
        if (searches[i].oid[0] != '\0')
            continue;
        text_addf(&lost, "%s%.*s", lost_count++ > 0 ? ", " : "",
                  (int)searches[i].csid.len, searches[i].csid.p);
    }
    if (lost_count == 0)
        return STEP_GO_ON;
    text_addf(&lost,
              " %s landed, but %s no longer on branch '%s'; was the branch "
              "rewritten?",
              lost_count > 1 ? "have" : "has", lost_count > 1 ? "are" : "is",
              landing->start->branch);
    return finish(landing, LAND_BASE_LOST, "", text_span(&lost));
}

/* Sets of a group land together, so either all are on the branch or none. */
static bool is_whole(const struct landing *landing) {
    for (size_t i = 0; i + 1 < landing->set_count; i++)
        if (landing->sets[i].start->joined &&
            landing->sets[i].has_landed != landing->sets[i + 1].has_landed)
            return false;
    return true;
}

/* Finds out which sets are on the branch. */
static enum step probe(struct landing *landing, struct err *err) {
    const struct land_start *start = landing->start;
    struct merge *merge = &landing->merge;
    size_t found = 0;
    if (!sets_find(landing, err))
        return STEP_FAILED;
    memcpy(landing->tip, merge->tip, OID_BYTES);
    memcpy(landing->tip_tree, merge->tip_tree, OID_BYTES);
    for (size_t i = 0; i < landing->set_count; i++) {
        struct landing_set *set = &landing->sets[i];
        set->has_landed = set->oid[0] != '\0';
        if (!set->has_landed)
            continue;
        printf("%s is on %s already: %s\n", set->start->id, start->branch,
               set->oid);
        /* Otherwise a set whose content is lost would count as landed. */
        if (!tip_verify(landing->git, set->oid, TIP_CHANGE, err))
            return STEP_FAILED;
        found++;
    }
    if (found > 0 && found == landing->set_count)
        return finish_landed(landing, start->probe ? LAND_LANDED : LAND_ALREADY,
                             landing->sets[found - 1].oid);
    /* A branch that is away, or is another one now, may have them. */
    if (start->probe)
        return branch_remember(landing, err)
                   ? finish(landing, LAND_NOT_LANDED, "", SPAN(""))
                   : STEP_FAILED;
    if (!is_whole(landing))
        return finish(landing, LAND_FAILED, "policy",
                      SPAN("some of these sets are on the branch already and "
                           "some are not; was its history rewritten?"));
    return branch_remember(landing, err) ? find_needs(landing, err)
                                         : STEP_FAILED;
}

static bool tarball_open(const struct land_start *start, int *ret_fd,
                         struct err *err) {
    *ret_fd =
        open(start->tarball, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    return *ret_fd >= 0 || err_errno(err, errno, "cannot read the tarball '%s'",
                                     start->tarball);
}

static bool load(struct landing *landing, struct landing_set *set,
                 struct err *err) {
    const struct land_start *start = set->start;
    CLEANUP(fd_close) int fd = -1;
    if (!tarball_open(start, &fd, err) ||
        !set_blobs_load(landing->git, fd, span_of(start->sum), start->symlinks,
                        &landing->arena, &set->blobs, err))
        return false;
    size_t members = set->blobs.check.member_count;
    if (landing->set_count > 1)
        printf("%s: ", start->id);
    printf("%zu file%s, %zu deleted\n", members, members == 1 ? "" : "s",
           set->blobs.count - members);
    return true;
}

static enum step load_all(struct landing *landing, struct err *err) {
    enum step step = STEP_GO_ON;
    for (size_t i = 0; i < landing->set_count && step == STEP_GO_ON; i++) {
        struct landing_set *set = &landing->sets[i];
        if (set->is_loaded || set->has_landed)
            continue;
        step = stop_if_asked(landing);
        if (step == STEP_GO_ON)
            step = step_of(load(landing, set, err));
        set->is_loaded = step == STEP_GO_ON;
    }
    return step;
}

/* If there are several sets, the verdict on one of them names it. */
static enum step finish_for(struct landing *landing,
                            const struct landing_set *set,
                            enum land_verdict verdict, const char *reason,
                            struct span why) {
    CLEANUP(text_clear) struct text text = TEXT_INIT;
    if (landing->set_count > 1)
        text_addf(&text, "%s: ", set->start->id);
    text_addspan(&text, why);
    return finish(landing, verdict, reason, text_span(&text));
}

static enum step merge(struct landing *landing, struct landing_set *set,
                       struct err *err) {
    landing->merge.start = set->start;
    landing->merge.set = &set->blobs;
    if (landing->set_count > 1)
        printf("merging %s\n", set->start->id);
    if (!merge_make(&landing->merge, err))
        return STEP_FAILED;
    struct span why = text_span(&landing->merge.why);
    /* What it conflicts with may be its own commit, behind old dates. */
    if (landing->merge.result != MERGE_CLEAN && !landing->looks_everywhere) {
        landing->looks_everywhere = true;
        return STEP_AGAIN;
    }
    if (landing->merge.result != MERGE_CLEAN && landing->start->tip != NULL)
        return finish_for(landing, set, LAND_CHANGED, "", why);
    if (landing->merge.result == MERGE_CONFLICT)
        return finish_for(landing, set, LAND_CONFLICT, "", why);
    if (landing->merge.result == MERGE_REFUSED)
        return finish_for(landing, set, LAND_FAILED, "policy", why);
    set->is_empty = strcmp(landing->merge.tree, landing->merge.tip_tree) == 0;
    if (set->is_empty)
        printf("the branch already contains all of it\n");
    return STEP_GO_ON;
}

static enum step compare(struct landing *landing,
                         const struct landing_set *set) {
    const char *tree = set->start->tree;
    return tree == NULL || strcmp(landing->merge.tree, tree) == 0
               ? STEP_GO_ON
               : finish_for(landing, set, LAND_CHANGED, "",
                            SPAN("the merge gives another tree than the one "
                                 "that was checked"));
}

static bool commit(struct landing *landing, struct landing_set *set,
                   struct err *err) {
    const struct land_start *start = set->start;
    const struct meta *meta = &set->blobs.check.meta;
    struct wall now = clock_wall();
    bool dated = meta->date.len > 0;
    if (!merge_shared_find(&landing->merge.shared, landing->git,
                           landing->merge.tip, err))
        return false;
    struct commit_draft draft = {
        .tree = landing->merge.tree,
        .parent = landing->merge.tip,
        .author =
            meta->author.len > 0 ? meta->author : span_of(start->submitter),
        .authored = dated ? meta->date_wall : now,
        .author_zone_min = dated ? commit_date_zone_min(meta->date) : 0,
        .committer = span_of(start->committer),
        .committed = now,
        .message = meta->message,
        .csid = span_of(start->id),
        .sum = span_of(start->sum),
        .class = span_of(start->class),
        .approved_by = start->approved_by,
        .approved_count = start->approved_count,
        .more = text_span(&landing->merge.shared.trailers)};
    CLEANUP(text_clear) struct text object = TEXT_INIT;
    commit_format(&draft, &object);
    return objects_apart_write(landing->git, "commit", text_span(&object),
                               set->oid, err);
}

static bool move_begin(struct landing *landing, struct err *err) {
    CLEANUP(text_clear) struct text message = TEXT_INIT;
    text_adds(&message, "pointsman: land");
    for (size_t i = 0; i < landing->set_count; i++)
        text_addf(&message, " %s", landing->sets[i].start->id);
    return landing->mover.message != NULL ||
           ref_move_begin(landing->git, landing->start->branch,
                          text_string(&message), &landing->mover, err);
}

static enum step move(struct landing *landing, struct err *err) {
    enum ref_moved moved;
    const char *oid = landing->head;
    if (!move_begin(landing, err) ||
        !ref_move(landing->git, &landing->mover, landing->work.parent,
                  landing->start->sync_later, landing->start->branch,
                  landing->tip, oid, &moved, err))
        return STEP_FAILED;
    if (moved == REF_STOPPED)
        return finish(landing, LAND_STOPPED, "", SPAN(""));
    if (moved == REF_LOST) {
        printf("%s has moved meanwhile\n", landing->start->branch);
        return STEP_AGAIN;
    }
    printf("%s is now %s\n", landing->start->branch, oid);
    const char *parent = landing->tip;
    for (size_t i = 0; i < landing->set_count; i++) {
        const struct landing_set *set = &landing->sets[i];
        if (set->has_landed)
            continue;
        history_known_add(&landing->session->known, parent, set->oid,
                          span_of(set->start->id), span_of(set->start->sum));
        parent = set->oid;
    }
    if (landing->tip[0] == '\0') {
        struct err unnoted = {0};
        memcpy(landing->tip, oid, OID_BYTES);
        /* The set has landed; the next landing writes the note. */
        if (!branch_remember(landing, &unnoted))
            printf("%s\n", unnoted.text);
    }
    return finish_landed(landing, LAND_DONE, oid);
}

/* Makes a commit of each set that is not on the branch yet, on top of each
 * other. */
static enum step merge_all(struct landing *landing, struct err *err) {
    enum step step = STEP_GO_ON;
    for (size_t i = 0; i < landing->set_count && step == STEP_GO_ON; i++) {
        struct landing_set *set = &landing->sets[i];
        struct merge *merging = &landing->merge;
        if (set->has_landed)
            memcpy(merging->tree, merging->tip_tree, OID_BYTES);
        step = set->has_landed ? STEP_GO_ON : merge(landing, set, err);
        if (step == STEP_GO_ON)
            step = compare(landing, set);
        if (step == STEP_GO_ON)
            step = stop_if_asked(landing);
        if (step != STEP_GO_ON || set->has_landed)
            continue;
        step = step_of(commit(landing, set, err));
        landing->head = set->oid;
        memcpy(merging->tip, set->oid, OID_BYTES);
        memcpy(merging->tip_tree, merging->tree, OID_BYTES);
    }
    return step;
}

/* One try, from reading the branch to moving it. */
static enum step try_once(struct landing *landing, struct err *err) {
    enum step step = load_all(landing, err);
    if (step != STEP_GO_ON)
        return step;
    printf("branch %s is at %s\n", landing->start->branch,
           landing->tip[0] != '\0' ? landing->tip
                                   : "nothing: this set creates it");
    step = merge_all(landing, err);
    return step == STEP_GO_ON ? move(landing, err) : step;
}

/* Only the caller can know what to land on another commit than the one it
 * expected. */
static bool is_expected(const struct landing *landing) {
    const char *tip = landing->start->tip;
    return tip == NULL ||
           strcmp(tip, landing->tip[0] != '\0' ? landing->tip : "none") == 0;
}

static enum step finish_moved(struct landing *landing) {
    return finish(landing, LAND_MOVED, "", span_of(landing->tip));
}

static enum step try_on(struct landing *landing, struct err *err) {
    bool looked = landing->looks_everywhere;
    enum step step = try_once(landing, err);
    if (step == STEP_AGAIN && landing->looks_everywhere != looked) {
        step = probe(landing, err);
        if (step == STEP_GO_ON)
            step = is_expected(landing) ? try_once(landing, err) : STEP_AGAIN;
    }
    if (step == STEP_AGAIN && landing->start->tip != NULL)
        return finish_moved(landing);
    for (int i = 1; i < TRIES && step == STEP_AGAIN; i++) {
        step = probe(landing, err);
        if (step == STEP_GO_ON)
            step = try_once(landing, err);
    }
    return step != STEP_AGAIN ? step
                              : finish(landing, LAND_TEMPORARY, "",
                                       SPAN("others keep moving the branch"));
}

/* Before the set is read, a failure cannot be its fault. */
static enum step blame_target(enum step step, struct err *err) {
    if (step == STEP_FAILED &&
        (err->kind == ERR_CANNOT || err->kind == ERR_TEMPORARY ||
         err->kind == ERR_DENIED))
        err->kind = ERR_UNAVAILABLE;
    return step;
}

static enum step land_on_git(struct landing *landing, struct err *err) {
    const struct land_start *start = landing->start;
    struct land_session *session = landing->session;
    if (!land_session_open(session, start->git, start->work, landing->stop,
                           err))
        return blame_target(STEP_FAILED, err);
    landing->git = &session->git;
    landing->merge = (struct merge){
        .git = landing->git,
        .start = start,
        .trees = {.git = landing->git, .objects = session->objects},
        .known = &session->known};
    session->objects = (struct git_pipe){0};
    /* A set that has landed may have left locks behind; but that it has landed
     * is reported first, even if the locks cannot be removed. */
    struct err locked = {0};
    bool free_to_move = ref_unlock_stale(landing->git, landing->work.parent,
                                         start->branch, &locked);
    enum step step = probe(landing, err);
    if (step == STEP_GO_ON)
        step = step_of(ref_is_free(landing->git, start->branch, err));
    if (step == STEP_GO_ON && !free_to_move) {
        *err = locked;
        step = STEP_FAILED;
    }
    if (step == STEP_GO_ON)
        step = step_of(objects_apart_may_publish(landing->git, err));
    /* It starts while the sets are read. */
    if (step == STEP_GO_ON)
        step = step_of(move_begin(landing, err));
    step = blame_target(step, err);
    if (step == STEP_GO_ON && !is_expected(landing))
        step = finish_moved(landing);
    return step == STEP_GO_ON ? try_on(landing, err) : step;
}

static enum step land_by_command(struct landing *landing, struct err *err) {
    CLEANUP(fd_close) int fd = -1;
    /* Only the command itself could know. */
    if (landing->start->probe)
        return finish(landing, LAND_NOT_LANDED, "", SPAN(""));
    return tarball_open(landing->start, &fd, err) &&
                   target_command_run(landing->start, fd, landing->stop,
                                      landing->status, err)
               ? STEP_FINISHED
               : STEP_FAILED;
}

static enum step land_in(struct landing *landing, struct err *err) {
    if (!land_work_open(&landing->work, landing->start->work, err))
        return STEP_FAILED;
    if (landing->start->environment != NULL)
        return target_environment_run(landing->start, landing->stop,
                                      landing->status, err)
                   ? STEP_FINISHED
                   : STEP_FAILED;
    if (landing->start->merge || landing->start->check != NULL)
        return land_candidate(landing->start, landing->session, landing->stop,
                              landing->status, err)
                   ? STEP_FINISHED
                   : STEP_FAILED;
    return landing->start->command != NULL ? land_by_command(landing, err)
                                           : land_on_git(landing, err);
}

static void sets_open(struct landing *landing) {
    const struct land_start *first = landing->start;
    landing->set_count = 1 + first->other_count;
    landing->sets = mem_alloc(landing->set_count * sizeof *landing->sets);
    for (size_t i = 0; i < landing->set_count; i++) {
        struct landing_set *set = &landing->sets[i];
        set->start = i == 0 ? first : &first->others[i - 1];
        if (!first->merge && first->check == NULL && first->environment == NULL)
            printf("landing %s (%s) on %s\n", set->start->id, set->start->class,
                   first->target);
    }
}

/* Gives back to the session what it may keep. */
static void session_end(struct landing *landing, bool ok) {
    if (landing->git != NULL) {
        landing->session->objects = landing->merge.trees.objects;
        landing->merge.trees.objects = (struct git_pipe){0};
    }
    land_session_end(landing->session, ok);
}

void land_run(const struct land_start *start, struct land_session *session,
              struct child_stop *stop, struct land_status *ret_status) {
    struct landing landing = {.start = start,
                              .session = session,
                              .stop = stop,
                              .status = ret_status,
                              .looks_everywhere = start->probe};
    struct err err = {0};
    sets_open(&landing);
    enum step step = land_in(&landing, &err);
    assert(step == STEP_FINISHED || step == STEP_FAILED);
    ref_move_drop(&landing.mover);
    session_end(&landing,
                step == STEP_FINISHED && (ret_status->verdict == LAND_DONE ||
                                          ret_status->verdict == LAND_MERGED));
    land_work_close(&landing.work);
    if (step == STEP_FAILED)
        land_status_of_error(ret_status, &err, child_stop_requested(stop) != 0);
    merge_clear(&landing.merge);
    free(landing.sets);
    arena_clear(&landing.arena);
}
