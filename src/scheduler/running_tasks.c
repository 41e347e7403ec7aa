#include "scheduler/running_tasks.h"

#include "scheduler/node_attempt.h"
#include "scheduler/scheduler_attempt.h"
#include "scheduler/scheduler_nodes.h"
#include "scheduler/scheduler_state.h"

static struct running_task task_of(const struct scheduler *scheduler,
                                   const struct attempt *attempt) {
    const struct array_task *task = scheduler_attempt_task(attempt);
    const struct node_attempt *node = attempt->node;
    return (struct running_task){
        .job = attempt->tracked->job.id,
        .name = node != NULL ? node->track->feed.name : SPAN(""),
        .node = node != NULL   ? span_of(node->name)
                : task != NULL ? task->node
                               : SPAN(""),
        .worker = worker_table_shard(&scheduler->workers, attempt->worker),
        .attempt = attempt->number,
        .assigned = attempt->assigned,
        .is_awaited = attempt->is_awaited,
    };
}

size_t running_tasks(const struct scheduler *scheduler, struct arena *arena,
                     struct running_task **ret_tasks) {
    struct list *attempts =
        &((struct scheduler *)(uintptr_t)scheduler)->attempts;
    size_t room = 1, count = 0;
    LIST_EACH (attempts, link)
        room += 1 + LIST_OF(link, struct attempt, link)->companion_count;
    *ret_tasks = arena_alloc(arena, room * sizeof(**ret_tasks));
    LIST_EACH (attempts, link) {
        const struct attempt *attempt = LIST_OF(link, struct attempt, link);
        (*ret_tasks)[count++] = task_of(scheduler, attempt);
        for (size_t i = 0; i < attempt->companion_count; i++) {
            struct running_task task = (*ret_tasks)[count - 1];
            task.job = attempt->companions[i].tracked->job.id;
            task.attempt = attempt->companions[i].number;
            (*ret_tasks)[count++] = task;
        }
    }
    return count;
}
