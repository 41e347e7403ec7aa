#include "api/task_match.h"

#include "api/api_call.h"

bool task_match(const struct filter *filter, const struct store_task *task) {
    struct filter_facts facts = {.state = filter_task_state(task->status),
                                 .id = task->node,
                                 .node = task->node,
                                 .arg = task->node};
    return filter_match(filter, &facts, (struct wall){0});
}

bool task_refuse_attempt(struct api_call *call, const struct job *job,
                         struct span node, bool failed, struct err *err) {
    struct store_task *tasks;
    size_t count;
    bool known = node.len == 0;
    int bytes = (int)job->id.len;

    if (!store_tasks(call->api->options.store, job->num, &call->arena, &tasks,
                     &count, err))
        return false;
    for (size_t i = 0; i < count; i++)
        known = known || span_equal(tasks[i].node, node);
    if (!known)
        return err_set(err, ERR_NO_JOB,
                       "job '%.*s' has no task '%.*s'; pointsman tasks %.*s "
                       "lists them",
                       bytes, job->id.p, (int)node.len, node.p, bytes,
                       job->id.p);
    if (failed)
        return err_set(err, ERR_NO_JOB, "no task of job '%.*s' has failed",
                       bytes, job->id.p);
    return err_set(err, ERR_NO_JOB, "job '%.*s' has no attempt that matches",
                   bytes, job->id.p);
}
