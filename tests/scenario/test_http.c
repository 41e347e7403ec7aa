/* A real server on a real socket, and callers that misbehave. After each of
 * them a correct request is answered. */
#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/text.h"
#include "support/test.h"

extern char **environ;

enum { TIMEOUT_S = 60, MOST_DESCRIPTORS = 600 };

static pid_t server;
static char here[4096];

static void run_program(char *const *argv, pid_t *ret_pid) {
    const char *program = getenv("POINTSMAN_PROGRAM");
    assert_non_null(program);
    assert_int_equal(posix_spawn(ret_pid, program, NULL, NULL, argv, environ),
                     0);
}

static int dial(void) {
    struct sockaddr_un where = {.sun_family = AF_UNIX};
    struct timeval timeout = {.tv_sec = TIMEOUT_S};
    strcpy(where.sun_path, "base/ctrl/sock");
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(fd >= 0);
    if (connect(fd, (struct sockaddr *)&where, sizeof(where)) < 0) {
        close(fd);
        return -1;
    }
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof(timeout));
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof(timeout));
    return fd;
}

static int start_server(void **state) {
    (void)state;
    char program[] = "pointsman", init[] = "init", base[] = "base",
         quiet[] = "-q", serve[] = "serve", base_option[] = "--base",
         listen[] = "--listen", off[] = "off";
    char *make[] = {program, init, quiet, base, NULL};
    char *run[] = {program, serve, base_option, base, listen, off, NULL};
    pid_t pid;
    int status, fd = -1;
    struct rlimit few = {MOST_DESCRIPTORS, MOST_DESCRIPTORS};
    signal(SIGPIPE, SIG_IGN);
    setrlimit(RLIMIT_NOFILE, &few);
    assert_int_equal(chdir(test_dir()), 0);
    assert_non_null(getcwd(here, sizeof(here)));
    run_program(make, &pid);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    run_program(run, &server);
    for (int i = 0; i < TIMEOUT_S * 100 && fd < 0; i++) {
        fd = dial();
        if (fd < 0)
            poll(NULL, 0, 10);
    }
    assert_true(fd >= 0);
    close(fd);
    return 0;
}

static int stop_server(void **state) {
    (void)state;
    int status;
    kill(server, SIGTERM);
    assert_int_equal(waitpid(server, &status, 0), server);
    assert_int_equal(status, 0);
    return 0;
}

/* Sends as much as is accepted; the server may have stopped reading. */
static void send_all(int fd, struct span bytes) {
    while (bytes.len > 0) {
        ssize_t sent = send(fd, bytes.p, bytes.len, MSG_NOSIGNAL);
        if (sent <= 0)
            return;
        bytes.p += sent;
        bytes.len -= (size_t)sent;
    }
}

/* Reads everything up to the end of the connection. */
static void receive_all(int fd, struct text *ret_text) {
    char piece[4096];
    for (;;) {
        ssize_t got = recv(fd, piece, sizeof(piece), 0);
        if (got <= 0)
            return;
        text_add(ret_text, piece, (size_t)got);
    }
}

/* Opens one connection, sends the text, and reads the answer to its end. */
static void exchange(struct span bytes, struct text *ret_text) {
    int fd = dial();
    assert_true(fd >= 0);
    send_all(fd, bytes);
    receive_all(fd, ret_text);
    close(fd);
}

#define CLOSE "Connection: close\r\n\r\n"

static void expect_alive(void) {
    CLEANUP(text_clear) struct text answer = TEXT_INIT;
    exchange(SPAN("GET /healthz HTTP/1.1\r\nHost: x\r\n" CLOSE), &answer);
    assert_non_null(strstr(text_string(&answer), "HTTP/1.1 200"));
    assert_int_equal(kill(server, 0), 0);
}

static void expect_status(struct span bytes, const char *status) {
    CLEANUP(text_clear) struct text answer = TEXT_INIT;
    exchange(bytes, &answer);
    if (strncmp(text_string(&answer) + 9, status, 3) != 0)
        fail_msg("the answer to '%.60s' is '%.60s'", bytes.p,
                 text_string(&answer));
    expect_alive();
}

static void add_post(struct text *out, const char *path, const char *body,
                     const char *more) {
    text_addf(out, "POST %s HTTP/1.1\r\nHost: x\r\nContent-Length: %zu\r\n%s%s",
              path, strlen(body), more, body);
}

#define HELD(id) "{\"id\":\"" id "\",\"command\":[\"x\"],\"hold\":true}"

/* ---- invalid requests ---------------------------------------------------- */

