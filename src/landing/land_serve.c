#include "landing/land_serve.h"

#include <assert.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "wire/lander.h"
#include "os/fd.h"
#include "os/sock.h"
#include "landing/land.h"
#include "landing/land_session.h"
#include "landing/land_start.h"

struct server {
    int sock, signals, null; /* /dev/null */
    char work[PATH_MAX];     /* absolute: git starts in the repository */
    struct child_stop stop;
    struct land_session session;
};

/* True: there is a request, or the socket was closed. A stop counts only if
 * there is none: a request that was sent gets its answer. */
static bool request_await(struct server *server) {
    struct pollfd wait[] = {{.fd = server->sock, .events = POLLIN},
                            {.fd = server->signals, .events = POLLIN}};
    while (poll(wait, 2, -1) < 0)
        continue;
    return wait[0].revents != 0;
}

static void attempt(struct server *server, int start_fd,
                    struct land_status *ret_status) {
    struct land_input input;
    struct land_start start;
    struct err err = {0};
    if (!land_input_read(start_fd, &input, &err) ||
        !land_start_parse(text_span(&input.text), input.dir, &input.arena,
                          &start, &err)) {
        land_status_set(ret_status, LAND_PERMANENT, "", span_of(err.text));
    } else {
        start.work = server->work;
        land_run(&start, &server->session, &server->stop, ret_status);
    }
    land_input_clear(&input);
}

/* The two streams of the attempt. */
static void streams_set(int fd) {
    fflush(stdout);
    fflush(stderr);
    if (dup2(fd, STDOUT_FILENO) < 0 || dup2(fd, STDERR_FILENO) < 0)
        abort();
}

static int64_t usage_us(int who) {
    struct rusage usage;
    if (getrusage(who, &usage) != 0)
        return 0;
    return (usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * INT64_C(1000000) +
           usage.ru_utime.tv_usec + usage.ru_stime.tv_usec;
}

static uint64_t cpu_us(void) {
    return (uint64_t)(usage_us(RUSAGE_SELF) + usage_us(RUSAGE_CHILDREN));
}

static bool answer_send(struct server *server, const struct land_status *status,
                        uint64_t used_us) {
    CLEANUP(text_clear) struct text line = TEXT_INIT;
    struct lander_answer answer = {
        .cpu_us = used_us,
        .exit_code = (uint32_t)land_status_exit(status, &server->stop)};
    land_status_format(status, &line);
    assert(line.len <= sizeof answer.line);
    answer.line_bytes = (uint32_t)line.len;
    memcpy(answer.line, line.p, line.len);
    return sock_send(
        server->sock,
        span_make(&answer, offsetof(struct lander_answer, line) + line.len),
        NULL, 0, NULL);
}

/* False: no more requests. */
static bool serve_one(struct server *server) {
    struct land_status status;
    char word[16];
    int fds[SOCK_FDS];
    uint64_t before_us = cpu_us();
    if (sock_receive(server->sock, word, sizeof word, fds) <= 0)
        return false;
    bool is_request = fds[LANDER_FD_OUTPUT] >= 0;
    if (is_request) {
        streams_set(fds[LANDER_FD_OUTPUT]);
        attempt(server, fds[LANDER_FD_START], &status);
        land_status_send(-1, &status);
        streams_set(server->null);
    }
    for (size_t i = 0; i < SOCK_FDS; i++)
        fd_close(&fds[i]);
    return is_request && answer_send(server, &status, cpu_us() - before_us) &&
           child_stop_requested(&server->stop) == 0;
}

static int signals_open(void) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGHUP);
    sigaddset(&set, SIGINT);
    return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

int land_serve(int sock, const char *work) {
    struct server server = {.sock = sock};
    char dir[PATH_MAX];
    child_stop_init(&server.stop);
    server.signals = signals_open();
    server.null = open("/dev/null", O_WRONLY | O_CLOEXEC);
    if (server.signals < 0 || server.null < 0 ||
        getcwd(dir, PATH_MAX) == NULL ||
        snprintf(server.work, PATH_MAX, "%s/%s", dir, work) >= PATH_MAX ||
        fcntl(sock, F_SETFD, FD_CLOEXEC) != 0)
        return 111;
    streams_set(server.null);
    while (request_await(&server) && serve_one(&server))
        continue;
    land_session_clear(&server.session);
    return 0;
}
