/* Sets that follow others onto a merge train (doc/design/ordering.md, O20). */
#include "support/order_story.h"

static void rides(const char *id, bool on) {
    assert_true(order_ride(order, num_of(id), on));
}

/* On the train, and its checks run. */
static void runs(const char *id) {
    is(id, STATE_PENDING);
    rides(id, true);
    move(id, STATE_EXECUTING);
    settle();
}

/* Held, or sent back for another reason: it is pending, and on no train. */
static void leaves(const char *id) {
    rides(id, false);
    if (set_of(id)->state == STATE_EXECUTING)
        move(id, STATE_PENDING);
    settle();
}

/* "<a f" for: depends on a, and shares a file with f. */
static const char *follows(const char *id) {
    static char text[160];
    struct order_follow *follows;
    size_t count;

    text[0] = '\0';
    if (!order_follows(order, num_of(id), &arena, &follows, &count))
        return "?";
    for (size_t i = 0; i < count; i++)
        snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s%s%s",
                 i > 0 ? " " : "", follows[i].dependency ? "<" : "",
                 sets[follows[i].num].id);
    return text;
}

static unsigned offers(const char *id) {
    unsigned count = set_of(id)->offers;

    set_of(id)->offers = 0;
    return count;
}

static void new_order(void) {
    struct order_limits limits = {.wait_for_dep_ms = 3600 * 1000};

    order_free(order);
    order = order_new(&limits);
}

/* ---- S -> P -------------------------------------------------------------- */

static void a_set_follows_what_is_on_the_train(void **state) {
    (void)state;
    dc("a", "f");
    dc("b", "f");
    settle();
    is("b", STATE_STAGED);
    runs("a");
    is("b", STATE_PENDING);
    assert_string_equal(set_of("b")->reason, "follows");
    assert_string_equal(follows("b"), "a");
    assert_string_equal(set_of("b")->record, "a");
}

static void it_does_not_follow_what_is_on_no_train(void **state) {
    (void)state;
    dc("a", "f");
    dc("b", "f");
    settle();
    move("a", STATE_EXECUTING);
    settle();
    is("b", STATE_STAGED);
}

static void all_that_it_waits_for_has_to_be_there(void **state) {
    (void)state;
    dc("a", "f");
    dc("b", "g");
    dc("c", "f g h <d");
    dc("d", "k");
    settle();
    runs("a");
    is("c", STATE_STAGED);
    runs("b");
    is("c", STATE_STAGED);
    runs("d");
    is("c", STATE_PENDING);
    assert_string_equal(follows("c"), "<d a b");
}

static void a_chain_follows_one_after_another(void **state) {
    (void)state;
    dc("a", "f");
    dc("b", "f <a");
    dc("c", "f <b");
    settle();
    runs("a");
    is("b", STATE_PENDING);
    is("c", STATE_STAGED);
    rides("b", true);
    settle();
    is("c", STATE_PENDING);
    assert_string_equal(follows("b"), "<a");
    assert_string_equal(follows("c"), "<b");
}

static void the_train_of_another_target_does_not_help(void **state) {
    (void)state;
    add_as(CLASS_DC, "a", "f", STATE_QUEUED, "site");
    dc("b", "g <a");
    settle();
    runs("a");
    is("b", STATE_STAGED);
}

static void a_held_set_and_one_with_an_unknown_dependency_stay(void **state) {
    (void)state;
    dc("a", "f");
    dc("b", "f");
    dc("c", "f <nobody");
    settle();
    order_hold(order, num_of("b"), HOLD_OPERATOR);
    runs("a");
    is("b", STATE_STAGED);
    order_hold(order, num_of("b"), 0);
    settle();
    is("b", STATE_PENDING);
    rides("b", true);
    settle();
    is("c", STATE_STAGED);
}

static void hints_are_followed_too(void **state) {
    (void)state;
    dc("a", "f");
    dc("b", "g ~a");
    settle();
    runs("a");
    is("b", STATE_PENDING);
    assert_string_equal(follows("b"), "a");
}

/* ---- in P ---------------------------------------------------------------- */

