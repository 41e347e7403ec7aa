/* A thread that ticks. It sleeps on a timer of the system's clock, which
 * also wakes it when that clock is set, and never longer than the watch's
 * poll interval (a zone's file may have changed, and no timer reports that).
 * Adding an item or setting a zone wakes it. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "cron/clock.h"
#include "cron/options.h"
#include "cron/watch.h"

enum { QUEUE_MOST = 1024, PIECE = 64 };

struct cron_thread {
    struct cron_watch *watch;
    struct cron_clocks clocks;
    struct cron_zones *zones;
    char *zone_name;
    pthread_t thread;

    pthread_mutex_t lock; /* of what follows */
    pthread_cond_t filled, emptied;
    struct cron_event *queue;
    size_t most, first, count;
    bool stopping;

    int timer_fd, wake_fd;
    int event_fd;  /* readable while there are events; with the lock */
    bool followed; /* the zones of items were looked up */
};

/* ---- the queue ----------------------------------------------------------- */

/* Neither the count matters nor that the clock was set (ECANCELED). */
static void drain(int fd) {
    uint64_t count;
    ssize_t got = read(fd, &count, sizeof(count));

    (void)got;
}

/* The write fails only if the counter is full, and then it is readable. */
static void raise_fd(int fd) {
    uint64_t one = 1;
    ssize_t put = write(fd, &one, sizeof(one));

    (void)put;
}

/* Events are queued with the lock of the watch, which is taken first: an
 * item that is being removed then has no event on the way. */
static void put_events(struct cron_thread *thread,
                       const struct cron_event *events, size_t count) {
    pthread_mutex_lock(&thread->lock);
    for (size_t i = 0; i < count; i++)
        thread->queue[(thread->first + thread->count++) % thread->most] =
            events[i];
    if (count > 0) {
        pthread_cond_broadcast(&thread->filled);
        raise_fd(thread->event_fd);
    }
    pthread_mutex_unlock(&thread->lock);
}

/* The item is being removed: its queued events must not be delivered any
 * more. */
static void forget(void *ctx, const char *name) {
    struct cron_thread *thread = ctx;
    size_t kept = 0;

    pthread_mutex_lock(&thread->lock);
    for (size_t i = 0; i < thread->count; i++) {
        struct cron_event *event =
            &thread->queue[(thread->first + i) % thread->most];
        if (strcmp(event->name, name) != 0)
            thread->queue[(thread->first + kept++) % thread->most] = *event;
    }
    thread->count = kept;
    if (kept == 0)
        drain(thread->event_fd);
    pthread_cond_signal(&thread->emptied);
    pthread_mutex_unlock(&thread->lock);
}

/* Waits until the queue has room; returns for how many events. 0: the thread
 * is to stop. */
static size_t wait_for_room(struct cron_thread *thread) {
    pthread_mutex_lock(&thread->lock);
    while (thread->count == thread->most && !thread->stopping)
        pthread_cond_wait(&thread->emptied, &thread->lock);
    size_t room = thread->stopping ? 0 : thread->most - thread->count;
    pthread_mutex_unlock(&thread->lock);
    return room;
}

static struct timespec deadline_of(int timeout_ms) {
    struct timespec at;

    clock_gettime(CLOCK_MONOTONIC, &at);
    at.tv_sec += timeout_ms / 1000;
    at.tv_nsec += timeout_ms % 1000 * 1000000L;
    if (at.tv_nsec >= 1000000000L) {
        at.tv_nsec -= 1000000000L;
        at.tv_sec++;
    }
    return at;
}

bool cron_thread_take(struct cron_thread *thread, int timeout_ms,
                      struct cron_event *ret_event) {
    struct timespec deadline = deadline_of(timeout_ms < 0 ? 0 : timeout_ms);
    int status = 0;
    bool found;

    pthread_mutex_lock(&thread->lock);
    while (thread->count == 0 && !thread->stopping && status == 0)
        status = timeout_ms < 0
                     ? pthread_cond_wait(&thread->filled, &thread->lock)
                     : pthread_cond_timedwait(&thread->filled, &thread->lock,
                                              &deadline);
    found = thread->count > 0 && !thread->stopping;
    if (found) {
        *ret_event = thread->queue[thread->first];
        thread->first = (thread->first + 1) % thread->most;
        thread->count--;
        if (thread->count == 0)
            drain(thread->event_fd);
        pthread_cond_signal(&thread->emptied);
    }
    pthread_mutex_unlock(&thread->lock);
    return found;
}

/* ---- the thread ---------------------------------------------------------- */

static void follow_zones(struct cron_thread *thread, int64_t monotonic_s) {
    struct cron_zone *zone;

    if (thread->zones == NULL)
        return;
    if (cron_zones_refresh(thread->zones, monotonic_s) > 0 || !thread->followed)
        watch_follow(thread->watch, thread->zones);
    thread->followed = true;
    if (!cron_zones_find(thread->zones, thread->zone_name, &zone, NULL))
        return;
    cron_watch_set_zone(thread->watch, zone);
    cron_zone_unref(zone);
}

