#include "os/packed.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/random.h"
#include "os/output.h"
#include "support/test.h"

enum { BYTES = 3 * PACKED_FRAME_BYTES + 12345 };

static char *plain;

static int memory_file(void) {
    int fd = memfd_create("packed", MFD_CLOEXEC);
    assert_true(fd >= 0);
    return fd;
}

static int setup(void **state) {
    struct random random;
    (void)state;
    plain = malloc(BYTES);
    random_init(&random, 1);
    for (size_t i = 0; i < BYTES; i++)
        plain[i] = "abcdefgh\n\0\033"[random_below(&random, 11)];
    return 0;
}

static int teardown(void **state) {
    (void)state;
    free(plain);
    return 0;
}

static int pack(size_t bytes) {
    int from = memory_file(), to = memory_file();
    struct err err = {0};
    assert_int_equal(write(from, plain, bytes), bytes);
    if (!packed_write(from, to, &err)) {
        if (err.kind == ERR_UNAVAILABLE)
            test_skip(err.text);
        fail_msg("%s", err.text);
    }
    close(from);
    return to;
}

static void read_back(struct packed *packed, uint64_t at, size_t bytes) {
    char *block = malloc(bytes + 1);
    size_t got = 0;
    while (got < bytes) {
        ssize_t n = packed_read(packed, at + got, block + got, bytes - got);
        assert_true(n > 0);
        got += (size_t)n;
    }
    assert_memory_equal(block, plain + at, bytes);
    free(block);
}

static void a_packed_file_can_be_read_from_any_position(void **state) {
    (void)state;
    struct packed *packed;
    struct random random;
    struct err err = {0};
    char c;
    int fd = pack(BYTES);
    random_init(&random, 2);
    assert_true(packed_open(fd, &packed, &err));
    assert_int_equal(packed_bytes(packed), BYTES);
    assert_true(lseek(fd, 0, SEEK_END) < BYTES);
    read_back(packed, 0, BYTES);
    for (int i = 0; i < 100; i++) {
        uint64_t at = random_below(&random, BYTES);
        read_back(packed, at, (size_t)random_below(&random, BYTES - at) + 1);
    }
    read_back(packed, PACKED_FRAME_BYTES - 1, 2);
    read_back(packed, BYTES - 1, 1);
    assert_int_equal(packed_read(packed, BYTES, &c, 1), 0);
    packed_close(packed);
    close(fd);
}

static void an_empty_file_can_be_packed(void **state) {
    (void)state;
    struct packed *packed;
    struct err err = {0};
    char c;
    int fd = pack(0);
    assert_true(packed_open(fd, &packed, &err));
    assert_int_equal(packed_bytes(packed), 0);
    assert_int_equal(packed_read(packed, 0, &c, 1), 0);
    packed_close(packed);
    close(fd);
}

static void a_truncated_file_is_rejected(void **state) {
    (void)state;
    struct packed *packed;
    struct err err = {0};
    int fd = pack(BYTES);
    for (off_t size = lseek(fd, 0, SEEK_END) - 1; size > 0; size /= 2) {
        assert_int_equal(ftruncate(fd, size), 0);
        assert_false(packed_open(fd, &packed, &err));
        assert_int_equal(err.kind, ERR_DATA);
    }
    close(fd);
}

static void damage_is_a_read_error(void **state) {
    (void)state;
    struct packed *packed;
    struct err err = {0};
    char block[64], zero[4096] = {0};
    int fd = pack(BYTES);
    assert_int_equal(pwrite(fd, zero, sizeof zero, 0), sizeof zero);
    assert_true(packed_open(fd, &packed, &err));
    assert_int_equal(packed_read(packed, 5, block, sizeof block), -1);
    read_back(packed, PACKED_FRAME_BYTES, 100); /* the next frame is intact */
    packed_close(packed);
    close(fd);
}

static void a_packed_output_keeps_its_place(void **state) {
    (void)state;
    CLEANUP(text_clear) struct text path = TEXT_INIT;
    char place[OUTPUT_PLACE_BYTES], block[100];
    struct output *output;
    struct output_view view;
    struct err err = {0};
    int base_fd = open(test_dir(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_true(output_open(base_fd, true, &output, &err));
    assert_true(output_file(output, 5, 0, 1, &path, place, &err));
    int fd = openat(base_fd, text_string(&path), O_WRONLY | O_CREAT | O_CLOEXEC,
                    0600);
    assert_int_equal(write(fd, plain, BYTES), BYTES);
    close(fd);
    if (!output_pack(output, span_of(place), &err))
        test_skip(err.text);
    assert_int_equal(faccessat(base_fd, text_string(&path), F_OK, 0), -1);
    assert_true(output_view_open(output, span_of(place), &view, &err));
    assert_int_equal(view.bytes, BYTES);
    assert_int_equal(output_view_read(&view, 70000, block, sizeof block),
                     sizeof block);
    assert_memory_equal(block, plain + 70000, sizeof block);
    output_view_close(&view);
    text_adds(&path, ".zst");
    assert_int_equal(unlinkat(base_fd, text_string(&path), 0), 0);
    assert_false(output_view_open(output, span_of(place), &view, &err));
    assert_int_equal(err.kind, ERR_NO_JOB);
    assert_false(output_pack(output, SPAN("s1.0.5"), &err));
    output_close(output);
    close(base_fd);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_packed_file_can_be_read_from_any_position),
        cmocka_unit_test(an_empty_file_can_be_packed),
        cmocka_unit_test(a_truncated_file_is_rejected),
        cmocka_unit_test(damage_is_a_read_error),
        cmocka_unit_test(a_packed_output_keeps_its_place),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
