/* The main simulator: the scheduler's own code in a simulated world.
 *
 *     test_sim                       a test: --cases 1000
 *     test_sim --seed N [--trace]    repeats one seed
 *     test_sim --seeds FROM TO       a campaign
 *     test_sim --cases N             a test: seeds 1 to N (test_cases)
 *
 * Other options change the world:
 *
 *     --lanes N      the lanes of the target, whatever the seed
 *     --ungrouped    no set is part of a group
 *     --apart        sets are staged and started by two processes
 *     --sqlite       the registry is SQLite in memory; same traces, but slower
 *     --alone        no other process writes while a decision is under way
 *     --rollbacks N  percentage of additional actions that are rollbacks */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/log.h"
#include "sim/world.h"
#include "support/test.h"

#define SEED_MOST (UINT64_MAX - 1) /* the loop must end */

static void run(uint64_t seed, const struct world_options *options) {
    struct world world;
    world_open(&world, seed, options);
    unsigned actions = 20 + (unsigned)random_below(&world.random, 60);
    for (unsigned i = 0; i < actions; i++) {
        world_act(&world);
        if (random_below(&world.random, 100) < 60)
            world_settle(&world);
        if (random_below(&world.random, 100) < 60)
            world_pass(&world, 1 + (int64_t)random_below(&world.random, 8000));
    }
    if (!world_drain(&world)) {
        judge_over(&world);
        world_fail(&world, "not all jobs end");
    }
    judge_over(&world);
    world_close(&world);
}

/* Parses the argument of an option, or ends the program with an error. */
static uint64_t number(const char *option, const char *word, uint64_t least,
                       uint64_t most) {
    uint64_t value;
    if (word != NULL && span_u64(span_of(word), &value) && value >= least &&
        value <= most)
        return value;
    fprintf(stderr,
            "test_sim: '%s' takes a number from %" PRIu64 " to %" PRIu64
            ", not '%s'\n",
            option, least, most, word == NULL ? "" : word);
    exit(64);
}

int main(int argc, char **argv) {
    uint64_t from = 1, to = test_cases(1000);
    struct world_options options = {0};
    log_init("sim", LOG_ERROR);
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--trace") == 0)
            options.trace = true;
        else if (strcmp(argv[i], "--ungrouped") == 0)
            options.ungrouped = true;
        else if (strcmp(argv[i], "--sqlite") == 0)
            options.sqlite = true;
        else if (strcmp(argv[i], "--apart") == 0)
            options.apart = true;
        else if (strcmp(argv[i], "--alone") == 0)
            options.alone = true;
        else if (strcmp(argv[i], "--lanes") == 0)
            options.lanes =
                (unsigned)number("--lanes", argv[++i], 1, UINT32_MAX);
        else if (strcmp(argv[i], "--rollbacks") == 0)
            options.rollbacks =
                (unsigned)number("--rollbacks", argv[++i], 0, 100);
        else if (strcmp(argv[i], "--seed") == 0)
            from = to = number("--seed", argv[++i], 0, SEED_MOST);
        else if (strcmp(argv[i], "--cases") == 0)
            to = test_cases(
                (unsigned)number("--cases", argv[++i], 1, UINT32_MAX));
        else if (strcmp(argv[i], "--seeds") == 0) {
            from = number("--seeds", argv[++i], 0, SEED_MOST);
            to = number("--seeds", argv[++i], from, SEED_MOST);
        } else {
            fprintf(stderr, "test_sim: unknown option '%s'\n", argv[i]);
            return 64;
        }
    }
    printf("TAP version 13\n1..1\n");
    for (uint64_t seed = from; seed <= to; seed++)
        run(seed, &options);
    printf("ok 1 seeds_%" PRIu64 "_to_%" PRIu64 "_violate_no_invariant\n", from,
           to);
    return 0;
}
