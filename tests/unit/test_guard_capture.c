/* Captured output: in memory, in a file, over the limit, and its tail. */
#include "support/test.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "os/guard_capture.h"

static int dir_fd;
static uint64_t disk_bytes, disk_left; /* what fstatvfs reports */

int fstatvfs(int fd, struct statvfs *ret_disk) {
    (void)fd;
    *ret_disk = (struct statvfs){
        .f_frsize = 1, .f_blocks = disk_bytes, .f_bavail = disk_left};
    return 0;
}

static int set_up(void **state) {
    (void)state;
    dir_fd = open(test_dir(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return dir_fd < 0;
}

static int tear_down(void **state) {
    (void)state;
    unlinkat(dir_fd, "out", 0);
    unlinkat(dir_fd, "out.stamps", 0);
    return close(dir_fd);
}

static void add(struct guard_capture *capture, const char *text) {
    guard_capture_add(capture, STAMP_OUT, 0, text, strlen(text));
}

static size_t read_name(const char *name, char *text, size_t most) {
    int fd = openat(dir_fd, name, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, text, most);
    if (fd >= 0)
        close(fd);
    text[n < 0 ? 0 : n] = '\0';
    return n < 0 ? SIZE_MAX : (size_t)n;
}

static char *content(void) {
    static char text[65536];
    return read_name("out", text, sizeof text - 1) == SIZE_MAX ? NULL : text;
}

/* Adds stamped output: 'o' from standard output, 'E' from standard error. */
static void add_stamped(struct guard_capture *capture, enum stamp_stream stream,
                        int64_t ms, size_t bytes) {
    char text[4096];
    memset(text, stream == STAMP_OUT ? 'o' : 'E', bytes);
    guard_capture_add(capture, stream, ms, text, bytes);
}

/* Checks that the origin of each byte is the one that its letter stands for;
 * returns how many bytes have an origin. */
static size_t check_origins(struct span text, struct span coded) {
    static const char letters[] = {[STAMP_OUT] = 'o', [STAMP_ERR] = 'E'};
    struct stamp_walk walk = {0};
    struct stamp run;
    size_t at = 0;
    while (stamp_take(&walk, &coded, &run)) {
        assert_true(run.bytes <= text.len - at);
        for (size_t i = 0; i < run.bytes && run.stream <= STAMP_ERR; i++)
            assert_int_equal(text.p[at + i], letters[run.stream]);
        if (run.stream == STAMP_OURS)
            assert_non_null(memmem(text.p + at, run.bytes, "pointsman: ", 11));
        at += (size_t)run.bytes;
    }
    assert_int_equal(coded.len, 0);
    return at;
}

static size_t check_files(void) {
    static char text[65536], coded[65536];
    size_t bytes = read_name("out", text, sizeof text - 1);
    size_t coded_bytes = read_name("out.stamps", coded, sizeof coded - 1);
    assert_true(bytes < sizeof text && coded_bytes < sizeof coded);
    size_t known =
        check_origins(span_make(text, bytes), span_make(coded, coded_bytes));
    assert_true(known <= bytes);
    return bytes - known;
}

static void short_output_stays_in_memory(void **state) {
    (void)state;
    struct guard_capture capture;
    guard_capture_init(&capture, dir_fd, "out", 0, 0);
    add(&capture, "a little");
    guard_capture_finish(&capture);
    assert_false(guard_capture_in_file(&capture));
    assert_true(span_is(guard_capture_inline(&capture), "a little"));
    assert_null(content());
    guard_capture_clear(&capture);
}

static void
output_that_exceeds_the_buffer_goes_to_the_file_from_the_start(void **state) {
    (void)state;
    struct guard_capture capture;
    guard_capture_init(&capture, dir_fd, "out", 10, 0);
    add(&capture, "0123456789");
    assert_null(content());
    add(&capture, "a");
    assert_string_equal(content(), "0123456789a");
    guard_capture_finish(&capture);
    assert_true(guard_capture_in_file(&capture));
    assert_int_equal(guard_capture_inline(&capture).len, 0);
    assert_int_equal(capture.bytes, 11);
    guard_capture_clear(&capture);
}

static void spilled_output_can_be_followed(void **state) {
    (void)state;
    struct guard_capture capture;
    guard_capture_init(&capture, dir_fd, "out", 0, 0);
    guard_capture_spill(&capture);
    assert_null(content()); /* nothing to follow yet */
    add(&capture, "one\n");
    assert_string_equal(content(), "one\n");
    add(&capture, "two\n");
    assert_string_equal(content(), "one\ntwo\n");
    guard_capture_finish(&capture);
    guard_capture_clear(&capture);
}

static void without_output_there_is_no_file(void **state) {
    (void)state;
    struct guard_capture capture;
    guard_capture_init(&capture, dir_fd, "out", 0, 0);
    guard_capture_spill(&capture);
    guard_capture_finish(&capture);
    assert_false(guard_capture_in_file(&capture));
    assert_null(content());
    guard_capture_clear(&capture);
}

static void output_exactly_at_the_limit_is_not_cut(void **state) {
    (void)state;
    struct guard_capture capture;
    guard_capture_init(&capture, dir_fd, "out", 4, 20);
    add(&capture, "0123456789");
    add(&capture, "abcdefghij");
    guard_capture_finish(&capture);
    assert_non_null(strstr(content(), "0123456789\n[pointsman: output limit"));
    assert_non_null(strstr(content(), "kept]\nabcdefghij"));
    assert_null(strstr(content(), "omitted"));
    guard_capture_clear(&capture);
}

/* The tail does not depend on the sizes of the pieces. */
static void the_tail_is_right_for_every_size_of_piece(void **state) {
    (void)state;
    char all[200];
    for (int i = 0; i < 200; i++)
        all[i] = (char)('a' + i % 26);
    for (size_t piece = 1; piece < 60; piece++) {
        struct guard_capture capture;
        guard_capture_init(&capture, dir_fd, "out", 4, 40);
        for (size_t at = 0; at < sizeof all; at += piece) {
            size_t bytes = sizeof all - at < piece ? sizeof all - at : piece;
            guard_capture_add(&capture, STAMP_OUT, 0, all + at, bytes);
        }
        guard_capture_finish(&capture);
        char *text = content();
        size_t len = strlen(text);
        assert_int_equal(capture.bytes, len);
        assert_int_equal(capture.total, 200);
        assert_memory_equal(text, all, 20);
        assert_memory_equal(text + len - 20, all + 180, 20);
        assert_non_null(strstr(text, "[pointsman: 160 bytes omitted]"));
        guard_capture_clear(&capture);
        unlinkat(dir_fd, "out", 0);
    }
}

static void a_missing_directory_loses_only_output(void **state) {
    (void)state;
    struct guard_capture capture;
    guard_capture_init(&capture, dir_fd, "no/such/place", 4, 0);
    add(&capture, "0123456789");
    add(&capture, "ab");
    guard_capture_finish(&capture);
    assert_true(capture.lost);
    assert_false(guard_capture_in_file(&capture));
    assert_true(span_is(guard_capture_inline(&capture), "89ab"));
    assert_int_equal(capture.total, 12);
    assert_int_equal(capture.refused, 8);
    assert_int_equal(capture.gone, 8);
    guard_capture_clear(&capture);
}

static void short_output_is_stamped_in_memory(void **state) {
    (void)state;
    struct guard_capture capture;
    guard_capture_init(&capture, dir_fd, "out", 0, 0);
    guard_capture_stamp(&capture);
    add_stamped(&capture, STAMP_OUT, 1000, 3);
    add_stamped(&capture, STAMP_ERR, 1000, 2);
    add_stamped(&capture, STAMP_OUT, 1005, 1);
    guard_capture_finish(&capture);
    assert_true(span_is(guard_capture_inline(&capture), "oooEEo"));
    assert_int_equal(check_origins(guard_capture_inline(&capture),
                                   guard_capture_stamps(&capture)),
                     6);
    assert_int_equal(faccessat(dir_fd, "out.stamps", F_OK, 0), -1);
    guard_capture_clear(&capture);
}

static void stamps_of_a_file_can_be_followed(void **state) {
    (void)state;
    struct guard_capture capture;
    guard_capture_init(&capture, dir_fd, "out", 8, 0);
    guard_capture_stamp(&capture);
    add_stamped(&capture, STAMP_OUT, 1000, 3);
    add_stamped(&capture, STAMP_ERR, 1001, 3);
    assert_null(content());
    guard_capture_spill(&capture);
    guard_capture_flush(&capture);
    assert_int_equal(check_files(), 0);
    add_stamped(&capture, STAMP_ERR, 1001, 9);
    assert_int_equal(check_files(), 9);
    guard_capture_flush(&capture);
    assert_int_equal(check_files(), 0);
    assert_string_equal(content(), "oooEEEEEEEEEEEE");
    guard_capture_finish(&capture);
    assert_int_equal(check_files(), 0);
    assert_int_equal(guard_capture_stamps(&capture).len, 0);
    guard_capture_clear(&capture);
}

/* The head, our mark and the tail keep their origins, whatever the sizes of
 * the pieces. */
static void stamps_of_head_and_tail_are_right(void **state) {
    (void)state;
    for (size_t piece = 1; piece < 400; piece += 7) {
        struct guard_capture capture;
        guard_capture_init(&capture, dir_fd, "out", 100, 4000);
        guard_capture_stamp(&capture);
        for (size_t i = 0; i < 20000 / piece; i++) {
            add_stamped(&capture, i % 3 == 0 ? STAMP_ERR : STAMP_OUT,
                        (int64_t)i, piece);
            guard_capture_flush(&capture);
        }
        guard_capture_finish(&capture);
        assert_int_equal(check_files(), 0);
        assert_non_null(strstr(content(), "bytes omitted]"));
        guard_capture_clear(&capture);
        unlinkat(dir_fd, "out", 0);
        unlinkat(dir_fd, "out.stamps", 0);
    }
}

/* A file at its size limit accepts a part, then nothing, like a full disk. */
static void a_full_disk_leaves_consistent_stamps(void **state) {
    (void)state;
    struct rlimit before, few;
    getrlimit(RLIMIT_FSIZE, &before);
    signal(SIGXFSZ, SIG_IGN);
    for (rlim_t most = 1; most < 700; most += 13) {
        struct guard_capture capture;
        guard_capture_init(&capture, dir_fd, "out", 100, 0);
        guard_capture_stamp(&capture);
        few = (struct rlimit){most, before.rlim_max};
        setrlimit(RLIMIT_FSIZE, &few);
        for (int64_t i = 0; i < 60; i++) {
            add_stamped(&capture, i % 2 == 0 ? STAMP_OUT : STAMP_ERR, i, 10);
            guard_capture_flush(&capture);
        }
        setrlimit(RLIMIT_FSIZE, &before);
        add_stamped(&capture, STAMP_OUT, 100, 10);
        guard_capture_finish(&capture);
        char coded[4096], text[4096];
        size_t bytes = read_name("out", text, sizeof text - 1);
        size_t coded_bytes = read_name("out.stamps", coded, sizeof coded - 1);
        struct stamp_walk walk = {0};
        struct span rest = span_make(coded, coded_bytes), whole = rest;
        struct stamp run;
        while (stamp_take(&walk, &rest, &run))
            continue;
        whole.len -= rest.len;
        uint64_t known = check_origins(span_make(text, bytes), whole);
        assert_true(known <= bytes);
        assert_true(known == bytes || capture.stamps_sys == EFBIG);
        guard_capture_clear(&capture);
        unlinkat(dir_fd, "out", 0);
        unlinkat(dir_fd, "out.stamps", 0);
    }
}

/* The disk has 800 bytes, and the last eighth of it must stay free. */
static void the_last_eighth_of_the_disk_stays_free(void **state) {
    (void)state;
    struct guard_capture capture;
    char *text = NULL;
    disk_bytes = 800;
    guard_capture_init(&capture, dir_fd, "out", 10, 0);
    for (disk_left = 700; disk_left > 0; disk_left -= 10)
        add(&capture, "123456789\n");
    assert_int_equal(capture.bytes, 600);
    assert_true(capture.lost);
    guard_capture_finish(&capture);
    text = content();
    assert_memory_equal(text + 590, "123456789\n", 10);
    assert_string_equal(
        text + 600, "\n[pointsman: 100 bytes lost: No space left on device]\n");
    assert_int_equal(capture.refused, 100);
    assert_int_equal(capture.gone, 0);
    guard_capture_clear(&capture);
    disk_bytes = 0;
}

/* The mark of the limit does not fit either, and is no output of the task. */
static void bytes_for_which_no_mark_fits_are_counted(void **state) {
    (void)state;
    struct guard_capture capture;
    struct rlimit old, small;
    signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &old);
    small = old;
    small.rlim_cur = 10;
    setrlimit(RLIMIT_FSIZE, &small);
    guard_capture_init(&capture, dir_fd, "out", 5, 40);
    for (int i = 0; i < 10; i++)
        add(&capture, "123456789\n");
    guard_capture_finish(&capture);
    setrlimit(RLIMIT_FSIZE, &old);
    assert_true(capture.lost);
    assert_int_equal(capture.bytes, 10);
    assert_int_equal(capture.refused, 90);
    assert_int_equal(capture.gone, 90);
    assert_int_equal(capture.sys, EFBIG);
    guard_capture_clear(&capture);
}

/* Once space has been freed, the output continues after a mark. */
static void output_continues_when_space_is_free_again(void **state) {
    (void)state;
    struct guard_capture capture;
    disk_bytes = 800;
    disk_left = 50;
    guard_capture_init(&capture, dir_fd, "out", 10, 0);
    guard_capture_spill(&capture);
    add(&capture, "12345678901234567890\n");
    disk_left = 800;
    add(&capture, "there\n");
    guard_capture_finish(&capture);
    assert_string_equal(
        content(),
        "\n[pointsman: 21 bytes lost: No space left on device]\nthere\n");
    guard_capture_clear(&capture);
    disk_bytes = 0;
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        CASE(short_output_stays_in_memory),
        CASE(output_that_exceeds_the_buffer_goes_to_the_file_from_the_start),
        CASE(spilled_output_can_be_followed),
        CASE(without_output_there_is_no_file),
        CASE(output_exactly_at_the_limit_is_not_cut),
        CASE(the_tail_is_right_for_every_size_of_piece),
        CASE(a_missing_directory_loses_only_output),
        CASE(short_output_is_stamped_in_memory),
        CASE(stamps_of_a_file_can_be_followed),
        CASE(stamps_of_head_and_tail_are_right),
        CASE(a_full_disk_leaves_consistent_stamps),
        CASE(the_last_eighth_of_the_disk_stays_free),
        CASE(bytes_for_which_no_mark_fits_are_counted),
        CASE(output_continues_when_space_is_free_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
