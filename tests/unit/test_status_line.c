#include "support/test.h"

#include "lib/arena.h"
#include "wire/status_line.h"

static struct arena arena;

static int teardown(void **state) {
    (void)state;
    arena_clear(&arena);
    return 0;
}

static void words_and_json_are_parsed(void **state) {
    (void)state;
    static const struct {
        const char *line;
        enum status_word word;
        const char *reason;
    } cases[] = {
        {"done", STATUS_DONE, ""},
        {" done \r", STATUS_DONE, ""},
        {"failed disk full ", STATUS_FAILED, "disk full"},
        {"temporary", STATUS_TEMPORARY, ""},
        {"permanent no", STATUS_PERMANENT, "no"},
        {"conflict a.c b.c", STATUS_CONFLICT, "a.c b.c"},
        {"incomplete", STATUS_INCOMPLETE, ""},
        {"incomplete_backoff", STATUS_INCOMPLETE_BACKOFF, ""},
        {"error_backoff", STATUS_FAILED, ""},
        {"backoff", STATUS_FAILED, ""},
        {"{\"status\":\"failed\",\"reason\":\"x\\ny\"}", STATUS_FAILED, "x\ny"},
        {"{\"result_bits\":96}", STATUS_FAILED, ""},
        {"{\"result_bits\":4}", STATUS_DONE, ""},
        {"{\"result_bits\":8}", STATUS_INCOMPLETE, ""},
        {"{\"result_bits\":72}", STATUS_INCOMPLETE_BACKOFF, ""},
        {"{\"result_bits\":584}", STATUS_INCOMPLETE_BACKOFF, ""},
        {"{\"result_bits\":16}", STATUS_PERMANENT, ""},
        {"{\"result\":\"failed\"}", STATUS_PERMANENT, ""},
        {"{\"result\":\"done\",\"data\":{\"a\":1}}", STATUS_DONE, ""},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct status_line status;
        struct err err = {0};
        if (!status_line_parse(span_of(cases[i].line), &arena, &status, &err))
            fail_msg("%s", err.text);
        assert_int_equal(status.word, cases[i].word);
        if (!span_is(status.reason, cases[i].reason))
            fail_msg("%s", cases[i].line);
    }
}

static void other_lines_are_refused(void **state) {
    (void)state;
    static const char *const lines[] = {"",
                                        " ",
                                        "Done",
                                        "finished",
                                        "done,",
                                        "{",
                                        "{}",
                                        "[]",
                                        "{\"status\":1}",
                                        "{\"result_bits\":12}",
                                        "{\"result_bits\":20}",
                                        "{\"result_bits\":2052}",
                                        "{\"result\":4}",
                                        "\xff\xfe",
                                        "{\"status\":\"x\"}",
                                        "{\"status\":\"done\",\"reason\":1}",
                                        "{\"status\":\"done\"} x"};
    for (size_t i = 0; i < COUNT(lines); i++) {
        struct status_line status;
        struct err err = {0};
        assert_false(
            status_line_parse(span_of(lines[i]), &arena, &status, &err));
        assert_non_null(strstr(err.text, "cannot parse status"));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(words_and_json_are_parsed),
        cmocka_unit_test(other_lines_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, teardown);
}
