#include "scheduler/attempt_start.h"

#include "landing/land_start.h"
#include "serve/tables.h"
#include "support/test.h"

#include <pwd.h>
#include <unistd.h>

static struct arena arena;
static struct config config;

static int setup(void **state) {
    (void)state;
    arena = ARENA_INIT;
    config_init(&config);
    struct err err;
    struct span text = SPAN("[target \"main\"]\ngit = ../project.git\n"
                            "blind = deny\ncheck.unit = make -k check\n"
                            "check.lint = sh -c 'a && b'\n"
                            "[target \"site\"]\ncommand = /bin/apply --now\n");
    assert_true(config_read(&config, text, "test.conf", &err));
    return !config_finish(&config, &err);
}

static int teardown(void **state) {
    (void)state;
    arena_clear(&arena);
    config_clear(&config);
    return 0;
}

/* Creates the start in the way the worker does. */
static bool start_make(const struct run_start *start,
                       struct attempt_start_cache *cache,
                       struct attempt_start *line, struct err *err) {
    const struct work_site site = {.config = &config,
                                   .base_path = "/srv/base",
                                   .worker = SPAN("east"),
                                   .cache = cache};
    const struct work_kind *kind =
        work_kind_find(&serve_kinds, start->job, err);
    *line = (struct attempt_start){0};
    task_options_init(&line->task);
    return kind && kind->make_start(&site, start, &arena, line, err);
}

static struct attempt_start start_of_task(const struct job *job,
                                          const char *node, uint64_t task) {
    struct run_start start = {.handle = 1,
                              .job = job,
                              .node = span_of(node),
                              .task = task,
                              .attempt = 2};
    struct attempt_start line;
    struct err err;
    assert_true(start_make(&start, NULL, &line, &err));
    return line;
}

static struct attempt_start start_of(const struct job *job, const char *node) {
    return start_of_task(job, node, 0);
}

static const char *words_of(char **words) {
    struct text text = TEXT_INIT;
    for (size_t i = 0; words[i]; i++)
        text_addf(&text, "%s%s", i ? "|" : "", words[i]);
    const char *result = arena_string(&arena, text_span(&text));
    text_clear(&text);
    return result;
}

static bool has_env(const struct attempt_start *line, const char *entry) {
    for (size_t i = 0; line->envp[i]; i++)
        if (strcmp(line->envp[i], entry) == 0)
            return true;
    return false;
}

static void
a_command_gets_its_arguments_directory_and_environment(void **state) {
    (void)state;
    struct job job = {
        .id = SPAN("j1"),
        .kind = JOB_COMMAND,
        .spec = SPAN("{\"command\":[\"make\",\"all\"],\"env\":{\"CC\":\"x y\"},"
                     "\"dir\":\"/src\",\"umask\":\"027\",\"timeout\":\"90\"}")};
    struct attempt_start line = start_of(&job, NULL);
    assert_string_equal(words_of(line.argv), "make|all");
    assert_string_equal(line.dir, "/src");
    assert_int_equal(line.mask, 027);
    assert_int_equal(line.timeout_ms, 90000);
    assert_null(line.lock_path);
    assert_true(has_env(&line, "CC=x y"));
    assert_true(has_env(&line, "POINTSMAN_JOB=j1"));
    assert_true(has_env(&line, "POINTSMAN_TASK=j1"));
    assert_true(has_env(&line, "POINTSMAN_ATTEMPT=2"));
    assert_true(has_env(&line, "POINTSMAN_NODE=local"));
    assert_true(has_env(&line, "POINTSMAN_WORKER=east"));
    assert_true(has_env(&line, "POINTSMAN_STATUS_FD=3"));
    assert_false(has_env(&line, "PATH=/usr/bin"));
}

static void braces_are_replaced_by_the_node(void **state) {
    (void)state;
    struct job job = {.id = SPAN("j1"),
                      .kind = JOB_COMMAND,
                      .spec = SPAN("{\"command\":[\"cp\",\"{}\",\"/to\","
                                   "\"x{}\",\"{}.{{}}{\"],"
                                   "\"array\":[\"a b\",\"c\"]}")};
    struct attempt_start line = start_of(&job, "a b");
    assert_string_equal(words_of(line.argv), "cp|a b|/to|xa b|a b.{}{");
    assert_true(has_env(&line, "POINTSMAN_NODE=a b"));
    assert_true(has_env(&line, "POINTSMAN_TASK=j1/a b"));
}

