#include "support/test.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "lib/attr.h"
#include "core/job.h"
#include "landing/land.h"

/* Reads the line that land_status_send writes to the status descriptor. As it
 * also prints the line to standard output, which carries the report of this
 * test, both are redirected into one pipe, and the two lines must be equal. */
static void take_line(const struct land_status *status, struct text *ret_line) {
    char buffer[2 * LAND_STATUS_BYTES + 64];
    int ends[2];

    assert_int_equal(pipe(ends), 0);
    assert_true(fcntl(ends[1], F_SETPIPE_SZ, 1 << 20) >= 1 << 20);
    fflush(stdout);
    int out = dup(STDOUT_FILENO);
    dup2(ends[1], STDOUT_FILENO);
    land_status_send(ends[1], status);
    dup2(out, STDOUT_FILENO);
    close(out);
    close(ends[1]);
    ssize_t bytes = read(ends[0], buffer, sizeof(buffer));
    close(ends[0]);
    assert_true(bytes > 0 && bytes % 2 == 0);
    size_t half = (size_t)bytes / 2;
    assert_memory_equal(buffer, buffer + half, half);
    assert_int_equal(buffer[half - 1], '\n');
    text_add(ret_line, buffer, half - 1);
}

static void every_verdict_is_parsed_as_it_was_sent(void **state) {
    (void)state;
    for (int verdict = LAND_DONE; verdict <= LAND_STOPPED; verdict++) {
        struct land_status status;
        CLEANUP(text_clear) struct text line = TEXT_INIT;
        land_status_set(&status, (enum land_verdict)verdict,
                        verdict == LAND_FAILED ? "policy" : "",
                        SPAN("some words"));
        take_line(&status, &line);
        struct land_verdict_line parsed = land_verdict_parse(text_span(&line));
        assert_int_equal(parsed.verdict, verdict);
        assert_true(span_is(parsed.reason, status.reason));
        assert_true(span_is(parsed.text, "some words"));
        assert_true(span_is(parsed.rest, verdict == LAND_FAILED
                                             ? "policy some words"
                                             : "some words"));
    }
}

static void a_status_is_one_line_of_printable_text(void **state) {
    (void)state;
    struct land_status status;
    CLEANUP(text_clear) struct text line = TEXT_INIT;
    land_status_set(&status, LAND_CONFLICT, "", SPAN("a\nb\x01"));
    take_line(&status, &line);
    assert_string_equal(text_string(&line), "conflict a\\nb\\x01");
}

static void a_long_status_is_cut_between_words(void **state) {
    (void)state;
    struct land_status status;
    CLEANUP(text_clear) struct text many = TEXT_INIT;
    CLEANUP(text_clear) struct text line = TEXT_INIT;
    for (int i = 0; i < 2000; i++)
        text_addf(&many, "path%d ", i);
    land_status_set(&status, LAND_CONFLICT, "", text_span(&many));
    take_line(&status, &line);
    assert_true(line.len < LAND_SENTENCE_BYTES + 32);
    assert_true(span_ends(text_span(&line), "..."));
    assert_true(span_starts(text_span(&line), "conflict path0 path1 "));
}

static void the_commits_of_the_largest_group_fit(void **state) {
    (void)state;
    enum { SETS = 1000 };
    struct land_status status;
    char id[JOB_ID_BYTES + 1] = {0}, oid[LAND_COMMIT_BYTES + 1] = {0};
    CLEANUP(text_clear) struct text many = TEXT_INIT;
    CLEANUP(text_clear) struct text line = TEXT_INIT;
    memset(id, 'C', JOB_ID_BYTES);
    memset(oid, 'a', LAND_COMMIT_BYTES);
    text_adds(&many, oid);
    for (int i = 0; i < SETS; i++)
        text_addf(&many, " %s:%s", id, oid);
    land_status_set(&status, LAND_DONE, "", text_span(&many));
    take_line(&status, &line);
    assert_true(span_equal(land_verdict_parse(text_span(&line)).text,
                           text_span(&many)));
}

static void other_lines_have_no_verdict(void **state) {
    (void)state;
    static const char *const lines[] = {"",     " ", "don",
                                        "DONE", "-", "{\"status\":\"done\"}"};
    for (size_t i = 0; i < COUNT(lines); i++)
        assert_int_equal(land_verdict_parse(span_of(lines[i])).verdict,
                         LAND_NONE);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_verdict_is_parsed_as_it_was_sent),
        cmocka_unit_test(a_status_is_one_line_of_printable_text),
        cmocka_unit_test(a_long_status_is_cut_between_words),
        cmocka_unit_test(the_commits_of_the_largest_group_fit),
        cmocka_unit_test(other_lines_have_no_verdict),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
