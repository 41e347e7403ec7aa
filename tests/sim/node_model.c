#include "sim/node_model.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/random.h"

#define BROKEN(...) (fprintf(stderr, __VA_ARGS__), fputc('\n', stderr), abort())

/* ---- nodes --------------------------------------------------------------- */

struct model_link *model_link_find(struct model *model, unsigned node,
                                   unsigned parent) {
    for (unsigned i = 0; i < model->link_count; i++)
        if (model->links[i].node == node && model->links[i].parent == parent)
            return &model->links[i];
    return NULL;
}

bool model_has_place(const struct model *model, unsigned node) {
    if (node == 0)
        return true;
    for (unsigned i = 0; i < model->link_count; i++)
        if (model->links[i].node == node &&
            model_has_place(model, model->links[i].parent))
            return true;
    return false;
}

static void link_remove(struct model *model, unsigned i) {
    memmove(&model->links[i], &model->links[i + 1],
            (model->link_count - i - 1) * sizeof(model->links[0]));
    model->link_count--;
}

void model_link_drop(struct model *model, unsigned node, unsigned parent) {
    link_remove(
        model, (unsigned)(model_link_find(model, node, parent) - model->links));
    for (bool again = true; again;) {
        again = false;
        for (unsigned i = 0; i < model->link_count; i++)
            if (!model_has_place(model, model->links[i].parent)) {
                link_remove(model, i--);
                again = true;
            }
    }
}

static bool is_held(const struct model *model, unsigned node) {
    for (unsigned i = 0; i < RUNS; i++)
        for (unsigned p = 0;
             model->runs[i].used && p < model->runs[i].path_count; p++)
            if (model->runs[i].path[p] == node)
                return true;
    return false;
}

void model_review_nodes(struct model *model) {
    for (unsigned n = 0; n < model->node_count; n++) {
        struct model_node *node = &model->nodes[n];
        bool known = model_has_place(model, n) || is_held(model, n);
        if (known && !node->known) {
            node->order = model->next_order++;
            for (unsigned r = 0; r < RESOURCES; r++)
                node->limits[r] = model->levels[node->level].limits[r];
        }
        node->known = known;
    }
}

int64_t model_node_left(const struct model *model, unsigned node,
                        unsigned resource) {
    int64_t left = model->nodes[node].limits[resource];
    unsigned level = model->nodes[node].level;

    for (unsigned i = 0; i < RUNS; i++)
        for (unsigned p = 0;
             model->runs[i].used && p < model->runs[i].path_count; p++)
            if (model->runs[i].path[p] == node)
                left -= model->runs[i].demand.of_level[level][resource];
    return left;
}

int64_t model_worker_left(const struct model *model, unsigned worker,
                          unsigned resource) {
    int64_t left = model->workers[worker].limits[resource];

    for (unsigned i = 0; i < RUNS; i++)
        if (model->runs[i].used && model->runs[i].worker == worker)
            left -= model->runs[i].demand.of_worker[resource];
    return left;
}

/* ---- filters ------------------------------------------------------------- */

static bool is_listed(const struct span *list, size_t count, struct span word) {
    for (size_t i = 0; i < count; i++)
        if (list[i].len == word.len && memcmp(list[i].p, word.p, word.len) == 0)
            return true;
    return false;
}

static bool accepts(const struct node_filter *filter, const char *name,
                    const char *tags) {
    struct span word = span_of(name);
    char copy[32], *rest = copy;
    bool tagged = filter->tag_count == 0;

    snprintf(copy, sizeof(copy), "%s", tags);
    for (char *tag = strtok_r(copy, " ", &rest); tag != NULL;
         tag = strtok_r(NULL, " ", &rest))
        tagged |= is_listed(filter->tags, filter->tag_count, span_of(tag));
    if (filter->name_count > 0 &&
        !is_listed(filter->names, filter->name_count, word))
        return false;
    if (is_listed(filter->refused, filter->refused_count, word) || !tagged)
        return false;
    if (filter->accepts != NULL && !pattern_finds(filter->accepts, word))
        return false;
    if (filter->refuses != NULL && pattern_finds(filter->refuses, word))
        return false;
    return filter->fraction == 0 ||
           node_hash_mix(filter->salt, node_hash(word)) % 1000000 <
               filter->fraction;
}

