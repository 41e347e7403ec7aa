#include "worker/task_start.h"

#include <sys/resource.h>

static int64_t grace_of(const struct task_options *options, int64_t usual_ms) {
    if (options->kill_method == TASK_KILL)
        return 0;
    if (options->kill_method == TASK_TERM)
        return GUARD_NO_KILL;
    return options->kill_wait_ms >= 0 ? options->kill_wait_ms : usual_ms;
}

static enum guard_to kill_target(const struct task_options *options,
                                 bool leader) {
    if (options->kill_to == TASK_TO_CGROUP)
        return GUARD_TO_CGROUP;
    if (options->kill_to == TASK_TO_CHILD || !leader)
        return GUARD_TO_CHILD;
    return GUARD_TO_GROUP;
}

/* Options that send the signal to the group require a group. */
static bool is_leader(const struct task_options *options, bool terminal) {
    if (options->process_group_leader != TASK_UNSAID)
        return options->process_group_leader == TASK_YES;
    return !terminal || options->kill_to == TASK_TO_GROUP;
}

static const uint32_t rlimits[TASK_LIMITS] = {
    [TASK_LIMIT_AS] = RLIMIT_AS,         [TASK_LIMIT_CORE] = RLIMIT_CORE,
    [TASK_LIMIT_CPU] = RLIMIT_CPU,       [TASK_LIMIT_DATA] = RLIMIT_DATA,
    [TASK_LIMIT_FSIZE] = RLIMIT_FSIZE,   [TASK_LIMIT_MEMLOCK] = RLIMIT_MEMLOCK,
    [TASK_LIMIT_NOFILE] = RLIMIT_NOFILE, [TASK_LIMIT_NPROC] = RLIMIT_NPROC,
    [TASK_LIMIT_STACK] = RLIMIT_STACK,
};

struct limits {
    struct guard_limit *items; /* NULL: none yet, the usual case */
    uint32_t count;
    struct arena *arena;
};

static void add_limit(struct limits *limits, uint32_t what, int64_t value) {
    if (value == TASK_UNSAID)
        return;
    if (limits->items == NULL)
        limits->items = arena_alloc(limits->arena,
                                    GUARD_LIMITS_MAX * sizeof *limits->items);
    limits->items[limits->count++] = (struct guard_limit){
        .what = what,
        .value = value == TASK_UNLIMITED ? GUARD_UNLIMITED : (uint64_t)value};
}

static void fill_limits(const struct task_options *options, struct arena *arena,
                        struct guard_start *start) {
    struct limits limits = {.arena = arena};
    for (size_t i = 0; i < TASK_LIMITS; i++)
        add_limit(&limits, rlimits[i], options->limit.value[i]);
    add_limit(&limits, GUARD_MEMORY, options->memory_bytes);
    add_limit(&limits, GUARD_PIDS, options->pids);
    add_limit(&limits, GUARD_CPU_WEIGHT, options->cpu_weight);
    start->limits = limits.items;
    start->limit_count = limits.count;
}

static void fill_user(const struct account *account, struct arena *arena,
                      struct guard_start *start) {
    if (account == NULL)
        return;
    struct guard_user *user = arena_alloc(arena, sizeof *user);
    *user = (struct guard_user){.uid = account->uid,
                                .gid = account->gid,
                                .groups = account->groups,
                                .group_count = (uint32_t)account->group_count};
    start->user = user;
}

void task_start_fill(const struct task_start *task, struct arena *arena,
                     struct guard_start *ret_start) {
    const struct task_options *options = task->options;
    bool leader = is_leader(options, task->terminal);
    ret_start->keep_group = !leader;
    ret_start->kill_to = kill_target(options, leader);
    ret_start->canary = options->canary_pipe != TASK_NO;
    ret_start->death =
        options->parent_death_signal == TASK_DEATH_TERM   ? GUARD_DEATH_TERM
        : options->parent_death_signal == TASK_DEATH_NONE ? GUARD_DEATH_NONE
                                                          : GUARD_DEATH_KILL;
    ret_start->grace_ms = grace_of(options, task->grace_ms);
    ret_start->output_lines =
        options->log_rate > 0 ? (uint32_t)options->log_rate : 0;
    fill_limits(options, arena, ret_start);
    fill_user(task->account, arena, ret_start);
}
