#include "scheduler/scheduler_node_run.h"

#include <stdio.h>
#include <stdlib.h>

#include "lib/log.h"
#include "core/reason.h"
#include "scheduler/scheduler_attempt.h"
#include "scheduler/scheduler_nodes.h"
#include "scheduler/scheduler_plan.h"
#include "scheduler/scheduler_row.h"
#include "scheduler/scheduler_state.h"
#include "scheduler/scheduler_verdict.h"

enum { REFUSED_AGAIN_MS = 2000 };

/* ---- starts -------------------------------------------------------------- */

struct span scheduler_node_rank(struct scheduler *scheduler, char bytes[2]) {
    struct node_pass *pass = scheduler->nodes.pass;
    enum job_class job_class;
    bytes[0] = bytes[1] = '\xff';
    if (pass == NULL || scheduler->draining ||
        !node_pass_peek(pass, &job_class))
        return (struct span){0};
    bytes[0] = (char)job_class;
    if (picker_yields(scheduler->picker, (struct span){0}, span_make(bytes, 1)))
        return (struct span){0};
    return span_make(bytes, scheduler->nodes.is_behind ? 2 : 1);
}

/* The nodes of the place, from its own to the one below the root. */
static void site_of(const struct node_pass *pass, uint32_t place,
                    const struct node_demand *demand,
                    struct node_site *ret_site) {
    const struct node_tree *tree = node_pass_tree(pass);
    *ret_site = (struct node_site){.demand = *demand};
    do {
        const struct node_place *at = &tree->places[place];
        ret_site->nodes[ret_site->count] = node_tree_name(tree, at->node);
        ret_site->levels[ret_site->count++] = at->level;
        place = at->parent;
    } while (place != NODE_NONE && tree->places[place].parent != NODE_NONE);
}

static char *path_of(const struct node_site *site) {
    CLEANUP(text_clear) struct text path = TEXT_INIT;
    for (size_t i = site->count; i-- > 0;) {
        text_addspan(&path, site->nodes[i]);
        if (i > 0)
            text_addc(&path, '/');
    }
    return span_string(text_span(&path));
}

static struct attempt *attempt_at(struct scheduler *scheduler,
                                  const struct node_start *start) {
    CLEANUP(text_clear) struct text line = TEXT_INIT;
    struct scheduler_nodes *nodes = &scheduler->nodes;
    struct node_track *track = scheduler_nodes_find(scheduler, start->num);
    const struct node_job *job = node_pass_job(track->job);
    uint32_t *number = scheduler_nodes_number(track, start->row);
    struct node_site site;
    struct attempt *attempt =
        scheduler_attempt_new(scheduler, track->tracked, start->attempt);

    site_of(nodes->pass, start->place, &job->spec.demand, &site);
    node_site_format(&site, &nodes->setup.names, &line);
    if (*number == 0)
        *number = (uint32_t)++track->next_number;
    attempt->task = *number - 1;
    attempt->node = node_attempt_new(track, site.nodes[0], text_span(&line));
    attempt->node->run = start->run;
    attempt->node->row = start->row;
    attempt->node->task = job->tasks[start->row];
    attempt->node->place = path_of(&site);
    attempt->node->level = nodes->setup.names.levels[job->spec.level];
    track->live++;
    return attempt;
}

void scheduler_node_plan_start(struct scheduler *scheduler) {
    struct node_start start;
    if (!node_pass_next(scheduler->nodes.pass, scheduler->now, &start))
        return;
    struct attempt *attempt = attempt_at(scheduler, &start);
    struct node_track *track = attempt->node->track;
    picker_assigned(scheduler->picker, scheduler_attempt_slot(attempt),
                    (struct span){0});
    if (!track->is_executing) {
        store_move(scheduler->batch, &(struct store_move){
                                         .num = track->num,
                                         .from = STATE_PENDING,
                                         .to = STATE_EXECUTING,
                                         .reason = SPAN(REASON_START),
                                     });
        track->is_executing = true;
    }
    struct store_task task = scheduler_row_task(attempt);
    struct store_attempt row = {
        .num = track->num,
        .node = task.node,
        .attempt = attempt->number,
        .status = TASK_RUNNING,
        .assigned = scheduler->now,
        .exit_code = -1,
        .worker = worker_table_shard(&scheduler->workers, attempt->worker),
        .trace = span_of(attempt->node->site),
        .task = &task,
    };
    struct plan *plan = scheduler_plan_add(scheduler, PLAN_NODE_START);
    plan->attempt = attempt;
    plan->op = store_assign(scheduler->batch, &row);
    scheduler->nodes.is_behind = true;
}

