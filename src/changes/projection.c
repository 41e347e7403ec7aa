#include "changes/projection.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "lib/list.h"
#include "lib/log.h"
#include "lib/map.h"
#include "os/clock.h"
#include "os/dir.h"
#include "os/lock.h"
#include "changes/projection_parts.h"
#include "changes/prune.h"
#include "changes/set_log.h"
#include "changes/set_record.h"

/* One mark per set that is not over: it distinguishes events of changes from
 * those of commands without a query to the registry, and remembers what is to
 * be done. */

enum { EVENTS_AT_ONCE = 1000 };

static struct mark *find_mark(struct projection *projection, uint64_t num) {
    return map_get(&projection->marks, map_num_key(&num));
}

struct mark *projection_mark_new(struct projection *projection, uint64_t num) {
    struct mark *mark = find_mark(projection, num);
    if (mark)
        return mark;
    mark = mem_alloc(sizeof(*mark));
    mark->num = num;
    list_init(&mark->link);
    map_put(&projection->marks, map_num_key(&num), mark);
    return mark;
}

static void mark_free(struct projection *projection, struct mark *mark) {
    map_remove(&projection->marks, map_num_key(&mark->num));
    list_remove(&mark->link);
    free(mark);
}

void projection_mark_dirty(struct projection *projection, struct mark *mark) {
    if (list_empty(&mark->link))
        list_push(&projection->dirty, &mark->link);
}

void projection_look_again(struct projection *projection, uint64_t num) {
    struct mark *mark = find_mark(projection, num);
    if (mark)
        projection_mark_dirty(projection, mark);
}

/* ---- what events ask for --------------------------------------------- */

/* Sets that waited for a set which left before it ran inherit what it waited
 * for (O6). That changes their record without an event of its own, and a
 * rebuilt registry can learn it only from the job files. */
static bool may_have_spliced(const struct store_event *event) {
    return event->kind == EVENT_MOVE && job_state_is_final(event->to) &&
           (STATE_BIT(event->from) & STATES_WAITING);
}

static void note_event(struct projection *projection, struct mark *mark,
                       const struct store_event *event) {
    projection_mark_dirty(projection, mark);
    mark->from |= STATE_BIT(event->from) | STATE_BIT(event->to);
    mark->rewrite |= event->kind == EVENT_RECORD;
    mark->released |= event->kind == EVENT_RELEASE;
    mark->spliced |= may_have_spliced(event);
    if (event->kind == EVENT_MOVE && event->from == STATE_NONE)
        mark->fresh = true;
}

static bool is_admission(const struct store_event *event) {
    return event->kind == EVENT_MOVE && event->from == STATE_NONE;
}

static bool has_file(struct projection *projection,
                     const struct store_event *event) {
    CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
    struct job job;
    if (event->job)
        return job_has(event->job, JOB_HAS_FILE);
    return store_job(projection->base->store, event->num, &arena, &job, NULL) &&
           job_has(&job, JOB_HAS_FILE);
}

/* Only these concern sets without a mark: a first step, or an event that
 * belongs in the log even of a set that is over. */
void projection_on_event(void *ctx, const struct store_event *event) {
    struct projection *projection = ctx;
    if (event->num == 0)
        return;
    struct mark *mark = find_mark(projection, event->num);
    if (!mark &&
        (is_admission(event) ||
         job_event_kind_has(event->kind, EVENT_IN_LOG)) &&
        has_file(projection, event))
        mark = projection_mark_new(projection, event->num);
    if (mark)
        note_event(projection, mark, event);
}

/* ---- ctrl/projected -------------------------------------------------- */

uint64_t projection_safe_seq(const struct base *base) {
    CLEANUP(text_clear) struct text text = TEXT_INIT;
    uint64_t seq;
    if (!dir_read(base->dirs[BASE_CTRL], "projected", 64, &text, NULL) ||
        !span_u64(span_trim(text_span(&text)), &seq))
        return 0;
    return seq;
}

bool projection_set_safe_seq(const struct base *base, uint64_t seq,
                             struct err *err) {
    char line[32];
    int len = snprintf(line, sizeof(line), "%" PRIu64 "\n", seq);
    return dir_write(base->dirs[BASE_TMP], base->dirs[BASE_CTRL], "projected",
                     span_make(line, (size_t)len), 0600, DIR_LAZY, err);
}

/* ---- one set --------------------------------------------------------- */

