/* The whole guard: starts, ends, output and signals. */
#include "support/guard_world.h"

/* ---- plain running ---- */

static void short_output_is_returned_inline(void **state) {
    struct seen *seen = run_sh(*state, 1, "echo out; echo err >&2");
    assert_int_equal(seen->end.result, GUARD_RAN);
    assert_int_equal(seen->end.exit_code, 0);
    assert_int_equal(seen->end.signal, 0);
    assert_string_equal(seen->output, "out\nerr\n");
    assert_int_equal(seen->end.output_total, 8);
    assert_false(seen->end.output_in_file);
    assert_true(seen->end.pid > 0);
    assert_true(seen->end.started.ns > 0);
    assert_true(seen->end.ended.ns > 0);
    assert_true(seen->end.max_rss_kib > 0);
    assert_int_equal(seen->end.killer, GUARD_NOBODY);
}

static void exit_codes_are_reported(void **state) {
    struct seen *seen = run_sh(*state, 1, "exit 42");
    assert_int_equal(seen->end.exit_code, 42);
    assert_int_equal(seen->end.result, GUARD_RAN);
    assert_string_equal(seen->output, "");
}

static void signals_are_reported(void **state) {
    struct seen *seen = run_sh(*state, 1, "kill -USR1 $$; sleep 100");
    assert_int_equal(seen->end.exit_code, -1);
    assert_int_equal(seen->end.signal, SIGUSR1);
    assert_int_equal(seen->end.killer, GUARD_NOBODY);
}

static void a_missing_program_cannot_be_executed(void **state) {
    struct world *world = *state;
    struct guard_start start = task(1, ARGV("no-such-program-here"));
    guard_start(world->guard, &start);
    struct seen *seen = world_run(world, 1, 1);
    assert_int_equal(seen->end.result, GUARD_CANNOT);
    assert_int_equal(seen->end.exit_code, GUARD_NOT_FOUND);
    assert_string_equal(
        seen->error, "cannot execute 'no-such-program-here': no such program");
}

static struct seen *run_script(struct world *world, uint64_t id,
                               const char *name) {
    char path[PATH_MAX + 300];
    snprintf(path, sizeof path, "%s/%s", world->dir, name);
    struct guard_start start = task(id, ARGV(path));
    guard_start(world->guard, &start);
    return world_run(world, 1, id);
}

static void a_file_without_x_bit_cannot_be_executed(void **state) {
    write_script(*state, "plain", "#!/bin/sh\n", 0644);
    struct seen *seen = run_script(*state, 1, "plain");
    assert_int_equal(seen->end.result, GUARD_CANNOT);
    assert_int_equal(seen->end.exit_code, GUARD_NOT_EXECUTABLE);
    assert_non_null(strstr(seen->error, "not executable"));
}

static void a_missing_interpreter_is_named_as_the_cause(void **state) {
    write_script(*state, "bad", "#!/no/such/interpreter\n", 0755);
    struct seen *seen = run_script(*state, 1, "bad");
    assert_int_equal(seen->end.result, GUARD_CANNOT);
    assert_non_null(strstr(seen->error, "interpreter"));
}

static void
a_script_without_an_interpreter_line_is_run_by_the_shell(void **state) {
    write_script(*state, "bare", "echo bare $0\n", 0755);
    struct seen *seen = run_script(*state, 1, "bare");
    assert_int_equal(seen->end.exit_code, 0);
    assert_memory_equal(seen->output, "bare /", 6);
}

static void a_missing_directory_cannot_be_entered(void **state) {
    struct world *world = *state;
    struct guard_start start = task(1, SH("echo no"));
    start.dir = "/no/such/directory";
    guard_start(world->guard, &start);
    struct seen *seen = world_run(world, 1, 1);
    assert_int_equal(seen->end.result, GUARD_CANNOT);
    assert_non_null(strstr(seen->error, "'/no/such/directory'"));
}

