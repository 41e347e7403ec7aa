/* The cost of jobs on nodes, of the pure part alone (core/node_pass.h): adding
 * the nodes and the jobs, the first pass, and a pass after an attempt has ended
 * on one node in a hundred; and the memory of each task. Hosts have 25 shards
 * and run two tasks at once. Times are CPU time, since nothing is waited for.
 *
 *     bench_nodes [MOST [JOBS]]      default 1000000 nodes, 5 jobs */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "bench/figure.h"
#include "core/node_pass.h"
#include "lib/random.h"

enum { USUAL = 1000000, GIB = 1 << 30 };
enum { READS = 2000000, LINE = 16 /* numbers */ };
enum { SHARDS = 25, HOST_LIMIT = 2, ROUNDS = 11, JOBS_MOST = 16 };

struct world {
    struct node_pass *pass;
    uint32_t nodes, hosts, jobs;
    struct node_run **runs;
    size_t running;
    double bytes_before, nodes_us, jobs_us, first_us, again_us;
    size_t first, again; /* starts */
};

static const struct wall now = {INT64_C(1700000000) * NS_PER_S};

static void add_nodes(struct world *world) {
    char host[32], shard[32];

    for (uint32_t h = 0; h < world->hosts; h++) {
        snprintf(host, sizeof(host), "host%" PRIu32, h);
        node_pass_put_node(world->pass, 1, span_of(host), SPAN("all"), true,
                           SPAN(""));
        for (uint32_t s = 0; s < SHARDS && h * SHARDS + s < world->nodes; s++) {
            snprintf(shard, sizeof(shard), "host%" PRIu32 "__%" PRIu32, h, s);
            node_pass_put_node(world->pass, 2, span_of(shard), span_of(host),
                               true, SPAN(""));
        }
    }
}

static void add_jobs(struct world *world) {
    static const uint32_t waits[] = {15, 30, 60};

    for (uint32_t j = 0; j < world->jobs; j++) {
        struct node_job_spec spec = {
            .num = j + 1,
            .job_class = CLASS_DC,
            .account = SPAN("us"),
            .enabled = true,
            .level = 2,
            .priority = 1000,
            .kill_orphans_after_ms = -1,
            .rules = {.limits = {.retries = UINT32_MAX,
                                 .backoff_s = waits,
                                 .backoff_count = COUNT(waits)}}};
        spec.demand.of_level[1][0] = 1;
        spec.demand.of_worker[0] = 1;
        node_pass_open_job(world->pass, node_pass_add_job(world->pass, &spec));
    }
}

/* Returns the number of starts. */
static size_t start_all(struct world *world) {
    struct node_start start;
    size_t count = 0;

    for (; node_pass_next(world->pass, now, &start); count++)
        world->runs[world->running++] = start.run;
    return count;
}

/* One attempt ends on one node in a hundred. */
static void end_some(struct world *world, struct random *random) {
    const struct retry_end done = {.result = RETRY_RAN};
    struct retry_verdict verdict;

    for (uint32_t i = 0; i < world->nodes / 100 && world->running > 0; i++) {
        size_t at = (size_t)random_below(random, world->running);
        node_pass_ended(world->pass, world->runs[at], &done, now, &verdict);
        world->runs[at] = world->runs[--world->running];
    }
}

static double since(double *begun_us) {
    double now_us = bench_cpu_us(), us = now_us - *begun_us;

    *begun_us = now_us;
    return us;
}

static void again(struct world *world) {
    double us[ROUNDS];
    struct random random;

    random_init(&random, 1);
    for (unsigned i = 0; i < ROUNDS; i++) {
        double begun_us = bench_cpu_us();
        end_some(world, &random);
        node_pass_tick(world->pass, now);
        world->again = start_all(world);
        us[i] = since(&begun_us);
    }
    world->again_us = bench_median(us, ROUNDS);
}

static void measure(struct world *world, uint32_t nodes, uint32_t jobs) {
    const struct node_level levels[] = {
        {0}, {.resource_count = 1, .limits = {HOST_LIMIT}}, {0}};
    const uint32_t weight = 1;
    const int64_t slots = INT64_C(1) << 40;
    const struct node_pass_options options = {.root = SPAN("all"),
                                              .levels = levels,
                                              .level_count = COUNT(levels),
                                              .worker_resource_count = 1,
                                              .worker_weights = &weight,
                                              .seed = 1,
                                              .kill_orphans_after_ms = -1};
    double begun_us;

    *world = (struct world){.nodes = nodes,
                            .hosts = (nodes + SHARDS - 1) / SHARDS,
                            .jobs = jobs,
                            .bytes_before = bench_resident_bytes(getpid())};
    world->pass = node_pass_new(&options);
    world->runs = mem_grow(NULL, (size_t)world->hosts * HOST_LIMIT,
                           sizeof(struct node_run *));
    node_pass_set_worker(world->pass,
                         node_pass_add_worker(world->pass, SPAN("h"), &slots),
                         true, &slots);
    begun_us = bench_cpu_us();
    add_nodes(world);
    world->nodes_us = since(&begun_us);
    add_jobs(world);
    world->jobs_us = since(&begun_us);
    world->first = start_all(world);
    world->first_us = since(&begun_us);
}

