#include "lib/map.h"

#include "lib/random.h"
#include "support/collide.h"
#include "support/test.h"

enum { KEYS = 300, STEPS = 20000 };

/* Some keys fit into the entry, some fill it, and some are too long for it. */
static struct span key_of(unsigned number, char buffer[32]) {
    static const char *const heads[] = {"", "key-", "some key-"};
    int len = snprintf(buffer, 32, "%s%04u", heads[number % 3], number);

    return span_make(buffer, (size_t)len);
}

/* The model is an array indexed by the number of the key. */
static void a_map_agrees_with_a_plain_array(void **state) {
    static char values[KEYS];
    bool present[KEYS] = {false};
    struct map map = MAP_INIT;
    struct random random;
    size_t live = 0;

    (void)state;
    random_init(&random, 7);
    for (int step = 0; step < STEPS; step++) {
        unsigned number = (unsigned)random_below(&random, KEYS);
        char buffer[32];
        struct span key = key_of(number, buffer);
        void *want = present[number] ? &values[number] : NULL;

        assert_ptr_equal(map_get(&map, key), want);
        /* Waves make the map shrink and grow again. */
        if (random_below(&random, 100) < (step / 2000 % 2 ? 80u : 20u)) {
            assert_ptr_equal(map_remove(&map, key), want);
            live -= present[number];
            present[number] = false;
        } else {
            assert_ptr_equal(map_put(&map, key, &values[number]), want);
            live += !present[number];
            present[number] = true;
        }
        assert_int_equal(map_count(&map), live);
    }
    map_clear(&map);
    assert_int_equal(map_count(&map), 0);
}

static void iteration_follows_the_order_of_insertion(void **state) {
    struct map map = MAP_INIT;
    size_t cursor = 0;
    struct span key;
    void *value;
    int things[100];

    (void)state;
    for (unsigned i = 0; i < 100; i++) {
        char buffer[32];

        things[i] = (int)i;
        map_put(&map, key_of(i * 7919 % 100, buffer), &things[i]);
    }
    for (int i = 0; i < 100; i++) {
        assert_true(map_next(&map, &cursor, &key, &value));
        assert_int_equal(*(int *)value, i);
    }
    assert_false(map_next(&map, &cursor, &key, &value));
    map_clear(&map);
}

static void the_current_entry_of_a_map_may_be_removed(void **state) {
    struct map map = MAP_INIT;
    size_t cursor = 0, seen = 0;
    struct span key;
    char value;

    (void)state;
    for (unsigned i = 0; i < 1000; i++) {
        char buffer[32];

        map_put(&map, key_of(i, buffer), &value);
    }
    while (map_next(&map, &cursor, &key, NULL)) {
        if (seen++ % 2 == 0)
            assert_ptr_equal(map_remove(&map, key), &value);
    }
    assert_int_equal(seen, 1000);
    assert_int_equal(map_count(&map), 500);
    for (unsigned i = 0; i < 1000; i++) {
        char buffer[32];

        assert_int_equal(map_get(&map, key_of(i, buffer)) != NULL, i % 2);
    }
    map_clear(&map);
}

static void keys_are_compared_by_bytes_and_length(void **state) {
    struct map map = MAP_INIT;
    char a, b, c, d;

    (void)state;
    assert_null(map_get(&map, SPAN("")));
    assert_null(map_remove(&map, SPAN("")));
    map_put(&map, SPAN(""), &a);
    map_put(&map, SPAN("\0"), &b);
    map_put(&map, SPAN("\0\0"), &c);
    map_put(&map, SPAN("\0\0\0\0\0\0\0\0"), &d);
    assert_ptr_equal(map_get(&map, span_of(NULL)), &a);
    assert_ptr_equal(map_get(&map, SPAN("\0")), &b);
    assert_ptr_equal(map_get(&map, SPAN("\0\0")), &c);
    assert_ptr_equal(map_get(&map, SPAN("\0\0\0\0\0\0\0\0")), &d);
    map_clear(&map);
}

static void the_seed_changes_the_hashes(void **state) {
    uint64_t plain = map_hash_bytes("abc", 3);

    (void)state;
    map_seed(42);
    assert_true(map_hash_bytes("abc", 3) != plain);
    map_seed(0);
    assert_true(map_hash_bytes("abc", 3) == plain);
    assert_true(map_hash_bytes("abd", 3) != plain);
}

/* Thousands of keys share a hash if the seed is known; with another seed they
 * are spread like any others. */
static void colliding_keys_are_spread_by_a_seed(void **state) {
    enum { COLLIDING = 2000, BUCKETS = 1024 };
    static char keys[COLLIDING][COLLIDE_BYTES + 1];
    static unsigned filled[BUCKETS];
    uint64_t draw = 0;
    unsigned most = 0;

    (void)state;
    for (int i = 0; i < COLLIDING; i++) {
        collide_next("", 0, &draw, keys[i]);
        assert_true(map_hash_bytes(keys[i], COLLIDE_BYTES) ==
                    map_hash_bytes(keys[0], COLLIDE_BYTES));
    }
    map_seed(42);
    for (int i = 0; i < COLLIDING; i++) {
        unsigned *bucket =
            &filled[map_hash_bytes(keys[i], COLLIDE_BYTES) % BUCKETS];
        if (++*bucket > most)
            most = *bucket;
    }
    map_seed(0);
    assert_true(most < 16);
}

static void the_longest_search_is_recorded(void **state) {
    enum { COLLIDING = 500 };
    struct map map = MAP_INIT;
    char key[COLLIDE_BYTES + 1];
    uint64_t draw = 0;

    (void)state;
    assert_true(map_longest_search() < COLLIDING / 2);
    for (int i = 0; i < COLLIDING; i++) {
        collide_next("", 0, &draw, key);
        map_put(&map, span_make(key, COLLIDE_BYTES), &map);
    }
    assert_true(map_longest_search() >= COLLIDING - 1);
    map_clear(&map);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_map_agrees_with_a_plain_array),
        cmocka_unit_test(iteration_follows_the_order_of_insertion),
        cmocka_unit_test(the_current_entry_of_a_map_may_be_removed),
        cmocka_unit_test(keys_are_compared_by_bytes_and_length),
        cmocka_unit_test(the_seed_changes_the_hashes),
        cmocka_unit_test(the_longest_search_is_recorded),
        cmocka_unit_test(colliding_keys_are_spread_by_a_seed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
