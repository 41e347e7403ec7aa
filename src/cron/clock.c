/* The clocks of Linux. Suspension counts as time that passed: a clock that
 * stood still meanwhile would make the other look as if it had been set. */
#include "cron/clock.h"

#include <time.h>

static int64_t read_s(clockid_t id) {
    struct timespec now;

    clock_gettime(id, &now);
    return now.tv_sec;
}

static int64_t system_s(void *ctx) {
    (void)ctx;
    return read_s(CLOCK_REALTIME);
}

static int64_t monotonic_s(void *ctx) {
    (void)ctx;
    return read_s(CLOCK_BOOTTIME);
}

const struct cron_clocks clocks_of_linux = {system_s, monotonic_s, NULL};
