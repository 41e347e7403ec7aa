#include "scheduler/scheduler_nodes.h"

#include <stdlib.h>

#include "lib/log.h"
#include "core/reason.h"
#include "scheduler/scheduler_attempt.h"
#include "scheduler/scheduler_plan.h"
#include "scheduler/scheduler_state.h"

enum {
    LOST_WAIT_MS = 66000, /* B of doc/design/nodes.md, N3 */
    READ_AGAIN_MS = 1000
};

/* ---- jobs ---------------------------------------------------------------- */

void scheduler_nodes_init(struct scheduler_nodes *nodes) {
    list_init(&nodes->tracks);
}

bool scheduler_nodes_run(const struct scheduler *scheduler) {
    const struct scheduler_options *options = &scheduler->options;
    return options->nodes != NULL && options->hosts == NULL &&
           (options->parts & SCHEDULER_STARTS) != 0;
}

struct node_track *scheduler_nodes_find(struct scheduler *scheduler,
                                        uint64_t num) {
    return map_get(&scheduler->nodes.by_num, map_num_key(&num));
}

uint32_t *scheduler_nodes_number(struct node_track *track, uint32_t row) {
    if (row >= track->number_room) {
        uint32_t room = row + row / 2 + 64;
        track->numbers =
            mem_grow(track->numbers, room, sizeof(*track->numbers));
        memset(track->numbers + track->number_room, 0,
               (room - track->number_room) * sizeof(*track->numbers));
        track->number_room = room;
    }
    return &track->numbers[row];
}

void scheduler_nodes_review(struct scheduler *scheduler,
                            struct node_track *track) {
    track->to_review = scheduler->nodes.to_review = true;
}

static void feed_release(struct scheduler *scheduler,
                         struct node_feed_job *feed) {
    scheduler->options.nodes->release(feed);
    *feed = (struct node_feed_job){0};
}

/* NULL: its row cannot be read. */
static struct node_track *track_new(struct scheduler *scheduler, uint64_t num) {
    CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
    struct scheduler_nodes *nodes = &scheduler->nodes;
    struct job job;
    struct err err;
    if (!store_job(scheduler->store, num, &arena, &job, &err)) {
        scheduler_log_read_failure("the row", num, &err);
        return NULL;
    }
    struct node_track *track = mem_alloc(sizeof(*track));
    track->num = num;
    track->tracked = scheduler_job_keep(scheduler, &job);
    scheduler_job_execute(scheduler, track->tracked);
    track->is_executing = job.state == STATE_EXECUTING;
    list_push(&nodes->tracks, &track->link);
    map_put(&nodes->by_num, map_num_key(&num), track);
    return track;
}

static void track_free(struct scheduler *scheduler, struct node_track *track) {
    map_remove(&scheduler->nodes.by_num, map_num_key(&track->num));
    list_remove(&track->link);
    feed_release(scheduler, &track->feed);
    free(track->numbers);
    free(track);
}

/* Its tasks that run are orphans from here on. */
static void leave_pass(struct scheduler *scheduler, struct node_track *track) {
    if (track->job != NULL)
        node_pass_remove_job(scheduler->nodes.pass, track->job);
    track->job = NULL;
    free(track->numbers);
    track->numbers = NULL;
    track->number_room = 0;
}

void scheduler_nodes_clear(struct scheduler *scheduler) {
    struct scheduler_nodes *nodes = &scheduler->nodes;
    node_pass_free(nodes->pass);
    nodes->pass = NULL;
    while (!list_empty(&nodes->tracks))
        track_free(scheduler,
                   LIST_OF(nodes->tracks.next, struct node_track, link));
    map_clear(&nodes->by_num);
}

/* ---- tasks --------------------------------------------------------------- */

/* The row of the node on the level of the job; NODE_NONE: it is not there. */
static uint32_t row_of(const struct node_pass *pass,
                       const struct node_track *track, struct span name) {
    const struct node_tree *tree = node_pass_tree(pass);
    uint32_t node = node_tree_find(tree, name);
    return node == NODE_NONE ||
                   tree->nodes[node].level != track->feed.spec.level
               ? NODE_NONE
               : tree->nodes[node].row;
}

static struct attempt *attempt_in(struct list *attempts,
                                  const struct node_track *track,
                                  uint64_t number) {
    LIST_EACH (attempts, link) {
        struct attempt *attempt = LIST_OF(link, struct attempt, link);
        if (attempt->node != NULL && attempt->node->track == track &&
            attempt->task == number)
            return attempt;
    }
    return NULL;
}

