#include "lib/log.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/text.h"
#include "lib/time.h"
#include "support/test.h"

/* Captures what log_write() writes to stderr by replacing it with a file. */
static const char *logged(bool journal, enum log_level level,
                          const char *what) {
    static char line[512];
    char path[4200], stream[64];
    int saved = dup(STDERR_FILENO), fd;
    struct stat st;
    ssize_t len;

    snprintf(path, sizeof(path), "%s/log", test_dir());
    fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
    assert_true(fd >= 0 && saved >= 0 && fstat(fd, &st) == 0);
    snprintf(stream, sizeof(stream), "%llu:%llu", (unsigned long long)st.st_dev,
             (unsigned long long)st.st_ino + !journal);
    setenv("JOURNAL_STREAM", stream, 1);
    dup2(fd, STDERR_FILENO);
    log_init("scheduler", LOG_INFO);
    log_write(level, "%s job=%s", what, "C7");
    dup2(saved, STDERR_FILENO);
    close(saved);
    unsetenv("JOURNAL_STREAM");
    len = pread(fd, line, sizeof(line) - 1, 0);
    assert_true(len >= 0);
    line[len] = '\0';
    close(fd);
    return line;
}

static void the_journal_gets_priorities(void **state) {
    (void)state;
    assert_string_equal(logged(true, LOG_WARNING, "job waits"),
                        "<4>scheduler: job waits job=C7\n");
    assert_string_equal(logged(true, LOG_ERROR, "job waits"),
                        "<3>scheduler: job waits job=C7\n");
}

static void an_inherited_journal_stream_is_ignored(void **state) {
    struct span rest, stamp;
    struct wall wall;

    (void)state;
    rest = span_of(logged(false, LOG_INFO, "job waits"));
    assert_true(span_cut(&rest, ' ', &stamp));
    assert_true(wall_parse(stamp, &wall));
    assert_true(span_is(rest, "scheduler: job waits job=C7\n"));
}

static void a_message_is_one_line(void **state) {
    (void)state;
    assert_string_equal(logged(true, LOG_INFO, "bad\nname\x1b"),
                        "<6>scheduler: bad\\nname\\x1b job=C7\n");
}

static void lower_levels_are_not_written(void **state) {
    (void)state;
    assert_string_equal(logged(true, LOG_DEBUG, "detail"), "");
    assert_true(logged(true, LOG_ERROR, "failure")[0] != '\0');
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_journal_gets_priorities),
        cmocka_unit_test(an_inherited_journal_stream_is_ignored),
        cmocka_unit_test(a_message_is_one_line),
        cmocka_unit_test(lower_levels_are_not_written),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
