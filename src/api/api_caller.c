#include "api/api_caller.h"

#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "api/api_call.h"
#include "base/base.h"
#include "os/cgroup.h"

static struct access_actor actor_of(const struct api *api, uint32_t uid,
                                    struct span person) {
    const struct api_options *options = &api->options;
    if (person.len > 0)
        return (struct access_actor){
            .uid = uid,
            .role = access_role_of_person(options->access, person),
            .person = person};
    return options->base != NULL
               ? base_actor(options->base, uid)
               : access_actor_make(options->access, uid, NULL, 0);
}

static void take_job(const struct job *job, struct api_caller *caller) {
    caller->has_submitter = true;
    caller->submitter = job->uid;
    snprintf(caller->job, sizeof(caller->job), "%.*s", (int)job->id.len,
             job->id.p);
    struct span person = access_actor_person_of(job->actor);
    snprintf(caller->person, sizeof(caller->person), "%.*s", (int)person.len,
             person.p);
}

/* If several jobs come into question, the one whose submitter may do least;
 * what any of them may not do is refused. */
static void take_least(struct api *api, const uint64_t *nums, size_t count,
                       struct arena *arena, struct api_caller *caller) {
    enum access_role least = ACCESS_ROLES;
    uint32_t first = 0;
    for (size_t i = 0; i < count; i++) {
        struct job job;
        if (!store_job(api->options.store, nums[i], arena, &job, NULL)) {
            caller->has_submitter = false;
            return;
        }
        if (i == 0)
            first = job.uid;
        caller->is_unsure |= job.uid != first;
        caller->lands |= job_has(&job, JOB_LANDS);
        enum access_role role =
            actor_of(api, job.uid, access_actor_person_of(job.actor)).role;
        if (role >= least)
            continue;
        least = role;
        take_job(&job, caller);
    }
}

void api_caller_find(struct api *api, pid_t pid,
                     struct api_caller *ret_caller) {
    CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
    const struct api_roles *roles = api->options.roles;
    uint64_t *nums = NULL;
    size_t count = 0;
    *ret_caller = (struct api_caller){.place = ACCESS_OUTSIDE};
    if (roles == NULL || roles->place == NULL)
        return;
    ret_caller->place = roles->place(roles->ctx, pid, &arena, &nums, &count);
    take_least(api, nums, count, &arena, ret_caller);
}

/* The owner of a base can do everything without asking. This stops mistakes, so
 * a variable that the job could change is good enough to name it. */
void api_caller_self(struct api *api, const char *job,
                     struct api_caller *ret_caller) {
    CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
    const struct base *base = api->options.base;
    struct job running;
    struct stat st;
    char path[PATH_MAX];
    bool known = false;
    *ret_caller = (struct api_caller){.place = ACCESS_OUTSIDE};
    if (base == NULL || fstat(base->fd, &st) < 0)
        return;
    enum cgroup_member member = cgroup_member(getpid(), &st, path);
    if (member != CGROUP_OTHER)
        ret_caller->place =
            member == CGROUP_OF_BASE ? ACCESS_IN_JOB : ACCESS_UNCLEAR;
    if (job == NULL || !store_lookup(api->options.store, span_of(job), &arena,
                                     &running, &known, NULL))
        return;
    if (!known || running.state != STATE_EXECUTING)
        return;
    ret_caller->place = ACCESS_IN_JOB;
    take_job(&running, ret_caller);
    ret_caller->lands = job_has(&running, JOB_LANDS);
}

void api_caller_apply(const struct api *api, const struct api_caller *caller,
                      struct access_actor *actor) {
    actor->place = caller->place;
    if (caller->place != ACCESS_IN_JOB)
        return;
    const struct access_job job = {
        .id = span_of(caller->job),
        .submitter = actor_of(api, caller->submitter, span_of(caller->person)),
        .lands = caller->lands,
        .is_unsure = caller->is_unsure};
    access_actor_in_job(api->options.access, actor,
                        caller->has_submitter ? &job : NULL);
}