/* ---- places -------------------------------------------------------------- */

/* The last node of `path` is reached; calls visit(path) for each continuation
 * of it to the root. */
typedef bool visitor(const struct model *model, const struct model_job *job,
                     const unsigned *path, unsigned count);

static void walk(const struct model *model, const struct model_job *job,
                 unsigned *path, unsigned count, visitor *visit,
                 unsigned *ret) {
    if (path[count - 1] == 0) {
        *ret += visit(model, job, path, count);
        return;
    }
    if (count == LEVELS)
        BROKEN("a path is longer than there are levels");
    for (unsigned i = 0; i < model->link_count; i++)
        if (model->links[i].node == path[count - 1]) {
            path[count] = model->links[i].parent;
            walk(model, job, path, count + 1, visit, ret);
        }
}

static unsigned count_places(const struct model *model,
                             const struct model_job *job, unsigned node,
                             visitor *visit) {
    unsigned path[LEVELS] = {node}, ret = 0;

    walk(model, job, path, 1, visit, &ret);
    return ret;
}

static const struct model_link *link_of(const struct model *model,
                                        const unsigned *path, unsigned i) {
    for (unsigned k = 0; k < model->link_count; k++)
        if (model->links[k].node == path[i] &&
            model->links[k].parent == path[i + 1])
            return &model->links[k];
    BROKEN("a path without a link");
}

static bool path_is_accepted(const struct model *model,
                             const struct model_job *job, const unsigned *path,
                             unsigned count) {
    for (unsigned i = 0; i < count; i++) {
        const struct model_node *node = &model->nodes[path[i]];
        const char *tags = i + 1 < count ? link_of(model, path, i)->tags : "";
        if (!accepts(&job->spec.filters[node->level], node->name, tags))
            return false;
    }
    return true;
}

static bool path_is_enabled(const struct model *model,
                            const struct model_job *job, const unsigned *path,
                            unsigned count) {
    (void)job;
    for (unsigned i = 0; i + 1 < count; i++)
        if (!link_of(model, path, i)->enabled)
            return false;
    return true;
}

static bool path_is_usable(const struct model *model,
                           const struct model_job *job, const unsigned *path,
                           unsigned count) {
    return path_is_enabled(model, job, path, count) &&
           path_is_accepted(model, job, path, count);
}

/* ---- workers ------------------------------------------------------------- */

static bool worker_is_open(const struct model *model,
                           const struct model_job *job, unsigned w) {
    const struct model_worker *worker = &model->workers[w];

    if (!worker->takes_tasks ||
        (job->spec.host.len > 0 && !span_is(job->spec.host, worker->host)) ||
        !accepts(&job->spec.worker_filter, worker->host, ""))
        return false;
    for (unsigned r = 0; r < model->worker_resources; r++)
        if (job->spec.demand.of_worker[r] > 0 &&
            model_worker_left(model, w, r) < job->spec.demand.of_worker[r])
            return false;
    return true;
}

/* The host that the path binds the task to, or NULL. */
static const char *bound(const struct model *model, const struct model_job *job,
                         const unsigned *path, unsigned count) {
    for (unsigned i = 0; job->spec.follows_host && i < count; i++)
        if (model->nodes[path[i]].level == job->spec.host_level)
            return model->nodes[path[i]].name;
    return NULL;
}

static bool any_worker(const struct model *model, const struct model_job *job,
                       const char *host) {
    for (unsigned w = 0; w < model->worker_count; w++)
        if (worker_is_open(model, job, w) &&
            (host == NULL || strcmp(model->workers[w].host, host) == 0))
            return true;
    return false;
}

static int64_t rest_of(const struct model *model, unsigned w) {
    int64_t rest = 0;

    for (unsigned r = 0; r < model->worker_resources; r++)
        rest += model->worker_weights[r] * model_worker_left(model, w, r);
    return rest;
}