static void braces_with_a_hash_are_replaced_by_its_number(void **state) {
    (void)state;
    struct job job = {.id = SPAN("j1"),
                      .kind = JOB_COMMAND,
                      .spec = SPAN("{\"command\":[\"tee\",\"{#}.log\"],"
                                   "\"array\":[\"{}\",\"{#}\"]}")};
    assert_string_equal(words_of(start_of(&job, "{}").argv), "tee|1.log");
    assert_string_equal(words_of(start_of_task(&job, "{#}", 1).argv),
                        "tee|2.log");
    /* What replaces them is not replaced again. */
    job.spec = SPAN("{\"command\":[\"echo\",\"<{}>\"],\"array\":[\"{#}\"]}");
    assert_string_equal(words_of(start_of(&job, "{#}").argv), "echo|<{#}>");
    /* Only in arrays. */
    job.spec = SPAN("{\"command\":[\"echo\",\"{}{#}\"]}");
    assert_string_equal(words_of(start_of(&job, "").argv), "echo|{}{#}");
}

static void doubled_braces_stay_single_ones(void **state) {
    (void)state;
    struct job job = {.id = SPAN("j1"),
                      .kind = JOB_COMMAND,
                      .spec =
                          SPAN("{\"command\":[\"{{}}\",\"{{#}}{#}\",\"{{x}}\","
                               "\"{ }\"],\"array\":[\"a\"]}")};
    assert_string_equal(words_of(start_of(&job, "a").argv),
                        "{}|{#}1|{{x}}|{ }");
    /* They do not name the node, which then comes last. */
    job.spec = SPAN("{\"command\":[\"echo\",\"{{}}\"],\"array\":[\"a\"]}");
    assert_string_equal(words_of(start_of(&job, "a").argv), "echo|{}|a");
    /* Only in arrays. */
    job.spec = SPAN("{\"command\":[\"echo\",\"{{}}\"]}");
    assert_string_equal(words_of(start_of(&job, "").argv), "echo|{{}}");
}

static void without_braces_the_node_comes_last(void **state) {
    (void)state;
    struct job job = {.id = SPAN("j1"),
                      .kind = JOB_COMMAND,
                      .spec =
                          SPAN("{\"command\":[\"touch\"],\"array\":[\"a\"]}")};
    assert_string_equal(words_of(start_of(&job, "a").argv), "touch|a");
}

static void a_cached_spec_is_used_only_for_equal_specs(void **state) {
    (void)state;
    struct span make = SPAN("{\"command\":[\"make\"],\"array\":[\"a\"]}");
    struct job jobs[] = {
        {.num = 1, .id = SPAN("j1"), .kind = JOB_COMMAND, .spec = make},
        {.num = 2, .id = SPAN("j2"), .kind = JOB_COMMAND, .spec = make},
        {.num = 3, .id = SPAN("j3"), .kind = JOB_COMMAND, .spec = SPAN("{")},
        {.num = 4,
         .id = SPAN("j4"),
         .kind = JOB_COMMAND,
         .spec = SPAN("{\"command\":[\"ninja\"]}")},
    };
    static const struct {
        unsigned job;
        const char *node, *words;
    } cases[] = {{0, "a", "make|a"}, {0, "b", "make|b"}, {1, "a", "make|a"},
                 {2, "", NULL},      {3, "", "ninja"},   {0, "a", "make|a"}};
    struct attempt_start_cache cache = {0};
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct run_start start = {.handle = 1,
                                  .job = &jobs[cases[i].job],
                                  .node = span_of(cases[i].node),
                                  .attempt = 1};
        struct attempt_start line;
        struct err err;
        bool ok = start_make(&start, &cache, &line, &err);
        assert_int_equal(ok, cases[i].words != NULL);
        if (ok)
            assert_string_equal(words_of(line.argv), cases[i].words);
    }
    attempt_start_cache_clear(&cache);
}

