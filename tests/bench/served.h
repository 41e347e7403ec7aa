/* A base of its own and a real `pointsman serve` over it. */
#ifndef POINTSMAN_TESTS_BENCH_SERVED_H
#define POINTSMAN_TESTS_BENCH_SERVED_H

#include <sys/types.h>

struct served {
    const char *base;
    pid_t pid; /* 0: not running */
    int ctrl;  /* directory of the socket */
};

/* `pointsman init` and a configuration with this many slots. */
void served_make(struct served *served, const char *pointsman,
                 unsigned concurrency);
/* Starts it and waits until it answers. */
void served_start(struct served *served, const char *pointsman);
/* Sends TERM and waits; CPU of the server, its supervisor and all tasks, of
 * the whole life. */
double served_stop(struct served *served);
/* CPU so far: of the server, its supervisor, and the tasks that have ended. */
double served_cpu_us(const struct served *served);
/* A connection to ctrl/sock; ends the program if there is none. */
int served_connect(const struct served *served);

#endif
