#include "os/alarm.h"

#include <errno.h>
#include <sys/timerfd.h>
#include <unistd.h>

/* Far enough in the future to stand for never, and accepted by every kernel:
 * the year 2243. */
#define FAR_S INT64_C(8640000000)

bool alarm_open(int *ret_fd, struct err *err) {
    *ret_fd = timerfd_create(CLOCK_REALTIME, TFD_CLOEXEC | TFD_NONBLOCK);
    return *ret_fd >= 0 || err_errno(err, errno, "cannot create a timer");
}

void alarm_set(int fd, struct wall at) {
    int64_t s = at.ns / NS_PER_S, ns = at.ns % NS_PER_S;
    if (at.ns <= 0) {
        s = 0;
        ns = 1; /* zero would stop the timer */
    } else if (s > FAR_S) {
        s = FAR_S;
        ns = 0;
    }
    struct itimerspec when = {.it_value = {.tv_sec = s, .tv_nsec = (long)ns}};
    (void)timerfd_settime(fd, TFD_TIMER_ABSTIME | TFD_TIMER_CANCEL_ON_SET,
                          &when, NULL);
}

bool alarm_drain(int fd) {
    uint64_t times;
    return read(fd, &times, sizeof(times)) < 0 && errno == ECANCELED;
}
