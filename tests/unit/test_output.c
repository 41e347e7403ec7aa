#include "os/output.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/err.h"
#include "support/test.h"

static int base_fd;

static int setup(void **state) {
    static int n;
    char path[512];
    (void)state;
    snprintf(path, sizeof(path), "%s/%d", test_dir(), n++);
    if (mkdir(path, 0700) < 0)
        return 1;
    base_fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return base_fd < 0;
}

static int teardown(void **state) {
    (void)state;
    return close(base_fd);
}

static void assert_content(struct output *output, const char *place,
                           const char *expected) {
    struct output_view view;
    struct err err;
    assert_true(output_view_open(output, span_of(place), &view, &err));
    assert_int_equal(view.bytes, strlen(expected));
    char buffer[256] = "";
    assert_int_equal(output_view_read(&view, 0, buffer, sizeof(buffer)),
                     view.bytes);
    assert_string_equal(buffer, expected);
    output_view_close(&view);
}

static void small_outputs_share_a_segment(void **state) {
    (void)state;
    struct output *output;
    struct err err;
    struct output_sync sync;
    char one[OUTPUT_PLACE_BYTES], two[OUTPUT_PLACE_BYTES];
    assert_true(output_open(base_fd, true, &output, &err));
    assert_true(
        output_add(output, SPAN("hello\n"), (struct span){0}, one, &err));
    assert_true(
        output_add(output, SPAN("world\n"), (struct span){0}, two, &err));
    assert_true(output_flush(output, &sync, &err));
    assert_true(sync.fd >= 0 && !sync.filesystem);
    assert_content(output, one, "hello\n");
    assert_content(output, two, "world\n");
    assert_true(output_flush(output, &sync, &err));
    assert_int_equal(sync.fd, -1);
    output_close(output);
}

static void empty_output_has_no_place_and_creates_no_segment(void **state) {
    (void)state;
    struct output *output;
    struct err err;
    char place[OUTPUT_PLACE_BYTES] = "x";
    assert_true(output_open(base_fd, true, &output, &err));
    assert_true(
        output_add(output, (struct span){0}, (struct span){0}, place, &err));
    assert_string_equal(place, "");
    output_close(output);
}

static void two_writers_never_share_a_segment(void **state) {
    (void)state;
    struct output *a, *b;
    struct err err;
    struct output_sync sync;
    char one[OUTPUT_PLACE_BYTES], two[OUTPUT_PLACE_BYTES];
    assert_true(output_open(base_fd, true, &a, &err));
    assert_true(output_open(base_fd, true, &b, &err));
    assert_true(output_add(a, SPAN("from a"), (struct span){0}, one, &err));
    assert_true(output_add(b, SPAN("from b"), (struct span){0}, two, &err));
    assert_true(output_flush(b, &sync, &err));
    assert_true(output_flush(a, &sync, &err));
    assert_content(b, one, "from a");
    assert_content(a, two, "from b");
    output_close(a);
    output_close(b);
}

static void an_attempt_can_have_its_own_file(void **state) {
    (void)state;
    struct output *output;
    struct err err;
    CLEANUP(text_clear) struct text path = TEXT_INIT;
    char place[OUTPUT_PLACE_BYTES];
    assert_true(output_open(base_fd, true, &output, &err));
    assert_true(output_file(output, 12345, 0, 2, &path, place, &err));
    assert_string_equal(text_string(&path), "attempts/files/12/12345.0.2");
    int fd = openat(base_fd, path.p, O_WRONLY | O_CREAT | O_EXCL, 0640);
    assert_int_equal(write(fd, "long", 4), 4);
    close(fd);
    assert_content(output, place, "long");
    struct output_sync sync;
    assert_true(output_flush(output, &sync, &err));
    assert_int_equal(sync.fd, -1);
    output_filed(output);
    assert_true(output_flush(output, &sync, &err));
    assert_true(sync.fd >= 0 && sync.filesystem);
    assert_true(output_flush(output, &sync, &err));
    assert_int_equal(sync.fd, -1);
    assert_int_equal(unlinkat(base_fd, path.p, 0), 0);
    struct output_view view;
    assert_false(output_view_open(output, span_of(place), &view, &err));
    assert_int_equal(err.kind, ERR_NO_JOB);
    output_close(output);
}

static void an_invalid_place_is_refused(void **state) {
    (void)state;
    static const char *const bad[] = {
        "",
        "s",
        "f",
        "x1.2.3",
        "s1.2",
        "s1.2.3.4.5",
        "s-1.2.3",
        "f../../x",
        "f1/2.3",
        "f1/../1.2.3",
        "f/1.2.3",
        "f1/1.2.3/4",
        "s1.2.x",
        "s99999999999999999999.1.1",
        "s1.18446744073709551615.1",
    };
    struct output *output;
    struct err err;
    struct output_view view;
    assert_true(output_open(base_fd, true, &output, &err));
    for (size_t i = 0; i < COUNT(bad); i++) {
        err_clear(&err);
        assert_false(output_view_open(output, span_of(bad[i]), &view, &err));
        assert_int_equal(err.kind, ERR_DATA);
    }
    output_close(output);
}

static void a_reader_creates_no_directory_and_finds_nothing(void **state) {
    (void)state;
    struct output *output;
    struct err err;
    struct output_view view;
    assert_true(output_open(base_fd, false, &output, &err));
    assert_int_equal(faccessat(base_fd, "attempts", F_OK, 0), -1);
    assert_false(output_view_open(output, SPAN("s1.0.5"), &view, &err));
    assert_int_equal(err.kind, ERR_NO_JOB);
    assert_false(output_view_open(output, SPAN("f0/1.0.1"), &view, &err));
    assert_int_equal(err.kind, ERR_NO_JOB);
    output_close(output);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(small_outputs_share_a_segment, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(
            empty_output_has_no_place_and_creates_no_segment, setup, teardown),
        cmocka_unit_test_setup_teardown(two_writers_never_share_a_segment,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(an_attempt_can_have_its_own_file, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(an_invalid_place_is_refused, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(
            a_reader_creates_no_directory_and_finds_nothing, setup, teardown),
    };
    return cmocka_run_group_tests_name("output", tests, NULL, NULL);
}
