#include "core/node_pass_inner.h"

#include <assert.h>
#include <stdlib.h>

static void run_hold(struct node_pass *pass, struct node_run *run) {
    for (size_t i = 0; i < run->node_count; i++) {
        uint32_t node = run->nodes[i];
        node_tree_use(&pass->tree, node);
        node_pass_take_node(pass, node, &run->held->demand, 1);
    }
    node_pass_take_worker(pass, run->worker, &run->held->demand, 1);
}

static void run_release(struct node_pass *pass, struct node_run *run) {
    for (size_t i = 0; i < run->node_count; i++) {
        uint32_t node = run->nodes[i];
        node_pass_take_node(pass, node, &run->held->demand, -1);
        node_tree_unuse(&pass->tree, node);
    }
    node_pass_take_worker(pass, run->worker, &run->held->demand, -1);
    node_pass_release(run->held);
}

static struct node_run *run_new(struct node_pass *pass,
                                struct node_pass_job *job, uint32_t row,
                                uint32_t worker, size_t node_count) {
    struct node_run *run =
        mem_alloc(sizeof(*run) + node_count * sizeof(run->nodes[0]));

    run->job = job;
    run->row = row;
    run->worker = worker;
    run->node_count = node_count;
    run->account = job->entrant.share->account;
    list_push(&pass->runs, &run->link);
    list_init(&run->in_kills);
    job->running++;
    return run;
}

static struct node_run *run_at(struct node_pass *pass,
                               struct node_pass_job *job, uint32_t place,
                               uint32_t row, uint32_t worker) {
    const struct node_tree *tree = &pass->tree;
    uint32_t nodes[NODE_LEVELS_MOST];
    size_t count = 0;
    struct node_run *run;

    for (; place != NODE_NONE; place = tree->places[place].parent)
        nodes[count++] = tree->places[place].node;
    run = run_new(pass, job, row, worker, count);
    memcpy(run->nodes, nodes, count * sizeof(*nodes));
    run->held = job->held;
    run->held->users++;
    return run;
}

bool node_pass_peek(struct node_pass *pass, enum job_class *ret_class) {
    const struct node_entrant *entrant = node_turns_next(&pass->turns);

    if (entrant == NULL)
        return false;
    *ret_class = entrant->share->job_class;
    return true;
}

bool node_pass_next(struct node_pass *pass, struct wall now,
                    struct node_start *ret_start) {
    struct node_entrant *entrant = node_turns_next(&pass->turns);
    struct node_pass_job *job;
    struct node_task *task;
    struct node_run *run;

    if (entrant == NULL)
        return false;
    job = LIST_OF(entrant, struct node_pass_job, entrant);
    *ret_start = (struct node_start){
        .num = job->job.spec.num,
        .row = node_job_first_row(&job->job),
        .place = node_job_is_own(&job->job) ? 0 : job->job.first,
        .worker = node_workers_choose(&pass->workers, &job->job)};
    task = &job->job.tasks[ret_start->row];
    node_turns_started(&pass->turns, entrant);
    run =
        run_at(pass, job, ret_start->place, ret_start->row, ret_start->worker);
    node_task_start(task, now);
    ret_start->run = run;
    ret_start->attempt = task->attempt;
    node_pass_review_task(pass, job, ret_start->row);
    run_hold(pass, run);
    node_pass_flush(pass);
    return true;
}

struct node_run *node_pass_adopt(struct node_pass *pass,
                                 struct node_pass_job *job, uint32_t row,
                                 const struct node_task *task,
                                 const uint32_t *nodes, size_t node_count,
                                 uint32_t worker,
                                 const struct node_demand *demand) {
    struct node_task *own = &job->job.tasks[row];
    uint8_t counted = own->flags & (NODE_TASK_READY | NODE_TASK_UNDONE);
    struct node_run *run;

    assert(task->status == TASK_RUNNING && own->status != TASK_RUNNING);
    *own = *task;
    own->flags = counted;
    run = run_new(pass, job, row, worker, node_count);
    memcpy(run->nodes, nodes, node_count * sizeof(*nodes));
    run->held = node_pass_hold(demand);
    node_turns_runs(&pass->turns, run->account);
    node_pass_note_demand(pass, demand);
    node_pass_task_changed(pass, job, row, false);
    run_hold(pass, run);
    pass->runs_stale = true;
    node_pass_flush(pass);
    return run;
}

/* What stays the same for the task after a restart. */
static uint64_t task_number(const struct node_pass_job *job, uint32_t row) {
    const struct node_rows *rows = &job->job.tree->levels[job->job.spec.level];

    return node_job_is_own(&job->job) || rows->nodes[row] == NODE_NONE
               ? row
               : job->job.tree->nodes[rows->nodes[row]].hash;
}

