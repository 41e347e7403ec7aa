#include "cli/run_as_report.h"

#include <fcntl.h>

#include "os/account.h"
#include "os/dir.h"
#include "schedules/schedule_row.h"
#include "wire/schedule_spec.h"
#include "wire/submission.h"

struct report {
    const struct base *base;
    struct arena *arena;
    run_as_found *found;
    void *ctx;
};

static void add_finding(const struct report *report, const char *tag,
                        bool is_problem, const char *what,
                        const char *meaning) {
    report->found(report->ctx,
                  &(struct run_as_finding){.is_problem = is_problem,
                                           .tag = tag,
                                           .what = what,
                                           .meaning = meaning});
}

/* ---- configuration ------------------------------------------------------- */

static bool others_may_submit(const struct base *base) {
    for (size_t i = 0; i < base->access.grant_count; i++)
        if (base->access.grants[i].role >= ACCESS_SUBMITTER)
            return true;
    return false;
}

static void report_commands(const struct report *report) {
    switch (base_run_as_others(report->base, NULL)) {
    case RUN_AS_OWNER:
        add_finding(
            report, "warn", false, "commands of others",
            "run as the owner of the base ([access] commands-as-owner): each "
            "submitter can do what the owner can");
        break;
    case RUN_AS_FORBIDDEN:
        add_finding(report, "off", false, "commands of others",
                    "are refused, as the server is not root ([access] "
                    "commands-as-owner)");
        break;
    case RUN_AS_SUBMITTER:
    case RUN_AS_USER:
    case RUN_AS_DENIED:
        add_finding(report, "ok", false, "commands of others",
                    "run under the accounts of their submitters");
        break;
    }
}

/* Whatever has landed runs under that account, and later sets before anybody
 * has approved them. */
static void report_user(const struct report *report,
                        const struct config_target *target, const char *what) {
    struct account account;
    enum access_role role = ACCESS_NOBODY;
    if (account_find(target->user, report->arena, &account, NULL))
        role = base_actor(report->base, account.uid).role;
    if (role == ACCESS_NOBODY)
        add_finding(report, "ok", false, what,
                    "runs under an account of its own");
    else
        add_finding(
            report, "warn", false, what,
            arena_printf(report->arena,
                         "runs under account '%s', which has the role %s "
                         "([access]): the code of every set that is checked "
                         "can act with it; use an account without a role, and "
                         "names or a group instead of '*'",
                         account.name, access_role_word(role)));
}

static void report_target(const struct report *report,
                          const struct config_target *target) {
    const char *what = arena_printf(report->arena, "target '%.*s'",
                                    (int)target->name.len, target->name.p);
    if (target->check_count == 0 && target->command.count == 0)
        return;
    switch (base_run_as_others(report->base, target)) {
    case RUN_AS_OWNER:
        add_finding(
            report, "warn", false, what,
            "sets of others are checked or applied as the owner of the base "
            "([access] checks-as-owner): each submitter can do what the owner "
            "can");
        break;
    case RUN_AS_FORBIDDEN:
        add_finding(
            report, "off", false, what,
            "sets of others are refused: it has no user of its own ([access] "
            "checks-as-owner)");
        break;
    case RUN_AS_SUBMITTER:
        add_finding(report, "warn", false, what,
                    "sets of others are checked under their accounts, and "
                    "sets of the owner as the owner, with what others have "
                    "landed: that code can do what the submitter's account "
                    "can, except hand in work or approve, and the account can "
                    "disturb its checks; give it a user");
        break;
    case RUN_AS_USER:
    case RUN_AS_DENIED:
        report_user(report, target, what);
        break;
    }
}

/* Links to files of root or of the owner would otherwise be theirs in the drop
 * directories. */
static void report_links(const struct report *report) {
    CLEANUP(text_clear) struct text text = TEXT_INIT;
    if (dir_read(AT_FDCWD, "/proc/sys/fs/protected_hardlinks", 16, &text,
                 NULL) &&
        span_starts(text_span(&text), "0"))
        add_finding(report, "warn", false, "fs.protected_hardlinks",
                    "is 0: anybody can link files of others into the drop "
                    "directories; set it to 1 with sysctl");
}

/* ---- schedules and jobs -------------------------------------------------- */

/* One line for many jobs: the first one and how many more there are. */
struct tally {
    size_t count;
    const char *first, *why;
};

/* The work of other accounts. */
struct work {
    struct tally as_owner, refused;
};

static void tally_add(struct tally *tally, const char *what, const char *why) {
    if (tally->count++ > 0)
        return;
    tally->first = what;
    tally->why = why;
}

