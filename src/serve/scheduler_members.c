/* What a rollback's process is told to take back: the landed members, newest
 * first. A branch knows what a rollback among them had done; a target that is a
 * command is told set by set what goes out and what comes in again. */
#include <stdlib.h>

#include "serve/scheduler_inner.h"

enum { DEPTH_MAX = 100 };

struct gathering {
    struct scheduler *scheduler;
    struct arena *arena;
    struct run_member *members;
    size_t count, cap;
    bool by_command;
};

static void member_add(struct gathering *gathering, const struct job *job,
                       bool again) {
    if (gathering->count == gathering->cap) {
        size_t cap = gathering->cap ? gathering->cap * 2 : 16;
        struct run_member *more =
            arena_alloc(gathering->arena, cap * sizeof(*more));
        if (gathering->count > 0)
            memcpy(more, gathering->members, gathering->count * sizeof(*more));
        gathering->members = more;
        gathering->cap = cap;
    }
    gathering->members[gathering->count++] =
        (struct run_member){.id = job->id,
                            .sum = job->sum,
                            .name = job->name,
                            .job_class = job->job_class,
                            .admitted = job->admitted,
                            .again = again};
}

static int newest_first(const void *a, const void *b) {
    const struct job *x = a, *y = b;
    return (x->state_seq < y->state_seq) - (x->state_seq > y->state_seq);
}

static int oldest_first(const void *a, const void *b) {
    return newest_first(b, a);
}

/* The sets that a rollback had taken out. */
static bool read_turned(struct gathering *gathering, const struct job *rb,
                        struct job **ret_jobs, size_t *ret_count,
                        struct err *err) {
    struct store *store = gathering->scheduler->store;
    struct store_rollback plan;
    struct rollback_entry *entries;
    size_t count;
    bool found;
    *ret_count = 0;
    if (!store_rollback(store, rb->num, gathering->arena, &plan, &found, err))
        return false;
    if (!found || !rollback_entries_parse(plan.members, gathering->arena,
                                          &entries, &count))
        return err_set(err, ERR_DATA, "the plan of '%.*s' is damaged",
                       (int)rb->id.len, rb->id.p);
    *ret_jobs = arena_alloc(gathering->arena, (count + 1) * sizeof(**ret_jobs));
    for (size_t i = 0; i < count; i++) {
        if (!entries[i].reverted)
            continue;
        if (!store_job(store, entries[i].num, gathering->arena,
                       &(*ret_jobs)[*ret_count], err))
            return false;
        ++*ret_count;
    }
    return true;
}

static bool gather(struct gathering *gathering, const struct job *job,
                   bool again, unsigned depth, struct err *err) {
    struct job *jobs = NULL;
    size_t count;
    if (!gathering->by_command || !job_is_rollback(job) || depth == DEPTH_MAX) {
        member_add(gathering, job, again);
        return true;
    }
    if (!read_turned(gathering, job, &jobs, &count, err))
        return false;
    qsort(jobs, count, sizeof(*jobs), again ? newest_first : oldest_first);
    for (size_t i = 0; i < count; i++)
        if (!gather(gathering, &jobs[i], !again, depth + 1, err))
            return false;
    return true;
}

static bool is_by_command(const struct scheduler *scheduler,
                          struct span target) {
    for (size_t i = 0; i < scheduler->options.target_count; i++)
        if (span_equal(scheduler->options.targets[i].name, target))
            return scheduler->options.targets[i].by_command;
    return false;
}

bool takeback_members(struct scheduler *scheduler, const struct job *rb,
                      const struct rollback_decision *decision) {
    struct takeback *takeback = &scheduler->takeback;
    struct gathering gathering = {.scheduler = scheduler,
                                  .arena = &takeback->arena,
                                  .by_command =
                                      is_by_command(scheduler, rb->target)};
    struct job *jobs =
        arena_alloc(&takeback->arena, (decision->count + 1) * sizeof(*jobs));
    struct err err;
    size_t count = 0;
    bool ok = true;
    for (size_t i = 0; ok && i < decision->count; i++)
        if (decision->members[i].fate == ROLLBACK_REVERT)
            ok = store_job(scheduler->store, decision->members[i].node.num,
                           &takeback->arena, &jobs[count++], &err);
    if (ok)
        qsort(jobs, count, sizeof(*jobs), newest_first);
    for (size_t i = 0; ok && i < count; i++)
        ok = gather(&gathering, &jobs[i], false, 0, &err);
    if (!ok)
        log_read_failure("the members", rb->num, &err);
    takeback->reverts = gathering.members;
    takeback->revert_count = gathering.count;
    return ok;
}