/* Nothing of it ran. */
static void start_failed(struct scheduler *scheduler, struct attempt *attempt) {
    struct retry_end end = {.result = RETRY_WITHDRAWN, .exit_code = -1};
    struct node_attempt *node = attempt->node;
    struct retry_verdict verdict;
    picker_ended(scheduler->picker, scheduler_attempt_slot(attempt), -1);
    (void)node_pass_ended(scheduler->nodes.pass, node->run, &end,
                          scheduler->now, &verdict);
    node->track->live--;
    scheduler_nodes_review(scheduler, node->track);
    scheduler_attempt_free(scheduler, attempt);
}

void scheduler_node_start_committed(struct scheduler *scheduler,
                                    const struct plan *plan, bool ok) {
    struct attempt *attempt = plan->attempt;
    struct node_attempt *node = attempt->node;
    if (!ok || store_batch_result(scheduler->batch, plan->op) != STORE_DONE) {
        start_failed(scheduler, attempt);
        return;
    }
    struct job job = attempt->tracked->job;
    job.spec = node->track->feed.submission;
    struct run_start start = {
        .handle = attempt->handle,
        .job = &job,
        .node = span_of(node->name),
        .task = attempt->task,
        .attempt = attempt->number,
        .level = node->level,
        .place = span_of(node->place),
        .job_name = node->track->feed.name,
    };
    start.set.job = start.job;
    attempt->is_started = true;
    scheduler->running++;
    scheduler->runner.start(scheduler->runner.ctx, &start);
    if (scheduler_attempt_killer(attempt) != RETRY_NOBODY)
        scheduler->runner.stop(scheduler->runner.ctx, attempt->handle,
                               scheduler_stop_kind(attempt->tracked));
}

/* ---- ends ---------------------------------------------------------------- */

/* The machine refused it: it is not asked again at once. */
static void wait_after_refusal(struct scheduler *scheduler,
                               struct attempt *attempt) {
    struct node_attempt *node = attempt->node;
    node->task.not_before = wall_add_ms(scheduler->now, REFUSED_AGAIN_MS);
    if (node->track->job != NULL)
        node_pass_restore(scheduler->nodes.pass, node->track->job, node->row,
                          &node->task, scheduler->now);
    log_warning("a task cannot be started now: %.*s job=%.*s node=%s",
                (int)attempt->end.detail.len,
                attempt->end.detail.len ? attempt->end.detail.p : "",
                (int)attempt->tracked->job.id.len, attempt->tracked->job.id.p,
                node->name);
}

/* By the pass, if the job still takes part; else by the same rules, so that it
 * is known how the task ended if the job comes back. */
static void judge(struct scheduler *scheduler, struct attempt *attempt,
                  const struct retry_end *end) {
    static const struct node_rules rules = {.killed_waits = true};
    struct node_attempt *node = attempt->node;
    struct node_track *track = node->track;
    bool judged = node->run != NULL &&
                  node_pass_ended(scheduler->nodes.pass, node->run, end,
                                  scheduler->now, &node->verdict);
    if (judged)
        node->task = node_pass_job(track->job)->tasks[node->row];
    else
        (void)node_task_end(&node->task, attempt->number, end,
                            track->feed.is_valid ? &track->feed.spec.rules
                                                 : &rules,
                            scheduler->now, attempt->task, &node->verdict);
    node->run = NULL;
    node->is_decided = true;
    track->live--;
}

static void decide(struct scheduler *scheduler, struct attempt *attempt) {
    CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
    struct node_attempt *node = attempt->node;
    struct span reason;
    struct retry_end end = scheduler_verdict_end(attempt, &arena, &reason);
    if (node->is_orphan && end.killer == RETRY_NOBODY)
        end.killer = RETRY_OPERATOR;
    if (end.result == RETRY_TAKEN)
        end.result = RETRY_WITHDRAWN; /* commands have no lock of their own */
    judge(scheduler, attempt, &end);
    scheduler_verdict_explain(&node->verdict, reason);
    if (node->is_orphan && attempt->end.status.len == 0 &&
        node->task.status != TASK_DONE)
        snprintf(node->verdict.detail, sizeof(node->verdict.detail),
                 "killed, because its node or job was gone or disabled");
    if (node->verdict.action == RETRY_UNCOUNT && !attempt->is_withdrawn)
        wait_after_refusal(scheduler, attempt);
}

void scheduler_node_plan_end(struct scheduler *scheduler,
                             struct attempt *attempt) {
    struct node_attempt *node = attempt->node;
    struct store_task task;
    if (!node->is_decided)
        decide(scheduler, attempt);
    task = scheduler_row_task(attempt);
    if (node->verdict.action == RETRY_UNCOUNT) {
        store_unassign(scheduler->batch, node->track->num, task.node,
                       attempt->number);
        store_task_record(scheduler->batch, node->track->num, &task);
    } else {
        scheduler_row_end(scheduler, attempt, attempt->tracked, attempt->number,
                          &node->verdict);
    }
    scheduler_plan_add(scheduler, PLAN_END)->attempt = attempt;
}
