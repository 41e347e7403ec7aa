#include "scheduler/group_read.h"

struct span group_of_edges(const struct job_edge *edges, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (edges[i].kind == EDGE_GROUP)
            return edges[i].to;
    return (struct span){0};
}

/* A registry that was rebuilt may lack the steps of a set. */
static void add_missing_steps(const struct job *job, struct group_life *life) {
    if (life->ready_seq == 0 &&
        (job->state == STATE_PENDING || job->state == STATE_EXECUTING ||
         job->state == STATE_DONE))
        group_life_step(life, STATE_PENDING, job->state_seq);
    if (life->ready_seq != 0 || job->state == STATE_STAGED)
        group_life_step(life, STATE_STAGED, job->state_seq);
}

bool group_life_read(struct store *store, const struct job *job,
                     struct group_life *ret_life, struct err *err) {
    CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
    struct store_event *events;
    size_t count = 0;
    *ret_life = (struct group_life){.num = job->num,
                                    .admitted_seq = job->admitted_seq,
                                    .want = job->group_size};
    if (job->state_seq != job->admitted_seq &&
        !store_events(store, 0, job->num, 0, &arena, &events, &count, err))
        return false;
    for (size_t i = 0; i < count; i++)
        if (events[i].kind == EVENT_MOVE)
            group_life_step(ret_life, events[i].to, events[i].seq);
    add_missing_steps(job, ret_life);
    if (job_state_is_final(job->state) && job->state != STATE_DONE)
        ret_life->ended_seq = job->state_seq;
    return true;
}

/* Reads the sets of a name, and which group each of them belongs to. */
static bool read_name(struct store *store, const struct job *job,
                      const struct store_edge_to *edges, size_t edge_count,
                      struct arena *arena, struct job *jobs,
                      struct group_life *lives, size_t *ret_count,
                      struct err *err) {
    *ret_count = 0;
    for (size_t i = 0; i < edge_count; i++) {
        struct job *other = &jobs[*ret_count];
        if (edges[i].kind != EDGE_GROUP)
            continue;
        if (!store_job(store, edges[i].num, arena, other, err))
            return false;
        if (!job_shares_group(job, other))
            continue;
        if (!group_life_read(store, other, &lives[*ret_count], err))
            return false;
        (*ret_count)++;
    }
    group_life_divide(lives, *ret_count);
    return true;
}

bool group_members_read(struct store *store, const struct job *job,
                        struct arena *arena, struct job **ret_members,
                        size_t *ret_count, struct err *err) {
    struct job_edge *own;
    struct store_edge_to *edges;
    size_t own_count, edge_count, count;
    uint64_t group = 0;
    *ret_members = NULL;
    *ret_count = 0;
    if (!store_edges_from(store, job->num, arena, &own, &own_count, err))
        return false;
    struct span name = group_of_edges(own, own_count);
    if (name.len == 0)
        return true;
    if (!store_edges_to(store, name, arena, &edges, &edge_count, err))
        return false;
    struct job *jobs = arena_alloc(arena, (edge_count + 1) * sizeof(*jobs));
    struct group_life *lives =
        arena_alloc(arena, (edge_count + 1) * sizeof(*lives));
    if (!read_name(store, job, edges, edge_count, arena, jobs, lives, &count,
                   err))
        return false;
    for (size_t i = 0; i < count; i++)
        if (lives[i].num == job->num)
            group = lives[i].group;
    for (size_t i = 0; i < count; i++)
        if (lives[i].group == group)
            jobs[(*ret_count)++] = jobs[i];
    *ret_members = jobs;
    return true;
}
