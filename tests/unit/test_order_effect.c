#include "core/order_inner.h"
#include "support/order_story.h"

static struct order_node *node_of(const char *id) {
    uint64_t num = num_of(id);
    return map_get(&order->nodes, map_num_key(&num));
}

/* As at the beginning of a scan. */
static void begin(void) {
    order->arena = &arena;
    order->effect_count = 0;
    order->now = now;
}

static void proposals_keep_their_order_while_the_array_grows(void **state) {
    (void)state;
    dc("a", "f");
    dc("b", "g");
    begin();
    for (size_t i = 0; i < 1000; i++)
        order_effect_add(order, node_of(i % 2 ? "b" : "a"), ORDER_STAGE,
                         "staged");
    assert_int_equal(order->effect_count, 1000);
    for (size_t i = 0; i < 1000; i++) {
        assert_int_equal(order->effects[i].num, num_of(i % 2 ? "b" : "a"));
        assert_int_equal(order->effects[i].from, STATE_QUEUED);
        assert_true(span_is(order->effects[i].reason, "staged"));
        assert_int_equal(order->effects[i].precursor_count, 0);
    }
    order->effect_count = 0;
}

/* A proposal that is under way is not made again; a splice is no step and does
 * not stand in the way of one. */
static void a_proposal_is_under_way_but_a_splice_is_not(void **state) {
    (void)state;
    dc("a", "f");
    begin();
    order_effect_add(order, node_of("a"), ORDER_SPLICE, "");
    assert_int_equal(node_of("a")->asked, 0);
    order_effect_add(order, node_of("a"), ORDER_STAGE, "staged");
    assert_int_equal(node_of("a")->asked, ORDER_STAGE + 1);
    order_effect_add(order, node_of("a"), ORDER_SPLICE, "");
    assert_int_equal(node_of("a")->asked, ORDER_STAGE + 1);
    order->effect_count = 0;
    settle(); /* the registry has not answered: nothing is proposed again */
    is("a", STATE_QUEUED);
    assert_true(order_again(order, num_of("a")));
    settle();
    is("a", STATE_PENDING);
}

/* A plain command that a job here depends on has no node. */
static void a_rank_can_be_proposed_for_a_job_outside(void **state) {
    (void)state;
    begin();
    struct order_effect *effect = order_effect_add(order, NULL, ORDER_RANK, "");
    assert_int_equal(effect->num, 0);
    assert_int_equal(effect->reason.len, 0);
    order->effect_count = 0;
}

static void a_failure_keeps_its_words_and_fails_its_dependents(void **state) {
    char detail[] = "because of it";
    (void)state;
    dc("a", "f");
    dc("b", "g <a");
    settle();
    is("b", STATE_STAGED);
    assert_int_equal(node_of("b")->counts[VERDICT_WAIT], 1);
    begin();
    order_effect_fail(order, node_of("a"), "dep-failed", detail);
    memset(detail, 'x', strlen(detail));
    assert_true(span_is(order->effects[0].detail, "because of it"));
    assert_true(node_of("a")->failing);
    assert_string_equal(node_of("a")->failure, "dep-failed");
    assert_int_equal(node_of("b")->counts[VERDICT_WAIT], 0);
    assert_int_equal(node_of("b")->counts[VERDICT_FAILED], 1);
    order->effect_count = 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        STORY(proposals_keep_their_order_while_the_array_grows),
        STORY(a_proposal_is_under_way_but_a_splice_is_not),
        STORY(a_rank_can_be_proposed_for_a_job_outside),
        STORY(a_failure_keeps_its_words_and_fails_its_dependents),
    };
    return cmocka_run_group_tests_name("order_effect", tests, NULL, NULL);
}
