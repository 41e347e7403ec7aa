/* The code of the role "clock" in a simulated world: the clock is set, the
 * machine sleeps, the process dies anywhere between a firing and its record,
 * and people pause and change schedules. The registry is in memory, and a few
 * lines here act as the scheduler.
 *
 *     test_schedule_driver                       a test: seeds 1 to 100
 * test_schedule_driver --seed N [--trace]    repeats one seed
 * test_schedule_driver --seeds FROM TO       a campaign */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/log.h"
#include "lib/map.h"
#include "lib/random.h"
#include "core/reason.h"
#include "schedules/schedule_driver.h"
#include "schedules/schedule_rule.h"
#include "schedules/schedule_row.h"
#include "serve/tables.h"
#include "support/test.h"
#include "store/simulated.h"

enum { SCHEDULES = 5, JOBS_MOST = 1 << 16 };

/* What the judge knows about a schedule. */
struct ghost {
    char name[8];
    char spec[400];
    struct schedule_rule rule;
    int64_t begun_s; /* its instants count from then on */
    bool changed;    /* paused or redefined: skipped runs are not reported */
    uint64_t fired, missed;
    int64_t last_s; /* the newest instant fired in this round */
    unsigned round;
    unsigned live;
};

struct world {
    struct random random;
    uint64_t seed;
    bool trace, may_go_back, went_back;
    int64_t now_s, boot_s;
    struct store *store;
    struct schedule_driver *driver;
    struct ghost ghosts[SCHEDULES];
    signed char of_job[JOBS_MOST]; /* num -> ghost, or -1 */
    unsigned crashes;
};

static void judge_fail(const struct world *world, const char *format, ...)
    PRINTF_LIKE(2, 3);
static void judge_fail(const struct world *world, const char *format, ...) {
    va_list args;
    va_start(args, format);
    printf("not ok 1 seed %" PRIu64 ": ", world->seed);
    vprintf(format, args);
    printf("\n# repeat with: test_schedule_driver --seed %" PRIu64 " --trace\n",
           world->seed);
    va_end(args);
    exit(1);
}

static void trace_line(const struct world *world, const char *format, ...)
    PRINTF_LIKE(2, 3);
static void trace_line(const struct world *world, const char *format, ...) {
    va_list args;
    if (!world->trace)
        return;
    va_start(args, format);
    printf("# %" PRId64 " ", world->now_s);
    vprintf(format, args);
    printf("\n");
    va_end(args);
}

/* ---- the judge ----------------------------------------------------------- */

static struct ghost *ghost_named(struct world *world, struct span name) {
    for (int i = 0; i < SCHEDULES; i++)
        if (span_is(name, world->ghosts[i].name))
            return &world->ghosts[i];
    return NULL;
}

/* Parses "NAME.20260101T000000Z.r2". */
static bool read_id(struct span id, struct span *ret_name, int64_t *ret_at,
                    unsigned *ret_round) {
    struct span rest = id, stamp, part;
    char text[32];
    uint64_t round = 0;
    if (!span_cut(&rest, '.', ret_name) || !span_cut(&rest, '.', &stamp) ||
        stamp.len != 16)
        return false;
    snprintf(text, sizeof(text), "%.4s-%.2s-%.5s:%.2s:%.3s", stamp.p,
             stamp.p + 4, stamp.p + 6, stamp.p + 11, stamp.p + 13);
    if (rest.len > 1 && span_cut(&rest, '.', &part))
        (void)span_u64(span_make(part.p + 1, part.len - 1), &round);
    *ret_round = (unsigned)round;
    return cron_instant_parse(text, ret_at);
}

static void judge_lateness(struct world *world, const struct ghost *ghost,
                           int64_t at) {
    int64_t late_s = world->now_s - schedule_due(&ghost->rule, at);
    int64_t most_s = ghost->rule.max_shift_s > SCHEDULES_PATIENCE_S
                         ? ghost->rule.max_shift_s
                         : SCHEDULES_PATIENCE_S;
    if (late_s < 0)
        judge_fail(world, "%s fires %" PRId64 " s early", ghost->name, -late_s);
    if (late_s > most_s)
        judge_fail(world, "%s fires %" PRId64 " s late", ghost->name, late_s);
    if (ghost->rule.missed == MISSED_SKIP && late_s > SCHEDULES_PATIENCE_S)
        judge_fail(world, "%s fires a run that should be skipped", ghost->name);
    if (ghost->rule.deadline_s && late_s > ghost->rule.deadline_s)
        judge_fail(world, "%s fires past its deadline", ghost->name);
}

