#include "commands/command_kind.h"

#include "api/api_call.h"
#include "commands/command_start.h"
#include "scheduler/why.h"
#include "wire/submission.h"

enum { TASKS_NAMED = 5 };

/* Names the first tasks that failed. */
static bool explain_tasks(struct api_call *call, const struct job *job,
                          struct why *why) {
    CLEANUP(text_clear) struct text text = TEXT_INIT;
    struct store_task *tasks;
    size_t count, failed = 0;
    struct err err = {0};
    if (!store_tasks(call->api->options.store, job->num, &call->arena, &tasks,
                     &count, &err)) {
        api_fail(call, &err);
        return false;
    }
    for (size_t i = 0; i < count; i++)
        if (tasks[i].status == TASK_FAILED && failed++ < TASKS_NAMED)
            text_addf(&text, "%s%.*s", text.len > 0 ? ", " : "failed tasks: ",
                      (int)tasks[i].node.len, tasks[i].node.p);
    if (failed > TASKS_NAMED)
        text_addf(&text, " and %zu more", failed - TASKS_NAMED);
    if (failed == 0)
        return true;
    text_addf(&text,
              "; see pointsman logs --attempts %.*s, and pointsman logs "
              "--node TASK %.*s",
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