static void a_sandboxed_command_is_started_by_confine(void **state) {
    (void)state;
    struct job job = {.id = SPAN("j1"),
                      .kind = JOB_COMMAND,
                      .spec =
                          SPAN("{\"command\":[\"make\"],\"sandbox\":\"on\"}")};
    assert_string_equal(words_of(start_of(&job, NULL).argv),
                        "/proc/self/exe|confine|--|make");
}

static void a_command_for_an_unknown_user_is_refused(void **state) {
    (void)state;
    struct job job = {.id = SPAN("j1"),
                      .kind = JOB_COMMAND,
                      .spec = SPAN("{\"command\":[\"make\"],"
                                   "\"user\":\"nobody-of-this-name\"}")};
    struct run_start start = {.handle = 1, .job = &job, .attempt = 1};
    struct attempt_start line;
    struct err err;
    assert_false(start_make(&start, NULL, &line, &err));
    assert_int_equal(err.kind, ERR_CONFIG);
    assert_string_equal(err.text,
                        "no user 'nobody-of-this-name' on this machine");
}

static void
a_command_for_another_user_gets_that_users_environment(void **state) {
    (void)state;
    struct job job = {.id = SPAN("j1"),
                      .kind = JOB_COMMAND,
                      .spec = SPAN("{\"command\":[\"make\"],\"env\":"
                                   "{\"SHELL\":\"/s\"},"
                                   "\"user\":\"nobody\"}")};
    if (getuid() != 0 || getpwnam("nobody") == NULL)
        test_skip("needs root and a user named nobody");
    struct attempt_start line = start_of(&job, NULL);
    assert_string_equal(line.account->name, "nobody");
    assert_true(has_env(&line, "USER=nobody"));
    assert_true(has_env(&line, "LOGNAME=nobody"));
    assert_true(
        has_env(&line, arena_printf(&arena, "HOME=%s", line.account->home)));
    assert_true(has_env(&line, "SHELL=/s"));
}

static struct job command_of_nobody(const char *spec) {
    const struct passwd *entry = getpwnam("nobody");
    if (getuid() != 0 || entry == NULL)
        test_skip("needs root and a user named nobody");
    return (struct job){.id = SPAN("j1"),
                        .kind = JOB_COMMAND,
                        .uid = entry->pw_uid,
                        .spec = span_of(spec)};
}

static void a_command_of_another_account_runs_as_that_account(void **state) {
    (void)state;
    struct job job = command_of_nobody("{\"command\":[\"make\"]}");
    struct attempt_start line = start_of(&job, NULL);
    assert_string_equal(line.account->name, "nobody");
    assert_true(has_env(&line, "USER=nobody"));
}

static void another_account_cannot_name_root(void **state) {
    (void)state;
    struct job job =
        command_of_nobody("{\"command\":[\"make\"],\"user\":\"root\"}");
    struct run_start start = {.handle = 1, .job = &job, .attempt = 1};
    struct attempt_start line;
    struct err err;
    assert_false(start_make(&start, NULL, &line, &err));
    assert_int_equal(err.kind, ERR_DENIED);
    assert_non_null(strstr(err.text, "may only name its own account"));
}

static void the_command_of_an_account_that_is_gone_is_refused(void **state) {
    (void)state;
    struct job job = command_of_nobody("{\"command\":[\"make\"]}");
    job.uid = 3999999999;
    struct run_start start = {.handle = 1, .job = &job, .attempt = 1};
    struct attempt_start line;
    struct err err;
    assert_false(start_make(&start, NULL, &line, &err));
    assert_int_equal(err.kind, ERR_DENIED);
    assert_non_null(strstr(err.text, "no account on this machine"));
}

static struct job change(const char *target) {
    return (struct job){
        .id = SPAN("C7"),
        .kind = JOB_CHANGE,
        .job_class = CLASS_BF,
        .target = span_of(target),
        .name = SPAN("C7_@400000005f5e10a50a000000_4711_build3_BF"),
        .sum = SPAN("abcd"),
        .actor = SPAN("uid:0"),
        .admitted = {1},
    };
}

static struct land_start landing_of(const struct attempt_start *line) {
    struct land_start start;
    struct err err;
    if (!land_start_parse(line->start, line->dir, &arena, &start, &err))
        fail_msg("%s", err.text);
    return start;
}