static bool write_job_file(struct projection *projection, const struct job *job,
                           enum job_state state, struct err *err) {
    CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
    CLEANUP(text_clear) struct text text = TEXT_INIT;
    CLEANUP(fd_close) int fd = -1;
    struct base *base = projection->base;
    const char *name = arena_string(&arena, job->name);
    if (!set_record_job_file(base->store, job, &arena, &text, err))
        return false;
    return dir_write(base->dirs[BASE_TMP], base->dirs[state], name,
                     text_span(&text), 0600, DIR_LAZY, err) &&
           dir_open_file(base->dirs[state], name, O_RDONLY, 0, &fd, err) &&
           base_give_file(base, fd, err);
}

static bool is_over(const struct job *job) {
    return job_state_is_final(job->state) && job->state != STATE_ABANDONED;
}

static void alarm_rebuilt(struct projection *projection,
                          const struct job *job) {
    log_error("job file of set '%.*s' was missing and is recreated job=%.*s",
              (int)job->id.len, job->id.p, (int)job->id.len, job->id.p);
    projection_note(projection, EVENT_ALARM, job, SPAN("file-lost"),
                    SPAN("the job file was in no directory and is recreated"));
}

/* Adds the directories where it may have been: those named by the events since
 * it was last known to be right, and where it was then. */
static bool add_past(struct projection *projection, const struct job *job,
                     struct mark *mark, struct err *err) {
    CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
    struct store_event *events;
    size_t count;
    uint64_t after = 0;
    do {
        if (!store_events(projection->base->store, after, job->num,
                          EVENTS_AT_ONCE, &arena, &events, &count, err))
            return false;
        for (size_t i = 0; i < count; i++) {
            after = events[i].seq;
            if (events[i].kind != EVENT_MOVE)
                continue;
            if (events[i].seq <= projection->safe_seq) {
                mark->from = STATE_BIT(events[i].to);
                continue;
            }
            mark->from |= STATE_BIT(events[i].from) | STATE_BIT(events[i].to);
            mark->fresh |= events[i].from == STATE_NONE;
            mark->spliced |= may_have_spliced(&events[i]);
        }
    } while (count == EVENTS_AT_ONCE);
    mark->rewrite |= job->record_seq > projection->safe_seq;
    return true;
}

static struct store_batch *new_batch(struct projection *projection) {
    struct store_batch *batch = store_batch_new(projection->base->store);
    store_batch_actor(batch, projection->now, SPAN("daemon:projection"));
    return batch;
}

static bool hold_ambiguous(struct projection *projection, const struct job *job,
                           struct err *err) {
    if (job_state_is_final(job->state) || (job->holds & HOLD_AMBIGUOUS))
        return true;
    log_warning("job file of set '%.*s' is in the directory of neither its old "
                "nor its new state; set held job=%.*s",
                (int)job->id.len, job->id.p, (int)job->id.len, job->id.p);
    struct store_batch *batch = new_batch(projection);
    store_hold(batch, job->num, HOLD_AMBIGUOUS, SPAN("ambiguous"));
    bool ok = store_write(batch, err);
    store_batch_free(batch);
    return ok;
}

/* Before the move: a set may have gone on to pending/ in the same pass, where
 * the inode may be locked (C10). */
static bool rewrite_record(struct projection *projection, const struct job *job,
                           bool *ret_written, struct err *err) {
    struct placement found;
    CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
    *ret_written = false;
    if (!placement_find(projection->base, arena_string(&arena, job->name),
                        &found, err))
        return false;
    if (found.dirs != STATE_BIT(STATE_QUEUED) &&
        found.dirs != STATE_BIT(STATE_STAGED))
        return true;
    *ret_written = true;
    return write_job_file(projection, job,
                          found.dirs == STATE_BIT(STATE_QUEUED) ? STATE_QUEUED
                                                                : STATE_STAGED,
                          err);
}

/* A set that came back from A may have been recorded while its file lay in
 * pending/ or abandon/. */
static bool has_old_record(const struct job *job, const struct mark *mark,
                           bool is_written) {
    unsigned rewritable = STATE_BIT(STATE_QUEUED) | STATE_BIT(STATE_STAGED);
    bool came_back = mark->from & STATES_ALL & ~rewritable;
    return !is_written && (STATE_BIT(job->state) & rewritable) &&
           (mark->rewrite || came_back);
}

/* Changes made by another process since are in the registry, although their
 * events have not arrived here yet: only what these too leave open is
 * ambiguous. */
static bool finish_place(struct projection *projection, const struct job *job,
                         const char *name, unsigned from, struct mark *mark,
                         enum placed *ret_placed, struct err *err) {
    struct base *base = projection->base;
    if (!placement_move(base, name, job->state, from, ret_placed, err))
        return false;
    if (*ret_placed != PLACED_ELSEWHERE)
        return true;
    if (!add_past(projection, job, mark, err))
        return false;
    return placement_move(base, name, job->state, from | mark->from, ret_placed,
                          err);
}

