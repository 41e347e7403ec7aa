/* Callers that ask and wait for the answer, over and over, each on a
 * connection of its own: one process, epoll. */
#ifndef POINTSMAN_TESTS_BENCH_CALLERS_H
#define POINTSMAN_TESTS_BENCH_CALLERS_H

#include <stdbool.h>
#include <stddef.h>

struct callers_plan {
    int (*connect)(void *ctx);
    void *ctx;
    const char *question; /* the same bytes each time */
    size_t question_bytes;
    bool http;          /* an answer is a head and as many bytes as it says */
    const char *answer; /* else: a line that begins so */
    unsigned callers;
    unsigned questions; /* of all together */
};

/* Answers a second. */
double callers_run(const struct callers_plan *plan);

/* POST to PATH of the API. */
const char *callers_post(const char *path, const char *body, size_t bytes,
                         size_t *ret_bytes);
/* Makes one request; returns the body of its answer, whose status must be
 * OK. */
char *callers_ask(int fd, const char *question, size_t bytes);

#endif
