#include "cli/interrupt.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <unistd.h>

static atomic_uint pending; /* a handler may run in any thread */
static volatile sig_atomic_t last;
static int ends[2] = {-1, -1};
static void (*volatile waker)(void *ctx);
static void *volatile waker_ctx;

static void caught(int number) {
    int kept = errno;

    /* A terminal that closes signals its foreground group, and so does its
     * shell. */
    if (number == SIGHUP && last == SIGHUP)
        return;
    last = number;
    (void)atomic_fetch_add(&pending, 1);
    (void)!write(ends[1], "!", 1);
    if (waker != NULL)
        waker(waker_ctx);
    errno = kept;
}

void interrupt_wake(void (*wake)(void *ctx), void *ctx) {
    waker = NULL;
    waker_ctx = ctx;
    waker = wake;
}

void interrupt_catch(void) {
    struct sigaction action = {.sa_handler = caught}, before;

    if (ends[0] >= 0 || pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0)
        return;
    (void)sigaction(SIGINT, &action, NULL);
    (void)sigaction(SIGTERM, &action, NULL);
    if (sigaction(SIGHUP, NULL, &before) == 0 && before.sa_handler != SIG_IGN)
        (void)sigaction(SIGHUP, &action, NULL);
}

int interrupt_fd(void) {
    return ends[0];
}

/* The pipe is emptied first: a later signal leaves a byte for the next time. */
unsigned interrupt_pending(void) {
    char dropped[64];

    while (ends[0] >= 0 && read(ends[0], dropped, sizeof(dropped)) > 0)
        continue;
    return atomic_load(&pending);
}

unsigned interrupt_take(void) {
    return atomic_exchange(&pending, 0);
}

int interrupt_last(void) {
    return last;
}

void interrupt_spare_quit(void) {
    (void)signal(SIGQUIT, SIG_IGN);
}

void interrupt_die(void) {
    (void)signal(SIGINT, SIG_DFL);
    (void)raise(SIGINT);
}