/* An attempt that runs according to the registry: this program has it, or the
 * one before left it running, or it is found to be gone. */
static struct attempt *attempt_of(struct scheduler *scheduler,
                                  struct node_track *track,
                                  const struct store_task *row,
                                  struct err *err) {
    CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
    struct attempt *attempt = attempt_in(&scheduler->attempts, track, row->at);
    const struct scheduler_running *running;
    struct store_attempt kept;
    bool found;
    if (attempt == NULL)
        attempt = attempt_in(&scheduler->ended, track, row->at);
    if (attempt != NULL ||
        !store_attempt_find(scheduler->store, track->num, row->node,
                            row->attempt, &arena, &kept, &found, err))
        return attempt;
    if (!found) {
        err_set(err, ERR_DATA, "a task that runs has no attempt");
        return NULL;
    }
    running =
        scheduler_attempt_adopted(scheduler, track->num, row->at, row->attempt);
    unsigned worker = worker_table_number(&scheduler->workers, kept.worker);
    attempt = running != NULL
                  ? scheduler_attempt_adopt(scheduler, track->tracked, running)
              : worker != WORKER_HERE
                  ? scheduler_attempt_await(scheduler, track->tracked,
                                            row->attempt, worker, kept.assigned)
                  : scheduler_attempt_recover(scheduler, track->tracked,
                                              row->attempt, kept.assigned);
    attempt->task = row->at;
    attempt->node = node_attempt_new(track, row->node, kept.trace);
    attempt->node->task = node_attempt_task(row);
    track->live++;
    picker_assigned(scheduler->picker, scheduler_attempt_slot(attempt),
                    (struct span){0});
    if (attempt->is_awaited || (running != NULL && running->is_lasting))
        (void)scheduler_lasting(scheduler, attempt->handle);
    return attempt;
}

/* The number of the node; one that is gone comes back without any place, for as
 * long as something runs on it: *ret_gone. */
static uint32_t node_at(struct node_pass *pass, unsigned level,
                        struct span name, bool *ret_gone) {
    const struct node_tree *tree = node_pass_tree(pass);
    uint32_t node = node_tree_find(tree, name);
    *ret_gone = node == NODE_NONE;
    if (node == NODE_NONE)
        (void)node_pass_put_node(pass, level, name, node_tree_name(tree, 0),
                                 true, SPAN(""));
    node = node_tree_find(tree, name);
    return node != NODE_NONE && tree->nodes[node].level == level ? node
                                                                 : NODE_NONE;
}

/* The pass takes over a task that runs, with what it held when it started. If
 * that fits nowhere any more, the pass does not know it. */
static void adopt(struct scheduler *scheduler, struct attempt *attempt) {
    struct scheduler_nodes *nodes = &scheduler->nodes;
    struct node_pass *pass = nodes->pass;
    struct node_attempt *node = attempt->node;
    struct node_track *track = node->track;
    struct node_site site;
    uint32_t numbers[NODE_LEVELS_MOST];
    bool gone[NODE_LEVELS_MOST];
    size_t count = 0;
    char *root;
    if (!node_site_parse(span_of(node->site), &nodes->setup.names, &site) ||
        site.levels[0] != track->feed.spec.level)
        return;
    for (size_t i = 0; i < site.count; i++) {
        numbers[count] = node_at(pass, site.levels[i], site.nodes[i], &gone[i]);
        count += numbers[count] != NODE_NONE;
    }
    if (row_of(pass, track, site.nodes[0]) == NODE_NONE)
        return;
    if (site.levels[0] != 0)
        numbers[count++] = 0; /* the root */
    node->row = row_of(pass, track, site.nodes[0]);
    *scheduler_nodes_number(track, node->row) = (uint32_t)attempt->task + 1;
    node->run = node_pass_adopt(pass, track->job, node->row, &node->task,
                                numbers, count, nodes->worker, &site.demand);
    root = span_string(node_tree_name(node_pass_tree(pass), 0));
    for (size_t i = 0; i < site.count; i++)
        if (gone[i])
            (void)node_pass_drop_node(pass, site.nodes[i], span_of(root));
    free(root);
}

