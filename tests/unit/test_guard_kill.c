/* The whole guard: which process gets which signal, and when. */
#include "support/guard_world.h"

#include "os/guard_task.h"

/* ---- several requests to kill ---- */

static struct mono at_ms(int64_t ms) {
    return (struct mono){ms * NS_PER_MS};
}

static struct guard_task_request request_of(const int64_t (*kills)[2],
                                            size_t count) {
    struct guard_task_request request = {.kill_at = MONO_NEVER};
    for (size_t i = 0; i < count; i++)
        guard_task_request_add(&request, (int)kills[i][0], kills[i][1],
                               at_ms(100));
    return request;
}

#define REQUEST(...)                              \
    request_of((const int64_t[][2]){__VA_ARGS__}, \
               sizeof((const int64_t[][2]){__VA_ARGS__}) / sizeof(int64_t[2]))

static void kill_overrides_term_in_any_order(void **state) {
    (void)state;
    struct guard_task_request request = REQUEST({SIGTERM, 500}, {SIGKILL, 0});
    assert_int_equal(request.signal, SIGKILL);
    assert_int_equal(request.kill_at.ns, MONO_NEVER.ns);
    request = REQUEST({SIGKILL, 0}, {SIGTERM, 500});
    assert_int_equal(request.signal, SIGKILL);
    assert_int_equal(request.kill_at.ns, MONO_NEVER.ns);
}

static void the_earliest_time_for_kill_counts(void **state) {
    (void)state;
    struct guard_task_request request =
        REQUEST({SIGTERM, 500}, {SIGTERM, 20}, {SIGTERM, 900});
    assert_int_equal(request.signal, SIGTERM);
    assert_int_equal(request.kill_at.ns, at_ms(120).ns);
}

static void a_later_term_does_not_cancel_a_kill(void **state) {
    (void)state;
    struct guard_task_request request =
        REQUEST({SIGTERM, 500}, {SIGTERM, GUARD_NO_KILL});
    assert_int_equal(request.kill_at.ns, at_ms(600).ns);
    request = REQUEST({SIGTERM, GUARD_NO_KILL});
    assert_int_equal(request.signal, SIGTERM);
    assert_int_equal(request.kill_at.ns, MONO_NEVER.ns);
}

static void a_grace_period_of_zero_means_kill(void **state) {
    (void)state;
    assert_int_equal(REQUEST({SIGTERM, 0}).signal, SIGKILL);
    assert_int_equal(REQUEST({SIGTERM, 1}).signal, SIGTERM);
    assert_int_equal(REQUEST({SIGTERM, 1}).kill_at.ns, at_ms(101).ns);
}

static void the_last_of_two_signals_is_sent(void **state) {
    (void)state;
    assert_int_equal(REQUEST({SIGHUP, 500}, {SIGTERM, 900}).signal, SIGTERM);
}

/* ---- limited rate of output ---- */

static void the_lines_of_one_second_are_free(void **state) {
    (void)state;
    struct guard_pace pace;
    guard_pace_init(&pace, 4);
    struct mono now = at_ms(5000);
    assert_true(guard_pace_charge(&pace, SPAN("a\nb\nc\nd\n"), now).ns <=
                now.ns);
    assert_int_equal(guard_pace_charge(&pace, SPAN("e\n"), now).ns,
                     at_ms(5250).ns);
    /* Even after a long silence, only one second's worth is allowed. */
    now = at_ms(60000);
    assert_true(guard_pace_charge(&pace, SPAN("a\nb\nc\nd\n"), now).ns <=
                now.ns);
    assert_true(guard_pace_charge(&pace, SPAN("e\n"), now).ns > now.ns);
}

static void without_a_limit_there_is_no_delay(void **state) {
    (void)state;
    struct guard_pace pace;
    guard_pace_init(&pace, 0);
    for (int i = 0; i < 100; i++)
        assert_true(guard_pace_charge(&pace, SPAN("\n\n\n\n"), at_ms(7)).ns <=
                    0);
}