static void a_follower_of_a_set_that_left_waits_and_is_offered(void **state) {
    (void)state;
    dc("a", "f");
    dc("b", "f");
    settle();
    runs("a");
    rides("b", true);
    settle();
    leaves("a");
    leaves("b");
    offers("b");
    assert_string_equal(follows("b"), "a"); /* asked by its owner: no */
    settle();
    assert_int_equal(offers("b"), 0);
    rides("a", true);
    settle();
    assert_int_equal(offers("b"), 1);
    assert_string_equal(follows("b"), "a");
    move("a", STATE_EXECUTING);
    move("a", STATE_DONE);
    settle();
    assert_int_equal(offers("b"), 1);
    assert_string_equal(follows("b"), "");
}

static void a_set_that_is_not_parked_is_not_offered(void **state) {
    (void)state;
    dc("a", "f");
    dc("b", "f");
    settle();
    runs("a");
    assert_string_equal(follows("b"), "a");
    rides("b", true); /* it has joined */
    settle();
    move("a", STATE_DONE);
    settle();
    assert_int_equal(offers("b"), 0);
}

static void
a_pending_follower_inherits_what_its_precursor_waited_for(void **state) {
    (void)state;
    dc("a", "f");
    dc("b", "f");
    dc("c", "f");
    settle();
    runs("a");
    rides("b", true);
    settle();
    is("c", STATE_PENDING);
    assert_string_equal(follows("c"), "b");
    move("b", STATE_TERMINATED);
    settle();
    assert_string_equal(follows("c"), "a");
    assert_string_equal(set_of("c")->record, "a");
}

static void an_executing_follower_does_too(void **state) {
    (void)state;
    dc("a", "f");
    dc("b", "f");
    dc("c", "f");
    settle();
    runs("a");
    runs("b");
    runs("c");
    move("b", STATE_FAILED);
    settle();
    assert_string_equal(set_of("c")->record, "a");
}

/* ---- failures ------------------------------------------------------------ */

static void a_pending_set_fails_with_its_dependency(void **state) {
    (void)state;
    dc("a", "f");
    dc("b", "g <a");
    dc("c", "h <b");
    settle();
    runs("a");
    move("a", STATE_FAILED);
    settle();
    failed("b", "dep-failed", "dependency a failed");
    failed("c", "dep-failed", "dependency b failed");
}

static void nobody_is_offered_whose_dependency_fails(void **state) {
    (void)state;
    dc("a", "f");
    dc("b", "g <a");
    dc("c", "h <b");
    settle();
    runs("a");
    runs("b");
    is("c", STATE_PENDING);
    leaves("b");
    assert_string_equal(follows("c"), "<b");
    (void)offers("c");
    move("a", STATE_FAILED);
    /* The failure of b is proposed, but not recorded yet. */
    struct order_effect *effects;
    size_t count = order_scan(order, now, &arena, &effects);
    assert_int_equal(count, 2);
    assert_int_equal(effects[0].kind, ORDER_FAIL);
    assert_int_equal(effects[1].kind, ORDER_FAIL);
    assert_int_equal(effects[1].num, num_of("c"));
    assert_string_equal(follows("c"), "?");
}

static void on_the_train_the_train_decides_about_it(void **state) {
    (void)state;
    dc("a", "f");
    dc("b", "g <a");
    settle();
    runs("a");
    rides("b", true);
    settle();
    move("a", STATE_FAILED);
    settle();
    is("b", STATE_PENDING);
    rides("b", false);
    settle();
    failed("b", "dep-failed", "dependency a failed");
}

static void it_follows_what_superseded_a_dependency_before(void **state) {
    (void)state;
    dc("a", "f");
    settle();
    runs("a");
    move("a", STATE_FAILED);
    dc("a2", "f ^a");
    dc("b", "g <a");
    settle();
    runs("a2");
    settle();
    is("b", STATE_PENDING);
    assert_string_equal(follows("b"), "<a2");
    move("a2", STATE_FAILED);
    settle();
    failed("b", "dep-failed", "dependency a failed, and what superseded it");
}

static void a_held_one_fails_when_it_is_released(void **state) {
    (void)state;
    dc("a", "f");
    dc("b", "f <a");
    settle();
    runs("a");
    order_hold(order, num_of("b"), HOLD_OPERATOR);
    move("a", STATE_FAILED);
    settle();
    is("b", STATE_PENDING);
    /* It stands in front of the successor, and cannot wait for it. */
    dc("a2", "f ^a");
    settle();
    is("a2", STATE_STAGED);
    order_hold(order, num_of("b"), 0);
    settle();
    failed("b", "dep-failed", "dependency a failed, and what superseded it");
    is("a2", STATE_PENDING);
}

