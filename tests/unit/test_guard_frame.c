/* The frames between the client and the guard: what is encoded is decoded
 * unchanged, and truncated or inconsistent frames are refused. */
#include "support/test.h"

#include "os/guard_frame.h"

static enum guard_frame_found take(struct text *text,
                                   enum guard_frame_kind *ret_kind,
                                   struct span *ret_body) {
    struct span rest = text_span(text);
    return guard_frame_take(&rest, ret_kind, ret_body);
}

static struct span with_nul(const char *string) {
    return span_make(string, strlen(string) + 1);
}

static char *const argv[] = {(char *)(uintptr_t) "make", (char *)(uintptr_t) "",
                             (char *)(uintptr_t) "two words", NULL};
static char *const envp[] = {(char *)(uintptr_t) "PATH=/bin", NULL};

static struct guard_start sample(void) {
    return (struct guard_start){.id = 77,
                                .argv = argv,
                                .envp = envp,
                                .env_block = span_make("A=1\0B=", 7),
                                .dir = "/somewhere",
                                .mask = 027,
                                .lock_path = "run/C1",
                                .stdin_fd = -1,
                                .status_fd = true,
                                .keep_group = true,
                                .timeout_ms = 1000,
                                .grace_ms = 10,
                                .inline_max = 99,
                                .output_max = 12345};
}

static void a_start_decodes_as_it_was_encoded(void **state) {
    (void)state;
    CLEANUP(text_clear) struct text out = TEXT_INIT;
    struct guard_start start = sample();
    assert_true(guard_start_encode(&out, &start));
    enum guard_frame_kind kind;
    struct span body;
    assert_int_equal(take(&out, &kind, &body), GUARD_FRAME_WHOLE);
    assert_int_equal(kind, GUARD_FRAME_START);
    struct guard_start_frame decoded;
    assert_true(guard_start_decode(body, &decoded));
    assert_int_equal(decoded.id, 77);
    assert_int_equal(decoded.flags, GUARD_START_STATUS | GUARD_START_NO_GROUP);
    assert_int_equal(decoded.mask, 027);
    assert_int_equal(decoded.argc, 3);
    assert_int_equal(decoded.envc, 3);
    assert_int_equal(decoded.timeout_ms, 1000);
    assert_int_equal(decoded.grace_ms, 10);
    assert_int_equal(decoded.inline_max, 99);
    assert_int_equal(decoded.output_max, 12345);
    assert_true(span_equal(decoded.argv, span_make("make\0\0two words", 16)));
    assert_true(span_equal(decoded.env, span_make("PATH=/bin\0A=1\0B=", 17)));
    assert_string_equal(decoded.dir.p, "/somewhere");
    assert_string_equal(decoded.lock_path.p, "run/C1");
    assert_int_equal(decoded.output_path.len, 0);
}

static void rights_decode_as_they_were_encoded(void **state) {
    (void)state;
    CLEANUP(text_clear) struct text out = TEXT_INIT;
    const gid_t groups[] = {100, 200, 300};
    const struct guard_user user = {5, 6, groups, COUNT(groups)};
    const struct guard_limit limits[] = {{.what = 7, .value = 64},
                                         {.what = GUARD_PIDS, .value = 1}};
    struct guard_start start = sample();
    start.user = &user;
    start.limits = limits;
    start.limit_count = COUNT(limits);
    start.canary = true;
    start.kill_to = GUARD_TO_CGROUP;
    start.death = GUARD_DEATH_TERM;
    assert_true(guard_start_encode(&out, &start));
    enum guard_frame_kind kind;
    struct span body;
    assert_int_equal(take(&out, &kind, &body), GUARD_FRAME_WHOLE);
    struct guard_start_frame decoded;
    assert_true(guard_start_decode(body, &decoded));
    assert_int_equal(decoded.flags, GUARD_START_STATUS | GUARD_START_NO_GROUP |
                                        GUARD_START_USER | GUARD_START_CANARY |
                                        GUARD_START_TO_CGROUP |
                                        GUARD_START_DEATH_TERM);
    assert_int_equal(decoded.uid, 5);
    assert_int_equal(decoded.gid, 6);
    assert_int_equal(decoded.group_count, 3);
    assert_memory_equal(decoded.groups.p, groups, sizeof groups);
    assert_int_equal(decoded.limit_count, 2);
    assert_memory_equal(decoded.limits.p, limits, sizeof limits);
    /* Counts that contradict the bytes are detected. */
    struct guard_start_frame wrong;
    assert_false(guard_start_decode(span_make(body.p, body.len - 1), &wrong));
}

