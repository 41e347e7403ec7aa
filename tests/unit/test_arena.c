#include "lib/arena.h"

#include "support/test.h"

static void pieces_are_zeroed_aligned_and_separate(void **state) {
    struct arena arena = ARENA_INIT;
    unsigned char *pieces[300];

    (void)state;
    for (size_t i = 0; i < COUNT(pieces); i++) {
        pieces[i] = arena_alloc(&arena, i);
        assert_int_equal((uintptr_t)pieces[i] % _Alignof(max_align_t), 0);
        for (size_t b = 0; b < i; b++)
            assert_int_equal(pieces[i][b], 0);
        memset(pieces[i], (int)(i % 255) + 1, i);
    }
    for (size_t i = 0; i < COUNT(pieces); i++)
        for (size_t b = 0; b < i; b++)
            assert_int_equal(pieces[i][b], i % 255 + 1);
    arena_clear(&arena);
    assert_null(arena.first);
}

static void large_pieces_do_not_overwrite_small_ones(void **state) {
    struct arena arena = ARENA_INIT;
    char *large, *small;

    (void)state;
    large = arena_alloc(&arena, 1 << 20);
    small = arena_alloc(&arena, 8);
    memset(large, 'L', 1 << 20);
    memset(small, 's', 8);
    large = arena_alloc(&arena, 100000);
    assert_int_equal(large[99999], 0);
    assert_int_equal(small[7], 's');
    arena_clear(&arena);
}

static void strings_are_copied_and_terminated(void **state) {
    struct arena arena = ARENA_INIT;
    char source[] = "points";
    char *copy = arena_string(&arena, span_make(source, 5));
    struct span span = arena_span(&arena, SPAN("a\0b"));

    (void)state;
    source[0] = 'X';
    assert_string_equal(copy, "point");
    assert_int_equal(span.len, 3);
    assert_int_equal(span.p[3], 0);
    assert_string_equal(arena_string(&arena, span_of(NULL)), "");
    assert_string_equal(arena_printf(&arena, "%s-%d", "job", 7), "job-7");
    arena_clear(&arena);
    arena_clear(&arena);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pieces_are_zeroed_aligned_and_separate),
        cmocka_unit_test(large_pieces_do_not_overwrite_small_ones),
        cmocka_unit_test(strings_are_copied_and_terminated),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
