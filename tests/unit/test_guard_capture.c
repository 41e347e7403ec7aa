/* Output on its way: memory, file, limit, tail. */
#include "support/test.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "os/guard_capture.h"

static int dir_fd;

static int set_up(void **state) {
    (void)state;
    dir_fd = open(test_dir(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return dir_fd < 0;
}

static int tear_down(void **state) {
    (void)state;
    unlinkat(dir_fd, "out", 0);
    return close(dir_fd);
}

static void add(struct capture *capture, const char *text) {
    capture_add(capture, text, strlen(text));
}

static char *content(void) {
    static char text[65536];
    int fd = openat(dir_fd, "out", O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return NULL;
    ssize_t n = read(fd, text, sizeof text - 1);
    close(fd);
    text[n < 0 ? 0 : n] = '\0';
    return text;
}

static void little_stays_in_memory(void **state) {
    (void)state;
    struct capture capture;
    capture_init(&capture, dir_fd, "out", 0, 0);
    add(&capture, "a little");
    capture_finish(&capture);
    assert_false(capture_in_file(&capture));
    assert_true(span_is(capture_inline(&capture), "a little"));
    assert_null(content());
    capture_clear(&capture);
}

static void more_than_fits_goes_to_the_file_from_the_start(void **state) {
    (void)state;
    struct capture capture;
    capture_init(&capture, dir_fd, "out", 10, 0);
    add(&capture, "0123456789");
    assert_null(content());
    add(&capture, "a");
    assert_string_equal(content(), "0123456789a");
    capture_finish(&capture);
    assert_true(capture_in_file(&capture));
    assert_int_equal(capture_inline(&capture).len, 0);
    assert_int_equal(capture.bytes, 11);
    capture_clear(&capture);
}

static void spilled_output_can_be_followed(void **state) {
    (void)state;
    struct capture capture;
    capture_init(&capture, dir_fd, "out", 0, 0);
    capture_spill(&capture);
    assert_null(content()); /* nothing to follow yet */
    add(&capture, "one\n");
    assert_string_equal(content(), "one\n");
    add(&capture, "two\n");
    assert_string_equal(content(), "one\ntwo\n");
    capture_finish(&capture);
    capture_clear(&capture);
}

static void without_output_there_is_no_file(void **state) {
    (void)state;
    struct capture capture;
    capture_init(&capture, dir_fd, "out", 0, 0);
    capture_spill(&capture);
    capture_finish(&capture);
    assert_false(capture_in_file(&capture));
    assert_null(content());
    capture_clear(&capture);
}

static void at_the_limit_nothing_is_cut(void **state) {
    (void)state;
    struct capture capture;
    capture_init(&capture, dir_fd, "out", 4, 20);
    add(&capture, "0123456789");
    add(&capture, "abcdefghij");
    capture_finish(&capture);
    assert_non_null(strstr(content(), "0123456789\n[pointsman: limit"));
    assert_non_null(strstr(content(), "kept]\nabcdefghij"));
    assert_null(strstr(content(), "left out"));
    capture_clear(&capture);
}

/* The same tail whatever the pieces it came in. */
static void tail_is_right_for_every_size_of_piece(void **state) {
    (void)state;
    char all[200];
    for (int i = 0; i < 200; i++)
        all[i] = (char)('a' + i % 26);
    for (size_t piece = 1; piece < 60; piece++) {
        struct capture capture;
        capture_init(&capture, dir_fd, "out", 4, 40);
        for (size_t at = 0; at < sizeof all; at += piece) {
            size_t bytes = sizeof all - at < piece ? sizeof all - at : piece;
            capture_add(&capture, all + at, bytes);
        }
        capture_finish(&capture);
        char *text = content();
        size_t len = strlen(text);
        assert_int_equal(capture.bytes, len);
        assert_int_equal(capture.total, 200);
        assert_memory_equal(text, all, 20);
        assert_memory_equal(text + len - 20, all + 180, 20);
        assert_non_null(strstr(text, "[pointsman: 160 bytes left out here]"));
        capture_clear(&capture);
        unlinkat(dir_fd, "out", 0);
    }
}

static void missing_directory_costs_output_only(void **state) {
    (void)state;
    struct capture capture;
    capture_init(&capture, dir_fd, "no/such/place", 4, 0);
    add(&capture, "0123456789");
    add(&capture, "ab");
    capture_finish(&capture);
    assert_true(capture.lost);
    assert_false(capture_in_file(&capture));
    assert_true(span_is(capture_inline(&capture), "89ab"));
    assert_int_equal(capture.total, 12);
    capture_clear(&capture);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        CASE(little_stays_in_memory),
        CASE(more_than_fits_goes_to_the_file_from_the_start),
        CASE(spilled_output_can_be_followed),
        CASE(without_output_there_is_no_file),
        CASE(at_the_limit_nothing_is_cut),
        CASE(tail_is_right_for_every_size_of_piece),
        CASE(missing_directory_costs_output_only),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
