/* The merge train (core/train.h) on a simulated clock: a backlog of sets,
 * checks of ten minutes on average, merges and landings that take no time.
 * Compares the decided sets per hour with a serial gate, with a gate that
 * checks on the tip and starts again when the tip has moved, and with one that
 * knows which sets are bad and never checks them.
 *
 * Each cell of the table is compared with the throughput and the check time
 * that doc/design/train.md promises. An argument sets the number of seeds. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/map.h"
#include "lib/random.h"
#include "bench/figure.h"
#include "core/train.h"

enum {
    SETS = 1000,
    SEEDS = 20,
    LANES_MAX = 16,
    MEAN_MS = 600000,
    BACK_MAX = 4,
    DECISION_UNITS = 64,
    DECISIONS = 20000,
    WAITING_DECISIONS = 1000,
    SHAPES = 6,
    WIDTHS = 5
};

static const unsigned widths[WIDTHS] = {1, 2, 4, 8, 16};

/* What a train of N = 4, 8, 16 has to reach: multiples of the serial gate, and
 * check time per set. N = 1 has to be 1.0, N = 2 at least 1.8 without sharing.
 */
static const struct shape {
    const char *name;
    bool spread;
    unsigned bad_percent;
    double alone[3], shared[3], time[3];
} shapes[SHAPES] = {
    {"fixed, 0 %", false, 0, {4.0, 8.0, 16.0}, {3.3, 4.4, 4.7}, {1, 1, 1}},
    {"fixed, 5 %",
     false,
     5,
     {3.6, 6.5, 10.3},
     {3.1, 3.9, 4.0},
     {1.1, 1.2, 1.5}},
    {"fixed, 20 %",
     false,
     20,
     {2.9, 4.1, 4.8},
     {2.6, 2.9, 2.9},
     {1.4, 1.9, 3.3}},
    {"log-normal, 0 %", true, 0, {3.8, 7.1, 12.6}, {2.9, 4.1, 5.5}, {1, 1, 1}},
    {"log-normal, 5 %",
     true,
     5,
     {3.5, 6.1, 9.5},
     {2.8, 3.5, 4.1},
     {1.1, 1.2, 1.5}},
    {"log-normal, 20 %",
     true,
     20,
     {2.9, 4.0, 4.7},
     {2.3, 2.6, 2.8},
     {1.4, 1.9, 3.3}},
};

static struct backlog {
    int64_t check_ms[SETS + 1];
    bool bad[SETS + 1];
    unsigned waits_for[SETS + 1]; /* the earlier set with a common file; 0 */
} backlog;

/* ---- the backlog -------------------------------------------------------- */

static double uniform(struct random *random) {
    return ((double)random_below(random, 1u << 30) + 0.5) / (1u << 30);
}

static int64_t draw_ms(struct random *random, bool spread) {
    const double sigma = 0.8;
    double normal;

    if (!spread)
        return MEAN_MS;
    normal = sqrt(-2 * log(uniform(random))) *
             cos(6.283185307179586 * uniform(random));
    return 1 + (int64_t)(MEAN_MS * exp(sigma * normal - sigma * sigma / 2));
}

static void backlog_draw(const struct shape *shape, unsigned shared_percent,
                         uint64_t seed) {
    struct random random;

    random_init(&random, seed);
    for (unsigned i = 1; i <= SETS; i++) {
        unsigned back = 1 + (unsigned)random_below(&random, BACK_MAX);
        bool shares = random_below(&random, 100) < shared_percent;

        backlog.check_ms[i] = draw_ms(&random, shape->spread);
        backlog.bad[i] = random_below(&random, 100) < shape->bad_percent;
        backlog.waits_for[i] = shares && back < i ? i - back : 0;
    }
}

/* ---- what a gate did ---------------------------------------------------- */

struct outcome {
    int64_t end_ms;
    double runs, check_ms;
    int64_t decided_ms[SETS + 1];
};

