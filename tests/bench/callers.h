/* Callers that send a request and wait for the answer, repeatedly, each on its
 * own connection; all in one process, with epoll. */
#ifndef POINTSMAN_TESTS_BENCH_CALLERS_H
#define POINTSMAN_TESTS_BENCH_CALLERS_H

#include <stdbool.h>
#include <stddef.h>

struct callers_plan {
    int (*connect)(void *ctx);
    void *ctx;
    const char *question; /* the request, the same each time */
    size_t question_bytes;
    bool http;          /* answers are HTTP with a Content-Length */
    const char *answer; /* if not http: how the answer, one line, begins */
    unsigned callers;
    unsigned questions; /* requests of all callers together */
};

/* Returns answers per second. */
double callers_run(const struct callers_plan *plan);

/* Returns the bytes of a POST request. */
const char *callers_post(const char *path, const char *body, size_t bytes,
                         size_t *ret_bytes);
/* Sends one request; returns the body of the answer, which must have a status
 * of 200 to 209. */
char *callers_ask(int fd, const char *question, size_t bytes);

#endif