static void bytes_without_line_feeds_count_as_well(void **state) {
    (void)state;
    struct guard_pace pace;
    char *bytes = calloc(1, 3 << 16);
    guard_pace_init(&pace, 1);
    assert_int_equal(
        guard_pace_charge(&pace, span_make(bytes, 3 << 16), at_ms(9000)).ns,
        at_ms(11000).ns);
    free(bytes);
}

/* ---- tasks of this program ---- */

static volatile sig_atomic_t terms;

static void on_term(int signal) {
    (void)signal;
    terms++;
}

static void catch_term(void) {
    struct sigaction action = {.sa_handler = on_term};
    sigaction(SIGTERM, &action, NULL);
}

static void wait_term(void) {
    sigset_t none, term;
    sigemptyset(&term);
    sigaddset(&term, SIGTERM);
    sigprocmask(SIG_BLOCK, &term, &none);
    while (terms == 0)
        sigsuspend(&none);
    terms = 0;
    sigprocmask(SIG_SETMASK, &none, NULL);
}

/* Writes "termed" for every TERM and continues. */
static void task_stubborn(void) {
    catch_term();
    say_fd(GUARD_PROGRESS_FD, "ready\n");
    for (;;) {
        wait_term();
        say_fd(GUARD_PROGRESS_FD, "termed\n");
    }
}

/* A parent and its child; each writes a line when it gets TERM. With `wait`,
 * the parent first waits for the child; with `apart`, the child has its own
 * session. */
static int task_family(bool wait, bool apart) {
    int fds[2];
    char c;
    assert_int_equal(pipe(fds), 0);
    catch_term();
    pid_t pid = fork();
    if (pid == 0) {
        if (apart)
            setsid();
        close(fds[0]);
        close(fds[1]);
        wait_term();
        say_fd(1, "child\n");
        _exit(0);
    }
    close(fds[1]);
    if (read(fds[0], &c, 1) == 0) /* the child has its session */
        say_fd(GUARD_PROGRESS_FD, "ready\n");
    wait_term();
    if (wait)
        waitpid(pid, NULL, 0);
    say_fd(1, "parent\n");
    return 0;
}

