/* The pass (core/node_pass.h) is compared with a naive scheduler in random
 * histories: nodes on four or five levels with replicas come, go, change and
 * are disabled; a dozen jobs with filters, amounts, relations and waits of
 * every kind are added, redefined, removed and forgiven; attempts end in every
 * way, are lost and report late; limits, workers, accounts and the clock
 * change; the program is restarted. Both have to start the same task on the
 * same worker, every time, and to agree on amounts, counts, statuses and
 * orphans (doc/design/nodes.md, N2 to N13).
 *
 * POINTSMAN_HISTORIES=N sets the number of histories, POINTSMAN_SEED=N the
 * first one. */
#include "sim/node_model.h"
#include "support/test.h"

#include <limits.h>

#include "lib/random.h"

enum { EVENTS = 1000, HISTORIES = 40 };

static struct model *model;
static struct node_pass *pass;
static struct random chance;
static unsigned long long history;
static uint64_t next_num;
static const char *const words[] = {"red", "green", "blue"};
static struct {
    unsigned long starts, refusals, kills, restarts, adopted, late, dropped,
        replicas, negative, forgiven, set_back;
    unsigned long ends[MODEL_ENDS], policies[4], orders[3], selectors[2],
        filters[7], relations[2], own, bound, hosts, limited, most, accounts;
} seen;

#define BROKEN(...)                                                            \
    (fprintf(stderr, "history %llu: ", history), fprintf(stderr, __VA_ARGS__), \
     fputc('\n', stderr), abort())

static unsigned below(unsigned n) {
    return (unsigned)random_below(&chance, n);
}

static bool percent(unsigned p) {
    return below(100) < p;
}

/* ---- comparing ----------------------------------------------------------- */

static uint32_t node_of(unsigned n) {
    return node_tree_find(node_pass_tree(pass), span_of(model->nodes[n].name));
}

static unsigned index_of(uint32_t node) {
    struct span name = node_tree_name(node_pass_tree(pass), node);

    for (unsigned n = 0; n < model->node_count; n++)
        if (span_is(name, model->nodes[n].name))
            return n;
    BROKEN("an unknown node");
}

/* The row of a task of the model's job. */
static uint32_t row_of(const struct model_job *job, unsigned row) {
    return job->spec.own_count > 0
               ? row
               : node_pass_tree(pass)->nodes[node_of(row)].row;
}

static bool has_row(const struct model_job *job, unsigned row) {
    return job->spec.own_count > 0
               ? row < job->spec.own_count
               : model->nodes[row].known &&
                     model->nodes[row].level == job->spec.level;
}

static const struct node_task *real_task(const struct model_job *job,
                                         unsigned row) {
    return &node_pass_job(job->real)->tasks[row_of(job, row)];
}

static void compare_task(const struct model_job *job, unsigned row) {
    const struct node_task *real = real_task(job, row);
    const struct model_task *task = &job->tasks[row];

    if (real->status != task->status || real->attempt != task->attempt ||
        real->temps != task->temps || real->fails != task->fails ||
        real->crashes != task->crashes ||
        real->incompletes != task->incompletes ||
        real->not_before.ns != task->not_before.ns)
        BROKEN("job %llu, task %u: %s, attempt %u, %u %u %u %u, %lld instead "
               "of %s, attempt %u, %u %u %u %u, %lld",
               (unsigned long long)job->spec.num, row,
               job_task_status_word(real->status), real->attempt, real->temps,
               real->fails, real->crashes, real->incompletes,
               (long long)real->not_before.ns,
               job_task_status_word(task->status), task->attempt, task->temps,
               task->fails, task->crashes, task->incompletes,
               (long long)task->not_before.ns);
}

static void compare_job(const struct model_job *job) {
    const struct node_job *real = node_pass_job(job->real);

    for (unsigned row = 0; row < NODES; row++)
        if (has_row(job, row))
            compare_task(job, row);
    if (real->total.ready != model_count(model, job, true) ||
        real->total.undone != model_count(model, job, false))
        BROKEN("job %llu: %u ready, %u not done instead of %u and %u",
               (unsigned long long)job->spec.num, real->total.ready,
               real->total.undone, model_count(model, job, true),
               model_count(model, job, false));
}

static void compare_amounts(void) {
    const struct node_tree *tree = node_pass_tree(pass);

    for (unsigned n = 0; n < model->node_count; n++) {
        unsigned level = model->nodes[n].level;
        if ((node_of(n) != NODE_NONE) != model->nodes[n].known)
            BROKEN("node %s is %sknown", model->nodes[n].name,
                   model->nodes[n].known ? "un" : "");
        if (!model->nodes[n].known)
            continue;
        for (unsigned r = 0; r < model->levels[level].resource_count; r++) {
            int64_t left = model_node_left(model, n, r);
            seen.negative += left < 0;
            if (node_tree_left(tree, node_of(n))[r] != left)
                BROKEN("%s has %lld of resource %u left instead of %lld",
                       model->nodes[n].name,
                       (long long)node_tree_left(tree, node_of(n))[r], r,
                       (long long)left);
        }
    }
}

