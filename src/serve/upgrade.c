#include "serve/upgrade.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "lib/json.h"
#include "lib/log.h"
#include "maintenance/target_config.h"
#include "os/clock.h"
#include "os/dir.h"
#include "os/guard_frame.h"

/* Distinct from attempts, landers and other subprocesses. */
#define PROBE_ID (UINT64_C(1) << 60)

enum {
    PROBE_MS = 30000,
    STEP_MS = 5,
    QUIET_MS = 10000,
    ARGUMENTS_MOST = 4096,
    WAITS_MOST = 8 /* sets that are named */
};

enum upgrade_step {
    NONE,
    PROBING,
    SETTLING,
    PREPARING,
    QUIESCING,
    FAILED,
    DONE
};

struct upgrade {
    struct upgrade_options options;
    enum upgrade_step step;
    uint64_t number;
    char *error;
    uv_timer_t timer;
    struct mono until;
};

static void set_error(struct upgrade *upgrade, struct span error) {
    free(upgrade->error);
    upgrade->error = span_string(error);
}

/* ---- life ---------------------------------------------------------------- */

struct upgrade *upgrade_new(const struct upgrade_options *options) {
    struct upgrade *upgrade = mem_alloc(sizeof(*upgrade));
    upgrade->options = *options;
    upgrade->options.before = NULL;
    uv_timer_init(options->loop, &upgrade->timer);
    upgrade->timer.data = upgrade;
    if (options->before == NULL)
        return upgrade;
    upgrade->number = options->before->number;
    upgrade->step = options->before->failed.len > 0 ? FAILED : DONE;
    set_error(upgrade, options->before->failed);
    return upgrade;
}

static void on_closed(uv_handle_t *handle) {
    struct upgrade *upgrade = handle->data;
    free(upgrade->error);
    free(upgrade);
}

void upgrade_free(struct upgrade *upgrade) {
    if (upgrade != NULL)
        uv_close((uv_handle_t *)&upgrade->timer, on_closed);
}

uint64_t upgrade_number(const struct upgrade *upgrade) {
    return upgrade->number;
}

/* All sets have ended, and commands start no more. */
static const char *waits_for_commands(const struct upgrade *upgrade,
                                      struct arena *arena) {
    uint64_t num = roles_unstarted(upgrade->options.roles);
    struct job job;
    if (num == 0 ||
        !store_job(upgrade->options.base->store, num, arena, &job, NULL))
        return "what has just been started or submitted";
    return arena_printf(arena, "the start of command '%.*s'", (int)job.id.len,
                        job.id.p);
}

const char *upgrade_waits_for(const struct upgrade *upgrade,
                              struct arena *arena) {
    CLEANUP(text_clear) struct text words = TEXT_INIT;
    struct store_list list = {.states = STATE_BIT(STATE_EXECUTING),
                              .kinds = job_kinds_with(JOB_LANDS),
                              .limit = WAITS_MOST + 1};
    struct job *jobs;
    size_t count = 0;
    if (upgrade->step != SETTLING && upgrade->step != PREPARING)
        return NULL;
    if (!store_jobs(upgrade->options.base->store, &list, arena, &jobs, &count,
                    NULL) ||
        count == 0)
        return waits_for_commands(upgrade, arena);
    text_adds(&words, "change sets that are landed, checked or rolled back: ");
    for (size_t i = 0; i < count && i < WAITS_MOST; i++)
        text_addf(&words, "%s%.*s", i > 0 ? ", " : "", (int)jobs[i].id.len,
                  jobs[i].id.p);
    if (count > WAITS_MOST)
        text_adds(&words, " and more");
    return arena_string(arena, text_span(&words));
}

void upgrade_show(const struct upgrade *upgrade, struct text *out) {
    static const char *const words[] = {
        [NONE] = "none",         [PROBING] = "probing",
        [SETTLING] = "waiting",  [PREPARING] = "waiting",
        [QUIESCING] = "waiting", [FAILED] = "failed",
        [DONE] = "done"};
    CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
    struct json json;
    json_open(&json, out);
    json_object(&json);
    json_key(&json, "number");
    json_i64(&json, (int64_t)upgrade->number);
    json_key(&json, "state");
    json_string(&json, words[upgrade->step]);
    json_key(&json, "program");
    json_string(&json, upgrade->options.program);
    json_key(&json, "error");
    json_string(&json, upgrade->step == FAILED ? upgrade->error : NULL);
    json_key(&json, "waits_for");
    json_string(&json, upgrade_waits_for(upgrade, &arena));
    json_end(&json);
    text_addc(out, '\n');
}

/* ---- steps --------------------------------------------------------------- */

