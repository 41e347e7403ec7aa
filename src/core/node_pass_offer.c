#include "core/node_pass_inner.h"

#include <assert.h>
#include <stdlib.h>

void node_pass_touch(struct node_pass *pass, struct node_pass_job *job) {
    if (list_empty(&job->in_touched))
        list_push(&pass->touched, &job->in_touched);
}

bool node_pass_is_complete(const struct node_pass_job *job) {
    return job->is_open && job->job.spec.enabled && job->job.total.undone == 0;
}

static bool is_released(const struct node_pass_job *job) {
    for (size_t i = 0; i < job->job.spec.after_count; i++)
        if (job->after[i] == NULL || !node_pass_is_complete(job->after[i]))
            return false;
    return true;
}

static bool can_start(const struct node_pass_job *job) {
    const struct node_job_spec *spec = &job->job.spec;

    return job->is_open && !job->is_paused && spec->enabled &&
           job->job.first != NODE_NONE && job->job.open.count > 0 &&
           (spec->max_running == 0 || job->running < spec->max_running) &&
           is_released(job);
}

/* Jobs that were touched are offered again, and those that wait for all nodes
 * of one of them. */
void node_pass_flush(struct node_pass *pass) {
    struct list *link;

    while ((link = list_pop(&pass->touched)) != NULL) {
        struct node_pass_job *job =
            LIST_OF(link, struct node_pass_job, in_touched);
        bool complete = node_pass_is_complete(job);
        for (size_t i = 0;
             i < job->follower_count && complete != job->was_complete; i++)
            node_pass_touch(pass, job->followers[i]);
        job->was_complete = complete;
        node_turns_offer(&pass->turns, &job->entrant, can_start(job),
                         job->job.total.ready);
    }
}