static void compare(void) {
    compare_amounts();
    for (unsigned i = 0; i < JOBS; i++)
        if (model->jobs[i].used)
            compare_job(&model->jobs[i]);
}

/* ---- starts -------------------------------------------------------------- */

static unsigned path_of(uint32_t place, unsigned path[LEVELS]) {
    const struct node_tree *tree = node_pass_tree(pass);
    unsigned count = 0;

    for (; place != NODE_NONE; place = tree->places[place].parent)
        path[count++] = index_of(tree->places[place].node);
    return count;
}

static void start(const struct node_start *real,
                  const struct model_pick *pick) {
    struct model_job *job = &model->jobs[pick->job];
    unsigned path[LEVELS], count = path_of(real->place, path);
    struct model_run *run;

    if (real->num != job->spec.num || real->row != row_of(job, pick->row))
        BROKEN("job %llu starts row %u instead of job %llu task %u",
               (unsigned long long)real->num, real->row,
               (unsigned long long)job->spec.num, pick->row);
    if (!model_place_is_open(model, job, path, count) ||
        (job->spec.own_count == 0 && path[0] != pick->row))
        BROKEN("job %llu starts task %u at a closed place",
               (unsigned long long)job->spec.num, pick->row);
    run = model_start(model, pick, path, count);
    if (run->worker != real->worker || run->attempt != real->attempt)
        BROKEN("worker %u, attempt %u instead of %u, %u", real->worker,
               real->attempt, run->worker, run->attempt);
    run->real = real->run;
    seen.starts++;
    seen.policies[model->policy]++;
    seen.orders[job->spec.order]++;
    seen.selectors[model->selector]++;
    seen.own += job->spec.own_count > 0;
    seen.bound += job->spec.follows_host;
    seen.hosts += job->spec.host.len > 0;
    seen.most += job->spec.max_running > 0;
    seen.limited += model->accounts[job->account].limit > 0;
    seen.accounts += model->accounts[job->account].weight > 1;
    seen.relations[0] += job->spec.depends_count > 0;
    seen.relations[1] += job->spec.after_count > 0;
    for (unsigned l = 0; l < model->level_count; l++) {
        const struct node_filter *filter = &job->spec.filters[l];
        seen.filters[0] += filter->name_count > 0;
        seen.filters[1] += filter->refused_count > 0;
        seen.filters[2] += filter->tag_count > 0;
        seen.filters[3] += filter->accepts != NULL;
        seen.filters[4] += filter->refuses != NULL;
        seen.filters[5] += filter->fraction > 0;
    }
    seen.filters[6] += !node_filter_is_open(&job->spec.worker_filter);
}

static void starts(void) {
    for (;;) {
        struct model_pick pick = model_pick(model);
        struct node_start real;
        bool started = node_pass_next(pass, model->now, &real);
        if (started != (pick.job >= 0))
            BROKEN("%s can start, but %s", pick.job >= 0 ? "a task" : "nothing",
                   started ? "one starts" : "none does");
        if (!started)
            return;
        start(&real, &pick);
    }
}

static void kills(void) {
    unsigned due = 0, named = 0;
    const struct node_run *run;

    for (unsigned i = 0; i < RUNS; i++) {
        struct model_run *r = &model->runs[i];
        int64_t after_ms = r->job < 0
                               ? model->kill_orphans_after_ms
                               : model->jobs[r->job].spec.kill_orphans_after_ms;
        if (!r->used)
            continue;
        if (!model_is_orphan(model, r))
            r->orphan_since.ns = 0;
        else if (r->orphan_since.ns == 0)
            r->orphan_since = model->now;
        if (r->orphan_since.ns == 0 || r->killed || after_ms < 0 ||
            wall_add_ms(r->orphan_since, after_ms).ns > model->now.ns)
            continue;
        r->killed = true;
        due++;
    }
    while ((run = node_pass_next_kill(pass, model->now)) != NULL) {
        bool found = false;
        for (unsigned i = 0; i < RUNS; i++)
            found |= model->runs[i].used && model->runs[i].real == run &&
                     model->runs[i].killed;
        if (!found)
            BROKEN("a run is killed that is no orphan");
        named++;
    }
    if (due != named)
        BROKEN("%u orphans are killed instead of %u", named, due);
    seen.kills += due;
}

/* ---- nodes --------------------------------------------------------------- */

