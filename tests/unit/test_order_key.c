#include "core/order_inner.h"
#include "support/test.h"

/* Shared order keys: the rank of one job may be the key of another that has
 * left. A key freed too early or never is found by the address sanitizer. */

static void a_key_is_its_own_copy(void **state) {
    char text[] = "2\0x";
    (void)state;
    struct order_key *key = order_key_new(span_make(text, 3));
    text[0] = '9';
    assert_int_equal(key->bytes, 3);
    assert_memory_equal(key->p, "2\0x", 3);
    order_key_unref(key);
}

static void a_key_lives_as_long_as_its_last_reference(void **state) {
    struct order_key *slot = NULL;
    (void)state;
    struct order_key *key = order_key_new(SPAN("a"));
    order_key_set(&slot, key);
    assert_int_equal(key->refs, 2);
    order_key_unref(key);
    assert_int_equal(slot->refs, 1);
    order_key_set(&slot, slot); /* the only reference, to itself */
    assert_int_equal(slot->refs, 1);
    assert_memory_equal(slot->p, "a", 1);
    order_key_set(&slot, NULL);
    assert_null(slot);
    order_key_unref(NULL);
    assert_null(order_key_ref(NULL));
}

/* As the registry sorts them: by bytes, a beginning before what it begins. */
static void keys_are_compared_by_their_bytes(void **state) {
    static const struct {
        const char *p;
        size_t bytes;
    } sorted[] = {{"", 0},     {"\0", 1}, {"1", 1}, {"1\0", 2},
                  {"1\0z", 3}, {"1a", 2}, {"2", 1}, {"\xff", 1}};
    (void)state;
    for (size_t i = 0; i < COUNT(sorted); i++)
        for (size_t k = 0; k < COUNT(sorted); k++) {
            struct order_key *a =
                order_key_new(span_make(sorted[i].p, sorted[i].bytes));
            struct order_key *b =
                order_key_new(span_make(sorted[k].p, sorted[k].bytes));
            int order = order_key_compare(a, b);
            assert_int_equal((order > 0) - (order < 0), (i > k) - (i < k));
            assert_int_equal(order_key_compare(a, a), 0);
            order_key_unref(a);
            order_key_unref(b);
        }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_key_is_its_own_copy),
        cmocka_unit_test(a_key_lives_as_long_as_its_last_reference),
        cmocka_unit_test(keys_are_compared_by_their_bytes),
    };
    return cmocka_run_group_tests_name("order_key", tests, NULL, NULL);
}
