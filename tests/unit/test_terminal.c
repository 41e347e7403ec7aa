/* The clock, and those properties of terminals that can be tested anywhere. */
#include "support/test.h"

#include <fcntl.h>
#include <unistd.h>

#include "os/clock.h"
#include "os/terminal.h"

static void clocks_run_forward(void **state) {
    (void)state;
    struct mono before = clock_mono();
    assert_true(clock_mono().ns >= before.ns);
    assert_true(clock_wall().ns > INT64_C(1600000000) * NS_PER_S);
}

static void seeds_differ(void **state) {
    (void)state;
    assert_true(clock_seed() != clock_seed());
}

static void a_file_is_not_a_terminal_but_has_a_default_width(void **state) {
    (void)state;
    int fd = open("/dev/null", O_RDWR | O_CLOEXEC);
    assert_false(terminal_is(fd));
    unsetenv("COLUMNS");
    assert_int_equal(terminal_width(fd), 80);
    setenv("COLUMNS", "132", 1);
    assert_int_equal(terminal_width(fd), 132);
    setenv("COLUMNS", "wide", 1);
    assert_int_equal(terminal_width(fd), 80);
    assert_false(terminal_wants_colour(fd, TERMINAL_COLOUR_AUTO));
    assert_true(terminal_wants_colour(fd, TERMINAL_COLOUR_ALWAYS));
    close(fd);
}

static void a_terminal_gets_colour_unless_it_is_unwanted(void **state) {
    (void)state;
    int fd = posix_openpt(O_RDWR | O_NOCTTY);
    if (fd < 0 || grantpt(fd) < 0 || unlockpt(fd) < 0)
        test_skip("pseudo-terminals are not available");
    setenv("TERM", "xterm", 1);
    unsetenv("NO_COLOR");
    assert_true(terminal_wants_colour(fd, TERMINAL_COLOUR_AUTO));
    setenv("NO_COLOR", "", 1);
    assert_true(terminal_wants_colour(fd, TERMINAL_COLOUR_AUTO));
    setenv("NO_COLOR", "1", 1);
    assert_false(terminal_wants_colour(fd, TERMINAL_COLOUR_AUTO));
    assert_true(terminal_wants_colour(fd, TERMINAL_COLOUR_ALWAYS));
    unsetenv("NO_COLOR");
    setenv("TERM", "dumb", 1);
    assert_false(terminal_wants_colour(fd, TERMINAL_COLOUR_AUTO));
    assert_false(terminal_wants_colour(fd, TERMINAL_COLOUR_NEVER));
    close(fd);
}

static void only_never_always_and_auto_are_accepted(void **state) {
    (void)state;
    enum terminal_colour colour = TERMINAL_COLOUR_AUTO;
    assert_true(terminal_colour_parse("never", &colour));
    assert_int_equal(colour, TERMINAL_COLOUR_NEVER);
    assert_true(terminal_colour_parse("always", &colour));
    assert_true(terminal_colour_parse("auto", &colour));
    assert_false(terminal_colour_parse("yes", &colour));
    assert_false(terminal_colour_parse("", &colour));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(clocks_run_forward),
        cmocka_unit_test(seeds_differ),
        cmocka_unit_test(a_file_is_not_a_terminal_but_has_a_default_width),
        cmocka_unit_test(a_terminal_gets_colour_unless_it_is_unwanted),
        cmocka_unit_test(only_never_always_and_auto_are_accepted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
