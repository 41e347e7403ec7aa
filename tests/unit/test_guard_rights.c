/* The whole guard: limits of tasks, and tasks of another user. */
#include "support/guard_world.h"

#include <grp.h>
#include <linux/capability.h>
#include <pwd.h>
#include <sys/prctl.h>

#include "os/cgroup.h"

static struct seen *run_with_limit(struct world *world, uint32_t what,
                                   uint64_t value, const char *text) {
    struct guard_limit limit = {.what = what, .value = value};
    struct guard_start start = task(1, SH(text));
    start.limits = &limit;
    start.limit_count = 1;
    guard_start(world->guard, &start);
    return world_run(world, 1, 1);
}

static void a_limit_applies_to_its_task_only(void **state) {
    struct world *world = *state;
    struct seen *seen =
        run_with_limit(world, RLIMIT_NOFILE, 37, "ulimit -Sn; ulimit -Hn");
    assert_string_equal(seen->output, "37\n37\n");
    seen = run_sh(world, 2, "ulimit -Hn");
    assert_string_not_equal(seen->output, "37\n");
}

static void a_file_size_limit_ends_a_task_that_writes_too_much(void **state) {
    struct world *world = *state;
    char text[PATH_MAX + 100];
    snprintf(text, sizeof text,
             "exec dd if=/dev/zero of='%s/grown' bs=8192 count=1 2>/dev/null",
             world->dir);
    struct seen *seen = run_with_limit(world, RLIMIT_FSIZE, 4096, text);
    assert_true(seen->end.signal == SIGXFSZ || seen->end.exit_code != 0);
    size_t bytes;
    free(read_file(world->dir, "grown", &bytes));
    assert_int_equal(bytes, 4096);
}

/* The limit exceeds the number of descriptors that the kernel allows. */
static void a_limit_that_cannot_be_set_is_an_error(void **state) {
    struct world *world = *state;
    struct seen *seen =
        run_with_limit(world, RLIMIT_NOFILE, UINT32_MAX, "echo never");
    assert_int_equal(seen->end.result, GUARD_CANNOT);
    assert_int_equal(seen->end.pid, 0);
    assert_non_null(strstr(seen->error, "cannot set limit 'nofile' to"));
}

/* ---- limits of whole tasks ---- */

static bool has_controller(const struct world *world, const char *name) {
    return strstr(guard_controllers(world->guard), name) != NULL;
}

static void a_limit_without_its_controller_is_refused(void **state) {
    struct world *world = *state;
    if (has_controller(world, "memory"))
        test_skip("the cgroup controller for memory is available");
    struct seen *seen = run_with_limit(world, GUARD_MEMORY, 64 << 20, "echo x");
    assert_int_equal(seen->end.result, GUARD_CANNOT);
    assert_string_equal(
        seen->error, "cannot limit its memory: the cgroup controller 'memory' "
                     "is not available; see pointsman doctor");
    struct guard_start start = task(2, SH("echo x"));
    guard_start(world->guard, &start);
    assert_int_equal(world_run(world, 1, 2)->end.exit_code, 0);
}

static void a_cpu_weight_without_a_controller_is_skipped(void **state) {
    struct seen *seen =
        run_with_limit(*state, GUARD_CPU_WEIGHT, 50, "echo weighed");
    assert_int_equal(seen->end.result, GUARD_RAN);
    assert_string_equal(seen->output, "weighed\n");
}

static void exceeding_the_memory_limit_ends_the_whole_task(void **state) {
    struct world *world = *state;
    if (!has_controller(world, "memory"))
        test_skip("the cgroup controller for memory is not available");
    struct seen *seen =
        run_with_limit(world, GUARD_MEMORY, 32 << 20,
                       "sleep 1000 & dd if=/dev/zero of=/dev/null bs=256M");
    assert_int_equal(seen->end.signal, SIGKILL);
    assert_false(seen->end.survivors);
}

static void no_processes_are_created_over_the_limit(void **state) {
    struct world *world = *state;
    if (!has_controller(world, "pids"))
        test_skip("the cgroup controller for processes is not available");
    struct seen *seen =
        run_with_limit(world, GUARD_PIDS, 3,
                       "for i in 1 2 3 4 5 6; do sleep 100 & done; echo all");
    assert_null(strstr(seen->output, "all"));
}

/* ---- resource usage ---- */

static struct guard_usage used;

/* Usage is reported repeatedly; waits until all processes are counted. */
static void kill_when_used(void *ctx, const struct guard_usage *usage) {
    struct world *world = ctx;
    int64_t procs = guard_has_cgroup(world->guard) ? 2 : 1;
    used = *usage;
    if (used.cpu_us > 0 && used.memory_kib > 0 && used.procs >= procs)
        guard_kill(world->guard, usage->id, SIGKILL, 0);
}

