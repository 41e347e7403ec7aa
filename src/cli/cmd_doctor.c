/* Checks of the machine and the base. */
#include "cli/commands.h"
#include "cli/call_connect.h"
#include "cli/run_as_report.h"
#include "cli/table.h"
#include "cli/console.h"

#include <inttypes.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "os/clock.h"
#include "os/disk.h"
#include "os/features.h"
#include "os/guard.h"
#include "base/base.h"
#include "landing/git.h"
#include "nodes/node_row.h"
#include "schedules/schedule_rule.h"
#include "changes/policies.h"
#include "changes/policy_config.h"
#include "changes/signature.h"
#include "maintenance/target_check.h"
#include "maintenance/target_config.h"
#include "schedules/schedule_row.h"
#include "scheduler/target_outage.h"
#include "serve/scheduler_role.h"

/* `tag` is ok, warn, or off: an optional feature is missing. */
static void print_finding(bool as_json, const char *name, const char *tag,
                          const char *detail, const char *meaning) {
    CLEANUP(text_clear) struct text line = TEXT_INIT;
    struct json json;
    bool well = strcmp(tag, "ok") == 0;

    if (!as_json) {
        enum console_colour colour = well                      ? CONSOLE_GOOD
                                     : strcmp(tag, "off") == 0 ? CONSOLE_PLAIN
                                                               : CONSOLE_WARM;
        (void)console_printf("%s%-4s%s %-14s %s%s%s\n", console_colour(colour),
                             tag, console_colour(CONSOLE_PLAIN), name, detail,
                             detail[0] == '\0' ? "" : "; ", meaning);
        return;
    }
    json_open(&json, &line);
    json_object(&json);
    json_key(&json, "name");
    json_string(&json, name);
    json_key(&json, "ok");
    json_bool(&json, well);
    json_key(&json, "tag");
    json_string(&json, tag);
    json_key(&json, "detail");
    json_string(&json, detail);
    json_key(&json, "meaning");
    json_string(&json, meaning);
    json_end(&json);
    text_addc(&line, '\n');
    (void)console_write(text_span(&line));
}

static void finding(bool as_json, const char *name, bool well,
                    const char *detail, const char *meaning) {
    print_finding(as_json, name, well ? "ok" : "warn", detail, meaning);
}

static void find_features(bool as_json) {
    struct feature features[FEATURES_MAX];
    size_t count = features_probe(NULL, features);

    for (size_t i = 0; i < count; i++)
        print_finding(as_json, features[i].name,
                      features[i].present  ? "ok"
                      : features[i].needed ? "warn"
                                           : "off",
                      features[i].detail, features[i].meaning);
}

static bool find_disk(struct call *call, const struct base *base,
                      bool as_json) {
    struct statvfs space;

    if (fstatvfs(base->fd, &space) != 0)
        return true;
    uint64_t free_mib = (uint64_t)space.f_bavail * space.f_frsize >> 20;
    bool well = free_mib >= 100 && space.f_favail > 1000;
    finding(as_json, "disk", well,
            arena_printf(&call->arena,
                         "%" PRIu64 " MiB and %" PRIu64 " inodes free",
                         free_mib, (uint64_t)space.f_favail),
            well ? "enough space" : "jobs stop when the disk is full");
    return well;
}

/* The supervisor of the running server, or of one that is started from here,
 * raises its limit as far as it may. */
static bool find_slots(struct call *call, const struct base *base,
                       bool as_json) {
    struct rlimit limit;
    pid_t server = base_role_holder(base, exec_role.name);
    unsigned wanted = (unsigned)base->config.queue.concurrency;

    if (prlimit(server > 0 ? server : 0, RLIMIT_NOFILE, NULL, &limit) != 0 &&
        getrlimit(RLIMIT_NOFILE, &limit) != 0)
        return true;
    unsigned most = guard_slots_within(limit.rlim_max, wanted);
    finding(as_json, "slots", most >= wanted,
            arena_printf(&call->arena,
                         "%u of %u, with at most %" PRIu64 " open files",
                         most < wanted ? most : wanted, wanted,
                         (uint64_t)limit.rlim_max),
            most >= wanted ? "the limit on open files allows all of them"
                           : "fewer tasks run at once than `concurrency` says: "
                             "raise the limit on open files (ulimit -n, "
                             "LimitNOFILE=)");
    return most >= wanted;
}

static bool find_registry(struct call *call, const struct base *base,
                          bool as_json) {
    struct err err = {0};
    bool well = store_verify(base->store, &err);

    finding(as_json, "registry", well,
            arena_printf(&call->arena, "version %d, %" PRIu64 " events",
                         store_version(base->store), store_seq(base->store)),
            well ? "the event chain is intact" : err.text);
    return well;
}

