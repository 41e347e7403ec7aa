/* Between a firing and the commit of its batch, the schedule may be read again
 * or removed. */
#include "support/test.h"

#include "schedules/schedule_driver_inner.h"
#include "serve/tables.h"
#include "store/simulated.h"

enum { MINUTE_S = 60, FIRST_S = 30000000 * MINUTE_S };

#define SPEC                                                   \
    "{\"item\": \"* * * * *\", \"zone\": \"Z\", \"overlap\": " \
    "\"forbid\", \"job\": {\"command\": [\"true\"]}}"

static struct store *store;
static struct schedule_driver *driver;
static unsigned admitted, overlaps;

static void on_event(void *ctx, const struct store_event *event) {
    (void)ctx;
    admitted += event->kind == EVENT_MOVE && event->from == STATE_NONE;
    overlaps +=
        event->kind == EVENT_SCHEDULE && span_is(event->reason, "overlap");
}

static void turn(int64_t now_s) {
    struct wall next;
    schedule_driver_turn(driver, wall_from_s(now_s),
                         (struct boot){now_s * NS_PER_S}, &next);
}

static void turn_until_idle(int64_t now_s) {
    do {
        store_turn(store);
        turn(now_s);
    } while (!store_is_idle(store) || !schedule_driver_idle(driver));
}

static int setup(void **state) {
    (void)state;
    const struct schedule_row row = {.name = SPAN("s"),
                                     .spec = SPAN(SPEC),
                                     .origin = SPAN("uid:1"),
                                     .high_s = FIRST_S - 1};
    store = store_new_sqlite();
    store_listen(store, on_event, NULL);
    struct store_batch *batch = store_batch_new(store);
    store_batch_actor(batch, wall_from_s(FIRST_S - 1), SPAN("uid:1"));
    schedule_row_set(batch, &row, SCHEDULE_ADD);
    assert_true(store_write(batch, NULL));
    store_batch_free(batch);
    driver = schedule_driver_new(
        store, &(struct schedule_driver_options){.host = SPAN("h")},
        wall_from_s(FIRST_S - 1), (struct boot){(FIRST_S - 1) * NS_PER_S});
    assert_true(schedule_driver_start(driver, NULL));
    admitted = overlaps = 0;
    return 0;
}

static int teardown(void **state) {
    (void)state;
    schedule_driver_free(driver);
    store_close(store);
    return 0;
}

static void a_live_job_forbids_the_next_firing(void **state) {
    (void)state;
    turn_until_idle(FIRST_S);
    assert_int_equal(admitted, 1);
    turn_until_idle(FIRST_S + MINUTE_S);
    assert_int_equal(admitted, 1);
    assert_int_equal(overlaps, 1);
}

static void a_schedule_read_again_while_it_fires_keeps_its_job(void **state) {
    (void)state;
    turn(FIRST_S); /* submits the firing */
    assert_false(store_is_idle(store));
    schedule_entry_stale(driver, schedule_entry_find(driver, SPAN("s")));
    turn(FIRST_S);
    turn_until_idle(FIRST_S);
    assert_int_equal(admitted, 1);
    turn_until_idle(FIRST_S + MINUTE_S);
    assert_int_equal(admitted, 1);
    assert_int_equal(overlaps, 1);
}

static void a_schedule_removed_while_it_fires_never_fires_again(void **state) {
    (void)state;
    turn(FIRST_S);
    struct store_batch *batch = store_batch_new(store);
    store_batch_actor(batch, wall_from_s(FIRST_S), SPAN("uid:1"));
    schedule_row_remove(batch, SPAN("s"));
    store_submit(batch, NULL, NULL);
    turn_until_idle(FIRST_S);
    assert_int_equal(admitted, 1);
    turn_until_idle(FIRST_S + MINUTE_S);
    assert_int_equal(admitted, 1);
    assert_int_equal(overlaps, 0);
}

int main(void) {
    store_nouns_use(serve_nouns, serve_noun_count);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_live_job_forbids_the_next_firing,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(
            a_schedule_read_again_while_it_fires_keeps_its_job, setup,
            teardown),
        cmocka_unit_test_setup_teardown(
            a_schedule_removed_while_it_fires_never_fires_again, setup,
            teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