/* The task as it is on record. */
static struct node_task record_of(const struct model_task *task) {
    return (struct node_task){
        .not_before = task->not_before,
        .attempt = task->attempt,
        .begun_s = (uint32_t)task->begun_s,
        .temps = (uint16_t)task->temps,
        .fails = (uint16_t)task->fails,
        .crashes = (uint8_t)task->crashes,
        .incompletes = (uint8_t)task->incompletes,
        .status = (uint8_t)task->status,
        .flags = (uint8_t)((task->safety ? NODE_TASK_SAFETY : 0) |
                           (task->assumed ? NODE_TASK_ASSUMED : 0))};
}

static void restore_task(struct model_job *job, unsigned row) {
    struct node_task task = record_of(&job->tasks[row]);

    if (task.attempt > 0 && task.status != TASK_RUNNING)
        node_pass_restore(pass, job->real, row_of(job, row), &task, model->now);
}

static void put_link(unsigned node, unsigned parent, bool enabled,
                     const char *tags) {
    struct model_link *link = model_link_find(model, node, parent);
    bool had_place = model_has_place(model, node);
    enum node_put expected =
        link == NULL ? NODE_PUT_ADDED
        : link->enabled == enabled && strcmp(link->tags, tags) == 0
            ? NODE_PUT_SAME
            : NODE_PUT_CHANGED;
    enum node_put result;

    if (!model_has_place(model, parent))
        expected = NODE_PUT_NO_PARENT;
    else if (model->nodes[node].level <= model->nodes[parent].level)
        expected = NODE_PUT_WRONG_LEVEL;
    if (link == NULL && model->link_count == LINKS)
        return;
    result = node_pass_put_node(
        pass, model->nodes[node].level, span_of(model->nodes[node].name),
        span_of(model->nodes[parent].name), enabled, span_of(tags));
    if (result != expected)
        BROKEN("putting %s below %s gives %d instead of %d",
               model->nodes[node].name, model->nodes[parent].name, result,
               expected);
    if (expected == NODE_PUT_NO_PARENT || expected == NODE_PUT_WRONG_LEVEL) {
        seen.refusals++;
        return;
    }
    if (link == NULL)
        link = &model->links[model->link_count++];
    *link = (struct model_link){node, parent, enabled, ""};
    snprintf(link->tags, sizeof(link->tags), "%s", tags);
    model_review_nodes(model);
    if (had_place)
        seen.replicas += expected == NODE_PUT_ADDED;
    for (unsigned i = 0; !had_place && i < JOBS; i++)
        if (model->jobs[i].used && model->jobs[i].real != NULL &&
            model->jobs[i].spec.own_count == 0 &&
            model->jobs[i].spec.level == model->nodes[node].level)
            restore_task(&model->jobs[i], node);
}

static void random_tags(char tags[16]) {
    tags[0] = '\0';
    for (unsigned i = 0; i < COUNT(words); i++)
        if (percent(30))
            snprintf(tags + strlen(tags), 16 - strlen(tags), "%s%s",
                     tags[0] != '\0' ? " " : "", words[i]);
}

/* Mostly below a node of a level above. */
static void put_some_node(unsigned node) {
    unsigned parent = below(model->node_count);
    char tags[16];

    while (model->nodes[parent].level >= model->nodes[node].level &&
           percent(95))
        parent = below(node);
    random_tags(tags);
    put_link(node, parent, percent(90), tags);
}

static void put_node(void) {
    put_some_node(1 + below(model->node_count - 1));
}

static void touch_node(void) {
    const struct model_link *link;
    char tags[16];

    if (model->link_count == 0)
        return;
    link = &model->links[below(model->link_count)];
    snprintf(tags, sizeof(tags), "%s", link->tags);
    if (percent(50))
        random_tags(tags);
    put_link(link->node, link->parent, percent(70), tags);
}

static void drop_node(void) {
    struct model_link link;

    if (model->link_count == 0)
        return;
    link = model->links[below(model->link_count)];
    if (!node_pass_drop_node(pass, span_of(model->nodes[link.node].name),
                             span_of(model->nodes[link.parent].name)))
        BROKEN("a node cannot be dropped");
    model_link_drop(model, link.node, link.parent);
    model_review_nodes(model);
    if (node_pass_drop_node(pass, span_of(model->nodes[link.node].name),
                            span_of(model->nodes[link.parent].name)))
        BROKEN("a node is dropped twice");
    seen.dropped++;
}

static void set_limit(void) {
    unsigned n = below(model->node_count);
    unsigned count = model->levels[model->nodes[n].level].resource_count;
    unsigned r;

    if (!model->nodes[n].known || count == 0)
        return;
    r = below(count);
    model->nodes[n].limits[r] = below(n == 0 ? 30 : 6);
    node_pass_set_limit(pass, node_of(n), r, model->nodes[n].limits[r]);
}

/* ---- workers and accounts ------------------------------------------------ */

