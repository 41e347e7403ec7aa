#include "maintenance/restored.h"

#include <stdio.h>
#include <unistd.h>

#include "core/reason.h"
#include "scheduler/scheduler_recover.h"

enum { JOBS_AT_ONCE = 1000 };

typedef bool change_job(struct store *store, const struct job *job,
                        struct wall now, struct store_batch *batch,
                        struct err *err);

/* Changes all live jobs, in transactions of some of them. */
static bool change_all(struct base *base, struct store_list list,
                       change_job *change, struct wall now, const char *actor,
                       uint64_t *ret_count, struct err *err) {
    size_t count = JOBS_AT_ONCE;
    list.limit = JOBS_AT_ONCE;
    while (count == JOBS_AT_ONCE) {
        CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
        struct job *jobs;
        if (!store_jobs(base->store, &list, &arena, &jobs, &count, err))
            return false;
        struct store_batch *batch = store_batch_new(base->store);
        store_batch_actor(batch, now, span_of(actor));
        bool ok = true;
        unsigned before = store_batch_count(batch);
        for (size_t i = 0; ok && i < count; i++) {
            list.after_num = jobs[i].num;
            ok = change(base->store, &jobs[i], now, batch, err);
            *ret_count += store_batch_count(batch) > before;
            before = store_batch_count(batch);
        }
        ok = ok && (before == 0 || store_write(batch, err));
        store_batch_free(batch);
        if (!ok)
            return false;
    }
    return true;
}

static bool write_mark(struct base *base, struct wall now, const char *actor,
                       struct span value, struct err *err) {
    struct store_batch *batch = store_batch_new(base->store);
    store_batch_actor(batch, now, span_of(actor));
    store_set(batch, SPAN(BASE_RESTORED), value);
    bool ok = store_write(batch, err);
    store_batch_free(batch);
    return ok;
}

/* ---- holding ------------------------------------------------------------- */

static bool hold(struct store *store, const struct job *job, struct wall now,
                 struct store_batch *batch, struct err *err) {
    bool executes = job->state == STATE_EXECUTING;
    bool once = executes && job_has(job, JOB_HAS_EXIT_CODE) &&
                (job->flags & JOB_AT_MOST_ONCE);
    if (executes && !scheduler_recover_job(store, job, once, now, batch, err))
        return false;
    if (!(once && job->tasks <= 1) && !(executes && job->cancel_asked))
        store_hold(batch, job->num, HOLD_RESTORED, SPAN(BASE_RESTORED));
    return true;
}

bool restored_hold(struct base *base, struct wall now, struct err *err) {
    static const char actor[] = "daemon:restore";
    struct store_list live = {.states = STATES_LIVE};
    char since[WALL_TEXT_BYTES];
    uint64_t count = 0;
    return write_mark(base, now, actor, span_of(wall_format(now, since)),
                      err) &&
           change_all(base, live, hold, now, actor, &count, err);
}

/* ---- resuming ------------------------------------------------------------ */

static bool release(struct store *store, const struct job *job, struct wall now,
                    struct store_batch *batch, struct err *err) {
    (void)store;
    (void)now;
    (void)err;
    if (job->holds & HOLD_RESTORED)
        store_release(batch, job->num, HOLD_RESTORED, SPAN("resumed"));
    return true;
}

/* Whoever is interrupted before the mark is gone repeats the command. Until
 * then a server may have admitted sets with the hold, so it is looked for
 * again. */
bool restored_resume(struct base *base, struct wall now, uint64_t *ret_count,
                     struct err *err) {
    CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
    struct store_list live = {.states = STATES_LIVE};
    struct span since;
    char actor[32];
    *ret_count = 0;
    snprintf(actor, sizeof(actor), "uid:%ld", (long)getuid());
    if (!base_restored(base, &arena, &since, err))
        return false;
    if (since.len == 0)
        return err_set(err, ERR_REFUSED,
                       "base '%s' does not wait to be resumed after a restore",
                       base->path);
    return change_all(base, live, release, now, actor, ret_count, err) &&
           write_mark(base, now, actor, (struct span){0}, err) &&
           change_all(base, live, release, now, actor, ret_count, err);
}
