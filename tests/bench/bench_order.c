/* The cost of the order in the worst cases: many sets on one path, many sets in
 * a directory that a set replaces by a file, a long chain of dependencies, an
 * urgent set that arrives last, and one scan after each arrival. Prints time
 * and peak memory, compared with the limits (60 s and 1 GiB for a queueing pass
 * over 50,000 sets on one path).
 *
 *     bench_order [SETS] */
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>

#include "core/order.h"

enum { PASS_LIMIT_S = 60, PASS_LIMIT_MIB = 1024 };

static size_t sets = 50000;
static struct order *order;
static size_t proposed;

static double seconds(void) {
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static double peak_mib(void) {
    struct rusage usage;

    getrusage(RUSAGE_SELF, &usage);
    return (double)usage.ru_maxrss / 1024;
}

static void admit(uint64_t num, enum job_class job_class, const char *path,
                  uint64_t depends_on) {
    char id[32], key[40], to[32];
    struct job_touch touch = {.path = span_of(path)};
    struct job_edge edge = {.kind = EDGE_DEPENDENCY, .to = span_of(to)};
    struct order_entry entry = {.num = num,
                                .job_class = job_class,
                                .state = STATE_QUEUED,
                                .target = SPAN("main"),
                                .touches = &touch,
                                .touch_count = path != NULL,
                                .edges = &edge,
                                .edge_count = depends_on != 0};

    snprintf(id, sizeof(id), "C%llu", (unsigned long long)num);
    snprintf(to, sizeof(to), "C%llu", (unsigned long long)depends_on);
    edge.to = span_of(to);
    snprintf(key, sizeof(key), "%c500@4000000065%014llu", '0' + job_class,
             (unsigned long long)num);
    entry.id = span_of(id);
    entry.key = span_of(key);
    order_admit(order, &entry);
}

/* Commits all proposals until there are none, like the scheduler. */
static void pass(void) {
    for (;;) {
        CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
        struct order_effect *effects;
        size_t count = order_scan(order, (struct wall){1}, &arena, &effects);

        if (count == 0)
            return;
        proposed += count;
        for (size_t i = 0; i < count; i++) {
            enum job_state to = effects[i].kind == ORDER_STAGE   ? STATE_STAGED
                                : effects[i].kind == ORDER_READY ? STATE_PENDING
                                                                 : STATE_NONE;
            if (to != STATE_NONE)
                order_move(order, effects[i].num, to, (struct wall){1}, false);
        }
    }
}

static void begin(void) {
    struct order_limits limits = {.wait_for_dep_ms = 3600000};

    order = order_new(&limits);
    proposed = 0;
}

static void report(const char *what, double began) {
    printf("%-52s %8.2f s  %9zu proposals  peak %5.0f MiB\n", what,
           seconds() - began, proposed, peak_mib());
    proposed = 0;
}

/* Runs each set as soon as it is ready; all succeed. */
static void drain(uint64_t last) {
    for (uint64_t num = 1; num <= last; num++) {
        order_move(order, num, STATE_EXECUTING, (struct wall){2}, false);
        order_move(order, num, STATE_DONE, (struct wall){2}, false);
        pass();
    }
}

static void one_path(void) {
    double began = seconds(), took;

    begin();
    for (uint64_t num = 1; num <= sets; num++)
        admit(num, CLASS_DC, "src/lib/main.c", 0);
    pass();
    took = seconds() - began;
    printf("one path, one pass over %zu sets: %.2f s of %d s, %.0f MiB of %d "
           "MiB: ratio %.4f and %.4f\n",
           sets, took, PASS_LIMIT_S, peak_mib(), PASS_LIMIT_MIB,
           took / PASS_LIMIT_S, peak_mib() / PASS_LIMIT_MIB);
    began = seconds();
    admit(sets + 1, CLASS_EM, "src/lib/main.c", 0);
    pass();
    report("an urgent set arrives last", began);
    began = seconds();
    order_move(order, sets + 1, STATE_TERMINATED, (struct wall){2}, false);
    pass();
    report("the urgent set is cancelled", began);
    began = seconds();
    drain(sets);
    report("all sets run, one after the other", began);
    order_free(order);
}

static void one_by_one(void) {
    double began = seconds();

    begin();
    for (uint64_t num = 1; num <= sets; num++) {
        admit(num, CLASS_DC, "src/lib/main.c", 0);
        pass();
    }
    report("one path, a scan after each arrival", began);
    began = seconds();
    for (uint64_t num = sets; num > 1; num -= 2) {
        order_move(order, num - 1, STATE_TERMINATED, (struct wall){2}, false);
        pass();
    }
    report("every second set cancelled, a scan after each", began);
    order_free(order);
}

static void directory(void) {
    double began = seconds();
    char path[64];

    begin();
    for (uint64_t num = 1; num <= sets; num++) {
        snprintf(path, sizeof(path), "src/%llu.c", (unsigned long long)num);
        admit(num, CLASS_DC, num == sets / 2 ? "src" : path, 0);
    }
    pass();
    report("a file replaces the directory, half of the sets wait", began);
    began = seconds();
    drain(sets);
    report("all sets run", began);
    order_free(order);
}

static void chain(bool forward) {
    double began = seconds();

    begin();
    for (uint64_t i = 1; i <= sets; i++) {
        uint64_t num = forward ? i : sets + 1 - i;

        admit(num, CLASS_DC, NULL, num > 1 ? num - 1 : 0);
    }
    pass();
    report(forward ? "each set depends on the previous one"
                   : "the same, arriving in reverse order",
           began);
    began = seconds();
    order_move(order, 1, STATE_FAILED, (struct wall){2}, false);
    pass();
    report("the first set fails, and so do all others", began);
    order_free(order);
}

/* The sets arrive in reverse order, with other sets in between and a scan after
 * each. Sets that wait for an unknown dependency are placed when it arrives. */
static void backwards(size_t count, const char *path) {
    double began = seconds();
    char other[32];

    begin();
    for (uint64_t i = 1; i <= count; i++) {
        uint64_t num = count + 1 - i;

        admit(num, CLASS_DC, path, num > 1 ? num - 1 : 0);
        pass();
        snprintf(other, sizeof(other), "other%llu", (unsigned long long)num);
        admit(sets + num, CLASS_DC, other, 0);
        pass();
    }
    printf("%zu: ", count);
    report(path != NULL ? "reverse order, a scan after each, on one path"
                        : "reverse order, a scan after each",
           began);
    order_free(order);
}

int main(int argc, char **argv) {
    if (argc > 1)
        sets = strtoul(argv[1], NULL, 10);
    one_path();
    one_by_one();
    directory();
    chain(true);
    chain(false);
    for (size_t part = 4; part > 0; part /= 2) {
        backwards(sets / part, NULL);
        backwards(sets / part, "src/lib/main.c");
    }
    return 0;
}