static void junk_is_dropped(void **state) {
    (void)state;
    static const char *const junk[] = {
        "\r\n\r\n\r\n",
        "GET\r\n\r\n",
        "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        "GET /healthz\r\n\r\n",
        "GET / HTTP/9.9\r\n\r\n",
        "\xff\xff\xff\xff\xff\xff\xff\xff",
        "POST /api/v1/jobs HTTP/1.1\r\nContent-Length: 10",
        "GET /api/v1/jobs?%%%=&&&=%00 HTTP/1.1\r\nHost: x\r\n" CLOSE,
        "GET /../../../etc/passwd HTTP/1.1\r\nHost: x\r\n" CLOSE,
    };
    for (size_t i = 0; i < COUNT(junk); i++) {
        int fd = dial();
        assert_true(fd >= 0);
        send_all(fd, span_of(junk[i]));
        expect_alive();
        close(fd);
        expect_alive();
    }
}

static void a_long_line_is_refused(void **state) {
    (void)state;
    CLEANUP(text_clear) struct text line = TEXT_INIT, answer = TEXT_INIT;
    text_adds(&line, "GET /");
    for (int i = 0; i < 200000; i++)
        text_addc(&line, 'a');
    text_adds(&line, " HTTP/1.1\r\nHost: x\r\n" CLOSE);
    exchange(text_span(&line), &answer);
    assert_null(strstr(text_string(&answer), "HTTP/1.1 2"));
    expect_alive();
}

static void endless_fields_are_refused(void **state) {
    (void)state;
    CLEANUP(text_clear) struct text head = TEXT_INIT, answer = TEXT_INIT;
    text_adds(&head, "GET /healthz HTTP/1.1\r\nHost: x\r\n");
    for (int i = 0; i < 20000; i++)
        text_addf(&head, "X-Field-%d: %d\r\n", i, i);
    text_adds(&head, CLOSE);
    exchange(text_span(&head), &answer);
    assert_null(strstr(text_string(&answer), "HTTP/1.1 2"));
    expect_alive();
}

static void invalid_lengths_are_refused(void **state) {
    (void)state;
    static const char *const lengths[] = {"-1", "abc", "1e9", "0x10",
                                          "99999999999999999999999999"};
    for (size_t i = 0; i < COUNT(lengths); i++) {
        CLEANUP(text_clear) struct text text = TEXT_INIT, answer = TEXT_INIT;
        text_addf(&text,
                  "POST /api/v1/jobs HTTP/1.1\r\nHost: x\r\nContent-Length: "
                  "%s\r\n" CLOSE "{}",
                  lengths[i]);
        exchange(text_span(&text), &answer);
        assert_null(strstr(text_string(&answer), "HTTP/1.1 2"));
        expect_alive();
    }
}

static void a_truncated_body_submits_nothing(void **state) {
    (void)state;
    int fd = dial();
    assert_true(fd >= 0);
    send_all(fd,
             SPAN("POST /api/v1/jobs HTTP/1.1\r\nHost: x\r\nContent-Length: "
                  "500\r\n\r\n{\"id\":\"cut\",\"command\":[\"true\"]}"));
    expect_alive(); /* the server has read the request by now */
    close(fd);
    expect_status(SPAN("GET /api/v1/jobs/cut HTTP/1.1\r\nHost: x\r\n" CLOSE),
                  "404");
}

static void a_body_over_the_limit_is_refused(void **state) {
    (void)state;
    CLEANUP(text_clear) struct text text = TEXT_INIT;
    enum { BYTES = 3 << 20 };
    text_addf(&text,
              "POST /api/v1/bulk HTTP/1.1\r\nHost: x\r\nContent-Length: "
              "%d\r\n" CLOSE,
              (int)BYTES);
    for (int i = 0; i < BYTES; i++)
        text_addc(&text, 'x');
    expect_status(text_span(&text), "413");
}

static void other_methods_are_refused(void **state) {
    (void)state;
    expect_status(SPAN("DELETE /api/v1/jobs/x HTTP/1.1\r\nHost: x\r\n" CLOSE),
                  "405");
    expect_status(SPAN("BREW /pot HTTP/1.1\r\nHost: x\r\n" CLOSE), "405");
    expect_status(SPAN("PUT /healthz HTTP/1.1\r\nHost: x\r\nContent-Length: "
                       "0\r\n" CLOSE),
                  "405");
}

/* ---- unusual but valid requests ------------------------------------------ */

/* The owner of the base is no shell account either. */
static void only_the_shell_account_names_a_person(void **state) {
    (void)state;
    expect_status(SPAN("GET /api/v1/jobs HTTP/1.1\r\nHost: x\r\n" CLOSE),
                  "200");
    expect_status(SPAN("GET /api/v1/jobs HTTP/1.1\r\nHost: x\r\n"
                       "Pointsman-Person: ann\r\n" CLOSE),
                  "403");
    expect_status(SPAN("GET /api/v1/jobs HTTP/1.1\r\nHost: x\r\n"
                       "Pointsman-Person:\r\n" CLOSE),
                  "403");
}

