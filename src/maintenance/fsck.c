#include "maintenance/fsck.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <time.h>

#include "lib/map.h"
#include "os/clock.h"
#include "os/dir.h"
#include "os/sum.h"
#include "base/output_loss.h"
#include "maintenance/fsck_report.h"
#include "maintenance/target_check.h"
#include "changes/leftover.h"
#include "changes/placement.h"
#include "changes/prune.h"
#include "changes/set_log.h"
#include "wire/job_file.h"
#include "wire/set_name.h"

enum {
    EVENTS_AT_ONCE = 500,
    LOOKS_AGAIN = 250, /* for a whole check */
    LOOK_AGAIN_MS = 20
};

void fsck_problem(struct fsck_report *report, const char *format, ...) {
    CLEANUP(text_clear) struct text text = TEXT_INIT;
    va_list args;
    va_start(args, format);
    text_addv(&text, format, args);
    va_end(args);
    report->problems++;
    if (report->problem)
        report->problem(report->ctx, text_string(&text));
}

/* ---- one set --------------------------------------------------------- */

static void check_place(struct base *base, const struct job *job,
                        const char *id, const char *name,
                        struct fsck_report *report) {
    struct placement found;
    struct err err = {0};
    if (!placement_find(base, name, &found, &err)) {
        fsck_problem(report, "set '%s': %s", id, err.text);
        return;
    }
    if (!found.dirs && prune_has(base, name))
        return;
    if (!found.dirs)
        fsck_problem(report,
                     "set '%s' is %s, but its job file is in no directory "
                     "(the next start recreates it)",
                     id, job_state_word(job->state));
    for (int state = 0; state < JOB_STATES; state++)
        if ((found.dirs & STATE_BIT(state)) && state != (int)job->state)
            fsck_problem(report,
                         "set '%s' is %s, but its job file is in %s/ (the "
                         "next start moves it)",
                         id, job_state_word(job->state), job_state_dir(state));
    if ((found.dirs & STATE_BIT(job->state)) &&
        !placement_is_good(base, job->state, job))
        fsck_problem(report, "set '%s': its job file in %s/ is damaged", id,
                     job_state_dir(job->state));
}

static void check_data(struct base *base, const struct job *job, const char *id,
                       const char *name, struct fsck_report *report) {
    CLEANUP(fd_close) int fd = -1;
    struct err err = {0};
    char sum[SUM_TEXT_BYTES];
    uint64_t bytes;
    if (!dir_open_file(base->dirs[BASE_DATA], name, O_RDONLY | O_NONBLOCK, 0,
                       &fd, &err) ||
        !sum_file(fd, sum, &bytes, &err)) {
        if (!job_state_is_final(job->state) || !prune_has(base, name))
            fsck_problem(report, "set '%s': its tarball in data/: %s", id,
                         err.text);
    } else if (!span_is(job->sum, sum)) {
        fsck_problem(report,
                     "set '%s': its tarball in data/ was changed after it was "
                     "admitted (its checksum differs)",
                     id);
    }
}

static bool check_log(struct base *base, const struct job *job, const char *id,
                      struct arena *arena, struct fsck_report *report,
                      struct err *err) {
    struct store_event *events;
    struct set_log log;
    struct err why = {0};
    uint64_t after = 0;
    size_t count, at = 0;
    bool known = set_log_read(base, job->id, arena, &log, &why);
    if (!known)
        fsck_problem(report, "set '%s': %s", id, why.text);
    do {
        if (!store_events(base->store, after, job->num, EVENTS_AT_ONCE, arena,
                          &events, &count, err))
            return false;
        for (size_t i = 0; i < count; i++, at++) {
            after = events[i].seq;
            report->events++;
            if (known && at < log.count &&
                log.events[at].seq == events[i].seq) {
                if (!set_log_is_true(&log.events[at], &events[i]))
                    fsck_problem(report,
                                 "set '%s': event %llu was altered: its log "
                                 "and the registry differ",
                                 id, (unsigned long long)events[i].seq);
            } else if (known) {
                fsck_problem(report,
                             "set '%s': its log and the registry differ from "
                             "event %llu on",
                             id, (unsigned long long)events[i].seq);
                known = false;
            }
        }
    } while (count == EVENTS_AT_ONCE);
    if (known && at < log.count)
        fsck_problem(
            report, "set '%s': its log has events that the registry lacks", id);
    return true;
}

/* Checks the files that move while a job lives. A job in transit is being
 * handled by another process at this moment. */
static bool check_moving(struct base *base, const struct job *job,
                         struct fsck_report *report, struct err *err) {
    CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
    const char *id = arena_string(&arena, job->id);
    if (job->stale)
        return true;
    check_place(base, job, id, arena_string(&arena, job->name), report);
    return check_log(base, job, id, &arena, report, err);
}

/* Between reading the row and looking at the files a role may have moved them:
 * a mismatch is a problem only if it is not resolved in a moment. `job` is then
 * as it was read when everything matched. */
static bool becomes_consistent(struct base *base, struct job *job,
                               struct arena *arena, unsigned *looks,
                               struct fsck_report *report, bool *ret_well,
                               struct err *err) {
    static const struct timespec pause = {.tv_nsec = LOOK_AGAIN_MS * NS_PER_MS};
    for (;;) {
        struct fsck_report quiet = {0};
        if (!check_moving(base, job, &quiet, err))
            return false;
        *ret_well = quiet.problems == 0;
        if (*ret_well)
            report->events += quiet.events;
        if (*ret_well || *looks == LOOKS_AGAIN || !base_any_role_is_held(base))
            return true;
        nanosleep(&pause, NULL);
        ++*looks;
        if (!store_job(base->store, job->num, arena, job, err))
            return false;
    }
}