static void judge_fired(struct world *world, const struct store_event *event) {
    struct span name;
    int64_t at;
    unsigned round;
    if (!read_id(event->id, &name, &at, &round))
        return; /* a manual run */
    struct ghost *ghost = ghost_named(world, name);
    if (!ghost)
        judge_fail(world, "%.*s belongs to no schedule", (int)event->id.len,
                   event->id.p);
    trace_line(world, "fired %.*s", (int)event->id.len, event->id.p);
    if (!cron_matches(ghost->rule.repeat.items[0], ghost->rule.zone, at))
        judge_fail(world, "%s must not fire at %" PRId64, ghost->name, at);
    if (round == ghost->round && at <= ghost->last_s)
        judge_fail(world, "%s fires %" PRId64 " again", ghost->name, at);
    if (round < ghost->round)
        judge_fail(world, "%s returns to an earlier round", ghost->name);
    if (round > ghost->round && !world->went_back)
        judge_fail(world, "%s starts a round without a reason", ghost->name);
    judge_lateness(world, ghost, at);
    /* The job of a missed instant waits for the others. */
    if (ghost->rule.overlap == OVERLAP_FORBID && ghost->live > 0 &&
        !span_ends(event->detail, CAUSE_LATE))
        judge_fail(world, "%s fires while its job is running", ghost->name);
    ghost->round = round;
    ghost->last_s = at;
    ghost->fired++;
    ghost->live++;
    world->of_job[event->num] = (signed char)(ghost - world->ghosts);
}

static void judge_missed(struct world *world, const struct store_event *event) {
    static const char *const reasons[] = {"skip", "stale", "deadline",
                                          "overlap"};
    uint64_t count = 1;
    struct span rest = event->detail, word;
    bool known = false;
    for (size_t i = 0; i < COUNT(reasons); i++)
        known |= span_is(event->reason, reasons[i]);
    if (!known)
        return;
    struct ghost *ghost = ghost_named(world, event->id);
    (void)span_cut(&rest, ' ', &word);
    if (span_starts(rest, "times"))
        (void)span_u64(word, &count);
    trace_line(world, "%.*s %.*s: %.*s", (int)event->id.len, event->id.p,
               (int)event->reason.len, event->reason.p, (int)event->detail.len,
               event->detail.p);
    ghost->missed += count;
}

/* The judge sees committed events in order, no matter which process dies. */
static void on_event(void *ctx, const struct store_event *event) {
    struct world *world = ctx;
    if (event->kind == EVENT_SCHEDULE)
        judge_missed(world, event);
    if (event->kind != EVENT_MOVE)
        return;
    if (event->from == STATE_NONE) {
        judge_fired(world, event);
    } else if (job_state_is_final(event->to)) {
        int owner = world->of_job[event->num];
        if (owner >= 0)
            world->ghosts[owner].live--;
    }
}

/* Every instant up to now must have fired or been reported, once. */
static void judge_account(struct world *world) {
    for (int i = 0; i < SCHEDULES; i++) {
        const struct ghost *ghost = &world->ghosts[i];
        int64_t delay_s = ghost->rule.offset_s + ghost->rule.jitter_s;
        if (ghost->changed || world->went_back)
            continue;
        uint64_t least =
            repeat_count(&ghost->rule.repeat, ghost->rule.zone,
                         ghost->begun_s + 1, world->now_s - delay_s);
        uint64_t most = repeat_count(&ghost->rule.repeat, ghost->rule.zone,
                                     ghost->begun_s + 1, world->now_s);
        uint64_t accounted = ghost->fired + ghost->missed;
        if (accounted < least || accounted > most)
            judge_fail(world,
                       "%s: %" PRIu64 " fired and %" PRIu64
                       " reported, but %" PRIu64 " to %" PRIu64 " instants",
                       ghost->name, ghost->fired, ghost->missed, least, most);
    }
}

/* ---- the registry and the process ---------------------------------------- */

static void turn(struct world *world) {
    struct wall next;
    schedule_driver_turn(world->driver, wall_from_s(world->now_s),
                         (struct boot){world->boot_s * NS_PER_S}, &next);
}

static void settle(struct world *world) {
    do {
        store_turn(world->store);
        turn(world);
    } while (!store_is_idle(world->store));
}

static void start(struct world *world) {
    struct schedule_driver_options options = {.host = SPAN("sim")};
    struct err err = {0};
    world->driver =
        schedule_driver_new(world->store, &options, wall_from_s(world->now_s),
                            (struct boot){world->boot_s * NS_PER_S});
    if (!schedule_driver_start(world->driver, &err))
        judge_fail(world, "%s", err.text);
}

/* Some submitted batches may not be committed, and some committed ones may not
 * have been answered. */