/* What is on record of a task. */
static bool restore(struct scheduler *scheduler, struct node_track *track,
                    const struct store_task *row, struct err *err) {
    struct node_pass *pass = scheduler->nodes.pass;
    struct node_task task = node_attempt_task(row);
    uint32_t at;
    if (row->at >= track->next_number)
        track->next_number = row->at + 1;
    if (task.status == TASK_RUNNING) {
        struct attempt *attempt = attempt_of(scheduler, track, row, err);
        if (attempt == NULL)
            return false;
        if (!attempt->node->is_decided) {
            if (attempt->node->run == NULL && track->job != NULL)
                adopt(scheduler, attempt);
            return true;
        }
        task = attempt->node->task;
    }
    if (track->job == NULL)
        return true;
    at = row_of(pass, track, row->node);
    if (at == NODE_NONE)
        return true;
    *scheduler_nodes_number(track, at) = (uint32_t)row->at + 1;
    if (task.not_before.ns > scheduler->now.ns) {
        CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
        struct store_attempt *last;
        size_t count;
        if (!store_attempts_latest(scheduler->store, track->num, row->node, 1,
                                   &arena, &last, &count, err))
            return false;
        if (count > 0)
            task.not_before =
                retry_backoff_end(last->ended, task.not_before, scheduler->now);
    }
    node_pass_restore(pass, track->job, at, &task, scheduler->now);
    return true;
}

static bool restore_all(struct scheduler *scheduler, struct node_track *track,
                        struct err *err) {
    CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
    struct store_task *rows;
    size_t count;
    if (!store_tasks(scheduler->store, track->num, &arena, &rows, &count, err))
        return false;
    for (size_t i = 0; i < count; i++)
        if (rows[i].node.len > 0 && !restore(scheduler, track, &rows[i], err))
            return false;
    return true;
}

/* ---- reading ------------------------------------------------------------- */

static void review(struct scheduler *scheduler, struct node_track *track) {
    CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
    struct job job;
    struct err err;
    track->to_review = false;
    if (!store_job(scheduler->store, track->num, &arena, &job, &err)) {
        scheduler_log_read_failure("the row", track->num, &err);
        return;
    }
    track->is_executing = job.state == STATE_EXECUTING;
    if (track->job != NULL)
        node_pass_pause_job(scheduler->nodes.pass, track->job,
                            job.holds != 0 || job.cancel_asked ||
                                job_state_is_final(job.state));
}

static void warn_invalid(const struct node_feed_job *feed) {
    log_warning("the standing job '%.*s' is not valid, and starts nothing: %s",
                (int)feed->name.len, feed->name.p, feed->why);
}

/* The level of the tasks that run, or the lowest one. */
static bool running_level(struct scheduler *scheduler, struct node_track *track,
                          unsigned *ret_level, struct err *err) {
    CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
    const struct node_names *names = &scheduler->nodes.setup.names;
    struct store_task *rows;
    struct node_site site;
    size_t count;
    *ret_level = names->level_count - 1;
    if (!store_tasks(scheduler->store, track->num, &arena, &rows, &count, err))
        return false;
    for (size_t i = 0; i < count; i++) {
        if (rows[i].node.len == 0 || rows[i].status != TASK_RUNNING)
            continue;
        const struct attempt *attempt =
            attempt_of(scheduler, track, &rows[i], err);
        if (attempt == NULL)
            return false;
        if (node_site_parse(span_of(attempt->node->site), names, &site)) {
            *ret_level = site.levels[0];
            break;
        }
    }
    return true;
}

/* A job without a valid definition starts nothing, but what runs keeps what it
 * holds. */
static bool make_invalid(struct scheduler *scheduler, struct node_track *track,
                         struct err *err) {
    const struct job *job = &track->tracked->job;
    struct node_job_spec *spec = &track->feed.spec;
    *spec = (struct node_job_spec){
        .num = track->num,
        .job_class = job->job_class,
        .account = job->actor,
        .priority = 1000,
        .rules.killed_waits = true,
        .kill_orphans_after_ms =
            scheduler->nodes.setup.pass.kill_orphans_after_ms,
    };
    return running_level(scheduler, track, &spec->level, err);
}

/* The job takes part, with what is on record of its tasks. */
static void join_pass(struct scheduler *scheduler, struct node_track *track) {
    struct node_pass *pass = scheduler->nodes.pass;
    struct err err;
    bool ok = track->feed.is_valid || make_invalid(scheduler, track, &err);
    if (ok) {
        track->job = node_pass_add_job(pass, &track->feed.spec);
        ok = restore_all(scheduler, track, &err);
    }
    if (ok) {
        node_pass_open_job(pass, track->job);
        return;
    }
    scheduler_log_read_failure("the tasks", track->num, &err);
    leave_pass(scheduler, track);
}

