/* Durable submissions through the socket of a real server, compared with a bare
 * SQLite loop and beanstalkd -f0, alternately in the same run.
 *
 *     bench_submit POINTSMAN [ROUNDS]
 *
 * The jobs are submitted with a hold, so that only their admission is measured.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/text.h"
#include "bench/bare.h"
#include "bench/callers.h"
#include "bench/figure.h"
#include "bench/served.h"

enum {
    CALLERS = 64,
    BATCH = 100,
    ALONE_COUNT = 2000,
    CALLERS_COUNT = 20000,
    BATCH_COUNT = 500, /* batches */
    ROUNDS_MOST = 99
};

/* ---- Pointsman ---------------------------------------------------------- */

static int connect_ours(void *ctx) {
    return served_connect(ctx);
}

static double ours(struct served *served, unsigned callers, unsigned count) {
    struct callers_plan plan = {.connect = connect_ours,
                                .ctx = served,
                                .http = true,
                                .callers = callers,
                                .questions = count};
    plan.question = callers_post("/api/v1/jobs", bare_spec, strlen(bare_spec),
                                 &plan.question_bytes);
    return callers_run(&plan);
}

static double ours_in_batches(struct served *served) {
    CLEANUP(text_clear) struct text body = TEXT_INIT;
    for (int i = 0; i < BATCH; i++)
        text_addf(&body, "%s\n", bare_spec);
    struct callers_plan plan = {.connect = connect_ours,
                                .ctx = served,
                                .http = true,
                                .callers = 1,
                                .questions = BATCH_COUNT};
    plan.question = callers_post("/api/v1/jobs/batch", body.p, body.len,
                                 &plan.question_bytes);
    return callers_run(&plan) * BATCH;
}

/* ---- beanstalkd --------------------------------------------------------- */

static const char beanstalkd[] = "/usr/bin/beanstalkd";
static pid_t beanstalkd_pid;

static int connect_beanstalkd(void *ctx) {
    struct sockaddr_un where = {.sun_family = AF_UNIX};
    /* Through the descriptor of the directory, because socket paths are short.
     */
    snprintf(where.sun_path, sizeof(where.sun_path), "/proc/self/fd/%d/sock",
             *(const int *)ctx);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    for (int tries = 0; tries < 10000; tries++) {
        if (connect(fd, (struct sockaddr *)&where, sizeof(where)) == 0)
            return fd;
        usleep(1000);
    }
    bench_die("beanstalkd does not answer");
}

static void end_beanstalkd(void) {
    if (beanstalkd_pid <= 0)
        return;
    kill(beanstalkd_pid, SIGKILL);
    waitpid(beanstalkd_pid, NULL, 0);
    beanstalkd_pid = 0;
}

