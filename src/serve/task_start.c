#include "serve/task_start.h"

static int64_t grace_of(const struct task_options *options, int64_t usual_ms) {
    if (options->kill_method == TASK_KILL)
        return 0;
    if (options->kill_method == TASK_TERM)
        return GUARD_NO_KILL;
    return options->kill_wait_ms >= 0 ? options->kill_wait_ms : usual_ms;
}

static enum guard_to whom(const struct task_options *options, bool leader) {
    if (options->kill_to == TASK_TO_CGROUP)
        return GUARD_TO_CGROUP;
    if (options->kill_to == TASK_TO_CHILD || !leader)
        return GUARD_TO_CHILD;
    return GUARD_TO_GROUP;
}

/* Who wants the signal to go to the group wants a group. */
static bool is_leader(const struct task_options *options, bool terminal) {
    if (options->process_group_leader != TASK_UNSAID)
        return options->process_group_leader == TASK_YES;
    return !terminal || options->kill_to == TASK_TO_GROUP;
}

void task_start_fill(struct guard_start *start,
                     const struct task_options *options, bool terminal,
                     int64_t grace_ms) {
    bool leader = is_leader(options, terminal);
    start->keep_group = !leader;
    start->kill_to = whom(options, leader);
    start->canary = options->canary_pipe != TASK_NO;
    start->death =
        options->parent_death_signal == TASK_DEATH_TERM   ? GUARD_DEATH_TERM
        : options->parent_death_signal == TASK_DEATH_NONE ? GUARD_DEATH_NONE
                                                          : GUARD_DEATH_KILL;
    start->grace_ms = grace_of(options, grace_ms);
}
