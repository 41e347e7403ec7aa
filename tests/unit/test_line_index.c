#include "support/test.h"

#include "lib/random.h"
#include "wire/line_index.h"

/* Appends `lines` lines of random lengths and bytes. */
static void make_output(struct text *output, size_t lines, uint64_t seed) {
    struct random random;
    random_init(&random, seed);
    for (size_t i = 0; i < lines; i++) {
        size_t len =
            random_below(&random, (random_below(&random, 100) < 5) ? 3000 : 30);
        while (len--) {
            char c = (char)random_below(&random, 256);
            text_addc(output, c == '\n' ? ' ' : c);
        }
        text_addc(output, '\n');
    }
}

static struct line_index_place last_of(struct span marks) {
    return line_index_find(marks, UINT64_MAX);
}

static void every_line_is_found_whatever_the_sizes_of_the_pieces(void **state) {
    (void)state;
    for (uint64_t seed = 1; seed <= 4; seed++) {
        CLEANUP(text_clear) struct text output = TEXT_INIT;
        CLEANUP(text_clear) struct text marks = TEXT_INIT;
        struct line_index index = LINE_INDEX_INIT;
        struct random random;
        make_output(&output, 1000, seed);
        text_adds(&output, "no end");
        random_init(&random, seed);
        for (size_t at = 0; at < output.len;) {
            size_t len = 1 + random_below(&random, 700);
            len = len < output.len - at ? len : output.len - at;
            line_index_feed(&index, span_make(output.p + at, len), &marks);
            at += len;
        }
        assert_int_equal(index.lines, 1000);
        assert_int_equal(index.bytes, output.len);
        size_t begin = 0;
        for (uint64_t line = 0; line <= 1000; line++) {
            struct line_index_place place =
                line_index_find(text_span(&marks), line);
            assert_int_equal(place.line, line / 64 * 64);
            struct span rest =
                span_make(output.p + place.offset, output.len - place.offset);
            assert_int_equal(place.offset + lines_skip(rest, line % 64), begin);
            const char *lf = memchr(output.p + begin, '\n', output.len - begin);
            begin = lf ? (size_t)(lf + 1 - output.p) : output.len;
        }
        assert_int_equal(last_of(text_span(&marks)).line, 960);
    }
}

static void an_index_may_be_truncated_anywhere(void **state) {
    (void)state;
    CLEANUP(text_clear) struct text output = TEXT_INIT;
    CLEANUP(text_clear) struct text marks = TEXT_INIT;
    struct line_index index = LINE_INDEX_INIT;
    make_output(&output, 640, 7);
    line_index_feed(&index, text_span(&output), &marks);
    assert_int_equal(last_of(text_span(&marks)).line, 640);
    uint64_t before = 0;
    for (size_t len = 0; len <= marks.len; len++) {
        struct line_index_place place = last_of(span_make(marks.p, len));
        assert_true(place.line >= before && place.line % 64 == 0);
        assert_int_equal(lines_count(span_make(output.p, place.offset)),
                         place.line);
        before = place.line;
    }
}

static void invalid_bytes_end_an_index(void **state) {
    (void)state;
    char junk[32];
    memset(junk, 0xff, sizeof junk);
    assert_int_equal(last_of(span_make(junk, sizeof junk)).line, 0);
    /* The sum of two steps exceeds 2^64. */
    static const char steps[] = "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"
                                "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01";
    assert_int_equal(last_of(SPAN(steps)).line, 64);
}

static void lines_are_counted_and_skipped(void **state) {
    (void)state;
    assert_int_equal(lines_count(SPAN("")), 0);
    assert_int_equal(lines_count(SPAN("a")), 1);
    assert_int_equal(lines_count(SPAN("a\n\nb")), 3);
    assert_int_equal(lines_skip(SPAN("a\nb"), 5), 3);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_line_is_found_whatever_the_sizes_of_the_pieces),
        cmocka_unit_test(an_index_may_be_truncated_anywhere),
        cmocka_unit_test(invalid_bytes_end_an_index),
        cmocka_unit_test(lines_are_counted_and_skipped),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
