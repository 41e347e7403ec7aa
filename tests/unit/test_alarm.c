/* Alarms on the system clock. (A change of the clock is not tested, because
 * a test must not set it.) */
#include "support/test.h"

#include <poll.h>
#include <unistd.h>

#include "os/alarm.h"
#include "os/clock.h"
#include "os/fd.h"

enum { NET_MS = 60000 };

static bool is_off(int fd, int timeout_ms) {
    struct pollfd pollfd = {.fd = fd, .events = POLLIN};
    return poll(&pollfd, 1, timeout_ms) == 1;
}

static void it_waits_for_its_instant(void **state) {
    CLEANUP(fd_close) int fd = -1;
    struct wall at = wall_add_ms(clock_wall(), 20);
    (void)state;
    assert_true(alarm_open(&fd, NULL));
    alarm_set(fd, at);
    assert_true(is_off(fd, NET_MS));
    assert_true(clock_wall().ns >= at.ns);
    assert_false(alarm_drain(fd));
    assert_false(is_off(fd, 0));
}

static void an_alarm_in_the_past_fires_at_once(void **state) {
    static const int64_t past[] = {1, 0, -5, INT64_MIN};
    CLEANUP(fd_close) int fd = -1;
    (void)state;
    assert_true(alarm_open(&fd, NULL));
    for (size_t i = 0; i < COUNT(past); i++) {
        alarm_set(fd, (struct wall){past[i]});
        assert_true(is_off(fd, NET_MS));
        assert_false(alarm_drain(fd));
    }
}

static void an_alarm_that_was_set_can_be_cancelled(void **state) {
    CLEANUP(fd_close) int fd = -1;
    (void)state;
    assert_true(alarm_open(&fd, NULL));
    alarm_set(fd, (struct wall){1});
    assert_true(is_off(fd, NET_MS));
    alarm_set(fd, WALL_NEVER);
    assert_false(is_off(fd, 0));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_waits_for_its_instant),
        cmocka_unit_test(an_alarm_in_the_past_fires_at_once),
        cmocka_unit_test(an_alarm_that_was_set_can_be_cancelled),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
