#include "bench/callers.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "lib/text.h"
#include "bench/figure.h"

enum { CALLERS_MOST = 256, READ_BYTES = 65536 };

struct caller {
    int fd;
    struct text in;
};

static void ask(int fd, const char *question, size_t bytes) {
    while (bytes > 0) {
        ssize_t n = write(fd, question, bytes);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            bench_die("cannot send a request: %s", strerror(errno));
        question += n;
        bytes -= (size_t)n;
    }
}

/* Returns the length of the first answer in `in`, or 0 if it is incomplete. */
static size_t http_answer(const struct text *in, const char **ret_body) {
    const char *text = text_string(in);
    const char *end = strstr(text, "\r\n\r\n");
    const char *length = strcasestr(text, "\r\nContent-Length:");
    if (!end)
        return 0;
    if (strncmp(text, "HTTP/1.1 20", 11) != 0)
        bench_die("the server refused the request: %s", text);
    if (!length || length > end)
        bench_die("the answer has no Content-Length: %s", text);
    size_t bytes = (size_t)(end + 4 - text) + strtoul(length + 17, NULL, 10);
    *ret_body = end + 4;
    return in->len >= bytes ? bytes : 0;
}

static size_t line_answer(const struct text *in, const char *begin) {
    const char *feed = in->len ? memchr(in->p, '\n', in->len) : NULL;
    if (!feed)
        return 0;
    if (strncmp(in->p, begin, strlen(begin)) != 0)
        bench_die("the peer refused the request: %s", in->p);
    return (size_t)(feed + 1 - in->p);
}

static void read_more(struct caller *caller) {
    text_reserve(&caller->in, READ_BYTES);
    ssize_t n = read(caller->fd, caller->in.p + caller->in.len, READ_BYTES - 1);
    if (n <= 0)
        bench_die("the connection ended: %s", n < 0 ? strerror(errno) : "EOF");
    caller->in.len += (size_t)n;
    caller->in.p[caller->in.len] = '\0';
}

static bool answered(struct caller *caller, const struct callers_plan *plan) {
    const char *body;
    read_more(caller);
    size_t bytes = plan->http ? http_answer(&caller->in, &body)
                              : line_answer(&caller->in, plan->answer);
    if (bytes == 0)
        return false;
    text_reset(&caller->in);
    return true;
}

double callers_run(const struct callers_plan *plan) {
    static struct caller callers[CALLERS_MOST];
    unsigned asked = 0, done = 0;
    int epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    if (plan->callers > CALLERS_MOST || epoll_fd < 0)
        bench_die("cannot create %u callers", plan->callers);
    for (unsigned i = 0; i < plan->callers; i++) {
        struct epoll_event event = {.events = EPOLLIN, .data.ptr = &callers[i]};
        callers[i] = (struct caller){.fd = plan->connect(plan->ctx)};
        epoll_ctl(epoll_fd, EPOLL_CTL_ADD, callers[i].fd, &event);
    }
    double begun_us = bench_wall_us();
    for (; asked < plan->callers && asked < plan->questions; asked++)
        ask(callers[asked].fd, plan->question, plan->question_bytes);
    while (done < plan->questions) {
        struct epoll_event events[CALLERS_MOST];
        int n = epoll_wait(epoll_fd, events, CALLERS_MOST, -1);
        for (int i = 0; i < n; i++) {
            struct caller *caller = events[i].data.ptr;
            if (!answered(caller, plan))
                continue;
            done++;
            if (asked < plan->questions) {
                asked++;
                ask(caller->fd, plan->question, plan->question_bytes);
            }
        }
    }
    double us = bench_wall_us() - begun_us;
    for (unsigned i = 0; i < plan->callers; i++) {
        close(callers[i].fd);
        text_clear(&callers[i].in);
    }
    close(epoll_fd);
    return plan->questions / us * 1e6;
}

const char *callers_post(const char *path, const char *body, size_t bytes,
                         size_t *ret_bytes) {
    char *question;
    int head = asprintf(&question,
                        "POST %s HTTP/1.1\r\nHost: pointsman\r\n"
                        "Content-Type: application/json\r\n"
                        "Content-Length: %zu\r\n\r\n",
                        path, bytes);
    if (head < 0)
        bench_die("no memory");
    question = mem_grow(question, (size_t)head + bytes + 1, 1);
    memcpy(question + head, body, bytes);
    *ret_bytes = (size_t)head + bytes;
    return question;
}

char *callers_ask(int fd, const char *question, size_t bytes) {
    struct caller caller = {.fd = fd};
    const char *body;
    ask(fd, question, bytes);
    do
        read_more(&caller);
    while (http_answer(&caller.in, &body) == 0);
    char *copy = mem_string(body);
    text_clear(&caller.in);
    return copy;
}
