/* Durable submissions over the base's socket, beside a bare SQLite loop and
 * beanstalkd -f0 on the same disk in the same run:
 *
 *     bench_submit POINTSMAN [SECONDS [ROUNDS]]
 *
 * 1, 64 clients of one job each and batches of 100; medians, and the ratios
 * with the goals of the project beside them. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/text.h"
#include "os/clock.h"

extern char **environ;

/* A string that execve may be given. */
#define WORD(text) ((char[]){text})

enum { ROUNDS_MAX = 99, CLIENTS_MAX = 64, BATCH = 100 };

struct bench {
    char dir[512];
    const char *program;
    double seconds;
};

static _Noreturn void give_up(const char *what) {
    fprintf(stderr, "bench_submit: %s: %s\n", what, strerror(errno));
    exit(1);
}

static double now_s(void) {
    return (double)clock_mono().ns / 1e9;
}

static pid_t start(char *const *argv) {
    pid_t pid;
    if (posix_spawnp(&pid, argv[0], NULL, NULL, argv, environ) != 0)
        give_up(argv[0]);
    return pid;
}

/* ---- the bare loop ------------------------------------------------------- */

/* One row of about what a job is, one commit for `group` of them. */
static double bare(const struct bench *bench, int group) {
    char path[600];
    sqlite3 *db;
    sqlite3_stmt *insert;
    snprintf(path, sizeof(path), "%s/bare.db", bench->dir);
    unlink(path);
    if (sqlite3_open(path, &db) != SQLITE_OK ||
        sqlite3_exec(db,
                     "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL;"
                     "CREATE TABLE job (num INTEGER PRIMARY KEY, id TEXT NOT "
                     "NULL UNIQUE, spec TEXT NOT NULL) STRICT",
                     NULL, NULL, NULL) != SQLITE_OK ||
        sqlite3_prepare_v2(db, "INSERT INTO job (id, spec) VALUES (?, ?)", -1,
                           &insert, NULL) != SQLITE_OK)
        give_up("sqlite");
    char spec[200];
    memset(spec, 'x', sizeof(spec));
    double begin = now_s(), end;
    long count = 0;
    do {
        sqlite3_exec(db, "BEGIN IMMEDIATE", NULL, NULL, NULL);
        for (int i = 0; i < group; i++) {
            char id[40];
            snprintf(id, sizeof(id), "j%ld", count++);
            sqlite3_bind_text(insert, 1, id, -1, SQLITE_TRANSIENT);
            sqlite3_bind_text(insert, 2, spec, sizeof(spec), SQLITE_STATIC);
            if (sqlite3_step(insert) != SQLITE_DONE)
                give_up("insert");
            sqlite3_reset(insert);
        }
        if (sqlite3_exec(db, "COMMIT", NULL, NULL, NULL) != SQLITE_OK)
            give_up("commit");
        end = now_s();
    } while (end - begin < bench->seconds);
    sqlite3_finalize(insert);
    sqlite3_close(db);
    return (double)count / (end - begin);
}

/* ---- clients ------------------------------------------------------------- */

struct client {
    int fd;
    char in[65536];
    size_t have;
};

static int dial_unix(const char *path) {
    struct sockaddr_un where = {.sun_family = AF_UNIX};
    snprintf(where.sun_path, sizeof(where.sun_path), "%s", path);
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    if (fd < 0 || connect(fd, (struct sockaddr *)&where, sizeof(where)) < 0)
        return -1;
    return fd;
}

static int dial_tcp(int port) {
    struct sockaddr_in where = {.sin_family = AF_INET,
                                .sin_port = htons((uint16_t)port)};
    where.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    if (fd < 0 || connect(fd, (struct sockaddr *)&where, sizeof(where)) < 0)
        return -1;
    return fd;
}

/* Is a whole answer there? */
static bool http_whole(const char *in, size_t have) {
    const char *body = memmem(in, have, "\r\n\r\n", 4);
    const char *length = memmem(in, have, "Content-Length: ", 16);
    if (!body || !length)
        return false;
    return have >= (size_t)(body + 4 - in) + strtoul(length + 16, NULL, 10);
}

