#include "core/node_workers.h"

#include <assert.h>
#include <stdlib.h>

#include "lib/bits.h"

void node_workers_init(struct node_workers *workers, unsigned resource_count,
                       const uint32_t *weights, enum node_selector selector) {
    assert(resource_count <= NODE_RESOURCES_MOST);
    *workers = (struct node_workers){.resource_count = resource_count,
                                     .selector = selector};
    for (unsigned r = 0; r < resource_count; r++)
        workers->weights[r] = weights[r];
}

void node_workers_clear(struct node_workers *workers) {
    for (uint32_t i = 0; i < workers->host_count; i++)
        free((void *)(uintptr_t)workers->hosts[i].p);
    map_clear(&workers->host_ids);
    free(workers->hosts);
    free(workers->workers);
    *workers = (struct node_workers){0};
}

/* ---- hosts -------------------------------------------------------------- */

uint32_t node_workers_find_host(const struct node_workers *workers,
                                struct span name) {
    void *known = map_get(&workers->host_ids, name);

    return known != NULL ? (uint32_t)((uintptr_t)known - 1) : NODE_NONE;
}

static uint32_t host_number(struct node_workers *workers, struct span name) {
    uint32_t host = node_workers_find_host(workers, name);

    if (host != NODE_NONE)
        return host;
    if (workers->host_count == workers->host_room) {
        workers->host_room = workers->host_room * 2 + 1;
        workers->hosts = mem_grow(workers->hosts, workers->host_room,
                                  sizeof(*workers->hosts));
    }
    host = workers->host_count++;
    workers->hosts[host] = span_of(span_string(name));
    map_put(&workers->host_ids, name, (void *)(uintptr_t)(host + 1));
    return host;
}

/* ---- workers ------------------------------------------------------------ */

uint32_t node_workers_add(struct node_workers *workers, struct span host,
                          const int64_t *limits) {
    struct node_worker *worker;

    if (workers->count == workers->room) {
        workers->room = workers->room * 2 + 1;
        workers->workers = mem_grow(workers->workers, workers->room,
                                    sizeof(*workers->workers));
    }
    worker = &workers->workers[workers->count];
    *worker = (struct node_worker){.host = host_number(workers, host)};
    for (unsigned r = 0; r < workers->resource_count; r++)
        worker->limit[r] = worker->left[r] = limits[r];
    return workers->count++;
}

void node_workers_set_limits(struct node_workers *workers, uint32_t worker,
                             const int64_t *limits) {
    struct node_worker *w = &workers->workers[worker];

    for (unsigned r = 0; r < workers->resource_count; r++) {
        w->left[r] += limits[r] - w->limit[r];
        w->limit[r] = limits[r];
    }
}

void node_workers_take(struct node_workers *workers, uint32_t worker,
                       const struct node_demand *demand, int sign) {
    for (unsigned r = 0; r < workers->resource_count; r++)
        workers->workers[worker].left[r] -= sign * demand->of_worker[r];
}

/* ---- jobs --------------------------------------------------------------- */

static void grow(const struct node_workers *workers, struct node_open *open) {
    uint32_t room = (workers->room + 63) / 64 * 64;

    if (room > open->worker_room) {
        open->accepted = bits_grow(open->accepted, open->worker_room, room);
        open->open = bits_grow(open->open, open->worker_room, room);
        open->worker_room = room;
    }
    if (workers->host_room > open->host_room) {
        open->of_host =
            mem_grow(open->of_host, workers->host_room, sizeof(*open->of_host));
        memset(open->of_host + open->host_room, 0,
               (workers->host_room - open->host_room) * sizeof(*open->of_host));
        open->host_room = workers->host_room;
    }
}

static bool accepts(const struct node_workers *workers,
                    const struct node_worker *worker,
                    const struct node_job_spec *spec) {
    struct span host = workers->hosts[worker->host];

    return (spec->host.len == 0 || span_equal(spec->host, host)) &&
           node_filter_accepts(&spec->worker_filter, host, SPAN(""));
}

