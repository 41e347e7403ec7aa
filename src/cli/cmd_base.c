/* Commands on the base itself: init, serve, daemon, fsck, backup, restore. */
#include "cli/commands.h"
#include "cli/call_connect.h"
#include "cli/console.h"

#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "os/clock.h"
#include "os/fd.h"
#include "maintenance/backup.h"
#include "maintenance/restored.h"
#include "base/base.h"
#include "cli/interrupt.h"
#include "serve/daemon.h"
#include "serve/tables.h"
#include "serve/upgrade.h"
#include "maintenance/fsck.h"
#include "maintenance/target_config.h"
#include "changes/projection.h"
#include "landing/git.h"

/* ---- init ---------------------------------------------------------------- */

static bool targets_given(struct call *call, struct base_init *init,
                          struct err *err) {
    struct base_target *targets =
        arena_alloc(&call->arena, call->given_count * sizeof *targets);
    size_t cursor = 0;
    const char *word;

    init->targets = targets;
    while ((word = call_next(call, "target", &cursor)) != NULL)
        if (!base_target_parse(word, &targets[init->target_count++], err))
            return false;
    return true;
}

/* Without this, a mistake would show only when the first set waits. */
static void report_targets(struct call *call, const struct base_init *init) {
    for (size_t i = 0; i < init->target_count; i++) {
        const struct base_target *target = &init->targets[i];
        struct span branch =
            target->branch.len > 0 ? target->branch : SPAN("main");
        const char *git = arena_string(&call->arena, target->git);
        const char *why = target_config_obstacle(git, branch, &call->arena);
        if (!git_is_repository(git))
            why = arena_printf(&call->arena, "no git repository '%s' yet", git);
        if (why != NULL)
            console_note("target '%.*s' is unavailable, its change sets wait: "
                         "%s",
                         (int)target->name.len, target->name.p, why);
        else if ((why = target_config_branches(git, branch, &call->arena)) !=
                 NULL)
            console_note("target '%.*s': '%s' has no branch '%.*s'; it has %s",
                         (int)target->name.len, target->name.p, git,
                         (int)branch.len, branch.p, why);
    }
}

int cmd_init(struct call *call) {
    struct base_init init = {.group = call_value(call, "group"),
                             .roles = serve_roles};
    const char *base = call_value(call, "base");
    struct err err = {0};

    if (!call_operands(call, 0, 1, &err) || !targets_given(call, &init, &err))
        return console_error(&err);
    if (base != NULL && call->word_count > 0) {
        err_set(&err, ERR_USAGE, "give --base or DIR, not both");
        return console_error(&err);
    }
    const char *env = getenv("POINTSMAN_BASE");
    init.path = call->word_count > 0            ? call->words[0]
                : base != NULL                  ? base
                : env != NULL && env[0] != '\0' ? env
                                                : ".pointsman";
    if (!base_init(&init, &err))
        return console_error(&err);
    report_targets(call, &init);
    console_note("created base '%s'; try: pointsman run -- echo hello",
                 init.path);
    return console_finish(0);
}

/* ---- serve and daemon -----------------------------------------------------
 */

int cmd_serve(struct call *call) {
    struct daemon_options options = {
        .quiet = console_quiet(),
        .answers = true,
        .listen = call_value(call, "listen"),
    };
    struct err err = {0};

    if (!call_operands(call, 0, 0, &err) ||
        !call_base(call, &options.base_path, &err))
        return console_error(&err);
    return daemon_run(&options);
}

/* ---- upgrade --------------------------------------------------------------
 */

enum { UPGRADE_LOOK_MS = 50 };

struct upgrade_seen {
    int64_t number;
    const char *state, *error, *program, *waits_for;
};

static bool upgrade_read(struct call *call, struct span reply,
                         struct upgrade_seen *ret_seen) {
    struct span line;
    if (!span_cut(&reply, '\n', &line))
        return false;
    *ret_seen = (struct upgrade_seen){
        .number = call_line_number(line, "number"),
        .state = call_line_text(line, "state", &call->arena),
        .error = call_line_printable(line, "error", &call->arena),
        .program = call_line_printable(line, "program", &call->arena),
        .waits_for = call_line_printable(line, "waits_for", &call->arena),
    };
    return true;
}

/* Ctrl-C: the answer to that is the state that is awaited. */
static bool give_up_if_asked(struct client *client, struct err *err) {
    CLEANUP(text_clear) struct text reply = TEXT_INIT;
    if (interrupt_pending() == 0)
        return true;
    (void)interrupt_take();
    return client_call(client, API_POST, "/api/v1/upgrade/give-up", SPAN("{}"),
                       &reply, err) ||
           err_wrap(err, "the upgrade goes on");
}

static void note_waiting(const struct upgrade_seen *seen, bool *noted) {
    if (*noted || seen->waits_for[0] == '\0')
        return;
    console_note("the upgrade waits for %s; Ctrl-C gives it up",
                 seen->waits_for);
    *noted = true;
}

