/* run: a command through the queue as if it ran here. With a server, the
 * server runs it; without one, this process hosts the roles until the job
 * has ended; if another `run` hosts them already, this one joins it. */
#include "cli/commands.h"
#include "cli/interrupt.h"
#include "cli/call_connect.h"
#include "cli/follow.h"
#include "cli/job_output.h"
#include "cli/submission_line.h"
#include "cli/console.h"

#include <inttypes.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "commands/command_admit.h"
#include "core/reason.h"
#include "os/clock.h"
#include "os/fd.h"
#include "os/guard.h"
#include "os/lock.h"
#include "base/base.h"
#include "serve/host.h"
#include "serve/roles.h"
#include "serve/scheduler_role.h"

#define RUNS_LOCK "runs.lock" /* in ctrl/ */

struct run {
    struct call *call;
    struct client *client;
    const char *id;
    struct job_output output;
    struct text end; /* the answer to the wait for the end */
    int wanted_fd;   /* its lock shows that this `run` waits for the job */
    /* hosting */
    struct base *base;
    struct roles_box box;
    struct host *host;
    bool in_terminal;
    bool served;   /* a server answered at the start */
    bool alone;    /* no process hosts the roles any more */
    bool has_said; /* what the job waits for, and how to end that */
    /* signals */
    unsigned interrupts; /* so far */
    unsigned patience;   /* so many do not end the current request */
    bool answering;      /* one, or the submission, is being answered */
    bool cancelled;      /* the job will not start (again) */
    bool by_operator;    /* it ended because it was cancelled */
    bool not_started;    /* the account that --user names does not exist */
};

/* ---- hosting ------------------------------------------------------------- */

static void wake_host(void *host) {
    host_hurry(host);
}

/* ctrl/runs.lock: each `run` locks the byte of the job that it waits for. */
static uint64_t byte_of(struct span id) {
    char sum[SUM_TEXT_BYTES];

    sum_bytes(id, sum);
    sum[15] = '\0';
    return strtoull(sum, NULL, 16);
}

static bool is_wanted(void *ctx, struct span id) {
    const struct run *run = ctx;
    return lock_byte_is_held(run->base->dirs[BASE_CTRL], RUNS_LOCK,
                             byte_of(id));
}

/* Before the job is submitted, because the process that hosts the roles looks
 * for the lock as soon as it sees the job. */
static bool want(struct run *run, struct span id, struct err *err) {
    CLEANUP(text_clear) struct text ctrl = TEXT_INIT;

    text_addf(&ctrl, "%s/ctrl", client_base_path(run->client));
    CLEANUP(fd_close)
    int dir = open(text_string(&ctrl), O_PATH | O_DIRECTORY | O_CLOEXEC);
    return lock_take_byte(dir, RUNS_LOCK, byte_of(id), &run->wanted_fd, err);
}

/* A task in the terminal's group may die of Ctrl-C at once. Its end is looked
 * at only when the job has been cancelled, as it is with a server. */
static bool is_paused(void *ctx) {
    const struct run *run = ctx;
    return run->answering || interrupt_pending() > 0;
}

/* Takes the roles if no other process has them. */
static bool host_if_free(struct run *run, struct err *err) {
    struct base_open how = {.store = {.own_thread = true,
                                      .wake = roles_wake_box,
                                      .wake_ctx = &run->box}};
    struct err why = {0};

    run->served = client_has_server(run->client);
    if (run->served)
        return true;
    if (!client_may_open(run->client, err) ||
        !base_open(client_base_path(run->client), &how, &run->base, err))
        return false;
    struct host_options options = {.base = run->base,
                                   .box = &run->box,
                                   .terminal = run->in_terminal,
                                   .hosts = is_wanted,
                                   .paused = is_paused,
                                   .ctx = run};
    if (host_open(&options, &run->host, &why)) {
        client_use_host(run->client, run->host);
        if (run->in_terminal)
            interrupt_spare_quit();
        interrupt_wake(wake_host, run->host);
        return true;
    }
    base_close(run->base);
    run->base = NULL;
    if (why.kind == ERR_RUNNING)
        return true;
    if (err != NULL)
        *err = why;
    return false;
}

