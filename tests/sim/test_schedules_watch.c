/* Schedules are compared with the watch of the cron library: two programs for
 * the same rules (S4 to S6) must fire the same instants in spite of the same
 * disturbances.
 *
 *     test_schedules_watch                     a test: seeds 1 to 3000
 *     test_schedules_watch --seed N [--trace]  repeats one seed              */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/random.h"
#include "core/schedules.h"
#include "support/test.h"

enum { TICKS = 40, FIRED = 1 << 16 };

struct world {
    struct random random;
    uint64_t seed;
    bool trace;
    int64_t now_s, boot_s;
    struct schedules *table;
    struct schedule *schedule;
    struct cron_watch *watch;
    struct cron_zone *zone;
    int64_t ours[FIRED], theirs[FIRED];
    size_t our_count, their_count;
};

static const char *const items[] = {
    "{\"epoch\": {\"period\": 7}, %s}",
    "{\"minute\": {\"period\": 5}, \"dst_fixes\": [\"skip\", "
    "\"repeat_use_both\"], %s}",
    "{\"minute\": 30, \"dst_fixes\": [\"unskip\", "
    "\"repeat_use_only_early\"], %s}",
    "{\"minute\": 0, \"hour\": [2, 10], \"dst_fixes\": [\"unskip\", "
    "\"repeat_use_only_late\"], %s}",
};
static const char *const zones[] = {"Z", "+01:00", "-03:30", "+13:00",
                                    "EST5EDT,M3.2.0,M11.1.0"};
static const int64_t shifts[] = {0, 45, 150, 4000, 90000};

static int64_t drawn(struct world *world, const int64_t *values, size_t count) {
    return values[random_below(&world->random, count)];
}

static void open_zone(struct world *world) {
    const char *name = zones[random_below(&world->random, COUNT(zones))];
    cron_zone_unref(world->zone);
    if (!cron_zone_open(name, &world->zone, NULL))
        abort();
    if (world->trace)
        printf("# zone %s\n", name);
}

static void begin(struct world *world) {
    char text[300], shift[100];
    struct schedule_rule rule = {.overlap = OVERLAP_ALLOW};
    struct cron_err err;
    const char *item = items[random_below(&world->random, COUNT(items))];
    rule.max_shift_s = drawn(world, shifts, COUNT(shifts));
    snprintf(shift, sizeof(shift),
             "\"max_shift_seconds_for_unskip_and_do_not_repeat\": %d",
             (int)rule.max_shift_s);
    /* Insert the shift at the %s of the item. */
    const char *mark = strstr(item, "%s");
    bool is_epoch = strstr(item, "epoch") != NULL;
    snprintf(text, sizeof(text), "%.*s%s%s", (int)(mark - item), item, shift,
             mark + 2);
    if (is_epoch) /* only this key may be added */
        snprintf(text, sizeof(text), "{\"epoch\": {\"period\": 7}, %s}", shift);
    if (!repeat_parse(&rule.repeat, span_of(text), NULL, NULL)) {
        printf("not ok 1 - %s\n", text);
        exit(1);
    }
    if (world->trace)
        printf("# %s\n", text);
    open_zone(world);
    rule.zone = world->zone;
    struct schedule_place place = {
        world->now_s, cron_zone_offset_s(world->zone, world->now_s), 0};
    world->table = schedules_new(world->now_s, world->boot_s);
    world->schedule = schedules_add(world->table, &rule, &place, NULL);
    world->watch = cron_watch_new(NULL, NULL);
    cron_watch_set_zone(world->watch, world->zone);
    if (!cron_watch_add(world->watch, "x", rule.repeat.items[0], NULL, &err))
        abort();
    cron_watch_tick(world->watch, world->now_s, world->boot_s, NULL, 0, NULL);
    repeat_clear(&rule.repeat);
}

