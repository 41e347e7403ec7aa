#include "support/order_story.h"

/* ---- inheritance (doc/design/ordering.md, O14) --------------------------- */

static void a_pending_set_inherits_the_urgency_of_its_waiters(void **state) {
    (void)state;
    dc("a", "f");
    settle();
    is("a", STATE_PENDING);
    assert_string_equal(set_of("a")->rank, "");
    dc("b", "f g");
    settle();
    assert_string_equal(set_of("a")->rank, "");
    add(CLASS_EM, "urgent", "g"); /* waits for b, which waits for a */
    settle();
    assert_string_equal(set_of("a")->rank, set_of("urgent")->key);
    move("urgent", STATE_TERMINATED);
    settle();
    assert_string_equal(set_of("a")->rank, set_of("a")->key);
}

static void dependencies_inherit_urgency_even_outside_the_order(void **state) {
    (void)state;
    dc("a", "f");
    settle();
    add_as(CLASS_DC, "j1", "", STATE_DONE, ""); /* known to the registry only */
    add(CLASS_EM, "urgent", "g <a <j1");
    struct order_other other = {.id = SPAN("j1"),
                                .state = STATE_PENDING,
                                .num = num_of("j1"),
                                .key = span_of(set_of("j1")->key)};
    order_outside(order, &other);
    settle();
    assert_string_equal(set_of("a")->rank, set_of("urgent")->key);
    assert_string_equal(set_of("j1")->rank, set_of("urgent")->key);
    move("urgent", STATE_TERMINATED);
    settle();
    assert_string_equal(set_of("a")->rank, set_of("a")->key);
}

static void an_undone_rollback_restores_inherited_urgency(void **state) {
    (void)state;
    dc("a", "f");
    settle();
    add(CLASS_EM, "em", "f");
    settle();
    assert_string_equal(set_of("a")->rank, set_of("em")->key);
    order_move(order, num_of("em"), STATE_ABANDONED, now, true);
    settle();
    assert_string_equal(set_of("a")->rank, set_of("a")->key);
    move("em", STATE_STAGED);
    settle();
    assert_string_equal(set_of("a")->rank, set_of("em")->key);
}

static void the_most_urgent_of_several_waiters_counts(void **state) {
    (void)state;
    dc("a", "f");
    settle();
    add(CLASS_BF, "bf", "f");
    add(CLASS_EM, "em", "x <a");
    settle();
    assert_string_equal(set_of("a")->rank, set_of("em")->key);
    move("em", STATE_TERMINATED);
    settle();
    assert_string_equal(set_of("a")->rank, set_of("bf")->key);
}

static void a_set_that_becomes_ready_keeps_its_inherited_rank(void **state) {
    (void)state;
    dc("a", "f");
    dc("b", "f");
    settle();
    add(CLASS_EM, "em", "x <b");
    settle();
    assert_string_equal(set_of("a")->rank, set_of("em")->key);
    assert_string_equal(set_of("b")->rank, "");
    run("a");
    is("b", STATE_PENDING);
    assert_string_equal(set_of("b")->rank, set_of("em")->key);
}

/* ---- why ---------------------------------------------------------------- */

static struct order_reason *why(const char *id, size_t *ret_count) {
    struct order_reason *reasons = NULL;
    order_why(order, num_of(id), now, 100, &arena, &reasons, ret_count);
    return reasons;
}

static void why_names_the_precursor_the_path_and_the_root(void **state) {
    (void)state;
    dc("a", "src/f");
    dc("b", "src/f src/g");
    dc("c", "src/g");
    settle();
    move("a", STATE_EXECUTING);
    size_t count;
    struct order_reason *reason = why("c", &count);
    assert_int_equal(count, 1);
    assert_int_equal(reason->kind, ORDER_WHY_PRECURSOR);
    assert_true(span_is(reason->id, "b"));
    assert_int_equal(reason->state, STATE_STAGED);
    assert_true(span_is(reason->path, "src/g"));
    assert_int_equal(reason->steps, 1);
    assert_true(span_is(reason->root, "a"));
    assert_int_equal(reason->root_state, STATE_EXECUTING);
}

