/* Lines of large outputs are found without reading the output again. */
#include <fcntl.h>
#include <unistd.h>

#include "api/log_index.h"
#include "support/test.h"

enum { LINES = 1000000, FIRST = 13 };

static int fd;
static uint64_t bytes;

/* The output "0\n1\n2\n"... follows other bytes, as in a segment. */
static int setup(void **state) {
    (void)state;
    CLEANUP(text_clear) struct text text = TEXT_INIT;
    char *path = test_dir();
    fd = open(path, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (fd < 0) {
        text_addf(&text, "%s/output", path);
        fd = open(text_string(&text), O_CREAT | O_RDWR | O_CLOEXEC, 0600);
        text_reset(&text);
    }
    assert_true(fd >= 0);
    text_adds(&text, "another one's");
    assert_int_equal(text.len, FIRST);
    for (int i = 0; i < LINES; i++)
        text_addf(&text, "%d\n", i);
    assert_int_equal(write(fd, text.p, text.len), text.len);
    bytes = text.len - FIRST;
    return 0;
}

static int teardown(void **state) {
    (void)state;
    close(fd);
    return 0;
}

static struct line_index_place find(struct log_indexes *indexes, uint64_t num,
                                    uint64_t line, unsigned *ret_turns) {
    struct line_index_place place;
    struct log_name name = {.num = num, .attempt = 1};
    *ret_turns = 1;
    struct output_view view = {.fd = fd, .first = FIRST, .bytes = bytes};
    while (!log_index_find(indexes, name, &view, line, &place))
        (*ret_turns)++;
    return place;
}

static int number_at(uint64_t offset) {
    char text[16] = {0};
    assert_true(pread(fd, text, sizeof(text) - 1, FIRST + (off_t)offset) > 0);
    return atoi(text);
}

static void a_line_is_found_from_the_index_entry_before_it(void **state) {
    (void)state;
    struct log_indexes indexes = {0};
    unsigned turns;
    static const uint64_t lines[] = {0, 1, 63, 64, 65, 12345, 999999};
    for (size_t i = 0; i < COUNT(lines); i++) {
        struct line_index_place place = find(&indexes, 1, lines[i], &turns);
        assert_true(place.line <= lines[i]);
        assert_true(lines[i] - place.line < LINE_INDEX_EVERY);
        assert_int_equal(number_at(place.offset), place.line);
    }
    log_indexes_clear(&indexes);
}

static void a_large_output_is_read_in_steps_and_only_once(void **state) {
    (void)state;
    struct log_indexes indexes = {0};
    unsigned turns;
    find(&indexes, 1, LINES - 1, &turns);
    assert_int_equal(turns, bytes / LOG_INDEX_STEP_BYTES + 1);
    find(&indexes, 1, LINES - 1, &turns);
    assert_int_equal(turns, 1);
    log_indexes_clear(&indexes);
}

static void the_least_recently_used_index_is_evicted(void **state) {
    (void)state;
    struct log_indexes indexes = {0};
    unsigned turns;
    for (uint64_t num = 1; num <= LOG_INDEXES + 1; num++) {
        find(&indexes, num, LINES - 1, &turns);
        assert_true(turns > 1);
        find(&indexes, 1, 0, &turns); /* keep the first index in use */
    }
    find(&indexes, 1, LINES - 1, &turns);
    assert_int_equal(turns, 1);
    find(&indexes, 2, LINES - 1, &turns);
    assert_true(turns > 1);
    log_indexes_clear(&indexes);
}

static void a_search_beyond_the_end_stops_there(void **state) {
    (void)state;
    struct log_indexes indexes = {0};
    unsigned turns;
    struct line_index_place place = find(&indexes, 1, UINT64_MAX, &turns);
    assert_true(place.line <= LINES);
    log_indexes_clear(&indexes);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_line_is_found_from_the_index_entry_before_it),
        cmocka_unit_test(a_large_output_is_read_in_steps_and_only_once),
        cmocka_unit_test(the_least_recently_used_index_is_evicted),
        cmocka_unit_test(a_search_beyond_the_end_stops_there),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