static void a_change_set_is_landed_by_this_executable(void **state) {
    (void)state;
    struct job job = change("main");
    struct attempt_start line = start_of(&job, NULL);
    struct land_start start = landing_of(&line);
    assert_string_equal(words_of(line.argv), "/proc/self/exe|land|C7");
    assert_string_equal(start.git, "/srv/base/../project.git");
    assert_string_equal(start.branches, "/srv/base/ctrl/branches");
    assert_int_equal(start.blind, BLIND_DENY);
    assert_int_equal(start.check_count, 2);
    assert_string_equal(start.checks[0].name, "unit");
    assert_string_equal(start.checks[0].command, "make -k check");
    assert_string_equal(start.checks[1].command, "sh -c 'a && b'");
    assert_string_equal(start.tarball, "/srv/base/data/C7_@40000000"
                                       "5f5e10a50a000000_4711_build3_BF");
    assert_string_equal(start.work, "/srv/base/tmp/land.C7.2");
    assert_string_equal(line.lock_path,
                        "run/C7_@400000005f5e10a50a000000_4711_build3_BF");
    /* It was admitted at 1 ns, before the time in its name: the later of the
     * two counts. */
    assert_true(start.since.ns > INT64_C(1600000000) * NS_PER_S);
}

static void the_start_contains_the_branch_tip_at_admission(void **state) {
    (void)state;
    struct job job = change("main");
    job.seen = SPAN("1234");
    struct attempt_start line = start_of(&job, NULL);
    assert_string_equal(landing_of(&line).seen, "1234");
    job.seen = SPAN("");
    line = start_of(&job, NULL);
    assert_null(landing_of(&line).seen);
}

static void the_start_contains_who_approved_the_set(void **state) {
    (void)state;
    struct job job = change("main");
    const struct span names[] = {SPAN("uid:7"), SPAN("Olga <o@p>")};
    struct run_start run = {.job = &job,
                            .attempt = 1,
                            .set = {.approved_by = names, .approved_count = 2}};
    struct attempt_start line;
    struct err err;
    assert_true(start_make(&run, NULL, &line, &err));
    struct land_start start = landing_of(&line);
    assert_int_equal(start.approved_count, 2);
    assert_string_equal(start.approved_by[0], "uid:7");
    assert_string_equal(start.approved_by[1], "Olga <o@p>");
}

/* This is more than execve accepts: 128 KiB per argument, 2 MiB in total. */
static void a_start_may_exceed_the_limits_of_execve(void **state) {
    enum { MANY = 20000 };
    (void)state;
    struct job *jobs = arena_alloc(&arena, MANY * sizeof *jobs);
    struct run_set *sets = arena_alloc(&arena, MANY * sizeof *sets);
    for (size_t i = 0; i < MANY; i++) {
        jobs[i] = change("main");
        jobs[i].id = span_of(arena_printf(&arena, "C%zu", i));
        sets[i] = (struct run_set){.job = &jobs[i]};
    }
    struct run_start run = {
        .job = &jobs[0], .attempt = 1, .sets = sets, .set_count = MANY};
    struct attempt_start line;
    struct err err;
    assert_true(start_make(&run, NULL, &line, &err));
    struct land_start start = landing_of(&line);
    assert_true(line.start.len > 2 << 20);
    assert_int_equal(start.other_count, MANY - 1);
    assert_string_equal(start.others[MANY - 2].id, "C19999");
    assert_string_equal(start.others[MANY - 2].git, start.git);
    struct revert_member *members = arena_alloc(&arena, MANY * sizeof *members);
    for (size_t i = 0; i < MANY; i++)
        members[i] = (struct revert_member){jobs[i].id.p, "0", "DC"};
    char *because = arena_alloc(&arena, 1 << 20);
    memset(because, 'x', (1 << 20) - 1);
    struct revert_start rollback = {.id = "R1",
                                    .sum = "0",
                                    .command = "apply",
                                    .work = "/w",
                                    .because = because,
                                    .members = members,
                                    .member_count = MANY};
    CLEANUP(text_clear) struct text text = TEXT_INIT;
    land_start_format_revert(&rollback, &text);
    assert_true(land_start_parse_revert(text_span(&text), "/", &arena,
                                        &rollback, &err));
    assert_int_equal(rollback.member_count, MANY);
    assert_int_equal(strlen(rollback.because), (1 << 20) - 1);
}

