#include "os/clock.h"

#include <sys/random.h>
#include <time.h>
#include <unistd.h>

static int64_t now_ns(clockid_t which) {
    struct timespec now;
    clock_gettime(which, &now);
    return now.tv_sec * NS_PER_S + now.tv_nsec;
}

struct wall clock_wall(void) {
    return (struct wall){now_ns(CLOCK_REALTIME)};
}

struct mono clock_mono(void) {
    return (struct mono){now_ns(CLOCK_MONOTONIC)};
}

struct boot clock_boot(void) {
    return (struct boot){now_ns(CLOCK_BOOTTIME)};
}

/* The process may be stopped between two readings; then it reads again. */
void clock_wall_and_boot(struct wall *ret_wall, struct boot *ret_boot) {
    struct boot after;
    do {
        *ret_boot = clock_boot();
        *ret_wall = clock_wall();
        after = clock_boot();
    } while (after.ns - ret_boot->ns > NS_PER_S / 10);
}

uint64_t clock_seed(void) {
    uint64_t seed;
    if (getrandom(&seed, sizeof seed, GRND_NONBLOCK) == sizeof seed)
        return seed;
    /* Needed only very early during boot. */
    return (uint64_t)now_ns(CLOCK_REALTIME) ^ ((uint64_t)getpid() << 40);
}
