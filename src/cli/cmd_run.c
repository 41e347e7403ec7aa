/* run: a command through the queue as if it ran here. With a server, the
 * server runs it; without one, this process hosts the roles until the job
 * has ended; if another `run` hosts them already, this one joins it. */
#include "cli/commands.h"
#include "cli/interrupt.h"
#include "cli/call_connect.h"
#include "cli/job_output.h"
#include "cli/submission_line.h"
#include "cli/console.h"

#include <inttypes.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "os/fd.h"
#include "os/lock.h"
#include "base/base.h"
#include "serve/host.h"
#include "serve/roles.h"
#include "serve/scheduler_role.h"

struct run {
    struct call *call;
    struct client *client;
    char *id;
    /* hosting */
    struct base *base;
    struct roles_box box;
    struct host *host;
    bool in_terminal;
    bool alone;          /* no process hosts the roles any more */
    unsigned interrupts; /* Ctrl-C so far */
};

/* ---- hosting ------------------------------------------------------------- */

static void wake_host(void *host) {
    host_hurry(host);
}

/* Takes the roles if no other process has them. */
static bool host_if_free(struct run *run, struct err *err) {
    struct base_open how = {.store = {.own_thread = true,
                                      .wake = roles_wake_box,
                                      .wake_ctx = &run->box}};
    struct err why = {0};

    if (client_has_server(run->client))
        return true;
    if (!client_may_open(run->client, err) ||
        !base_open(client_base_path(run->client), &how, &run->base, err))
        return false;
    if (host_open(run->base, &run->box, run->in_terminal, &run->host, &why)) {
        client_use_host(run->client, run->host);
        if (run->in_terminal)
            interrupt_spare_quit();
        /* Otherwise the process that takes the roles next would run the job
         * again. */
        interrupt_catch_hangup();
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
    host_close(run->host, run->interrupts > 0);
    interrupt_wake(NULL, NULL);
    base_close(run->base);
    free(run->id);
}

/* ---- Ctrl-C -------------------------------------------------------------- */

/* A job that has ended already refuses this, which is fine. */
static bool cancel(struct run *run, struct span body, struct err *err) {
    CLEANUP(text_clear) struct text reply = TEXT_INIT;
    const char *uri =
        arena_printf(&run->call->arena, "/api/v1/jobs/%s/cancel", run->id);
    struct err why = {0};

    if (client_call(run->client, API_POST, uri, body, &reply, &why) ||
        why.kind == ERR_REFUSED || why.kind == ERR_INTERRUPTED)
        return true;
    *err = why;
    return false;
}

/* The first Ctrl-C cancels the job, the second one kills it. */
static bool answer_interrupt(struct run *run, struct err *err) {
    unsigned count = interrupt_take();

    if (count == 0)
        return true;
    run->interrupts += count;
    if (run->host != NULL && interrupt_last() == SIGINT)
        host_interrupted(run->host);
    struct span body = run->interrupts > 1
                           ? SPAN("{\"reason\":\"interrupted\",\"kill\":true}")
                           : SPAN("{\"reason\":\"interrupted\"}");
    if (!cancel(run, body, err))
        return false;
    if (run->interrupts == 1)
        console_note("pointsman: cancelling %s; Ctrl-C again kills it",
                     run->id);
    return true;
}

/* Another `run` hosts the roles that this job needs: has it ended? */
static bool host_is_gone(void *ctx) {
    struct run *run = ctx;
    CLEANUP(text_clear) struct text ctrl = TEXT_INIT;
    char lock[64];
    bool held = true;

    text_addf(&ctrl, "%s/ctrl", client_base_path(run->client));
    snprintf(lock, sizeof lock, BASE_ROLE_LOCK, exec_role.name);
    CLEANUP(fd_close)
    int dir = open(text_string(&ctrl), O_PATH | O_DIRECTORY | O_CLOEXEC);
    run->alone = dir >= 0 && lock_is_held(dir, lock, &held, NULL) && !held;
    return run->alone;
}

/* After an interrupted wait: handle signals first, then a lost host. */
static bool go_on(struct run *run, struct err *err) {
    if (!answer_interrupt(run, err))
        return false;
    if (!run->alone)
        return true;
    run->alone = false;
    return host_if_free(run, err);
}

/* ---- following ----------------------------------------------------------- */

/* Copies output until the job has ended or the reader of standard output has
 * closed it. In the latter case the job is cancelled: run directly, it would
 * have got SIGPIPE, and `run -- yes | head` has to end. After an interrupt the
 * stream resumes where it was; attempts that had ended are not shown again. */
static bool follow(struct run *run, struct err *err) {
    CLEANUP(job_output_clear) struct job_output output = JOB_OUTPUT_INIT;

    for (;;) {
        struct err why = {0};
        const char *uri = arena_printf(
            &run->call->arena,
            "/api/v1/jobs/%s/logs?follow=1&frames=1&offset=%" PRIu64, run->id,
            output.passed);
        if (client_stream(run->client, API_GET, uri, (struct span){0},
                          job_output_take, &output, &why))
            return !console_reader_gone() ||
                   cancel(run,
                          SPAN("{\"reason\":\"output closed by its reader\"}"),
                          err);
        if (why.kind != ERR_INTERRUPTED) {
            *err = why;
            return false;
        }
        progress_hide(&output.progress);
        if (!go_on(run, err))
            return false;
        job_output_resume(&output);
    }
}

static bool ended(void *ctx, struct span line) {
    struct text *last = ctx;

    text_reset(last);
    text_addspan(last, line);
    return true;
}

static bool wait_for_end(struct run *run, int *ret_status, struct err *err) {
    CLEANUP(text_clear) struct text last = TEXT_INIT;
    struct client_lines lines = {.line = ended, .ctx = &last};
    struct arena *arena = &run->call->arena;
    const char *uri = arena_printf(arena, "/api/v1/wait?id=%s", run->id);
    struct err why = {0};

    while (!client_stream(run->client, API_GET, uri, (struct span){0},
                          client_take_lines, &lines, &why)) {
        if (why.kind != ERR_INTERRUPTED) {
            *err = why;
            return false;
        }
        if (!go_on(run, err))
            return false;
        err_clear(&why);
    }
    client_lines_end(&lines);
    /* Then it does not matter whether the job was cancelled for that or had
     * ended before: console_finish() decides the exit status. */
    if (console_reader_gone() && run->interrupts == 0)
        return true;
    struct span line = text_span(&last);
    *ret_status = (int)call_line_number(line, "exit_code");
    const char *reason = call_line_text(line, "reason", arena);
    const char *detail = call_line_printable(line, "detail", arena);
    if (*ret_status != 0 && strncmp(reason, "exit-", 5) != 0)
        console_note("pointsman: %s: %s%s%s", run->id, reason,
                     detail[0] == '\0' ? "" : ": ", detail);
    return true;
}

static bool submit(struct run *run, const struct submission *submission,
                   struct err *err) {
    CLEANUP(text_clear) struct text body = TEXT_INIT, reply = TEXT_INIT;

    submission_format(submission, &body);
    if (!client_call(run->client, API_POST, "/api/v1/jobs?cause=run",
                     text_span(&body), &reply, err))
        return false;
    run->id =
        mem_string(call_line_text(text_span(&reply), "id", &run->call->arena));
    return true;
}

int cmd_run(struct call *call) {
    struct run run = {.call = call, .in_terminal = isatty(STDIN_FILENO) == 1};
    struct submission submission;
    struct err err = {0};
    int status = 0;

    if (!submission_of_call(call, &submission, &err))
        return console_error(&err);
    interrupt_catch(NULL, NULL);
    bool ok =
        call_client_ticking(call, host_is_gone, &run, &run.client, &err) &&
        host_if_free(&run, &err) && submit(&run, &submission, &err) &&
        follow(&run, &err) && wait_for_end(&run, &status, &err);
    if (!ok && run.id != NULL && err.kind == ERR_UNAVAILABLE)
        err_wrap(&err, "'%s' stays in the queue (pointsman wait %s)", run.id,
                 run.id);
    if (!ok)
        status = console_error(&err);
    run_close(&run);
    status = console_finish(status);
    /* The job died of Ctrl-C: end in the same way, so that a shell's loop
     * ends too. */
    if (run.in_terminal && status == 128 + SIGINT && interrupt_last() == SIGINT)
        interrupt_die();
    return status;
}