static void an_invalid_start_is_refused(void **state) {
    static const struct {
        const char *text, *error;
    } cases[] = {
        {"{", "bad JSON"},
        {"[]", "not a JSON object"},
        {"{\"id\":1}", "wrong value for 'id'"},
        {"{\"ids\":\"C1\"}", "unknown key 'ids'"},
        {"{\"id\":\"C1\",\"sum\":\"0\"}", "'work' is missing"},
        {"{\"id\":\"C1\",\"sum\":\"0\",\"work\":\"w\"}",
         "'git' with 'branch', or 'command', is missing"},
        {"{\"id\":\"C1\",\"sum\":\"0\",\"work\":\"w\",\"command\":\"c\"}",
         "'tarball' is missing"},
        {"{\"timeout_s\":-1}", "wrong value for 'timeout_s'"},
        {"{\"blind\":\"maybe\"}", "wrong value for 'blind'"},
        {"{\"others\":[{\"id\":\"C2\"}]}", "others: 'sum' is missing"},
        {"{\"others\":[7]}", "wrong value for 'others'"},
        {"{\"checks\":{}}", "wrong value for 'checks'"},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct land_start start;
        struct err err = {0};
        assert_false(land_start_parse(span_of(cases[i].text), "/", &arena,
                                      &start, &err));
        assert_int_equal(err.kind, ERR_DATA);
        if (!strstr(err.text, cases[i].error))
            fail_msg("%s says '%s'", cases[i].text, err.text);
    }
}

static void a_rollback_start_lists_its_members(void **state) {
    (void)state;
    struct job job = change("main");
    job.job_class = CLASS_RB;
    const struct run_member members[] = {{.id = SPAN("C3"),
                                          .sum = SPAN("33"),
                                          .name = SPAN("C3_@1"),
                                          .job_class = CLASS_DC,
                                          .admitted = {7}},
                                         {.id = SPAN("C2"),
                                          .sum = SPAN("22"),
                                          .name = SPAN("C2_@1"),
                                          .job_class = CLASS_RB,
                                          .admitted = {5},
                                          .again = true}};
    struct run_start run = {.job = &job,
                            .attempt = 1,
                            .members = members,
                            .member_count = 2,
                            .because = SPAN("it broke")};
    struct attempt_start line;
    struct err err;
    assert_true(start_make(&run, NULL, &line, &err));
    struct revert_start start;
    assert_string_equal(words_of(line.argv), "/proc/self/exe|revert|C7");
    assert_true(
        land_start_parse_revert(line.start, line.dir, &arena, &start, &err));
    assert_string_equal(start.because, "it broke");
    assert_string_equal(start.git, "/srv/base/../project.git");
    assert_int_equal(start.member_count, 2);
    assert_string_equal(start.members[0].id, "C3");
    assert_string_equal(start.members[0].tarball, "/srv/base/data/C3_@1");
    assert_true(start.members[0].admitted.ns == 7 && !start.members[0].again);
    assert_string_equal(start.members[1].class, "RB");
    assert_true(start.members[1].again);
}

static void a_command_target_has_no_repository(void **state) {
    (void)state;
    struct job job = change("site");
    struct attempt_start line = start_of(&job, NULL);
    struct land_start start = landing_of(&line);
    assert_string_equal(start.command, "/bin/apply --now");
    assert_null(start.git);
}