static struct outcome serial(void) {
    struct outcome outcome = {0};

    for (unsigned i = 1; i <= SETS; i++) {
        outcome.end_ms += backlog.check_ms[i];
        outcome.decided_ms[i] = outcome.end_ms;
    }
    outcome.runs = SETS;
    outcome.check_ms = (double)outcome.end_ms;
    return outcome;
}

static unsigned earliest(const int64_t *until, unsigned count) {
    unsigned found = 0;

    for (unsigned i = 1; i < count; i++)
        if (until[i] < until[found])
            found = i;
    return found;
}

/* Every lane checks a set on the tip, and again if the tip has moved; a set
 * that has lost five times goes to the end of the queue. */
static struct outcome optimistic(unsigned lanes) {
    struct outcome outcome = {0};
    static unsigned queue[100 * SETS], lost[SETS + 1];
    int64_t until[LANES_MAX];
    unsigned set[LANES_MAX], seen[LANES_MAX], tip = 0, next = 0, last = SETS;

    memset(lost, 0, sizeof(lost));
    for (unsigned i = 0; i < SETS; i++)
        queue[i] = i + 1;

    for (unsigned i = 0; i < lanes; i++) {
        set[i] = queue[next++];
        seen[i] = 0;
        until[i] = backlog.check_ms[set[i]];
    }
    for (unsigned decided = 0; decided < SETS;) {
        unsigned i = earliest(until, lanes);
        int64_t now = until[i];

        outcome.runs++;
        outcome.check_ms += (double)backlog.check_ms[set[i]];
        if (backlog.bad[set[i]] || seen[i] == tip) {
            tip += !backlog.bad[set[i]];
            outcome.decided_ms[set[i]] = outcome.end_ms = now;
            decided++;
            set[i] = next < last ? queue[next++] : 0;
        } else if (++lost[set[i]] % 5 == 0 && next < last &&
                   last < 100 * SETS) {
            queue[last++] = set[i];
            set[i] = queue[next++];
        }
        seen[i] = tip;
        until[i] = set[i] > 0 ? now + backlog.check_ms[set[i]] : INT64_MAX;
    }
    return outcome;
}

/* Bad sets cost nothing, good ones are checked once. */
static struct outcome perfect(unsigned lanes) {
    struct outcome outcome = {0};
    int64_t until[LANES_MAX] = {0};

    for (unsigned i = 1; i <= SETS; i++) {
        unsigned lane = earliest(until, lanes);

        if (backlog.bad[i])
            continue;
        until[lane] += backlog.check_ms[i];
        if (until[lane] > outcome.end_ms)
            outcome.end_ms = until[lane];
        outcome.runs++;
        outcome.check_ms += (double)backlog.check_ms[i];
    }
    return outcome;
}

/* ---- the train ---------------------------------------------------------- */

static struct {
    struct train *train;
    struct arena arena;
    struct map bad_trees; /* trees that contain a bad set */
    unsigned lanes;
    bool follow;
    struct outcome *outcome;
    unsigned next, decided, commits;
    bool left[SETS + 1];
    struct {
        uint64_t num;
        int64_t begun, until;
        bool bad;
    } runs[LANES_MAX];
    unsigned busy;
    int64_t now_ms;
    double merging_us; /* spent on pretend merges */
} gate;

static struct wall now(void) {
    return wall_add_ms((struct wall){NS_PER_S}, gate.now_ms);
}

/* The tree of a set merged onto another tree. */
static char *merge(struct span base, uint64_t num) {
    char *tree =
        arena_printf(&gate.arena, "%016llx.%llu",
                     (unsigned long long)map_hash_bytes(base.p, base.len),
                     (unsigned long long)num);

    if (backlog.bad[num] || map_get(&gate.bad_trees, base) != NULL)
        map_put(&gate.bad_trees, span_of(tree), &gate);
    return tree;
}