static bool place(struct projection *projection, const struct job *job,
                  struct mark *mark, bool *ret_settled, struct err *err) {
    CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
    const char *name = arena_string(&arena, job->name);
    enum placed placed;
    bool is_written = false;
    /* The person who released a hold has looked at the files; and a set that is
     * over cannot be held. */
    bool anywhere = (mark->released && !(job->holds & HOLD_AMBIGUOUS)) ||
                    job_state_is_final(job->state);
    unsigned from = anywhere ? STATES_ALL : mark->from;
    *ret_settled = true;
    if (mark->rewrite && !rewrite_record(projection, job, &is_written, err))
        return false;
    if (!finish_place(projection, job, name, from, mark, &placed, err))
        return false;
    if (placed == PLACED_ELSEWHERE) {
        *ret_settled = false;
        /* If the file was safely in its place after the last change of the set,
         * it was moved by hand since, and reconciling decides (C12). */
        return !job->stale || hold_ambiguous(projection, job, err);
    }
    if (placed == PLACED_NOWHERE && is_over(job) && !mark->remake &&
        prune_has(projection->base, name))
        return true;
    if (placed == PLACED_NOWHERE && !mark->fresh)
        alarm_rebuilt(projection, job);
    bool bad = placed != PLACED_NOWHERE && mark->look &&
               !placement_is_good(projection->base, job->state, job);
    if (placed == PLACED_NOWHERE || bad ||
        has_old_record(job, mark, is_written))
        return write_job_file(projection, job, job->state, err);
    return true;
}

/* Marks the heirs: sets with an edge to what this set had an edge to. */
static bool mark_heirs(struct projection *projection, const struct job *job,
                       struct err *err) {
    CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
    struct store *store = projection->base->store;
    struct job_edge *edges;
    struct store_edge_to *heirs;
    size_t count, heir_count;
    if (!store_edges_from(store, job->num, &arena, &edges, &count, err))
        return false;
    for (size_t i = 0; i < count; i++) {
        if (edges[i].kind != EDGE_PRECURSOR)
            continue;
        if (!store_edges_to(store, edges[i].to, &arena, &heirs, &heir_count,
                            err))
            return false;
        for (size_t k = 0; k < heir_count; k++) {
            struct mark *mark = find_mark(projection, heirs[k].num);
            if (!mark || heirs[k].kind != EDGE_PRECURSOR ||
                !(STATE_BIT(heirs[k].state) & STATES_WAITING))
                continue;
            mark->rewrite = true;
            mark->from |= STATE_BIT(heirs[k].state);
            projection_mark_dirty(projection, mark);
        }
    }
    return true;
}

static bool project_one(struct projection *projection, struct mark *mark,
                        struct store_batch *batch, struct err *err) {
    CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
    struct job job;
    bool settled;
    if (!store_job(projection->base->store, mark->num, &arena, &job, err))
        return false;
    /* Archived sets have no job file any more. */
    bool archived = is_over(&job) && !job.stale && !mark->remake;
    settled = archived;
    if ((mark->look && !archived && !add_past(projection, &job, mark, err)) ||
        (!archived && !place(projection, &job, mark, &settled, err)) ||
        (mark->spliced && !mark_heirs(projection, &job, err)) ||
        !set_log_catch_up(projection->base, &job, err))
        return err_wrap(err, "set '%.*s'", (int)job.id.len, job.id.p);
    if (settled && job.stale)
        store_projected(batch, job.num, job.state_seq);
    mark->rewrite = mark->fresh = mark->look = mark->spliced = false;
    mark->released = mark->remake = false;
    mark->from = STATE_BIT(job.state) | (settled ? 0 : mark->from);
    if (is_over(&job))
        mark->over = true;
    return true;
}

/* ---- a pass ---------------------------------------------------------- */

static void finished(void *ctx, struct store_batch *batch, bool ok,
                     const struct err *err) {
    struct projection *projection = ctx;
    (void)batch, (void)ok, (void)err;
    /* A set that is not marked stays stale and is looked at again. */
    projection->under_way--;
}

void projection_note(struct projection *projection, enum event_kind kind,
                     const struct job *job, struct span reason,
                     struct span detail) {
    struct err err = {0};
    struct store_batch *batch = new_batch(projection);
    store_note(batch, kind, job->num, job->id, reason, detail);
    if (!store_write(batch, &err))
        log_error("cannot record '%.*s' in the history of set '%.*s': %s",
                  (int)reason.len, reason.p, (int)job->id.len, job->id.p,
                  err.text);
    store_batch_free(batch);
}