static bool has_amounts(const struct node_workers *workers,
                        const struct node_worker *worker,
                        const struct node_demand *demand) {
    for (unsigned r = 0; r < workers->resource_count; r++)
        if (demand->of_worker[r] > 0 && worker->left[r] < demand->of_worker[r])
            return false;
    return true;
}

bool node_workers_review(const struct node_workers *workers, uint32_t worker,
                         struct node_job *job, bool again) {
    const struct node_worker *w = &workers->workers[worker];
    struct node_open *open = &job->open;
    bool was, is;

    grow(workers, open);
    if (again)
        bits_put(open->accepted, worker, accepts(workers, w, &job->spec));
    was = bits_has(open->open, worker);
    is = w->takes_tasks && bits_has(open->accepted, worker) &&
         has_amounts(workers, w, &job->spec.demand);
    if (was == is)
        return false;
    bits_put(open->open, worker, is);
    open->count += is ? 1u : UINT32_MAX;
    open->of_host[w->host] += is ? 1u : UINT32_MAX;
    return true;
}

/* The host that binds the job's first task; NODE_NONE: none does. */
static uint32_t bound_host(const struct node_job *job) {
    uint32_t place = job->first;

    if (!job->spec.follows_host)
        return NODE_NONE;
    while (job->tree->places[place].level > job->spec.host_level)
        place = job->tree->places[place].parent;
    if (job->tree->places[place].level != job->spec.host_level)
        return NODE_NONE;
    return job->tree->nodes[job->tree->places[place].node].host;
}

/* ---- the choice --------------------------------------------------------- */

static bool may_take(const struct node_workers *workers,
                     const struct node_job *job, uint32_t worker,
                     uint32_t host) {
    return bits_has(job->open.open, worker) &&
           (host == NODE_NONE || workers->workers[worker].host == host);
}

static int64_t rest_of(const struct node_workers *workers, uint32_t worker) {
    int64_t rest = 0;

    for (unsigned r = 0; r < workers->resource_count; r++)
        rest += workers->weights[r] * workers->workers[worker].left[r];
    return rest;
}

/* The next open worker from `at` on, of any host; workers->count: none. */
static uint32_t next_open(const struct node_workers *workers,
                          const struct node_open *open, uint32_t at) {
    while (at < workers->count) {
        uint64_t word = open->open[at / 64] >> (at % 64);
        if (word != 0)
            return at + (uint32_t)__builtin_ctzll(word);
        at = (at / 64 + 1) * 64;
    }
    return workers->count;
}

static uint32_t next_in_turn(const struct node_workers *workers,
                             const struct node_job *job, uint32_t host) {
    uint32_t at = next_open(workers, &job->open, workers->turn);

    while (at < workers->count && !may_take(workers, job, at, host))
        at = next_open(workers, &job->open, at + 1);
    if (at < workers->count)
        return at;
    at = next_open(workers, &job->open, 0);
    while (!may_take(workers, job, at, host))
        at = next_open(workers, &job->open, at + 1);
    return at;
}

static uint32_t busiest(const struct node_workers *workers,
                        const struct node_job *job, uint32_t host) {
    uint32_t best = NODE_NONE;

    for (uint32_t at = next_open(workers, &job->open, 0); at < workers->count;
         at = next_open(workers, &job->open, at + 1))
        if (may_take(workers, job, at, host) &&
            (best == NODE_NONE ||
             rest_of(workers, at) < rest_of(workers, best)))
            best = at;
    return best;
}

uint32_t node_workers_choose(struct node_workers *workers,
                             const struct node_job *job) {
    uint32_t host = bound_host(job);
    uint32_t worker;

    assert(job->open.count > 0 &&
           (host == NODE_NONE || job->open.of_host[host] > 0));
    if (workers->selector == NODE_SELECTOR_BUSIEST)
        return busiest(workers, job, host);
    worker = next_in_turn(workers, job, host);
    workers->turn = worker + 1 < workers->count ? worker + 1 : 0;
    return worker;
}