static void sets_of_another_account_are_checked_as_that_account(void **state) {
    (void)state;
    struct job owned = change("main"), job = change("main");
    job.uid = command_of_nobody("").uid;
    struct run_set sets[] = {{.job = &owned}, {.job = &job}, {.job = &job}};
    struct run_start run = {
        .job = &owned, .attempt = 1, .sets = sets, .set_count = COUNT(sets)};
    struct attempt_start line;
    struct err err;
    assert_null(landing_of(&(struct attempt_start){
                               .start = start_of(&owned, NULL).start})
                    .user);
    assert_true(start_make(&run, NULL, &line, &err));
    assert_string_equal(landing_of(&line).user,
                        arena_printf(&arena, "%u", (unsigned)sets[1].job->uid));
    /* No account may check the sets of two others. */
    struct job third = change("main");
    const struct passwd *daemon = getpwnam("daemon");
    if (daemon == NULL)
        test_skip("there is no user named daemon");
    third.uid = daemon->pw_uid;
    third.id = SPAN("C8");
    sets[2].job = &third;
    assert_false(start_make(&run, NULL, &line, &err));
    assert_int_equal(err.kind, ERR_DENIED);
    assert_non_null(strstr(err.text, "C8: it would be checked together"));
    /* A probe runs nothing. */
    run.job = &third;
    run.set_count = 0;
    run.probe = true;
    assert_true(start_make(&run, NULL, &line, &err));
    assert_null(landing_of(&line).user);
}

static void a_target_that_is_not_configured_is_named(void **state) {
    (void)state;
    struct job job = change("gone");
    struct run_start start = {.handle = 1, .job = &job, .attempt = 1};
    struct attempt_start line;
    struct err err;
    assert_false(start_make(&start, NULL, &line, &err));
    assert_int_equal(err.kind, ERR_UNAVAILABLE);
    assert_non_null(strstr(err.text, "'gone'"));
}

static const char *traceparent(const struct job *job, unsigned attempt) {
    struct run_start start = {.job = job, .attempt = attempt};
    struct attempt_start line;
    struct err err;
    assert_true(start_make(&start, NULL, &line, &err));
    for (size_t i = 0; line.envp[i] != NULL; i++)
        if (strncmp(line.envp[i], "TRACEPARENT=", 12) == 0)
            return line.envp[i] + 12;
    fail_msg("there is no TRACEPARENT");
    return NULL;
}

static void a_job_of_an_unsupported_kind_is_refused(void **state) {
    (void)state;
    struct job job = {.id = SPAN("p1"), .kind = JOB_KINDS};
    struct run_start start = {.job = &job};
    struct attempt_start line;
    struct err err;
    assert_false(start_make(&start, NULL, &line, &err));
    assert_int_equal(err.kind, ERR_REFUSED);
    assert_string_equal(err.text, "'p1': this program does not execute work "
                                  "of kind 'unknown'");
}

static void an_attempt_has_one_traceparent(void **state) {
    (void)state;
    struct job job = change("main");
    const char *a = traceparent(&job, 1);
    assert_int_equal(strlen(a), 55);
    assert_string_equal(a, traceparent(&job, 1));
    const char *b = traceparent(&job, 2);
    assert_memory_equal(a, b, 36);
    assert_string_not_equal(a, b);
}

int main(void) {
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const struct CMUnitTest tests[] = {
        T(a_command_gets_its_arguments_directory_and_environment),
        T(braces_are_replaced_by_the_node),
        T(braces_with_a_hash_are_replaced_by_its_number),
        T(doubled_braces_stay_single_ones),
        T(without_braces_the_node_comes_last),
        T(a_cached_spec_is_used_only_for_equal_specs),
        T(a_sandboxed_command_is_started_by_confine),
        T(a_command_for_an_unknown_user_is_refused),
        T(a_command_for_another_user_gets_that_users_environment),
        T(a_command_of_another_account_runs_as_that_account),
        T(another_account_cannot_name_root),
        T(the_command_of_an_account_that_is_gone_is_refused),
        T(sets_of_another_account_are_checked_as_that_account),
        T(a_change_set_is_landed_by_this_executable),
        T(the_start_contains_the_branch_tip_at_admission),
        T(the_start_contains_who_approved_the_set),
        T(a_start_may_exceed_the_limits_of_execve),
        T(an_invalid_start_is_refused),
        T(a_rollback_start_lists_its_members),
        T(a_command_target_has_no_repository),
        T(a_target_that_is_not_configured_is_named),
        T(a_job_of_an_unsupported_kind_is_refused),
        T(an_attempt_has_one_traceparent),
    };
    return cmocka_run_group_tests_name("attempt_start", tests, NULL, NULL);
}
