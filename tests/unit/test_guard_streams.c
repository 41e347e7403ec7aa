/* Standard output and standard error have a pipe each. */
#include "support/guard_world.h"

#include "os/stamp.h"

/* What the output and the stamps of an end contained. */
struct observed {
    struct world *world;
    char *text[STAMP_STREAMS]; /* all bytes of each stream */
    size_t runs, known;
};

static struct observed observed;

static void add_text(enum stamp_stream stream, struct span piece) {
    CLEANUP(text_clear) struct text text = TEXT_INIT;
    text_adds(&text,
              observed.text[stream] == NULL ? "" : observed.text[stream]);
    text_addspan(&text, piece);
    free(observed.text[stream]);
    observed.text[stream] = span_string(text_span(&text));
}

static void observe(struct span output, struct span coded) {
    struct stamp_walk walk = {0};
    struct stamp run;
    observed.runs = observed.known = 0;
    for (size_t i = 0; i < STAMP_STREAMS; i++) {
        free(observed.text[i]);
        observed.text[i] = span_string(SPAN(""));
    }
    while (stamp_take(&walk, &coded, &run)) {
        assert_true(run.bytes <= output.len - observed.known);
        add_text(run.stream, span_make(output.p + observed.known, run.bytes));
        observed.known += run.bytes;
        observed.runs++;
    }
    assert_int_equal(coded.len, 0);
    assert_int_equal(observed.known, output.len);
}

static void observe_end(void *ctx, const struct guard_end *end) {
    if (!end->output_in_file)
        observe(end->output, end->stamps);
    on_ended(ctx, end);
}

static int set_up_world(void **state, const char *cgroup_root) {
    static const struct guard_events stream_events = {.started = on_started,
                                                      .progress = on_progress,
                                                      .usage = on_usage,
                                                      .ended = observe_end,
                                                      .lost = on_lost};
    struct world *world = world_new(cgroup_root);
    struct guard_options options = {.base_fd = world->base_fd,
                                    .role = "test",
                                    .life_path = "life",
                                    .cgroup_root = cgroup_root,
                                    .launchers = 2};
    struct err err = {0};
    if (!guard_open(&world->loop, &options, &stream_events, world,
                    &world->guard, &err))
        fail_msg("%s", err.text);
    *state = world;
    return 0;
}

static int set_up_streams(void **state) {
    return set_up_world(state, NULL);
}

static int set_up_streams_groups(void **state) {
    return set_up_world(state, "");
}

static int tear_down_streams(void **state) {
    for (size_t i = 0; i < STAMP_STREAMS; i++) {
        free(observed.text[i]);
        observed.text[i] = NULL;
    }
    return tear_down(state);
}

static struct guard_start separate_start(uint64_t id, char *const *argv) {
    struct guard_start start = task(id, argv);
    start.streams = true;
    start.output_path = "out";
    return start;
}

static void observe_file(struct world *world) {
    size_t bytes, coded_bytes;
    char *text = read_file(world->dir, "out", &bytes);
    char *coded = read_file(world->dir, "out.stamps", &coded_bytes);
    observe(span_make(text, bytes), span_make(coded, coded_bytes));
    free(text);
    free(coded);
    unlinkat(world->base_fd, "out", 0);
    unlinkat(world->base_fd, "out.stamps", 0);
}

/* If the task is slow, its output is in the file. */
static struct seen *run_separate(struct world *world, uint64_t id,
                                 const char *text) {
    struct guard_start start = separate_start(id, SH(text));
    guard_start(world->guard, &start);
    struct seen *seen = world_run(world, 1, id);
    if (seen->end.output_in_file)
        observe_file(world);
    return seen;
}

static void each_byte_has_the_stream_it_was_written_to(void **state) {
    struct seen *seen =
        run_separate(*state, 1, "echo one; echo two >&2; echo three");
    assert_int_equal(seen->end.exit_code, 0);
    assert_string_equal(observed.text[STAMP_OUT], "one\nthree\n");
    assert_string_equal(observed.text[STAMP_ERR], "two\n");
}

/* Many tasks in parallel reuse pipes; no output of one reaches another. */
static void reused_pipes_are_empty(void **state) {
    struct world *world = *state;
    for (uint64_t id = 1; id <= 300; id++) {
        struct guard_start start = separate_start(
            id, id % 3 == 0 ? SH("echo out; echo err >&2") : SH(":"));
        start.output_path = NULL;
        start.status_fd = start.progress_fd = true;
        guard_start(world->guard, &start);
    }
    world_run(world, 300, 1);
    for (uint64_t id = 1; id <= 300; id++) {
        const char *output = world->seen[id].output;
        if (id % 3 != 0)
            assert_string_equal(output, "");
        else
            assert_true(strcmp(output, "out\nerr\n") == 0 ||
                        strcmp(output, "err\nout\n") == 0);
    }
}

