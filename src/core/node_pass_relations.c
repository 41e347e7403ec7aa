#include "core/node_pass_inner.h"

#include <assert.h>
#include <stdlib.h>

static bool is_done_at(const struct node_pass_job *job, unsigned level,
                       uint32_t row) {
    return job != NULL && job->is_open && !node_job_is_own(&job->job) &&
           job->job.spec.level == level &&
           job->job.tasks[row].status == TASK_DONE;
}

void node_pass_review_task(struct node_pass *pass, struct node_pass_job *job,
                           uint32_t row) {
    struct node_task *task = &job->job.tasks[row];

    task->flags &= (uint8_t)~NODE_TASK_BLOCKED;
    for (size_t i = 0; i < job->job.spec.depends_count; i++)
        if (!is_done_at(job->depends_on[i], job->job.spec.level, row))
            task->flags |= NODE_TASK_BLOCKED;
    if (!job->is_open)
        return;
    node_job_task_changed(&job->job, row);
    node_pass_touch(pass, job);
}

/* The task changed; `was_done`: before. */
void node_pass_task_changed(struct node_pass *pass, struct node_pass_job *job,
                            uint32_t row, bool was_done) {
    node_pass_review_task(pass, job, row);
    if (was_done == (job->job.tasks[row].status == TASK_DONE) ||
        node_job_is_own(&job->job))
        return;
    for (size_t i = 0; i < job->dependent_count; i++)
        if (job->dependents[i]->is_open &&
            job->dependents[i]->job.spec.level == job->job.spec.level)
            node_pass_review_task(pass, job->dependents[i], row);
}

uint32_t node_pass_row_count(const struct node_pass_job *job) {
    const struct node_job *j = &job->job;

    return node_job_is_own(j) ? j->spec.own_count
                              : j->tree->levels[j->spec.level].row_count;
}

/* What it depends on, or its definition, has changed. */
void node_pass_rebuild(struct node_pass *pass, struct node_pass_job *job) {
    bool was_open = job->is_open;

    job->is_open = false;
    for (uint32_t row = 0; row < node_pass_row_count(job); row++)
        node_pass_review_task(pass, job, row);
    job->is_open = was_open;
    if (was_open)
        node_job_build(&job->job);
    node_pass_touch(pass, job);
}

static void crowd_add(struct node_pass_job ***jobs, size_t *count,
                      struct node_pass_job *job) {
    *jobs = mem_grow(*jobs, *count + 1, sizeof(struct node_pass_job *));
    (*jobs)[(*count)++] = job;
}

static void crowd_remove(struct node_pass_job **jobs, size_t *count,
                         const struct node_pass_job *job) {
    size_t kept = 0;

    for (size_t i = 0; i < *count; i++)
        if (jobs[i] != job)
            jobs[kept++] = jobs[i];
    *count = kept;
}

struct node_pass_job *node_pass_find_job(const struct node_pass *pass,
                                         uint64_t num) {
    return map_get(&pass->by_num, map_num_key(&num));
}

void node_pass_link(struct node_pass *pass, struct node_pass_job *job) {
    const struct node_job_spec *spec = &job->job.spec;

    job->depends_on = mem_alloc((spec->depends_count + 1) * sizeof(job));
    job->after = mem_alloc((spec->after_count + 1) * sizeof(job));
    for (size_t i = 0; i < spec->depends_count; i++) {
        struct node_pass_job *on =
            node_pass_find_job(pass, spec->depends_on[i]);
        job->depends_on[i] = on;
        pass->unknown += on == NULL;
        if (on != NULL)
            crowd_add(&on->dependents, &on->dependent_count, job);
    }
    for (size_t i = 0; i < spec->after_count; i++) {
        struct node_pass_job *after =
            node_pass_find_job(pass, spec->after_nodes_of[i]);
        job->after[i] = after;
        pass->unknown += after == NULL;
        if (after != NULL)
            crowd_add(&after->followers, &after->follower_count, job);
    }
}

void node_pass_unlink(struct node_pass *pass, struct node_pass_job *job) {
    const struct node_job_spec *spec = &job->job.spec;

    for (size_t i = 0; i < spec->depends_count; i++) {
        struct node_pass_job *on = job->depends_on[i];
        pass->unknown -= on == NULL;
        if (on != NULL)
            crowd_remove(on->dependents, &on->dependent_count, job);
    }
    for (size_t i = 0; i < spec->after_count; i++) {
        struct node_pass_job *after = job->after[i];
        pass->unknown -= after == NULL;
        if (after != NULL)
            crowd_remove(after->followers, &after->follower_count, job);
    }
    free(job->depends_on);
    free(job->after);
    job->depends_on = job->after = NULL;
}

static bool names(const uint64_t *nums, size_t count, uint64_t num) {
    for (size_t i = 0; i < count; i++)
        if (nums[i] == num)
            return true;
    return false;
}

/* The job has come or gone: those that name it find it, or no longer do. */
void node_pass_relink_others(struct node_pass *pass, uint64_t num) {
    LIST_EACH (&pass->jobs, it) {
        struct node_pass_job *other = JOB_OF(it);
        const struct node_job_spec *spec = &other->job.spec;
        bool depends = names(spec->depends_on, spec->depends_count, num);
        if (!depends && !names(spec->after_nodes_of, spec->after_count, num))
            continue;
        node_pass_unlink(pass, other);
        node_pass_link(pass, other);
        if (depends)
            node_pass_rebuild(pass, other);
        node_pass_touch(pass, other);
    }
}
