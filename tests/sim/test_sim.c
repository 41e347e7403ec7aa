/* The first simulator: the scheduler's own code over a pretend world.
 *
 *     test_sim                       as a test: seeds 1 to 1000
 *     test_sim --seed N [--trace]    one seed again
 *     test_sim --seeds FROM TO       a campaign
 *
 * and in other worlds than the fullest one:
 *
 *     --lanes N      so many on the target, whatever the seed
 *     --ungrouped    every set lands by itself
 *     --apart        those that stage and those that start are two processes
 *     --alone        nobody writes while a decision is under way
 *     --rollbacks N  percent of deeds that are rollbacks, besides the others */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/log.h"
#include "sim/world.h"

static void run(uint64_t seed, const struct world_options *options) {
    struct world world;
    world_open(&world, seed, options);
    unsigned deeds = 20 + (unsigned)random_below(&world.random, 60);
    for (unsigned i = 0; i < deeds; i++) {
        world_act(&world);
        if (random_percent(&world.random, 60))
            world_settle(&world);
        if (random_percent(&world.random, 60))
            world_pass(&world, 1 + (int64_t)random_below(&world.random, 8000));
    }
    if (!world_drain(&world)) {
        judge_over(&world);
        world_fail(&world, "it does not drain");
    }
    judge_over(&world);
    world_close(&world);
}

int main(int argc, char **argv) {
    uint64_t from = 1, to = 1000;
    struct world_options options = {0};
    log_init("sim", LOG_ERROR);
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--trace") == 0)
            options.trace = true;
        else if (strcmp(argv[i], "--ungrouped") == 0)
            options.ungrouped = true;
        else if (strcmp(argv[i], "--apart") == 0)
            options.apart = true;
        else if (strcmp(argv[i], "--alone") == 0)
            options.alone = true;
        else if (strcmp(argv[i], "--lanes") == 0 && i + 1 < argc)
            options.lanes = (unsigned)strtoul(argv[++i], NULL, 10);
        else if (strcmp(argv[i], "--rollbacks") == 0 && i + 1 < argc)
            options.rollbacks = (unsigned)strtoul(argv[++i], NULL, 10);
        else if (strcmp(argv[i], "--seed") == 0 && i + 1 < argc)
            from = to = strtoull(argv[++i], NULL, 10);
        else if (strcmp(argv[i], "--seeds") == 0 && i + 2 < argc) {
            from = strtoull(argv[++i], NULL, 10);
            to = strtoull(argv[++i], NULL, 10);
        }
    }
    printf("TAP version 13\n1..1\n");
    for (uint64_t seed = from; seed <= to; seed++)
        run(seed, &options);
    printf("ok 1 seeds_%" PRIu64 "_to_%" PRIu64 "_break_no_rule\n", from, to);
    return 0;
}