/* What the machine takes at the moment for a read from memory that it could not
 * foresee, in as much memory as the world has. A change consists of these. */
static double read_ns(double bytes) {
    size_t lines = (size_t)bytes / (LINE * sizeof(uint32_t));
    uint32_t(*next)[LINE] = mem_grow(NULL, lines, sizeof(*next));
    uint32_t at = 0;
    struct random random;
    double begun_us;

    random_init(&random, 1);
    for (size_t i = 0; i < lines; i++)
        next[i][0] = (uint32_t)i;
    for (size_t i = lines; i-- > 1;) { /* one ring (Sattolo) */
        size_t other = (size_t)random_below(&random, i);
        uint32_t swap = next[i][0];
        next[i][0] = next[other][0];
        next[other][0] = swap;
    }
    begun_us = bench_cpu_us();
    for (unsigned i = 0; i < READS; i++)
        at = next[at][0];
    begun_us = since(&begun_us) + (at == UINT32_MAX);
    free(next);
    return begun_us * 1000 / READS;
}

static void finish(struct world *world) {
    node_pass_free(world->pass);
    free(world->runs);
}

static void print_row(const struct world *world, double each_bytes) {
    printf("%10" PRIu32 " nodes: added in %7.1f ms, jobs %7.1f ms, first pass "
           "%7.1f ms (%zu starts), again %6.2f ms (%zu), %.2f us a start, "
           "%.0f bytes a task\n",
           world->nodes, world->nodes_us / 1e3, world->jobs_us / 1e3,
           world->first_us / 1e3, world->first, world->again_us / 1e3,
           world->again, world->again_us / (double)world->again, each_bytes);
}

static void print_goals(const struct world *world, double each_bytes) {
    double first_s = (world->jobs_us + world->first_us) / 1e6;
    double again_ms = world->again_us / 1e3;
    double bytes = each_bytes * world->nodes * world->jobs;
    bool is_usual = world->nodes == USUAL; /* the goals of times are for it */

    figure_print(&(struct figure){
        .what = bench_text("%" PRIu32 " nodes x %" PRIu32 " jobs: first pass",
                           world->nodes, world->jobs),
        .ours = bench_text("%.2f s", first_s),
        .other = bench_text("%zu starts, jobs added", world->first),
        .value = first_s,
        .goal = is_usual ? 2 : 0,
        .at_most = true,
        .unit = "s"});
    figure_print(
        &(struct figure){.what = "after 1 % of the nodes changed",
                         .ours = bench_text("%.1f ms", again_ms),
                         .other = bench_text("%zu changes; a read %.0f ns",
                                             world->again, read_ns(bytes)),
                         .value = again_ms,
                         .goal = is_usual ? 30 : 0,
                         .at_most = true,
                         .unit = "ms"});
    figure_print(&(struct figure){.what = "memory of each task",
                                  .ours = bench_text("%.0f B", each_bytes),
                                  .other = "nodes and runs included",
                                  .value = each_bytes,
                                  .goal = 100,
                                  .at_most = true,
                                  .unit = "B"});
    figure_print(&(struct figure){.what = "memory of all",
                                  .ours = bench_text("%.2f GiB", bytes / GIB),
                                  .other = "10000000 nodes: 8 GiB",
                                  .value = bytes / GIB,
                                  .goal = 8,
                                  .at_most = true,
                                  .unit = "GiB"});
}

int main(int argc, char **argv) {
    uint32_t most = argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 10) : USUAL;
    uint32_t jobs = argc > 2 ? (uint32_t)strtoul(argv[2], NULL, 10) : 5;

    for (uint32_t nodes = 10000; nodes <= most; nodes *= 10) {
        struct world world;
        double each_bytes;
        measure(&world, nodes, jobs);
        each_bytes = (bench_resident_bytes(getpid()) - world.bytes_before) /
                     ((double)nodes * jobs);
        again(&world);
        print_row(&world, each_bytes);
        if (nodes == most || nodes * 10 > most)
            print_goals(&world, each_bytes);
        finish(&world);
    }
    return 0;
}
