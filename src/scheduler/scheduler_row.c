#include "scheduler/scheduler_row.h"

#include <signal.h>

#include "core/reason.h"
#include "scheduler/node_attempt.h"
#include "scheduler/scheduler_state.h"
#include "wire/attempt_trace.h"

struct span scheduler_row_node(const struct attempt *attempt) {
    const struct array_task *task = scheduler_attempt_task(attempt);
    if (attempt->node != NULL)
        return span_of(attempt->node->name);
    return task ? task->node : (struct span){0};
}

struct store_task scheduler_row_task(const struct attempt *attempt) {
    const struct array_task *task = scheduler_attempt_task(attempt);
    return node_attempt_record(task ? &task->task : &attempt->node->task,
                               scheduler_row_node(attempt), attempt->task);
}

/* Processes that could not be killed do not change how the attempt ended, but
 * the detail mentions them. */
static struct span row_detail(struct scheduler *scheduler,
                              const struct run_end *end,
                              const struct retry_verdict *verdict) {
    struct text detail = TEXT_INIT;
    if (end->survivors.len == 0)
        return span_of(verdict->detail);
    text_adds(&detail, verdict->detail);
    text_addf(&detail, "%sstill alive after its end: %.*s",
              detail.len > 0 ? "; " : "", (int)end->survivors.len,
              end->survivors.p);
    struct span kept =
        arena_span(store_batch_arena(scheduler->batch), text_span(&detail));
    text_clear(&detail);
    return kept;
}

/* What became of the output is known last. What a task of a standing job held
 * stays on record. */
static struct span row_trace(struct scheduler *scheduler,
                             const struct attempt *attempt) {
    const struct run_end *end = &attempt->end;
    bool cut = attempt->recovery || end->result == RUN_RECOVERED;
    CLEANUP(text_clear) struct text line = TEXT_INIT;
    struct attempt_trace trace;
    if (!end->loss.any && !end->loss.origins && !cut && attempt->node == NULL)
        return end->trace;
    attempt_trace_parse(end->trace, &trace);
    trace.loss = end->loss;
    trace.cut = cut;
    attempt_trace_format(&trace, &line);
    if (attempt->node != NULL)
        text_addf(&line, "%s%s", line.len > 0 ? " " : "", attempt->node->site);
    return arena_span(store_batch_arena(scheduler->batch), text_span(&line));
}

/* A member of a rollback that did not end after HUP. */
static void note_kill(struct scheduler *scheduler,
                      const struct tracked_job *tracked,
                      const struct run_end *end) {
    const struct attempt *rollback = scheduler->rollback_run.attempt;
    if (rollback && tracked->killer == RETRY_ROLLBACK && end->signal == SIGKILL)
        store_note(scheduler->batch, EVENT_SIGNAL, tracked->num,
                   tracked->job.id, SPAN(REASON_KILL),
                   rollback->tracked->job.id);
}

void scheduler_row_end(struct scheduler *scheduler,
                       const struct attempt *attempt,
                       const struct tracked_job *tracked, unsigned number,
                       const struct retry_verdict *verdict) {
    const struct run_end *end = &attempt->end;
    struct store_task task;
    if (attempt->row_ended)
        return;
    struct store_attempt row = {
        .num = tracked->num,
        .node = scheduler_row_node(attempt),
        .attempt = number,
        .status = verdict->task,
        .assigned = attempt->assigned,
        .started = end->started,
        .ended = end->ended,
        .exit_code = end->exit_code,
        .signal = end->signal,
        .reason = span_of(verdict->reason),
        .detail = row_detail(scheduler, end, verdict),
        .worker = worker_table_shard(&scheduler->workers, attempt->worker),
        .output = end->place,
        .output_bytes = end->output_bytes,
        .cpu_us = end->cpu_us,
        .peak_kib = end->peak_kib,
        .trace = row_trace(scheduler, attempt),
    };
    if (row.status == TASK_UNSTARTED && end->started.ns != 0)
        row.status = TASK_LOST; /* stopped, and its job returned */
    if (attempt->node != NULL || attempt->of_array) {
        task = scheduler_row_task(attempt);
        row.task = &task;
    }
    if (attempt->node != NULL)
        row.status = task.status;
    store_end(scheduler->batch, &row);
    note_kill(scheduler, tracked, end);
}
