#include "core/node_pass_inner.h"

#include <assert.h>
#include <stdlib.h>

static void widen(struct node_range *range, int64_t amount) {
    if (amount <= 0)
        return;
    if (range->most == 0 || amount < range->least)
        range->least = amount;
    if (amount > range->most)
        range->most = amount;
}

void node_pass_note_demand(struct node_pass *pass,
                           const struct node_demand *demand) {
    for (unsigned l = 0; l < pass->tree.level_count; l++)
        for (unsigned r = 0; r < pass->tree.levels[l].defined.resource_count;
             r++)
            widen(&pass->demanded[l][r], demand->of_level[l][r]);
    for (unsigned r = 0; r < pass->workers.resource_count; r++)
        widen(&pass->demanded_of_worker[r], demand->of_worker[r]);
}

/* True if a demand may be met before and not after, or the other way round. */
static bool passes_demand(const struct node_range *ranges, unsigned count,
                          const int64_t *was, const int64_t *left) {
    for (unsigned r = 0; r < count; r++) {
        int64_t low = was[r] < left[r] ? was[r] : left[r];
        int64_t high = was[r] < left[r] ? left[r] : was[r];
        if (low < high && low < ranges[r].most && high >= ranges[r].least)
            return true;
    }
    return false;
}

static void node_changed(struct node_pass *pass, uint32_t node,
                         const int64_t *was) {
    unsigned level = pass->tree.nodes[node].level;
    const int64_t *left = node_tree_left(&pass->tree, node);

    if (!passes_demand(pass->demanded[level],
                       pass->tree.levels[level].defined.resource_count, was,
                       left))
        return;
    LIST_EACH (&pass->jobs, it) {
        struct node_pass_job *job = JOB_OF(it);
        if (!job->is_open || !node_job_sees(&job->job, level) ||
            !node_job_amount_matters(&job->job, level, was, left))
            continue;
        node_job_amount_changed(&job->job, node);
        node_pass_touch(pass, job);
    }
}

void node_pass_take_node(struct node_pass *pass, uint32_t node,
                         const struct node_demand *demand, int sign) {
    const struct node *n = &pass->tree.nodes[node];
    const int64_t *amounts = demand->of_level[n->level];
    unsigned count = pass->tree.levels[n->level].defined.resource_count;
    int64_t *left = node_tree_left(&pass->tree, node);
    int64_t was[NODE_RESOURCES_MOST];

    for (unsigned r = 0; r < count; r++) {
        was[r] = left[r];
        left[r] -= sign * amounts[r];
    }
    node_changed(pass, node, was);
}

void node_pass_set_limit(struct node_pass *pass, uint32_t node,
                         unsigned resource, int64_t limit) {
    const struct node *n = &pass->tree.nodes[node];
    unsigned count = pass->tree.levels[n->level].defined.resource_count;
    int64_t was[NODE_RESOURCES_MOST];

    memcpy(was, node_tree_left(&pass->tree, node), count * sizeof(*was));
    node_tree_set_limit(&pass->tree, node, resource, limit);
    node_changed(pass, node, was);
    node_pass_flush(pass);
}

/* ---- workers and accounts ------------------------------------------------ */

static void review_worker(struct node_pass *pass, uint32_t worker,
                          struct node_pass_job *job, bool again) {
    struct span host = pass->workers.hosts[pass->workers.workers[worker].host];
    uint32_t node;

    if (!node_workers_review(&pass->workers, worker, &job->job, again))
        return;
    node_pass_touch(pass, job);
    if (!job->job.spec.follows_host || !job->is_open)
        return;
    node = node_tree_find(&pass->tree, host);
    if (node != NODE_NONE)
        node_job_amount_changed(&job->job, node);
}

static void review_worker_for_all(struct node_pass *pass, uint32_t worker,
                                  bool again) {
    LIST_EACH (&pass->jobs, it)
        review_worker(pass, worker, JOB_OF(it), again);
}

void node_pass_take_worker(struct node_pass *pass, uint32_t worker,
                           const struct node_demand *demand, int sign) {
    struct node_worker *w = &pass->workers.workers[worker];
    struct node_worker was = *w;

    node_workers_take(&pass->workers, worker, demand, sign);
    if (passes_demand(pass->demanded_of_worker, pass->workers.resource_count,
                      was.left, pass->workers.workers[worker].left))
        review_worker_for_all(pass, worker, false);
}

void node_pass_review_workers(struct node_pass *pass,
                              struct node_pass_job *job) {
    for (uint32_t w = 0; w < pass->workers.count; w++)
        review_worker(pass, w, job, true);
}

uint32_t node_pass_add_worker(struct node_pass *pass, struct span host,
                              const int64_t *limits) {
    uint32_t worker = node_workers_add(&pass->workers, host, limits);
    uint32_t node = node_tree_find(&pass->tree, host);

    if (node != NODE_NONE)
        pass->tree.nodes[node].host = pass->workers.workers[worker].host;
    review_worker_for_all(pass, worker, true);
    node_pass_flush(pass);
    return worker;
}

void node_pass_set_worker(struct node_pass *pass, uint32_t worker,
                          bool takes_tasks, const int64_t *limits) {
    node_workers_set_limits(&pass->workers, worker, limits);
    pass->workers.workers[worker].takes_tasks = takes_tasks;
    review_worker_for_all(pass, worker, false);
    node_pass_flush(pass);
}

void node_pass_set_account(struct node_pass *pass, struct span name,
                           uint32_t weight, uint32_t limit) {
    node_turns_set_account(&pass->turns, node_turns_account(&pass->turns, name),
                           weight, limit);
}
