/* An event loop with a real guard, for the tests of the guard. The test program
 * is also the guard (`test_guard guard`) and the tasks that the guard starts
 * (`test_guard task VERB`). */
#ifndef POINTSMAN_TESTS_SUPPORT_GUARD_WORLD_H
#define POINTSMAN_TESTS_SUPPORT_GUARD_WORLD_H

#include "support/test.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/text.h"
#include "os/clock.h"
#include "os/guard.h"
#include "os/process.h"

enum { TIMEOUT_MS = 90000, ENDS_MAX = 4096 };

static char self[PATH_MAX];

/* A copy of the end of a task, kept after its event. */
struct seen {
    struct guard_end end;
    char *error, *status, *output;
    unsigned times;
};

struct world {
    uv_loop_t loop;
    uv_timer_t timeout;
    struct guard *guard;
    char dir[PATH_MAX];
    int base_fd;
    struct seen seen[ENDS_MAX];
    unsigned ended, wanted, started, progressed;
    pid_t last_pid;
    char progress[256];
    bool lost, restored, closed, leased;
    bool goes_on; /* the loop runs on when the guard is lost */
    int64_t reply_ms;
    const char *cgroup_root;
    /* Called with each progress line. */
    void (*on_progress)(struct world *world, uint64_t id);
    void (*on_usage)(void *world, const struct guard_usage *usage);
};

/* ---- tasks: `test_guard task VERB [ARG]` ---- */

static UNUSED void say_fd(int fd, const char *text) {
    if (write(fd, text, strlen(text)) < 0)
        _exit(9);
}

static UNUSED void sleep_for_ever(void) {
    for (;;)
        poll(NULL, 0, -1);
}

/* Ignores TERM. */
static UNUSED int task_deaf(void) {
    signal(SIGTERM, SIG_IGN);
    say_fd(GUARD_PROGRESS_FD, "ready\n");
    sleep_for_ever();
    return 0;
}

static UNUSED int task_term(void) {
    say_fd(GUARD_PROGRESS_FD, "ready\n");
    sleep_for_ever();
    return 0;
}

/* Starts grandchildren that ignore TERM, each in its own session, and writes
 * their pids to a file before it reports `ready`. */
static UNUSED int task_tree(const char *file, bool keep_pipe) {
    FILE *f = fopen(file, "w");
    for (int i = 0; i < 5; i++) {
        pid_t pid = fork();
        if (pid == 0) {
            setsid();
            if (fork() != 0)
                _exit(0);
            signal(SIGTERM, SIG_IGN);
            fprintf(f, "%d\n", (int)getpid());
            fflush(f);
            close(GUARD_PROGRESS_FD);
            if (!keep_pipe)
                for (int fd = 0; fd < 3; fd++)
                    close(fd);
            sleep_for_ever();
        }
        waitpid(pid, NULL, 0);
    }
    struct stat stat;
    int lines = 0;
    while (lines < 5) {
        char c;
        lines = 0;
        int fd = open(file, O_RDONLY);
        while (read(fd, &c, 1) == 1)
            lines += c == '\n';
        close(fd);
        poll(NULL, 0, 1);
    }
    if (fstat(GUARD_PROGRESS_FD, &stat) == 0)
        say_fd(GUARD_PROGRESS_FD, "ready\n");
    return 0;
}

/* Like task_tree, but does not end; its own pid is the sixth in the file. */
static UNUSED int task_stay(const char *file) {
    task_tree(file, false);
    FILE *f = fopen(file, "a");
    fprintf(f, "%d\n", (int)getpid());
    fclose(f);
    signal(SIGTERM, SIG_IGN);
    say_fd(GUARD_PROGRESS_FD, "staying\n");
    sleep_for_ever();
    return 0;
}

static UNUSED int task_daemon(void) {
    for (int fd = 0; fd < 20; fd++)
        close(fd);
    if (fork() != 0)
        _exit(0);
    setsid();
    if (fork() != 0)
        _exit(0);
    sleep_for_ever();
    return 0;
}

/* Prints the open descriptors and the number of signals that are blocked or
 * ignored. */
static UNUSED int task_inspect(void) {
    for (int fd = 0; fd < 1000; fd++)
        if (fcntl(fd, F_GETFD) >= 0)
            printf("%d ", fd);
    sigset_t mask;
    sigprocmask(SIG_SETMASK, NULL, &mask);
    int odd = 0;
    for (int i = 1; i < 32; i++) {
        struct sigaction now;
        sigaction(i, NULL, &now);
        odd += sigismember(&mask, i) == 1 || now.sa_handler == SIG_IGN;
    }
    printf("odd=%d leader=%d\n", odd, getpgrp() == getpid());
    return 0;
}

static UNUSED int task_lines(const char *count) {
    for (int i = 0; i < atoi(count); i++)
        printf("line %08d of the output\n", i);
    return 0;
}

static UNUSED int task_slow(void) {
    say_fd(1, "one\n");
    say_fd(GUARD_PROGRESS_FD, "ready\n");
    sleep_for_ever();
    return 0;
}