static bool find_restored(struct call *call, const struct base *base,
                          bool as_json) {
    struct err err = {0};
    struct span since = {0};
    bool well = base_restored(base, &call->arena, &since, &err);

    if (well && since.len == 0)
        return true;
    finding(as_json, "restored", false, arena_string(&call->arena, since),
            well ? "what was in the backup is held, and schedules do not fire; "
                   "once the base of the backup runs nothing any more, "
                   "`pointsman restore --resume` starts them"
                 : err.text);
    return false;
}

/* With a clock behind the newest event, times in the history would run
 * backwards. */
static bool find_clock(struct call *call, const struct base *base,
                       bool as_json) {
    struct store_event *events;
    size_t count = 0;
    uint64_t seq = store_seq(base->store);
    char text[WALL_TEXT_BYTES];
    struct wall now = clock_wall();
    bool well = !store_events(base->store, seq > 0 ? seq - 1 : 0, 0, 1,
                              &call->arena, &events, &count, NULL) ||
                count == 0 || events[0].at.ns <= now.ns + 300 * NS_PER_S;

    finding(as_json, "clock", well, wall_format(now, text),
            well ? "not behind the newest event"
                 : "more than 5 minutes behind the newest event");
    return well;
}

/* Only if approvals may or must be signed. */
static bool find_signatures(struct call *call, const struct base *base,
                            bool as_json) {
    const char *signers =
        arena_string(&call->arena, base->config.queue.allowed_signers);
    bool wanted = faccessat(base->fd, signers, F_OK, 0) == 0;
    const struct config_approval *policy;
    for (size_t i = 0; (policy = policy_config_at(&base->config, i)) != NULL;
         i++)
        wanted |= policy->is_signed == 1;
    if (!wanted)
        return true;
    struct err err = {0};
    bool keygen = signature_possible(&err);
    bool safe = keygen && signature_lists_check(base, &err);
    bool readable = faccessat(base->fd, signers, R_OK, 0) == 0;
    finding(as_json, "signatures", safe && readable, signers,
            !safe ? err.text
            : readable
                ? "signed approvals can be verified"
                : "the allowed signers file cannot be read: no signature "
                  "is accepted");
    return safe && readable;
}

/* Only if there are policies or persons. */
static bool find_policies(const struct base *base, bool as_json) {
    struct err err = {0};
    bool well = policies_check(base, &err);
    if (policy_config_at(&base->config, 0) != NULL || !well)
        finding(as_json, "approval", well, "",
                well ? "the policies can be met, and their accounts and groups "
                       "exist"
                     : err.text);
    return well;
}

/* Returns what is wrong with a schedule, or NULL. */
static const char *schedule_fault(struct call *call, struct cron_zones *zones,
                                  const struct schedule_row *row) {
    struct schedule_spec spec;
    struct schedule_rule rule;
    struct err err = {0};
    int64_t due;

    if (!schedule_spec_parse(row->spec, &call->arena, &spec, &err) ||
        !schedule_rule_make(&spec, row->name, row->seed, zones, &rule, &err))
        return arena_printf(&call->arena, "%.*s: %s", (int)row->name.len,
                            row->name.p, err.text);
    bool fires =
        schedule_rule_next(&rule, wall_s(clock_wall()), row->high_s, &due);
    schedule_rule_clear(&rule);
    return fires ? NULL
                 : arena_printf(&call->arena, "%.*s never fires again",
                                (int)row->name.len, row->name.p);
}

static bool find_schedules(struct call *call, const struct base *base,
                           bool as_json) {
    struct schedule_row *rows;
    struct err err = {0};
    size_t count = 0, wrong = 0;

    if (!schedule_row_list(base->store, SPAN(""), 0, &call->arena, &rows,
                           &count, &err)) {
        finding(as_json, "schedules", false, "", err.text);
        return false;
    }
    struct cron_zones *zones = cron_zones_new(0); /* each is read once */
    for (size_t i = 0; i < count; i++) {
        const char *fault = schedule_fault(call, zones, &rows[i]);
        if (fault == NULL)
            continue;
        finding(as_json, "schedule", false, fault,
                "see `pointsman cron check` and `cron list`");
        wrong++;
    }
    cron_zones_free(zones);
    if (wrong == 0)
        finding(as_json, "schedules", true,
                arena_printf(&call->arena, "%zu schedule%s", count,
                             count == 1 ? "" : "s"),
                count == 0 ? "nothing to check" : "all have a next run");
    return wrong == 0;
}

