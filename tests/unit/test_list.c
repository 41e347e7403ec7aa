#include "lib/list.h"

#include "lib/text.h"
#include "support/test.h"

struct item {
    char letter;
    struct list link;
};

static const char *letters(struct list *head) {
    static char seen[32];
    size_t count = 0;

    LIST_EACH (head, it)
        seen[count++] = LIST_OF(it, struct item, link)->letter;
    seen[count] = '\0';
    return seen;
}

static void a_list_keeps_its_order(void **state) {
    struct item items[] = {{.letter = 'a'}, {.letter = 'b'}, {.letter = 'c'}};
    struct item last = {.letter = 'z'};
    struct list list;

    (void)state;
    list_init(&list);
    assert_true(list_empty(&list));
    assert_null(list_pop(&list));
    for (size_t i = 0; i < COUNT(items); i++)
        list_push(&list, &items[i].link);
    assert_string_equal(letters(&list), "abc");
    list_insert_before(&items[1].link, &last.link);
    assert_string_equal(letters(&list), "azbc");
    list_remove(&items[1].link);
    list_remove(&items[1].link);
    assert_string_equal(letters(&list), "azc");
    assert_ptr_equal(list_pop(&list), &items[0].link);
    assert_string_equal(letters(&list), "zc");
}

static void the_current_entry_of_a_list_may_be_removed(void **state) {
    struct item items[] = {{.letter = 'a'}, {.letter = 'b'}, {.letter = 'c'}};
    struct list list;

    (void)state;
    list_init(&list);
    for (size_t i = 0; i < COUNT(items); i++)
        list_push(&list, &items[i].link);
    LIST_EACH (&list, it) {
        if (LIST_OF(it, struct item, link)->letter != 'b')
            list_remove(it);
    }
    assert_string_equal(letters(&list), "b");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_list_keeps_its_order),
        cmocka_unit_test(the_current_entry_of_a_list_may_be_removed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
