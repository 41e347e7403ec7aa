/* After a restart, the role "clock" finds all live jobs of its schedules, no
 * matter how many newer jobs there are. */
#include "support/test.h"

#include "lib/log.h"
#include "schedules/schedule_driver.h"
#include "schedules/schedule_row.h"
#include "serve/tables.h"
#include "store/simulated.h"

enum { LIVE = 40, STEP_S = 60 };
_Static_assert((int)LIVE > (int)SCHEDULE_RECENT, "more than a row remembers");

static struct {
    struct store *store;
    struct schedule_driver *driver;
    int64_t now_s;
} here;

static void turn(void) {
    struct wall next;
    do {
        store_turn(here.store);
        schedule_driver_turn(here.driver, wall_from_s(here.now_s),
                             (struct boot){here.now_s * NS_PER_S}, &next);
    } while (!store_is_idle(here.store));
}

static void start(void) {
    struct schedule_driver_options options = {.host = SPAN("here")};
    here.driver =
        schedule_driver_new(here.store, &options, wall_from_s(here.now_s),
                            (struct boot){here.now_s * NS_PER_S});
    assert_true(schedule_driver_start(here.driver, NULL));
    turn();
}

static int setup(void **state) {
    (void)state;
    log_init("test", LOG_ERROR);
    here.now_s = 1800000000;
    store_nouns_use(serve_nouns, serve_noun_count);
    here.store = store_new_sqlite();
    start();
    return 0;
}

static int teardown(void **state) {
    (void)state;
    schedule_driver_free(here.driver);
    store_close(here.store);
    return 0;
}

static void restart(void) {
    schedule_driver_free(here.driver);
    start();
}

static void pass(int64_t s) {
    here.now_s += s;
    turn();
}

static struct store_batch *batch_new(void) {
    struct store_batch *batch = store_batch_new(here.store);
    store_batch_actor(batch, wall_from_s(here.now_s), SPAN("uid:1"));
    return batch;
}

static void write(struct store_batch *batch) {
    assert_true(store_write(batch, NULL));
    for (unsigned i = 0; i < store_batch_count(batch); i++)
        assert_int_equal(store_batch_result(batch, i), STORE_DONE);
    store_batch_free(batch);
    turn();
}

/* A schedule that fires every minute. */
static void define_missed(const char *overlap, int deadline_s,
                          const char *missed, int max_shift_s) {
    char spec[400];
    snprintf(spec, sizeof(spec),
             "{\"item\": \"{\\\"epoch\\\": {\\\"period\\\": %d}}\", "
             "\"zone\": \"Z\", \"overlap\": \"%s\", \"missed\": \"%s\", "
             "\"max_shift\": %d, \"deadline\": %d, "
             "\"job\": {\"command\": [\"true\"]}}",
             (int)STEP_S, overlap, missed, max_shift_s, deadline_s);
    struct schedule_row row = {.name = SPAN("s"),
                               .spec = span_of(spec),
                               .origin = SPAN("uid:1"),
                               .high_s = here.now_s};
    struct store_batch *batch = batch_new();
    schedule_row_set(batch, &row, SCHEDULE_REPLACE);
    write(batch);
}

static void define(const char *overlap, int deadline_s) {
    define_missed(overlap, deadline_s, "skip", 0);
}

static void move(uint64_t num, enum job_state from, enum job_state to,
                 const char *reason) {
    struct store_batch *batch = batch_new();
    store_move(batch,
               &(struct store_move){.num = num,
                                    .from = from,
                                    .to = to,
                                    .reason = span_of(reason),
                                    .begin_attempt = to == STATE_EXECUTING});
    write(batch);
}

/* Creates the job as `cron run` does. */
static uint64_t run_by_hand(int n) {
    char id[16];
    snprintf(id, sizeof(id), "hand%d", n);
    struct job job = {.id = span_of(id),
                      .kind = JOB_COMMAND,
                      .job_class = CLASS_DC,
                      .key = SPAN("k"),
                      .rank = SPAN("k"),
                      .spec = SPAN("{\"command\":[\"true\"]}"),
                      .state = STATE_PENDING};
    struct store_batch *batch = batch_new();
    unsigned at = store_admit(batch, &job, NULL, 0, NULL, 0, NULL, 0);
    schedule_row_mark(batch,
                      &(struct schedule_mark){.name = SPAN("s"), .job = at});
    assert_true(store_write(batch, NULL));
    uint64_t num = store_batch_num(batch, at);
    store_batch_free(batch);
    turn();
    return num;
}

