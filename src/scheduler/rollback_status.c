#include "scheduler/rollback_status.h"

#include "core/rollback.h"

bool rollback_status_of(struct store *store, const struct job *job,
                        struct arena *arena, bool *ret_ended,
                        struct job *ret_rollback, struct err *err) {
    struct job rb = {0};
    bool found = false;
    *ret_ended = job_state_is_final(job->state);
    if (ret_rollback)
        *ret_rollback = (struct job){0};
    if (job->state != STATE_ABANDONED)
        return true;
    /* A step to A has the id of the rollback as its detail. */
    if (!store_lookup(store, job->detail, arena, &rb, &found, err))
        return false;
    if (!found || !job_has(&rb, JOB_ROLLS_BACK) || rb.state != STATE_EXECUTING)
        return true;
    *ret_ended = false;
    if (ret_rollback)
        *ret_rollback = rb;
    return true;
}

static bool plan_read(struct store *store, uint64_t num, struct arena *arena,
                      enum rollback_phase *ret_phase,
                      struct rollback_entry **ret_entries, size_t *ret_count,
                      bool *ret_found, struct err *err) {
    struct store_rollback plan;
    if (!store_rollback(store, num, arena, &plan, ret_found, err))
        return false;
    *ret_found =
        *ret_found && rollback_phase_parse(plan.phase, ret_phase) &&
        rollback_entries_parse(plan.members, arena, ret_entries, ret_count);
    return true;
}

/* True if it is a running member of this rollback, which is about to stop
 * it. */
static bool stops(struct store *store, const struct job *rollback, uint64_t num,
                  struct arena *arena, bool *ret_stops, struct err *err) {
    struct rollback_entry *entries = NULL;
    enum rollback_phase phase;
    size_t count = 0;
    bool found;
    *ret_stops = false;
    if (!plan_read(store, rollback->num, arena, &phase, &entries, &count,
                   &found, err))
        return false;
    for (size_t i = 0; found && i < count; i++)
        *ret_stops |= phase == ROLLBACK_STOPPING && entries[i].num == num &&
                      entries[i].was == STATE_EXECUTING;
    return true;
}

bool rollback_status_stopped_by(struct store *store, const struct job *job,
                                struct arena *arena, struct job *ret_rollback,
                                struct err *err) {
    const struct store_list list = {.states = STATE_BIT(STATE_EXECUTING),
                                    .kinds = job_kinds_with(JOB_LANDS)};
    struct job *jobs;
    size_t count;
    bool found = false;
    *ret_rollback = (struct job){0};
    if (!job_has(job, JOB_CAN_BE_ROLLED_BACK) ||
        job->state != STATE_EXECUTING || job_has(job, JOB_ROLLS_BACK))
        return true;
    if (!store_jobs(store, &list, arena, &jobs, &count, err))
        return false;
    for (size_t i = 0; !found && i < count; i++) {
        if (!job_has(&jobs[i], JOB_ROLLS_BACK))
            continue;
        if (!stops(store, &jobs[i], job->num, arena, &found, err))
            return false;
        if (found)
            *ret_rollback = jobs[i];
    }
    return true;
}

bool rollback_status_describe(struct store *store, const struct job *rollback,
                              struct arena *arena, struct text *out,
                              struct err *err) {
    struct rollback_entry *entries = NULL;
    enum rollback_phase phase;
    size_t count = 0, running = 0;
    bool found;
    if (!plan_read(store, rollback->num, arena, &phase, &entries, &count,
                   &found, err))
        return false;
    if (found && phase == ROLLBACK_REVERTING)
        text_adds(out, ": runs the reverse merges");
    if (!found || phase != ROLLBACK_STOPPING)
        return true;
    for (size_t i = 0; i < count; i++) {
        struct job job;
        if (entries[i].was != STATE_EXECUTING)
            continue;
        if (!store_job(store, entries[i].num, arena, &job, err))
            return false;
        if (job.state == STATE_EXECUTING)
            text_addf(out, "%s%.*s", running++ ? ", " : ": waits until ",
                      (int)job.id.len, job.id.p);
    }
    if (running > 0)
        text_adds(out, running > 1 ? " have stopped" : " has stopped");
    return true;
}

static bool is_listed(const struct rollback_fated *members, size_t count,
                      uint64_t num) {
    for (size_t i = 0; i < count; i++)
        if (members[i].job.num == num)
            return true;
    return false;
}

bool rollback_status_members(struct store *store, const struct job *rollback,
                             struct arena *arena,
                             struct rollback_fated **ret_members,
                             size_t *ret_count, struct err *err) {
    struct rollback_entry *entries = NULL;
    enum rollback_phase phase = ROLLBACK_UNDONE;
    struct job_edge *edges;
    size_t count = 0, edge_count, kept = 0;
    bool found;
    *ret_count = 0;
    if (!plan_read(store, rollback->num, arena, &phase, &entries, &count,
                   &found, err) ||
        !store_edges_from(store, rollback->num, arena, &edges, &edge_count,
                          err))
        return false;
    if (!found && !job_state_is_final(rollback->state))
        return true;
    struct rollback_fated *members =
        arena_alloc(arena, (count + edge_count + 1) * sizeof(*members));
    for (size_t i = 0; i < count; i++) {
        struct job *job = &members[kept].job;
        if (!store_job(store, entries[i].num, arena, job, err))
            return false;
        members[kept++].fate =
            rollback_entry_fate(&entries[i], phase, job->state);
    }
    for (size_t i = 0; i < edge_count; i++) {
        bool known;
        if (edges[i].kind != EDGE_ROLLBACK)
            continue;
        if (!store_lookup(store, edges[i].to, arena, &members[kept].job, &known,
                          err))
            return false;
        if (known && !is_listed(members, kept, members[kept].job.num))
            members[kept++].fate = "unchanged";
    }
    *ret_members = members;
    *ret_count = kept;
    return true;
}