static char *merge_timed(struct span base, uint64_t num) {
    double began = bench_wall_us();
    char *tree = merge(base, num);

    gate.merging_us += bench_wall_us() - began;
    return tree;
}

static void do_merge(const struct train_effect *effect) {
    struct span base = effect->tree;

    for (size_t i = 0; i < effect->step_count; i++) {
        uint64_t num = effect->steps[i].num;
        struct span tree = span_of(merge_timed(base, num));

        train_merged(gate.train, num, TRAIN_MERGED_TREE, tree);
        if (!effect->steps[i].aside)
            base = tree;
    }
    train_merge_ended(gate.train, TRAIN_MERGE_DONE);
}

static void decided(uint64_t num) {
    gate.left[num] = true;
    gate.decided++;
    gate.outcome->decided_ms[num] = gate.outcome->end_ms = gate.now_ms;
}

static void run_end(uint64_t num, enum train_run_end end) {
    unsigned i = 0;

    while (gate.runs[i].num != num)
        i++;
    gate.outcome->check_ms += (double)(gate.now_ms - gate.runs[i].begun);
    gate.runs[i] = gate.runs[--gate.busy];
    train_run_ended(gate.train, num, end,
                    end == TRAIN_RUN_FAILED ? SPAN("check-failed")
                                            : (struct span){0},
                    (struct span){0}, now());
}

static void carry_out(const struct train_effect *effect) {
    switch (effect->kind) {
    case TRAIN_MERGE:
        do_merge(effect);
        break;
    case TRAIN_STOP:
        run_end(effect->num, TRAIN_RUN_STOPPED);
        break;
    case TRAIN_LAND:
        for (size_t i = 0; i < effect->unit_count; i++)
            decided(effect->units[i].num);
        train_landing_ended(
            gate.train, TRAIN_LANDED,
            span_of(arena_printf(&gate.arena, "c%u", ++gate.commits)));
        break;
    case TRAIN_FAIL:
        decided(effect->num);
        train_leave(gate.train, effect->num, TRAIN_LEFT_ENDED);
        break;
    case TRAIN_LEAVE:
    case TRAIN_STOP_LANDING:
        bench_die("a unit left although nothing of the kind happened");
    }
}

static void answer_questions(void) {
    struct train_question question;
    struct train_record nothing = {0};

    while (train_next_question(gate.train, &question)) {
        char tree[TRAIN_TREE_BYTES];

        snprintf(tree, sizeof(tree), "%.*s", (int)question.tree.len,
                 question.tree.p);
        train_record(gate.train, question.num, span_of(tree), &nothing, now());
    }
}

static void decide(void) {
    struct train_effect *effects;
    struct train_note note;
    struct train_run run;
    size_t count;

    do {
        answer_questions();
        count = train_scan(gate.train, now(), &gate.arena, &effects);
        for (size_t i = 0; i < count; i++)
            carry_out(&effects[i]);
    } while (count > 0);
    while (train_next_run(gate.train, now(), &run)) {
        gate.runs[gate.busy].num = run.num;
        gate.runs[gate.busy].begun = gate.now_ms;
        gate.runs[gate.busy].until = gate.now_ms + backlog.check_ms[run.num];
        gate.runs[gate.busy++].bad = map_get(&gate.bad_trees, run.tree) != NULL;
        gate.outcome->runs++;
        train_run_begun(gate.train, run.num, now());
    }
    while (train_next_note(gate.train, &note))
        continue;
}

/* Sets far behind the window change nothing, so they join later. */
static void join_more(void) {
    struct train_overview overview;
    unsigned most = 5 * gate.lanes + 8;

    for (train_overview(gate.train, &overview);
         gate.next <= SETS && overview.units < most; overview.units++) {
        unsigned num = gate.next, other = backlog.waits_for[num];
        struct train_set set = {num, SPAN("C")};
        struct train_follow follow = {other, false};
        bool waits = other > 0 && !gate.left[other];
        struct train_entry entry = {.num = num,
                                    .job_class = CLASS_DC,
                                    .sets = &set,
                                    .set_count = 1,
                                    .follows = &follow,
                                    .follow_count = waits};

        train_join(gate.train, &entry);
        gate.next++;
    }
}

