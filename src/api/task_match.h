/* Which tasks of a job are meant. */
#ifndef POINTSMAN_API_TASK_MATCH_H
#define POINTSMAN_API_TASK_MATCH_H

#include "lib/arena.h"
#include "lib/err.h"
#include "store/store.h"
#include "wire/filter.h"

struct api_call;

/* `filter`: one of tasks. */
bool task_match(const struct filter *filter, const struct store_task *task);

/* Sets the error for an attempt of a task (`node` empty: of any) that does not
 * exist: ERR_NO_JOB, or an error of the registry. Returns false. */
bool task_refuse_attempt(struct api_call *call, const struct job *job,
                         struct span node, bool failed, struct err *err);

#endif
