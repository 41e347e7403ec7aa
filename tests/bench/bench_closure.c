/* The closure of a rollback over 100,000 sets with 300,000 dependencies,
 * compared with a plain breadth-first walk of the same graph in memory,
 * alternately. Then the same closure from a registry. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/random.h"
#include "bench/figure.h"
#include "core/rollback.h"
#include "core/walk.h"
#include "scheduler/rollback_plan.h"
#include "store/store.h"

enum { ROUNDS = 9, NEEDS = 3 };

static size_t sets = 100000;

/* The dependents of set i are to[first[i]] to to[first[i + 1] - 1]. */
static uint32_t *first, *to;
static struct rollback_node *nodes, *answers;

static void make_graph(void) {
    struct random random;
    uint32_t *needs = mem_alloc(sets * NEEDS * sizeof(*needs));
    first = mem_alloc((sets + 2) * sizeof(*first));
    to = mem_alloc(sets * NEEDS * sizeof(*to));
    random_init(&random, 7);
    for (size_t i = 1; i < sets; i++)
        for (size_t k = 0; k < NEEDS; k++) {
            needs[i * NEEDS + k] = (uint32_t)random_below(&random, i);
            first[needs[i * NEEDS + k] + 1]++;
        }
    for (size_t i = 0; i < sets; i++)
        first[i + 1] += first[i];
    uint32_t *fill = mem_alloc(sets * sizeof(*fill));
    for (size_t i = 1; i < sets; i++)
        for (size_t k = 0; k < NEEDS; k++) {
            uint32_t from = needs[i * NEEDS + k];
            to[first[from] + fill[from]++] = (uint32_t)i;
        }
    free(fill);
    free(needs);
}

static void make_nodes(void) {
    nodes = mem_alloc(sets * sizeof(*nodes));
    answers = mem_alloc(sets * NEEDS * sizeof(*answers));
    for (size_t i = 0; i < sets; i++)
        nodes[i] = (struct rollback_node){
            .num = i + 1,
            .id = span_of(bench_text("C%zu", i)),
            .kind = JOB_CHANGE,
            .job_class = CLASS_DC,
            .state = STATE_DONE,
            .target = SPAN("main"),
            .files = 1,
            .state_seq = i + 1,
        };
}

/* ---- the plain walk ------------------------------------------------------ */

static double plain_us(size_t *ret_met) {
    double began = bench_cpu_us();
    unsigned char *seen = mem_alloc(sets);
    uint32_t *queue = mem_alloc(sets * sizeof(*queue));
    size_t count = 1;
    seen[0] = 1;
    queue[0] = 0;
    for (size_t at = 0; at < count; at++) {
        uint32_t from = queue[at];
        for (uint32_t k = first[from]; k < first[from + 1]; k++)
            if (!seen[to[k]]) {
                seen[to[k]] = 1;
                queue[count++] = to[k];
            }
    }
    *ret_met = count;
    free(queue);
    free(seen);
    return bench_cpu_us() - began;
}

/* ---- the closure alone --------------------------------------------------- */

static double walk_us(size_t *ret_met) {
    double began = bench_cpu_us();
    struct walk walk = WALK_INIT;
    size_t at;
    walk_add(&walk, 1, WALK_START);
    while (walk_next(&walk, &at)) {
        size_t from = (size_t)walk.steps[at].num - 1;
        for (uint32_t k = first[from]; k < first[from + 1]; k++)
            walk_add(&walk, to[k] + UINT64_C(1), at);
    }
    *ret_met = walk.count;
    walk_clear(&walk);
    return bench_cpu_us() - began;
}

/* ---- the whole decision -------------------------------------------------- */

static double ours_us(size_t *ret_met) {
    static const struct span primary = {"C0", 2};
    struct rollback_request request = {.primaries = &primary,
                                       .primary_count = 1};
    struct rollback_question question;
    struct rollback_decision decision;
    struct arena arena = ARENA_INIT;
    double began = bench_cpu_us();
    struct rollback *rollback = rollback_new(&request);
    while (rollback_next_question(rollback, &question)) {
        if (question.asked == ROLLBACK_ASK_PRIMARY) {
            rollback_answer(rollback, &nodes[0], 1);
            continue;
        }
        size_t from = (size_t)question.num - 1, count = 0;
        for (uint32_t k = first[from]; k < first[from + 1]; k++)
            if (!rollback_knows(rollback, nodes[to[k]].num))
                answers[count++] = nodes[to[k]];
        rollback_answer(rollback, answers, count);
    }
    rollback_decide(rollback, &arena, &decision);
    *ret_met = decision.count;
    double us = bench_cpu_us() - began;
    rollback_free(rollback);
    arena_clear(&arena);
    return us;
}

