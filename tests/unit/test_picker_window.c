#include "core/picker_inner.h"
#include "support/test.h"

/* Which of the ready jobs are in the window, seen from inside: test_picker
 * compares picks with a naive list, whatever the window holds. */

static struct wall now;
static struct picker *picker;

static int setup(void **state) {
    struct picker_limits limits = {.slots = 2, .window_max = 4};
    (void)state;
    now = wall_from_s(1700000000);
    picker = picker_new(&limits);
    return 0;
}

static int teardown(void **state) {
    (void)state;
    picker_free(picker);
    return 0;
}

static void offer(uint64_t num, const char *rank, enum job_class job_class,
                  struct wall not_before) {
    picker_offer(picker,
                 &(struct picker_job){.num = num,
                                      .rank = span_of(rank),
                                      .job_class = job_class,
                                      .admitted = now,
                                      .not_before = not_before},
                 now);
}

static struct picker_entry *entry_of(uint64_t num) {
    return map_get(&picker->entries, map_num_key(&num));
}

/* The registry is at its end, so that nothing is turned away. */
static void fill(void) {
    struct span rank;
    uint64_t num;
    size_t limit;
    while (picker_needs_refill(picker, now, &rank, &num, &limit))
        picker_refilled(picker, 0, SPAN(""), 0);
}

static void a_full_window_turns_its_last_job_away(void **state) {
    (void)state;
    fill();
    for (uint64_t num = 1; num <= 4; num++)
        offer(num, "4b", CLASS_DC, (struct wall){0});
    assert_int_equal(picker->worst.count, 4);
    assert_false(picker->more);
    offer(5, "4a", CLASS_DC, (struct wall){0});
    assert_int_equal(picker->worst.count, 4);
    assert_true(picker->more);
    assert_null(entry_of(4)); /* equal ranks go by number */
    assert_non_null(entry_of(5));
    offer(4, "4b", CLASS_DC, (struct wall){0}); /* beyond the bound now */
    assert_null(entry_of(4));
    offer(6, "4b", CLASS_DC, (struct wall){0});
    assert_null(entry_of(6));
    /* The refill begins with the job that was turned away. */
    picker_forget(picker, 5);
    picker_forget(picker, 1);
    picker_forget(picker, 2);
    struct span rank;
    uint64_t num;
    size_t limit;
    assert_true(picker_needs_refill(picker, now, &rank, &num, &limit));
    assert_true(span_is(rank, "4b"));
    assert_int_equal(num, 3);
}

/* A second offer replaces the first, also from one heap to another. */
static void a_job_is_in_one_heap_at_a_time(void **state) {
    struct wall later = wall_add_ms(now, 1000);
    (void)state;
    fill();
    offer(1, "4a", CLASS_DC, (struct wall){0});
    offer(1, "4a", CLASS_DC, later);
    assert_int_equal(picker->worst.count, 0);
    assert_int_equal(picker->later.count, 1);
    assert_int_equal(picker_next_time(picker).ns, later.ns);
    offer(1, "3a", CLASS_BF, (struct wall){0});
    assert_int_equal(picker->worst.count, 1);
    assert_int_equal(picker->later.count, 0);
    assert_int_equal(map_count(&picker->entries), 1);
    picker_forget(picker, 1);
    picker_forget(picker, 1);
    assert_int_equal(picker->worst.count, 0);
}

static void a_job_becomes_ready_at_its_instant_and_not_before(void **state) {
    struct wall due = wall_add_ms(now, 1000);
    (void)state;
    fill();
    offer(1, "4a", CLASS_DC, due);
    picker_window_tick(picker, (struct wall){due.ns - 1});
    assert_int_equal(picker->worst.count, 0);
    picker_window_tick(picker, due);
    assert_int_equal(picker->worst.count, 1);
}

/* A back-off of three seconds, and two times that submitters named. */
static void
times_that_submitters_named_stay_if_the_clock_is_set_back(void **state) {
    struct picker_job dated = {.num = 1,
                               .rank = SPAN("4a"),
                               .job_class = CLASS_DC,
                               .admitted = now,
                               .not_before = wall_add_ms(now, 2000),
                               .begins = true};
    (void)state;
    fill();
    picker_offer(picker, &dated, now);
    offer(2, "4b", CLASS_DC, wall_add_ms(now, 3000));
    dated.num = 3;
    dated.not_before = wall_add_ms(now, 500);
    picker_offer(picker, &dated, now);
    picker_set_back(picker, 2000);
    assert_int_equal(entry_of(1)->due.ns, wall_add_ms(now, 2000).ns);
    assert_int_equal(entry_of(2)->due.ns, wall_add_ms(now, 1000).ns);
    assert_int_equal(picker->later.count, 3);
    picker_window_tick(picker, wall_add_ms(now, 500));
    assert_int_equal(picker->worst.count, 1);
    picker_window_tick(picker, wall_add_ms(now, 1000));
    assert_int_equal(picker->worst.count, 2);
    picker_window_tick(picker, wall_add_ms(now, 1999));
    assert_int_equal(picker->worst.count, 2);
    picker_window_tick(picker, wall_add_ms(now, 2000));
    assert_int_equal(picker->worst.count, 3);
}

/* O15: a DC gains two classes and no more, and a clock that was set back takes
 * none away from anybody. */
static void ageing_ends_with_the_most_urgent_class(void **state) {
    struct picker_limits limits = {
        .slots = 2, .window_max = 4, .age_step_ms = 1000};
    (void)state;
    picker_set_limits(picker, &limits);
    fill();
    offer(1, "\004x", CLASS_DC, (struct wall){0});
    offer(2, "\002x", CLASS_EM, (struct wall){0});
    struct picker_entry *entry = entry_of(1);
    unsigned char first = (unsigned char)entry->rank[0];
    picker_window_tick(picker, wall_add_ms(now, 999));
    assert_int_equal((unsigned char)entry->rank[0], first);
    picker_window_tick(picker, wall_add_ms(now, 1000));
    assert_int_equal((unsigned char)entry->rank[0], first - 1);
    picker_window_tick(picker, wall_add_ms(now, 3600 * 1000));
    assert_int_equal((unsigned char)entry->rank[0],
                     first - (CLASS_DC - CLASS_EM));
    assert_int_equal(picker->ageing.count, 0);
    picker_window_tick(picker, wall_add_ms(now, -3600 * 1000));
    assert_int_equal((unsigned char)entry->rank[0],
                     first - (CLASS_DC - CLASS_EM));
    assert_int_equal((unsigned char)entry_of(2)->rank[0], 2);
}

#define WINDOW(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        WINDOW(a_full_window_turns_its_last_job_away),
        WINDOW(a_job_is_in_one_heap_at_a_time),
        WINDOW(a_job_becomes_ready_at_its_instant_and_not_before),
        WINDOW(times_that_submitters_named_stay_if_the_clock_is_set_back),
        WINDOW(ageing_ends_with_the_most_urgent_class),
    };
    return cmocka_run_group_tests_name("picker_window", tests, NULL, NULL);
}
