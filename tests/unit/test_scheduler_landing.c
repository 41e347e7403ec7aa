/* Landings that follow each other on a target without checks: the end of one
 * and the beginning of the next are recorded together. */
#include "support/test.h"

#include <unistd.h>

#include "lib/log.h"
#include "scheduler/scheduler.h"
#include "store/simulated.h"

enum { STARTS_MAX = 20 };

static struct store *store;
static struct scheduler *scheduler;
static struct wall now;
static struct text trace; /* the ids of the starts, each with a blank */
static struct {
    uint64_t handle;
    char id[16];
} starts[STARTS_MAX];
static unsigned start_count;
static struct run_sync sync_next; /* the result of the next write_outputs */
static int ends[2];               /* a pipe, which cannot be synced */

/* ---- the runner ---------------------------------------------------------- */

static void runner_start(void *ctx, const struct run_start *start) {
    (void)ctx;
    assert_true(start_count < STARTS_MAX);
    starts[start_count].handle = start->handle;
    snprintf(starts[start_count++].id, sizeof(starts[0].id), "%.*s",
             (int)start->job->id.len, start->job->id.p);
    text_addspan(&trace, start->job->id);
    text_adds(&trace, start->probe ? "? " : " ");
}

static void runner_stop(void *ctx, uint64_t which, enum run_stop how) {
    (void)ctx, (void)which, (void)how;
}

static void runner_flush(void *ctx) {
    (void)ctx;
}

static struct run_sync runner_write_outputs(void *ctx, bool whole) {
    struct run_sync given = sync_next;
    (void)ctx, (void)whole;
    sync_next = (struct run_sync){.fd = -1};
    return given;
}

static void runner_release(void *ctx, uint64_t which) {
    (void)ctx, (void)which;
}

static const struct runner runner = {.start = runner_start,
                                     .stop = runner_stop,
                                     .flush = runner_flush,
                                     .write_outputs = runner_write_outputs,
                                     .release = runner_release};

/* ---- the scheduler ------------------------------------------------------- */

static void open_scheduler(uint64_t job_limit) {
    static const struct scheduler_target target = {
        .name = {"main", 4}, .lanes = 1, .train = {.lanes = 1, .land_max = 1}};
    struct scheduler_options options = {.parts =
                                            SCHEDULER_STAGES | SCHEDULER_STARTS,
                                        .slots = 4,
                                        .max_temp = 20,
                                        .max_crash = 3,
                                        .wait_for_dep_ms = 60000,
                                        .job_limit = job_limit,
                                        .actor = SPAN("daemon:test"),
                                        .worker = SPAN("local"),
                                        .targets = &target,
                                        .target_count = 1};
    scheduler = scheduler_new(store, &options, &runner);
    assert_true(scheduler_start(scheduler, now, true, NULL));
}

static int setup(void **state) {
    (void)state;
    log_init("test", LOG_ERROR);
    assert_int_equal(pipe(ends), 0);
    now = wall_from_s(1000);
    store = store_new_sqlite();
    scheduler = NULL;
    start_count = 0;
    sync_next = (struct run_sync){.fd = -1};
    trace = (struct text)TEXT_INIT;
    return 0;
}

static int teardown(void **state) {
    (void)state;
    scheduler_free(scheduler);
    store_close(store);
    text_clear(&trace);
    close(ends[0]);
    close(ends[1]);
    return 0;
}

static void turn(void) {
    struct wall next;
    struct err err;
    if (!scheduler_turn(scheduler, now, &next, &err))
        fail_msg("%s", err.text);
}

static void settle(void) {
    for (unsigned quiet = 0, turns = 0; quiet < 2; turns++) {
        assert_true(turns < 1000);
        turn();
        quiet = store_is_idle(store) ? quiet + 1 : 0;
        store_turn(store);
    }
}

/* The first attempt of the set that has not ended, ends. */
static void end_well(const char *id) {
    for (unsigned i = 0; i < start_count; i++) {
        struct run_end end = {
            .handle = starts[i].handle,
            .status = SPAN("done 0123456789012345678901234567890123456789"),
            .started = wall_add_ms(now, -1000),
            .ended = now};
        if (strcmp(starts[i].id, id) != 0)
            continue;
        starts[i].id[0] = '\0';
        scheduler_ended(scheduler, &end);
        return;
    }
    fail_msg("'%s' does not run", id);
}

/* One turn, and one transaction. */
static void one_batch(void) {
    turn();
    store_turn(store);
}

/* ---- sets ---------------------------------------------------------------- */