static void a_task_gets_its_directory_umask_and_environment(void **state) {
    struct world *world = *state;
    struct guard_start start =
        task(1, SH("pwd; umask; echo $ONE $TWO; echo new > made; ls -l made"));
    start.dir = world->dir;
    start.mask = 077;
    start.env_block = span_make("ONE=first\0TWO=second", 21);
    guard_start(world->guard, &start);
    struct seen *seen = world_run(world, 1, 1);
    assert_non_null(strstr(seen->output, world->dir));
    assert_non_null(strstr(seen->output, "\n0077\nfirst second\n-rw-------"));
}

static void a_child_inherits_only_its_own_descriptors(void **state) {
    struct world *world = *state;
    struct guard_start start = task(1, TASK("inspect"));
    start.status_fd = start.progress_fd = true;
    guard_start(world->guard, &start);
    struct seen *seen = world_run(world, 1, 1);
    assert_int_equal(seen->end.exit_code, 0);
    if (guard_has_cgroup(world->guard))
        assert_string_equal(seen->output, "0 1 2 3 4 odd=0 leader=1\n");
    else /* and the lock of this guard's life */
        assert_non_null(strstr(seen->output, "0 1 2 3 4 "));
}

static void standard_input_is_empty_unless_given(void **state) {
    struct world *world = *state;
    struct seen *seen = run_sh(world, 1, "cat; echo end");
    assert_string_equal(seen->output, "end\n");
    write_script(world, "input", "given\n", 0644);
    struct guard_start start = task(2, SH("cat; echo end"));
    start.stdin_fd = openat(world->base_fd, "input", O_RDONLY | O_CLOEXEC);
    guard_start(world->guard, &start);
    close(start.stdin_fd);
    seen = world_run(world, 1, 2);
    assert_string_equal(seen->output, "given\nend\n");
}

static void arguments_that_are_too_long_are_refused(void **state) {
    struct world *world = *state;
    size_t bytes = 20 << 20;
    char *big = malloc(bytes);
    memset(big, 'x', bytes - 1);
    big[bytes - 1] = '\0';
    struct guard_start start = task(1, ARGV("echo", big));
    guard_start(world->guard, &start);
    struct seen *seen = world_run(world, 1, 1);
    assert_int_equal(seen->end.result, GUARD_CANNOT);
    big[200 << 10] = '\0'; /* short enough for a frame, too long for exec */
    start = task(2, ARGV("echo", big));
    guard_start(world->guard, &start);
    seen = world_run(world, 1, 2);
    assert_int_equal(seen->end.result, GUARD_CANNOT);
    assert_non_null(strstr(seen->error, "too long"));
    free(big);
}

/* ---- output ---- */

static struct seen *run_with_file(struct world *world, char *const *argv,
                                  uint64_t limit) {
    struct guard_start start = task(1, argv);
    start.output_path = "out";
    start.output_max = limit;
    guard_start(world->guard, &start);
    return world_run(world, 1, 1);
}

static void all_of_a_large_output_goes_to_its_file(void **state) {
    struct world *world = *state;
    struct seen *seen = run_with_file(world, TASK("lines", "50000"), 0);
    assert_int_equal(seen->end.exit_code, 0);
    assert_true(seen->end.output_in_file);
    assert_string_equal(seen->output, "");
    size_t bytes;
    char *text = read_file(world->dir, "out", &bytes);
    assert_int_equal(bytes, 50000 * 28);
    assert_int_equal(seen->end.output_bytes, bytes);
    assert_int_equal(seen->end.output_total, bytes);
    char line[64];
    for (int i = 0; i < 50000; i++) {
        snprintf(line, sizeof line, "line %08d of the output\n", i);
        assert_memory_equal(text + i * 28, line, 28);
    }
    free(text);
}

static void binary_output_without_a_line_feed_is_kept(void **state) {
    struct seen *seen = run_sh(*state, 1, "printf 'a\\000b\\377\\001no feed'");
    assert_int_equal(seen->end.output_bytes, 12);
    assert_memory_equal(seen->output, "a\0b\377\001no feed", 12);
}