static bool beanstalk_whole(const char *in, size_t have) {
    return have > 0 && in[have - 1] == '\n';
}

/* All clients send, each again as soon as it was answered. */
static double hammer(struct client *clients, int count, struct span request,
                     const char *good,
                     bool (*whole)(const char *in, size_t have),
                     double seconds) {
    int epoll = epoll_create1(0);
    for (int i = 0; i < count; i++) {
        struct epoll_event event = {.events = EPOLLIN, .data.ptr = &clients[i]};
        epoll_ctl(epoll, EPOLL_CTL_ADD, clients[i].fd, &event);
        clients[i].have = 0;
        if (write(clients[i].fd, request.p, request.len) !=
            (ssize_t)request.len)
            give_up("write");
    }
    double begin = now_s(), end = begin;
    long answers = 0;
    int open = count;
    while (open > 0) {
        struct epoll_event events[CLIENTS_MAX];
        int ready = epoll_wait(epoll, events, CLIENTS_MAX, -1);
        for (int i = 0; i < ready; i++) {
            struct client *client = events[i].data.ptr;
            ssize_t got = read(client->fd, client->in + client->have,
                               sizeof(client->in) - client->have);
            if (got <= 0)
                give_up("read");
            client->have += (size_t)got;
            if (!whole(client->in, client->have))
                continue;
            if (strncmp(client->in, good, strlen(good)) != 0) {
                fprintf(stderr, "%.*s\n", (int)client->have, client->in);
                give_up("refused");
            }
            answers++;
            client->have = 0;
            end = now_s();
            if (end - begin >= seconds)
                open--;
            else if (write(client->fd, request.p, request.len) !=
                     (ssize_t)request.len)
                give_up("write");
        }
    }
    for (int i = 0; i < count; i++)
        epoll_ctl(epoll, EPOLL_CTL_DEL, clients[i].fd, NULL);
    close(epoll);
    return (double)answers / (end - begin);
}

/* ---- the server ---------------------------------------------------------- */

static const char job[] = "{\"command\":[\"true\"],\"hold\":true,\"dir\":\"/\","
                          "\"umask\":\"022\",\"env\":{\"PATH\":\"/usr/bin\"}}";

static double server(const struct bench *bench, int clients, int batch) {
    static struct client all[CLIENTS_MAX];
    CLEANUP(text_clear) struct text body = TEXT_INIT, request = TEXT_INIT;
    char sock[600];
    snprintf(sock, sizeof(sock), "%s/base/ctrl/sock", bench->dir);
    for (int i = 0; i < batch; i++)
        text_addf(&body, "%s%s", job, batch > 1 ? "\n" : "");
    text_addf(&request,
              "POST /api/v1/jobs%s HTTP/1.1\r\nHost: x\r\nContent-Length: "
              "%zu\r\n\r\n%s",
              batch > 1 ? "/batch" : "", body.len, text_string(&body));
    for (int i = 0; i < clients; i++)
        if ((all[i].fd = dial_unix(sock)) < 0)
            give_up("connect");
    double per_s = hammer(all, clients, text_span(&request), "HTTP/1.1 20",
                          http_whole, bench->seconds);
    for (int i = 0; i < clients; i++)
        close(all[i].fd);
    return per_s * batch;
}

static double beanstalk(const struct bench *bench) {
    static struct client all[CLIENTS_MAX];
    CLEANUP(text_clear) struct text request = TEXT_INIT;
    char dir[600];
    int number = 20000 + getpid() % 20000;
    char number_text[16];
    snprintf(dir, sizeof(dir), "%s/beans", bench->dir);
    mkdir(dir, 0700);
    snprintf(number_text, sizeof(number_text), "%d", number);
    char *argv[] = {WORD("/usr/bin/beanstalkd"),
                    WORD("-l"),
                    WORD("127.0.0.1"),
                    WORD("-p"),
                    number_text,
                    WORD("-b"),
                    dir,
                    WORD("-f0"),
                    NULL};
    if (access(argv[0], X_OK) != 0)
        return 0;
    pid_t pid = start(argv);
    int fd = -1;
    for (int i = 0; i < 500 && fd < 0; i++) {
        fd = dial_tcp(number);
        if (fd < 0)
            poll(NULL, 0, 10);
    }
    if (fd < 0)
        give_up("beanstalkd");
    close(fd);
    text_addf(&request, "put 1 0 60 %zu\r\n%s\r\n", strlen(job), job);
    for (int i = 0; i < CLIENTS_MAX; i++)
        all[i].fd = dial_tcp(number);
    double per_s = hammer(all, CLIENTS_MAX, text_span(&request), "INSERTED",
                          beanstalk_whole, bench->seconds);
    for (int i = 0; i < CLIENTS_MAX; i++)
        close(all[i].fd);
    kill(pid, SIGTERM);
    waitpid(pid, NULL, 0);
    return per_s;
}

