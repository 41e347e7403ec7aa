/* Turns a command into a job: a submission goes straight into the registry. */
#ifndef POINTSMAN_COMMANDS_COMMAND_ADMIT_H
#define POINTSMAN_COMMANDS_COMMAND_ADMIT_H

#include <stdint.h>

#include "lib/err.h"
#include "base/base.h"
#include "base/origin.h"
#include "os/sum.h"
#include "store/store.h"
#include "wire/submission.h"

/* An id for a job that was given none. */
void command_make_id(uint64_t seed, char ret[ID_TEXT_BYTES]);

/* True if there is an account under which the command of `submitter` may run,
 * as from base_run_as_command. `base` NULL: only its start decides. */
bool command_may_run(const struct base *base, const struct submission *sub,
                     uid_t submitter, struct arena *arena, struct err *err);

/* Sets what `origin` and the spec of a job decide: its id, if it has none, its
 * key and rank, actor, cause, account, sum and time of admission. */
void command_set_origin(struct job *job, unsigned sub_priority,
                        const struct origin *origin, struct arena *arena);

/* Adds the admission of a command to the batch, complete with key, spec,
 * relations and state (P if nothing holds it, otherwise Q). *ret_index is the
 * operation's index for store_batch_result: DONE and SAME both mean that the
 * job exists as *ret_id, a span of the batch's arena. Errors as from
 * submission_check and command_may_run.
 * Nothing is added on an error. */
bool command_admit(struct store_batch *batch, const struct base *base,
                   const struct submission *submission,
                   const struct origin *origin, unsigned *ret_index,
                   struct span *ret_id, struct err *err);

#endif