static unsigned choose_worker(const struct model *model,
                              const struct model_job *job, const char *host) {
    int best = -1;

    for (unsigned i = 0; i < model->worker_count; i++) {
        bool in_turn = model->selector == NODE_SELECTOR_ROUND_ROBIN;
        unsigned w =
            in_turn ? (model->worker_turn + i) % model->worker_count : i;
        if (!worker_is_open(model, job, w) ||
            (host != NULL && strcmp(model->workers[w].host, host) != 0))
            continue;
        if (best < 0 ||
            (!in_turn && rest_of(model, w) < rest_of(model, (unsigned)best)))
            best = (int)w;
    }
    return (unsigned)best;
}

bool model_place_is_open(const struct model *model, const struct model_job *job,
                         const unsigned *path, unsigned count) {
    const char *host = bound(model, job, path, count);

    if (!path_is_usable(model, job, path, count))
        return false;
    for (unsigned i = 0; i < count; i++) {
        unsigned level = model->nodes[path[i]].level;
        for (unsigned r = 0; r < model->levels[level].resource_count; r++) {
            int64_t takes = job->spec.demand.of_level[level][r];
            if (takes > 0 && model_node_left(model, path[i], r) < takes)
                return false;
        }
    }
    return any_worker(model, job, host);
}

/* ---- tasks --------------------------------------------------------------- */

static const struct model_job *job_of(const struct model *model, uint64_t num) {
    for (unsigned i = 0; i < JOBS; i++)
        if (model->jobs[i].used && model->jobs[i].spec.num == num)
            return &model->jobs[i];
    return NULL;
}

static bool task_is_ready(const struct model *model,
                          const struct model_job *job, unsigned row) {
    const struct model_task *task = &job->tasks[row];

    if (task->status == TASK_RUNNING || task->status == TASK_DONE ||
        task->status == TASK_FAILED || task->not_before.ns > model->now.ns)
        return false;
    for (size_t i = 0; i < job->spec.depends_count; i++) {
        const struct model_job *on = job_of(model, job->spec.depends_on[i]);
        if (on == NULL || on->spec.own_count > 0 ||
            on->spec.level != job->spec.level ||
            on->tasks[row].status != TASK_DONE)
            return false;
    }
    return true;
}

unsigned model_count(const struct model *model, const struct model_job *job,
                     bool ready) {
    unsigned count = 0;

    if (job->spec.own_count > 0) {
        for (unsigned row = 0; row < job->spec.own_count; row++)
            count += ready ? task_is_ready(model, job, row)
                           : job->tasks[row].status != TASK_DONE;
        return count;
    }
    for (unsigned n = 0; n < model->node_count; n++) {
        if (model->nodes[n].level != job->spec.level)
            continue;
        if (ready && task_is_ready(model, job, n))
            count += count_places(model, job, n, path_is_usable);
        if (!ready && job->tasks[n].status != TASK_DONE)
            count += count_places(model, job, n, path_is_accepted);
    }
    return count;
}

static bool job_is_released(const struct model *model,
                            const struct model_job *job) {
    for (size_t i = 0; i < job->spec.after_count; i++) {
        const struct model_job *after =
            job_of(model, job->spec.after_nodes_of[i]);
        if (after == NULL || !after->spec.enabled ||
            model_count(model, after, false) > 0)
            return false;
    }
    return true;
}

static unsigned running(const struct model *model, int job) {
    unsigned count = 0;

    for (unsigned i = 0; i < RUNS; i++)
        count += model->runs[i].used && model->runs[i].job == job;
    return count;
}

static unsigned account_running(const struct model *model, unsigned account) {
    unsigned count = 0;

    for (unsigned i = 0; i < RUNS; i++)
        count += model->runs[i].used && model->runs[i].account == account;
    return count;
}