struct checking {
    struct base *base;
    struct fsck_report *report;
    struct output *output;
    unsigned looks;
};

static bool check_set(void *ctx, const struct job *job, struct err *err) {
    CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
    struct checking *checking = ctx;
    struct base *base = checking->base;
    struct fsck_report *report = checking->report;
    struct job now = *job;
    bool well = false;
    report->sets++;
    if (!becomes_consistent(base, &now, &arena, &checking->looks, report, &well,
                            err) ||
        (!well && !check_moving(base, &now, report, err)))
        return false;
    if (!now.stale)
        check_data(base, &now, arena_string(&arena, now.id),
                   arena_string(&arena, now.name), report);
    return true;
}

static bool check_sets(struct base *base, struct fsck_report *report,
                       struct err *err) {
    struct checking checking = {.base = base, .report = report};
    struct store_list list = {.kinds = job_kinds_with(JOB_HAS_FILE)};
    return store_jobs_each(base->store, &list, check_set, &checking, err);
}

/* ---- outputs ---------------------------------------------------------- */

/* What was recorded as lost is no news. */
static bool check_outputs_of(void *ctx, const struct job *job,
                             struct err *err) {
    CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
    CLEANUP(text_clear) struct text text = TEXT_INIT;
    struct checking *checking = ctx;
    struct store_attempt *attempts;
    struct output_loss loss;
    size_t count;
    if (!store_attempts(checking->base->store, job->num, &arena, &attempts,
                        &count, err))
        return false;
    for (size_t i = 0; i < count; i++) {
        const struct store_attempt *attempt = &attempts[i];
        output_loss_find(checking->output, attempt, &loss);
        if (loss.missing == 0)
            continue;
        text_reset(&text);
        output_loss_format(&loss, &text);
        fsck_problem(
            checking->report, "job '%.*s', attempt %u%s%.*s: %s",
            (int)job->id.len, job->id.p, attempt->attempt,
            attempt->node.len > 0 ? " on " : "", (int)attempt->node.len,
            attempt->node.len > 0 ? attempt->node.p : "", text_string(&text));
    }
    return true;
}

static bool check_outputs(struct base *base, struct fsck_report *report,
                          struct err *err) {
    const struct store_list all = {0};
    struct checking checking = {.base = base, .report = report};
    if (!output_open(base->fd, false, &checking.output, err))
        return false;
    bool ok =
        store_jobs_each(base->store, &all, check_outputs_of, &checking, err);
    output_close(checking.output);
    return ok;
}

/* ---- files without a job --------------------------------------------- */

struct looking {
    struct base *base;
    struct fsck_report *report;
    const char *dir;
};

static bool look_for_owner(void *ctx, struct span entry) {
    CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
    struct looking *looking = ctx;
    struct set_name name;
    struct refusal why;
    struct job job;
    bool known = false;
    if (set_name_parse(entry, &name, &why) &&
        !store_lookup(looking->base->store, name.csid, &arena, &job, &known,
                      NULL))
        return true;
    if (!known || !span_equal(job.name, entry))
        fsck_problem(looking->report,
                     "'%.*s' in %s/ is the job file of an unknown set",
                     (int)entry.len, entry.p, looking->dir);
    return true;
}

/* Files of submissions that are under way do not count as problems. */
static void on_leftover(void *ctx, const struct leftover *leftover) {
    CLEANUP(text_clear) struct text text = TEXT_INIT;
    struct fsck_report *report = ctx;
    text_addc(&text, '\'');
    text_addescaped(&text, span_of(leftover->name));
    if (leftover->dir == BASE_TMP)
        text_adds(&text, "' in tmp/ was left by a process that has ended; ");
    else
        text_adds(&text, "' in data/ has no marker in prequeue/ and belongs to "
                         "no set; ");
    text_addf(&text, "it %s %s after %d hours, when 'exec' runs",
              leftover->is_due ? "should have been" : "is",
              leftover->dir == BASE_TMP ? "removed" : "moved to reject/",
              LEFTOVER_HOURS);
    if (leftover->is_due)
        fsck_problem(report, "%s", text_string(&text));
    else if (report->remark)
        report->remark(report->ctx, text_string(&text));
}

static void on_problem(void *ctx, const char *sentence) {
    fsck_problem(ctx, "%s", sentence);
}

/* ---- targets ---------------------------------------------------------- */

static bool check_targets(struct base *base, struct fsck_report *report,
                          struct err *err) {
    const struct config *config = &base->config;
    for (size_t i = 0; i < config->target_count; i++)
        if (config->targets[i].git.len > 0 &&
            !target_check(base, &config->targets[i], true, on_problem, report,
                          err))
            return false;
    return true;
}

bool fsck_check(struct base *base, struct fsck_report *report,
                struct err *err) {
    struct err why = {0};
    if (!store_verify(base->store, &why)) {
        if (why.kind != ERR_DATA)
            return err_set(err, why.kind, "%s", why.text);
        fsck_problem(report, "registry: %s", why.text);
    }
    if (!base_modes_check(base, on_problem, report, err) ||
        !check_sets(base, report, err) || !check_outputs(base, report, err))
        return false;
    for (int state = 0; state < JOB_STATES; state++) {
        struct looking looking = {base, report, job_state_dir(state)};
        if (!dir_each(base->dirs[state], look_for_owner, &looking, err))
            return false;
    }
    return leftovers_find(base, clock_wall(), on_leftover, report, err) &&
           check_targets(base, report, err);
}