static void usage_decodes_as_it_was_encoded(void **state) {
    (void)state;
    CLEANUP(text_clear) struct text out = TEXT_INIT;
    struct guard_usage usage = {1, 2, 3, 4}, got;
    guard_usage_encode(&out, &usage);
    enum guard_frame_kind kind;
    struct span body;
    assert_int_equal(take(&out, &kind, &body), GUARD_FRAME_WHOLE);
    assert_int_equal(kind, GUARD_FRAME_USAGE);
    assert_true(guard_usage_decode(body, &got));
    assert_memory_equal(&got, &usage, sizeof usage);
    assert_false(guard_usage_decode(span_make(body.p, body.len - 1), &got));
}

static void an_end_decodes_as_it_was_encoded(void **state) {
    (void)state;
    CLEANUP(text_clear) struct text out = TEXT_INIT;
    struct guard_end end = {.id = UINT64_MAX,
                            .result = GUARD_CANNOT,
                            .error = SPAN("why"),
                            .pid = 5,
                            .exit_code = -1,
                            .signal = 9,
                            .core_dumped = true,
                            .timed_out = true,
                            .killer = GUARD_TIMEOUT,
                            .kill_signal = 15,
                            .leftovers = true,
                            .user_us = 1,
                            .system_us = 2,
                            .max_rss_kib = 3,
                            .started = {4},
                            .ended = {5},
                            .run_ns = 6,
                            .cpu_us = 7,
                            .peak_kib = 8,
                            .procs_peak = 9,
                            .read_bytes = 10,
                            .written_bytes = 11,
                            .exited_ns = 12,
                            .closed_ns = 13,
                            .gone_ns = 14,
                            .has_status = true,
                            .status = SPAN("done"),
                            .output = span_make("a\0b", 3),
                            .output_bytes = 3,
                            .output_total = 7,
                            .output_lost = true,
                            .stamps_lost = true,
                            .lost_bytes = 15,
                            .unmarked_bytes = 16,
                            .lost_sys = 17};
    guard_end_encode(&out, &end);
    enum guard_frame_kind kind;
    struct span body;
    assert_int_equal(take(&out, &kind, &body), GUARD_FRAME_WHOLE);
    assert_int_equal(kind, GUARD_FRAME_ENDED);
    struct guard_end got;
    assert_true(guard_end_decode(body, &got));
    assert_true(got.id == end.id && got.result == end.result);
    assert_true(span_is(got.error, "why") && span_is(got.status, "done"));
    assert_true(span_equal(got.output, end.output));
    assert_true(got.pid == 5 && got.exit_code == -1 && got.signal == 9);
    assert_true(got.core_dumped && got.timed_out && got.leftovers);
    assert_true(!got.survivors && !got.output_in_file && got.output_lost);
    assert_true(got.lost_bytes == 15 && got.unmarked_bytes == 16);
    assert_true(got.stamps_lost);
    assert_int_equal(got.lost_sys, 17);
    assert_true(got.killer == GUARD_TIMEOUT && got.kill_signal == 15);
    assert_true(got.user_us == 1 && got.system_us == 2 && got.max_rss_kib == 3);
    assert_true(got.started.ns == 4 && got.ended.ns == 5 && got.run_ns == 6);
    assert_true(got.cpu_us == 7 && got.peak_kib == 8 && got.procs_peak == 9);
    assert_true(got.read_bytes == 10 && got.written_bytes == 11);
    assert_true(got.exited_ns == 12 && got.closed_ns == 13);
    assert_true(got.gone_ns == 14);
    assert_true(got.output_bytes == 3 && got.output_total == 7);
}

static void small_frames_decode_as_they_were_encoded(void **state) {
    (void)state;
    CLEANUP(text_clear) struct text out = TEXT_INIT;
    struct guard_hello hello = {.launchers = 3,
                                .slots = 4,
                                .any_cgroup = true,
                                .role = with_nul("exec")};
    struct guard_command command = {9, 15, 1000};
    struct guard_ready ready = {.has_cgroup = true,
                                .pid = 12,
                                .mode = SPAN("cgroup"),
                                .tree = with_nul("/sys/x")};
    struct guard_report news = {
        .id = 1, .pid = 2, .at = {3}, .line = SPAN("50 half")};
    guard_hello_encode(&out, &hello);
    guard_command_encode(&out, GUARD_FRAME_KILL, &command);
    guard_ready_encode(&out, GUARD_FRAME_READY, &ready);
    guard_report_encode(&out, GUARD_FRAME_PROGRESS, &news);
    struct span rest = text_span(&out), body;
    enum guard_frame_kind kind;
    assert_int_equal(guard_frame_take(&rest, &kind, &body), GUARD_FRAME_WHOLE);
    struct guard_hello got_hello;
    assert_true(guard_hello_decode(body, &got_hello));
    assert_true(got_hello.launchers == 3 && got_hello.slots == 4 &&
                got_hello.any_cgroup);
    assert_string_equal(got_hello.role.p, "exec");
    assert_int_equal(got_hello.life_path.len, 0);
    assert_int_equal(guard_frame_take(&rest, &kind, &body), GUARD_FRAME_WHOLE);
    struct guard_command got_command;
    assert_true(guard_command_decode(body, &got_command));
    assert_memory_equal(&got_command, &command, sizeof command);
    assert_int_equal(guard_frame_take(&rest, &kind, &body), GUARD_FRAME_WHOLE);
    struct guard_ready got_ready;
    assert_true(guard_ready_decode(body, &got_ready));
    assert_true(got_ready.has_cgroup && got_ready.pid == 12);
    assert_true(span_is(got_ready.mode, "cgroup"));
    assert_string_equal(got_ready.tree.p, "/sys/x");
    assert_int_equal(guard_frame_take(&rest, &kind, &body), GUARD_FRAME_WHOLE);
    struct guard_report got_news;
    assert_true(guard_report_decode(body, &got_news));
    assert_true(got_news.id == 1 && got_news.pid == 2 && got_news.at.ns == 3);
    assert_true(span_is(got_news.line, "50 half"));
    assert_int_equal(guard_frame_take(&rest, &kind, &body), GUARD_FRAME_NONE);
}