/* ---- all ----------------------------------------------------------------- */

static int by_size(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static double median(double *values, int count) {
    qsort(values, (size_t)count, sizeof(*values), by_size);
    return values[count / 2];
}

static pid_t start_server(struct bench *bench) {
    char base[600], sock[700];
    snprintf(base, sizeof(base), "%s/base", bench->dir);
    snprintf(sock, sizeof(sock), "%s/ctrl/sock", base);
    char *program = (char *)(uintptr_t)bench->program;
    char *init[] = {program, WORD("init"), WORD("-q"), base, NULL};
    char *serve[] = {program, WORD("serve"),    WORD("--base"),
                     base,    WORD("--listen"), WORD("off"),
                     NULL};
    waitpid(start(init), NULL, 0);
    pid_t pid = start(serve);
    for (int i = 0; i < 1000; i++) {
        int fd = dial_unix(sock);
        if (fd >= 0) {
            close(fd);
            return pid;
        }
        poll(NULL, 0, 10);
    }
    give_up("serve");
}

static void ratio(const char *name, double ours, double other,
                  const char *whose, double goal) {
    if (other > 0)
        printf("%-28s %9.0f/s  %6.2f of %s %.0f/s (goal %.2f)\n", name, ours,
               ours / other, whose, other, goal);
}

int main(int argc, char **argv) {
    struct bench bench = {.program = argc > 1 ? argv[1] : NULL,
                          .seconds = argc > 2 ? atof(argv[2]) : 1};
    int rounds = argc > 3 ? atoi(argv[3]) : 3;
    double v[8][ROUNDS_MAX];
    if (!bench.program || rounds < 1 || rounds > ROUNDS_MAX) {
        fprintf(stderr, "usage: bench_submit POINTSMAN [SECONDS [ROUNDS]]\n");
        return 64;
    }
    const char *tmp = getenv("TMPDIR");
    snprintf(bench.dir, sizeof(bench.dir), "%s/submit-XXXXXX",
             tmp ? tmp : "/var/tmp");
    if (!mkdtemp(bench.dir))
        give_up(bench.dir);
    pid_t pid = start_server(&bench);
    for (int i = 0; i < rounds; i++) {
        v[0][i] = bare(&bench, 1);
        v[1][i] = server(&bench, 1, 1);
        v[2][i] = bare(&bench, 64);
        v[3][i] = server(&bench, 64, 1);
        v[4][i] = beanstalk(&bench);
        v[5][i] = bare(&bench, 100);
        v[6][i] = server(&bench, 1, BATCH);
    }
    kill(pid, SIGTERM);
    waitpid(pid, NULL, 0);
    for (int i = 0; i < 7; i++)
        (void)median(v[i], rounds);
    int mid = rounds / 2;
    ratio("1 client", v[1][mid], v[0][mid], "bare SQLite", 0.6);
    ratio("64 clients", v[3][mid], v[2][mid], "bare SQLite, 64 a commit", 0.25);
    ratio("64 clients", v[3][mid], v[4][mid], "beanstalkd -f0", 5);
    ratio("batches of 100", v[6][mid], v[5][mid], "bare SQLite, 100 a commit",
          0.3);
    char *rm[] = {WORD("rm"), WORD("-rf"), bench.dir, NULL};
    waitpid(start(rm), NULL, 0);
    return 0;
}
