#include "core/node_pass_inner.h"

#include <assert.h>
#include <stdlib.h>

struct node_held *node_pass_hold(const struct node_demand *demand) {
    struct node_held *held = mem_alloc(sizeof(*held));

    held->users = 1;
    held->demand = *demand;
    return held;
}

void node_pass_release(struct node_held *held) {
    if (--held->users == 0)
        free(held);
}

const struct node_job *node_pass_job(const struct node_pass_job *job) {
    return &job->job;
}

static void check_spec(const struct node_job_spec *spec) {
    assert(spec->num > 0 && spec->priority > 0);
    assert(!spec->follows_host ||
           (spec->own_count == 0 && spec->host_level <= spec->level));
    assert(spec->own_count == 0 || spec->depends_count == 0);
}

struct node_pass_job *node_pass_add_job(struct node_pass *pass,
                                        const struct node_job_spec *spec) {
    struct node_pass_job *job = mem_alloc(sizeof(*job));

    check_spec(spec);
    list_init(&job->in_touched);
    node_job_init(&job->job, &pass->tree, pass->seed, spec);
    job->held = node_pass_hold(&spec->demand);
    node_turns_join(&pass->turns, &job->entrant, spec->num, spec->job_class,
                    spec->priority,
                    node_turns_account(&pass->turns, spec->account));
    assert(node_pass_find_job(pass, spec->num) == NULL);
    list_push(&pass->jobs, &job->link);
    map_put(&pass->by_num, map_num_key(&spec->num), job);
    node_pass_note_demand(pass, &spec->demand);
    node_pass_link(pass, job);
    node_pass_review_workers(pass, job);
    return job;
}

void node_pass_restore(struct node_pass *pass, struct node_pass_job *job,
                       uint32_t row, const struct node_task *task,
                       struct wall now) {
    struct node_task *own = &job->job.tasks[row];
    bool was_done = own->status == TASK_DONE;
    uint8_t counted;

    assert(own->status != TASK_RUNNING && task->status != TASK_RUNNING);
    /* Its place in the order may change, so it is taken out first. */
    own->flags |= NODE_TASK_BLOCKED;
    if (job->is_open)
        node_job_task_changed(&job->job, row);
    counted = own->flags & (NODE_TASK_READY | NODE_TASK_UNDONE);
    *own = *task;
    own->flags = (uint8_t)((task->flags & NODE_TASK_STORED) | counted);
    node_pass_plan_wait(pass, job, row, now);
    node_pass_task_changed(pass, job, row, was_done);
    node_pass_flush(pass);
}

void node_pass_open_job(struct node_pass *pass, struct node_pass_job *job) {
    job->is_open = true;
    node_pass_rebuild(pass, job);
    if (pass->unknown > 0)
        node_pass_relink_others(pass, job->job.spec.num);
    node_pass_flush(pass);
}

void node_pass_set_job(struct node_pass *pass, struct node_pass_job *job,
                       const struct node_job_spec *spec) {
    bool was_open = job->is_open;

    check_spec(spec);
    assert(spec->num == job->job.spec.num);
    job->is_open = false; /* nothing of it is up to date until it is rebuilt */
    node_pass_unlink(pass, job);
    node_job_redefine(&job->job, spec);
    node_turns_rejoin(&pass->turns, &job->entrant, spec->job_class,
                      spec->priority,
                      node_turns_account(&pass->turns, spec->account));
    node_pass_release(job->held);
    job->held = node_pass_hold(&spec->demand);
    node_pass_note_demand(pass, &spec->demand);
    node_pass_link(pass, job);
    node_pass_review_workers(pass, job);
    job->is_open = was_open;
    node_pass_rebuild(pass, job);
    pass->runs_stale = true;
    node_pass_flush(pass);
}

void node_pass_pause_job(struct node_pass *pass, struct node_pass_job *job,
                         bool paused) {
    job->is_paused = paused;
    node_pass_touch(pass, job);
    node_pass_flush(pass);
}

static void job_free(struct node_pass_job *job) {
    node_job_clear(&job->job);
    node_pass_release(job->held);
    free(job->due);
    free(job->depends_on);
    free(job->after);
    free(job->dependents);
    free(job->followers);
    free(job);
}

void node_pass_remove_job(struct node_pass *pass, struct node_pass_job *job) {
    uint64_t num = job->job.spec.num;

    node_turns_leave(&pass->turns, &job->entrant);
    node_pass_unlink(pass, job);
    heap_remove(&pass->due, job);
    list_remove(&job->link);
    list_remove(&job->in_touched);
    map_remove(&pass->by_num, map_num_key(&num));
    if (job->dependent_count > 0 || job->follower_count > 0) {
        job->is_open = false;
        node_pass_relink_others(pass, num);
    }
    for (struct list *it = pass->runs.next; it != &pass->runs; it = it->next) {
        struct node_run *run = LIST_OF(it, struct node_run, link);
        if (run->job == job)
            run->job = NULL;
    }
    list_remove(&job->in_touched);
    job_free(job);
    pass->runs_stale = true;
    node_pass_flush(pass);
}

bool node_pass_forgive(struct node_pass *pass, struct node_pass_job *job,
                       uint32_t row) {
    struct node_task *task = &job->job.tasks[row];

    if (!node_task_forgive(task))
        return false;
    /* A wait that goes on has its entry already, unless the task had failed. */
    if (task->not_before.ns == 0 || (task->flags & NODE_TASK_WAITS) == 0)
        node_pass_plan_wait(pass, job, row, (struct wall){0});
    node_pass_task_changed(pass, job, row, false);
    node_pass_flush(pass);
    return true;
}

struct node_pass *node_pass_new(const struct node_pass_options *options) {
    struct node_pass *pass = mem_alloc(sizeof(*pass));

    node_tree_init(&pass->tree, options->root, options->levels,
                   options->level_count);
    node_workers_init(&pass->workers, options->worker_resource_count,
                      options->worker_weights, options->selector);
    node_turns_init(&pass->turns, options->policy, options->seed);
    pass->seed = options->seed;
    pass->kill_orphans_after_ms = options->kill_orphans_after_ms;
    list_init(&pass->jobs);
    list_init(&pass->touched);
    list_init(&pass->runs);
    list_init(&pass->kills);
    heap_init(&pass->due, offsetof(struct node_pass_job, due_place),
              node_pass_compare_due);
    pass->next_kill = WALL_NEVER;
    return pass;
}

void node_pass_free(struct node_pass *pass) {
    struct list *link;

    if (pass == NULL)
        return;
    while ((link = list_pop(&pass->runs)) != NULL) {
        struct node_run *run = LIST_OF(link, struct node_run, link);
        node_pass_release(run->held);
        free(run);
    }
    while ((link = list_pop(&pass->jobs)) != NULL)
        job_free(JOB_OF(link));
    heap_clear(&pass->due);
    map_clear(&pass->by_num);
    node_turns_clear(&pass->turns);
    node_workers_clear(&pass->workers);
    node_tree_clear(&pass->tree);
    free(pass);
}