static void ask_table(struct world *world) {
    struct schedule_decision decision;
    schedules_tick(world->table, world->now_s, world->boot_s);
    while (schedules_decide(world->table, &decision)) {
        if (world->trace)
            printf("# %s %" PRId64 "..%" PRId64 "\n",
                   schedule_reason_word(decision.reason), decision.at,
                   decision.until);
        if (decision.fires && world->our_count < FIRED)
            world->ours[world->our_count++] = decision.at;
        schedules_recorded(world->table, decision.schedule);
    }
}

static void ask_watch(struct world *world) {
    struct cron_event events[64];
    struct cron_tick tick;
    do {
        size_t count = cron_watch_tick(world->watch, world->now_s,
                                       world->boot_s, events, 64, &tick);
        for (size_t i = 0; i < count; i++)
            if (events[i].kind <= CRON_TZ_UNSKIPPED &&
                world->their_count < FIRED)
                world->theirs[world->their_count++] = events[i].at;
    } while (tick.more);
}

static void disturb(struct world *world) {
    static const int64_t passes[] = {1, 7, 30, 55, 59, 61, 240, 3600, 86400};
    static const int64_t steps[] = {1, 2, 20, 100, 3600, 80000};
    int64_t pass = drawn(world, passes, COUNT(passes));
    int64_t step = 0;
    bool moves = false;
    if (random_below(&world->random, 100) < 25) {
        step = drawn(world, steps, COUNT(steps));
        if (random_below(&world->random, 100) < 50)
            step = -step;
    } else if (random_below(&world->random, 100) < 10) {
        /* When a zone moves back by more than max_shift while time passes, the
         * watch restarts at the tick, and instants since the previous tick are
         * neither fired nor reported, unlike in schedules. So zones move only
         * when nothing else happens. */
        moves = true;
        pass = 0;
    }
    world->now_s += pass + step;
    world->boot_s += pass;
    if (world->trace)
        printf("# pass %" PRId64 ", step %" PRId64 ": now %" PRId64 "\n", pass,
               step, world->now_s);
    if (!moves)
        return;
    open_zone(world);
    schedules_zone(world->table, world->schedule, world->zone);
    cron_watch_set_zone(world->watch, world->zone);
}

static void compare(struct world *world) {
    bool same = world->our_count == world->their_count &&
                (world->our_count == 0 ||
                 memcmp(world->ours, world->theirs,
                        world->our_count * sizeof(int64_t)) == 0);
    if (same) {
        world->our_count = world->their_count = 0;
        return;
    }
    printf("not ok 1 - seed %" PRIu64 ": the schedules fire %zu, the watch "
           "%zu\n",
           world->seed, world->our_count, world->their_count);
    for (size_t i = 0; i < world->our_count && i < 20; i++)
        printf("# schedules %" PRId64 "\n", world->ours[i]);
    for (size_t i = 0; i < world->their_count && i < 20; i++)
        printf("# watch     %" PRId64 "\n", world->theirs[i]);
    exit(1);
}

static void run(struct world *world, uint64_t seed) {
    world->seed = seed;
    random_init(&world->random, seed);
    /* Half of the time near changes of the clock in New York. */
    world->now_s =
        ((random_below(&world->random, 100) < 50) ? 1772953200 : 1800000000) -
        (int64_t)random_below(&world->random, 20000);
    world->boot_s = 1000000;
    begin(world);
    for (int i = 0; i < TICKS; i++) {
        disturb(world);
        ask_table(world);
        ask_watch(world);
        compare(world);
    }
    schedules_free(world->table);
    cron_watch_free(world->watch);
}

int main(int argc, char **argv) {
    struct world *world = mem_alloc(sizeof(*world));
    uint64_t from = 1, to = test_cases(3000);
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--trace") == 0)
            world->trace = true;
        else if (strcmp(argv[i], "--seed") == 0 && i + 1 < argc)
            from = to = strtoull(argv[++i], NULL, 10);
    }
    printf("TAP version 13\n1..1\n");
    for (uint64_t seed = from; seed <= to; seed++)
        run(world, seed);
    cron_zone_unref(world->zone);
    free(world);
    printf("ok 1 - schedules_fire_the_same_instants_as_the_watch\n");
    return 0;
}
