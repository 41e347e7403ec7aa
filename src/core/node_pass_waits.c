#include "core/node_pass_inner.h"

#include <assert.h>
#include <stdlib.h>

int node_pass_compare_due(const void *a, const void *b) {
    const struct node_pass_job *one = a, *other = b;
    int64_t x = one->due[0].at.ns, y = other->due[0].at.ns;

    if (x != y)
        return x < y ? -1 : 1;
    return one->job.spec.num < other->job.spec.num
               ? -1
               : one->job.spec.num > other->job.spec.num;
}

static void due_sink(struct node_pass_job *job, size_t at) {
    struct node_due item = job->due[at];

    for (;;) {
        size_t child = 2 * at + 1;
        if (child >= job->due_count)
            break;
        if (child + 1 < job->due_count &&
            job->due[child + 1].at.ns < job->due[child].at.ns)
            child++;
        if (item.at.ns <= job->due[child].at.ns)
            break;
        job->due[at] = job->due[child];
        at = child;
    }
    job->due[at] = item;
}

static bool due_is_valid(const struct node_pass_job *job,
                         const struct node_due *due) {
    const struct node_task *task = &job->job.tasks[due->row];

    return (task->flags & NODE_TASK_WAITS) != 0 &&
           task->not_before.ns == due->at.ns;
}

/* Waits that were cut short leave entries behind; half of them at most. */
static void due_sweep(struct node_pass_job *job) {
    size_t kept = 0;

    for (size_t i = 0; i < job->due_count; i++)
        if (due_is_valid(job, &job->due[i]))
            job->due[kept++] = job->due[i];
    job->due_count = kept;
    for (size_t i = kept / 2; i-- > 0;)
        due_sink(job, i);
}

static void due_push(struct node_pass *pass, struct node_pass_job *job,
                     struct wall at, uint32_t row) {
    size_t i;

    heap_remove(&pass->due, job);
    if (job->due_count == job->due_room) {
        due_sweep(job);
        if (job->due_count > job->due_room / 2 || job->due_room == 0) {
            job->due_room = job->due_room * 2 + 8;
            job->due = mem_grow(job->due, job->due_room, sizeof(*job->due));
        }
    }
    for (i = job->due_count++; i > 0 && job->due[(i - 1) / 2].at.ns > at.ns;
         i = (i - 1) / 2)
        job->due[i] = job->due[(i - 1) / 2];
    job->due[i] = (struct node_due){at, row};
    heap_push(&pass->due, job);
}

static struct node_due due_pop(struct node_pass *pass,
                               struct node_pass_job *job) {
    struct node_due first = job->due[0];

    heap_remove(&pass->due, job);
    job->due[0] = job->due[--job->due_count];
    if (job->due_count > 0) {
        due_sink(job, 0);
        heap_push(&pass->due, job);
    }
    return first;
}

/* Sets whether it waits, from its time. */
void node_pass_plan_wait(struct node_pass *pass, struct node_pass_job *job,
                         uint32_t row, struct wall now) {
    struct node_task *task = &job->job.tasks[row];

    task->flags &= (uint8_t)~NODE_TASK_WAITS;
    if (!node_task_is_open(task) || task->not_before.ns <= now.ns)
        return;
    task->flags |= NODE_TASK_WAITS;
    due_push(pass, job, task->not_before, row);
}

void node_pass_end_waits(struct node_pass *pass, struct wall now) {
    struct node_pass_job *job;

    while ((job = heap_first(&pass->due)) != NULL &&
           job->due[0].at.ns <= now.ns) {
        struct node_due due = due_pop(pass, job);
        if (!due_is_valid(job, &due))
            continue;
        job->job.tasks[due.row].flags &= (uint8_t)~NODE_TASK_WAITS;
        node_pass_review_task(pass, job, due.row);
    }
}

struct wall node_pass_next_wait(const struct node_pass *pass) {
    const struct node_pass_job *job = heap_first(&pass->due);

    return job != NULL ? job->due[0].at : WALL_NEVER;
}

/* ---- a clock that is set back ------------------------------------------- */

static void set_back_job(struct node_pass_job *job, int64_t ms) {
    due_sweep(job);
    for (size_t i = 0; i < job->due_count; i++)
        job->due[i].at = wall_set_back(job->due[i].at, ms);
    for (uint32_t row = 0; row < node_pass_row_count(job); row++)
        job->job.tasks[row].not_before =
            wall_set_back(job->job.tasks[row].not_before, ms);
}

void node_pass_set_back_waits(struct node_pass *pass, int64_t ms) {
    LIST_EACH (&pass->jobs, it) {
        struct node_pass_job *job = JOB_OF(it);
        heap_remove(&pass->due, job);
        set_back_job(job, ms);
        if (job->due_count > 0)
            heap_push(&pass->due, job);
    }
}
