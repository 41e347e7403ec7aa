#include "changes/prune.h"

#include <stdio.h>
#include <sys/stat.h>

#include "lib/log.h"
#include "os/dir.h"
#include "changes/leftover.h"
#include "changes/placement.h"

/* archive/NAME is the job file, archive/NAME.tar the tarball; registry and log
 * keep the set for ever. */

enum { JOBS_AT_ONCE = 200 };

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

struct clearing {
    struct base *base;
    struct prune_report *report;
};

/* A tarball may still be useful to its sender, so it is not deleted. A file
 * that cannot be removed must not keep the others. */
static void clear_leftover(void *ctx, const struct leftover *leftover) {
    struct clearing *clearing = ctx;
    struct base *base = clearing->base;
    int dir = base->dirs[leftover->dir];
    struct err err = {0};
    if (!leftover->is_due)
        return;
    bool ok = leftover->dir == BASE_TMP
                  ? dir_remove_tree(dir, leftover->name, &err)
                  : placement_reject(base, dir, leftover->name, "no-marker",
                                     "it was in data/ for 36 hours without a "
                                     "marker in prequeue/",
                                     &err);
    clearing->report->removed += ok;
    if (!ok)
        log_warning("cannot remove what a submission left in %s/: %s",
                    base_dir_name(leftover->dir), err.text);
}

bool prune(struct base *base, struct wall now, struct prune_report *ret_report,
           struct err *err) {
    *ret_report = (struct prune_report){0};
    if (!archive_old(base, now, ret_report, err) ||
        !leftovers_find(base, now, clear_leftover,
                        &(struct clearing){base, ret_report}, err))
        return false;
    if (ret_report->archived + ret_report->removed > 0)
        log_info(
            "archived %llu sets, removed %llu old files from tmp/ and data/",
            (unsigned long long)ret_report->archived,
            (unsigned long long)ret_report->removed);
    return true;
}
