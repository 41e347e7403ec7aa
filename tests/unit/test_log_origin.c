/* The streams and times of an output as it is shown. */
#include "support/test.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "api/log_filter.h"
#include "api/log_origin.h"

enum { LINES = 200000 };

static int base_fd;
static struct output *output;
static struct text content; /* both streams, in the order they were read */
static char place[OUTPUT_PLACE_BYTES];

/* Every seventh line comes from standard error, so runs vary in length. */
static bool is_err(int line) {
    return line % 7 == 0;
}

static int set_up(void **state) {
    (void)state;
    struct stamps stamps = STAMPS_INIT;
    struct err err;
    struct output_sync sync;
    base_fd = open(test_dir(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_true(output_open(base_fd, true, &output, &err));
    for (int i = 0; i < LINES; i++) {
        size_t before = content.len;
        text_addf(&content, "%s %d\n", is_err(i) ? "err" : "out", i);
        stamps_add(&stamps, is_err(i) ? STAMP_ERR : STAMP_OUT,
                   1795312604000 + i / 3, content.len - before);
    }
    text_adds(&content, "the end");
    stamps_add(&stamps, STAMP_OUT, 1795312604000 + LINES, 7);
    stamps_close(&stamps);
    char other[OUTPUT_PLACE_BYTES];
    assert_true(
        output_add(output, SPAN("another"), (struct span){0}, other, &err));
    assert_true(output_add(output, text_span(&content),
                           text_span(&stamps.coded), place, &err));
    assert_true(output_flush(output, &sync, &err));
    stamps_clear(&stamps);
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    output_close(output);
    text_clear(&content);
    return close(base_fd);
}

static void each_byte_has_the_origin_of_its_line(void **state) {
    (void)state;
    struct log_origin origin = LOG_ORIGIN_INIT;
    log_origin_open(&origin, output, span_of(place));
    uint64_t at = 0;
    while (at < content.len) {
        struct stamp run;
        enum log_origin_found found = log_origin_find(&origin, at, &run);
        if (found == LOG_ORIGIN_MORE)
            continue;
        assert_int_equal(found, LOG_ORIGIN_FOUND);
        bool err = memcmp(content.p + at, "err", 3) == 0;
        assert_int_equal(run.stream, err ? STAMP_ERR : STAMP_OUT);
        at += run.bytes;
    }
    assert_int_equal(at, content.len);
    struct stamp last;
    assert_int_equal(log_origin_find(&origin, at, &last), LOG_ORIGIN_NONE);
    /* Go back into the second line. */
    assert_int_equal(log_origin_find(&origin, 8, &last), LOG_ORIGIN_FOUND);
    assert_int_equal(last.ms, 1795312604000);
    log_origin_close(&origin);
}

static void without_stamps_the_origin_is_unknown(void **state) {
    (void)state;
    static const char *const places[] = {"", "s1.2.3", "f0/1.2.3", "nonsense"};
    for (size_t i = 0; i < COUNT(places); i++) {
        struct log_origin origin = LOG_ORIGIN_INIT;
        struct stamp run;
        log_origin_open(&origin, output, span_of(places[i]));
        assert_int_equal(log_origin_find(&origin, 0, &run), LOG_ORIGIN_NONE);
        log_origin_close(&origin);
    }
}

/* The part of one stream that is shown from `at` on. */
static char *shown(struct log_origin *origin, enum stamp_stream stream,
                   uint64_t at, uint64_t skip) {
    struct log_filter filter = {
        .one_stream = true, .stream = stream, .skip = skip};
    struct text text = TEXT_INIT;
    while (at < content.len) {
        struct stamp run;
        enum log_origin_found found = log_origin_find(origin, at, &run);
        if (found == LOG_ORIGIN_MORE)
            continue;
        assert_int_equal(found, LOG_ORIGIN_FOUND);
        log_filter_add(&filter, &run, span_make(content.p + at, run.bytes),
                       &text);
        at += run.bytes;
    }
    log_filter_end(&filter, &text);
    log_filter_clear(&filter);
    return text_take(&text);
}

static char *expected(enum stamp_stream stream, uint64_t lines) {
    struct text text = TEXT_INIT;
    uint64_t count = stream == STAMP_OUT;
    int from = LINES;
    while (from > 0 && count < lines)
        count += is_err(--from) == (stream == STAMP_ERR);
    for (int i = from; i < LINES && lines > 0; i++)
        if (is_err(i) == (stream == STAMP_ERR))
            text_addf(&text, "%s %d\n", is_err(i) ? "err" : "out", i);
    if (stream == STAMP_OUT && lines > 0)
        text_adds(&text, "the end");
    return text_take(&text);
}

static void the_tail_of_a_stream_is_its_last_lines(void **state) {
    (void)state;
    static const uint64_t counts[] = {1, 2, 50, 5000, LINES / 7, LINES * 2};
    struct output_view view;
    struct err err;
    assert_true(output_view_open(output, span_of(place), &view, &err));
    for (size_t i = 0; i < 2 * COUNT(counts); i++) {
        enum stamp_stream stream = i % 2 == 0 ? STAMP_OUT : STAMP_ERR;
        struct log_origin origin = LOG_ORIGIN_INIT;
        struct log_tail tail = {.stream = stream, .lines = counts[i / 2]};
        uint64_t at, skip;
        log_origin_open(&origin, output, span_of(place));
        while (!log_tail_find(&tail, &origin, &view, &at, &skip))
            continue;
        char *actual = shown(&origin, stream, at, skip);
        char *wanted = expected(stream, counts[i / 2]);
        assert_string_equal(actual, wanted);
        free(actual);
        free(wanted);
        log_origin_close(&origin);
    }
    output_view_close(&view);
}

/* Each line belongs to one stream and shows the time of its first byte. */
static void lines_are_not_split_by_the_other_stream(void **state) {
    (void)state;
    struct log_filter filter = {.form = LOG_TIMES};
    struct text text = TEXT_INIT;
    struct stamp out = {.stream = STAMP_OUT, .ms = 1795312604000};
    struct stamp err = {.stream = STAMP_ERR, .ms = 1795312604500};
    struct stamp late = {.stream = STAMP_OUT, .ms = 1795312605000};
    struct stamp ours = {.stream = STAMP_OURS, .ms = 1795312605000};
    struct stamp unknown = {.stream = STAMP_UNKNOWN};
    log_filter_add(&filter, &out, SPAN("begun"), &text);
    log_filter_add(&filter, &err, SPAN("between\n"), &text);
    log_filter_add(&filter, &late, SPAN(" ended\nrest"), &text);
    log_filter_add(&filter, &ours, SPAN("\n[pointsman: full]\n"), &text);
    log_filter_add(&filter, &unknown, SPAN("old\n"), &text);
    log_filter_end(&filter, &text);
    log_filter_clear(&filter);
    assert_string_equal(text_string(&text),
                        "2026-11-22T01:56:44.500Z err between\n"
                        "2026-11-22T01:56:44.000Z out begun ended\n"
                        "2026-11-22T01:56:45.000Z pointsman "
                        "[pointsman: full]\n"
                        "- - old\n"
                        "2026-11-22T01:56:45.000Z out rest\n");
    text_clear(&text);
}

static void frames_carry_pieces_unchanged(void **state) {
    (void)state;
    struct log_filter filter = {.framed = true};
    struct text text = TEXT_INIT;
    struct stamp err = {.stream = STAMP_ERR, .ms = 1};
    log_filter_add(&filter, &err, SPAN("a\nb"), &text);
    assert_int_equal(text.len, LOG_FRAME_HEAD + 3);
    assert_memory_equal(text.p, "\1\0\0\0\0\0\0\3a\nb", 11);
    text_clear(&text);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_byte_has_the_origin_of_its_line),
        cmocka_unit_test(without_stamps_the_origin_is_unknown),
        cmocka_unit_test(the_tail_of_a_stream_is_its_last_lines),
        cmocka_unit_test(lines_are_not_split_by_the_other_stream),
        cmocka_unit_test(frames_carry_pieces_unchanged),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