static bool tick(struct cron_thread *thread) {
    struct cron_event events[PIECE];
    struct cron_tick outcome = {.more = true};
    int64_t monotonic_s = thread->clocks.monotonic_s(thread->clocks.ctx);
    int64_t system_s = thread->clocks.system_s(thread->clocks.ctx);

    follow_zones(thread, monotonic_s);
    while (outcome.more) {
        size_t room = wait_for_room(thread);
        if (room == 0)
            return false;
        pthread_mutex_lock(&thread->watch->lock);
        size_t count = watch_tick(thread->watch, system_s, monotonic_s, events,
                                  room < PIECE ? room : PIECE, &outcome);
        put_events(thread, events, count);
        pthread_mutex_unlock(&thread->watch->lock);
    }
    return true;
}

/* Sleeps until the next event by the system's clock, a change of that clock,
 * or the end of the poll interval. */
static void sleep_until_due(struct cron_thread *thread) {
    struct itimerspec timer = {0};
    struct pollfd fds[2] = {{.fd = thread->timer_fd, .events = POLLIN},
                            {.fd = thread->wake_fd, .events = POLLIN}};
    int64_t at, poll_s = thread->watch->options.poll_s;

    if (!cron_watch_next(thread->watch, &at) || at < 1)
        at = INT64_C(1) << 40;
    timer.it_value.tv_sec = at;
    if (timerfd_settime(thread->timer_fd,
                        TFD_TIMER_ABSTIME | TFD_TIMER_CANCEL_ON_SET, &timer,
                        NULL) != 0)
        poll_s = 1;
    (void)poll(fds, 2, (int)(poll_s > 60 ? 60 : poll_s) * 1000);
    /* The tick finds out what the reason was. */
    for (size_t i = 0; i < 2; i++)
        if (fds[i].revents != 0)
            drain(fds[i].fd);
}

static void wake(void *ctx) {
    const struct cron_thread *thread = ctx;

    raise_fd(thread->wake_fd);
}

static void *run(void *arg) {
    struct cron_thread *thread = arg;

    while (tick(thread))
        sleep_until_due(thread);
    return NULL;
}

/* ---- life ---------------------------------------------------------------- */

static void thread_free(struct cron_thread *thread) {
    if (thread->timer_fd >= 0)
        close(thread->timer_fd);
    if (thread->wake_fd >= 0)
        close(thread->wake_fd);
    if (thread->event_fd >= 0)
        close(thread->event_fd);
    pthread_cond_destroy(&thread->filled);
    pthread_cond_destroy(&thread->emptied);
    pthread_mutex_destroy(&thread->lock);
    free(thread->queue);
    free(thread->zone_name);
    free(thread);
}

static bool prepare(struct cron_thread *thread,
                    const struct cron_thread_options *options) {
    pthread_condattr_t monotonic;

    thread->timer_fd = thread->wake_fd = thread->event_fd = -1;
    pthread_mutex_init(&thread->lock, NULL);
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&thread->filled, &monotonic);
    pthread_cond_init(&thread->emptied, &monotonic);
    pthread_condattr_destroy(&monotonic);
    thread->clocks =
        options->clocks != NULL ? *options->clocks : clocks_of_linux;
    thread->most = options->queue_most > 0 ? options->queue_most : QUEUE_MOST;
    thread->zones = options->zones;
    thread->zone_name =
        strdup(options->zone_name == NULL ? "" : options->zone_name);
    thread->queue = calloc(thread->most, sizeof(*thread->queue));
    thread->timer_fd =
        timerfd_create(CLOCK_REALTIME, TFD_CLOEXEC | TFD_NONBLOCK);
    thread->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    thread->event_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    return thread->zone_name != NULL && thread->queue != NULL &&
           thread->timer_fd >= 0 && thread->wake_fd >= 0 &&
           thread->event_fd >= 0;
}

struct cron_thread *cron_thread_start(struct cron_watch *watch,
                                      const struct cron_thread_options *options,
                                      struct cron_err *err) {
    struct cron_thread_options ours = {.size = sizeof(ours)};
    struct cron_thread *thread;
    int status;

    if (options != NULL &&
        !options_take(&ours, sizeof(ours), options, options->size, err))
        return NULL;
    thread = calloc(1, sizeof(*thread));
    if (thread == NULL) {
        fault_memory(err);
        return NULL;
    }
    thread->watch = watch;
    errno = ENOMEM;
    status = prepare(thread, &ours) ? 0 : errno;
    if (status == 0) {
        watch_attach(watch, wake, forget, thread);
        status = pthread_create(&thread->thread, NULL, run, thread);
    }
    if (status != 0) {
        char reason[128];
        fault_set(err, CRON_ERR_SYSTEM, "cannot start a thread: %s",
                  strerror_r(status, reason, sizeof(reason)));
        watch_attach(watch, NULL, NULL, NULL);
        thread_free(thread);
        return NULL;
    }
    return thread;
}

int cron_thread_fd(const struct cron_thread *thread) {
    return thread->event_fd;
}

void cron_thread_stop(struct cron_thread *thread) {
    if (thread == NULL)
        return;
    watch_attach(thread->watch, NULL, NULL, NULL);
    pthread_mutex_lock(&thread->lock);
    thread->stopping = true;
    pthread_cond_broadcast(&thread->filled);
    pthread_cond_broadcast(&thread->emptied);
    pthread_mutex_unlock(&thread->lock);
    wake(thread);
    pthread_join(thread->thread, NULL);
    thread_free(thread);
}