static UNUSED int task_main(int argc, char **argv) {
    const char *verb = argv[0], *arg = argc > 1 ? argv[1] : "";
    if (strcmp(verb, "deaf") == 0)
        return task_deaf();
    if (strcmp(verb, "term") == 0)
        return task_term();
    if (strcmp(verb, "tree") == 0)
        return task_tree(arg, false);
    if (strcmp(verb, "tree-with-pipe") == 0)
        return task_tree(arg, true);
    if (strcmp(verb, "stay") == 0)
        return task_stay(arg);
    if (strcmp(verb, "daemon") == 0)
        return task_daemon();
    if (strcmp(verb, "inspect") == 0)
        return task_inspect();
    if (strcmp(verb, "lines") == 0)
        return task_lines(arg);
    if (strcmp(verb, "slow") == 0)
        return task_slow();
    return 9;
}

/* ---- the world ---- */

static UNUSED void on_started(void *ctx, uint64_t id, pid_t pid,
                              struct wall at) {
    struct world *world = ctx;
    (void)id;
    world->started++;
    world->last_pid = pid;
    assert_true(at.ns > 0);
}

static UNUSED void on_progress(void *ctx, uint64_t id, struct span line) {
    struct world *world = ctx;
    world->progressed++;
    snprintf(world->progress, sizeof world->progress, "%.*s", (int)line.len,
             line.p);
    if (world->on_progress != NULL)
        world->on_progress(world, id);
}

static UNUSED void on_usage(void *ctx, const struct guard_usage *usage) {
    struct world *world = ctx;
    if (world->on_usage != NULL)
        world->on_usage(world, usage);
}

static UNUSED void on_ended(void *ctx, const struct guard_end *end) {
    struct world *world = ctx;
    assert_true(end->id < ENDS_MAX);
    struct seen *seen = &world->seen[end->id];
    seen->times++;
    if (seen->times > 1)
        return;
    seen->end = *end;
    seen->error = span_string(end->error);
    seen->status = span_string(end->status);
    seen->output = span_string(end->output);
    if (++world->ended == world->wanted)
        uv_stop(&world->loop);
}

static UNUSED void on_lost(void *ctx, const char *why) {
    struct world *world = ctx;
    assert_non_null(why);
    world->lost = true;
    if (!world->goes_on)
        uv_stop(&world->loop);
}

static UNUSED void on_restored(void *ctx) {
    struct world *world = ctx;
    world->restored = true;
}

static UNUSED void on_timeout(uv_timer_t *timer) {
    (void)timer;
    fail_msg("timed out");
}

static UNUSED void on_closed(void *ctx) {
    struct world *world = ctx;
    world->closed = true;
    uv_stop(&world->loop);
}

static const struct guard_events events = {.started = on_started,
                                           .progress = on_progress,
                                           .usage = on_usage,
                                           .ended = on_ended,
                                           .lost = on_lost,
                                           .restored = on_restored};

static UNUSED struct world *world_new(const char *cgroup_root) {
    struct world *world = calloc(1, sizeof *world);
    const char *tmp = getenv("TMPDIR");
    snprintf(world->dir, sizeof world->dir, "%s/guard.XXXXXX",
             tmp != NULL && *tmp != '\0' ? tmp : "/tmp");
    assert_non_null(mkdtemp(world->dir));
    world->base_fd = open(world->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    world->cgroup_root = cgroup_root;
    uv_loop_init(&world->loop);
    uv_timer_init(&world->loop, &world->timeout);
    world->timeout.data = world;
    uv_timer_start(&world->timeout, on_timeout, TIMEOUT_MS, 0);
    return world;
}

static UNUSED void world_open(struct world *world, unsigned slots) {
    struct guard_options options = {.base_fd = world->base_fd,
                                    .role = "test",
                                    .life_path = "life",
                                    .cgroup_root = world->cgroup_root,
                                    .leased = world->leased,
                                    .launchers = 2,
                                    .slots = slots,
                                    .reply_ms = world->reply_ms};
    struct err err = {0};
    if (!guard_open(&world->loop, &options, &events, world, &world->guard,
                    &err))
        fail_msg("%s", err.text);
}

static UNUSED void world_close_guard(struct world *world) {
    world->closed = false;
    guard_close(world->guard, on_closed, world);
    while (!world->closed)
        uv_run(&world->loop, UV_RUN_ONCE);
    world->guard = NULL;
}

static UNUSED void remove_all(const char *dir) {
    DIR *d = opendir(dir);
    struct dirent *entry;
    char path[PATH_MAX + 300];
    while (d != NULL && (entry = readdir(d)) != NULL) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        snprintf(path, sizeof path, "%s/%s", dir, entry->d_name);
        if (unlink(path) < 0)
            remove_all(path);
    }
    if (d != NULL)
        closedir(d);
    rmdir(dir);
}

