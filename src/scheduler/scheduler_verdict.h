/* The verdict on the end of an attempt. */
#ifndef POINTSMAN_SCHEDULER_SCHEDULER_VERDICT_H
#define POINTSMAN_SCHEDULER_SCHEDULER_VERDICT_H

#include "core/retry.h"
#include "scheduler/scheduler_attempt.h"

struct scheduler;

/* True if the target must be asked whether the set landed before there is a
 * verdict. */
bool scheduler_verdict_needs_probe(const struct scheduler *scheduler,
                                   const struct attempt *attempt);
/* The verdict on an attempt that ended. */
struct retry_verdict scheduler_verdict(struct scheduler *scheduler,
                                       struct attempt *attempt);
/* The verdict if an attempt of the job had ended temporarily. */
struct retry_verdict scheduler_verdict_temporary(struct scheduler *scheduler,
                                                 struct tracked_job *tracked,
                                                 struct span why);
/* The verdict if the attempt had ended in this way. */
struct retry_verdict scheduler_verdict_on(struct scheduler *scheduler,
                                          struct attempt *attempt,
                                          const struct retry_end *end);

/* How often and how long the job, or each of its tasks, is tried. */
struct retry_limits scheduler_verdict_limits(const struct scheduler *scheduler,
                                             const struct job *job);
/* How the attempt ended, by exit code or signal and the last line of the status
 * descriptor; *ret_reason: what that line says. */
struct retry_end scheduler_verdict_end(const struct attempt *attempt,
                                       struct arena *arena,
                                       struct span *ret_reason);
/* Unless the task is done, what it said is the detail of the verdict. */
void scheduler_verdict_explain(struct retry_verdict *verdict,
                               struct span reason);

#endif
