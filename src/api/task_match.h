/* Which tasks of a job are meant: by their status and their node.
 *
 *     state:failed,running node~part -node:n7 part */
#ifndef POINTSMAN_API_TASK_MATCH_H
#define POINTSMAN_API_TASK_MATCH_H

#include "lib/arena.h"
#include "lib/err.h"
#include "store/store.h"

struct api_call;
struct task_term;

struct task_match {
    struct task_term *terms; /* none: every task */
    size_t count;
};

/* Terms are separated by blanks and all must match; `-` in front negates one;
 * a comma means "any of these". The result lives in the arena. Error ERR_USAGE:
 * the term that is none, and what there is. */
bool task_match_parse(struct span text, struct arena *arena,
                      struct task_match *ret_match, struct err *err);
bool task_match_test(const struct task_match *match,
                     const struct store_task *task);

/* Sets the error for an attempt of a task (`node` empty: of any) that does not
 * exist: ERR_NO_JOB, or an error of the registry. Returns false. */
bool task_refuse_attempt(struct api_call *call, const struct job *job,
                         struct span node, bool failed, struct err *err);

#endif
