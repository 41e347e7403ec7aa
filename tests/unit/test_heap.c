#include "lib/heap.h"

#include "lib/random.h"
#include "lib/text.h"
#include "support/test.h"

struct item {
    int key;
    size_t place;
};

static int item_compare(const void *a, const void *b) {
    const struct item *x = a, *y = b;

    return (x->key > y->key) - (x->key < y->key);
}

static void items_come_out_smallest_first(void **state) {
    struct item items[500] = {0};
    struct random random;
    struct heap heap;
    int last = -1;

    (void)state;
    random_init(&random, 1);
    heap_init(&heap, offsetof(struct item, place), item_compare);
    assert_null(heap_first(&heap));
    assert_null(heap_pop(&heap));
    for (size_t i = 0; i < COUNT(items); i++) {
        items[i].key = (int)random_below(&random, 100);
        heap_push(&heap, &items[i]);
    }
    for (size_t i = 0; i < COUNT(items); i++) {
        struct item *item = heap_pop(&heap);

        assert_true(item->key >= last);
        assert_false(heap_has(&heap, item));
        last = item->key;
    }
    assert_null(heap_pop(&heap));
    heap_clear(&heap);
}

static int least_key(const struct item *items, size_t count) {
    int least = INT32_MAX;

    for (size_t i = 0; i < count; i++)
        if (items[i].place > 0 && items[i].key < least)
            least = items[i].key;
    return least;
}

static void any_item_can_be_removed_or_changed(void **state) {
    struct item items[60] = {0};
    struct random random;
    struct heap heap;

    (void)state;
    random_init(&random, 2);
    heap_init(&heap, offsetof(struct item, place), item_compare);
    for (int step = 0; step < 20000; step++) {
        struct item *item = &items[random_below(&random, COUNT(items))];
        struct item *first = heap_first(&heap);

        if (first != NULL)
            assert_int_equal(first->key, least_key(items, COUNT(items)));
        if (!heap_has(&heap, item)) {
            item->key = (int)random_below(&random, 1000);
            heap_push(&heap, item);
        } else if (random_below(&random, 100) < 50) {
            item->key = (int)random_below(&random, 1000);
            heap_changed(&heap, item);
        } else {
            heap_remove(&heap, item);
            heap_remove(&heap, item);
            assert_false(heap_has(&heap, item));
        }
    }
    heap_clear(&heap);
    assert_null(heap_first(&heap));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(items_come_out_smallest_first),
        cmocka_unit_test(any_item_can_be_removed_or_changed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