/* Creates a file on TERM, and runs until then. */
static int task_file_on_term(const char *file) {
    catch_term();
    say_fd(GUARD_PROGRESS_FD, "ready\n");
    wait_term();
    int fd = open(file, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    return fd < 0;
}

static int own_task(int argc, char **argv) {
    const char *verb = argv[0], *arg = argc > 1 ? argv[1] : "";
    if (strcmp(verb, "stubborn") == 0)
        task_stubborn();
    if (strcmp(verb, "family") == 0)
        return task_family(strcmp(arg, "go") != 0, strcmp(arg, "apart") == 0);
    if (strcmp(verb, "file-on-term") == 0)
        return task_file_on_term(arg);
    return 9;
}

#define OWN(...) ARGV(self, "own", __VA_ARGS__)

/* ---- ways to kill ---- */

static void term_then_more(struct world *world, uint64_t id) {
    if (strcmp(world->progress, "ready") == 0)
        guard_kill(world->guard, id, SIGTERM, GUARD_NO_KILL);
    else
        guard_kill(world->guard, id, SIGTERM, 1);
}

static void a_task_that_ignores_term_can_be_killed_later(void **state) {
    struct world *world = *state;
    world->on_progress = term_then_more;
    struct guard_start start = task(1, OWN("stubborn"));
    start.progress_fd = true;
    guard_start(world->guard, &start);
    struct seen *seen = world_run(world, 1, 1);
    assert_true(world->progressed >= 2);
    assert_int_equal(seen->end.signal, SIGKILL);
    assert_int_equal(seen->end.kill_signal, SIGTERM);
}

static void a_timeout_without_kill_sends_only_term(void **state) {
    struct world *world = *state;
    world->on_progress = NULL;
    struct guard_start start = task(1, OWN("file-on-term", "/dev/null"));
    start.progress_fd = true;
    start.timeout_ms = 30;
    start.grace_ms = GUARD_NO_KILL;
    guard_start(world->guard, &start);
    struct seen *seen = world_run(world, 1, 1);
    /* The timeout may expire before the task catches TERM. */
    assert_true(seen->end.exit_code == 0 || seen->end.signal == SIGTERM);
    assert_true(seen->end.timed_out);
}

/* 100 lines are free, and the pipe and the buffer hold four lines each; the
 * others need almost two seconds. No line is lost. */
static void a_task_that_writes_too_fast_is_slowed_down(void **state) {
    struct world *world = *state;
    struct guard_start start =
        task(1, SH("i=0; while [ $i -lt 300 ]; do printf '%1023d\\n' $i; "
                   "i=$((i+1)); done"));
    start.output_lines = 100;
    start.output_path = "out";
    guard_start(world->guard, &start);
    struct seen *seen = world_run(world, 1, 1);
    assert_int_equal(seen->end.exit_code, 0);
    assert_int_equal(seen->end.output_total, 300 * 1024);
    assert_true(seen->end.run_ns > 1500 * NS_PER_MS);
}

/* ---- destinations ---- */

static void term_with_long_grace(struct world *world, uint64_t id) {
    guard_kill(world->guard, id, SIGTERM, 3600000);
}

static struct seen *run_family(struct world *world, const char *how,
                               enum guard_to to) {
    world->on_progress = term_with_long_grace;
    struct guard_start start = task(1, OWN("family", how));
    start.progress_fd = true;
    start.kill_to = to;
    guard_start(world->guard, &start);
    return world_run(world, 1, 1);
}

static void term_to_the_group_reaches_the_child(void **state) {
    struct seen *seen = run_family(*state, "wait", GUARD_TO_GROUP);
    assert_string_equal(seen->output, "child\nparent\n");
    assert_int_equal(seen->end.exit_code, 0);
}

static void guard_kill_soon(uv_timer_t *timer) {
    struct world *world = timer->data;
    guard_kill(world->guard, 1, SIGKILL, 0);
}

/* The child keeps the pipe open, so it would get the rest of the grace
 * period. */
static void term_to_the_first_process_reaches_only_it(void **state) {
    struct world *world = *state;
    uv_timer_t timer;
    uv_timer_init(&world->loop, &timer);
    timer.data = world;
    uv_timer_start(&timer, guard_kill_soon, 300, 300);
    struct seen *seen = run_family(world, "go", GUARD_TO_CHILD);
    assert_true(strstr(seen->output, "child") == NULL);
    uv_close((uv_handle_t *)&timer, NULL);
    uv_run(&world->loop, UV_RUN_NOWAIT);
}

static void term_to_the_cgroup_reaches_other_sessions(void **state) {
    struct world *world = *state;
    if (!guard_has_cgroup(world->guard))
        test_skip(guard_mode(world->guard));
    struct seen *seen = run_family(world, "apart", GUARD_TO_CGROUP);
    assert_string_equal(seen->output, "child\nparent\n");
    assert_int_equal(seen->end.exit_code, 0);
}

static void a_task_without_its_own_group_stays_in_ours(void **state) {
    struct world *world = *state;
    struct guard_start start = task(1, TASK("inspect"));
    start.keep_group = true;
    guard_start(world->guard, &start);
    struct seen *seen = world_run(world, 1, 1);
    assert_non_null(strstr(seen->output, "leader=0"));
}

/* ---- when the guard dies ---- */

static void stop_loop(struct world *world, uint64_t id) {
    (void)id;
    uv_stop(&world->loop);
}

static void kill_guard_during(struct world *world, const char *file,
                              enum guard_death death) {
    world->on_progress = stop_loop;
    struct guard_start start = task(1, OWN("file-on-term", file));
    start.progress_fd = true;
    start.death = death;
    guard_start(world->guard, &start);
    while (world->progressed == 0 || world->started == 0)
        uv_run(&world->loop, UV_RUN_ONCE);
    kill(guard_pid(world->guard), SIGKILL);
    while (!world->lost)
        uv_run(&world->loop, UV_RUN_ONCE);
}

static void await_gone(pid_t pid, unsigned long long born) {
    int64_t until = clock_mono().ns + TIMEOUT_MS * NS_PER_MS;
    while (process_start(pid) == born && still_runs(pid)) {
        assert_true(clock_mono().ns < until);
        poll(NULL, 0, 2);
    }
}

static void a_task_may_get_term_when_the_guard_dies(void **state) {
    struct world *world = *state;
    char file[PATH_MAX + 20];
    snprintf(file, sizeof file, "%s/termed", world->dir);
    kill_guard_during(world, file, GUARD_DEATH_TERM);
    await_gone(world->last_pid, process_start(world->last_pid));
    assert_int_equal(access(file, F_OK), 0);
}

static void a_task_may_outlive_the_guard_until_the_next_start(void **state) {
    struct world *world = *state;
    kill_guard_during(world, "/dev/null", GUARD_DEATH_NONE);
    unsigned long long born = process_start(world->last_pid);
    assert_true(born > 0);
    assert_int_equal(kill(world->last_pid, 0), 0);
    pid_t pid = world->last_pid;
    world_close_guard(world);
    world->lost = false;
    world_open(world, 0);
    await_gone(pid, born);
}

/* ---- strays ---- */

static unsigned count_alive(struct world *world) {
    unsigned lines;
    return count_running(world, "pids", &lines);
}

static void run_tree_with(struct world *world, bool canary) {
    char file[PATH_MAX + 20];
    snprintf(file, sizeof file, "%s/pids", world->dir);
    struct guard_start start = task(1, TASK("tree", file));
    start.progress_fd = true;
    start.canary = canary;
    guard_start(world->guard, &start);
    world_run(world, 1, 1);
}

static void strays_with_the_canary_end_with_the_task(void **state) {
    struct world *world = *state;
    run_tree_with(world, true);
    assert_true(world->seen[1].end.leftovers);
    assert_false(world->seen[1].end.survivors);
    assert_int_equal(count_alive(world), 0);
}

/* The guard does not see them, so they live until it ends. */
static void strays_without_a_canary_end_with_the_guard(void **state) {
    struct world *world = *state;
    run_tree_with(world, false);
    assert_int_equal(count_alive(world), 5);
    world_close_guard(world);
    assert_int_equal(count_alive(world), 0);
}

int main(int argc, char **argv) {
    int status = world_verbs(argc, argv);
    if (status >= 0)
        return status;
    if (argc > 2 && strcmp(argv[1], "own") == 0)
        return end_task(own_task(argc - 2, argv + 2));
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kill_overrides_term_in_any_order),
        cmocka_unit_test(the_earliest_time_for_kill_counts),
        cmocka_unit_test(a_later_term_does_not_cancel_a_kill),
        cmocka_unit_test(a_grace_period_of_zero_means_kill),
        cmocka_unit_test(the_last_of_two_signals_is_sent),
        cmocka_unit_test(the_lines_of_one_second_are_free),
        cmocka_unit_test(without_a_limit_there_is_no_delay),
        cmocka_unit_test(bytes_without_line_feeds_count_as_well),
        CASE(a_task_that_writes_too_fast_is_slowed_down),
        CASE(a_task_that_ignores_term_can_be_killed_later),
        CASE(a_timeout_without_kill_sends_only_term),
        CASE(term_to_the_group_reaches_the_child),
        CASE(term_to_the_first_process_reaches_only_it),
        CASE(term_to_the_cgroup_reaches_other_sessions),
        CASE(a_task_without_its_own_group_stays_in_ours),
        GROUPS(a_task_that_ignores_term_can_be_killed_later),
        GROUPS(term_to_the_group_reaches_the_child),
        GROUPS(term_to_the_first_process_reaches_only_it),
        GROUPS(a_task_without_its_own_group_stays_in_ours),
        GROUPS(a_task_may_get_term_when_the_guard_dies),
        GROUPS(a_task_may_outlive_the_guard_until_the_next_start),
        GROUPS(strays_with_the_canary_end_with_the_task),
        GROUPS(strays_without_a_canary_end_with_the_guard),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