static void it_may_follow_what_supersedes_its_dependency(void **state) {
    (void)state;
    dc("a", "f");
    settle();
    move("a", STATE_FAILED);
    dc("a2", "f ^a");
    dc("b", "g <a");
    settle();
    runs("a2");
    is("b", STATE_PENDING);
    assert_string_equal(follows("b"), "<a2");
    settle();
    is("b", STATE_PENDING);
    /* It stands behind the set that supersedes it, and fails with it. */
    rides("b", true);
    leaves("b");
    is("b", STATE_PENDING);
    move("a2", STATE_FAILED);
    settle();
    failed("b", "dep-failed", "dependency a failed, and what superseded it");
}

static void a_held_one_still_fails_after_a_start(void **state) {
    (void)state;
    dc("x", "f");
    dc("a", "f");
    dc("b", "f <a");
    settle();
    runs("x");
    runs("a");
    order_hold(order, num_of("b"), HOLD_OPERATOR);
    move("a", STATE_FAILED);
    settle();
    assert_string_equal(set_of("b")->record, "x a");
    new_order();
    add_as(CLASS_DC, "b2", "f <a =a", STATE_PENDING, "main");
    settle();
    failed("b2", "dep-failed", "dependency a failed");
}

static void it_still_waits_for_what_supersedes_after_a_start(void **state) {
    (void)state;
    dc("a", "f");
    settle();
    move("a", STATE_FAILED);
    dc("a2", "f ^a");
    dc("b", "g <a");
    settle();
    runs("a2");
    assert_string_equal(set_of("b")->record, "a2");
    new_order();
    add_as(CLASS_DC, "a3", "f ^a", STATE_PENDING, "main");
    add_as(CLASS_DC, "b2", "g <a =a3", STATE_PENDING, "main");
    settle();
    is("b2", STATE_PENDING);
    assert_string_equal(follows("b2"), "<a3");
    move("a3", STATE_FAILED);
    settle();
    failed("b2", "dep-failed", "dependency a failed, and what superseded it");
}

static void a_follower_that_only_shared_a_file_goes_on_alone(void **state) {
    (void)state;
    dc("a", "f");
    dc("b", "f");
    settle();
    runs("a");
    assert_string_equal(follows("b"), "a");
    move("a", STATE_FAILED);
    settle();
    assert_int_equal(offers("b"), 1);
    assert_string_equal(follows("b"), "");
}

/* ---- ranks --------------------------------------------------------------- */

static void it_asks_again_when_one_of_two_leaves(void **state) {
    (void)state;
    dc("a", "f");
    dc("b", "g");
    dc("c", "f g");
    settle();
    runs("a");
    runs("b");
    assert_string_equal(follows("c"), "a b");
    move("a", STATE_FAILED);
    settle();
    assert_int_equal(offers("c"), 1);
    assert_string_equal(follows("c"), "b");
}

static void an_urgent_follower_lends_its_rank(void **state) {
    (void)state;
    dc("a", "f");
    settle();
    runs("a");
    add(CLASS_EM, "e", "f");
    settle();
    is("e", STATE_PENDING);
    assert_string_equal(set_of("a")->rank, set_of("e")->key);
    rides("e", true);
    move("e", STATE_TERMINATED);
    settle();
    assert_string_equal(set_of("a")->rank, set_of("a")->key);
}

/* ---- after a start ------------------------------------------------------- */

static void pending_sets_stand_as_recorded_after_a_start(void **state) {
    (void)state;
    new_order();
    /* By key, the emergency would come first, and b before a. */
    add_as(CLASS_EM, "e", "f =b", STATE_EXECUTING, "main");
    add_as(CLASS_BF, "b", "f =a", STATE_PENDING, "main");
    add_as(CLASS_DC, "a", "f", STATE_EXECUTING, "main");
    add_as(CLASS_DC, "s", "f =e", STATE_STAGED, "main");
    settle();
    assert_string_equal(follows("a"), "");
    assert_string_equal(follows("b"), "a");
    assert_string_equal(follows("e"), "b");
    is("s", STATE_STAGED);
}

static void a_record_that_was_not_spliced_is_mended(void **state) {
    (void)state;
    new_order();
    add_as(CLASS_DC, "a", "f", STATE_EXECUTING, "main");
    add_as(CLASS_DC, "c", "f =b", STATE_PENDING, "main"); /* b has left */
    settle();
    assert_string_equal(follows("c"), "a");
    assert_string_equal(set_of("c")->record, "a");
}