static void submit(const char *id, const char *path) {
    static unsigned order;
    char key[16];
    snprintf(key, sizeof(key), "%c%08u", (int)CLASS_DC, ++order);
    struct job job = {.id = span_of(id),
                      .kind = JOB_CHANGE,
                      .job_class = CLASS_DC,
                      .state = STATE_QUEUED,
                      .key = span_make(key, 9),
                      .rank = span_make(key, 9),
                      .target = SPAN("main"),
                      .name = span_of(id),
                      .actor = SPAN("uid:7"),
                      .spec = SPAN("{}"),
                      .has_relations = true,
                      .admitted = now};
    struct job_touch touch = {.path = span_of(path)};
    struct store_batch *batch = store_batch_new(store);
    store_batch_actor(batch, now, SPAN("uid:7"));
    store_admit(batch, &job, NULL, 0, &touch, 1, NULL, 0);
    assert_true(store_write(batch, NULL));
    store_batch_free(batch);
}

static struct job find(const char *id, struct arena *arena) {
    struct job job;
    bool found;
    assert_true(store_lookup(store, span_of(id), arena, &job, &found, NULL));
    assert_true(found);
    return job;
}

static void assert_state(const char *id, enum job_state state) {
    CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
    assert_int_equal(find(id, &arena).state, state);
}

static void assert_attempts(const char *id, size_t want) {
    CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
    struct store_attempt *attempts;
    size_t count;
    uint64_t num = find(id, &arena).num;
    assert_true(store_attempts(store, num, &arena, &attempts, &count, NULL));
    assert_int_equal(count, want);
}

static void assert_trace(const char *expected) {
    assert_string_equal(text_string(&trace), expected);
}

static void begin(void) {
    open_scheduler(0);
    submit("first", "a");
    settle();
    submit("second", "b");
    settle();
    assert_trace("first ");
}

/* ---- tests --------------------------------------------------------------- */

static void the_next_landing_begins_with_the_end_of_the_last(void **state) {
    (void)state;
    begin();
    end_well("first");
    one_batch();
    assert_state("first", STATE_DONE);
    assert_state("second", STATE_EXECUTING);
    assert_trace("first second ");
    submit("third", "c");
    settle();
    end_well("second");
    one_batch();
    end_well("third");
    settle();
    assert_state("third", STATE_DONE);
    assert_attempts("third", 1);
}

/* It is staged first, in a batch of its own. */
static void a_set_that_has_just_arrived_delays_the_next_landing(void **state) {
    (void)state;
    begin();
    end_well("first");
    submit("third", "c");
    one_batch();
    assert_state("first", STATE_DONE);
    assert_state("second", STATE_PENDING);
    settle();
    assert_trace("first second ");
    assert_state("third", STATE_PENDING);
}

static void one_job_means_one_landing(void **state) {
    (void)state;
    open_scheduler(1);
    submit("first", "a");
    submit("second", "b");
    settle();
    end_well("first");
    one_batch();
    assert_state("first", STATE_DONE);
    assert_state("second", STATE_PENDING);
}

/* Its beginning is refused, and that undoes neither the end of the other one
 * nor leaves an attempt behind. */
static void a_set_that_is_held_meanwhile_does_not_begin(void **state) {
    CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
    (void)state;
    begin();
    uint64_t num = find("second", &arena).num;
    end_well("first");
    turn();
    struct store_batch *batch = store_batch_new(store);
    store_batch_actor(batch, now, SPAN("uid:7"));
    store_hold(batch, num, HOLD_OPERATOR, SPAN(""));
    store_submit(batch, NULL, NULL);
    store_memory_overtake(store);
    store_turn(store);
    assert_state("first", STATE_DONE);
    assert_state("second", STATE_PENDING);
    assert_attempts("second", 0);
    settle();
    assert_trace("first ");
    batch = store_batch_new(store);
    store_batch_actor(batch, now, SPAN("uid:7"));
    store_release(batch, num, HOLD_OPERATOR, SPAN(""));
    assert_true(store_write(batch, NULL));
    store_batch_free(batch);
    settle();
    assert_trace("first second ");
    assert_attempts("second", 1);
}

static void if_the_end_cannot_be_recorded_the_next_one_waits(void **state) {
    (void)state;
    begin();
    sync_next.fd = ends[1];
    end_well("first");
    one_batch();
    assert_state("first", STATE_EXECUTING);
    assert_state("second", STATE_PENDING);
    settle();
    assert_trace("first ");
    now = wall_add_ms(now, 2000);
    one_batch();
    assert_state("first", STATE_DONE);
    settle();
    assert_trace("first second ");
    assert_attempts("first", 1);
    assert_attempts("second", 1);
    end_well("second");
    settle();
    assert_state("second", STATE_DONE);
}

int main(void) {
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
        TEST(the_next_landing_begins_with_the_end_of_the_last),
        TEST(a_set_that_has_just_arrived_delays_the_next_landing),
        TEST(one_job_means_one_landing),
        TEST(a_set_that_is_held_meanwhile_does_not_begin),
        TEST(if_the_end_cannot_be_recorded_the_next_one_waits),
    };
    return cmocka_run_group_tests_name("scheduler_landing", tests, NULL, NULL);
}