static void fail(struct upgrade *upgrade, struct span why) {
    bool prepared = upgrade->step == SETTLING || upgrade->step == PREPARING;
    upgrade->step = FAILED;
    set_error(upgrade, why);
    uv_timer_stop(&upgrade->timer);
    log_error("not upgraded: %.*s", (int)why.len, why.len > 0 ? why.p : "");
    if (prepared)
        roles_proceed(upgrade->options.roles);
}

static void quiesce(struct upgrade *upgrade) {
    upgrade->step = QUIESCING;
    upgrade->until = mono_add_ms(clock_mono(), QUIET_MS);
    log_info("upgrading to '%s': connections wait from now on",
             upgrade->options.program);
    upgrade->options.quiesce(upgrade->options.ctx);
}

static void fail_late(struct upgrade *upgrade) {
    CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
    const char *why = arena_printf(
        &arena,
        "after %" PRId64 " s (queue.drain) it still waited for %s; try "
        "again later",
        upgrade->options.base->config.queue.drain_s,
        upgrade_waits_for(upgrade, &arena));
    fail(upgrade, span_of(why));
}

static void on_timer(uv_timer_t *timer) {
    struct upgrade *upgrade = timer->data;
    bool late = clock_mono().ns >= upgrade->until.ns;
    bool may_leave = roles_may_leave(upgrade->options.roles);
    if (upgrade->step == SETTLING &&
        roles_have_settled(upgrade->options.roles)) {
        upgrade->step = PREPARING;
        roles_prepare(upgrade->options.roles);
    } else if (upgrade->step == PREPARING && may_leave) {
        quiesce(upgrade);
    } else if (upgrade->step != QUIESCING && late) {
        fail_late(upgrade);
    } else if (upgrade->step == QUIESCING && may_leave &&
               (late || !upgrade->options.is_busy(upgrade->options.ctx))) {
        uv_timer_stop(timer);
        upgrade->options.leave(upgrade->options.ctx);
    }
}

static void settle(struct upgrade *upgrade) {
    upgrade->step = SETTLING;
    upgrade->until = mono_add_ms(
        clock_mono(), upgrade->options.base->config.queue.drain_s * 1000);
    roles_settle(upgrade->options.roles);
    uv_timer_start(&upgrade->timer, on_timer, STEP_MS, STEP_MS);
}

/* Up to here nothing has changed. */
static bool may_give_up(const struct upgrade *upgrade) {
    return upgrade->step == PROBING || upgrade->step == SETTLING ||
           upgrade->step == PREPARING;
}

static bool upgrade_is_pending(const struct upgrade *upgrade) {
    return may_give_up(upgrade) || upgrade->step == QUIESCING;
}

bool upgrade_give_up(struct upgrade *upgrade, struct err *err) {
    if (!may_give_up(upgrade))
        return err_set(err, ERR_BUSY,
                       upgrade->step == QUIESCING
                           ? "it is too late to give up the upgrade"
                           : "no upgrade is under way");
    fail(upgrade, SPAN("it was given up"));
    return true;
}

bool upgrade_begin(struct upgrade *upgrade, struct err *err) {
    const struct upgrade_options *options = &upgrade->options;
    struct guard *guard = roles_guard(options->roles);
    char state[24], protocol[24];
    if (upgrade_is_pending(upgrade))
        return err_set(err, ERR_BUSY, "an upgrade is under way");
    if (guard == NULL)
        return err_set(err, ERR_UNAVAILABLE,
                       "this process runs no tasks: restart it instead");
    snprintf(state, sizeof(state), "%d", UPGRADE_STATE_VERSION);
    snprintf(protocol, sizeof(protocol), "%d", GUARD_PROTOCOL);
    const char *argv[] = {options->program,    "upgrade-probe", "--base",
                          options->base->path, "--state",       state,
                          "--guard",           protocol,        NULL};
    struct guard_start start = {.id = PROBE_ID + ++upgrade->number,
                                .argv = (char *const *)(uintptr_t)argv,
                                .envp = environ,
                                .mask = 077,
                                .stdin_fd = -1,
                                .outside_slots = true,
                                .timeout_ms = PROBE_MS};
    upgrade->step = PROBING;
    guard_start(guard, &start);
    roles_wake(options->roles);
    return true;
}

static struct span first_line(struct span output) {
    struct span line = {0};
    (void)span_cut(&output, '\n', &line);
    if (span_starts(line, "pointsman: "))
        line = span_make(line.p + strlen("pointsman: "),
                         line.len - strlen("pointsman: "));
    return line;
}