/* Without `follow` a set joins when the other one has left the queue, and those
 * behind it in the backlog are not kept back by that. */
static void join_unblocked(void) {
    struct train_overview overview;
    unsigned most = 5 * gate.lanes + 8;

    train_overview(gate.train, &overview);
    while (gate.next <= SETS && gate.left[gate.next])
        gate.next++;
    for (unsigned num = gate.next; num <= SETS && overview.units < most;
         num++) {
        unsigned other = backlog.waits_for[num];
        struct train_set set = {num, SPAN("C")};
        struct train_entry entry = {
            .num = num, .job_class = CLASS_DC, .sets = &set, .set_count = 1};

        if (gate.left[num] || (other > 0 && !gate.left[other]))
            continue;
        overview.units += train_join(gate.train, &entry);
    }
}

static void gate_open(unsigned lanes, bool follow, struct outcome *outcome) {
    struct train_config config = {.checks = true,
                                  .lanes = lanes,
                                  .interrupt = 1u << CLASS_EM,
                                  .follow = follow,
                                  .land_max = 64,
                                  .remember = TRAIN_REMEMBER_SET};
    struct train_record proven = {.passed = {1}};

    memset(&gate, 0, sizeof(gate));
    memset(outcome, 0, sizeof(*outcome));
    gate.lanes = lanes;
    gate.follow = follow;
    gate.outcome = outcome;
    gate.next = 1;
    gate.train = train_new(SPAN("main"), &config);
    train_tip(gate.train, SPAN("c0"), SPAN("t0"));
    train_record(gate.train, 0, SPAN("t0"), &proven, now());
}

static void gate_close(void) {
    train_free(gate.train);
    map_clear(&gate.bad_trees);
    arena_clear(&gate.arena);
}

static void advance(void) {
    unsigned first = 0;

    if (gate.busy == 0)
        bench_die("%u of %d sets are decided, and nothing runs", gate.decided,
                  SETS);
    for (unsigned i = 1; i < gate.busy; i++)
        if (gate.runs[i].until < gate.runs[first].until)
            first = i;
    gate.now_ms = gate.runs[first].until;
    run_end(gate.runs[first].num,
            gate.runs[first].bad ? TRAIN_RUN_FAILED : TRAIN_RUN_PASSED);
}

static void by_train(unsigned lanes, bool follow, struct outcome *outcome) {
    gate_open(lanes, follow, outcome);
    for (;;) {
        unsigned before = gate.decided;

        if (follow)
            join_more();
        else
            join_unblocked();
        decide();
        if (gate.decided == SETS)
            break;
        /* Landings may have let others join. */
        if (gate.busy > 0 || gate.decided == before)
            advance();
    }
    gate_close();
}

/* ---- the table ---------------------------------------------------------- */

struct cell {
    double gain, gain_least, runs, check; /* check: per set, of the mean */
    double p50_h, p95_h, today, perfect;
};

static int compare_ms(const void *a, const void *b) {
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return (x > y) - (x < y);
}

static double hours_of(struct outcome *outcome, double part) {
    qsort(outcome->decided_ms + 1, SETS, sizeof(int64_t), compare_ms);
    return (double)outcome->decided_ms[(size_t)(part * SETS)] / 3600e3;
}