/* ---- from a registry ----------------------------------------------------- */

static void fill_registry(struct store *store) {
    struct err err;
    struct store_batch *batch = NULL;
    char(*ids)[24] = mem_alloc(sets * sizeof(*ids));
    uint32_t *needs = mem_alloc(sets * NEEDS * sizeof(*needs));
    uint32_t *count = mem_alloc(sets * sizeof(*count));
    for (size_t i = 0; i < sets; i++)
        for (uint32_t k = first[i]; k < first[i + 1]; k++)
            needs[to[k] * NEEDS + count[to[k]]++] = (uint32_t)i;
    for (size_t i = 0; i < sets; i++) {
        snprintf(ids[i], sizeof(ids[i]), "C%zu", i);
        if (!batch) {
            batch = store_batch_new(store);
            store_batch_actor(batch, wall_from_s(1), SPAN("uid:0"));
        }
        struct job job = {.id = span_of(ids[i]),
                          .kind = JOB_CHANGE,
                          .job_class = CLASS_DC,
                          .state = STATE_QUEUED,
                          .target = SPAN("main"),
                          .key = span_of(ids[i]),
                          .name = span_of(ids[i]),
                          .sum = span_of(ids[i])};
        struct job_edge edges[NEEDS];
        for (size_t k = 0; k < count[i]; k++)
            edges[k] = (struct job_edge){EDGE_DEPENDENCY,
                                         span_of(ids[needs[i * NEEDS + k]])};
        store_admit(batch, &job, edges, count[i], NULL, 0, NULL, 0);
        if (store_batch_count(batch) < 2000 && i + 1 < sets)
            continue;
        if (!store_write(batch, &err))
            bench_die("%s", err.text);
        store_batch_free(batch);
        batch = NULL;
    }
    free(count);
    free(needs);
    free(ids);
}

static double registry_us(struct store *store, size_t *ret_met) {
    static const struct span primary = {"C0", 2};
    struct rollback_plan_limits limits = {0};
    struct rollback_plan plan;
    struct err err;
    double began = bench_cpu_us();
    if (!rollback_plan_preview(store, &primary, 1, &limits, &plan, &err))
        bench_die("%s", err.text);
    *ret_met = plan.decision.count;
    double us = bench_cpu_us() - began;
    rollback_plan_clear(&plan);
    return us;
}

int main(int argc, char **argv) {
    double plain[ROUNDS], closure[ROUNDS], ours[ROUNDS];
    size_t met = 0, met_by_us = 0, met_there = 0;
    struct store *store;
    struct err err;
    if (argc > 1)
        sets = strtoul(argv[1], NULL, 10);
    make_graph();
    make_nodes();
    for (int i = 0; i < ROUNDS; i++) {
        plain[i] = plain_us(&met);
        closure[i] = walk_us(&met_by_us);
        if (met != met_by_us)
            bench_die("the closure has %zu sets, not %zu", met_by_us, met);
        ours[i] = ours_us(&met_by_us);
    }
    if (met != met_by_us)
        bench_die("the decision has %zu sets, not %zu", met_by_us, met);
    double a = bench_median(ours, ROUNDS), b = bench_median(plain, ROUNDS);
    double c = bench_median(closure, ROUNDS);
    figure_print(&(struct figure){
        .what = bench_text("closure, %zu of %zu sets", met, sets),
        .ours = bench_text("%.1f ms", c / 1000),
        .other = bench_text("plain walk: %.1f ms", b / 1000),
        .value = c / b,
        .goal = 3,
        .at_most = true,
        .unit = ""});
    figure_print(
        &(struct figure){.what = "the same with the whole decision",
                         .ours = bench_text("%.1f ms", a / 1000),
                         .other = bench_text("plain walk: %.1f ms", b / 1000),
                         .value = a / b,
                         .unit = ""});
    struct store_options options = {.create = true};
    if (!store_sqlite_open(bench_text("%s/registry.db", bench_dir()), &options,
                           &store, &err))
        bench_die("%s", err.text);
    fill_registry(store);
    double there = registry_us(store, &met_there);
    if (met_there != met)
        bench_die("the closure from the registry has %zu sets", met_there);
    figure_print(
        &(struct figure){.what = "the same, read from the registry",
                         .ours = bench_text("%.0f ms", there / 1000),
                         .other = bench_text("plain walk: %.1f ms", b / 1000),
                         .value = there / (double)met,
                         .unit = "us/set"});
    store_close(store);
    return 0;
}
