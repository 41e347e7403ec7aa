#include "changes/prune.h"

#include <stdio.h>
#include <sys/stat.h>

#include "lib/log.h"
#include "os/dir.h"
#include "changes/leftover.h"
#include "changes/placement.h"

/* archive/NAME is the job file, archive/NAME.tar the tarball; registry and log
 * keep the set for ever. */

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

struct archiving {
    struct base *base;
    struct prune_report *report;
};

static bool archive_one(void *ctx, const struct job *job, struct err *err) {
    struct archiving *archiving = ctx;
    return job->stale || archive(archiving->base, job, archiving->report, err);
}

static bool archive_old(struct base *base, struct wall now,
                        struct prune_report *report, struct err *err) {
    struct archiving archiving = {base, report};
    int64_t keep_ms = base->config.queue.keep_days * INT64_C(24) * 3600 * 1000;
    struct store_list list = {
        .states = STATES_FINAL & ~STATE_BIT(STATE_ABANDONED),
        .kinds = job_kinds_with(JOB_HAS_FILE),
        .until = wall_add_ms(now, -keep_ms),
    };
    return list.until.ns <= 0 ||
           store_jobs_each(base->store, &list, archive_one, &archiving, err);
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