/* A set that cannot be projected must not delay the others: it stays dirty, and
 * the pass returns the first error. */
static bool project_dirty(struct projection *projection,
                          struct store_batch *batch, struct err *err) {
    struct list failed;
    bool ok = true;
    list_init(&failed);
    /* Marks may be added during the loop. */
    while (!list_empty(&projection->dirty)) {
        struct mark *mark =
            LIST_OF(list_pop(&projection->dirty), struct mark, link);
        if (!project_one(projection, mark, batch, ok ? err : NULL)) {
            ok = false;
            list_remove(&mark->link);
            list_push(&failed, &mark->link);
        } else if (mark->over && list_empty(&mark->link)) {
            mark_free(projection, mark);
        }
    }
    LIST_EACH (&failed, link) {
        list_remove(link);
        list_push(&projection->dirty, link);
    }
    return ok;
}

static bool mark_projected(struct projection *projection,
                           struct store_batch *batch, struct err *err) {
    bool ok = true;
    if (store_batch_count(batch) == 0) {
        store_batch_free(batch);
    } else if (projection->settling) {
        ok = store_write(batch, err);
        projection->unrecorded = !ok;
        store_batch_free(batch);
    } else {
        projection->under_way++;
        store_submit(batch, finished, projection);
    }
    return ok;
}

static bool make_safe(struct projection *projection, uint64_t seq,
                      struct err *err) {
    if (projection->of_some || seq <= projection->safe_seq)
        return true;
    if (!projection_set_safe_seq(projection->base, seq, err))
        return false;
    projection->safe_seq = seq;
    return true;
}

bool projection_lock(struct projection *projection, int *ret_fd,
                     struct err *err) {
    struct base *base = projection->base;
    if (!lock_take(base->dirs[BASE_CTRL], "projection.lock", LOCK_EXCLUSIVE,
                   true, true, ret_fd, err))
        return err_wrap(err, "cannot lock the job files");
    /* Another process may have got further meanwhile, but never less far. */
    uint64_t seq = projection_safe_seq(base);
    if (seq > projection->safe_seq)
        projection->safe_seq = seq;
    return true;
}

/* The lock is held. */
static bool place_dirty(struct projection *projection, struct err *err) {
    if (projection->unrecorded && !projection_load_stale(projection, err))
        return false;
    projection->unrecorded = false;
    uint64_t seq = store_seq(projection->base->store);
    if (projection->placed == NULL)
        projection->placed = new_batch(projection);
    projection_doubt_dirs(projection);
    bool ok = project_dirty(projection, projection->placed, err);
    projection_remember_dirs(projection);
    if (ok)
        projection->placed_seq = seq;
    return ok;
}

/* The lock is held. */
static bool settle(struct projection *projection, struct err *err) {
    struct base *base = projection->base;
    struct store_batch *batch = projection->placed;
    if (batch == NULL)
        return true;
    projection->placed = NULL;
    if (disk->syncfs(base->fd) < 0) {
        store_batch_free(batch);
        projection->unrecorded = true;
        return err_errno(err, errno, "cannot sync the base");
    }
    bool ok = make_safe(projection, projection->placed_seq, err);
    return mark_projected(projection, batch, ok ? err : NULL) && ok;
}

bool projection_pass_locked(struct projection *projection, struct err *err) {
    if (!projection_is_due(projection))
        return true;
    bool ok = place_dirty(projection, err);
    return settle(projection, ok ? err : NULL) && ok;
}

bool projection_place(struct projection *projection, struct wall now,
                      struct err *err) {
    CLEANUP(fd_close) int lock = -1;
    projection->now = now;
    if (list_empty(&projection->dirty))
        return true;
    return projection_lock(projection, &lock, err) &&
           place_dirty(projection, err);
}

bool projection_pass(struct projection *projection, struct wall now,
                     struct err *err) {
    CLEANUP(fd_close) int lock = -1;
    projection->now = now;
    if (!projection_is_due(projection))
        return true;
    return projection_lock(projection, &lock, err) &&
           projection_pass_locked(projection, err);
}

bool projection_wait(struct projection *projection, struct err *err) {
    return projection->under_way == 0 ||
           store_drain(projection->base->store, err);
}

bool projection_finish(struct projection *projection, struct wall now,
                       struct err *err) {
    bool ok = true;
    projection->settling = true;
    while (ok && projection_is_due(projection))
        ok = projection_pass(projection, now, err);
    projection->settling = false;
    projection->now = now;
    return ok && projection_wait(projection, err);
}

bool projection_is_due(const struct projection *projection) {
    return !list_empty(&projection->dirty) || projection->unrecorded ||
           projection->placed != NULL;
}