static bool find_nodes(struct call *call, const struct base *base,
                       bool as_json) {
    struct node_source_row *rows;
    struct err err = {0};
    size_t count, wrong = 0;

    if (!node_row_sources(base->store, &call->arena, &rows, &count, &err)) {
        finding(as_json, "nodes", false, "", err.text);
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        if (rows[i].error.len == 0)
            continue;
        finding(as_json, "nodes", false,
                arena_printf(&call->arena, "source '%.*s' fails: %.*s",
                             (int)rows[i].name.len, rows[i].name.p,
                             (int)rows[i].error.len, rows[i].error.p),
                "its nodes are those that it had before");
        wrong++;
    }
    if (wrong == 0 && count > 0)
        finding(as_json, "nodes", true,
                arena_printf(&call->arena, "%zu source%s", count,
                             count == 1 ? "" : "s"),
                "none fails");
    return wrong == 0;
}

struct faults {
    bool as_json, well;
};

static void fault_found(void *ctx, const char *sentence) {
    struct faults *faults = ctx;
    faults->well = false;
    finding(faults->as_json, "modes", false, "", sentence);
}

static void shell_fault_found(void *ctx, const char *sentence) {
    struct faults *faults = ctx;
    faults->well = false;
    finding(faults->as_json, "shell", false, "", sentence);
}

/* The account of `pointsman shell`, if there is one. */
static bool find_shell(const struct base *base, bool as_json) {
    struct faults faults = {as_json, true};
    base_shell_check(base, shell_fault_found, &faults);
    if (faults.well && base->access.has_shell)
        finding(as_json, "shell", true, "",
                "its account has no role of its own and cannot add keys");
    return faults.well;
}

static bool find_access(const struct base *base, bool as_json) {
    struct faults faults = {as_json, true};
    struct err err = {0};

    if (!base_modes_check(base, fault_found, &faults, &err))
        fault_found(&faults, err.text);
    if (faults.well)
        finding(as_json, "modes", true, "", "only the owner reaches the files");
    if (!base_access_check(base, &err)) {
        finding(as_json, "access", false, "", err.text);
        return false;
    }
    return faults.well;
}

struct work_findings {
    bool as_json, well;
};

static void work_found(void *ctx, const struct run_as_finding *found) {
    struct work_findings *findings = ctx;
    findings->well &= !found->is_problem;
    print_finding(findings->as_json, "run-as", found->tag, found->what,
                  found->meaning);
}

/* Where the work of others runs as the owner, or may not run. */
static bool find_work_of_others(struct call *call, const struct base *base,
                                bool as_json) {
    struct work_findings findings = {as_json, true};
    struct err err = {0};

    if (!run_as_report(base, &call->arena, work_found, &findings, &err)) {
        finding(as_json, "run-as", false, "", err.text);
        return false;
    }
    return findings.well;
}

/* Otherwise the server cannot tell whether a caller belongs to a job. */
static bool find_callers(bool as_json) {
    bool well = access("/proc/1/stat", R_OK) == 0;
    finding(as_json, "callers", well, "",
            well ? "the server finds out whether a caller belongs to a job"
                 : "/proc hides the processes of other accounts (hidepid), so "
                   "they can neither approve change sets nor change settings");
    return well;
}

struct target_finding {
    struct call *call;
    const char *fault; /* the first problem */
    size_t more;
};

static void on_target_problem(void *ctx, const char *sentence) {
    struct target_finding *found = ctx;
    if (found->fault == NULL)
        found->fault = arena_printf(&found->call->arena, "%s", sentence);
    else
        found->more++;
}

/* Looks at the branch itself. Returns the first problem, or NULL. */
static const char *branch_fault(struct call *call, struct base *base,
                                const struct config_target *target) {
    struct target_finding found = {.call = call};
    struct err err = {0};
    if (!target_check(base, target, false, on_target_problem, &found, &err))
        return arena_printf(&call->arena, "%s", err.text);
    return found.more == 0 ? found.fault
                           : arena_printf(&call->arena,
                                          "%s; and %zu more, see `pointsman "
                                          "fsck`",
                                          found.fault, found.more);
}

static const char no_repository[] =
    "no git repository: its change sets wait for one";

/* Returns what is wrong with the branch now, or NULL. */
static const char *target_fault(struct call *call, struct base *base,
                                const struct config_target *target,
                                const char *path) {
    if (target->git.len == 0)
        return NULL;
    if (!git_is_repository(path))
        return no_repository;
    const char *fault =
        target_config_obstacle(path, target->branch, &call->arena);
    return fault != NULL ? fault : branch_fault(call, base, target);
}

/* What is in the way of its change sets now, or NULL. `fault`: what is wrong
 * with the branch. What they found when they tried last is a fault only if it
 * can still be seen. */