static void a_head_request_gets_no_body(void **state) {
    (void)state;
    CLEANUP(text_clear) struct text answer = TEXT_INIT;
    exchange(SPAN("HEAD /healthz HTTP/1.1\r\nHost: x\r\n" CLOSE), &answer);
    assert_non_null(strstr(text_string(&answer), "HTTP/1.1 200"));
    assert_true(span_ends(text_span(&answer), "\r\n\r\n"));
}

static void a_caller_may_be_slow(void **state) {
    (void)state;
    CLEANUP(text_clear) struct text answer = TEXT_INIT, request = TEXT_INIT;
    add_post(&request, "/api/v1/jobs", HELD("slow"), CLOSE);
    int fd = dial();
    for (size_t i = 0; i < request.len; i++)
        send_all(fd, span_make(request.p + i, 1));
    receive_all(fd, &answer);
    close(fd);
    assert_non_null(strstr(text_string(&answer), "HTTP/1.1 201"));
    assert_non_null(strstr(text_string(&answer), "\"id\":\"slow\""));
}

static void a_body_may_come_in_chunks(void **state) {
    (void)state;
    expect_status(
        SPAN("POST /api/v1/jobs HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: "
             "chunked\r\n" CLOSE "6\r\n{\"id\":\r\n"
             "25\r\n\"pieces\",\"command\":[\"x\"],\"hold\":true}\r\n"
             "0\r\n\r\n"),
        "201");
}

static void two_requests_may_be_sent_at_once(void **state) {
    (void)state;
    CLEANUP(text_clear) struct text answer = TEXT_INIT;
    exchange(SPAN("GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"
                  "GET /readyz HTTP/1.1\r\nHost: x\r\n" CLOSE),
             &answer);
    const char *first = strstr(text_string(&answer), "ok\n");
    assert_non_null(first);
    assert_non_null(strstr(first, "ready\n"));
}

static void a_broken_connection_does_no_harm(void **state) {
    (void)state;
    CLEANUP(text_clear) struct text request = TEXT_INIT;
    add_post(&request, "/api/v1/jobs", HELD("half"), "\r\n");
    for (size_t cut = 0; cut < request.len; cut += 7) {
        int fd = dial();
        assert_true(fd >= 0);
        send_all(fd, span_make(request.p, cut));
        close(fd);
    }
    expect_alive();
}

/* ---- callers that disconnect --------------------------------------------- */

static size_t server_descriptors(void) {
    char path[64];
    size_t count = 0;
    snprintf(path, sizeof(path), "/proc/%d/fd", (int)server);
    DIR *dir = opendir(path);
    if (dir == NULL)
        return 0;
    while (readdir(dir) != NULL)
        count++;
    closedir(dir);
    return count;
}

static void disconnected_waiters_leave_nothing_behind(void **state) {
    (void)state;
    /* The server may not have closed the previous connection yet, or not yet
     * have opened the files that it opens once. */
    enum { WAITERS = 50, SLACK = 3 };
    static const char *const requests[] = {
        "GET /api/v1/wait?id=held HTTP/1.1\r\nHost: x\r\n\r\n",
        "GET /api/v1/events?follow=1&tail=0 HTTP/1.1\r\nHost: x\r\n\r\n",
        "GET /api/v1/jobs/held/logs?follow=1 HTTP/1.1\r\nHost: x\r\n\r\n",
    };
    int fds[WAITERS];
    CLEANUP(text_clear) struct text request = TEXT_INIT;
    add_post(&request, "/api/v1/jobs", HELD("held"), CLOSE);
    expect_status(text_span(&request), "201");
    size_t before = server_descriptors();
    if (before == 0)
        test_skip("/proc does not show the server's descriptors");
    for (int i = 0; i < WAITERS; i++) {
        fds[i] = dial();
        assert_true(fds[i] >= 0);
        send_all(fds[i], span_of(requests[(size_t)i % COUNT(requests)]));
    }
    for (int i = 0; i < TIMEOUT_S * 100; i++) {
        if (server_descriptors() + SLACK >= before + WAITERS)
            break;
        poll(NULL, 0, 10);
    }
    assert_true(server_descriptors() + SLACK >= before + WAITERS);
    expect_alive(); /* the server has read their requests by now */
    for (int i = 0; i < WAITERS; i++)
        close(fds[i]);
    for (int i = 0;
         i < TIMEOUT_S * 100 && server_descriptors() > before + SLACK; i++)
        poll(NULL, 0, 10);
    assert_true(server_descriptors() <= before + SLACK);
    expect_alive();
}

