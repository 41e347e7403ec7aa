#include "core/order_inner.h"
#include "support/test.h"

static void pointers_keep_their_order_while_the_array_grows(void **state) {
    static char things[1000];
    struct order_pointers pointers = {0};
    (void)state;
    for (size_t i = 0; i < COUNT(things); i++)
        order_pointers_push(&pointers, &things[i]);
    assert_int_equal(pointers.count, COUNT(things));
    for (size_t i = 0; i < COUNT(things); i++)
        assert_ptr_equal(pointers.p[i], &things[i]);
    order_pointers_clear(&pointers);
}

/* A scan empties the arrays it reuses, and must not allocate again. */
static void an_emptied_array_keeps_its_memory(void **state) {
    char thing;
    struct order_pointers pointers = {0};
    (void)state;
    for (int i = 0; i < 100; i++)
        order_pointers_push(&pointers, &thing);
    void **p = pointers.p;
    size_t cap = pointers.cap;
    pointers.count = 0;
    for (size_t i = 0; i < cap; i++)
        order_pointers_push(&pointers, NULL);
    assert_ptr_equal(pointers.p, p);
    assert_int_equal(pointers.cap, cap);
    order_pointers_clear(&pointers);
    assert_int_equal(pointers.cap, 0);
    order_pointers_push(&pointers, &thing); /* usable again */
    assert_ptr_equal(pointers.p[0], &thing);
    order_pointers_clear(&pointers);
    order_pointers_clear(&pointers);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pointers_keep_their_order_while_the_array_grows),
        cmocka_unit_test(an_emptied_array_keeps_its_memory),
    };
    return cmocka_run_group_tests_name("order_pointers", tests, NULL, NULL);
}
