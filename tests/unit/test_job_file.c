#include "support/test.h"

#include "lib/arena.h"
#include "lib/text.h"
#include "wire/job_file.h"

#define NAME "C7_@400000005f5e10a50a000000_4711_build3_BF"
#define SUM "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define JOB                                                \
    "##job\nformat 1\nname " NAME "\ncsid C7\nsha256 " SUM \
    "\nsize 10240\nseq 17\n"
#define META "##movetype\nBF\n##target\nmain\n##files\nb\na\n##odd\n\\##kept\n"

static struct arena arena;

static int teardown(void **state) {
    (void)state;
    arena_clear(&arena);
    return 0;
}

static void assert_round_trip(const char *text) {
    struct job_file job;
    struct refusal why = {0};
    if (!job_file_parse(span_of(text), &arena, &job, &why))
        fail_msg("%s", why.text);
    CLEANUP(text_clear) struct text out = TEXT_INIT;
    assert_true(job_file_format(&job, &out, NULL));
    assert_string_equal(text_string(&out), text);
}

static void assert_refused(const char *text, const char *words) {
    struct job_file job;
    struct refusal why = {0};
    assert_false(job_file_parse(span_of(text), &arena, &job, &why));
    if (!strstr(why.text, words))
        fail_msg("%s", why.text);
}

static void all_parts_of_a_job_file_are_parsed(void **state) {
    (void)state;
    struct job_file job;
    assert_true(job_file_parse(
        SPAN(JOB META "##precursors\nC3\nC5\n##precursors-computed 19\n"),
        &arena, &job, NULL));
    assert_true(span_is(job.name.text, NAME));
    assert_true(span_is(job.sha256, SUM));
    assert_int_equal(job.size, 10240);
    assert_int_equal(job.seq, 17);
    assert_true(job.computed);
    assert_int_equal(job.computed_seq, 19);
    assert_int_equal(job.precursors.count, 2);
    assert_int_equal(job.meta.files.count, 2);
}

static void a_job_file_is_formatted_as_it_was_parsed(void **state) {
    (void)state;
    assert_round_trip(JOB META);
    assert_round_trip(JOB META "##precursors\nC3\n");
    assert_round_trip(JOB META "##precursors\n##precursors-computed 0\n");
    assert_round_trip(JOB META
                      "##precursors\nC3\nC5\n##precursors-computed 19\n");
}

static void invalid_job_files_are_refused(void **state) {
    (void)state;
    assert_refused("", "no section ##job");
    assert_refused(META, "no section ##job");
    assert_refused("##job\nformat 2\n" META, "'format 2'");
    assert_refused("##job\nformat 1\n" META, "no 'name'");
    assert_refused(JOB "size 3\n" META, "'size 3'");
    assert_refused("##job\nformat 1\nname " NAME "\ncsid C8\nsha256 " SUM
                   "\nsize 1\nseq 1\n" META,
                   "differ");
    assert_refused("##job\nformat 1\nname " NAME "\ncsid C7\nsha256 X\n" META,
                   "'sha256 X'");
    assert_refused(JOB "##movetype\nDC\n##target\nm\n##files\na\n",
                   "##movetype is DC");
    assert_refused(JOB META "##precursors-computed x\n", "no event number");
    assert_refused(JOB META JOB, "##job occurs 2 times");
    assert_refused(JOB, "##movetype is missing");
}

static void a_job_file_that_is_too_long_is_not_written(void **state) {
    (void)state;
    struct job_file job;
    struct err err = {0};
    assert_true(job_file_parse(SPAN(JOB META), &arena, &job, NULL));
    size_t count = JOB_FILE_BYTES / 3;
    job.precursors.items = mem_alloc(count * sizeof(struct span));
    job.precursors.count = count;
    for (size_t i = 0; i < count; i++)
        job.precursors.items[i] = SPAN("C3");
    CLEANUP(text_clear) struct text out = TEXT_INIT;
    text_adds(&out, "x");
    assert_false(job_file_format(&job, &out, &err));
    assert_string_equal(text_string(&out), "x");
    assert_int_equal(err.kind, ERR_REFUSED);
    free(job.precursors.items);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_parts_of_a_job_file_are_parsed),
        cmocka_unit_test(a_job_file_is_formatted_as_it_was_parsed),
        cmocka_unit_test(invalid_job_files_are_refused),
        cmocka_unit_test(a_job_file_that_is_too_long_is_not_written),
    };
    return cmocka_run_group_tests(tests, NULL, teardown);
}