static UNUSED void world_free(struct world *world) {
    if (world->guard != NULL)
        world_close_guard(world);
    uv_close((uv_handle_t *)&world->timeout, NULL);
    uv_run(&world->loop, UV_RUN_DEFAULT);
    assert_int_equal(uv_loop_close(&world->loop), 0);
    for (unsigned i = 0; i < ENDS_MAX; i++) {
        free(world->seen[i].error);
        free(world->seen[i].status);
        free(world->seen[i].output);
    }
    close(world->base_fd);
    remove_all(world->dir);
    free(world);
}

static UNUSED int set_up(void **state) {
    struct world *world = world_new(NULL);
    world_open(world, 0);
    *state = world;
    return 0;
}

static UNUSED int set_up_groups(void **state) {
    struct world *world = world_new("");
    world_open(world, 0);
    *state = world;
    return 0;
}

static UNUSED int tear_down(void **state) {
    world_free(*state);
    return 0;
}

static UNUSED struct seen *world_run(struct world *world, unsigned count,
                                     uint64_t id) {
    world->wanted += count;
    if (world->ended < world->wanted)
        uv_run(&world->loop, UV_RUN_DEFAULT);
    assert_int_equal(world->ended, world->wanted);
    assert_int_equal(world->seen[id].times, 1);
    return &world->seen[id];
}

static char env_path[] = "PATH=/usr/local/bin:/usr/bin:/bin";
static char *const plain_env[] = {env_path, NULL};

static UNUSED struct guard_start task(uint64_t id, char *const *argv) {
    return (struct guard_start){
        .id = id, .argv = argv, .envp = plain_env, .mask = 022, .stdin_fd = -1};
}

#define ARGV(...) \
    ((char *const *)(uintptr_t)(const char *const[]){__VA_ARGS__, NULL})
#define SH(text) ARGV("sh", "-c", text)
#define TASK(...) ARGV(self, "task", __VA_ARGS__)

static UNUSED struct seen *run_sh(struct world *world, uint64_t id,
                                  const char *text) {
    struct guard_start start = task(id, SH(text));
    guard_start(world->guard, &start);
    return world_run(world, 1, id);
}

static UNUSED char *read_file(const char *dir, const char *name,
                              size_t *ret_bytes) {
    char path[PATH_MAX + 300];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    int fd = open(path, O_RDONLY);
    assert_true(fd >= 0);
    struct stat stat;
    fstat(fd, &stat);
    char *text = calloc(1, (size_t)stat.st_size + 1);
    assert_int_equal(read(fd, text, (size_t)stat.st_size), stat.st_size);
    close(fd);
    *ret_bytes = (size_t)stat.st_size;
    return text;
}

static UNUSED void write_script(struct world *world, const char *name,
                                const char *text, mode_t mode) {
    int fd = openat(world->base_fd, name, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    fchmod(fd, mode);
    close(fd);
}

/* Returns whether the process can ever run again. A killed process becomes a
 * zombie only after it has closed its files and left its cgroup, and a test may
 * have waited for just that. It has released its memory earlier, so the memory
 * is checked. */
static UNUSED bool still_runs(pid_t pid) {
    enum { VSIZE_FIELD = 23 };
    char path[64], stat[1024];
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    FILE *f = fopen(path, "r");
    if (f == NULL)
        return false;
    stat[fread(stat, 1, sizeof stat - 1, f)] = '\0';
    fclose(f);
    const char *p = strrchr(stat, ')');
    if (p == NULL || strchr("ZX", p[2]) != NULL)
        return false;
    for (int field = 2; field < VSIZE_FIELD && p != NULL; field++)
        p = strchr(p + 1, ' ');
    return p != NULL && strtoull(p, NULL, 10) > 0;
}

/* Counts the running processes among those whose pids are the lines of a file.
 */
static UNUSED unsigned count_running(const struct world *world,
                                     const char *name, unsigned *ret_lines) {
    size_t bytes;
    unsigned running = 0;
    char *text = read_file(world->dir, name, &bytes);
    *ret_lines = 0;
    for (char *p = strtok(text, "\n"); p != NULL; p = strtok(NULL, "\n")) {
        running += still_runs(atoi(p));
        ++*ret_lines;
    }
    free(text);
    return running;
}

/* A task skips the leak check: LeakSanitizer starts a helper in the process
 * group of the task and waits for ever if a signal to the group kills it. */
static UNUSED int end_task(int status) {
    fflush(NULL);
    _exit(status);
}

/* Runs the program as the guard or a task if the arguments say so and returns
 * the exit status; returns -1 if it was started as the test. */
static int world_verbs(int argc, char **argv) {
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    if (n <= 0)
        return 9;
    if (argc > 1 && strcmp(argv[1], "guard") == 0)
        return guard_main(argc - 1, argv + 1);
    if (argc > 2 && strcmp(argv[1], "task") == 0)
        return end_task(task_main(argc - 2, argv + 2));
    return -1;
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
#define GROUPS(name) \
    { #name "_without_cgroup", name, set_up_groups, tear_down, NULL }

#endif
