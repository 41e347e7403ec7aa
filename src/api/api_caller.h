/* Whether the process that calls belongs to a job, and to which. What a job may
 * do is decided in core/access.h. */
#ifndef POINTSMAN_API_API_CALLER_H
#define POINTSMAN_API_API_CALLER_H

#include <sys/types.h>

#include "api/api.h"
#include "core/job.h"

struct api_caller {
    enum access_place place;
    bool has_submitter;
    uint32_t submitter; /* the account that submitted the job, */
    char person[ACCESS_PERSON_BYTES + 1]; /* or the person; empty: none */
    char job[JOB_ID_BYTES + 1];
    bool lands;     /* it is a change set, or may be one */
    bool is_unsure; /* it may be the job of another account */
};

/* For a process that connected to the server. If it
 * has ended when this returns, the pid may have meant another one. */
void api_caller_find(struct api *api, pid_t pid, struct api_caller *ret_caller);
/* For this process, which has opened the base without a server. `job` is the
 * value of its POINTSMAN_JOB, or NULL: it counts if such a job is running. */
void api_caller_self(struct api *api, const char *job,
                     struct api_caller *ret_caller);
/* Makes the actor act for the job. The actor refers to `caller`. */
void api_caller_apply(const struct api *api, const struct api_caller *caller,
                      struct access_actor *actor);

#endif