static void why_names_every_kind_of_dependency(void **state) {
    (void)state;
    dc("a", "f");
    dc("new", "n ^old");
    dc("b", "g <a <nobody <old ~a");
    struct span successors[] = {SPAN("new")};
    struct order_other other = {.id = SPAN("old"),
                                .state = STATE_FAILED,
                                .successors = successors,
                                .successor_count = 1};
    order_outside(order, &other);
    size_t count;
    assert_int_equal(why("b", &count)[1].kind, ORDER_WHY_ASKED);
    settle();
    struct order_reason *reasons = why("b", &count);
    assert_int_equal(count, 4);
    assert_int_equal(reasons[0].kind, ORDER_WHY_DEPENDENCY);
    assert_true(span_is(reasons[0].id, "a"));
    assert_int_equal(reasons[1].kind, ORDER_WHY_UNKNOWN);
    assert_int_equal(reasons[1].until.ns, wall_add_ms(now, 3600000).ns);
    assert_int_equal(reasons[2].kind, ORDER_WHY_SUCCESSOR);
    assert_true(span_is(reasons[2].other, "new"));
    assert_int_equal(reasons[3].kind, ORDER_WHY_HINT);
}

static void why_names_holds_and_the_queue(void **state) {
    (void)state;
    dc("a", "f");
    size_t count;
    assert_int_equal(why("a", &count)->kind, ORDER_WHY_UNSTAGED);
    order_hold(order, 1, HOLD_APPROVAL | HOLD_OPERATOR);
    settle();
    struct order_reason *reason = why("a", &count);
    assert_int_equal(count, 1);
    assert_int_equal(reason->kind, ORDER_WHY_HOLD);
    assert_int_equal(reason->holds, HOLD_APPROVAL | HOLD_OPERATOR);
    order_hold(order, 1, 0);
    settle();
    assert_int_equal(why("a", &count)->kind, ORDER_WHY_READY);
}

/* Admits sets that all change the same file. */
static void admit_chain(uint64_t count) {
    struct job_touch touch = {.path = SPAN("f")};
    for (uint64_t num = 1; num <= count; num++) {
        char id[16], key[16];
        snprintf(id, sizeof(id), "s%05u", (unsigned)num);
        snprintf(key, sizeof(key), "4%05u", (unsigned)num);
        struct order_entry entry = {.num = num,
                                    .id = span_of(id),
                                    .job_class = CLASS_DC,
                                    .state = STATE_STAGED,
                                    .key = span_of(key),
                                    .target = SPAN("main"),
                                    .admitted = now,
                                    .since = now,
                                    .touches = &touch,
                                    .touch_count = 1};
        order_admit(order, &entry);
    }
    struct order_effect *effects;
    order_scan(order, now, &arena, &effects);
}

static void why_names_no_root_that_is_too_far_away(void **state) {
    (void)state;
    struct order_reason *reasons;
    size_t count;
    admit_chain(8000);
    assert_int_equal(order_why(order, 2000, now, 100, &arena, &reasons, &count),
                     1);
    assert_true(span_is(reasons[0].id, "s01999"));
    assert_int_equal(reasons[0].steps, 1998);
    assert_true(span_is(reasons[0].root, "s00001"));
    assert_int_equal(order_why(order, 8000, now, 100, &arena, &reasons, &count),
                     1);
    assert_true(span_is(reasons[0].id, "s07999"));
    assert_int_equal(reasons[0].root.len, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        STORY(a_pending_set_inherits_the_urgency_of_its_waiters),
        STORY(dependencies_inherit_urgency_even_outside_the_order),
        STORY(an_undone_rollback_restores_inherited_urgency),
        STORY(the_most_urgent_of_several_waiters_counts),
        STORY(a_set_that_becomes_ready_keeps_its_inherited_rank),
        STORY(why_names_the_precursor_the_path_and_the_root),
        STORY(why_names_every_kind_of_dependency),
        STORY(why_names_holds_and_the_queue),
        STORY(why_names_no_root_that_is_too_far_away),
    };
    return cmocka_run_group_tests_name("order_rank", tests, NULL, NULL);
}