static bool apply_end(struct node_pass *pass, struct node_pass_job *job,
                      uint32_t row, uint32_t attempt,
                      const struct retry_end *end, struct wall now,
                      struct retry_verdict *ret_verdict) {
    struct node_task *task = &job->job.tasks[row];
    uint64_t seed = node_hash_mix(job->job.salt, task_number(job, row));

    if (!node_task_end(task, attempt, end, &job->job.spec.rules, now,
                       node_hash_mix(seed, attempt), ret_verdict))
        return false;
    node_pass_plan_wait(pass, job, row, now);
    node_pass_task_changed(pass, job, row, false);
    return true;
}

bool node_pass_ended(struct node_pass *pass, struct node_run *run,
                     const struct retry_end *end, struct wall now,
                     struct retry_verdict *ret_verdict) {
    struct node_pass_job *job = run->job;
    bool applied = false;

    list_remove(&run->link);
    list_remove(&run->in_kills);
    node_turns_ended(&pass->turns, run->account);
    if (job != NULL) {
        job->running--;
        node_pass_touch(pass, job);
        applied =
            apply_end(pass, job, run->row, job->job.tasks[run->row].attempt,
                      end, now, ret_verdict);
    }
    run_release(pass, run);
    free(run);
    node_pass_flush(pass);
    return applied;
}

bool node_pass_reported(struct node_pass *pass, struct node_pass_job *job,
                        uint32_t row, uint32_t attempt,
                        const struct retry_end *end, struct wall now,
                        struct retry_verdict *ret_verdict) {
    bool applied = job->job.tasks[row].status != TASK_RUNNING &&
                   apply_end(pass, job, row, attempt, end, now, ret_verdict);

    node_pass_flush(pass);
    return applied;
}

static bool is_on_enabled_path(const struct node_tree *tree, uint32_t place) {
    while (place != NODE_NONE && tree->places[place].enabled)
        place = tree->places[place].parent;
    return place == NODE_NONE;
}

static bool is_orphan(const struct node_pass *pass,
                      const struct node_run *run) {
    const struct node_tree *tree = &pass->tree;
    uint32_t place;

    if (run->job == NULL || !run->job->job.spec.enabled)
        return true;
    place = run->node_count > 0 ? tree->nodes[run->nodes[0]].places : NODE_NONE;
    while (place != NODE_NONE && !is_on_enabled_path(tree, place))
        place = tree->places[place].next;
    return place == NODE_NONE;
}

/* When it is killed if it stays an orphan. */
static struct wall kill_time(const struct node_pass *pass,
                             const struct node_run *run) {
    int64_t after_ms = run->job != NULL
                           ? run->job->job.spec.kill_orphans_after_ms
                           : pass->kill_orphans_after_ms;

    return after_ms < 0 || run->killed || run->orphan_since.ns == 0
               ? WALL_NEVER
               : wall_add_ms(run->orphan_since, after_ms);
}

static void review_runs(struct node_pass *pass, struct wall now) {
    pass->next_kill = WALL_NEVER;
    LIST_EACH (&pass->runs, it) {
        struct node_run *run = LIST_OF(it, struct node_run, link);
        if (!is_orphan(pass, run))
            run->orphan_since = (struct wall){0};
        else if (run->orphan_since.ns == 0)
            run->orphan_since = now;
        if (kill_time(pass, run).ns < pass->next_kill.ns)
            pass->next_kill = kill_time(pass, run);
    }
    pass->runs_stale = false;
}

static void plan_kills(struct node_pass *pass, struct wall now) {
    LIST_EACH (&pass->runs, it) {
        struct node_run *run = LIST_OF(it, struct node_run, link);
        if (kill_time(pass, run).ns > now.ns)
            continue;
        run->killed = true;
        list_push(&pass->kills, &run->in_kills);
    }
    review_runs(pass, now);
}

void node_pass_tick(struct node_pass *pass, struct wall now) {
    node_pass_end_waits(pass, now);
    if (pass->runs_stale)
        review_runs(pass, now);
    node_pass_flush(pass);
}

struct node_run *node_pass_next_kill(struct node_pass *pass, struct wall now) {
    struct list *link;

    if (now.ns >= pass->next_kill.ns)
        plan_kills(pass, now);
    link = list_pop(&pass->kills);
    return link != NULL ? LIST_OF(link, struct node_run, in_kills) : NULL;
}

struct wall node_pass_next_time(const struct node_pass *pass) {
    struct wall wait = node_pass_next_wait(pass);

    return wait.ns < pass->next_kill.ns ? wait : pass->next_kill;
}

/* Times that have passed move too: they must not lie in the future again. */
void node_pass_set_back(struct node_pass *pass, int64_t ms) {
    node_pass_set_back_waits(pass, ms);
    LIST_EACH (&pass->runs, it) {
        struct node_run *run = LIST_OF(it, struct node_run, link);
        run->orphan_since = wall_set_back(run->orphan_since, ms);
    }
    pass->runs_stale = true;
}
