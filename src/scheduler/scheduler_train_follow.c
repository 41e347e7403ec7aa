#include "scheduler/scheduler_train_follow.h"

#include "scheduler/scheduler_group.h"
#include "scheduler/scheduler_state.h"

enum { NAMES_MAX = 6 };

/* The entry of the order that a set is part of. */
static uint64_t entry_of(const struct scheduler *scheduler, uint64_t num) {
    uint64_t entry = groups_entry(scheduler->groups, num);
    return entry != 0 ? entry : num;
}

static bool is_inside(const struct scheduler *scheduler, const uint64_t *nums,
                      size_t count, uint64_t entry) {
    for (size_t i = 0; i < count; i++)
        if (entry_of(scheduler, nums[i]) == entry)
            return true;
    return false;
}

static void follow_add(struct train_follow *follows, size_t *count,
                       const struct order_follow *follow) {
    for (size_t i = 0; i < *count; i++)
        if (follows[i].num == follow->num) {
            follows[i].dependency |= follow->dependency;
            return;
        }
    follows[(*count)++] =
        (struct train_follow){follow->num, follow->dependency};
}

bool scheduler_train_follow_read(struct scheduler *scheduler,
                                 const uint64_t *nums, size_t count,
                                 struct arena *arena,
                                 struct train_follow **ret_follows,
                                 size_t *ret_count) {
    bool known = true;
    *ret_follows = NULL;
    *ret_count = 0;
    for (size_t i = 0; i < count; i++) {
        uint64_t entry = entry_of(scheduler, nums[i]);
        struct order_follow *follows;
        size_t more;
        if (is_inside(scheduler, nums, i, entry))
            continue;
        known &= order_follows(scheduler->order, entry, arena, &follows, &more);
        struct train_follow *all =
            arena_alloc(arena, (*ret_count + more + 1) * sizeof(*all));
        for (size_t k = 0; k < *ret_count; k++)
            all[k] = (*ret_follows)[k];
        for (size_t k = 0; k < more; k++)
            if (!is_inside(scheduler, nums, count, follows[k].num))
                follow_add(all, ret_count, &follows[k]);
        *ret_follows = all;
    }
    return known;
}

static bool read_job(struct scheduler *scheduler, const struct job *job,
                     struct arena *arena, struct train_follow **ret_follows,
                     size_t *ret_count) {
    uint64_t *nums;
    size_t count = scheduler_group_sets(scheduler, job->num, arena, &nums);
    *ret_count = 0;
    return !job_has(job, JOB_LANDS) || job_has(job, JOB_ROLLS_BACK) ||
           scheduler_train_follow_read(scheduler, nums, count, arena,
                                       ret_follows, ret_count);
}

bool scheduler_train_follow_waits(struct scheduler *scheduler,
                                  const struct job *job) {
    CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
    struct train_follow *follows;
    size_t count;
    return !read_job(scheduler, job, &arena, &follows, &count) || count > 0;
}

void scheduler_train_follow_ride(struct scheduler *scheduler,
                                 const struct target_unit *unit, bool rides) {
    for (size_t i = 0; i < unit->set_count; i++)
        order_ride(scheduler->order, entry_of(scheduler, unit->sets[i]), rides);
}

static void add_state(const struct job *job, struct text *out) {
    if (job->holds == HOLD_OPERATOR) {
        text_adds(out, "held by the operator");
    } else if (job->holds != 0) {
        text_adds(out, "held (");
        job_holds_format(job->holds, out);
        text_addc(out, ')');
    } else {
        text_adds(out, job_state_word(job->state));
    }
}

bool scheduler_train_follow_why(struct scheduler *scheduler,
                                const struct job *job, struct why *why) {
    struct train_follow *follows;
    size_t count;
    if (!read_job(scheduler, job, why->arena, &follows, &count) || count == 0)
        return false;
    for (size_t i = 0; i < count && i < NAMES_MAX; i++) {
        CLEANUP(text_clear) struct text text = TEXT_INIT;
        struct job other;
        if (!store_job(scheduler->store, follows[i].num, why->arena, &other,
                       NULL))
            continue;
        text_addf(&text, "follows %.*s, which is ", (int)other.id.len,
                  other.id.p);
        add_state(&other, &text);
        why_follows(why, other.id, text_span(&text), other.holds != 0);
    }
    if (count > NAMES_MAX)
        why_follows(why, SPAN(""),
                    span_of(arena_printf(why->arena, "and %zu more",
                                         count - NAMES_MAX)),
                    false);
    return true;
}
