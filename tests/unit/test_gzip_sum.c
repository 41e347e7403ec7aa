/* The expected sums come from gzip(1): printf 123456789 | gzip -n */
#include "wire/gzip_sum.h"

#include "support/test.h"

#define UNPACKED "123456789" /* its CRC-32 is 0xcbf43926 */

static const unsigned char packed[] = {
    0x1f, 0x8b, 0x08, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x03,
    0x33, 0x34, 0x32, 0x36, 0x31, 0x35, 0x33, 0xb7, 0xb0, 0x04,
    0x00, 0x26, 0x39, 0xf4, 0xcb, 0x09, 0x00, 0x00, 0x00};

/* Feeds both in pieces of `piece` bytes. */
static bool agrees(const unsigned char *from, const char *to, size_t piece) {
    struct gzip_sum sum = GZIP_SUM_INIT;
    size_t bytes = sizeof(packed), text = strlen(to);
    for (size_t at = 0; at < bytes; at += piece)
        gzip_sum_packed(&sum, from + at,
                        bytes - at < piece ? bytes - at : piece);
    for (size_t at = 0; at < text; at += piece)
        gzip_sum_unpacked(&sum, to + at, text - at < piece ? text - at : piece);
    return gzip_sum_agrees(&sum);
}

static void the_sums_agree_whatever_the_sizes_of_the_pieces(void **state) {
    (void)state;
    for (size_t piece = 1; piece <= sizeof(packed); piece++)
        assert_true(agrees(packed, UNPACKED, piece));
}

static void another_content_or_length_does_not_agree(void **state) {
    unsigned char damaged[sizeof(packed)];
    (void)state;
    assert_false(agrees(packed, "123456780", 4));
    assert_false(agrees(packed, "12345678", 4));
    for (size_t at = sizeof(packed) - GZIP_END_BYTES; at < sizeof(packed);
         at++) {
        memcpy(damaged, packed, sizeof(packed));
        damaged[at] ^= 0x10;
        assert_false(agrees(damaged, UNPACKED, 4));
    }
}

static void a_file_that_is_not_gzip_has_no_sums(void **state) {
    unsigned char other[sizeof(packed)];
    (void)state;
    memcpy(other, packed, sizeof(packed));
    other[1] = 0x8c;
    assert_true(agrees(other, "anything", 3));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_sums_agree_whatever_the_sizes_of_the_pieces),
        cmocka_unit_test(another_content_or_length_does_not_agree),
        cmocka_unit_test(a_file_that_is_not_gzip_has_no_sums),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
