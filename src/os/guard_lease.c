#include "os/guard_lease.h"

#include <errno.h>
#include <stdint.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "lib/text.h"
#include "os/clock.h"
#include "os/rights.h"

enum { STACK_BYTES = 128 << 10 };

void guard_lease_init(struct guard_lease *lease) {
    *lease = (struct guard_lease){.timer_fd = -1, .event_fd = -1};
    pthread_mutex_init(&lease->lock, NULL);
}

static void set_timer(struct guard_lease *lease, struct boot at) {
    struct itimerspec when = {.it_value = {at.ns / NS_PER_S, at.ns % NS_PER_S}};
    timerfd_settime(lease->timer_fd, TFD_TIMER_ABSTIME, &when, NULL);
}

/* The lease may have been extended since the timer expired. */
static void ring(struct guard_lease *lease) {
    uint64_t one = 1;
    if (lease->passed || clock_boot().ns < lease->until.ns)
        return;
    lease->passed = true;
    cgroup_tree_kill(lease->tree);
    UNUSED ssize_t n = write(lease->event_fd, &one, sizeof one);
}

static void *lease_main(void *arg) {
    struct guard_lease *lease = arg;
    if (lease->harmless) /* the cgroup is writable for our user */
        rights_keep(0);
    for (;;) {
        uint64_t times;
        UNUSED ssize_t n = read(lease->timer_fd, &times, sizeof times);
        pthread_mutex_lock(&lease->lock);
        bool closing = lease->closing;
        if (!closing)
            ring(lease);
        pthread_mutex_unlock(&lease->lock);
        if (closing)
            return NULL;
    }
}

/* Keeps the thread's pages in memory, so that they need not be read from disk
 * first when memory is short: the whole process if allowed, otherwise its
 * stack. */
static void stay_in_memory(struct guard_lease *lease) {
    if (geteuid() == 0 && mlockall(MCL_CURRENT | MCL_ONFAULT) == 0)
        return;
    UNUSED int stack = mlock(lease->stack, STACK_BYTES);
    UNUSED int own = mlock(lease, sizeof *lease);
}

static bool start_thread(struct guard_lease *lease, struct err *err) {
    pthread_attr_t attr;
    lease->stack = mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
    if (lease->stack == MAP_FAILED)
        return err_errno(err, errno, "cannot map a stack");
    stay_in_memory(lease);
    pthread_attr_init(&attr);
    pthread_attr_setstack(&attr, lease->stack, STACK_BYTES);
    int sys = pthread_create(&lease->thread, &attr, lease_main, lease);
    pthread_attr_destroy(&attr);
    if (sys == 0)
        return true;
    munmap(lease->stack, STACK_BYTES);
    lease->stack = NULL;
    return err_errno(err, sys, "cannot start the thread of the lease");
}

bool guard_lease_open(struct guard_lease *lease, struct cgroup_tree *tree,
                      struct err *err) {
    lease->tree = tree;
    lease->timer_fd = timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC);
    lease->event_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (lease->timer_fd < 0 || lease->event_fd < 0)
        return err_errno(err, errno, "cannot create a timer");
    return start_thread(lease, err);
}

void guard_lease_close(struct guard_lease *lease) {
    if (lease->stack == NULL)
        return;
    pthread_mutex_lock(&lease->lock);
    lease->closing = true;
    set_timer(lease, (struct boot){1});
    pthread_mutex_unlock(&lease->lock);
    pthread_join(lease->thread, NULL);
    munmap(lease->stack, STACK_BYTES);
    lease->stack = NULL;
    close(lease->timer_fd);
    close(lease->event_fd);
    lease->timer_fd = lease->event_fd = -1;
}

int guard_lease_fd(const struct guard_lease *lease) {
    return lease->event_fd;
}

void guard_lease_extend(struct guard_lease *lease, struct boot until) {
    pthread_mutex_lock(&lease->lock);
    if (until.ns > lease->until.ns) {
        lease->until = until;
        set_timer(lease, until);
    }
    pthread_mutex_unlock(&lease->lock);
}

bool guard_lease_runs(struct guard_lease *lease) {
    pthread_mutex_lock(&lease->lock);
    bool runs = !lease->passed && clock_boot().ns < lease->until.ns;
    pthread_mutex_unlock(&lease->lock);
    return runs;
}

bool guard_lease_take_passed(struct guard_lease *lease) {
    uint64_t count;
    if (lease->event_fd < 0)
        return false;
    pthread_mutex_lock(&lease->lock);
    bool passed = lease->passed;
    lease->passed = false;
    if (passed) {
        UNUSED ssize_t n = read(lease->event_fd, &count, sizeof count);
    }
    pthread_mutex_unlock(&lease->lock);
    return passed;
}
