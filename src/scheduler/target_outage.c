#include "scheduler/target_outage.h"

#include "core/outage.h"
#include "scheduler/group_read.h"

/* True if the set, or one that lands together with it, is held. */
static bool read_hold(struct store *store, const struct job *job,
                      bool *ret_held, struct err *err) {
    CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
    struct job *members;
    size_t count;
    *ret_held = job->holds != 0;
    if (!group_members_read(store, job, &arena, &members, &count, err))
        return false;
    for (size_t i = 0; i < count; i++)
        *ret_held |=
            !job_state_is_final(members[i].state) && members[i].holds != 0;
    return true;
}

struct outage_search {
    struct store *store;
    struct arena *arena;
    struct target_outage *found;
    size_t count;
};

static struct target_outage *outage_of(struct outage_search *search,
                                       struct span target) {
    for (size_t i = 0; i < search->count; i++)
        if (span_equal(search->found[i].target, target))
            return &search->found[i];
    struct target_outage *more =
        arena_alloc(search->arena, (search->count + 1) * sizeof(*more));
    for (size_t i = 0; i < search->count; i++)
        more[i] = search->found[i];
    search->found = more;
    more += search->count++;
    *more = (struct target_outage){.target = arena_span(search->arena, target)};
    return more;
}

static bool outage_visit(void *ctx, const struct job *job, struct err *err) {
    struct outage_search *search = ctx;
    bool held;
    if (!outage_shows(job))
        return true;
    if (!read_hold(search->store, job, &held, err))
        return false;
    if (held)
        return true;
    struct target_outage *outage = outage_of(search, job->target);
    if (job->since.ns > outage->since.ns) {
        outage->since = job->since;
        outage->why = arena_span(search->arena, job->detail);
    }
    return true;
}

bool target_outages_read(struct store *store, struct arena *arena,
                         struct target_outage **ret_outages, size_t *ret_count,
                         struct err *err) {
    struct store_list list = {.states = STATE_BIT(STATE_PENDING),
                              .kinds = job_kinds_with(JOB_LANDS)};
    struct outage_search search = {.store = store, .arena = arena};
    if (!store_jobs_each(store, &list, outage_visit, &search, err))
        return false;
    *ret_outages = search.found;
    *ret_count = search.count;
    return true;
}