static void usage_is_reported_while_a_task_runs(void **state) {
    struct world *world = *state;
    world->on_usage = kill_when_used;
    struct guard_start start = task(1, SH("sleep 1000 & while :; do :; done"));
    guard_start(world->guard, &start);
    struct seen *seen = world_run(world, 1, 1);
    assert_int_equal(used.id, 1);
    assert_true(seen->end.cpu_us >= used.cpu_us);
    assert_true(seen->end.peak_kib >= used.memory_kib);
    assert_true(seen->end.exited_ns > 0);
    assert_true(seen->end.closed_ns >= seen->end.exited_ns);
    assert_true(seen->end.gone_ns >= seen->end.closed_ns);
}

/* Although cgroups are reused, the usage of earlier tasks is not counted. */
static void usage_of_earlier_tasks_in_a_cgroup_is_not_counted(void **state) {
    struct world *world = *state;
    run_sh(world, 1, "i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done");
    struct seen *seen = run_sh(world, 2, "sleep 0.3");
    int64_t before = world->seen[1].end.user_us + world->seen[1].end.system_us;
    assert_true(seen->end.cpu_us < before / 2 + 20000);
}

/* Checks what is written, in a directory that only looks like a cgroup. */
static void limits_are_written_to_the_files_of_the_cgroup(void **state) {
    struct world *world = *state;
    static const char *const names[] = {"memory.max", "memory.oom.group",
                                        "pids.max", "cpu.weight"};
    struct cgroup_tree tree = {.controllers = CGROUP_MEMORY | CGROUP_PIDS};
    struct cgroup_leaf leaf = {.dir_fd = world->base_fd};
    size_t bytes;
    for (size_t i = 0; i < COUNT(names); i++)
        write_script(world, names[i], "", 0644);
    assert_true(cgroup_leaf_limit(&tree, &leaf, CGROUP_MEMORY, 4096));
    assert_true(cgroup_leaf_limit(&tree, &leaf, CGROUP_PIDS, UINT64_MAX));
    assert_false(cgroup_leaf_limit(&tree, &leaf, CGROUP_CPU, 50));
    assert_int_equal(errno, ENOTSUP);
    assert_true(leaf.limited);
    static const char *const want[] = {"4096", "1", "max", ""};
    for (size_t i = 0; i < COUNT(names); i++) {
        char *text = read_file(world->dir, names[i], &bytes);
        assert_string_equal(text, want[i]);
        free(text);
    }
}

/* ---- another user ---- */

static const struct passwd *nobody(void) {
    const struct passwd *entry = getpwnam("nobody");
    if (geteuid() != 0)
        test_skip("only root can start tasks of another user");
    if (entry == NULL)
        test_skip("there is no user named nobody");
    return entry;
}

static struct seen *run_as_nobody(struct world *world, char *const *argv,
                                  const char *dir) {
    const struct passwd *entry = nobody();
    gid_t groups[] = {entry->pw_gid, 12345};
    struct guard_user user = {entry->pw_uid, entry->pw_gid, groups, 2};
    struct guard_start start = task(1, argv);
    start.user = &user;
    start.dir = dir;
    start.status_fd = start.progress_fd = true;
    guard_start(world->guard, &start);
    return world_run(world, 1, 1);
}

static void a_task_has_the_ids_and_groups_of_its_user(void **state) {
    const struct passwd *entry = nobody();
    char want[128];
    struct seen *seen =
        run_as_nobody(*state, SH("id -ru; id -u; id -g; id -G"), NULL);
    snprintf(want, sizeof want, "%u\n%u\n%u\n%u 12345\n", entry->pw_uid,
             entry->pw_uid, entry->pw_gid, entry->pw_gid);
    assert_string_equal(seen->output, want);
    assert_int_equal(seen->end.exit_code, 0);
}

static void another_user_can_open_the_pipes_by_name(void **state) {
    struct seen *seen = run_as_nobody(
        *state,
        SH("echo out >/dev/stdout; echo err >/dev/stderr; echo fine "
           ">/dev/fd/3"),
        NULL);
    assert_string_equal(seen->output, "out\nerr\n");
    assert_string_equal(seen->status, "fine");
}

static void another_user_cannot_enter_our_directory(void **state) {
    struct world *world = *state;
    struct seen *seen = run_as_nobody(world, SH("echo never"), world->dir);
    assert_int_equal(seen->end.result, GUARD_CANNOT);
    assert_non_null(strstr(seen->error, "cannot enter directory"));
}

static void another_user_has_no_capabilities(void **state) {
    struct seen *seen = run_as_nobody(
        *state, SH("grep -E '^Cap(Eff|Prm)' /proc/self/status"), NULL);
    assert_string_equal(
        seen->output, "CapPrm:\t0000000000000000\nCapEff:\t0000000000000000\n");
}

/* A change of user clears the death signal, so it must be set afterwards. */
static void the_death_signal_survives_the_change_of_user(void **state) {
    struct world *world = *state;
    char command[3 * PATH_MAX];
    nobody();
    assert_int_equal(chmod(world->dir, 0755), 0);
    snprintf(command, sizeof command, "cp '%s' '%s/self'", self, world->dir);
    assert_int_equal(system(command), 0);
    snprintf(command, sizeof command, "%s/self", world->dir);
    struct seen *seen =
        run_as_nobody(world, ARGV(command, "own", "death"), NULL);
    if (seen->end.result == GUARD_CANNOT)
        test_skip("user nobody cannot reach the test directory");
    assert_string_equal(seen->output, "9\n");
}