static void add_worker(void) {
    struct model_worker *worker = &model->workers[model->worker_count];

    if (model->worker_count == WORKERS)
        return;
    /* Some hosts are nodes, so that jobs can follow them. */
    snprintf(worker->host, sizeof(worker->host), "%s",
             percent(70) ? model->nodes[1 + below(6)].name : "elsewhere");
    for (unsigned r = 0; r < model->worker_resources; r++)
        worker->limits[r] = 1 + below(12);
    worker->takes_tasks = false;
    assert_int_equal(
        node_pass_add_worker(pass, span_of(worker->host), worker->limits),
        model->worker_count);
    model->worker_count++;
}

static void set_worker(void) {
    unsigned w;

    if (model->worker_count == 0)
        return;
    w = below(model->worker_count);
    model->workers[w].takes_tasks = percent(90);
    if (percent(30))
        for (unsigned r = 0; r < model->worker_resources; r++)
            model->workers[w].limits[r] = below(12);
    node_pass_set_worker(pass, w, model->workers[w].takes_tasks,
                         model->workers[w].limits);
}

static void set_account(void) {
    unsigned a = below(ACCOUNTS);
    struct model_account *account = &model->accounts[a];

    model_appear(model, a);
    account->weight = 1 + below(4);
    account->limit = percent(70) ? 0 : 1 + below(5);
    node_pass_set_account(pass, span_of(account->name), account->weight,
                          account->limit);
}

/* ---- jobs ---------------------------------------------------------------- */

static int compare_spans(const void *a, const void *b) {
    return span_compare(*(const struct span *)a, *(const struct span *)b);
}

static size_t random_list(struct model_job *job, unsigned level, unsigned which,
                          unsigned most, bool tags) {
    size_t count = 1 + below(most);

    for (size_t i = 0; i < count; i++) {
        char *text = job->texts[level][which][i];
        snprintf(text, 16, "%s",
                 tags ? words[below(COUNT(words))]
                      : model->nodes[below(model->node_count)].name);
        job->lists[level][which][i] = span_of(text);
    }
    qsort(job->lists[level][which], count, sizeof(struct span), compare_spans);
    return count;
}

static struct pattern *random_pattern(struct model_job *job, unsigned level,
                                      unsigned which) {
    static const char *const texts[] = {"[02468]$", "1", "^n[0-9]*[1-5]$",
                                        "e|n4"};
    struct err err;

    if (!pattern_new(span_of(texts[below(COUNT(texts))]), false,
                     &job->patterns[level][which], &err))
        BROKEN("%s", err.text);
    return job->patterns[level][which];
}

static void random_filter(struct model_job *job, unsigned level) {
    struct node_filter *filter = &job->spec.filters[level];

    if (percent(6)) {
        filter->names = job->lists[level][0];
        filter->name_count = random_list(job, level, 0, LIST, false);
    }
    if (percent(10)) {
        filter->refused = job->lists[level][1];
        filter->refused_count = random_list(job, level, 1, LIST, false);
    }
    if (percent(8) && level > 0) {
        filter->tags = job->lists[level][2];
        filter->tag_count = random_list(job, level, 2, 2, true);
    }
    if (percent(6) && level > 0)
        filter->accepts = random_pattern(job, level, 0);
    if (percent(6))
        filter->refuses = random_pattern(job, level, 1);
    if (percent(10)) {
        filter->fraction = 300000 + below(800000);
        filter->salt = job->spec.num;
    }
}

static void random_rules(struct model_job *job) {
    struct node_rules *rules = &job->spec.rules;
    size_t waits = percent(40) ? 0 : 1 + below(4);

    for (size_t i = 0; i < waits; i++)
        job->waits[i] = (i > 0 ? job->waits[i - 1] : 0) + 1 + below(60);
    rules->limits =
        (struct retry_limits){.max_temp = 1 + below(4),
                              .max_crash = 1 + below(3),
                              .temp_max_ms = percent(50) ? 0 : 200000,
                              .retries = percent(50) ? UINT_MAX : below(4),
                              .backoff_s = job->waits,
                              .backoff_count = waits,
                              .backoff_fails = percent(40),
                              .at_most_once = percent(8)};
    rules->lost_wait_ms = 1000 * below(90);
    rules->killed_waits = percent(60);
}

static size_t random_relations(struct model_job *job, unsigned which) {
    size_t count = 0;

    for (unsigned i = 0; i < JOBS && count < 2; i++)
        if (model->jobs[i].used && &model->jobs[i] != job && percent(6))
            job->relations[which][count++] = model->jobs[i].spec.num;
    if (percent(2))
        job->relations[which][count++] = next_num + 1; /* unknown as yet */
    return count;
}

static void random_demand(struct model_job *job) {
    for (unsigned l = 0; l < model->level_count; l++)
        for (unsigned r = 0; r < model->levels[l].resource_count; r++)
            if (percent(40))
                job->spec.demand.of_level[l][r] = 1 + below(2);
    for (unsigned r = 0; r < model->worker_resources; r++)
        job->spec.demand.of_worker[r] = percent(60);
}

