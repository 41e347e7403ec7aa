#include "landing/revert.h"

#include <stdlib.h>
#include <string.h>

#include "os/clock.h"
#include "landing/history.h"
#include "landing/objects_apart.h"
#include "landing/ref_move.h"
#include "landing/revert_parts.h"
#include "landing/tip.h"

/* TRIES: after this many tries a branch that others keep moving is left alone
 * for a while. A rollback as a whole may take TIME_S (doc/design/rollback.md,
 * R7). */
enum { TRIES = 5, TIME_S = 600 };

struct revert_step *revert_step_add(struct revert_steps *steps,
                                    const struct revert_member *member,
                                    enum revert_result result, const char *of) {
    if (steps->count == steps->cap) {
        steps->cap = steps->cap > 0 ? 2 * steps->cap : 16;
        steps->p = mem_grow(steps->p, steps->cap, sizeof *steps->p);
    }
    struct revert_step *step = &steps->p[steps->count++];
    *step = (struct revert_step){.member = member, .result = result};
    snprintf(step->of, OID_BYTES, "%s", of);
    return step;
}

static void steps_clear(struct revert_steps *steps) {
    free(steps->p);
    *steps = (struct revert_steps){0};
}

bool revert_finish(struct reverting *reverting, enum land_verdict verdict,
                   const char *reason, struct span text) {
    land_status_set(reverting->status, verdict, reason, text);
    reverting->finished = true;
    return false;
}

static bool asked(const struct reverting *reverting) {
    return reverting->stop != NULL &&
           child_stop_requested(reverting->stop) != 0;
}

bool revert_go_on(struct reverting *reverting) {
    int64_t limit_s =
        reverting->start->timeout_s > 0 ? reverting->start->timeout_s : TIME_S;
    char text[80];
    if (asked(reverting))
        return revert_finish(reverting, LAND_STOPPED, "", SPAN(""));
    if (mono_ms_since(clock_mono(), reverting->begun) < limit_s * 1000)
        return true;
    snprintf(text, sizeof text, "it took longer than %lld s",
             (long long)limit_s);
    return revert_finish(reverting, LAND_TEMPORARY, "", span_of(text));
}

static bool read_tip(struct reverting *reverting, struct err *err) {
    if (!tip_read(&reverting->trees.objects, reverting->start->branch,
                  reverting->tip, reverting->tip_tree, err))
        return false;
    memcpy(reverting->at, reverting->tip, OID_BYTES);
    memcpy(reverting->at_tree, reverting->tip_tree, OID_BYTES);
    return true;
}

/* Its members landed there, so it was there. */
static bool has_branch(const struct reverting *reverting, struct err *err) {
    return reverting->tip[0] != '\0' ||
           err_set(err, ERR_UNAVAILABLE,
                   "no branch '%s' in the repository '%s'",
                   reverting->start->branch, reverting->git.dir);
}

/* Checks whether this rollback is on the branch. */
static bool probe(struct reverting *reverting, struct err *err) {
    const struct revert_start *start = reverting->start;
    char oid[OID_BYTES] = "";
    if (!read_tip(reverting, err))
        return false;
    if (!start->preview && reverting->tip[0] != '\0' &&
        !history_find_set(&reverting->git, reverting->tip, span_of(start->id),
                          span_of(start->sum),
                          start->probe ? HISTORY_ALL : start->admitted, oid,
                          err))
        return false;
    /* Otherwise a rollback whose content is lost would count as done. */
    if (oid[0] != '\0' && !tip_verify(&reverting->git, oid, TIP_CHANGE, err))
        return false;
    if (oid[0] != '\0')
        return revert_finish(reverting,
                             start->probe ? LAND_LANDED : LAND_ALREADY, "",
                             span_of(oid));
    return !start->probe ||
           (has_branch(reverting, err) &&
            revert_finish(reverting, LAND_NOT_LANDED, "", SPAN("")));
}

static bool chain_make(struct reverting *reverting, struct err *err) {
    if (!has_branch(reverting, err))
        return false;
    fprintf(reverting->account, "branch %s is at %s\n",
            reverting->start->branch, reverting->tip);
    text_reset(&reverting->note);
    if (!revert_find(reverting, err) ||
        !revert_replay_make(reverting, &reverting->replay, err))
        return false;
    for (size_t i = 0; i < reverting->steps->count; i++) {
        if (reverting->steps->p[i].of[0] == '\0')
            continue;
        if (!revert_go_on(reverting) || !revert_one(reverting, i, err))
            return false;
    }
    return true;
}

