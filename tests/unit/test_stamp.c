/* The origin of output bytes: runs are encoded and decoded. */
#include "support/test.h"

#include "os/stamp.h"

static size_t read_all(struct span coded, struct stamp *ret, size_t most) {
    struct stamp_walk walk = {0};
    size_t count = 0;
    while (count < most && stamp_take(&walk, &coded, &ret[count]))
        count++;
    return count;
}

static void runs_are_read_as_they_were_added(void **state) {
    (void)state;
    static const struct stamp in[] = {
        {5, 1795312604123, STAMP_OUT},
        {1, 1795312604123, STAMP_ERR},
        {UINT64_C(1) << 40, 1795312604124, STAMP_OURS},
        {300, 1795312704124, STAMP_OUT},
    };
    struct stamps stamps = STAMPS_INIT;
    struct stamp out[8];
    for (size_t i = 0; i < COUNT(in); i++)
        stamps_add(&stamps, in[i].stream, in[i].ms, in[i].bytes);
    stamps_close(&stamps);
    assert_int_equal(read_all(text_span(&stamps.coded), out, COUNT(out)),
                     COUNT(in));
    for (size_t i = 0; i < COUNT(in); i++) {
        assert_int_equal(out[i].bytes, in[i].bytes);
        assert_int_equal(out[i].ms, in[i].ms);
        assert_int_equal(out[i].stream, in[i].stream);
    }
    stamps_clear(&stamps);
}

static void one_stream_in_one_millisecond_is_one_run(void **state) {
    (void)state;
    struct stamps stamps = STAMPS_INIT;
    struct stamp out[8];
    stamps_add(&stamps, STAMP_OUT, 1000, 3);
    stamps_add(&stamps, STAMP_OUT, 1000, 4);
    stamps_add(&stamps, STAMP_OUT, 1000, 0);
    assert_int_equal(stamps.coded.len, 0);
    stamps_add(&stamps, STAMP_OUT, 1001, 5);
    stamps_close(&stamps);
    stamps_close(&stamps);
    assert_int_equal(read_all(text_span(&stamps.coded), out, COUNT(out)), 2);
    assert_int_equal(out[0].bytes, 7);
    assert_int_equal(out[1].bytes, 5);
    stamps_clear(&stamps);
}

static void time_never_goes_back(void **state) {
    (void)state;
    struct stamps stamps = STAMPS_INIT;
    struct stamp out[8];
    stamps_add(&stamps, STAMP_OUT, 1000, 1);
    stamps_add(&stamps, STAMP_ERR, 900, 1);
    stamps_close(&stamps);
    stamps_add(&stamps, STAMP_OUT, 800, 1);
    stamps_close(&stamps);
    assert_int_equal(read_all(text_span(&stamps.coded), out, COUNT(out)), 3);
    assert_int_equal(out[1].ms, 1000);
    assert_int_equal(out[2].ms, 1000);
    stamps_clear(&stamps);
}

/* If the writer died halfway, the complete runs still count. */
static void complete_runs_of_truncated_stamps_are_read(void **state) {
    (void)state;
    struct stamps stamps = STAMPS_INIT;
    struct stamp out[8];
    size_t ends[4] = {0}, count = 0;
    for (unsigned i = 0; i < 4; i++) {
        stamps_add(&stamps, STAMP_ERR, 100000 * (int64_t)i, 1000 * (i + 1));
        stamps_close(&stamps);
        ends[i] = stamps.coded.len;
    }
    for (size_t cut = 0; cut <= stamps.coded.len; cut++) {
        while (count < 4 && ends[count] <= cut)
            count++;
        assert_int_equal(read_all(span_make(stamps.coded.p, cut), out, 8),
                         count);
    }
    assert_int_equal(count, 4);
    stamps_clear(&stamps);
}

static void invalid_stamps_are_not_read(void **state) {
    (void)state;
    static const struct span bad[] = {
        {NULL, 0},
        {"pms", 3},
        {"pms2\x04\x00", 6},
        {"pms1\x00\x00", 6}, /* a run without bytes */
        {"pms1\x04\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 15},
        {"pms1\xff\xff\xff\xff\xff\xff\xff\xff\xff\x7f\x00", 15},
    };
    for (size_t i = 0; i < COUNT(bad); i++) {
        struct stamp_walk walk = {0};
        struct span rest = bad[i];
        struct stamp stamp;
        assert_false(stamp_take(&walk, &rest, &stamp));
        assert_int_equal(rest.len, bad[i].len);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(runs_are_read_as_they_were_added),
        cmocka_unit_test(one_stream_in_one_millisecond_is_one_run),
        cmocka_unit_test(time_never_goes_back),
        cmocka_unit_test(complete_runs_of_truncated_stamps_are_read),
        cmocka_unit_test(invalid_stamps_are_not_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