static void a_truncated_frame_is_not_taken(void **state) {
    (void)state;
    CLEANUP(text_clear) struct text out = TEXT_INIT;
    struct guard_start start = sample();
    guard_start_encode(&out, &start);
    for (size_t len = 0; len < out.len; len++) {
        struct span rest = span_make(out.p, len), body;
        enum guard_frame_kind kind;
        assert_int_equal(guard_frame_take(&rest, &kind, &body),
                         GUARD_FRAME_NONE);
        assert_int_equal(rest.len, len);
    }
}

static void a_truncated_body_is_refused(void **state) {
    (void)state;
    CLEANUP(text_clear) struct text out = TEXT_INIT;
    struct guard_start start = sample();
    guard_start_encode(&out, &start);
    struct span body =
        span_make(out.p + GUARD_FRAME_HEAD, out.len - GUARD_FRAME_HEAD);
    struct guard_start_frame decoded;
    for (size_t len = 0; len < body.len; len++)
        assert_false(guard_start_decode(span_make(body.p, len), &decoded));
}

static void a_huge_or_unknown_frame_is_bad(void **state) {
    (void)state;
    static const unsigned char huge[8] = {0xff, 0xff, 0xff, 0xff, 2};
    static const unsigned char unknown[8] = {0, 0, 0, 0, 200};
    static const unsigned char zero[8] = {0};
    const unsigned char *const all[] = {huge, unknown, zero};
    for (size_t i = 0; i < COUNT(all); i++) {
        struct span rest = span_make(all[i], 8), body;
        enum guard_frame_kind kind;
        assert_int_equal(guard_frame_take(&rest, &kind, &body),
                         GUARD_FRAME_BAD);
    }
}

static void wrong_counts_are_refused(void **state) {
    (void)state;
    CLEANUP(text_clear) struct text out = TEXT_INIT;
    struct guard_start start = sample();
    guard_start_encode(&out, &start);
    /* argc and envc are at offsets 44 and 48 of the fixed part. */
    for (size_t at = 44; at <= 48; at += 4)
        for (unsigned count = 0; count < 10; count++) {
            uint32_t old, wrong = count == 3 ? UINT32_MAX : count;
            char *p = out.p + GUARD_FRAME_HEAD + at;
            memcpy(&old, p, sizeof old);
            assert_int_equal(old, 3);
            memcpy(p, &wrong, sizeof wrong);
            struct guard_start_frame decoded;
            assert_false(guard_start_decode(
                span_make(out.p + GUARD_FRAME_HEAD, out.len - GUARD_FRAME_HEAD),
                &decoded));
            memcpy(p, &old, sizeof old);
        }
}

static void a_start_that_is_too_large_is_not_encoded(void **state) {
    (void)state;
    CLEANUP(text_clear) struct text out = TEXT_INIT;
    text_adds(&out, "before");
    size_t bytes = (size_t)GUARD_FRAME_MAX + 1;
    char *big = malloc(bytes);
    memset(big, 'x', bytes - 1);
    big[bytes - 1] = '\0';
    struct guard_start start = sample();
    start.dir = big;
    assert_false(guard_start_encode(&out, &start));
    assert_string_equal(text_string(&out), "before");
    free(big);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_start_decodes_as_it_was_encoded),
        cmocka_unit_test(rights_decode_as_they_were_encoded),
        cmocka_unit_test(usage_decodes_as_it_was_encoded),
        cmocka_unit_test(an_end_decodes_as_it_was_encoded),
        cmocka_unit_test(small_frames_decode_as_they_were_encoded),
        cmocka_unit_test(a_truncated_frame_is_not_taken),
        cmocka_unit_test(a_truncated_body_is_refused),
        cmocka_unit_test(a_huge_or_unknown_frame_is_bad),
        cmocka_unit_test(wrong_counts_are_refused),
        cmocka_unit_test(a_start_that_is_too_large_is_not_encoded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