static struct schedule_row row_of(struct arena *arena) {
    struct schedule_row row;
    bool found;
    assert_true(
        schedule_row_find(here.store, SPAN("s"), arena, &row, &found, NULL));
    assert_true(found);
    return row;
}

static size_t count_of(unsigned states, const char *reason) {
    CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
    struct store_list list = {.states = states};
    struct job *jobs;
    size_t count, found = 0;
    assert_true(store_jobs(here.store, &list, &arena, &jobs, &count, NULL));
    for (size_t i = 0; i < count; i++)
        found += reason == NULL || span_is(jobs[i].reason, reason);
    return found;
}

/* ---- the tests ----------------------------------------------------------- */

static void
an_old_firing_forbids_overlap_despite_many_manual_runs(void **state) {
    (void)state;
    CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
    define("forbid", 0);
    pass(STEP_S);
    assert_int_equal(row_of(&arena).fired, 1);
    uint64_t first = row_of(&arena).recent[0];
    for (int i = 0; i < LIVE; i++) {
        uint64_t num = run_by_hand(i);
        move(num, STATE_PENDING, STATE_EXECUTING, "start");
        move(num, STATE_EXECUTING, STATE_DONE, "ok");
    }
    restart();
    pass(STEP_S);
    assert_int_equal(row_of(&arena).fired, 1 + LIVE);
    assert_int_equal(row_of(&arena).missed, 1);
    move(first, STATE_QUEUED, STATE_TERMINATED, "operator");
    restart();
    pass(STEP_S);
    assert_int_equal(row_of(&arena).fired, 2 + LIVE);
}

static void all_jobs_that_wait_past_the_deadline_end(void **state) {
    (void)state;
    define("allow", 100 * STEP_S);
    for (int i = 0; i < LIVE; i++)
        pass(STEP_S);
    assert_int_equal(count_of(STATES_WAITING, NULL), LIVE);
    restart();
    assert_int_equal(count_of(STATES_WAITING, NULL), LIVE);
    struct store_batch *batch = batch_new();
    schedule_row_pause(batch, SPAN("s"), true, 0, 0);
    write(batch);
    pass(101 * STEP_S);
    assert_int_equal(count_of(STATES_WAITING, NULL), 0);
    assert_int_equal(count_of(STATE_BIT(STATE_TERMINATED), "deadline"), LIVE);
}

static void all_live_jobs_are_replaced(void **state) {
    (void)state;
    CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
    define("queue", 0);
    for (int i = 0; i < LIVE; i++)
        pass(STEP_S);
    assert_int_equal(count_of(STATES_WAITING, NULL), LIVE);
    restart();
    define("replace", 0);
    pass(STEP_S);
    assert_int_equal(row_of(&arena).fired, LIVE + 1);
    assert_int_equal(count_of(STATES_WAITING, NULL), 1);
    assert_int_equal(count_of(STATE_BIT(STATE_TERMINATED), "operator"), LIVE);
}

/* A job that makes up for a missed instant cancels none, not even if a restart
 * finds both; the next run on time does. */
static void missed_runs_do_not_replace_each_other(void **state) {
    (void)state;
    define_missed("replace", 0, "run", 10 * STEP_S);
    schedule_driver_free(here.driver);
    here.now_s += 3 * STEP_S;
    start();
    assert_int_equal(count_of(STATES_WAITING, NULL), 3);
    restart();
    assert_int_equal(count_of(STATES_WAITING, NULL), 3);
    pass(STEP_S);
    assert_int_equal(count_of(STATES_WAITING, NULL), 1);
    assert_int_equal(count_of(STATE_BIT(STATE_TERMINATED), "operator"), 3);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(an_old_firing_forbids_overlap_despite_many_manual_runs),
        TEST(all_jobs_that_wait_past_the_deadline_end),
        TEST(all_live_jobs_are_replaced),
        TEST(missed_runs_do_not_replace_each_other),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