static void without_streams_both_share_a_pipe(void **state) {
    struct world *world = *state;
    struct guard_start start =
        task(1, SH("echo one; echo two >&2; echo three"));
    guard_start(world->guard, &start);
    world->wanted = 1;
    uv_run(&world->loop, UV_RUN_DEFAULT);
    assert_string_equal(world->seen[1].output, "one\ntwo\nthree\n");
}

static void stamps_of_a_large_output_are_in_a_file_beside_it(void **state) {
    struct seen *seen = run_separate(
        *state, 1, "seq 1 20000; seq 1 20000 >&2; echo end; echo END >&2");
    assert_true(seen->end.output_in_file);
    assert_non_null(strstr(observed.text[STAMP_OUT], "\n20000\nend\n"));
    assert_non_null(strstr(observed.text[STAMP_ERR], "\n20000\nEND\n"));
    assert_int_equal(strlen(observed.text[STAMP_OUT]),
                     strlen(observed.text[STAMP_ERR]));
}

/* If the lines of both streams together are too many, both wait. The lines that
 * are neither free nor fit into pipes and buffers take most of a second. */
static void the_lines_of_both_streams_are_limited(void **state) {
    struct world *world = *state;
    struct guard_start start = separate_start(
        1, SH("i=0; while [ $i -lt 300 ]; do printf '%1023d\\n' $i; "
              "printf '%1023d\\n' $i >&2; i=$((i+1)); done"));
    start.output_lines = 200;
    guard_start(world->guard, &start);
    struct seen *seen = world_run(world, 1, 1);
    assert_true(seen->end.output_in_file);
    observe_file(world);
    assert_int_equal(strlen(observed.text[STAMP_ERR]), 300 * 1024);
    assert_int_equal(strlen(observed.text[STAMP_OUT]), 300 * 1024);
    assert_true(seen->end.run_ns >= NS_PER_S / 2);
}

/* A process that keeps one of the streams open delays the end of the task only
 * for a moment. */
static void
a_background_process_that_holds_standard_error_is_detected(void **state) {
    struct seen *seen = run_separate(
        *state, 1,
        "(exec >&-; trap '' HUP; while :; do sleep 1; done) & echo gone");
    assert_string_equal(observed.text[STAMP_OUT], "gone\n");
    assert_true(seen->end.leftovers);
    assert_false(seen->end.survivors);
}

/* Output that is still being written when the first process has ended is read
 * for a moment. A run that was too slow for this is repeated. */
static void output_written_after_the_first_process_ended_is_read(void **state) {
    struct seen *seen;
    uint64_t id = 0;
    do
        seen = run_separate(*state, ++id,
                            "(sleep 0.02; echo late >&2; echo later) & "
                            "echo first");
    while (seen->end.leftovers && id < 100);
    assert_string_equal(observed.text[STAMP_OUT], "first\nlater\n");
    assert_string_equal(observed.text[STAMP_ERR], "late\n");
    assert_false(seen->end.leftovers);
}

static void a_task_may_close_its_streams(void **state) {
    struct seen *seen = run_separate(
        *state, 1, "exec 2>&-; echo one; sleep 0.3; exec >&-; sleep 0.1");
    assert_int_equal(seen->end.exit_code, 0);
    assert_string_equal(observed.text[STAMP_OUT], "one\n");
    assert_string_equal(observed.text[STAMP_ERR], "");
}

#define BOTH(test)                                                            \
    cmocka_unit_test_setup_teardown(test, set_up_streams, tear_down_streams), \
    {                                                                         \
        .name = #test "_in_groups", .test_func = test,                        \
        .setup_func = set_up_streams_groups,                                  \
        .teardown_func = tear_down_streams                                    \
    }

int main(int argc, char **argv) {
    int status = world_verbs(argc, argv);
    if (status >= 0)
        return status;
    const struct CMUnitTest tests[] = {
        BOTH(each_byte_has_the_stream_it_was_written_to),
        CASE(reused_pipes_are_empty),
        CASE(without_streams_both_share_a_pipe),
        BOTH(stamps_of_a_large_output_are_in_a_file_beside_it),
        BOTH(the_lines_of_both_streams_are_limited),
        BOTH(a_background_process_that_holds_standard_error_is_detected),
        BOTH(output_written_after_the_first_process_ended_is_read),
        BOTH(a_task_may_close_its_streams),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