/* While the programs change places, a connection may be cut. */
static bool upgrade_await(struct call *call, struct client *client,
                          int64_t number, struct upgrade_seen *ret_seen,
                          struct err *err) {
    CLEANUP(text_clear) struct text reply = TEXT_INIT;
    struct pollfd interrupt = {.fd = interrupt_fd(), .events = POLLIN};
    bool noted = false;
    for (unsigned cuts = 0;;) {
        if (!give_up_if_asked(client, err))
            return false;
        if (!client_get(client, &reply, err, "/api/v1/upgrade")) {
            if (err->kind != ERR_UNAVAILABLE || ++cuts > 100)
                return false;
        } else if (!upgrade_read(call, text_span(&reply), ret_seen)) {
            return err_set(err, ERR_DATA, "the answer of the server is empty");
        } else if (ret_seen->number < number) {
            return err_set(
                err, ERR_TEMPORARY,
                "the server ended while it was upgraded, and another "
                "one serves now; try again");
        } else if ((strcmp(ret_seen->state, "done") == 0 ||
                    strcmp(ret_seen->state, "failed") == 0)) {
            return true;
        } else {
            note_waiting(ret_seen, &noted);
        }
        (void)poll(&interrupt, 1, UPGRADE_LOOK_MS);
    }
}

int cmd_upgrade(struct call *call) {
    CLEANUP(text_clear) struct text reply = TEXT_INIT;
    struct client *client = NULL;
    struct upgrade_seen seen = {0};
    struct err err = {0};

    if (!call_operands(call, 0, 0, &err) || !call_client(call, &client, &err))
        return console_error(&err);
    interrupt_catch();
    bool ok = client_call(client, API_POST, "/api/v1/upgrade", SPAN("{}"),
                          &reply, &err) &&
              upgrade_read(call, text_span(&reply), &seen) &&
              upgrade_await(call, client, seen.number, &seen, &err);
    client_close(client);
    if (ok && strcmp(seen.state, "failed") == 0)
        ok = err_set(&err, ERR_REFUSED,
                     "not upgraded, the server goes on as before: %s",
                     seen.error);
    if (!ok)
        return console_error(&err);
    console_note("the server has been upgraded to '%s'", seen.program);
    return console_finish(0);
}

int cmd_upgrade_probe(struct call *call) {
    struct upgrade_needs needs;
    const char *path;
    long long state = 0, guard = 0;
    struct err err = {0};

    if (!call_operands(call, 0, 0, &err) ||
        !call_number(call, "state", 1, INT32_MAX, &state, &err) ||
        !call_number(call, "guard", 1, INT32_MAX, &guard, &err) ||
        !call_base(call, &path, &err))
        return console_error(&err);
    needs = (struct upgrade_needs){state, guard};
    if (!upgrade_probe(path, &needs, &err))
        return console_error(&err);
    puts(UPGRADE_PROBE_ANSWER);
    return console_finish(0);
}

#define ALL_ROLES "all"

/* "prequeue, clock or all" */
static void list_roles(struct text *out) {
    for (const struct role *const *role = serve_roles; *role; role++)
        text_addf(out, "%s%s", (*role)->name, role[1] ? ", " : " or ");
    text_adds(out, ALL_ROLES);
}

/* *ret_role NULL: all. */
static bool role_of(const char *word, const struct role **ret_role,
                    struct err *err) {
    const char *names[ROLES_MOST + 1] = {ALL_ROLES};
    CLEANUP(text_clear) struct text list = TEXT_INIT;
    size_t count = 1;

    *ret_role = role_find(serve_roles, word);
    if (*ret_role != NULL || strcmp(word, ALL_ROLES) == 0)
        return true;
    for (const struct role *const *role = serve_roles; *role; role++)
        names[count++] = (*role)->name;
    const char *meant = text_nearest(word, names, count);
    if (meant != NULL)
        return err_set(err, ERR_USAGE, "no daemon '%s'; did you mean '%s'?",
                       word, meant);
    list_roles(&list);
    return err_set(err, ERR_USAGE, "no daemon '%s'; use %s", word,
                   text_string(&list));
}

int cmd_daemon(struct call *call) {
    struct daemon_options options = {.quiet = console_quiet()};
    bool once = call_has(call, "once"), idle = call_has(call, "until-idle");
    long long jobs = 0;
    struct err err = {0};

    if (!call_operands(call, 1, 1, &err) ||
        !role_of(call->words[0], &options.role, &err) ||
        !call_number(call, "jobs", 1, INT64_MAX, &jobs, &err))
        return console_error(&err);
    if (once && idle) {
        err_set(&err, ERR_USAGE, "give --once or --until-idle, not both");
        return console_error(&err);
    }
    if (!call_base(call, &options.base_path, &err))
        return console_error(&err);
    options.until = once   ? DAEMON_ONCE
                    : idle ? DAEMON_UNTIL_IDLE
                           : DAEMON_FOR_EVER;
    options.job_limit = (uint64_t)jobs;
    return daemon_run(&options);
}

/* ---- fsck ---------------------------------------------------------------- */

