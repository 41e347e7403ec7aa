#include "changes/leftover.h"

#include <errno.h>
#include <signal.h>
#include <sys/stat.h>

#include "os/dir.h"
#include "wire/set_name.h"

struct finding {
    struct base *base;
    struct wall now;
    leftover_found *found;
    void *ctx;
};

/* By its last change, which its owner cannot set to another time. */
static bool is_due(const struct finding *finding, const struct stat *st) {
    return wall_s(finding->now) - st->st_ctim.tv_sec >= LEFTOVER_HOURS * 3600;
}

static void report(const struct finding *finding, enum base_dir dir,
                   const char *name, bool due) {
    finding->found(finding->ctx, &(struct leftover){dir, name, due});
}

/* ---- data/ --------------------------------------------------------------- */

/* data/NAME of a set that was never admitted and has no marker: its sender
 * never got a confirmation. */
static bool is_orphan(struct base *base, const char *name, bool *ret_orphan,
                      struct err *err) {
    CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
    struct set_name parsed;
    struct refusal why;
    struct stat marker;
    struct job job;
    bool waiting, known = false;
    *ret_orphan = false;
    if (!dir_stat(base->dirs[BASE_PREQUEUE], name, &marker, &waiting, err))
        return false;
    if (waiting)
        return true;
    if (set_name_parse(span_of(name), &parsed, &why) &&
        !store_lookup(base->store, parsed.csid, &arena, &job, &known, err))
        return false;
    *ret_orphan = !known || !span_is(job.name, name);
    return true;
}

static bool look_at_data(const struct finding *finding, const char *name,
                         struct err *err) {
    struct stat st;
    bool there, orphan;
    if (!is_orphan(finding->base, name, &orphan, err) ||
        !dir_stat(finding->base->dirs[BASE_DATA], name, &st, &there, err))
        return false;
    if (orphan && there)
        report(finding, BASE_DATA, name, is_due(finding, &st));
    return true;
}

/* ---- tmp/ ---------------------------------------------------------------- */

static bool is_live(struct base *base, struct span id, bool *ret_live,
                    struct err *err) {
    CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
    struct job job;
    bool known;
    if (!store_lookup(base->store, id, &arena, &job, &known, err))
        return false;
    *ret_live = known && !job_state_is_final(job.state);
    return true;
}

/* "a.b" of "a.b.c"; false: there is no dot. */
static bool cut_last(struct span *name, struct span *ret_last) {
    for (size_t i = name->len; i-- > 0;)
        if (name->p[i] == '.') {
            *ret_last = span_make(name->p + i + 1, name->len - i - 1);
            name->len = i;
            return true;
        }
    return false;
}

/* VERB.ID.NUMBER, the work directory of an attempt, or VERB.ID, the notes of a
 * rollback on a command target. A landing may take days. */
static bool is_of_live_job(struct base *base, struct span name, bool *ret_live,
                           struct err *err) {
    struct span verb, last;
    *ret_live = false;
    if (!span_cut(&name, '.', &verb) || name.p == NULL)
        return true;
    return is_live(base, name, ret_live, err) &&
           (*ret_live || !cut_last(&name, &last) ||
            is_live(base, name, ret_live, err));
}

/* The note about a ref that moves (L9), which is needed as long as git's lock
 * files may be there. */
static bool is_note(struct base *base, struct span name,
                    const struct stat *st) {
    return (st->st_uid == base->uid || st->st_uid == 0) &&
           span_starts(name, "move.");
}

/* A name of ours ends with the process that made it (dir_fresh_name). */
static bool maker_is_gone(struct span name) {
    struct span last, pid;
    uint64_t number, count;
    return cut_last(&name, &last) && cut_last(&name, &pid) &&
           span_u64(last, &count) && span_u64(pid, &number) && number > 0 &&
           number <= INT32_MAX && kill((pid_t)number, 0) < 0 && errno == ESRCH;
}

static bool look_at_tmp(const struct finding *finding, const char *name,
                        struct err *err) {
    struct base *base = finding->base;
    bool there, live;
    struct stat st;
    if (!dir_stat(base->dirs[BASE_TMP], name, &st, &there, err))
        return false;
    if (!there)
        return true;
    bool due = is_due(finding, &st);
    if (!due && !maker_is_gone(span_of(name)))
        return true;
    if (!is_of_live_job(base, span_of(name), &live, err))
        return false;
    if (!live && !is_note(base, span_of(name), &st))
        report(finding, BASE_TMP, name, due);
    return true;
}

bool leftovers_find(struct base *base, struct wall now, leftover_found *found,
                    void *ctx, struct err *err) {
    CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
    struct finding finding = {base, now, found, ctx};
    struct span *names;
    size_t count;
    if (!dir_list(base->dirs[BASE_DATA], &arena, &names, &count, err))
        return false;
    for (size_t i = 0; i < count; i++)
        if (!look_at_data(&finding, names[i].p, err))
            return false;
    if (!dir_list(base->dirs[BASE_TMP], &arena, &names, &count, err))
        return false;
    for (size_t i = 0; i < count; i++)
        if (!look_at_tmp(&finding, names[i].p, err))
            return false;
    return true;
}
