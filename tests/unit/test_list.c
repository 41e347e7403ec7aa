#include "lib/list.h"

#include "lib/text.h"
#include "support/test.h"

struct car {
    char letter;
    struct list link;
};

static const char *letters(struct list *head) {
    static char seen[32];
    size_t count = 0;

    LIST_EACH (head, it)
        seen[count++] = LIST_OF(it, struct car, link)->letter;
    seen[count] = '\0';
    return seen;
}

static void a_list_keeps_its_order(void **state) {
    struct car cars[] = {{.letter = 'a'}, {.letter = 'b'}, {.letter = 'c'}};
    struct car last = {.letter = 'z'};
    struct list train;

    (void)state;
    list_init(&train);
    assert_true(list_empty(&train));
    assert_null(list_pop(&train));
    for (size_t i = 0; i < COUNT(cars); i++)
        list_push(&train, &cars[i].link);
    assert_string_equal(letters(&train), "abc");
    list_insert_before(&cars[1].link, &last.link);
    assert_string_equal(letters(&train), "azbc");
    list_remove(&cars[1].link);
    list_remove(&cars[1].link);
    assert_string_equal(letters(&train), "azc");
    assert_ptr_equal(list_pop(&train), &cars[0].link);
    assert_string_equal(letters(&train), "zc");
}

static void the_current_entry_of_a_list_may_be_removed(void **state) {
    struct car cars[] = {{.letter = 'a'}, {.letter = 'b'}, {.letter = 'c'}};
    struct list train;

    (void)state;
    list_init(&train);
    for (size_t i = 0; i < COUNT(cars); i++)
        list_push(&train, &cars[i].link);
    LIST_EACH (&train, it) {
        if (LIST_OF(it, struct car, link)->letter != 'b')
            list_remove(it);
    }
    assert_string_equal(letters(&train), "b");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_list_keeps_its_order),
        cmocka_unit_test(the_current_entry_of_a_list_may_be_removed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