/* True if task a of the job comes before task b. */
static bool precedes(const struct model *model, const struct model_job *job,
                     unsigned a, unsigned b) {
    const struct model_node *x = &model->nodes[a], *y = &model->nodes[b];
    uint64_t salt = node_hash_mix(model->seed, job->spec.num);
    uint32_t draw_x, draw_y;

    if (job->spec.own_count > 0)
        return a < b;
    switch (job->spec.order) {
    case NODE_ORDER_ORIGINAL:
        return x->order < y->order;
    case NODE_ORDER_LEXICOGRAPHIC:
        return strcmp(x->name, y->name) < 0;
    case NODE_ORDER_RANDOM:
        break;
    }
    draw_x =
        (uint32_t)(node_hash_mix(salt ^ (uint32_t)node_hash(span_of(x->name)),
                                 job->tasks[a].attempt) >>
                   32);
    draw_y =
        (uint32_t)(node_hash_mix(salt ^ (uint32_t)node_hash(span_of(y->name)),
                                 job->tasks[b].attempt) >>
                   32);
    return draw_x < draw_y;
}

static bool task_can_start(const struct model *model,
                           const struct model_job *job, unsigned row) {
    unsigned root[] = {0};

    if (!task_is_ready(model, job, row))
        return false;
    if (job->spec.own_count > 0)
        return model_place_is_open(model, job, root, 1);
    return count_places(model, job, row, model_place_is_open) > 0;
}

/* The first task of the job that can start, or -1. */
static int first_task(const struct model *model, const struct model_job *job) {
    unsigned count =
        job->spec.own_count > 0 ? job->spec.own_count : model->node_count;
    int first = -1;

    for (unsigned row = 0; row < count; row++) {
        if (job->spec.own_count == 0 &&
            model->nodes[row].level != job->spec.level)
            continue;
        if (task_can_start(model, job, row) &&
            (first < 0 || precedes(model, job, row, (unsigned)first)))
            first = (int)row;
    }
    return first;
}

/* ---- turns --------------------------------------------------------------- */

static double draw(struct model *model, struct model_job *job, double from) {
    uint64_t bits =
        node_hash_mix(node_hash_mix(model->seed, job->spec.num), ++job->draws);

    return from + random_exponential(bits) * 1000.0 / job->spec.priority;
}

static double *share_turn(struct model *model, const struct model_job *job) {
    return &model->accounts[job->account].share_turn[job->spec.job_class];
}

void model_appear(struct model *model, unsigned account) {
    if (model->accounts[account].appeared)
        return;
    model->accounts[account].appeared = true;
    model->accounts[account].number = model->account_count++;
}

void model_join(struct model *model, struct model_job *job, bool is_new) {
    job->turn = is_new ? 0 : *share_turn(model, job);
    if (is_new)
        job->draws = 0;
    if (model->policy == NODE_POLICY_RANDOMIZED_PRIORITY)
        job->turn = draw(model, job, *share_turn(model, job));
}

static uint64_t rank_of(const struct model *model,
                        const struct model_job *job) {
    if (model->policy == NODE_POLICY_RANKED_PRIORITY)
        return UINT32_MAX - job->spec.priority;
    return model->policy == NODE_POLICY_LONG_TAIL
               ? model_count(model, job, true)
               : 0;
}

static uint64_t shuffle_of(const struct model *model,
                           const struct model_job *job) {
    return model->policy == NODE_POLICY_ROUND_ROBIN
               ? node_hash_mix(node_hash_mix(model->seed, job->spec.num),
                               (uint64_t)job->turn)
               : 0;
}

/* Of jobs of one class. */
static bool job_precedes(const struct model *model, const struct model_job *a,
                         const struct model_job *b) {
    const struct model_account *x = &model->accounts[a->account],
                               *y = &model->accounts[b->account];
    uint64_t rank_a = rank_of(model, a), rank_b = rank_of(model, b);

    if (a->spec.job_class != b->spec.job_class)
        return a->spec.job_class < b->spec.job_class;
    if (rank_a != rank_b)
        return rank_a < rank_b;
    if (x != y)
        return x->turn < y->turn ||
               (x->turn <= y->turn && x->number < y->number);
    if (a->turn < b->turn || a->turn > b->turn)
        return a->turn < b->turn;
    if (shuffle_of(model, a) != shuffle_of(model, b))
        return shuffle_of(model, a) < shuffle_of(model, b);
    return a->spec.num < b->spec.num;
}