static void tally_report(const struct report *report, const struct tally *tally,
                         bool is_problem) {
    const char *what = tally->first;
    if (tally->count == 0)
        return;
    if (tally->count > 1)
        what = arena_printf(report->arena, "%s and %zu more", what,
                            tally->count - 1);
    add_finding(report, "warn", is_problem, what, tally->why);
}

static void work_report(const struct report *report, const struct work *work) {
    tally_report(report, &work->as_owner, false);
    tally_report(report, &work->refused, true);
}

/* `err`: why it may not run. */
static void work_add(const struct report *report, struct work *work,
                     const char *what, bool as_owner, const struct err *err) {
    if (err->kind != ERR_NONE)
        tally_add(&work->refused, what,
                  arena_string(report->arena, span_of(err->text)));
    else if (as_owner)
        tally_add(&work->as_owner, what, "runs as the owner of the base");
}

static void add_command(const struct report *report, struct work *work,
                        const char *what, uint32_t uid, struct span user) {
    CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
    const struct account *account = NULL;
    struct err err = {0};
    (void)base_run_as_command(report->base, uid, user, &arena, &account, &err);
    work_add(report, work, what, !account, &err);
}

static bool report_schedules(const struct report *report, struct err *err) {
    struct schedule_row *rows;
    size_t count = 0;
    struct work work = {0};
    if (!schedule_row_list(report->base->store, SPAN(""), 0, report->arena,
                           &rows, &count, err))
        return false;
    for (size_t i = 0; i < count; i++) {
        struct schedule_spec spec;
        if (run_as_is_own(report->base->uid, rows[i].uid) ||
            !schedule_spec_parse(rows[i].spec, report->arena, &spec, NULL))
            continue;
        add_command(report, &work,
                    arena_printf(report->arena, "schedule '%.*s' of uid %u",
                                 (int)rows[i].name.len, rows[i].name.p,
                                 (unsigned)rows[i].uid),
                    rows[i].uid, spec.job.task.user);
    }
    work_report(report, &work);
    return true;
}

static void add_set(const struct report *report, struct work *work,
                    const char *what, const struct job *job) {
    CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
    const struct config_target *target =
        config_target(&report->base->config, job->target);
    struct span user = {0};
    struct err err = {0};
    if (!target || (target->check_count == 0 && target->command.count == 0))
        return;
    (void)base_run_as_target(report->base, target, job->uid, &arena, &user,
                             &err);
    work_add(report, work, what, user.len == 0, &err);
}

/* Those admitted under another configuration, or by an older program. */
static void add_of_others(const struct report *report, struct work *work,
                          const char *what, const struct job *job) {
    CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
    struct submission submission;
    if (job_has(job, JOB_LANDS))
        add_set(report, work, what, job);
    else if (submission_parse(job->spec, SUBMISSION_BODY, &arena, &submission,
                              NULL))
        add_command(report, work, what, job->uid, submission.task.user);
}

struct reading {
    const struct report *report;
    struct work work;
};

static bool add_job(void *ctx, const struct job *job, struct err *err) {
    struct reading *reading = ctx;
    const struct report *report = reading->report;
    struct work *work = &reading->work;
    (void)err;
    bool is_own = run_as_is_own(report->base->uid, job->uid);
    bool is_held = (job->holds & HOLD_ACCOUNT) != 0;
    if ((is_own && !is_held) || job_has(job, JOB_ROLLS_BACK))
        return true;
    const char *what =
        arena_printf(report->arena, "job '%.*s' of uid %u", (int)job->id.len,
                     job->id.p, (unsigned)job->uid);
    size_t refused = work->refused.count;
    if (!is_own)
        add_of_others(report, work, what, job);
    if (is_held && work->refused.count == refused)
        tally_add(&work->refused, what,
                  arena_printf(report->arena,
                               "was held at its start: %.*s; if that is "
                               "repaired, release it",
                               (int)job->detail.len,
                               job->detail.len > 0 ? job->detail.p : ""));
    return true;
}

static bool report_jobs(const struct report *report, struct err *err) {
    struct store_list list = {.states = STATES_WAITING, .with_spec = true};
    struct reading reading = {.report = report};
    if (!store_jobs_each(report->base->store, &list, add_job, &reading, err))
        return false;
    work_report(report, &reading.work);
    return true;
}

bool run_as_report(const struct base *base, struct arena *arena,
                   run_as_found *found, void *ctx, struct err *err) {
    const struct report report = {base, arena, found, ctx};
    if (others_may_submit(base)) {
        report_commands(&report);
        report_links(&report);
        for (size_t i = 0; i < base->config.target_count; i++)
            report_target(&report, &base->config.targets[i]);
    }
    return report_schedules(&report, err) && report_jobs(&report, err);
}