static void probe_failed(struct upgrade *upgrade, const struct guard_end *end) {
    CLEANUP(text_clear) struct text why = TEXT_INIT;
    struct span line = first_line(end->output);
    text_addf(&why, "'%s' ", upgrade->options.program);
    if (end->result != GUARD_RAN) {
        text_adds(&why, "cannot be started: ");
        text_addspan(&why, end->error);
    } else if (end->timed_out) {
        text_adds(&why, "did not answer in time");
    } else if (end->signal != 0) {
        text_addf(&why, "was killed by signal %d", end->signal);
    } else if (end->exit_code == 0) {
        text_adds(&why, "is another program: it did not answer the question "
                        "whether it can go on");
    } else if (line.len > 0) {
        text_adds(&why, "cannot go on: ");
        text_addescaped(&why, line);
    } else {
        text_addf(&why, "exited with %d", end->exit_code);
    }
    fail(upgrade, text_span(&why));
}

bool upgrade_ended(struct upgrade *upgrade, const struct guard_end *end) {
    if (upgrade == NULL || end->id != PROBE_ID + upgrade->number)
        return false;
    if (upgrade->step != PROBING)
        return true;
    if (end->result == GUARD_RAN && end->signal == 0 && !end->timed_out &&
        end->exit_code == 0 &&
        span_is(first_line(end->output), UPGRADE_PROBE_ANSWER))
        settle(upgrade);
    else
        probe_failed(upgrade, end);
    return true;
}

/* ---- the probe ----------------------------------------------------------- */

bool upgrade_probe(const char *base_path, const struct upgrade_needs *needs,
                   struct err *err) {
    struct base *base;
    struct base_open how = {.read_only = true};
    if (needs->guard != GUARD_PROTOCOL)
        return err_set(err, ERR_REFUSED,
                       "the supervisor speaks protocol %" PRId64
                       ", this program %d: restart the server instead",
                       needs->guard, GUARD_PROTOCOL);
    if (needs->state != UPGRADE_STATE_VERSION)
        return err_set(err, ERR_REFUSED,
                       "the server hands over version %" PRId64
                       ", this program needs version %d: restart the server "
                       "instead",
                       needs->state, UPGRADE_STATE_VERSION);
    if (!base_open(base_path, &how, &base, err))
        return false;
    bool ok = target_config_is_apart(&base->config, base->path, err);
    base_close(base);
    return ok;
}

/* ---- executing ----------------------------------------------------------- */

/* The arguments of this process, as the kernel has them. */
static char **own_arguments(struct text *memory) {
    char **argv = mem_alloc((ARGUMENTS_MOST + 1) * sizeof(*argv));
    int fd = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
    size_t count = 0;
    if (fd >= 0) {
        (void)dir_read_file(fd, UINT32_MAX, memory, NULL);
        close(fd);
    }
    text_addc(memory, '\0');
    for (char *p = memory->p;
         p + 1 < memory->p + memory->len && count < ARGUMENTS_MOST;
         p += strlen(p) + 1)
        argv[count++] = p;
    return argv;
}

static void pass_on(int state_fd, int program_fd) {
    char value[64];
    snprintf(value, sizeof(value), "%d,%d", state_fd, program_fd);
    setenv(UPGRADE_STATE_VARIABLE, value, 1);
}

static void execute_before(int program_fd, char **argv) {
    syscall(SYS_execveat, program_fd, "", argv, environ, AT_EMPTY_PATH);
    log_error("the program before cannot be executed: %s", strerror(errno));
}

void upgrade_execute(const char *program, int state_fd, int program_fd) {
    struct text memory = TEXT_INIT;
    char **argv = own_arguments(&memory);
    struct err err;
    pass_on(state_fd, program_fd);
    execve(program, argv, environ);
    err_errno(&err, errno, "cannot execute '%s'", program);
    log_error("%s", err.text);
    (void)upgrade_state_fail(state_fd, span_of(err.text));
    execute_before(program_fd, argv);
    free(argv);
    text_clear(&memory);
}

void upgrade_fall_back(int state_fd, int program_fd, const struct err *why) {
    struct text memory = TEXT_INIT;
    char **argv = own_arguments(&memory);
    log_error("cannot go on in place of the program before: %s", why->text);
    (void)upgrade_state_fail(state_fd, span_of(why->text));
    pass_on(state_fd, program_fd);
    execute_before(program_fd, argv);
    free(argv);
    text_clear(&memory);
}

bool upgrade_inherited(int *ret_state_fd, int *ret_program_fd) {
    const char *value = getenv(UPGRADE_STATE_VARIABLE);
    struct span rest = span_of(value), first;
    uint64_t state, program;
    bool ok = value != NULL && span_cut(&rest, ',', &first) &&
              span_u64(first, &state) && span_u64(rest, &program) &&
              state <= INT32_MAX && program <= INT32_MAX;
    unsetenv(UPGRADE_STATE_VARIABLE);
    if (!ok)
        return false;
    *ret_state_fd = (int)state;
    *ret_program_fd = (int)program;
    return fcntl(*ret_state_fd, F_GETFD) >= 0;
}
