/* cancel, retry, hold, release, limit: what each of them does to one job.
 * Shared by the routes of one job and, but for limit, of all jobs that match a
 * filter. */
#ifndef POINTSMAN_API_API_COMMAND_H
#define POINTSMAN_API_API_COMMAND_H

#include "api/api_call.h"

enum api_verb {
    VERB_CANCEL,
    VERB_RETRY,
    VERB_HOLD,
    VERB_RELEASE,
    VERBS_OF_MANY,
    VERB_LIMIT = VERBS_OF_MANY,
    VERBS
};

extern const char *const api_command_words[VERBS];

/* The body of all: {"reason": "...", "kill": true, "failed": true,
 * "max_running": 8}. */
struct api_command {
    enum api_verb verb;
    struct span because;
    bool kill;
    bool failed; /* retry: only if no task but those that failed would run */
    int64_t max_running; /* -1: not given */
    struct job job;
    unsigned index; /* of the operation that decides the outcome */
    unsigned tries;
};

/* True if the job, which is pending, is tried again after a time. */
bool api_command_backs_off(const struct api_call *call, const struct job *job);
/* Adds the operations to the batch; false: the command does not apply to the
 * job's state. */
bool api_command_add(struct api_call *call, struct store_batch *batch,
                     struct api_command *command, struct err *err);

#endif