/* This process also runs jobs that others submitted. */
static void report_others(struct run *run) {
    CLEANUP(text_clear) struct text reply = TEXT_INIT;

    if (run->host == NULL ||
        !client_get(run->client, &reply, NULL, "/api/v1/counts"))
        return;
    int64_t others = call_line_number(text_span(&reply), "executing");
    if (others > 0)
        console_note(
            "pointsman: waiting for %" PRId64 " other job%s to end; Ctrl-C "
            "requeues %s",
            others, others == 1 ? "" : "s", others == 1 ? "it" : "them");
}

static void run_close(struct run *run) {
    report_others(run);
    client_close(run->client);
    host_stop(run->host, run->interrupts > 0);
    interrupt_wake(NULL, NULL);
    host_close(run->host);
    fd_close(&run->wanted_fd);
    base_close(run->base);
    job_output_clear(&run->output);
    text_clear(&run->end);
}

/* ---- Ctrl-C -------------------------------------------------------------- */

static bool is_interrupted(void *ctx) {
    const struct run *run = ctx;
    return interrupt_pending() > run->patience;
}

/* A job that has ended already refuses this, which is fine. Another signal
 * leads to another cancel. */
static bool cancel(struct run *run, struct span body, struct err *err) {
    CLEANUP(text_clear) struct text reply = TEXT_INIT;
    const char *uri =
        arena_printf(&run->call->arena, "/api/v1/jobs/%s/cancel", run->id);
    struct err why = {0};

    run->answering = true;
    bool ok = follow_call(run->client, API_POST, uri, body, &reply, &why);
    run->answering = false;
    if (run->host != NULL)
        host_go_on(run->host);
    run->cancelled |= ok;
    if (ok || why.kind == ERR_REFUSED || why.kind == ERR_INTERRUPTED)
        return true;
    *err = why;
    return false;
}

/* Does no process run jobs? */
static bool host_is_gone(struct run *run) {
    CLEANUP(text_clear) struct text ctrl = TEXT_INIT;
    char lock[64];
    bool held = true;

    text_addf(&ctrl, "%s/ctrl", client_base_path(run->client));
    snprintf(lock, sizeof lock, BASE_ROLE_LOCK, exec_role.name);
    CLEANUP(fd_close)
    int dir = open(text_string(&ctrl), O_PATH | O_DIRECTORY | O_CLOEXEC);
    return dir >= 0 && lock_is_held(dir, lock, &held, NULL) && !held;
}

/* Has the process ended that runs this job? A server is only missed after a
 * second interrupt, since it may be about to start again. */
static bool on_tick(void *ctx) {
    struct run *run = ctx;
    run->alone = (!run->served || run->interrupts > 1) && host_is_gone(run);
    return run->alone;
}

/* The server that runs the job is gone. */
static void on_waiting(void *ctx, int64_t s) {
    struct run *run = ctx;
    char line[64] = "";

    if (run->id != NULL && s >= 0 && !run->has_said) {
        run->has_said = true;
        console_note("pointsman: %s goes on when a server runs (pointsman "
                     "serve); Ctrl-C cancels it",
                     run->id);
    }
    if (s >= 0)
        (void)snprintf(line, sizeof line, "no server answers, %" PRId64 " s",
                       s);
    progress_hide(&run->output.progress);
    progress_set(&run->output.progress, span_of(line));
}

/* False: nobody answers, or nobody runs the job, and to wait for its end would
 * be in vain. */
static bool is_worth_waiting(struct run *run, struct err *err) {
    if (run->interrupts < 2 || run->host != NULL)
        return true;
    if (!run->cancelled)
        return run->interrupts < 3 ||
               err_set(err, ERR_TEMPORARY,
                       "no server answers; '%s' may still run (pointsman "
                       "cancel %s)",
                       run->id, run->id);
    return client_has_server(run->client) || !host_is_gone(run) ||
           err_set(err, ERR_INTERRUPTED,
                   "'%s' is cancelled; no server is running, and the job ends "
                   "when one starts",
                   run->id);
}

