/* A rename, like a write, sets the ctime of a file, and no process can set it
 * to another time. So a job that dropped a file had an attempt that began
 * before that time and ended after it. */
#include "changes/drop_job.h"

#include "core/run_as.h"
#include "os/account.h"
#include "store/store.h"
#include "wire/submission.h"

enum {
    PAGE = 1000,
    TICK_MS = 1000 /* a ctime may be a clock tick behind the clock */
};

struct search {
    const struct base *base;
    uid_t uid;
    bool sets_only;
    struct wall changed;
    struct arena *arena;
    struct span id; /* of the job that was found */
};

/* ---- one job ------------------------------------------------------------- */

static bool is_account(struct span user, uid_t uid) {
    CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
    struct account account;
    return user.len > 0 && account_find(user, &arena, &account, NULL) &&
           account.uid == uid;
}

static bool overlaps(const struct search *search,
                     const struct store_attempt *attempt) {
    return wall_ms_since(attempt->assigned, search->changed) <= TICK_MS &&
           (attempt->ended.ns == 0 || attempt->ended.ns >= search->changed.ns);
}

/* A set of this account on the target that was there when the attempt began, or
 * later. */
static bool find_set(const struct search *search, struct span target,
                     struct wall assigned, unsigned states, bool *ret_found,
                     struct err *err) {
    CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
    bool all = states == STATES_LIVE;
    struct store_list list = {
        .states = states, .newest_first = !all, .limit = all ? 0 : PAGE};
    struct job *jobs;
    size_t count;
    if (*ret_found)
        return true;
    if (!store_jobs(search->base->store, &list, &arena, &jobs, &count, err))
        return false;
    for (size_t i = 0; i < count && !*ret_found; i++)
        *ret_found = job_has(&jobs[i], JOB_LANDS) &&
                     jobs[i].uid == search->uid &&
                     span_equal(jobs[i].target, target) &&
                     (all || jobs[i].since.ns >= assigned.ns);
    return true;
}

/* In a group and on a merge train, a set of the owner is checked under the
 * account of another set, which was there at that time. */
static bool may_share(const struct search *search, const struct job *job,
                      const struct store_attempt *attempts, size_t count,
                      bool *ret_may, struct err *err) {
    const struct base *base = search->base;
    const struct config_target *target =
        config_target(&base->config, job->target);
    *ret_may = false;
    if (!job_has(job, JOB_LANDS) || !run_as_is_own(base->uid, job->uid) ||
        target == NULL || target->check_count + target->command.count == 0 ||
        base_run_as_others(base, target) != RUN_AS_SUBMITTER)
        return true;
    for (size_t i = 0; i < count; i++)
        if (overlaps(search, &attempts[i]) &&
            (!find_set(search, job->target, attempts[i].assigned, STATES_LIVE,
                       ret_may, err) ||
             !find_set(search, job->target, attempts[i].assigned, STATES_FINAL,
                       ret_may, err)))
            return false;
    return true;
}

/* The configuration may have changed since the job started, so each account
 * that it may have run under counts. A rollback runs the commands of a target
 * under the accounts of its members. */
static bool may_run_as(const struct search *search, const struct job *job) {
    CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
    struct submission submission;
    if (job->uid == search->uid)
        return true;
    if (!job_has(job, JOB_LANDS))
        return submission_parse(job->spec, SUBMISSION_BODY, &arena, &submission,
                                NULL) &&
               is_account(submission.task.user, search->uid);
    const struct config_target *target =
        config_target(&search->base->config, job->target);
    return target != NULL &&
           (is_account(target->user, search->uid) ||
            (job_has(job, JOB_ROLLS_BACK) && target->command.count > 0));
}

static bool look_at(struct search *search, const struct job *job,
                    struct err *err) {
    CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
    struct store_attempt *attempts;
    size_t count = 0;
    bool may = may_run_as(search, job);
    if ((search->sets_only && !job_has(job, JOB_LANDS)) ||
        (!may && !run_as_is_own(search->base->uid, job->uid)))
        return true;
    if (!store_attempts(search->base->store, job->num, &arena, &attempts,
                        &count, err) ||
        (!may && !may_share(search, job, attempts, count, &may, err)))
        return false;
    if (!may)
        return true;
    for (size_t i = 0; i < count && search->id.len == 0; i++)
        if (overlaps(search, &attempts[i]))
            search->id = arena_span(search->arena, job->id);
    return true;
}

/* ---- all of them --------------------------------------------------------- */

static bool look_at_running(struct search *search, struct err *err) {
    CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
    struct store_list list = {.states = STATE_BIT(STATE_EXECUTING),
                              .with_spec = true};
    struct job *jobs;
    size_t count = 0;
    if (!store_jobs(search->base->store, &list, &arena, &jobs, &count, err))
        return false;
    for (size_t i = 0; i < count && search->id.len == 0; i++)
        if (!look_at(search, &jobs[i], err))
            return false;
    return true;
}

static bool look_at_ended(struct search *search,
                          const struct store_event *event, struct err *err) {
    CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
    struct job job;
    struct err gone = {0};
    if (event->kind != EVENT_MOVE || event->from != STATE_EXECUTING ||
        event->at.ns < search->changed.ns || search->id.len > 0)
        return true;
    if (store_job(search->base->store, event->num, &arena, &job, &gone))
        return look_at(search, &job, err);
    return gone.kind == ERR_NO_JOB || err_set(err, gone.kind, "%s", gone.text);
}

/* Backwards, because files are looked at soon after they were dropped. */
static bool look_at_events(struct search *search, struct err *err) {
    struct store *store = search->base->store;
    uint64_t before = store_seq(store);
    for (size_t limit = 0; search->id.len == 0; limit = PAGE) {
        CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
        struct store_event *events;
        size_t count = 0;
        uint64_t after = before > PAGE ? before - PAGE : 0;
        if (!store_events(store, after, 0, limit, &arena, &events, &count, err))
            return false;
        for (size_t i = 0; i < count; i++)
            if (!look_at_ended(search, &events[i], err))
                return false;
        if (after == 0 || (count > 0 && wall_ms_since(search->changed,
                                                      events[0].at) > TICK_MS))
            break;
        before = after;
    }
    return true;
}

/* Running jobs first: one that ends meanwhile is then found by its event. */
bool drop_job_find(const struct base *base, const struct stat *file,
                   bool sets_only, struct arena *arena, struct span *ret_id,
                   struct err *err) {
    struct search search = {
        .base = base,
        .uid = file->st_uid,
        .sets_only = sets_only,
        .changed = {file->st_ctim.tv_sec * NS_PER_S + file->st_ctim.tv_nsec},
        .arena = arena};
    bool ok = look_at_running(&search, err) && look_at_events(&search, err);
    *ret_id = search.id;
    return ok;
}
