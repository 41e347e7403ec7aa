#include "changes/prune.h"

#include <stdio.h>
#include <sys/stat.h>

#include "lib/log.h"
#include "os/dir.h"
#include "changes/placement.h"
#include "wire/set_name.h"

/* archive/NAME is the job file, archive/NAME.tar the tarball; registry and log
 * keep the set for ever. */

enum { JOBS_AT_ONCE = 200, TMP_HOURS = 36 };

bool prune_has(const struct base *base, const char *name) {
    struct stat st;
    bool there = false;
    return dir_stat(base->dirs[BASE_ARCHIVE], name, &st, &there, NULL) && there;
}

/* The tarball first, and durably: as long as the job file is in its place, a
 * crash or a power cut leaves something that is examined again. */
static bool archive(struct base *base, const struct job *job,
                    struct prune_report *report, struct err *err) {
    CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
    const char *name = arena_string(&arena, job->name);
    enum dir_moved moved;
    struct stat st;
    bool there;
    if (!dir_stat(base->dirs[job->state], name, &st, &there, err))
        return false;
    if (!there)
        return true;
    if (!dir_move(base->dirs[BASE_DATA], name, base->dirs[BASE_ARCHIVE],
                  arena_printf(&arena, "%s.tar", name), DIR_DURABLE, &moved,
                  err) ||
        !dir_move(base->dirs[job->state], name, base->dirs[BASE_ARCHIVE], name,
                  DIR_LAZY, &moved, err))
        return err_wrap(err, "cannot move set '%s' to archive/", name);
    report->archived += moved == DIR_MOVED;
    return true;
}

static bool archive_old(struct base *base, struct wall now,
                        struct prune_report *report, struct err *err) {
    CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
    int64_t keep_ms = base->config.queue.keep_days * INT64_C(24) * 3600 * 1000;
    struct store_list list = {
        .states = STATES_FINAL & ~STATE_BIT(STATE_ABANDONED),
        .kinds = job_kinds_with(JOB_HAS_FILE),
        .until = wall_add_ms(now, -keep_ms),
        .limit = JOBS_AT_ONCE,
    };
    struct job *jobs;
    size_t count;
    if (list.until.ns <= 0)
        return true;
    do {
        if (!store_jobs(base->store, &list, &arena, &jobs, &count, err))
            return false;
        for (size_t i = 0; i < count; i++) {
            list.after_num = jobs[i].num;
            if (!jobs[i].stale && !archive(base, &jobs[i], report, err))
                return false;
        }
        arena_clear(&arena);
    } while (count == JOBS_AT_ONCE);
    return true;
}

static bool clear_tmp(struct base *base, struct wall now,
                      struct prune_report *report, struct err *err) {
    CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
    struct span *names;
    size_t count;
    if (!dir_list(base->dirs[BASE_TMP], &arena, &names, &count, err))
        return false;
    for (size_t i = 0; i < count; i++) {
        struct err why = {0};
        struct stat st;
        bool there;
        if (!dir_stat(base->dirs[BASE_TMP], names[i].p, &st, &there, err))
            return false;
        if (!there || wall_s(now) - st.st_mtim.tv_sec < TMP_HOURS * 3600)
            continue;
        /* A file that cannot be removed must not keep the others. */
        if (dir_remove_tree(base->dirs[BASE_TMP], names[i].p, &why))
            report->removed++;
        else
            log_warning("cannot remove old files from tmp/: %s", why.text);
    }
    return true;
}

/* data/NAME of a set that was never admitted and has no marker: its sender
 * never got a confirmation. It may still be useful, so it is not deleted. */
static bool is_orphan(struct base *base, const char *name, struct wall now,
                      bool *ret_orphan, struct err *err) {
    CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
    struct set_name parsed;
    struct refusal why;
    struct stat st, marker;
    struct job job;
    bool there, waiting, known = false;
    *ret_orphan = false;
    if (!dir_stat(base->dirs[BASE_DATA], name, &st, &there, err) ||
        !dir_stat(base->dirs[BASE_PREQUEUE], name, &marker, &waiting, err))
        return false;
    if (!there || waiting || wall_s(now) - st.st_ctim.tv_sec < TMP_HOURS * 3600)
        return true;
    if (set_name_parse(span_of(name), &parsed, &why) &&
        !store_lookup(base->store, parsed.csid, &arena, &job, &known, err))
        return false;
    *ret_orphan = !known || !span_is(job.name, name);
    return true;
}

static bool reject_orphans(struct base *base, struct wall now,
                           struct prune_report *report, struct err *err) {
    CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
    struct span *names;
    size_t count;
    if (!dir_list(base->dirs[BASE_DATA], &arena, &names, &count, err))
        return false;
    for (size_t i = 0; i < count; i++) {
        bool orphan;
        if (!is_orphan(base, names[i].p, now, &orphan, err))
            return false;
        if (!orphan)
            continue;
        if (!placement_reject(
                base, base->dirs[BASE_DATA], names[i].p, "no-marker",
                "it was in data/ for 36 hours without a marker in prequeue/",
                err))
            return false;
        report->removed++;
    }
    return true;
}

bool prune(struct base *base, struct wall now, struct prune_report *ret_report,
           struct err *err) {
    *ret_report = (struct prune_report){0};
    if (!archive_old(base, now, ret_report, err) ||
        !reject_orphans(base, now, ret_report, err) ||
        !clear_tmp(base, now, ret_report, err))
        return false;
    if (ret_report->archived + ret_report->removed > 0)
        log_info(
            "archived %llu sets, removed %llu old files from tmp/ and data/",
            (unsigned long long)ret_report->archived,
            (unsigned long long)ret_report->removed);
    return true;
}