static void free_patterns(struct model_job *job) {
    for (unsigned l = 0; l <= LEVELS; l++)
        for (unsigned i = 0; i < 2; i++) {
            pattern_free(job->patterns[l][i]);
            job->patterns[l][i] = NULL;
        }
}

/* True if a job with these relations would wait for itself. */
static bool reaches(uint64_t from, uint64_t to, struct map *met);

static bool any_reaches(const uint64_t *nums, size_t count, uint64_t to,
                        struct map *met) {
    for (size_t i = 0; i < count; i++)
        if (reaches(nums[i], to, met))
            return true;
    return false;
}

static bool reaches(uint64_t from, uint64_t to, struct map *met) {
    const struct node_pass_job *job = node_pass_find_job(pass, from);

    if (from == to)
        return true;
    if (job == NULL || map_get(met, map_num_key(&from)) != NULL)
        return false;
    map_put(met, map_num_key(&from), met);
    return any_reaches(node_pass_job(job)->spec.depends_on,
                       node_pass_job(job)->spec.depends_count, to, met) ||
           any_reaches(node_pass_job(job)->spec.after_nodes_of,
                       node_pass_job(job)->spec.after_count, to, met);
}

static bool finds_ring(const struct node_job_spec *spec) {
    CLEANUP(map_clear) struct map met = MAP_INIT;

    return any_reaches(spec->depends_on, spec->depends_count, spec->num,
                       &met) ||
           any_reaches(spec->after_nodes_of, spec->after_count, spec->num,
                       &met);
}

/* Everything but number, level and own nodes. */
static void define(struct model_job *job) {
    struct node_job_spec *spec = &job->spec;

    *spec = (struct node_job_spec){
        .num = spec->num,
        .level = spec->level,
        .own_count = spec->own_count,
        .enabled = percent(90),
        .job_class = 1 + below(3),
        .priority = 1 + below(4000),
        .order = below(3),
        .max_running = percent(80) ? 0 : 1 + below(3),
        .kill_orphans_after_ms =
            percent(40) ? -1 : (int64_t)(1000 * below(30))};
    job->account = below(ACCOUNTS);
    spec->account = span_of(model->accounts[job->account].name);
    random_demand(job);
    for (unsigned l = 0; l <= spec->level; l++)
        random_filter(job, l);
    if (percent(15)) {
        spec->worker_filter.refuses = random_pattern(job, LEVELS, 0);
    }
    if (percent(10) && model->worker_count > 0)
        spec->host = span_of(model->workers[below(model->worker_count)].host);
    if (spec->own_count == 0 && percent(15)) {
        spec->follows_host = true;
        spec->host_level = 1 + below(spec->level);
    }
    random_rules(job);
    if (spec->own_count == 0) {
        spec->depends_on = job->relations[0];
        spec->depends_count = random_relations(job, 0);
    }
    spec->after_nodes_of = job->relations[1];
    spec->after_count = percent(30) ? random_relations(job, 1) : 0;
}

static void add_job(void) {
    struct model_job *job = model->jobs;

    while (job < model->jobs + JOBS && job->used)
        job++;
    if (job == model->jobs + JOBS)
        return;
    *job = (struct model_job){0};
    job->spec.num = ++next_num;
    job->spec.level = 1 + below(model->level_count - 1);
    if (percent(15)) {
        job->spec.level = 1;
        job->spec.own_count = 1 + below(OWN);
    }
    define(job);
    if (finds_ring(&job->spec)) {
        free_patterns(job); /* others waited for a job of its number */
        seen.refusals++;
        return;
    }
    model_appear(model, job->account);
    job->used = true;
    model_join(model, job, true);
    job->real = node_pass_add_job(pass, &job->spec);
    node_pass_open_job(pass, job->real);
}

static struct model_job *some_job(void) {
    for (unsigned i = 0; i < 5; i++) {
        struct model_job *job = &model->jobs[below(JOBS)];
        if (job->used)
            return job;
    }
    return NULL;
}

static void set_job(void) {
    struct model_job *job = some_job();
    static struct model_job was;

    if (job == NULL)
        return;
    was = *job;
    memset(job->patterns, 0, sizeof(job->patterns));
    define(job);
    if (finds_ring(&job->spec)) {
        free_patterns(job);
        *job = was;
        seen.refusals++;
        return;
    }
    model_appear(model, job->account);
    if (was.account != job->account ||
        was.spec.job_class != job->spec.job_class ||
        was.spec.priority != job->spec.priority)
        model_join(model, job, false);
    node_pass_set_job(pass, job->real, &job->spec);
    free_patterns(&was);
}

static void remove_job(void) {
    struct model_job *job = some_job();

    if (job == NULL)
        return;
    node_pass_remove_job(pass, job->real);
    for (unsigned i = 0; i < RUNS; i++)
        if (model->runs[i].used && model->runs[i].job == job - model->jobs)
            model->runs[i].job = -1;
    free_patterns(job);
    job->used = false;
}