static int next_job(const struct model *model, const bool *can) {
    int next = -1;

    for (int i = 0; i < JOBS; i++)
        if (can[i] && (next < 0 || job_precedes(model, &model->jobs[i],
                                                &model->jobs[next])))
            next = i;
    return next;
}

struct model_pick model_pick(struct model *model) {
    struct model_pick pick = {.job = -1};
    bool can[JOBS] = {false};
    int first[JOBS];

    for (int i = 0; i < JOBS; i++) {
        const struct model_job *job = &model->jobs[i];
        const struct model_account *account = &model->accounts[job->account];
        if (!job->used || !job->spec.enabled ||
            (account->limit > 0 &&
             account_running(model, job->account) >= account->limit) ||
            (job->spec.max_running > 0 &&
             running(model, i) >= job->spec.max_running) ||
            !job_is_released(model, job))
            continue;
        first[i] = first_task(model, job);
        can[i] = first[i] >= 0;
    }
    pick.job = next_job(model, can);
    while (pick.job >= 0 && model->policy == NODE_POLICY_RANDOMIZED_PRIORITY &&
           model->jobs[pick.job].turn <
               *share_turn(model, &model->jobs[pick.job])) {
        struct model_job *job = &model->jobs[pick.job];
        job->turn = draw(model, job, *share_turn(model, job));
        pick.job = next_job(model, can);
    }
    if (pick.job >= 0)
        pick.row = (unsigned)first[pick.job];
    return pick;
}

struct model_run *model_start(struct model *model,
                              const struct model_pick *pick,
                              const unsigned *path, unsigned count) {
    struct model_job *job = &model->jobs[pick->job];
    struct model_account *account = &model->accounts[job->account];
    struct model_task *task = &job->tasks[pick->row];
    double *turn = share_turn(model, job);
    struct model_run *run = model->runs;
    unsigned worker = choose_worker(model, job, bound(model, job, path, count));

    while (run->used)
        run++;
    *run = (struct model_run){.used = true,
                              .job = pick->job,
                              .row = pick->row,
                              .worker = worker,
                              .account = job->account,
                              .path_count = count,
                              .demand = job->spec.demand};
    memcpy(run->path, path, count * sizeof(*path));
    if (model->selector == NODE_SELECTOR_ROUND_ROBIN)
        model->worker_turn = (worker + 1) % model->worker_count;
    if (job->turn > *turn)
        *turn = job->turn;
    if (model->policy == NODE_POLICY_ROUND_ROBIN)
        job->turn = *turn + 1;
    else if (model->policy == NODE_POLICY_RANDOMIZED_PRIORITY)
        job->turn = draw(model, job, *turn);
    if (account->turn > model->turn)
        model->turn = account->turn;
    account->turn = model->turn + 1.0 / account->weight;
    if (task->attempt++ == 0)
        task->begun_s = model->now.ns / NS_PER_S;
    run->attempt = task->attempt;
    task->status = TASK_RUNNING;
    task->not_before = (struct wall){0};
    task->safety = task->assumed = false;
    return run;
}

/* ---- ends ---------------------------------------------------------------- */

