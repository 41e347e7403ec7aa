/* Tasks of all jobs that run now. */
#include "api/api_call.h"
#include "api/api_handlers.h"
#include "api/task_match.h"
#include "scheduler/running_tasks.h"

static void running_json(struct text *out, const struct running_task *task) {
    struct json json;
    json_open(&json, out);
    json_object(&json);
    json_put_span(&json, "job", task->job);
    json_put_text(&json, "name", task->name);
    json_key(&json, "node");
    if (task->node.len > 0)
        json_span(&json, task->node);
    else
        json_null(&json);
    json_put_span(&json, "status", span_of(job_task_status_word(TASK_RUNNING)));
    json_put_i64(&json, "attempt", task->attempt);
    json_put_span(&json, "worker", task->worker);
    json_put_bool(&json, "awaited", task->is_awaited);
    json_put_time(&json, "assigned", task->assigned);
    json_end(&json);
    text_addc(out, '\n');
}

/* ?filter= (wire/filter.h) */
void api_running_tasks(struct api_call *call) {
    static const char *const keys[] = {"filter", NULL};
    const struct api_roles *roles = call->api->options.roles;
    struct running_task *tasks;
    struct filter filter;
    struct err err = {0};

    if (!api_query_check(call, keys))
        return;
    if (!filter_parse(api_query(call, "filter"), FILTER_TASKS, &call->arena,
                      &filter, &err)) {
        api_fail(call, &err);
        return;
    }
    if (roles == NULL || roles->running == NULL) {
        err_set(&err, ERR_UNAVAILABLE,
                "only a running server knows the running tasks of all jobs; "
                "start `pointsman serve`, or name a job");
        api_fail(call, &err);
        return;
    }
    size_t count = roles->running(roles->ctx, &call->arena, &tasks);
    for (size_t i = 0; i < count; i++) {
        const struct store_task task = {
            .node = tasks[i].node.len > 0 ? tasks[i].node : tasks[i].job,
            .status = TASK_RUNNING,
        };
        if (task_match(&filter, &task))
            running_json(&call->out, &tasks[i]);
    }
    api_reply(call, 200, api_lines);
    api_end(call);
}