static void forgive(void) {
    struct model_job *job = some_job();
    bool real, expected;
    unsigned row;

    if (job == NULL)
        return;
    row = below(job->spec.own_count > 0 ? job->spec.own_count
                                        : model->node_count);
    if (!has_row(job, row))
        return;
    real = node_pass_forgive(pass, job->real, row_of(job, row));
    expected = model_forgive(&job->tasks[row]);
    if (real != expected)
        BROKEN("task %u is %sforgiven", row, real ? "" : "not ");
    seen.forgiven += real;
}

/* ---- ends ---------------------------------------------------------------- */

static struct model_run *some_run(void) {
    unsigned count = 0, at;

    for (unsigned i = 0; i < RUNS; i++)
        count += model->runs[i].used;
    if (count == 0)
        return NULL;
    at = below(count);
    for (unsigned i = 0;; i++)
        if (model->runs[i].used && at-- == 0)
            return &model->runs[i];
}

static enum model_end random_end(void) {
    return percent(50) ? END_DONE : (enum model_end)below(MODEL_ENDS);
}

static void end_run(struct model_run *run, enum model_end how) {
    struct retry_end end = model_retry_end(how);
    struct retry_verdict verdict;
    bool real = node_pass_ended(pass, run->real, &end, model->now, &verdict);

    seen.ends[how]++;
    run->used = false;
    if (real != (run->job >= 0))
        BROKEN("an end does not count");
    if (run->job >= 0) {
        struct model_job *job = &model->jobs[run->job];
        struct wall drawn =
            has_row(job, run->row) && node_of(run->row) != NODE_NONE
                ? real_task(job, run->row)->not_before
                : verdict.not_before;
        if (job->spec.own_count > 0)
            drawn = real_task(job, run->row)->not_before;
        if (!model_end(model, job, run->row, run->attempt, how, drawn))
            BROKEN("an end counts");
    }
    model_review_nodes(model);
}

static void end_some(void) {
    struct model_run *run = some_run();

    if (run != NULL)
        end_run(run, random_end());
}

/* A worker that was given up comes back and reports. */
static void report_late(void) {
    struct model_job *job = some_job();
    enum model_end how = random_end();
    struct retry_end end = model_retry_end(how);
    struct retry_verdict verdict;
    unsigned row, attempt;
    bool real;

    if (job == NULL || how == END_WITHDRAWN)
        return;
    row = below(job->spec.own_count > 0 ? job->spec.own_count
                                        : model->node_count);
    for (unsigned i = 0; i < NODES && percent(90); i++)
        if (has_row(job, i) && job->tasks[i].assumed)
            row = i;
    if (!has_row(job, row) || job->tasks[row].status == TASK_RUNNING)
        return;
    attempt = job->tasks[row].attempt - percent(20);
    real = node_pass_reported(pass, job->real, row_of(job, row), attempt, &end,
                              model->now, &verdict);
    if (real != model_end(model, job, row, attempt, how,
                          real_task(job, row)->not_before))
        BROKEN("a late report %s", real ? "counts" : "does not count");
    seen.late += real;
}

/* ---- time and restarts --------------------------------------------------- */

static void advance(void) {
    unsigned ms = percent(70)   ? below(5000)
                  : percent(90) ? below(100000)
                                : below(2000000);

    model->now = wall_add_ms(model->now, ms);
}

/* To the moment at which something is due. */
static void advance_to_due(void) {
    struct wall next = node_pass_next_time(pass);

    if (next.ns != WALL_NEVER.ns && next.ns > model->now.ns)
        model->now = next;
}

static void set_back(void) {
    int64_t ms = 1000 + below(100000);

    for (unsigned i = 0; i < JOBS; i++) {
        struct model_job *job = &model->jobs[i];
        for (unsigned row = 0; job->used && row < NODES; row++) {
            struct model_task *task = &job->tasks[row];
            task->not_before = wall_set_back(task->not_before, ms);
        }
    }
    for (unsigned i = 0; i < RUNS; i++)
        model->runs[i].orphan_since =
            wall_set_back(model->runs[i].orphan_since, ms);
    node_pass_set_back(pass, ms);
    model->now = wall_add_ms(model->now, -ms);
    seen.set_back++;
}

static void new_pass(void) {
    struct node_pass_options options = {
        .root = span_of(model->nodes[0].name),
        .levels = model->levels,
        .level_count = model->level_count,
        .worker_resource_count = model->worker_resources,
        .worker_weights = model->worker_weights,
        .policy = model->policy,
        .selector = model->selector,
        .seed = model->seed,
        .kill_orphans_after_ms = model->kill_orphans_after_ms};

    node_pass_free(pass);
    pass = node_pass_new(&options);
}