static struct cell measure(const struct shape *shape, unsigned lanes,
                           unsigned shared, bool follow, unsigned seeds) {
    static struct outcome ours;
    struct cell cell = {.gain_least = 1e9};

    for (unsigned seed = 1; seed <= seeds; seed++) {
        struct outcome one;
        double gain;

        backlog_draw(shape, shared, seed);
        one = serial();
        by_train(lanes, follow, &ours);
        gain = (double)one.end_ms / (double)ours.end_ms;
        cell.gain += gain / seeds;
        if (gain < cell.gain_least)
            cell.gain_least = gain;
        cell.runs += ours.runs / SETS / seeds;
        cell.check += ours.check_ms / one.check_ms / seeds;
        cell.p50_h += hours_of(&ours, 0.5) / seeds;
        cell.p95_h += hours_of(&ours, 0.95) / seeds;
        cell.today +=
            (double)one.end_ms / (double)optimistic(lanes).end_ms / seeds;
        cell.perfect +=
            (double)one.end_ms / (double)perfect(lanes).end_ms / seeds;
    }
    return cell;
}

static void print_goal(const char *what, const char *ours, const char *other,
                       double value, double goal, bool at_most) {
    figure_print(&(struct figure){what, ours, other, value, goal, at_most, ""});
}

static void print_cell(const struct shape *shape, unsigned width,
                       const char *name, const struct cell *cell,
                       double promised) {
    print_goal(bench_text("%s, N = %u%s", shape->name, widths[width], name),
               bench_text("%.1f /h", 6 * cell->gain),
               bench_text("%.1f x serial (today %.1f, best %.1f)", promised,
                          cell->today, cell->perfect),
               cell->gain / promised, 0.95, false);
    print_goal("  in the worst seed",
               bench_text("p50 %.0f p95 %.0f h", cell->p50_h, cell->p95_h),
               "serial", cell->gain_least, 1, false);
}

static double promised_alone(const struct shape *shape, unsigned width) {
    return width == 0 ? 1.0 : width == 1 ? 1.8 : shape->alone[width - 2];
}

static void row(const struct shape *shape, unsigned width, unsigned seeds) {
    unsigned lanes = widths[width];
    struct cell alone = measure(shape, lanes, 0, false, seeds), shared, follow;
    double time = width < 2 ? 0 : shape->time[width - 2];

    print_cell(shape, width, "", &alone, promised_alone(shape, width));
    if (time > 0)
        print_goal("  check time",
                   bench_text("%.2f, %.1f runs", alone.check, alone.runs),
                   bench_text("%.1f per set", time), alone.check / time, 1.1,
                   true);
    shared = measure(shape, lanes, 30, false, seeds);
    if (width >= 2)
        print_cell(shape, width, ", 30 % share", &shared,
                   shape->shared[width - 2]);
    follow = measure(shape, lanes, 30, true, seeds);
    print_goal("  30 % share, with follow",
               bench_text("%.1f /h", 6 * follow.gain), "no sharing",
               follow.gain / alone.gain, 0.97, false);
}