static void
a_set_that_leaves_before_it_is_placed_passes_its_record_on(void **state) {
    (void)state;
    new_order();
    /* By key, the emergencies would come first. */
    add_as(CLASS_EM, "e", "f =d", STATE_PENDING, "main");
    add_as(CLASS_EM, "d", "f =b", STATE_PENDING, "main");
    add_as(CLASS_BF, "b", "f =a", STATE_PENDING, "main");
    add_as(CLASS_DC, "a", "f", STATE_EXECUTING, "main");
    move("d", STATE_TERMINATED);
    move("b", STATE_TERMINATED);
    settle();
    assert_string_equal(follows("a"), "");
    assert_string_equal(follows("e"), "a");
    assert_string_equal(set_of("e")->record, "a");
}

static void records_in_a_ring_keep_nobody_from_being_placed(void **state) {
    (void)state;
    new_order();
    add_as(CLASS_DC, "a", "f =b", STATE_PENDING, "main");
    add_as(CLASS_DC, "b", "f =a", STATE_PENDING, "main");
    add_as(CLASS_DC, "s", "f", STATE_STAGED, "main");
    settle();
    assert_string_equal(follows("a"), "");
    assert_string_equal(follows("b"), "a");
    is("s", STATE_STAGED);
}

static void a_pending_set_is_not_known_before_the_first_scan(void **state) {
    (void)state;
    new_order();
    add_as(CLASS_DC, "a", "f", STATE_EXECUTING, "main");
    add_as(CLASS_DC, "b", "f =a", STATE_PENDING, "main");
    assert_string_equal(follows("b"), "?");
    settle();
    assert_int_equal(offers("b"), 1);
    assert_string_equal(follows("b"), "a");
}

/* ---- why ----------------------------------------------------------------- */

static void a_pending_follower_says_what_it_waits_for(void **state) {
    (void)state;
    struct order_reason *reasons;
    size_t all;

    dc("a", "f");
    dc("b", "f");
    settle();
    runs("a");
    leaves("a");
    order_hold(order, num_of("a"), HOLD_OPERATOR);
    assert_int_equal(
        order_why(order, num_of("b"), now, 8, &arena, &reasons, &all), 1);
    assert_int_equal(reasons[0].kind, ORDER_WHY_PRECURSOR);
    assert_true(span_is(reasons[0].id, "a"));
    assert_int_equal(reasons[0].holds, HOLD_OPERATOR);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        STORY(a_set_follows_what_is_on_the_train),
        STORY(it_does_not_follow_what_is_on_no_train),
        STORY(all_that_it_waits_for_has_to_be_there),
        STORY(a_chain_follows_one_after_another),
        STORY(the_train_of_another_target_does_not_help),
        STORY(a_held_set_and_one_with_an_unknown_dependency_stay),
        STORY(hints_are_followed_too),
        STORY(a_follower_of_a_set_that_left_waits_and_is_offered),
        STORY(a_set_that_is_not_parked_is_not_offered),
        STORY(a_pending_follower_inherits_what_its_precursor_waited_for),
        STORY(an_executing_follower_does_too),
        STORY(a_pending_set_fails_with_its_dependency),
        STORY(nobody_is_offered_whose_dependency_fails),
        STORY(on_the_train_the_train_decides_about_it),
        STORY(it_follows_what_superseded_a_dependency_before),
        STORY(a_held_one_fails_when_it_is_released),
        STORY(it_may_follow_what_supersedes_its_dependency),
        STORY(a_held_one_still_fails_after_a_start),
        STORY(it_still_waits_for_what_supersedes_after_a_start),
        STORY(a_follower_that_only_shared_a_file_goes_on_alone),
        STORY(it_asks_again_when_one_of_two_leaves),
        STORY(an_urgent_follower_lends_its_rank),
        STORY(pending_sets_stand_as_recorded_after_a_start),
        STORY(a_record_that_was_not_spliced_is_mended),
        STORY(a_set_that_leaves_before_it_is_placed_passes_its_record_on),
        STORY(records_in_a_ring_keep_nobody_from_being_placed),
        STORY(a_pending_set_is_not_known_before_the_first_scan),
        STORY(a_pending_follower_says_what_it_waits_for),
    };
    return cmocka_run_group_tests_name("order_follow", tests, NULL, NULL);
}