static void crash(struct world *world) {
    trace_line(world, "crash");
    turn(world);
    if (random_below(&world->random, 100) < 50) {
        store_memory_commit(world->store);
    }
    schedule_driver_free(world->driver);
    /* The judge is not part of the process, so it continues reading. */
    uint64_t seen = store_seq(world->store);
    store_memory_crash(world->store);
    for (bool more = true; more;) {
        CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
        struct store_event *events;
        size_t count;
        (void)store_events(world->store, seen, 0, 100, &arena, &events, &count,
                           NULL);
        for (size_t i = 0; i < count; i++) {
            on_event(world, &events[i]);
            seen = events[i].seq;
        }
        more = count == 100;
    }
    store_listen(world->store, on_event, world);
    world->crashes++;
    world->now_s += (int64_t)random_below(&world->random, 90);
    world->boot_s = (int64_t)random_below(&world->random, 100);
    start(world);
    settle(world);
}

static struct store_batch *batch_of(struct world *world) {
    struct store_batch *batch = store_batch_new(world->store);
    store_batch_actor(batch, wall_from_s(world->now_s), SPAN("uid:1"));
    return batch;
}

static void write(struct world *world, struct store_batch *batch) {
    struct err err = {0};
    if (!store_write(batch, &err))
        judge_fail(world, "%s", err.text);
    store_batch_free(batch);
}

/* ---- jobs ---------------------------------------------------------------- */

static void move(struct world *world, const struct job *job, enum job_state to,
                 struct span reason) {
    struct store_batch *batch = batch_of(world);
    store_move(batch,
               &(struct store_move){.num = job->num,
                                    .from = job->state,
                                    .to = to,
                                    .reason = reason,
                                    .begin_attempt = to == STATE_EXECUTING});
    write(world, batch);
}

/* The order lets only the oldest job with a given key proceed. */
static bool is_first(const struct world *world, const struct job *jobs,
                     size_t at) {
    for (size_t i = 0; i < at; i++)
        if (world->of_job[jobs[i].num] == world->of_job[jobs[at].num] &&
            jobs[at].has_relations)
            return false;
    return true;
}

static void step_job(struct world *world, const struct job *job) {
    if (job->state == STATE_QUEUED)
        move(world, job, STATE_STAGED, SPAN("staged"));
    else if (job->state == STATE_STAGED)
        move(world, job, STATE_PENDING, SPAN("ready"));
    else if (job->state == STATE_PENDING)
        move(world, job, STATE_EXECUTING, SPAN("start"));
    else if (job->cancel_asked)
        move(world, job, STATE_TERMINATED, SPAN("operator"));
    else if (random_below(&world->random, 100) < 30)
        move(world, job, STATE_DONE, SPAN("ok"));
}

static void run_jobs(struct world *world) {
    CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
    /* The oldest jobs are enough: others follow when these have ended. */
    struct store_list list = {.states = STATES_LIVE, .limit = 40};
    struct job *jobs;
    size_t count;
    if (!store_jobs(world->store, &list, &arena, &jobs, &count, NULL))
        judge_fail(world, "cannot read the jobs");
    for (size_t i = 0; i < count; i++)
        if (is_first(world, jobs, i))
            step_job(world, &jobs[i]);
    settle(world);
}

/* ---- people -------------------------------------------------------------- */

static const char *drawn(struct world *world, const char *const *words,
                         size_t count) {
    return words[random_below(&world->random, count)];
}

static void define(struct world *world, struct ghost *ghost, bool redefine) {
    static const char *const items[] = {
        "{\\\"epoch\\\": {\\\"period\\\": 1}}",
        "{\\\"epoch\\\": {\\\"period\\\": 7}}",
        "{\\\"epoch\\\": {\\\"period\\\": 60}}",
        "* * * * *",
        "*/5 * * * *",
    };
    static const char *const overlaps[] = {"forbid", "allow", "replace",
                                           "queue"};
    static const char *const missed[] = {"run", "skip"};
    static const int64_t shifts[] = {0, 5, 50, 200, 4000};
    struct arena arena = ARENA_INIT;
    struct schedule_spec spec;
    struct err err = {0};
    bool delays = random_below(&world->random, 100) < 40;
    snprintf(ghost->spec, sizeof(ghost->spec),
             "{\"item\": \"%s\", \"zone\": \"Z\", \"overlap\": \"%s\", "
             "\"missed\": \"%s\", \"max_shift\": %d, \"offset\": %d, "
             "\"jitter\": %d, \"deadline\": %d, "
             "\"job\": {\"command\": [\"true\"]}}",
             drawn(world, items, COUNT(items)),
             drawn(world, overlaps, COUNT(overlaps)),
             drawn(world, missed, COUNT(missed)),
             (int)shifts[random_below(&world->random, COUNT(shifts))],
             delays ? (int)random_below(&world->random, 50) : 0,
             delays ? (int)random_below(&world->random, 20) : 0,
             (random_below(&world->random, 100) < 20)
                 ? 1 + (int)random_below(&world->random, 100)
                 : 0);
    schedule_rule_clear(&ghost->rule);
    if (!schedule_spec_parse(span_of(ghost->spec), &arena, &spec, &err) ||
        !schedule_rule_make(&spec, span_of(ghost->name), world->seed, NULL,
                            &ghost->rule, &err))
        judge_fail(world, "%s", err.text);
    arena_clear(&arena);
    struct schedule_row row = {
        .name = span_of(ghost->name),
        .spec = span_of(ghost->spec),
        .origin = SPAN("uid:1"),
        .seed = world->seed,
        .high_s = world->now_s,
    };
    struct store_batch *batch = batch_of(world);
    schedule_row_set(batch, &row, redefine ? SCHEDULE_RENEW : SCHEDULE_ADD);
    trace_line(world, "%s is %s", ghost->name, ghost->spec);
    write(world, batch);
    ghost->begun_s = world->now_s;
    ghost->changed = redefine;
}

