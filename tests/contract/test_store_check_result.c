/* Results of checks in the registry. */
#include "contract/store_rig.h"
#include "scheduler/check_result.h"
#include "serve/tables.h"

static void add(struct rig *rig, const char *key, const char *target,
                int64_t at_s, bool passed) {
    struct store_batch *batch = rig_batch(rig);
    check_result_add(batch, &(struct check_result){.key = span_of(key),
                                                   .target = span_of(target),
                                                   .tree = SPAN("abc"),
                                                   .at = wall_from_s(at_s),
                                                   .passed = passed});
    assert_int_equal(rig_write(batch), STORE_DONE);
}

static struct train_record find(struct rig *rig, const char *key) {
    struct train_record record;
    assert_true(
        check_result_find(rig->store, span_of(key), &record, &rig->err));
    return record;
}

static void a_result_is_found_by_its_key(void **state) {
    struct rig *rig = *state;
    add(rig, "k1", "main", 5, true);
    assert_int_equal(find(rig, "k1").passed.ns, wall_from_s(5).ns);
    assert_int_equal(find(rig, "k1").failed.ns, 0);
    assert_int_equal(find(rig, "k2").passed.ns, 0);
}

static void the_newest_pass_and_failure_of_a_key_are_kept(void **state) {
    struct rig *rig = *state;
    add(rig, "k", "main", 5, true);
    add(rig, "k", "main", 6, false);
    assert_int_equal(find(rig, "k").passed.ns, wall_from_s(5).ns);
    assert_int_equal(find(rig, "k").failed.ns, wall_from_s(6).ns);
    add(rig, "k", "main", 7, true);
    assert_int_equal(find(rig, "k").passed.ns, wall_from_s(7).ns);
    assert_int_equal(find(rig, "k").failed.ns, wall_from_s(6).ns);
}

static void a_recheck_clears_disputes_of_its_target(void **state) {
    struct rig *rig = *state;
    add(rig, "k", "main", 5, true);
    add(rig, "k", "main", 6, false);
    add(rig, "bad", "main", 6, false);
    add(rig, "other", "next", 5, true);
    add(rig, "other", "next", 6, false);
    struct store_batch *batch = rig_batch(rig);
    check_result_settle(batch, SPAN("main"));
    assert_int_equal(rig_write(batch), STORE_DONE);
    assert_int_equal(find(rig, "k").failed.ns, 0);
    assert_int_equal(find(rig, "k").passed.ns, wall_from_s(5).ns);
    assert_int_equal(find(rig, "bad").failed.ns, wall_from_s(6).ns);
    assert_int_equal(find(rig, "other").failed.ns, wall_from_s(6).ns);
}

static void the_results_of_a_target_are_forgotten_with_an_event(void **state) {
    struct rig *rig = *state;
    struct store_event *events;
    size_t count;
    add(rig, "k", "main", 5, true);
    add(rig, "other", "next", 5, true);
    struct store_batch *batch = rig_batch(rig);
    check_result_forget(batch, SPAN("main"));
    assert_int_equal(rig_write(batch), STORE_DONE);
    assert_int_equal(find(rig, "k").passed.ns, 0);
    assert_int_not_equal(find(rig, "other").passed.ns, 0);
    assert_true(store_events(rig->store, 0, 0, 10, &rig->arena, &events, &count,
                             &rig->err));
    assert_int_equal(count, 1);
    assert_int_equal(events[0].kind, EVENT_TRAIN);
    assert_span(events[0].id, "main");
    assert_span(events[0].reason, "forgotten");
}

static void old_results_are_pruned(void **state) {
    struct rig *rig = *state;
    add(rig, "old", "main", 5, true);
    add(rig, "young", "main", 5, true);
    add(rig, "young", "main", 50, false);
    struct store_batch *batch = rig_batch(rig);
    check_result_prune(batch, SPAN("main"), wall_from_s(20));
    assert_int_equal(rig_write(batch), STORE_DONE);
    assert_int_equal(find(rig, "old").passed.ns, 0);
    assert_int_not_equal(find(rig, "young").passed.ns, 0);
}

int main(void) {
    store_nouns_use(serve_nouns, serve_noun_count);
    const struct CMUnitTest tests[] = {
        RIG_NOUN_TESTS(a_result_is_found_by_its_key),
        RIG_NOUN_TESTS(the_newest_pass_and_failure_of_a_key_are_kept),
        RIG_NOUN_TESTS(a_recheck_clears_disputes_of_its_target),
        RIG_NOUN_TESTS(the_results_of_a_target_are_forgotten_with_an_event),
        RIG_NOUN_TESTS(old_results_are_pruned),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