static void print_finding(const bool *as_json, const char *kind,
                          const char *sentence) {
    CLEANUP(text_clear) struct text line = TEXT_INIT;
    struct json json;

    if (!*as_json) {
        (void)console_printf("%s\n", sentence);
        return;
    }
    json_open(&json, &line);
    json_object(&json);
    json_key(&json, kind);
    json_string(&json, sentence);
    json_end(&json);
    text_addc(&line, '\n');
    (void)console_write(text_span(&line));
}

static void print_problem(void *ctx, const char *sentence) {
    print_finding(ctx, "problem", sentence);
}

static void print_remark(void *ctx, const char *sentence) {
    print_finding(ctx, "remark", sentence);
}

int cmd_fsck(struct call *call) {
    bool json = call_has(call, "json"), rebuild = call_has(call, "rebuild");
    struct fsck_report report = {
        .problem = print_problem, .remark = print_remark, .ctx = &json};
    struct base_open how = {.read_only = true};
    struct base *base = NULL;
    const char *path;
    struct err err = {0};

    if (!call_operands(call, 0, 0, &err) || !call_base(call, &path, &err))
        return console_error(&err);
    bool ok = rebuild ? rebuild_registry(path, clock_wall(), &report, &err)
                      : base_open(path, &how, &base, &err) &&
                            fsck_check(base, &report, &err);
    base_close(base);
    if (!ok)
        return console_error(&err);
    console_note("%s%" PRIu64 " change set%s, %" PRIu64 " event%s in their "
                 "logs, %" PRIu64 " problem%s",
                 report.problems > 0 ? "pointsman: " : "", report.sets,
                 text_plural(report.sets), report.events,
                 text_plural(report.events), report.problems,
                 text_plural(report.problems));
    return console_finish(report.problems > 0 ? 1 : 0);
}

/* ---- backup and restore ---------------------------------------------------
 */

static bool is_interrupted(void) {
    return interrupt_pending() > 0;
}

int cmd_backup(struct call *call) {
    struct base_open how = {.read_only = true};
    struct backup_report report = {0};
    struct base *base = NULL;
    const char *path;
    struct err err = {0};

    if (!call_operands(call, 1, 1, &err) || !call_base(call, &path, &err) ||
        !base_open(path, &how, &base, &err))
        return console_error(&err);
    const char *file = call->words[0];
    bool is_stream = strcmp(file, "-") == 0;
    if (!is_stream) /* which leaves nothing, and may wait for its reader */
        interrupt_catch();
    bool ok = is_stream
                  ? backup_stream(base, STDOUT_FILENO, &report, &err)
                  : backup_write(base, file, is_interrupted, &report, &err);
    base_close(base);
    if (report.replaced)
        console_note("pointsman: replaced '%s.part', which a backup that was "
                     "killed had left",
                     file);
    if (!ok) {
        int status = console_error(&err);
        if (err.kind == ERR_INTERRUPTED && interrupt_last() == SIGINT)
            interrupt_die();
        return err.kind == ERR_INTERRUPTED ? 128 + interrupt_last() : status;
    }
    console_note("wrote %s%s%s: %" PRIu64 " file%s, %" PRIu64 " bytes",
                 is_stream ? "" : "'", is_stream ? "the backup" : file,
                 is_stream ? "" : "'", report.files, text_plural(report.files),
                 report.bytes);
    return console_finish(0);
}

/* The roles of a running server notice it when they are triggered. */
static int resume(struct call *call) {
    struct base_open how = {0};
    struct base *base = NULL;
    const char *path;
    uint64_t count;
    struct err err = {0};

    if (!call_operands(call, 0, 0, &err) || !call_base(call, &path, &err) ||
        !base_open(path, &how, &base, &err))
        return console_error(&err);
    bool ok = restored_resume(base, clock_wall(), &count, &err) &&
              projection_catch_up(base, clock_wall(), &err);
    role_trigger_readers(serve_roles, base);
    base_close(base);
    if (!ok)
        return console_error(&err);
    console_note("released %" PRIu64 " job%s of base '%s'", count,
                 text_plural(count), path);
    return console_finish(0);
}

int cmd_restore(struct call *call) {
    CLEANUP(fd_close) int fd = -1;
    struct backup_report report = {0};
    const char *path;
    struct err err = {0};

    if (call_has(call, "resume"))
        return resume(call);
    if (!call_operands(call, 1, 1, &err) ||
        !call_open_input(call->words[0], &fd, &err))
        return console_error(&err);
    if (call_has(call, "base"))
        path = call_value(call, "base");
    else if (!call_base(call, &path, &err))
        return console_error(&err);
    if (!backup_restore(fd, path, serve_roles, clock_wall(), &report, &err)) {
        (void)err_wrap(&err, "cannot restore '%s'", call->words[0]);
        return console_error(&err);
    }
    console_note("restored base '%s': %" PRIu64 " file%s, %" PRIu64 " bytes",
                 path, report.files, text_plural(report.files), report.bytes);
    console_note("its work is held and its schedules do not fire: once the "
                 "base of the backup runs nothing any more, pointsman restore "
                 "--resume starts them");
    return console_finish(0);
}