static void pause_one(struct world *world, struct ghost *ghost) {
    bool paused = random_below(&world->random, 100) < 50;
    struct store_batch *batch = batch_of(world);
    schedule_row_pause(batch, span_of(ghost->name), paused, world->now_s, 0);
    write(world, batch);
    ghost->changed = true;
}

/* ---- time ---------------------------------------------------------------- */

static void pass(struct world *world, int64_t s) {
    world->now_s += s;
    world->boot_s += s;
    settle(world);
}

/* Time passes second by second, with a server running. */
static void watch(struct world *world, unsigned s) {
    for (unsigned i = 0; i < s; i++) {
        pass(world, 1);
        if (random_below(&world->random, 100) < 60)
            run_jobs(world);
    }
}

static void set_clock(struct world *world) {
    static const int64_t steps[] = {1, 30, 130, 3600, 100000};
    int64_t step = steps[random_below(&world->random, COUNT(steps))];
    if (world->may_go_back && (random_below(&world->random, 100) < 60)) {
        step = -step;
        world->went_back = true;
    }
    trace_line(world, "the clock is set by %" PRId64, step);
    world->now_s += step;
    settle(world);
}

static void act(struct world *world) {
    struct ghost *ghost =
        &world->ghosts[random_below(&world->random, SCHEDULES)];
    uint64_t action = random_below(&world->random, 100);
    if (action < 45)
        watch(world, 1 + (unsigned)random_below(&world->random, 40));
    else if (action < 55)
        pass(world, 1 + (int64_t)random_below(&world->random, 500));
    else if (action < 80)
        crash(world);
    else if (action < 90)
        set_clock(world);
    else if (action < 95)
        pause_one(world, ghost);
    else
        define(world, ghost, true);
}

static void run(uint64_t seed, bool trace) {
    struct world *world = mem_alloc(sizeof(*world));
    world->seed = seed;
    world->trace = trace;
    random_init(&world->random, seed);
    world->now_s = 1800000000 + (int64_t)random_below(&world->random, 100000);
    world->may_go_back = random_below(&world->random, 100) < 40;
    world->store = store_new_sqlite();
    memset(world->of_job, -1, sizeof(world->of_job));
    store_listen(world->store, on_event, world);
    start(world);
    for (int i = 0; i < SCHEDULES; i++) {
        struct ghost *ghost = &world->ghosts[i];
        snprintf(ghost->name, sizeof(ghost->name), "s%d", i);
        define(world, ghost, false);
    }
    settle(world);
    for (int i = 0; i < 40; i++)
        act(world);
    settle(world);
    judge_account(world);
    schedule_driver_free(world->driver);
    store_close(world->store);
    for (int i = 0; i < SCHEDULES; i++)
        schedule_rule_clear(&world->ghosts[i].rule);
    free(world);
}

int main(int argc, char **argv) {
    uint64_t from = 1, to = test_cases(100);
    bool trace = false;
    log_init("sim", LOG_ERROR);
    store_nouns_use(serve_nouns, serve_noun_count);
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--trace") == 0)
            trace = true;
        else if (strcmp(argv[i], "--seed") == 0 && i + 1 < argc)
            from = to = strtoull(argv[++i], NULL, 10);
        else if (strcmp(argv[i], "--seeds") == 0 && i + 2 < argc) {
            from = strtoull(argv[++i], NULL, 10);
            to = strtoull(argv[++i], NULL, 10);
        }
    }
    printf("TAP version 13\n1..1\n");
    for (uint64_t seed = from; seed <= to; seed++)
        run(seed, trace);
    printf("ok 1 no_instant_fires_twice_and_none_is_lost_silently\n");
    return 0;
}