static void head_and_tail_of_output_over_the_limit_are_kept(void **state) {
    struct world *world = *state;
    struct seen *seen = run_with_file(world, TASK("lines", "50000"), 100000);
    assert_true(seen->end.output_in_file);
    assert_int_equal(seen->end.output_total, 50000 * 28);
    size_t bytes;
    char *text = read_file(world->dir, "out", &bytes);
    assert_int_equal(seen->end.output_bytes, bytes);
    assert_true(bytes > 100000 && bytes < 100400);
    assert_memory_equal(text, "line 00000000 of", 16);
    assert_non_null(strstr(text, "\n[pointsman: output limit reached; "));
    assert_non_null(strstr(text, "\n[pointsman: 1300000 bytes omitted]\n"));
    assert_string_equal(text + bytes - 28, "line 00049999 of the output\n");
    free(text);
}

static void without_a_file_the_last_bytes_are_kept(void **state) {
    struct world *world = *state;
    struct guard_start start = task(1, TASK("lines", "5000"));
    start.inline_max = 280;
    guard_start(world->guard, &start);
    struct seen *seen = world_run(world, 1, 1);
    assert_false(seen->end.output_in_file);
    assert_int_equal(seen->end.output_bytes, 280);
    assert_int_equal(seen->end.output_total, 5000 * 28);
    assert_memory_equal(seen->output, "line 00004990", 13);
    assert_string_equal(seen->output + 252, "line 00004999 of the output\n");
}

static void a_write_error_is_reported_and_the_task_continues(void **state) {
    struct world *world = *state;
    /* A guard whose files may not grow beyond 64 KiB. */
    world_close_guard(world);
    struct rlimit old, small;
    getrlimit(RLIMIT_FSIZE, &old);
    small = old;
    small.rlim_cur = 65536;
    setrlimit(RLIMIT_FSIZE, &small);
    world_open(world, 0);
    setrlimit(RLIMIT_FSIZE, &old);
    struct seen *seen = run_with_file(world, TASK("lines", "50000"), 0);
    assert_int_equal(seen->end.exit_code, 0);
    assert_true(seen->end.output_lost);
    assert_int_equal(seen->end.output_bytes, 65536);
    assert_int_equal(seen->end.output_total, 50000 * 28);
}

static void an_existing_file_is_not_overwritten(void **state) {
    struct world *world = *state;
    write_script(world, "out", "precious", 0644);
    struct seen *seen = run_with_file(world, TASK("lines", "5000"), 0);
    assert_true(seen->end.output_lost);
    assert_false(seen->end.output_in_file);
    assert_int_equal(seen->end.output_bytes, 8192);
    size_t bytes;
    char *text = read_file(world->dir, "out", &bytes);
    assert_string_equal(text, "precious");
    free(text);
}

static void kill_when_file_has_text(uv_timer_t *timer) {
    struct world *world = timer->data;
    struct stat stat;
    if (fstatat(world->base_fd, "out", &stat, 0) == 0 && stat.st_size == 4) {
        guard_kill(world->guard, 1, SIGKILL, 0);
        uv_timer_stop(timer);
    }
}

static void slow_output_can_be_followed_in_its_file(void **state) {
    struct world *world = *state;
    uv_timer_t timer;
    uv_timer_init(&world->loop, &timer);
    timer.data = world;
    uv_timer_start(&timer, kill_when_file_has_text, 1, 5);
    struct guard_start start = task(1, TASK("slow"));
    start.output_path = "out";
    start.progress_fd = true;
    guard_start(world->guard, &start);
    struct seen *seen = world_run(world, 1, 1);
    assert_true(seen->end.output_in_file);
    assert_int_equal(seen->end.output_bytes, 4);
    uv_close((uv_handle_t *)&timer, NULL);
    uv_run(&world->loop, UV_RUN_NOWAIT);
}

/* ---- status and progress ---- */