/* The definition in effect becomes this one, or none that can be used: then the
 * job keeps what it has and starts nothing. */
static void take_feed(struct scheduler *scheduler, struct node_track *track,
                      struct node_feed_job *feed) {
    struct node_pass *pass = scheduler->nodes.pass;
    struct node_feed_job old = track->feed;
    if (!feed->is_valid && track->job != NULL) {
        track->feed.spec.enabled = false;
        track->feed.is_deleted = feed->is_deleted;
        node_pass_set_job(pass, track->job, &track->feed.spec);
        feed_release(scheduler, feed);
        return;
    }
    feed->spec.rules.lost_wait_ms = LOST_WAIT_MS;
    if (track->job != NULL && old.spec.level != feed->spec.level)
        leave_pass(scheduler, track);
    track->feed = *feed;
    if (track->job != NULL)
        node_pass_set_job(pass, track->job, &track->feed.spec);
    else
        join_pass(scheduler, track);
    feed_release(scheduler, &old);
}

static bool is_live(struct scheduler *scheduler, uint64_t num) {
    CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
    struct job job;
    struct err err;
    return store_job(scheduler->store, num, &arena, &job, &err) &&
           !job_state_is_final(job.state);
}

static void on_job(void *ctx, struct node_feed_job *feed) {
    struct scheduler *scheduler = ctx;
    struct node_track *track = scheduler_nodes_find(scheduler, feed->num);
    if (!feed->is_deleted && !feed->is_valid)
        warn_invalid(feed);
    if (track == NULL && (!feed->is_deleted || is_live(scheduler, feed->num)))
        track = track_new(scheduler, feed->num);
    if (track == NULL) {
        feed_release(scheduler, feed);
        return;
    }
    if (feed->is_deleted)
        feed->is_valid = false;
    if (!feed->is_valid)
        feed->name = (struct span){0}; /* it does not outlive this call */
    take_feed(scheduler, track, feed);
    scheduler_nodes_review(scheduler, track);
}

/* A node that comes back is as done as it was. */
static void on_node(void *ctx, struct span name) {
    struct scheduler *scheduler = ctx;
    LIST_EACH (&scheduler->nodes.tracks, link) {
        CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
        struct node_track *track = LIST_OF(link, struct node_track, link);
        struct store_task row;
        struct err err;
        bool found;
        uint32_t at = track->job != NULL
                          ? row_of(scheduler->nodes.pass, track, name)
                          : NODE_NONE;
        if (at == NODE_NONE ||
            node_pass_job(track->job)->tasks[at].status == TASK_RUNNING)
            continue;
        *scheduler_nodes_number(track, at) = 0;
        if (!store_task_find(scheduler->store, track->num, name, &arena, &row,
                             &found, &err) ||
            (found && !restore(scheduler, track, &row, &err)))
            scheduler_log_read_failure("a task", track->num, &err);
    }
}

static bool read_nodes(struct scheduler *scheduler, bool all, struct err *err) {
    const struct node_feed *feed = scheduler->options.nodes;
    struct scheduler_nodes *nodes = &scheduler->nodes;
    nodes->nodes_changed = false;
    return feed->read_nodes(feed->ctx, scheduler->store, nodes->pass, all,
                            scheduler->now, on_node, scheduler,
                            &nodes->again_at, err);
}

static bool read_jobs(struct scheduler *scheduler, struct err *err) {
    const struct node_feed *feed = scheduler->options.nodes;
    struct scheduler_nodes *nodes = &scheduler->nodes;
    nodes->jobs_changed = false;
    return feed->read_jobs(feed->ctx, scheduler->store, &nodes->seq, on_job,
                           scheduler, err);
}

static void forget_runs(struct list *attempts) {
    LIST_EACH (attempts, link) {
        struct attempt *attempt = LIST_OF(link, struct attempt, link);
        if (attempt->node != NULL)
            attempt->node->run = NULL;
    }
}

