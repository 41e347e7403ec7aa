#include "os/sum.h"

#include <sys/mman.h>
#include <unistd.h>

#include "lib/attr.h"
#include "os/fd.h"
#include "support/test.h"

static const char of_abc[] = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9c"
                             "b410ff61f20015ad";

static void the_sum_of_abc_is_known(void **state) {
    char sum[SUM_TEXT_BYTES];
    (void)state;
    sum_bytes(SPAN("abc"), sum);
    assert_string_equal(sum, of_abc);
}

static void pieces_and_files_have_the_sum_of_the_whole(void **state) {
    CLEANUP(fd_close) int fd = memfd_create("sum", MFD_CLOEXEC);
    char sum[SUM_TEXT_BYTES];
    uint64_t bytes;
    (void)state;
    struct sum *stream = sum_new();
    sum_add(stream, SPAN("a"));
    sum_add(stream, SPAN(""));
    sum_add(stream, SPAN("bc"));
    sum_end(stream, sum);
    assert_string_equal(sum, of_abc);
    assert_int_equal(write(fd, "abc", 3), 3); /* the offset is at the end */
    assert_true(sum_file(fd, sum, &bytes, NULL));
    assert_string_equal(sum, of_abc);
    assert_int_equal(bytes, 3);
    assert_int_equal(lseek(fd, 0, SEEK_CUR), 3);
}

static void an_unreadable_file_has_no_sum(void **state) {
    int ends[2];
    char sum[SUM_TEXT_BYTES];
    uint64_t bytes;
    struct err err = {0};
    (void)state;
    assert_int_equal(pipe(ends), 0);
    assert_false(sum_file(ends[0], sum, &bytes, &err));
    assert_int_equal(err.kind, ERR_CANNOT);
    close(ends[0]);
    close(ends[1]);
}

static void an_id_is_j_and_16_digits_of_base_32(void **state) {
    unsigned char ten[10] = {0};
    char id[ID_TEXT_BYTES];
    (void)state;
    sum_format_id(ten, id);
    assert_string_equal(id, "jaaaaaaaaaaaaaaaa");
    memset(ten, 0xff, sizeof(ten));
    sum_format_id(ten, id);
    assert_string_equal(id, "j7777777777777777");
    memcpy(ten, "\x00\x44\x32\x14\xc7\x42\x54\xb6\x35\xcf", 10);
    sum_format_id(ten, id);
    assert_string_equal(id, "jabcdefghijklmnop");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_sum_of_abc_is_known),
        cmocka_unit_test(pieces_and_files_have_the_sum_of_the_whole),
        cmocka_unit_test(an_unreadable_file_has_no_sum),
        cmocka_unit_test(an_id_is_j_and_16_digits_of_base_32),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