static void
the_last_line_written_to_the_status_descriptor_counts(void **state) {
    struct world *world = *state;
    struct guard_start start =
        task(1, SH("echo first >&3; echo; printf 'second\\n\\n' >&3; exit 3"));
    start.status_fd = true;
    guard_start(world->guard, &start);
    struct seen *seen = world_run(world, 1, 1);
    assert_true(seen->end.has_status);
    assert_string_equal(seen->status, "second");
    assert_int_equal(seen->end.exit_code, 3);
    start = task(2, SH("printf unfinished >&3"));
    start.status_fd = true;
    guard_start(world->guard, &start);
    assert_string_equal(world_run(world, 1, 2)->status, "unfinished");
    start = task(3, SH(":"));
    start.status_fd = true;
    guard_start(world->guard, &start);
    assert_false(world_run(world, 1, 3)->end.has_status);
}

static void a_status_line_may_be_long(void **state) {
    struct world *world = *state;
    struct guard_start start = task(1, SH("printf 'short\n%0150000d\n' 7 >&3; "
                                          "printf '%0500000d' 8 >&3"));
    start.status_fd = true;
    guard_start(world->guard, &start);
    const char *cut = world_run(world, 1, 1)->status;
    assert_int_equal(strspn(cut, "0"), 160 << 10);
    start = task(2, SH("printf 'short\n%0150000d\n' 7 >&3"));
    start.status_fd = true;
    guard_start(world->guard, &start);
    const char *whole = world_run(world, 1, 2)->status;
    assert_int_equal(strlen(whole), 150000);
    assert_string_equal(whole + strspn(whole, "0"), "7");
}

static void kill_when_progress_is_complete(struct world *world, uint64_t id) {
    if (strcmp(world->progress, "100 done") == 0)
        guard_kill(world->guard, id, SIGKILL, 0);
}

/* The task writes to its status pipe forever, and nowhere else. */
static void a_task_that_keeps_writing_its_status_is_ended(void **state) {
    struct world *world = *state;
    struct guard_start start = task(1, SH("exec >&3 2>&3; while :; do "
                                          "echo mine; printf half; done"));
    start.status_fd = true;
    start.timeout_ms = 100;
    guard_start(world->guard, &start);
    struct seen *seen = world_run(world, 1, 1);
    assert_true(seen->end.timed_out);
    assert_false(seen->end.survivors);
    assert_true(seen->end.has_status);
}

static void a_process_that_keeps_the_status_pipe_open_is_ended(void **state) {
    struct world *world = *state;
    struct guard_start start =
        task(1, SH("sleep 1000 >/dev/null 2>&1 & echo done >&3"));
    start.status_fd = true;
    guard_start(world->guard, &start);
    struct seen *seen = world_run(world, 1, 1);
    assert_string_equal(seen->status, "done");
    assert_false(seen->end.survivors);
}

/* The task runs until its progress has been reported. */
static void progress_is_reported_while_a_task_runs(void **state) {
    struct world *world = *state;
    struct guard_start start =
        task(1, SH("echo 50 half way >&4; echo 100 done >&4; exec sleep 1000"));
    start.progress_fd = true;
    world->on_progress = kill_when_progress_is_complete;
    guard_start(world->guard, &start);
    world_run(world, 1, 1);
    assert_true(world->progressed >= 1);
    assert_string_equal(world->progress, "100 done");
}

/* ---- ends on request ---- */

static void kill_gently(struct world *world, uint64_t id) {
    guard_kill(world->guard, id, SIGTERM, 60000);
}

static void sigterm_ends_a_task(void **state) {
    struct world *world = *state;
    world->on_progress = kill_gently;
    struct guard_start start = task(1, TASK("term"));
    start.progress_fd = true;
    guard_start(world->guard, &start);
    struct seen *seen = world_run(world, 1, 1);
    assert_int_equal(seen->end.signal, SIGTERM);
    assert_int_equal(seen->end.killer, GUARD_CALLER);
    assert_int_equal(seen->end.kill_signal, SIGTERM);
    assert_false(seen->end.timed_out);
    assert_int_equal(world->started, 1);
    assert_int_equal(world->last_pid, seen->end.pid);
}

static void kill_with_short_grace(struct world *world, uint64_t id) {
    guard_kill(world->guard, id, SIGTERM, 20);
}

