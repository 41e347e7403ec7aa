#include "scheduler/scheduler_hosted.h"

#include "scheduler/group_read.h"
#include "scheduler/scheduler_state.h"

static void add(struct scheduler *scheduler, const struct job *job);

static bool is_waited_for(enum edge_kind kind) {
    return job_edge_is_dependency(kind) || kind == EDGE_PRECURSOR ||
           kind == EDGE_HINT;
}

/* Sets that land together wait together. */
static void add_group(struct scheduler *scheduler, const struct job *job,
                      struct arena *arena) {
    struct job *members;
    size_t count;
    if (!group_members_read(scheduler->store, job, arena, &members, &count,
                            NULL))
        return;
    for (size_t i = 0; i < count; i++)
        add(scheduler, &members[i]);
}

/* What cannot be read now is added with the next event of the job. */
static void add_waited(struct scheduler *scheduler, const struct job *job) {
    CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
    struct job_edge *edges;
    size_t count;
    struct job other;
    bool found;
    if (!store_edges_from(scheduler->store, job->num, &arena, &edges, &count,
                          NULL))
        return;
    for (size_t i = 0; i < count; i++) {
        enum edge_kind kind = edges[i].kind;
        if (kind == EDGE_GROUP)
            add_group(scheduler, job, &arena);
        else if (is_waited_for(kind) &&
                 store_lookup(scheduler->store, edges[i].to, &arena, &other,
                              &found, NULL) &&
                 found)
            add(scheduler, &other);
    }
}

static void add(struct scheduler *scheduler, const struct job *job) {
    if (job_state_is_final(job->state) ||
        map_get(&scheduler->hosted, map_num_key(&job->num)))
        return;
    map_put(&scheduler->hosted, map_num_key(&job->num), scheduler);
    scheduler->hosted_grew |= job->state == STATE_PENDING;
    add_waited(scheduler, job);
}

bool scheduler_hosts(struct scheduler *scheduler, const struct job *job) {
    const struct scheduler_options *options = &scheduler->options;
    if (options->hosts == NULL ||
        map_get(&scheduler->hosted, map_num_key(&job->num)))
        return true;
    if (!options->hosts(options->hosts_ctx, job->id))
        return false;
    add(scheduler, job);
    return true;
}

static bool load_visit(void *ctx, const struct job *job, struct err *err) {
    (void)err;
    (void)scheduler_hosts(ctx, job);
    return true;
}

bool scheduler_hosted_load(struct scheduler *scheduler, struct err *err) {
    const struct store_list list = {.states = STATES_LIVE &
                                              ~STATE_BIT(STATE_PENDING)};
    return scheduler->options.hosts == NULL ||
           store_jobs_each(scheduler->store, &list, load_visit, scheduler, err);
}

/* Does a hosted job wait for this one, which was submitted later, or for sets
 * that land together with it? */
static bool is_awaited(struct scheduler *scheduler, const struct job *job) {
    CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
    struct store_edge_to *waiting;
    struct job *members;
    size_t count;
    if (!store_edges_to(scheduler->store, job->id, &arena, &waiting, &count,
                        NULL))
        return false;
    for (size_t i = 0; i < count; i++)
        if (is_waited_for(waiting[i].kind) &&
            map_get(&scheduler->hosted, map_num_key(&waiting[i].num)))
            return true;
    if (!group_members_read(scheduler->store, job, &arena, &members, &count,
                            NULL))
        return false;
    for (size_t i = 0; i < count; i++)
        if (map_get(&scheduler->hosted, map_num_key(&members[i].num)))
            return true;
    return false;
}

void scheduler_hosted_event(struct scheduler *scheduler,
                            const struct store_event *event) {
    struct job job;
    if (scheduler->options.hosts == NULL || event->num == 0)
        return;
    CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
    bool hosted = map_get(&scheduler->hosted, map_num_key(&event->num));
    bool is_new = event->kind == EVENT_MOVE && event->from == STATE_NONE;
    if ((!hosted && !is_new && event->kind != EVENT_WANTED) ||
        !store_job(scheduler->store, event->num, &arena, &job, NULL))
        return;
    if (hosted)
        add_waited(scheduler, &job);
    else if (!scheduler_hosts(scheduler, &job) && is_awaited(scheduler, &job))
        add(scheduler, &job);
}
