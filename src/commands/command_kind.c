#include "commands/command_kind.h"

#include "api/api_call.h"
#include "commands/command_start.h"
#include "scheduler/why.h"
#include "wire/submission.h"

enum { TASKS_NAMED = 5 };

/* How the tasks of an array that is executing stand. */
struct standing {
    size_t running, ready; /* ready: nothing but the limit holds them */
};

static void standing_add(struct standing *standing,
                         const struct store_task *task, struct wall now) {
    if (task->status == TASK_RUNNING) {
        standing->running++;
    } else if (task->status != TASK_DONE && task->status != TASK_FAILED) {
        standing->ready += task->not_before.ns <= now.ns;
    }
}

/* Whether the limit keeps the tasks that wait from starting. */
static void explain_limit(struct api_call *call, const struct job *job,
                          const struct standing *standing, struct why *why) {
    if (standing->ready > 0 && job->max_running > 0 &&
        standing->running >= job->max_running)
        why_add_text(
            why, "limit",
            span_of(arena_printf(
                &call->arena,
                "at most %u of its tasks run at once (--max-running), and %zu "
                "wait; pointsman limit %.*s changes that",
                job->max_running, standing->ready, (int)job->id.len,
                job->id.p)));
}

/* Names the first tasks that failed, and the limit if others wait for it. */
static bool explain_tasks(struct api_call *call, const struct job *job,
                          struct why *why) {
    CLEANUP(text_clear) struct text text = TEXT_INIT;
    struct standing standing = {0};
    struct store_task *tasks;
    size_t count, failed = 0;
    struct err err = {0};
    if (!store_tasks(call->api->options.store, job->num, &call->arena, &tasks,
                     &count, &err)) {
        api_fail(call, &err);
        return false;
    }
    for (size_t i = 0; i < count; i++)
        standing_add(&standing, &tasks[i], api_now(call));
    if (job->state == STATE_EXECUTING)
        explain_limit(call, job, &standing, why);
    for (size_t i = 0; i < count; i++)
        if (tasks[i].status == TASK_FAILED && failed++ < TASKS_NAMED)
            text_addf(&text, "%s%.*s", text.len > 0 ? ", " : "failed tasks: ",
                      (int)tasks[i].node.len, tasks[i].node.p);
    if (failed > TASKS_NAMED)
        text_addf(&text, " and %zu more", failed - TASKS_NAMED);
    if (failed == 0)
        return true;
    text_addf(&text,
              "; see pointsman tasks %.*s state:failed, and pointsman logs "
              "--failed --label %.*s",
              (int)job->id.len, job->id.p, (int)job->id.len, job->id.p);
    why_add_text(why, "tasks", text_span(&text));
    return true;
}

/* Names the limit that a command exceeded. */
static bool explain_timeout(struct api_call *call, const struct job *job,
                            struct why *why) {
    struct submission submission;
    struct job full;
    struct err err = {0};
    if (!store_job(call->api->options.store, job->num, &call->arena, &full,
                   &err) ||
        !submission_parse(full.spec, SUBMISSION_BODY, &call->arena, &submission,
                          &err)) {
        api_fail(call, &err);
        return false;
    }
    why_add_text(why, "timeout",
                 span_of(arena_printf(
                     &call->arena,
                     "its time limit is %g s (--timeout); pointsman logs %.*s "
                     "shows what it printed until then",
                     (double)submission.timeout_ms / 1000, (int)job->id.len,
                     job->id.p)));
    return true;
}

static bool explain(struct api_call *call, const struct job *job, bool waits,
                    struct why *why) {
    if (waits || job->state == STATE_DONE)
        return true;
    return (job->tasks <= 1 || explain_tasks(call, job, why)) &&
           (!span_is(job->reason, "timeout") ||
            explain_timeout(call, job, why));
}

const struct work_kind command_kind = {
    .kind = COMMAND_KIND,
    .make_start = command_start_make,
    .explain = explain,
};