struct retry_end model_retry_end(enum model_end end) {
    static const struct retry_end ends[MODEL_ENDS] = {
        [END_DONE] = {.result = RETRY_RAN},
        [END_REPORTED_DONE] = {.exit_code = 3, .status = RETRY_STATUS_DONE},
        [END_INCOMPLETE] = {.status = RETRY_STATUS_INCOMPLETE},
        [END_INCOMPLETE_BACKOFF] = {.status = RETRY_STATUS_INCOMPLETE_BACKOFF},
        [END_BACKOFF] = {.status = RETRY_STATUS_BACKOFF},
        [END_FAILED] = {.status = RETRY_STATUS_FAILED},
        [END_UNREADABLE] = {.status = RETRY_STATUS_UNREADABLE},
        [END_EXIT] = {.exit_code = 1},
        [END_SIGNAL] = {.exit_code = -1, .signal = 11},
        [END_TIMEOUT] = {.exit_code = -1, .signal = 9, .timed_out = true},
        [END_TEMPORARY] = {.exit_code = 75},
        [END_PERMANENT] = {.exit_code = 100},
        [END_CRASHED] = {.result = RETRY_CRASHED, .exit_code = -1},
        [END_NOT_NOW] = {.result = RETRY_NOT_NOW, .exit_code = -1},
        [END_LOST] = {.result = RETRY_LOST, .exit_code = -1},
        [END_WITHDRAWN] = {.result = RETRY_WITHDRAWN, .exit_code = -1},
        [END_RECOVERED] = {.result = RETRY_RECOVERED, .exit_code = -1},
        [END_KILLED] = {.exit_code = -1,
                        .signal = 15,
                        .killer = RETRY_OPERATOR},
    };

    return ends[end];
}

struct judging {
    struct model *model;
    struct model_task *task;
    const struct node_rules *rules;
    struct wall drawn;
    struct wall safe; /* hides a shorter draw; 0: does not */
};

static void wait_s(struct judging *j, int64_t s) {
    j->task->not_before = wall_add_ms(j->model->now, 1000 * s);
}

/* min(600, 2^k) s, +-20 % by chance. */
static void wait_by_chance(struct judging *j, unsigned k) {
    int64_t middle = k >= 10 ? 600000 : INT64_C(1000) << k;
    int64_t ms = wall_ms_since(j->drawn, j->model->now);

    if ((ms < middle * 8 / 10 || ms > middle * 12 / 10) &&
        (j->drawn.ns != j->safe.ns || ms < middle * 8 / 10))
        BROKEN("a wait of %lld ms instead of about %lld", (long long)ms,
               (long long)middle);
    j->task->not_before = j->drawn;
}

/* A failed end: the job's own list, or waits by chance, until it is over. */
static void fail(struct judging *j, enum task_status waiting) {
    const struct retry_limits *limits = &j->rules->limits;
    unsigned fails = j->task->fails++;

    if (fails >= limits->retries || limits->at_most_once ||
        (limits->backoff_fails && fails >= limits->backoff_count)) {
        j->task->status = TASK_FAILED;
        j->task->not_before = (struct wall){0};
        return;
    }
    j->task->status = waiting;
    if (limits->backoff_count == 0)
        wait_by_chance(j, fails);
    else
        wait_s(j, limits->backoff_s[fails < limits->backoff_count
                                        ? fails
                                        : limits->backoff_count - 1]);
}

static void end_for_good(struct judging *j, enum task_status status) {
    j->task->status = status;
    j->task->not_before = (struct wall){0};
}

static void temporary(struct judging *j, bool answered) {
    const struct retry_limits *limits = &j->rules->limits;
    unsigned temps = j->task->temps++;
    struct wall begun = {j->task->begun_s * NS_PER_S};

    if (answered && limits->at_most_once)
        end_for_good(j, TASK_FAILED);
    else if (temps + 1 >= limits->max_temp ||
             (limits->temp_max_ms > 0 && begun.ns > 0 &&
              wall_ms_since(j->model->now, begun) >= limits->temp_max_ms))
        end_for_good(j, TASK_FAILED);
    else {
        j->task->status = TASK_BACKOFF;
        wait_by_chance(j, temps);
    }
}

static void incomplete(struct judging *j) {
    unsigned times = j->task->incompletes + 1;

    if (j->rules->limits.at_most_once) {
        end_for_good(j, TASK_FAILED);
        j->task->incompletes = times;
        return;
    }
    j->task->status = TASK_INCOMPLETE;
    j->task->not_before = (struct wall){0};
    if (times >= 10)
        wait_by_chance(j, times - 10);
    j->task->incompletes = times;
    j->task->temps = j->task->fails = j->task->crashes = 0;
}