static int compare_us(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* The cost of everything that follows the end of a run, until the next runs
 * have begun, with 64 units that have candidates: several scans if it failed,
 * since all candidates behind it are replaced. */
static void decision(void) {
    static struct outcome ours;
    static double us[DECISIONS];
    size_t count = 0;

    for (uint64_t seed = 1; count < DECISIONS; seed++) {
        backlog_draw(&shapes[5], 0, seed);
        gate_open(LANES_MAX, false, &ours);
        for (join_unblocked(), decide();
             gate.decided + 2 * DECISION_UNITS < SETS && count < DECISIONS;) {
            double began;

            join_unblocked();
            decide();
            gate.merging_us = 0;
            began = bench_wall_us();
            advance();
            decide();
            us[count] = bench_wall_us() - began - gate.merging_us;
            count++;
        }
        gate_close();
    }
    qsort(us, count, sizeof(us[0]), compare_us);
    print_goal("a decision over 64 units, median",
               bench_text("%.1f us", us[count / 2]), "50 us", us[count / 2], 50,
               true);
    figure_print(
        &(struct figure){.what = "  19 of 20 take at most",
                         .ours = bench_text("%.1f us", us[count * 95 / 100]),
                         .other = "",
                         .value = us[count * 95 / 100],
                         .unit = " us"});
}

static struct train *long_train(unsigned count, bool chain, double *ret_us) {
    struct train_config config = {.checks = true,
                                  .lanes = 1,
                                  .follow = true,
                                  .land_max = 64,
                                  .remember = TRAIN_REMEMBER_OFF};
    struct train *train = train_new(SPAN("main"), &config);
    struct train_note note;
    double began = bench_wall_us();

    for (unsigned num = 1; num <= count; num++) {
        struct train_set set = {num, SPAN("C")};
        struct train_follow follow = {num - 1, true};
        struct train_entry entry = {.num = num,
                                    .job_class = CLASS_DC,
                                    .sets = &set,
                                    .set_count = 1,
                                    .follows = &follow,
                                    .follow_count = chain && num > 1};

        if (!train_join(train, &entry))
            bench_die("set %u cannot join", num);
    }
    *ret_us = (bench_wall_us() - began) / count;
    while (train_next_note(train, &note))
        continue;
    train_tip(train, SPAN("c0"), SPAN("t0"));
    return train;
}

/* The first set lands, and the next one begins. */
static void land_next(struct train *train, unsigned turn) {
    struct train_question question;
    struct train_effect *effects;
    struct train_note note;
    struct train_run run;
    char name[32];
    size_t count;

    do {
        while (train_next_question(train, &question))
            continue;
        count = train_scan(train, now(), &gate.arena, &effects);
        for (size_t i = 0; i < count; i++)
            for (size_t k = 0; k < effects[i].step_count; k++) {
                snprintf(name, sizeof(name), "t%u.%zu", turn, k);
                train_merged(train, effects[i].steps[k].num, TRAIN_MERGED_TREE,
                             span_of(name));
            }
        for (size_t i = 0; i < count; i++) {
            snprintf(name, sizeof(name), "c%u", turn);
            if (effects[i].kind == TRAIN_LAND)
                train_landing_ended(train, TRAIN_LANDED, span_of(name));
            else
                train_merge_ended(train, TRAIN_MERGE_DONE);
        }
        arena_clear(&gate.arena);
    } while (count > 0);
    if (!train_next_run(train, now(), &run))
        bench_die("nothing runs");
    train_run_begun(train, run.num, now());
    train_run_ended(train, run.num, TRAIN_RUN_PASSED, (struct span){0},
                    (struct span){0}, now());
    while (train_next_note(train, &note))
        continue;
}

/* Sets that wait behind the window cost a decision nothing. */
static void waiting(unsigned count, bool chain) {
    static double us[WAITING_DECISIONS];
    double join_us;
    struct train *train = long_train(count, chain, &join_us);

    for (unsigned i = 0; i < WAITING_DECISIONS; i++) {
        double began = bench_wall_us();

        land_next(train, i);
        us[i] = bench_wall_us() - began;
    }
    train_free(train);
    qsort(us, WAITING_DECISIONS, sizeof(us[0]), compare_us);
    print_goal(bench_text("a decision, %u sets%s wait, median", count,
                          chain ? " in a chain" : ""),
               bench_text("%.1f us", us[WAITING_DECISIONS / 2]), "50 us",
               us[WAITING_DECISIONS / 2], 50, true);
    print_goal("  to join", bench_text("%.1f us", join_us), "50 us", join_us,
               50, true);
}

int main(int argc, char **argv) {
    unsigned seeds = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : SEEDS;

    if (seeds == 0)
        bench_die("usage: bench_train [SEEDS]");
    for (unsigned i = 0; i < SHAPES; i++)
        for (unsigned width = 0; width < WIDTHS; width++)
            row(&shapes[i], width, seeds);
    decision();
    for (unsigned chain = 0; chain < 2; chain++) {
        waiting(5000, chain > 0);
        waiting(20000, chain > 0);
    }
    return 0;
}