/* The first signal cancels the job, the second one kills it. */
static bool answer_interrupt(struct run *run, struct err *err) {
    unsigned count = interrupt_take();

    if (count == 0)
        return true;
    bool first = run->interrupts == 0;
    run->interrupts += count;
    if (run->host != NULL && interrupt_last() == SIGINT)
        host_interrupted(run->host);
    progress_hide(&run->output.progress);
    if (first)
        console_note("pointsman: cancelling %s; Ctrl-C again kills it",
                     run->id);
    struct span body = run->interrupts > 1
                           ? SPAN("{\"reason\":\"interrupted\",\"kill\":true}")
                           : SPAN("{\"reason\":\"interrupted\"}");
    return cancel(run, body, err) && is_worth_waiting(run, err);
}

/* After an interrupted wait: handle signals first, then a lost host. */
static bool go_on(void *ctx, struct err *err) {
    struct run *run = ctx;
    if (!answer_interrupt(run, err))
        return false;
    if (!run->alone)
        return true;
    run->alone = false;
    return run->served ? is_worth_waiting(run, err) : host_if_free(run, err);
}

/* ---- following ----------------------------------------------------------- */

static char *output_uri(void *ctx) {
    const struct run *run = ctx;
    CLEANUP(text_clear) struct text path = TEXT_INIT;
    struct call_uri uri;

    text_addf(&path, "/api/v1/jobs/%s/logs", run->id);
    call_uri_begin(&uri, text_string(&path));
    call_uri_add(&uri, "follow", "1");
    call_uri_add(&uri, "frames", "1");
    if (run->output.place.len > 0)
        call_uri_add(&uri, "from", text_string(&run->output.place));
    return text_take(&uri.text);
}

static bool take_output(void *ctx, struct span bytes) {
    struct run *run = ctx;
    return job_output_take(&run->output, bytes);
}

static void output_broken(void *ctx) {
    struct run *run = ctx;
    job_output_break(&run->output);
}

/* Copies output until the job has ended or the reader of standard output has
 * closed it. In the latter case the job is cancelled: run directly, it would
 * have got SIGPIPE, and `run -- yes | head` has to end. */
static bool show_output(struct run *run, struct err *err) {
    struct follow follow = {.client = run->client,
                            .uri = output_uri,
                            .take = take_output,
                            .broken = output_broken,
                            .interrupted = go_on,
                            .ctx = run,
                            .until = MONO_NEVER};
    return follow_stream(&follow, err) &&
           (!console_reader_gone() ||
            cancel(run, SPAN("{\"reason\":\"output closed by its reader\"}"),
                   err));
}

static char *end_uri(void *ctx) {
    const struct run *run = ctx;
    struct text uri = TEXT_INIT;
    text_addf(&uri, "/api/v1/wait?id=%s", run->id);
    return text_take(&uri);
}

static bool take_end(void *ctx, struct span bytes) {
    struct run *run = ctx;
    text_addspan(&run->end, bytes);
    return true;
}

static void end_broken(void *ctx) {
    struct run *run = ctx;
    text_reset(&run->end);
}

