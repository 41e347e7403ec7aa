/* Alarms on the system clock. (A change of the clock is not tested, because
 * a test must not set it.) */
#include "support/test.h"

#include <poll.h>
#include <unistd.h>

#include "os/alarm.h"
#include "os/clock.h"
#include "os/fd.h"

enum { TIMEOUT_MS = 60000 };

static bool has_fired(int fd, int timeout_ms) {
    struct pollfd pollfd = {.fd = fd, .events = POLLIN};
    return poll(&pollfd, 1, timeout_ms) == 1;
}

static void an_alarm_fires_at_its_time(void **state) {
    CLEANUP(fd_close) int fd = -1;
    struct wall at = wall_add_ms(clock_wall(), 20);
    (void)state;
    assert_true(alarm_open(&fd, NULL));
    alarm_set(fd, at);
    assert_true(has_fired(fd, TIMEOUT_MS));
    assert_true(clock_wall().ns >= at.ns);
    assert_false(alarm_drain(fd));
    assert_false(has_fired(fd, 0));
}

static void an_alarm_in_the_past_fires_at_once(void **state) {
    static const int64_t past[] = {1, 0, -5, INT64_MIN};
    CLEANUP(fd_close) int fd = -1;
    (void)state;
    assert_true(alarm_open(&fd, NULL));
    for (size_t i = 0; i < COUNT(past); i++) {
        alarm_set(fd, (struct wall){past[i]});
        assert_true(has_fired(fd, TIMEOUT_MS));
        assert_false(alarm_drain(fd));
    }
}

static void a_set_alarm_can_be_cancelled(void **state) {
    CLEANUP(fd_close) int fd = -1;
    (void)state;
    assert_true(alarm_open(&fd, NULL));
    alarm_set(fd, (struct wall){1});
    assert_true(has_fired(fd, TIMEOUT_MS));
    alarm_set(fd, WALL_NEVER);
    assert_false(has_fired(fd, 0));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_alarm_fires_at_its_time),
        cmocka_unit_test(an_alarm_in_the_past_fires_at_once),
        cmocka_unit_test(a_set_alarm_can_be_cancelled),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
