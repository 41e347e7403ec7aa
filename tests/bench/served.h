/* A new base and a real `pointsman serve` for it. */
#ifndef POINTSMAN_TESTS_BENCH_SERVED_H
#define POINTSMAN_TESTS_BENCH_SERVED_H

#include <sys/types.h>

struct served {
    const char *base;
    pid_t pid; /* 0: not running */
    int ctrl;  /* directory of the socket */
};

/* Creates the base and configures the number of slots. */
void served_make(struct served *served, const char *pointsman,
                 unsigned concurrency);
/* Starts the server and waits until it answers. */
void served_start(struct served *served, const char *pointsman);
/* Sends TERM and waits; returns the CPU time of the server, its guard and all
 * tasks. */
double served_stop(struct served *served);
/* CPU time so far of the server, its guard, and the tasks that have ended. */
double served_cpu_us(const struct served *served);
/* Connects to ctrl/sock; ends the program if that fails. */
int served_connect(const struct served *served);

#endif
