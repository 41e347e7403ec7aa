#include <stdlib.h>

#include "os/fd.h"
#include "changes/projection_parts.h"
#include "changes/prune.h"

/* Starts a projection: with the sets that are not over, with what a crash left
 * behind, or with everything. */

enum { EVENTS_AT_ONCE = 1000 };

static bool is_archived(struct projection *projection, const struct job *job) {
    CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
    return job_state_is_final(job->state) &&
           prune_has(projection->base, arena_string(&arena, job->name));
}

enum load_what { LOAD_MARKS, LOAD_STALE, LOAD_REMAKE };

static void load_one(struct projection *projection, const struct job *job,
                     enum load_what what) {
    if (what == LOAD_REMAKE && is_archived(projection, job))
        return;
    struct mark *mark = projection_mark_new(projection, job->num);
    mark->from |= STATE_BIT(job->state);
    mark->look |= what == LOAD_STALE;
    mark->remake |= what == LOAD_REMAKE;
    mark->fresh |= what == LOAD_REMAKE;
    if (what != LOAD_MARKS)
        projection_mark_dirty(projection, mark);
}

struct loading {
    struct projection *projection;
    enum load_what what;
};

static bool load_visit(void *ctx, const struct job *job, struct err *err) {
    const struct loading *loading = ctx;
    (void)err;
    load_one(loading->projection, job, loading->what);
    return true;
}

static bool load(struct projection *projection, unsigned states,
                 enum load_what what, struct err *err) {
    struct loading loading = {projection, what};
    struct store_list list = {
        .states = states,
        .kinds = job_kinds_with(JOB_HAS_FILE),
        .stale_only = what == LOAD_STALE,
    };
    return store_jobs_each(projection->base->store, &list, load_visit, &loading,
                           err);
}

bool projection_load_stale(struct projection *projection, struct err *err) {
    return load(projection, STATES_ALL, LOAD_STALE, err);
}

struct projection *projection_of_some(struct base *base) {
    struct projection *projection = mem_alloc(sizeof(*projection));
    projection->base = base;
    projection->of_some = true;
    list_init(&projection->dirty);
    projection->safe_seq = projection_safe_seq(base);
    store_listen(base->store, projection_on_event, projection);
    return projection;
}

bool projection_open(struct base *base, struct projection **ret_projection,
                     struct err *err) {
    struct projection *projection = projection_of_some(base);
    projection->of_some = false;
    if (!load(projection, STATES_LIVE | STATE_BIT(STATE_ABANDONED), LOAD_MARKS,
              err)) {
        projection_close(projection);
        return false;
    }
    *ret_projection = projection;
    return true;
}

void projection_close(struct projection *projection) {
    size_t cursor = 0;
    struct span key;
    void *mark;
    if (!projection)
        return;
    store_unlisten(projection->base->store, projection_on_event, projection);
    store_batch_free(projection->placed); /* the sets stay stale */
    (void)projection_wait(projection, NULL);
    while (map_next(&projection->marks, &cursor, &key, &mark))
        free(mark);
    map_clear(&projection->marks);
    projection_forget_dirs(projection);
    free(projection);
}

/* Events after the last safe one may be missing from files and logs. */
static void mark_live(struct projection *projection) {
    size_t cursor = 0;
    struct span key;
    void *value;
    while (map_next(&projection->marks, &cursor, &key, &value)) {
        struct mark *mark = value;
        mark->look = true;
        projection_mark_dirty(projection, mark);
    }
}

/* Sets that are over have no mark, and a remark about one of them (a late
 * approval, a move by hand that was undone) does not make it stale. */
static bool mark_remarks(struct projection *projection, struct err *err) {
    CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
    uint64_t after = projection->safe_seq;
    struct store_event *events;
    size_t count;
    do {
        arena_clear(&arena);
        if (!store_events(projection->base->store, after, 0, EVENTS_AT_ONCE,
                          &arena, &events, &count, err))
            return false;
        for (size_t i = 0; i < count; i++) {
            after = events[i].seq;
            if (!map_get(&projection->marks, map_num_key(&events[i].num)))
                projection_on_event(projection, &events[i]);
        }
    } while (count == EVENTS_AT_ONCE);
    return true;
}

bool projection_recover(struct projection *projection, struct wall now,
                        struct err *err) {
    CLEANUP(fd_close) int lock = -1;
    projection->now = now;
    if (!projection_lock(projection, &lock, err) ||
        !projection_load_stale(projection, err))
        return false;
    if (projection->safe_seq < store_seq(projection->base->store)) {
        mark_live(projection);
        if (!mark_remarks(projection, err))
            return false;
    }
    if (!projection_pass_locked(projection, err))
        return false;
    fd_close(&lock);
    return projection_reconcile(projection, now, err);
}

bool projection_remake(struct projection *projection, struct wall now,
                       struct err *err) {
    return load(projection, STATES_ALL, LOAD_REMAKE, err) &&
           projection_finish(projection, now, err);
}

static bool load_stale(struct projection *projection, struct err *err) {
    CLEANUP(fd_close) int lock = -1;
    return projection_lock(projection, &lock, err) &&
           projection_load_stale(projection, err);
}

bool projection_catch_up(struct base *base, struct wall now, struct err *err) {
    CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
    struct store_list any = {
        .kinds = job_kinds_with(JOB_HAS_FILE), .stale_only = true, .limit = 1};
    struct job *jobs;
    size_t count;
    if (!store_jobs(base->store, &any, &arena, &jobs, &count, err))
        return false;
    if (count == 0)
        return true;
    struct projection *projection = projection_of_some(base);
    bool ok =
        load_stale(projection, err) && projection_finish(projection, now, err);
    projection_close(projection);
    return ok;
}
