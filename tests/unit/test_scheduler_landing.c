/* The merge train of a target, with scripted processes. Without checks:
 * landings that follow each other; the end of one and the beginning of the next
 * are recorded together. With checks: runs whose candidates are built again
 * meanwhile. */
#include "support/test.h"

#include <unistd.h>

#include "lib/log.h"
#include "scheduler/scheduler.h"
#include "store/simulated.h"

enum { STARTS_MAX = 40 };

static const char commit[] = "0123456789012345678901234567890123456789";

static struct store *store;
static struct scheduler *scheduler;
static struct wall now;
static struct text trace; /* the ids of the starts, each with a blank */
static struct {
    uint64_t handle;
    char id[16]; /* "merge" for a process that merges */
    char sets[8][16];
    size_t set_count; /* for a merge; 0: it reads the tip */
} starts[STARTS_MAX];
static unsigned start_count;
static struct run_sync sync_next; /* the result of the next write_outputs */
static int ends[2];               /* a pipe, which cannot be synced */

/* ---- the runner ---------------------------------------------------------- */

static void merge_begins(const struct run_start *start) {
    size_t count = start->train->tree.len > 0 ? start->set_count : 0;
    snprintf(starts[start_count].id, sizeof(starts[0].id), "merge");
    starts[start_count].set_count = count;
    for (size_t i = 0; i < count; i++)
        snprintf(starts[start_count].sets[i], sizeof(starts[0].sets[0]), "%.*s",
                 (int)start->sets[i].job->id.len, start->sets[i].job->id.p);
    text_adds(&trace, count == 0            ? "tip "
                      : start->train->fresh ? "merge-anew "
                                            : "merge ");
}

static void runner_start(void *ctx, const struct run_start *start) {
    (void)ctx;
    assert_true(start_count < STARTS_MAX);
    starts[start_count].handle = start->handle;
    if (start->train != NULL && start->train->task == RUN_TRAIN_MERGE) {
        merge_begins(start);
    } else {
        snprintf(starts[start_count].id, sizeof(starts[0].id), "%.*s",
                 (int)start->job->id.len, start->job->id.p);
        text_addspan(&trace, start->job->id);
        text_adds(&trace, start->probe ? "? " : " ");
    }
    start_count++;
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

static const struct scheduler_target unchecked = {
    .name = {"main", 4}, .lanes = 1, .train = {.lanes = 1, .land_max = 1}};
static const struct scheduler_target checked = {
    .name = {"main", 4},
    .lanes = 2,
    .train = {.checks = true,
              .lanes = 2,
              .land_max = 1,
              .remember = TRAIN_REMEMBER_OFF}};

static void open_scheduler(const struct scheduler_target *target,
                           uint64_t job_limit) {
    struct scheduler_options options = {.parts =
                                            SCHEDULER_STAGES | SCHEDULER_STARTS,
                                        .slots = 4,
                                        .max_temp = 20,
                                        .max_crash = 3,
                                        .wait_for_dep_ms = 60000,
                                        .job_limit = job_limit,
                                        .actor = SPAN("daemon:test"),
                                        .worker = SPAN("local"),
                                        .targets = target,
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

/* The first process with that id that has not ended. */
static unsigned start_find(const char *id) {
    for (unsigned i = 0; i < start_count; i++)
        if (strcmp(starts[i].id, id) == 0)
            return i;
    fail_msg("'%s' does not run; so far: %s", id, text_string(&trace));
    return 0;
}

static void end_as(const char *id, const char *status) {
    unsigned i = start_find(id);
    struct run_end end = {.handle = starts[i].handle,
                          .status = span_of(status),
                          .started = wall_add_ms(now, -1000),
                          .ended = now};
    starts[i].id[0] = '\0';
    scheduler_ended(scheduler, &end);
}

static void end_well(const char *id) {
    CLEANUP(text_clear) struct text status = TEXT_INIT;
    text_addf(&status, "done %s", commit);
    end_as(id, text_string(&status));
}

/* The tree after each set is its id, a hexadecimal digit, forty times. */
static void end_merge(void) {
    CLEANUP(text_clear) struct text status = TEXT_INIT;
    unsigned merge = start_find("merge");
    text_addf(&status, "merged %s %s", commit, commit);
    for (size_t i = 0; i < starts[merge].set_count; i++) {
        text_addc(&status, ' ');
        for (int digit = 0; digit < 40; digit++)
            text_addc(&status, starts[merge].sets[i][0]);
    }
    end_as("merge", text_string(&status));
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
    open_scheduler(&unchecked, 0);
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
    open_scheduler(&unchecked, 1);
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

/* The second time, the next landing has been proposed before the end is
 * planned. */
static void the_next_one_waits_however_often_the_end_fails(void **state) {
    (void)state;
    begin();
    end_well("first");
    for (int i = 0; i < 3; i++) {
        sync_next.fd = ends[1];
        one_batch();
        assert_state("first", STATE_EXECUTING);
        assert_state("second", STATE_PENDING);
        now = wall_add_ms(now, 2000);
    }
    one_batch();
    assert_state("first", STATE_DONE);
    settle();
    assert_trace("first second ");
    assert_attempts("first", 1);
    assert_attempts("second", 1);
}

static void assert_trace_since(const char *expected) {
    assert_trace(expected);
    text_reset(&trace);
}

/* Both on the train, in one order, and their checks run. */
static void begin_checks(void) {
    open_scheduler(&checked, 0);
    submit("a", "a");
    submit("b", "b");
    settle();
    end_merge(); /* it has read the tip */
    settle();
    end_merge();
    settle();
    assert_trace_since("tip merge-anew a b ");
}

static void a_set_whose_tree_cannot_be_written_is_counted(void **state) {
    CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
    (void)state;
    begin_checks();
    for (int i = 0; i < 2; i++) {
        assert_int_equal(find("a", &arena).temps, 0);
        end_as("a", "changed Permission denied");
        settle();
        end_merge();
        settle();
    }
    assert_state("a", STATE_PENDING);
    assert_int_equal(find("a", &arena).temps, 1);
}

/* The head of the train loses the objects of its candidate, twice, because the
 * set behind it cannot be checked out and all candidates are built again. */
static void a_check_whose_objects_a_merge_removed_is_not_counted(void **state) {
    CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
    (void)state;
    begin_checks();
    for (int i = 0; i < 2; i++) {
        end_as("b", "changed Permission denied");
        settle();
        assert_trace_since("merge-anew ");
        end_as("a", "changed unable to read tree");
        settle();
        assert_state("a", STATE_EXECUTING);
        end_merge();
        settle();
        assert_trace_since(i == 0 ? "a b " : "a ");
    }
    assert_int_equal(find("a", &arena).temps, 0);
    end_as("a", "passed");
    settle();
    end_well("a");
    settle();
    assert_state("a", STATE_DONE);
}

int main(void) {
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
        TEST(the_next_landing_begins_with_the_end_of_the_last),
        TEST(a_set_that_has_just_arrived_delays_the_next_landing),
        TEST(one_job_means_one_landing),
        TEST(a_set_that_is_held_meanwhile_does_not_begin),
        TEST(if_the_end_cannot_be_recorded_the_next_one_waits),
        TEST(the_next_one_waits_however_often_the_end_fails),
        TEST(a_set_whose_tree_cannot_be_written_is_counted),
        TEST(a_check_whose_objects_a_merge_removed_is_not_counted),
    };
    return cmocka_run_group_tests_name("scheduler_landing", tests, NULL, NULL);
}