/* "COMMIT NOTE" */
static bool finish_done(struct reverting *reverting) {
    CLEANUP(text_clear) struct text text = TEXT_INIT;
    text_adds(&text, reverting->at);
    if (reverting->note.len > 0)
        text_addf(&text, " %s", text_string(&reverting->note));
    return revert_finish(reverting, LAND_DONE, "", text_span(&text));
}

/* *ret_lost: the branch was moved, start again. */
static bool move(struct reverting *reverting, bool *ret_lost, struct err *err) {
    const struct revert_start *start = reverting->start;
    enum ref_moved moved;
    CLEANUP(text_clear) struct text message = TEXT_INIT;
    if (strcmp(reverting->at, reverting->tip) == 0)
        return revert_finish(reverting, LAND_DONE, "", SPAN(""));
    if (start->preview)
        return finish_done(reverting);
    text_addf(&message, "pointsman: roll back by %s", start->id);
    CLEANUP(ref_move_drop) struct ref_mover mover = {0};
    if (!ref_move_begin(&reverting->git, start->branch, text_string(&message),
                        &mover, err) ||
        !ref_move(&reverting->git, &mover, reverting->work.parent, false,
                  start->branch, reverting->tip, reverting->at, &moved, err))
        return false;
    *ret_lost = moved == REF_LOST;
    if (moved == REF_STOPPED)
        return revert_finish(reverting, LAND_STOPPED, "", SPAN(""));
    if (moved == REF_LOST)
        fprintf(reverting->account, "somebody moved %s meanwhile\n",
                start->branch);
    return moved == REF_LOST || finish_done(reverting);
}

static bool try_all(struct reverting *reverting, struct err *err) {
    for (int i = 0; i < TRIES; i++) {
        bool lost = false;
        if (i > 0 && !probe(reverting, err))
            return false;
        if (!chain_make(reverting, err) || !revert_go_on(reverting) ||
            !move(reverting, &lost, err))
            return false;
    }
    return revert_finish(reverting, LAND_TEMPORARY, "",
                         SPAN("others keep moving the branch"));
}

static bool revert_on_git(struct reverting *reverting, struct err *err) {
    const struct revert_start *start = reverting->start;
    struct err locked = {0};
    if (!git_open(start->git, start->work, reverting->stop, &reverting->git,
                  err) ||
        !objects_apart_open(&reverting->git, "objects", err) ||
        !trees_open(&reverting->git, &reverting->trees, err))
        return false;
    /* As in land.c: that the rollback has happened is reported first, even if
     * locks cannot be removed. */
    bool free_to_move =
        start->preview ||
        ref_unlock_stale(&reverting->git, reverting->work.parent, start->branch,
                         &locked);
    if (!probe(reverting, err) ||
        !ref_is_free(&reverting->git, start->branch, err))
        return false;
    if (!free_to_move) {
        *err = locked;
        return false;
    }
    /* A preview adds nothing to the repository and needs no write permission.
     */
    if (!start->preview && !objects_apart_may_publish(&reverting->git, err))
        return false;
    return revert_go_on(reverting) && try_all(reverting, err);
}

void revert_run(const struct revert_start *start, struct child_stop *stop,
                struct land_status *ret_status) {
    CLEANUP(steps_clear) struct revert_steps steps = {0};
    struct reverting reverting = {
        .start = start,
        .stop = stop,
        .status = ret_status,
        .steps = &steps,
        .account = start->account != NULL ? start->account : stdout,
        .begun = clock_mono()};
    struct err err = {0};
    if (land_work_open(&reverting.work, start->work, &err))
        (void)(start->command != NULL ? revert_by_command(&reverting, &err)
                                      : revert_on_git(&reverting, &err));
    revert_replay_clear(&reverting.replay);
    text_clear(&reverting.note);
    trees_drop(&reverting.trees);
    git_close(&reverting.git);
    land_work_close(&reverting.work);
    if (!reverting.finished)
        land_status_of_error(ret_status, &err, asked(&reverting));
}