static uint64_t rights_in_use(const char *who) {
    char path[64], line[256];
    unsigned long long rights = UINT64_MAX;
    snprintf(path, sizeof path, "/proc/%s/status", who);
    FILE *f = fopen(path, "r");
    while (f != NULL && fgets(line, sizeof line, f) != NULL)
        sscanf(line, "CapEff: %llx", &rights);
    if (f != NULL)
        fclose(f);
    return rights;
}

static void a_guard_of_root_keeps_only_the_capabilities_it_needs(void **state) {
    struct world *world = *state;
    char who[32];
    if (geteuid() != 0)
        test_skip("only root has capabilities to drop");
    bool alone = guard_has_cgroup(world->guard);
    snprintf(who, sizeof who, "%d", (int)guard_pid(world->guard));
    uint64_t most = 1U << CAP_SETUID | 1U << CAP_SETGID | 1U << CAP_KILL |
                    (alone ? 0 : 1U << CAP_SYS_PTRACE);
    assert_int_equal(rights_in_use(who), rights_in_use("self") & most);
}

static void a_task_of_root_has_all_our_capabilities(void **state) {
    struct world *world = *state;
    char want[64];
    if (geteuid() != 0)
        test_skip("only root has capabilities to drop");
    snprintf(want, sizeof want, "CapEff:\t%016llx\n",
             (unsigned long long)rights_in_use("self"));
    struct seen *seen = run_sh(world, 1, "grep CapEff /proc/self/status");
    assert_string_equal(seen->output, want);
}

static void a_task_of_root_can_enter_directories_of_others(void **state) {
    struct world *world = *state;
    char dir[PATH_MAX + 20];
    const struct passwd *entry = nobody();
    snprintf(dir, sizeof dir, "%s/theirs", world->dir);
    assert_int_equal(mkdir(dir, 0700), 0);
    write_script(world, "theirs/run", "#!/bin/sh\npwd\n", 0700);
    assert_int_equal(chown(dir, entry->pw_uid, entry->pw_gid), 0);
    if (access(dir, R_OK) != 0)
        test_skip("root cannot enter every directory on this machine");
    struct guard_start start = task(1, ARGV("./run"));
    start.dir = dir;
    guard_start(world->guard, &start);
    struct seen *seen = world_run(world, 1, 1);
    assert_int_equal(seen->end.exit_code, 0);
}

static void a_guard_that_is_not_root_cannot_change_users(void **state) {
    struct world *world = *state;
    if (geteuid() == 0)
        test_skip("root can change users");
    struct guard_user user = {.uid = geteuid() + 1, .gid = getegid()};
    struct guard_start start = task(1, SH("echo never"));
    start.user = &user;
    guard_start(world->guard, &start);
    struct seen *seen = world_run(world, 1, 1);
    assert_int_equal(seen->end.result, GUARD_CANNOT);
    assert_non_null(strstr(seen->error, "cannot become user"));
}

int main(int argc, char **argv) {
    int status = world_verbs(argc, argv);
    if (status >= 0)
        return status;
    if (argc > 2 && strcmp(argv[1], "own") == 0) {
        int death = 0;
        prctl(PR_GET_PDEATHSIG, &death);
        return printf("%d\n", death) < 0;
    }
    const struct CMUnitTest tests[] = {
        CASE(a_limit_applies_to_its_task_only),
        CASE(a_file_size_limit_ends_a_task_that_writes_too_much),
        CASE(a_limit_that_cannot_be_set_is_an_error),
        CASE(a_limit_without_its_controller_is_refused),
        CASE(a_cpu_weight_without_a_controller_is_skipped),
        CASE(exceeding_the_memory_limit_ends_the_whole_task),
        CASE(no_processes_are_created_over_the_limit),
        CASE(limits_are_written_to_the_files_of_the_cgroup),
        CASE(usage_is_reported_while_a_task_runs),
        CASE(usage_of_earlier_tasks_in_a_cgroup_is_not_counted),
        GROUPS(usage_is_reported_while_a_task_runs),
        CASE(a_task_has_the_ids_and_groups_of_its_user),
        CASE(another_user_can_open_the_pipes_by_name),
        CASE(another_user_cannot_enter_our_directory),
        CASE(another_user_has_no_capabilities),
        CASE(the_death_signal_survives_the_change_of_user),
        CASE(a_guard_of_root_keeps_only_the_capabilities_it_needs),
        CASE(a_task_of_root_has_all_our_capabilities),
        CASE(a_task_of_root_can_enter_directories_of_others),
        GROUPS(a_guard_of_root_keeps_only_the_capabilities_it_needs),
        GROUPS(a_task_of_root_has_all_our_capabilities),
        CASE(a_guard_that_is_not_root_cannot_change_users),
        GROUPS(a_limit_without_its_controller_is_refused),
        GROUPS(a_task_has_the_ids_and_groups_of_its_user),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