static void idle_connections_do_not_block_others(void **state) {
    (void)state;
    enum { SILENT = 200 };
    int fds[SILENT];
    for (int i = 0; i < SILENT; i++)
        fds[i] = dial();
    expect_alive();
    for (int i = 0; i < SILENT; i++)
        close(fds[i]);
}

/* The server answers half of MOST_DESCRIPTORS callers at once; all of them
 * disconnect at the same time. */
static void disconnected_clients_do_not_block_others(void **state) {
    (void)state;
    enum { SERVED = MOST_DESCRIPTORS / 2, CROWD = SERVED + 40, SLACK = 3 };
    int fds[CROWD], status;
    size_t full = server_descriptors() + SERVED - SLACK;
    if (full < SERVED)
        test_skip("/proc does not show the server's descriptors");
    for (int i = 0; i < CROWD; i++) {
        fds[i] = dial();
        assert_true(fds[i] >= 0);
        send_all(fds[i], SPAN("GET /heal"));
    }
    for (int i = 0; i < TIMEOUT_S * 100 && server_descriptors() < full; i++)
        poll(NULL, 0, 10);
    assert_true(server_descriptors() >= full);
    kill(server, SIGSTOP);
    assert_int_equal(waitpid(server, &status, WUNTRACED), server);
    for (int i = 0; i < CROWD; i++)
        close(fds[i]);
    kill(server, SIGCONT);
    expect_alive();
}

static void a_waiter_is_woken_by_the_end_of_its_job(void **state) {
    (void)state;
    CLEANUP(text_clear) struct text answer = TEXT_INIT, request = TEXT_INIT;
    int fd = dial();
    add_post(&request, "/api/v1/jobs", HELD("woken"), "\r\n");
    send_all(fd, text_span(&request));
    char piece[1000];
    assert_true(recv(fd, piece, sizeof(piece), 0) > 0);
    send_all(fd,
             SPAN("GET /api/v1/wait?id=woken HTTP/1.1\r\nHost: x\r\n" CLOSE));
    expect_status(SPAN("POST /api/v1/jobs/woken/cancel HTTP/1.1\r\nHost: "
                       "x\r\nContent-Length: 0\r\n" CLOSE),
                  "200");
    receive_all(fd, &answer);
    close(fd);
    assert_non_null(strstr(text_string(&answer), "\"exit_code\":143"));
}

/* The waiters also wake up when the job starts, and continue to wait. */
static void many_callers_may_wait_for_one_job(void **state) {
    (void)state;
    enum { WAITERS = 5 };
    CLEANUP(text_clear) struct text request = TEXT_INIT;
    int fds[WAITERS];
    add_post(&request, "/api/v1/jobs", HELD("many"), CLOSE);
    expect_status(text_span(&request), "201");
    for (int i = 0; i < WAITERS; i++) {
        fds[i] = dial();
        assert_true(fds[i] >= 0);
        send_all(
            fds[i],
            SPAN("GET /api/v1/wait?id=many HTTP/1.1\r\nHost: x\r\n" CLOSE));
    }
    expect_alive(); /* the server has read their requests by now */
    expect_status(SPAN("POST /api/v1/jobs/many/release HTTP/1.1\r\nHost: "
                       "x\r\nContent-Length: 0\r\n" CLOSE),
                  "200");
    for (int i = 0; i < WAITERS; i++) {
        CLEANUP(text_clear) struct text answer = TEXT_INIT;
        receive_all(fds[i], &answer);
        close(fds[i]);
        assert_non_null(strstr(text_string(&answer), "\"exit_code\":127"));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        /* These come first: the other tests leave connections that end at
         * any time. */
        cmocka_unit_test(disconnected_clients_do_not_block_others),
        cmocka_unit_test(disconnected_waiters_leave_nothing_behind),
        cmocka_unit_test(junk_is_dropped),
        cmocka_unit_test(a_long_line_is_refused),
        cmocka_unit_test(endless_fields_are_refused),
        cmocka_unit_test(invalid_lengths_are_refused),
        cmocka_unit_test(a_truncated_body_submits_nothing),
        cmocka_unit_test(a_body_over_the_limit_is_refused),
        cmocka_unit_test(other_methods_are_refused),
        cmocka_unit_test(only_the_shell_account_names_a_person),
        cmocka_unit_test(a_head_request_gets_no_body),
        cmocka_unit_test(a_caller_may_be_slow),
        cmocka_unit_test(a_body_may_come_in_chunks),
        cmocka_unit_test(two_requests_may_be_sent_at_once),
        cmocka_unit_test(a_broken_connection_does_no_harm),
        cmocka_unit_test(idle_connections_do_not_block_others),
        cmocka_unit_test(a_waiter_is_woken_by_the_end_of_its_job),
        cmocka_unit_test(many_callers_may_wait_for_one_job),
    };
    return cmocka_run_group_tests(tests, start_server, stop_server);
}