static void forget_turns(void) {
    model->turn = 0;
    model->account_count = model->worker_turn = 0;
    for (unsigned a = 0; a < ACCOUNTS; a++) {
        model->accounts[a].appeared = false;
        model->accounts[a].turn = 0;
        for (unsigned c = 0; c < JOB_CLASSES; c++)
            model->accounts[a].share_turn[c] = 0;
    }
}

/* The nodes as they are on record, in the order of their links. */
static void put_all_nodes(void) {
    struct model_link links[LINKS];
    unsigned count = model->link_count, done = 0;
    bool put[LINKS] = {false};

    memcpy(links, model->links, sizeof(links));
    model->link_count = 0;
    for (unsigned n = 1; n < model->node_count; n++)
        model->nodes[n].known = false;
    while (done < count)
        for (unsigned i = 0; i < count; i++)
            if (!put[i] && model_has_place(model, links[i].parent)) {
                put[i] = true;
                done++;
                put_link(links[i].node, links[i].parent, links[i].enabled,
                         links[i].tags);
            }
}

/* Runs go on where workers are elsewhere; others have ended with the program.
 */
static void recover_runs(struct model_run *runs) {
    for (unsigned i = 0; i < RUNS; i++) {
        struct model_run *run = &runs[i];
        bool adopt = run->used && run->job >= 0 && percent(50);
        for (unsigned p = 0; adopt && p < run->path_count; p++)
            adopt = model_has_place(model, run->path[p]);
        if (run->used && run->job >= 0 && !adopt)
            model_end(model, &model->jobs[run->job], run->row, run->attempt,
                      END_RECOVERED, (struct wall){0});
        run->used = adopt;
    }
}

static void adopt_run(struct model_run *run) {
    struct model_job *job = &model->jobs[run->job];
    struct node_task task = record_of(&job->tasks[run->row]);
    uint32_t nodes[LEVELS];

    for (unsigned p = 0; p < run->path_count; p++)
        nodes[p] = node_of(run->path[p]);
    run->account = job->account;
    run->killed = false;
    run->orphan_since.ns = 0;
    run->real =
        node_pass_adopt(pass, job->real, row_of(job, run->row), &task, nodes,
                        run->path_count, run->worker, &run->demand);
    seen.adopted++;
}

static void restart(void) {
    static struct model_run runs[RUNS];
    unsigned workers = model->worker_count;

    memcpy(runs, model->runs, sizeof(runs));
    memset(model->runs, 0, sizeof(model->runs));
    forget_turns();
    new_pass();
    for (unsigned i = 0; i < JOBS; i++)
        model->jobs[i].real = NULL;
    put_all_nodes();
    for (unsigned n = 0; n < model->node_count; n++)
        for (unsigned r = 0;
             model->nodes[n].known &&
             r < model->levels[model->nodes[n].level].resource_count;
             r++)
            node_pass_set_limit(pass, node_of(n), r, model->nodes[n].limits[r]);
    recover_runs(runs);
    for (unsigned w = 0; w < workers; w++) {
        node_pass_add_worker(pass, span_of(model->workers[w].host),
                             model->workers[w].limits);
        node_pass_set_worker(pass, w, model->workers[w].takes_tasks,
                             model->workers[w].limits);
    }
    for (unsigned a = 0; a < ACCOUNTS; a++) {
        model_appear(model, a);
        node_pass_set_account(pass, span_of(model->accounts[a].name),
                              model->accounts[a].weight,
                              model->accounts[a].limit);
    }
    for (unsigned i = 0; i < JOBS; i++) {
        struct model_job *job = &model->jobs[i];
        if (!job->used)
            continue;
        job->real = node_pass_add_job(pass, &job->spec);
        model_join(model, job, true);
        for (unsigned row = 0; row < NODES; row++)
            if (has_row(job, row))
                restore_task(job, row);
        node_pass_open_job(pass, job->real);
    }
    memcpy(model->runs, runs, sizeof(runs));
    for (unsigned i = 0; i < RUNS; i++)
        if (model->runs[i].used)
            adopt_run(&model->runs[i]);
    model_review_nodes(model);
    seen.restarts++;
}

/* ---- histories ----------------------------------------------------------- */