static void
a_task_that_ignores_sigterm_is_killed_after_the_grace_period(void **state) {
    struct world *world = *state;
    world->on_progress = kill_with_short_grace;
    struct guard_start start = task(1, TASK("deaf"));
    start.progress_fd = true;
    guard_start(world->guard, &start);
    struct seen *seen = world_run(world, 1, 1);
    assert_int_equal(seen->end.signal, SIGKILL);
    assert_int_equal(seen->end.kill_signal, SIGTERM);
}

static void kill_twice(struct world *world, uint64_t id) {
    guard_kill(world->guard, id, SIGTERM, 3600000);
    guard_kill(world->guard, id, SIGKILL, 0);
}

static void a_second_kill_skips_the_grace_period(void **state) {
    struct world *world = *state;
    world->on_progress = kill_twice;
    struct guard_start start = task(1, TASK("deaf"));
    start.progress_fd = true;
    guard_start(world->guard, &start);
    assert_int_equal(world_run(world, 1, 1)->end.signal, SIGKILL);
}

static void a_task_that_has_just_started_can_be_killed(void **state) {
    struct world *world = *state;
    struct guard_start start = task(1, SH("sleep 1000"));
    guard_start(world->guard, &start);
    guard_kill(world->guard, 1, SIGKILL, 0);
    struct seen *seen = world_run(world, 1, 1);
    assert_true(seen->end.result == GUARD_WITHDRAWN ||
                seen->end.signal == SIGKILL);
    assert_int_equal(seen->end.killer, GUARD_CALLER);
}

static void a_timeout_ends_a_task_that_ignores_sigterm(void **state) {
    struct world *world = *state;
    struct guard_start start = task(1, TASK("deaf"));
    start.progress_fd = true;
    start.timeout_ms = 300;
    start.grace_ms = 20;
    guard_start(world->guard, &start);
    struct seen *seen = world_run(world, 1, 1);
    assert_true(seen->end.timed_out);
    assert_int_equal(seen->end.killer, GUARD_TIMEOUT);
    assert_true(seen->end.signal == SIGKILL || seen->end.signal == SIGTERM);
}

static void a_timeout_ends_a_stopped_task(void **state) {
    struct world *world = *state;
    struct guard_start start = task(1, SH("kill -STOP $$"));
    start.timeout_ms = 50;
    start.grace_ms = 3600000; /* TERM must be enough: CONT is sent as well */
    guard_start(world->guard, &start);
    struct seen *seen = world_run(world, 1, 1);
    assert_true(seen->end.timed_out);
    assert_int_equal(seen->end.signal, SIGTERM);
}

/* ---- many ---- */

/* Each task leaves a process behind that has to be killed. */
static void tasks_run_after_others_were_killed(void **state) {
    struct world *world = *state;
    for (uint64_t id = 1; id <= 8; id += 2) {
        struct seen *seen = run_sh(world, id, "sleep 1000 >&- 2>&- & exit 0");
        assert_int_equal(seen->end.exit_code, 0);
        seen = run_sh(world, id + 1, "echo alive");
        assert_int_equal(seen->end.signal, 0);
        assert_int_equal(seen->end.exit_code, 0);
    }
}

static void each_of_thousands_of_tasks_ends_once(void **state) {
    struct world *world = *state;
    enum { MANY = 2000 };
    guard_set_slots(world->guard, 2);
    for (uint64_t id = 0; id < MANY; id++) {
        struct guard_start start = task(id, ARGV("/bin/true"));
        start.outside_slots = id % 7 == 0;
        guard_start(world->guard, &start);
    }
    world_run(world, MANY, 0);
    for (unsigned id = 0; id < MANY; id++) {
        assert_int_equal(world->seen[id].times, 1);
        assert_int_equal(world->seen[id].end.result, GUARD_RAN);
        assert_int_equal(world->seen[id].end.exit_code, 0);
    }
}