static double peer(unsigned count) {
    const char *wal = bench_text("%s/beanstalkd", bench_dir());
    char sock[] = "unix:sock", sync_each[] = "-f0", bin[] = "beanstalkd";
    char b[] = "-b", l[] = "-l", here[] = ".";
    char *argv[] = {bin, b, here, sync_each, l, sock, NULL};
    posix_spawn_file_actions_t actions;
    CLEANUP(text_clear) struct text put = TEXT_INIT;
    if (mkdir(wal, 0700) < 0 && errno != EEXIST)
        bench_die("cannot create '%s'", wal);
    int dir = open(wal, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addchdir_np(&actions, wal);
    posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
    if (posix_spawn(&beanstalkd_pid, beanstalkd, &actions, NULL, argv,
                    environ) != 0)
        bench_die("cannot start beanstalkd");
    posix_spawn_file_actions_destroy(&actions);
    text_addf(&put, "put 0 0 60 %zu\r\n%s\r\n", strlen(bare_spec), bare_spec);
    struct callers_plan plan = {.connect = connect_beanstalkd,
                                .ctx = &dir,
                                .question = put.p,
                                .question_bytes = put.len,
                                .answer = "INSERTED",
                                .callers = CALLERS,
                                .questions = count};
    double per_s = callers_run(&plan);
    end_beanstalkd();
    close(dir);
    return per_s;
}

/* ---- the disk ----------------------------------------------------------- */

/* Returns the time of an fdatasync, which each job costs a server without group
 * commit. */
static double sync_us(void) {
    enum { SYNCS = 101 };
    static const char page[4096];
    double took_us[SYNCS];
    const char *path = bench_text("%s/sync", bench_dir());
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    for (int i = 0; i < SYNCS; i++) {
        if (write(fd, page, sizeof(page)) != (ssize_t)sizeof(page))
            bench_die("cannot write '%s'", path);
        double begun_us = bench_wall_us();
        if (fdatasync(fd) != 0)
            bench_die("cannot sync '%s'", path);
        took_us[i] = bench_wall_us() - begun_us;
    }
    close(fd);
    return bench_median(took_us, SYNCS);
}

/* ---- the comparison ----------------------------------------------------- */

static void print(const char *what, const char *than, const double *mine,
                  const double *theirs, int rounds, double goal) {
    double ratios[ROUNDS_MOST];
    for (int i = 0; i < rounds; i++)
        ratios[i] = mine[i] / theirs[i];
    struct figure figure = {
        .what = what,
        .ours = bench_text("%.0f/s", bench_median(mine, (size_t)rounds)),
        .other =
            bench_text("%s %.0f/s", than, bench_median(theirs, (size_t)rounds)),
        .value = bench_median(ratios, (size_t)rounds),
        .unit = "x",
        .goal = goal,
    };
    figure_print(&figure);
}

int main(int argc, char **argv) {
    static double alone[ROUNDS_MOST], many[ROUNDS_MOST], batch[ROUNDS_MOST];
    static double bare1[ROUNDS_MOST], bare64[ROUNDS_MOST], bare100[ROUNDS_MOST];
    static double theirs[ROUNDS_MOST], syncs_us[ROUNDS_MOST];
    struct served served;
    int rounds = argc > 2 ? atoi(argv[2]) : 3;
    if (argc < 2 || rounds < 1 || rounds > ROUNDS_MOST)
        bench_die("usage: bench_submit POINTSMAN [ROUNDS]");
    bool has_peer = access(beanstalkd, X_OK) == 0;
    atexit(end_beanstalkd);
    served_make(&served, argv[1], 2);
    served_start(&served, argv[1]);
    for (int i = 0; i < rounds; i++) {
        syncs_us[i] = sync_us();
        bare1[i] = bare_inserts_per_s(ALONE_COUNT, 1);
        alone[i] = ours(&served, 1, ALONE_COUNT);
        bare64[i] = bare_inserts_per_s(CALLERS_COUNT, CALLERS);
        many[i] = ours(&served, CALLERS, CALLERS_COUNT);
        theirs[i] = has_peer ? peer(CALLERS_COUNT / 2) : 0;
        bare100[i] = bare_inserts_per_s(BATCH * BATCH_COUNT, BATCH);
        batch[i] = ours_in_batches(&served);
    }
    served_stop(&served);
    printf("submit: one fdatasync of this disk takes %.0f us\n",
           bench_median(syncs_us, (size_t)rounds));
    print("submit, 1 client, 1 job each", "bare SQLite, 1 per commit", alone,
          bare1, rounds, 0.6);
    print("submit, 64 clients, 1 job each", "bare SQLite, 64 per commit", many,
          bare64, rounds, 0.25);
    if (has_peer)
        print("submit, 64 clients, 1 job each", "beanstalkd -f0", many, theirs,
              rounds, 5);
    else
        puts("submit, 64 clients: beanstalkd is not installed");
    print("submit, 1 client, 100 jobs each", "bare SQLite, 100 per commit",
          batch, bare100, rounds, 0.3);
    return 0;
}