static void incomplete_backoff(struct judging *j) {
    const struct retry_limits *limits = &j->rules->limits;
    unsigned fails = j->task->fails, temps = j->task->temps;

    if (limits->at_most_once) {
        end_for_good(j, TASK_FAILED);
        return;
    }
    j->task->status = TASK_BACKOFF;
    if (limits->backoff_count == 0)
        wait_by_chance(j, temps > 0 ? temps - 1 : 0);
    else
        wait_s(j, limits->backoff_s[fails < limits->backoff_count
                                        ? fails
                                        : limits->backoff_count - 1]);
}

static void lose(struct judging *j) {
    struct wall safe = wall_add_ms(j->model->now, j->rules->lost_wait_ms);

    j->safe = safe;
    fail(j, TASK_LOST);
    if (j->task->not_before.ns < safe.ns)
        j->task->not_before = safe;
    j->task->safety = j->task->assumed = true;
}

static void judge(struct judging *j, enum model_end end) {
    const struct retry_limits *limits = &j->rules->limits;

    switch (end) {
    case END_DONE:
    case END_REPORTED_DONE:
        end_for_good(j, TASK_DONE);
        return;
    case END_INCOMPLETE:
        incomplete(j);
        return;
    case END_KILLED:
        if (!j->rules->killed_waits) {
            end_for_good(j, TASK_FAILED);
            return;
        }
        incomplete_backoff(j);
        return;
    case END_INCOMPLETE_BACKOFF:
        incomplete_backoff(j);
        return;
    case END_FAILED:
    case END_PERMANENT:
        end_for_good(j, TASK_FAILED);
        j->task->fails++;
        return;
    case END_BACKOFF:
    case END_UNREADABLE:
    case END_EXIT:
    case END_SIGNAL:
    case END_TIMEOUT:
        fail(j, TASK_BACKOFF);
        return;
    case END_TEMPORARY:
    case END_NOT_NOW:
        temporary(j, end == END_TEMPORARY);
        return;
    case END_CRASHED:
        if (limits->at_most_once || j->task->crashes + 1 >= limits->max_crash) {
            end_for_good(j, TASK_FAILED);
        } else {
            j->task->status = TASK_LOST;
            wait_by_chance(j, j->task->crashes);
        }
        j->task->crashes++;
        return;
    case END_LOST:
        lose(j);
        return;
    case END_WITHDRAWN:
        j->task->attempt--;
        end_for_good(j, TASK_UNSTARTED);
        return;
    case END_RECOVERED:
        end_for_good(j, limits->at_most_once ? TASK_FAILED : TASK_LOST);
        return;
    case MODEL_ENDS:
        break;
    }
    BROKEN("no such end");
}

bool model_end(struct model *model, struct model_job *job, unsigned row,
               unsigned attempt, enum model_end end, struct wall drawn) {
    struct model_task *task = &job->tasks[row];
    struct judging j = {model, task, &job->spec.rules, drawn, {0}};
    bool late = task->assumed && model_retry_end(end).result == RETRY_RAN;
    unsigned incompletes = task->incompletes;

    if (attempt != task->attempt || (task->status != TASK_RUNNING && !late))
        return false;
    if (late && task->fails > 0)
        task->fails--;
    task->safety = task->assumed = false;
    judge(&j, end);
    if (end != END_INCOMPLETE && task->status != TASK_UNSTARTED &&
        task->status != TASK_LOST)
        task->incompletes = 0;
    if (end == END_WITHDRAWN)
        task->incompletes = incompletes;
    return true;
}

bool model_forgive(struct model_task *task) {
    bool safety = task->safety;

    if (task->status == TASK_DONE ||
        (task->status == TASK_UNSTARTED && task->not_before.ns == 0))
        return false;
    task->temps = task->fails = task->crashes = task->incompletes = 0;
    if (task->status == TASK_RUNNING)
        return true;
    task->status = safety ? TASK_LOST : TASK_UNSTARTED;
    if (!safety)
        task->not_before = (struct wall){0};
    return true;
}

bool model_is_orphan(const struct model *model, const struct model_run *run) {
    return run->job < 0 || !model->jobs[run->job].spec.enabled ||
           run->path_count == 0 ||
           count_places(model, NULL, run->path[0], path_is_enabled) == 0;
}
