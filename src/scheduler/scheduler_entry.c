#include "scheduler/scheduler_entry.h"

#include "scheduler/scheduler_job.h"
#include "scheduler/scheduler_record.h"
#include "scheduler/scheduler_state.h"

bool scheduler_entry_read(struct scheduler *scheduler, const struct job *job,
                          struct arena *arena,
                          struct job_relations *ret_relations,
                          struct err *err) {
    return scheduler_record_edges(
               scheduler->store, job, arena, &ret_relations->edges,
               &ret_relations->edge_count, &ret_relations->inherits, err) &&
           store_touches(scheduler->store, job->num, arena,
                         &ret_relations->touches, &ret_relations->touch_count,
                         err);
}

void scheduler_entry_admit(struct scheduler *scheduler, const struct job *job,
                           const struct job_relations *relations) {
    struct order_entry entry = {
        .num = job->num,
        .id = job->id,
        .job_class = job->job_class,
        .state = job->state,
        .was =
            rollback_scope_stands_as(&scheduler->scope, job->num, job->state),
        .key = job->key,
        .rank = job->rank,
        .target = job->target,
        .holds = job->holds,
        .rb = job_has(job, JOB_ROLLS_BACK),
        .admitted = scheduler_job_admitted(scheduler, job),
        .since = job->since,
        .edges = relations->edges,
        .edge_count = relations->edge_count,
        .inherits = relations->inherits,
        .touches = relations->touches,
        .touch_count = relations->touch_count,
    };
    order_admit(scheduler->order, &entry);
}