static void forget_pass(struct scheduler *scheduler) {
    struct scheduler_nodes *nodes = &scheduler->nodes;
    forget_runs(&scheduler->attempts);
    forget_runs(&scheduler->ended);
    LIST_EACH (&nodes->tracks, link) {
        struct node_track *track = LIST_OF(link, struct node_track, link);
        track->job = NULL;
        leave_pass(scheduler, track);
    }
    node_pass_free(nodes->pass);
    nodes->pass = NULL;
    nodes->seq = 0;
}

bool scheduler_nodes_load(struct scheduler *scheduler, struct err *err) {
    const struct node_feed *feed = scheduler->options.nodes;
    struct scheduler_nodes *nodes = &scheduler->nodes;
    forget_pass(scheduler);
    feed->setup(feed->ctx, scheduler->options.slots, &nodes->setup);
    nodes->pass = node_pass_new(&nodes->setup.pass);
    nodes->worker = node_pass_add_worker(nodes->pass, nodes->setup.host,
                                         nodes->setup.limits);
    node_pass_set_worker(nodes->pass, nodes->worker, true, nodes->setup.limits);
    nodes->jobs_changed = true; /* and what is to be forgiven */
    if (!read_nodes(scheduler, true, err))
        return err_wrap(err, "cannot read the nodes");
    if (!read_jobs(scheduler, err))
        return err_wrap(err, "cannot read the standing jobs");
    nodes->jobs_changed = true;
    nodes->to_build = false;
    return true;
}

void scheduler_nodes_event(struct scheduler *scheduler,
                           const struct store_event *event) {
    struct scheduler_nodes *nodes = &scheduler->nodes;
    struct node_track *track;
    if (!scheduler_nodes_run(scheduler))
        return;
    if (event->kind == EVENT_NODES)
        nodes->nodes_changed = true;
    if (event->kind == EVENT_STANDING)
        nodes->jobs_changed = true;
    track =
        event->num != 0 ? scheduler_nodes_find(scheduler, event->num) : NULL;
    if (track != NULL &&
        (event->kind == EVENT_HOLD || event->kind == EVENT_RELEASE ||
         event->kind == EVENT_CANCEL ||
         (event->kind == EVENT_MOVE && job_state_is_final(event->to))))
        scheduler_nodes_review(scheduler, track);
}

void scheduler_nodes_set_back(struct scheduler *scheduler, int64_t ms) {
    scheduler->nodes.nodes_changed = true; /* and when they change again */
    if (scheduler->nodes.pass != NULL)
        node_pass_set_back(scheduler->nodes.pass, ms);
}

struct wall scheduler_nodes_next(const struct scheduler *scheduler) {
    const struct scheduler_nodes *nodes = &scheduler->nodes;
    struct wall next;
    if (nodes->pass == NULL)
        return WALL_NEVER;
    next = node_pass_next_time(nodes->pass);
    return nodes->again_at.ns < next.ns ? nodes->again_at : next;
}

/* ---- requests to forgive ------------------------------------------------- */

static bool forgive_row(struct scheduler *scheduler, struct node_track *track,
                        const struct store_task *row) {
    struct node_pass *pass = scheduler->nodes.pass;
    struct node_task task = node_attempt_task(row);
    uint32_t at =
        track->job != NULL ? row_of(pass, track, row->node) : NODE_NONE;
    bool any = at != NODE_NONE ? node_pass_forgive(pass, track->job, at)
                               : node_task_forgive(&task);
    if (at != NODE_NONE)
        task = node_pass_job(track->job)->tasks[at];
    if (!any || task.status == TASK_RUNNING || row->status == TASK_RUNNING)
        return any; /* what counts is recorded with the end */
    struct store_task record = node_attempt_record(&task, row->node, row->at);
    store_task_record(scheduler->batch, track->num, &record);
    return true;
}

static bool forgive(struct scheduler *scheduler,
                    const struct node_feed_forgive *request, struct err *err) {
    CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
    struct node_track *track = scheduler_nodes_find(scheduler, request->num);
    struct store_task *rows;
    size_t count;
    if (track != NULL) {
        if (!store_tasks(scheduler->store, track->num, &arena, &rows, &count,
                         err))
            return false;
        for (size_t i = 0; i < count; i++)
            if (request->node.len == 0 ||
                span_equal(rows[i].node, request->node))
                (void)forgive_row(scheduler, track, &rows[i]);
    }
    scheduler->options.nodes->forgiven(scheduler->batch, request->seq);
    return true;
}