static void a_start_that_waits_for_a_slot_can_be_withdrawn(void **state) {
    struct world *world = *state;
    guard_set_slots(world->guard, 1);
    struct guard_start first = task(1, SH("sleep 1000"));
    struct guard_start second = task(2, SH("echo never"));
    guard_start(world->guard, &first);
    guard_start(world->guard, &second);
    guard_kill(world->guard, 2, SIGTERM, 0);
    struct seen *seen = world_run(world, 1, 2);
    assert_int_equal(seen->end.result, GUARD_WITHDRAWN);
    assert_int_equal(seen->end.pid, 0);
    guard_kill(world->guard, 1, SIGKILL, 0);
    world_run(world, 1, 1);
}

static void many_long_tasks_can_be_killed_at_once(void **state) {
    struct world *world = *state;
    enum { MANY = 200 };
    for (uint64_t id = 0; id < MANY; id++) {
        struct guard_start start = task(id, SH("echo $$; exec sleep 1000"));
        guard_start(world->guard, &start);
    }
    run_sh(world, MANY, "sleep 0.2");
    for (uint64_t id = 0; id < MANY; id++)
        guard_kill(world->guard, id, SIGTERM, 60000);
    world_run(world, MANY, 0);
    for (unsigned id = 0; id < MANY; id++)
        assert_int_equal(world->seen[id].times, 1);
}

int main(int argc, char **argv) {
    int status = world_verbs(argc, argv);
    if (status >= 0)
        return status;
    const struct CMUnitTest tests[] = {
        CASE(short_output_is_returned_inline),
        CASE(exit_codes_are_reported),
        CASE(signals_are_reported),
        CASE(a_missing_program_cannot_be_executed),
        CASE(a_file_without_x_bit_cannot_be_executed),
        CASE(a_missing_interpreter_is_named_as_the_cause),
        CASE(a_script_without_an_interpreter_line_is_run_by_the_shell),
        CASE(a_missing_directory_cannot_be_entered),
        CASE(a_task_gets_its_directory_umask_and_environment),
        CASE(a_child_inherits_only_its_own_descriptors),
        CASE(standard_input_is_empty_unless_given),
        CASE(arguments_that_are_too_long_are_refused),
        CASE(all_of_a_large_output_goes_to_its_file),
        CASE(binary_output_without_a_line_feed_is_kept),
        CASE(head_and_tail_of_output_over_the_limit_are_kept),
        CASE(without_a_file_the_last_bytes_are_kept),
        CASE(a_write_error_is_reported_and_the_task_continues),
        CASE(an_existing_file_is_not_overwritten),
        CASE(slow_output_can_be_followed_in_its_file),
        CASE(the_last_line_written_to_the_status_descriptor_counts),
        CASE(a_status_line_may_be_long),
        CASE(a_task_that_keeps_writing_its_status_is_ended),
        CASE(a_process_that_keeps_the_status_pipe_open_is_ended),
        GROUPS(a_task_that_keeps_writing_its_status_is_ended),
        GROUPS(a_process_that_keeps_the_status_pipe_open_is_ended),
        CASE(progress_is_reported_while_a_task_runs),
        CASE(sigterm_ends_a_task),
        CASE(a_task_that_ignores_sigterm_is_killed_after_the_grace_period),
        CASE(a_second_kill_skips_the_grace_period),
        CASE(a_task_that_has_just_started_can_be_killed),
        CASE(a_timeout_ends_a_task_that_ignores_sigterm),
        CASE(a_timeout_ends_a_stopped_task),
        CASE(tasks_run_after_others_were_killed),
        CASE(each_of_thousands_of_tasks_ends_once),
        CASE(a_start_that_waits_for_a_slot_can_be_withdrawn),
        CASE(many_long_tasks_can_be_killed_at_once),
        GROUPS(short_output_is_returned_inline),
        GROUPS(a_child_inherits_only_its_own_descriptors),
        GROUPS(a_task_that_ignores_sigterm_is_killed_after_the_grace_period),
        GROUPS(a_timeout_ends_a_stopped_task),
        GROUPS(tasks_run_after_others_were_killed),
        GROUPS(each_of_thousands_of_tasks_ends_once),
        GROUPS(many_long_tasks_can_be_killed_at_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