static const char *wait_fault(struct call *call,
                              const struct config_target *target,
                              const struct target_outage *outage,
                              const char *path, const char *fault) {
    if (fault == no_repository || (fault != NULL && outage == NULL))
        return fault;
    if (fault == NULL && target->git.len > 0)
        fault = target_config_space_fault(path, &call->arena);
    if (fault == NULL && outage != NULL)
        fault = target_config_fault(target, path, &call->arena);
    return fault == NULL
               ? NULL
               : arena_printf(&call->arena,
                              "unavailable, its change sets wait: %s", fault);
}

static const struct target_outage *
outage_of(const struct target_outage *outages, size_t count,
          const struct config_target *target) {
    for (size_t i = 0; i < count; i++)
        if (span_equal(outages[i].target, target->name))
            return &outages[i];
    return NULL;
}

/* `outage` NULL: none is on record. */
static bool find_target(struct call *call, struct base *base,
                        const struct config_target *target,
                        const struct target_outage *outage, bool as_json) {
    bool is_branch = target->git.len > 0;
    char at[WALL_TEXT_BYTES];
    const char *path =
        is_branch ? base_resolve(base->path, target->git, &call->arena) : "";
    const char *fault = target_fault(call, base, target, path);
    const char *well = is_branch
                           ? "its newest commit is there with all its files"
                           : "no change set waits for its command";
    fault = wait_fault(call, target, outage, path, fault);
    if (outage != NULL)
        well = arena_printf(
            &call->arena,
            "nothing is in the way now; its change sets, which try again by "
            "themselves, found it unavailable at %s: %.*s",
            wall_format(outage->since, at), (int)outage->why.len,
            outage->why.p);
    finding(as_json, "target", fault == NULL,
            arena_printf(&call->arena, "%.*s: %s", (int)target->name.len,
                         target->name.p, is_branch ? path : "a command"),
            fault == NULL ? well : fault);
    return fault == NULL;
}

static bool find_targets(struct call *call, struct base *base, bool as_json) {
    const struct config *config = &base->config;
    struct target_outage *outages;
    size_t count;
    struct err err = {0};
    bool well = true;

    if (!target_outages_read(base->store, &call->arena, &outages, &count,
                             &err)) {
        finding(as_json, "targets", false, "", err.text);
        return false;
    }
    for (size_t i = 0; i < config->target_count; i++) {
        const struct config_target *target = &config->targets[i];
        well &= find_target(call, base, target,
                            outage_of(outages, count, target), as_json);
    }
    if (!target_config_is_apart(config, base->path, &err) ||
        !target_config_has_users(config, &err)) {
        finding(as_json, "targets", false, "", err.text);
        well = false;
    }
    return well;
}

/* Only a running server knows what its environment commands print. */
static bool find_environments(struct call *call, bool as_json) {
    CLEANUP(text_clear) struct text reply = TEXT_INIT;
    struct client *client = NULL;
    struct err err = {0};
    bool well = true;

    if (!call_client(call, &client, &err))
        return true;
    bool ok = client_get(client, &reply, &err, "/api/v1/trains");
    client_close(client);
    struct span rest = text_span(&reply), line;
    while (ok && span_cut(&rest, '\n', &line)) {
        const char *state = call_line_text(line, "environment", &call->arena);
        bool failed = strcmp(state, "failed") == 0;
        if (!failed && strcmp(state, "known") != 0)
            continue;
        finding(as_json, "environment", !failed,
                call_line_printable(line, "target", &call->arena),
                failed ? arena_printf(&call->arena,
                                      "no result of its checks is used again: "
                                      "%s",
                                      call_line_printable(line,
                                                          "environment_detail",
                                                          &call->arena))
                       : "what its checks depend on is known");
        well &= !failed;
    }
    return well;
}

int cmd_doctor(struct call *call) {
    bool json = call_has(call, "json"), well = true;
    struct base *base = NULL;
    struct err err = {0};
    struct base_open how = {.read_only = true};
    const char *path;

    if (!call_operands(call, 0, 0, &err))
        return console_error(&err);
    find_features(json);
    if (!call_base(call, &path, &err) || !base_open(path, &how, &base, &err)) {
        finding(json, "base", false, "", err.text);
        return console_finish(console_error(&err));
    }
    finding(json, "base", true, base->path, "can be opened");
    well &= find_registry(call, base, json);
    well &= find_restored(call, base, json);
    well &= find_access(base, json);
    well &= find_shell(base, json);
    well &= find_work_of_others(call, base, json);
    well &= find_callers(json);
    well &= find_disk(call, base, json);
    well &= find_slots(call, base, json);
    well &= find_clock(call, base, json);
    well &= find_schedules(call, base, json);
    well &= find_nodes(call, base, json);
    well &= find_policies(base, json);
    well &= find_signatures(call, base, json);
    well &= find_targets(call, base, json);
    base_close(base);
    well &= find_environments(call, json);
    if (!well)
        console_note("pointsman: the base has problems, see above");
    return console_finish(well ? 0 : 1);
}
