#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "lib/log.h"
#include "core/reason.h"
#include "os/clock.h"
#include "os/dir.h"
#include "changes/projection_parts.h"
#include "wire/set_name.h"

/* Job files moved by hand. The registry knows where each belongs; a pass was
 * made just before under the same lock, so a file in the wrong place now was
 * put there by hand. */

/* ---- which directories to look at ------------------------------------ */

enum { TICK_NS = 20 * 1000 * 1000 };

static bool has_changed(const struct projection *projection, int state) {
    struct stat st;
    const struct dir_seen *seen = &projection->seen[state];
    return !seen->sure || fstat(projection->base->dirs[state], &st) < 0 ||
           st.st_mtim.tv_sec != seen->at.tv_sec ||
           st.st_mtim.tv_nsec != seen->at.tv_nsec;
}

/* Changes by others before ours have not been examined yet. */
void projection_doubt_dirs(struct projection *projection) {
    for (int state = 0; state < JOB_STATES; state++)
        projection->seen[state].doubt = has_changed(projection, state);
}

/* A change in the same tick of the kernel's clock as our own would not show in
 * the directory's mtime. */
void projection_remember_dirs(struct projection *projection) {
    struct wall now = clock_wall();
    for (int state = 0; state < JOB_STATES; state++) {
        struct stat st;
        struct dir_seen *seen = &projection->seen[state];
        bool doubt = seen->doubt;
        *seen = (struct dir_seen){0};
        if (doubt || fstat(projection->base->dirs[state], &st) < 0)
            continue;
        seen->at = st.st_mtim;
        int64_t at = st.st_mtim.tv_sec * NS_PER_S + st.st_mtim.tv_nsec;
        seen->sure = now.ns - at > TICK_NS;
    }
}

void projection_forget_dirs(struct projection *projection) {
    map_clear(&projection->unknown_files);
}

/* ---- one file in the wrong place ------------------------------------- */

static bool cancel_by_hand(struct projection *projection, const struct job *job,
                           const struct stat *st, struct err *err) {
    char actor[32];
    snprintf(actor, sizeof(actor), "fs:%ld", (long)st->st_uid);
    struct store_batch *batch = store_batch_new(projection->base->store);
    store_batch_actor(batch, projection->now, span_of(actor));
    store_move(batch, &(struct store_move){
                          .num = job->num,
                          .from = job->state,
                          .to = STATE_TERMINATED,
                          .reason = SPAN(REASON_OPERATOR),
                          .detail = SPAN("its job file was moved to term/"),
                      });
    bool ok = store_write(batch, err);
    store_batch_free(batch);
    if (ok)
        log_info("set '%.*s' is cancelled: its job file was moved to term/ by "
                 "hand job=%.*s",
                 (int)job->id.len, job->id.p, (int)job->id.len, job->id.p);
    return ok;
}

static bool undo(struct projection *projection, const struct job *job,
                 const char *name, enum job_state found, struct err *err) {
    enum placed placed;
    char detail[128];
    if (!placement_move(projection->base, name, job->state, STATES_ALL, &placed,
                        err))
        return false;
    snprintf(detail, sizeof(detail), "moved by hand from %s/ to %s/; undone",
             job_state_dir(job->state), job_state_dir(found));
    log_warning("job file of set '%.*s' was %s job=%.*s", (int)job->id.len,
                job->id.p, detail, (int)job->id.len, job->id.p);
    projection_note(projection, EVENT_ILLEGAL_MOVE, job, SPAN("illegal-move"),
                    span_of(detail));
    return true;
}

/* The file is not ours to move: it may be all that is left of a set whose
 * registry was restored from an older backup. */
static void report_unknown_file(struct projection *projection, const char *name,
                                enum job_state found) {
    if (map_put(&projection->unknown_files, span_of(name), projection))
        return;
    log_warning(
        "'%s' in %s/ is the job file of an unknown set; it is left where it is",
        name, job_state_dir(found));
}

static bool look_at(struct projection *projection, struct span entry,
                    enum job_state found, struct err *err) {
    CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
    struct base *base = projection->base;
    const char *file = arena_string(&arena, entry);
    struct set_name name;
    struct refusal why;
    struct placement where;
    struct job job;
    bool known = false;
    if (set_name_parse(entry, &name, &why) &&
        !store_lookup(base->store, name.csid, &arena, &job, &known, err))
        return false;
    if (!known || !span_equal(job.name, entry)) {
        report_unknown_file(projection, file, found);
        return true;
    }
    if (job.stale || job.state == found)
        return true;
    if (!placement_find(base, file, &where, err))
        return false;
    bool only = where.dirs == STATE_BIT(STATE_TERMINATED);
    if (only && (STATE_BIT(job.state) & STATES_WAITING))
        return cancel_by_hand(projection, &job, &where.st[found], err);
    return undo(projection, &job, file, found, err);
}

static bool look_through(struct projection *projection, enum job_state state,
                         struct err *err) {
    CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
    struct span *names;
    size_t count;
    if (!dir_list(projection->base->dirs[state], &arena, &names, &count, err))
        return false;
    for (size_t i = 0; i < count; i++)
        if (!look_at(projection, names[i], state, err))
            return false;
    return true;
}

/* ---- missing files --------------------------------------------------- */

static bool look_for(struct projection *projection, uint64_t num,
                     struct err *err) {
    CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
    struct base *base = projection->base;
    struct stat st;
    struct job job;
    bool there;
    if (!store_job(base->store, num, &arena, &job, err) ||
        !dir_stat(base->dirs[job.state], arena_string(&arena, job.name), &st,
                  &there, err))
        return false;
    if (!there && !job.stale)
        projection_look_again(projection, num);
    return true;
}

static bool look_for_lost(struct projection *projection, struct err *err) {
    size_t cursor = 0;
    struct span key;
    void *mark;
    while (map_next(&projection->marks, &cursor, &key, &mark))
        if (!look_for(projection, ((struct mark *)mark)->num, err))
            return false;
    return true;
}

bool projection_reconcile(struct projection *projection, struct wall now,
                          struct err *err) {
    CLEANUP(fd_close) int lock = -1;
    bool changed[JOB_STATES], any = false;
    projection->now = now;
    if (!projection_lock(projection, &lock, err) ||
        !projection_pass_locked(projection, err))
        return false;
    for (int state = 0; state < JOB_STATES; state++)
        any |= changed[state] = has_changed(projection, state);
    if (!any)
        return true;
    for (int state = 0; state < JOB_STATES; state++)
        if (changed[state] && !look_through(projection, state, err))
            return false;
    if (!look_for_lost(projection, err) ||
        !projection_pass_locked(projection, err))
        return false;
    for (int state = 0; state < JOB_STATES; state++)
        projection->seen[state].doubt = false;
    projection_remember_dirs(projection);
    return true;
}