static bool wait_for_end(struct run *run, int *ret_status, struct err *err) {
    struct arena *arena = &run->call->arena;
    struct follow follow = {.client = run->client,
                            .uri = end_uri,
                            .take = take_end,
                            .broken = end_broken,
                            .interrupted = go_on,
                            .ctx = run,
                            .until = MONO_NEVER};

    if (!follow_stream(&follow, err))
        return false;
    /* Then it does not matter whether the job was cancelled for that or had
     * ended before: console_finish() decides the exit status. */
    if (console_reader_gone() && run->interrupts == 0)
        return true;
    struct span line = span_trim(text_span(&run->end));
    *ret_status = (int)call_line_number(line, "exit_code");
    const char *reason = call_line_text(line, "reason", arena);
    const char *detail = call_line_printable(line, "detail", arena);
    run->by_operator =
        run->interrupts > 0 && strcmp(reason, REASON_OPERATOR) == 0;
    if (run->by_operator)
        reason = "interrupted";
    const char *limit = call_value(run->call, "timeout");
    if (strcmp(reason, "timeout") == 0 && detail[0] == '\0' && limit != NULL)
        detail = arena_printf(arena, "stopped after --timeout %s", limit);
    if (*ret_status != 0 && strncmp(reason, "exit-", 5) != 0)
        console_note("pointsman: %s: %s%s%s", run->id, reason,
                     detail[0] == '\0' ? "" : ": ", detail);
    return true;
}

/* From here on the id is known: if the answer is lost, the same request makes
 * no second job. Until it is accepted, nothing is started here: another job may
 * have that id. A signal has to wait for the answer, because the job may exist
 * already and must be cancelled then; a second one gives up. */
static bool submit(struct run *run, struct submission *submission,
                   struct err *err) {
    CLEANUP(text_clear) struct text body = TEXT_INIT, reply = TEXT_INIT;

    if (interrupt_pending() > 0)
        return err_set(err, ERR_INTERRUPTED,
                       "interrupted; nothing was submitted");
    if (submission->id.len == 0) {
        char id[ID_TEXT_BYTES];
        command_make_id(clock_seed(), id);
        submission->id = arena_span(&run->call->arena, span_of(id));
    }
    if (!run->served && !want(run, submission->id, err))
        return false;
    submission_format(submission, &body);
    run->patience = 1;
    run->answering = true;
    bool ok = follow_call(run->client, API_POST, "/api/v1/jobs?cause=run",
                          text_span(&body), &reply, err);
    run->answering = false;
    run->patience = 0;
    if (!ok)
        fd_close(&run->wanted_fd);
    if (run->host != NULL)
        host_go_on(run->host);
    if (ok)
        run->id = call_line_text(text_span(&reply), "id", &run->call->arena);
    else if (err->kind == ERR_CONFIG)
        run->not_started = true;
    else if (err->kind == ERR_INTERRUPTED)
        err_set(err, ERR_TEMPORARY,
                "the server does not answer; if it has accepted '%.*s', that "
                "job will run (pointsman cancel %.*s)",
                (int)submission->id.len, submission->id.p,
                (int)submission->id.len, submission->id.p);
    return ok;
}

/* Ends as the shell expects it if the command was interrupted, so that its loop
 * ends too. A command that has ended in its own way after a signal keeps its
 * exit code. */
static int finish(const struct run *run, int status) {
    bool gave_up = status == err_exit_status(ERR_INTERRUPTED);
    bool killed = gave_up || (run->by_operator && status > 128);

    if (killed && interrupt_last() == SIGINT)
        interrupt_die();
    return gave_up ? 128 + interrupt_last() : status;
}

int cmd_run(struct call *call) {
    struct run run = {.call = call,
                      .output = JOB_OUTPUT_INIT,
                      .wanted_fd = -1,
                      .in_terminal = isatty(STDIN_FILENO) == 1};
    struct submission submission;
    struct err err = {0};
    int status = 0;

    interrupt_catch();
    if (!submission_of_call(call, &submission, &err))
        return console_error(&err);
    struct client_options options = {.interrupted = is_interrupted,
                                     .interrupt_fd = interrupt_fd(),
                                     .tick = on_tick,
                                     .waiting = on_waiting,
                                     .ctx = &run};
    bool ok = call_client_with(call, &options, &run.client, &err) &&
              host_if_free(&run, &err) && submit(&run, &submission, &err) &&
              show_output(&run, &err) && wait_for_end(&run, &status, &err);
    progress_hide(&run.output.progress);
    if (!ok)
        status = console_error(&err);
    if (run.not_started)
        status = GUARD_NOT_STARTED;
    run_close(&run);
    return finish(&run, console_finish(status));
}