static bool plan_forgives(struct scheduler *scheduler, struct err *err) {
    CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
    const struct node_feed *feed = scheduler->options.nodes;
    struct node_feed_forgive *requests;
    size_t count;
    if (!feed->read_forgives(feed->ctx, scheduler->store, &arena, &requests,
                             &count, err))
        return false;
    for (size_t i = 0; i < count; i++)
        if (!forgive(scheduler, &requests[i], err))
            return false;
    if (count > 0)
        scheduler_plan_add(scheduler, PLAN_FORGIVE);
    return true;
}

/* ---- a turn -------------------------------------------------------------- */

static void kill_orphans(struct scheduler *scheduler) {
    struct node_run *run;
    bool any = false;
    while ((run = node_pass_next_kill(scheduler->nodes.pass, scheduler->now)) !=
           NULL)
        LIST_EACH (&scheduler->attempts, link) {
            struct attempt *attempt = LIST_OF(link, struct attempt, link);
            if (attempt->node == NULL || attempt->node->run != run)
                continue;
            attempt->node->is_orphan = any = true;
            if (attempt->is_started)
                scheduler->runner.stop(scheduler->runner.ctx, attempt->handle,
                                       RUN_STOP_TERM);
        }
    if (any)
        scheduler->runner.flush(scheduler->runner.ctx);
}

static void read_changes(struct scheduler *scheduler) {
    struct scheduler_nodes *nodes = &scheduler->nodes;
    bool jobs = nodes->jobs_changed;
    struct err err;
    bool ok = nodes->to_build ? scheduler_nodes_load(scheduler, &err)
                              : (!nodes->nodes_changed ||
                                 read_nodes(scheduler, false, &err)) &&
                                    (!jobs || read_jobs(scheduler, &err));
    if (ok && (jobs || nodes->jobs_changed))
        ok = plan_forgives(scheduler, &err);
    nodes->jobs_changed = false;
    if (!ok) {
        log_error("cannot read what changed about standing jobs, trying again: "
                  "%s",
                  err.text);
        nodes->to_build = true;
        scheduler->again_at = wall_add_ms(scheduler->now, READ_AGAIN_MS);
    }
}

void scheduler_nodes_plan(struct scheduler *scheduler) {
    struct scheduler_nodes *nodes = &scheduler->nodes;
    if (!scheduler_nodes_run(scheduler))
        return;
    if (nodes->pass != NULL && nodes->again_at.ns <= scheduler->now.ns)
        nodes->nodes_changed = true;
    if (nodes->to_build || nodes->nodes_changed || nodes->jobs_changed)
        read_changes(scheduler);
    if (nodes->pass == NULL)
        return;
    if (nodes->to_review) {
        nodes->to_review = false;
        LIST_EACH (&nodes->tracks, link) {
            struct node_track *track = LIST_OF(link, struct node_track, link);
            if (track->to_review)
                review(scheduler, track);
        }
    }
    node_pass_tick(nodes->pass, scheduler->now);
    kill_orphans(scheduler);
}

static void drop(struct scheduler *scheduler, struct node_track *track) {
    if (track->tracked->attempts > 0)
        return; /* an end is being recorded */
    leave_pass(scheduler, track);
    scheduler_job_drop(scheduler, track->tracked);
    track_free(scheduler, track);
}

void scheduler_nodes_plan_idle(struct scheduler *scheduler) {
    LIST_EACH (&scheduler->nodes.tracks, link) {
        struct node_track *track = LIST_OF(link, struct node_track, link);
        bool ends = track->feed.is_deleted;
        if (track->live > 0)
            continue;
        if (!track->is_executing) {
            if (ends)
                drop(scheduler, track);
            continue;
        }
        struct plan *plan = scheduler_plan_add(scheduler, PLAN_NODES_IDLE);
        plan->num = track->num;
        plan->op = store_move(
            scheduler->batch,
            &(struct store_move){
                .num = track->num,
                .from = STATE_EXECUTING,
                .to = ends ? STATE_TERMINATED : STATE_PENDING,
                .reason = ends ? SPAN(REASON_OPERATOR) : SPAN(REASON_IDLE),
            });
    }
}

void scheduler_nodes_idle_committed(struct scheduler *scheduler,
                                    const struct plan *plan, bool ok) {
    struct node_track *track = scheduler_nodes_find(scheduler, plan->num);
    if (track == NULL)
        return;
    if (ok && store_batch_result(scheduler->batch, plan->op) == STORE_DONE)
        track->is_executing = false;
    else
        scheduler_nodes_review(scheduler, track);
}