static void random_world(void) {
    unsigned l = 1;

    *model = (struct model){.policy = below(4),
                            .selector = below(2),
                            .seed = random_below(&chance, UINT64_MAX),
                            .kill_orphans_after_ms =
                                percent(30) ? -1 : (int64_t)(1000 * below(30)),
                            .level_count = LEVELS - below(2),
                            .worker_resources = 1 + below(RESOURCES),
                            .node_count = NODES,
                            .now = {INT64_C(1700000000) * NS_PER_S}};
    for (unsigned i = 0; i < model->level_count; i++) {
        model->levels[i].resource_count = below(RESOURCES + 1);
        for (unsigned r = 0; r < model->levels[i].resource_count; r++)
            model->levels[i].limits[r] = i == 0 ? 10 + below(30) : 1 + below(6);
    }
    for (unsigned r = 0; r < RESOURCES; r++)
        model->worker_weights[r] = below(3);
    snprintf(model->nodes[0].name, sizeof(model->nodes[0].name), "root");
    for (unsigned n = 1; n < NODES; n++) {
        model->nodes[n].level = l;
        snprintf(model->nodes[n].name, sizeof(model->nodes[n].name), "n%u",
                 n * 7 % NODES);
        /* Few on the upper levels, many on the lower ones. */
        if (l + 1 < model->level_count && n >= 3 * l * l)
            l++;
    }
    for (unsigned a = 0; a < ACCOUNTS; a++) {
        snprintf(model->accounts[a].name, sizeof(model->accounts[a].name),
                 "a%u", a);
        model->accounts[a].weight = 1;
    }
    new_pass();
    model_review_nodes(model);
    for (unsigned n = 1; n < NODES; n++)
        put_some_node(n);
    for (unsigned i = 0; i < 3; i++)
        add_worker();
}

static void some_event(void) {
    static void (*const events[])(void) = {
        put_node,  put_node,   put_node,    touch_node,     drop_node,
        set_limit, add_worker, set_worker,  set_worker,     set_account,
        add_job,   add_job,    add_job,     set_job,        forgive,
        end_some,  end_some,   end_some,    end_some,       end_some,
        end_some,  end_some,   end_some,    end_some,       end_some,
        end_some,  advance,    advance,     advance_to_due, report_late,
        advance,   end_some,   report_late, forgive};

    if (percent(1) && percent(40))
        restart();
    else if (percent(1))
        set_back();
    else if (percent(3))
        remove_job();
    else
        events[below(COUNT(events))]();
}

/* Everything that runs ends, and then nothing is taken any more. */
static void end_all(void) {
    for (unsigned i = 0; i < RUNS; i++)
        if (model->runs[i].used)
            end_run(&model->runs[i], END_DONE);
    for (unsigned n = 0; n < model->node_count; n++)
        for (unsigned r = 0;
             model->nodes[n].known &&
             r < model->levels[model->nodes[n].level].resource_count;
             r++)
            assert_int_equal(
                node_tree_left(node_pass_tree(pass), node_of(n))[r],
                model->nodes[n].limits[r]);
}

static void play(void) {
    random_init(&chance, history);
    next_num = 0;
    random_world();
    for (unsigned i = 0; i < EVENTS; i++) {
        some_event();
        node_pass_tick(pass, model->now);
        kills();
        starts();
        compare();
    }
    end_all();
    for (unsigned i = 0; i < JOBS; i++)
        if (model->jobs[i].used)
            free_patterns(&model->jobs[i]);
}

static unsigned long long number(const char *name, unsigned long long usual) {
    const char *text = getenv(name);

    return text != NULL ? strtoull(text, NULL, 10) : usual;
}

static void report(void) {
    print_message("# %lu starts, %lu refusals, %lu kills, %lu restarts, %lu "
                  "adopted, %lu late, %lu dropped, %lu replicas, %lu negative, "
                  "%lu forgiven\n",
                  seen.starts, seen.refusals, seen.kills, seen.restarts,
                  seen.adopted, seen.late, seen.dropped, seen.replicas,
                  seen.negative, seen.forgiven);
}

static void is_hit(const unsigned long *counts, size_t count,
                   const char *what) {
    for (size_t i = 0; i < count; i++)
        if (counts[i] == 0)
            fail_msg("%s %zu was never hit", what, i);
}

static void the_pass_starts_what_a_naive_scheduler_starts(void **state) {
    unsigned long long first = number("POINTSMAN_SEED", 1);
    unsigned long long count =
        number("POINTSMAN_HISTORIES", test_cases(HISTORIES));

    (void)state;
    model = mem_alloc(sizeof(*model));
    for (history = first; history < first + count; history++)
        play();
    node_pass_free(pass);
    free(model);
    report();
    if (count < 10)
        return;
    is_hit(seen.ends, MODEL_ENDS, "end");
    is_hit(seen.policies, COUNT(seen.policies), "policy");
    is_hit(seen.orders, COUNT(seen.orders), "order");
    is_hit(seen.selectors, COUNT(seen.selectors), "selector");
    is_hit(seen.filters, COUNT(seen.filters), "filter");
    is_hit(seen.relations, COUNT(seen.relations), "relation");
    assert_true(seen.own > 0 && seen.bound > 0 && seen.hosts > 0 &&
                seen.most > 0 && seen.limited > 0 && seen.accounts > 0);
    assert_true(seen.kills > 0 && seen.restarts > 0 && seen.adopted > 0 &&
                seen.late > 0 && seen.replicas > 0 && seen.negative > 0 &&
                seen.forgiven > 0 && seen.set_back > 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_pass_starts_what_a_naive_scheduler_starts),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
