#include "lib/err.h"

#include <ctype.h>
#include <errno.h>

#include "lib/text.h"
#include "support/test.h"

static void wrapping_puts_context_in_front(void **state) {
    struct err err = {0};

    (void)state;
    assert_false(err_set(&err, ERR_NO_JOB, "no job '%s'", "C7"));
    assert_false(err_wrap(&err, "cannot cancel"));
    assert_string_equal(err.text, "cannot cancel: no job 'C7'");
    assert_int_equal(err.kind, ERR_NO_JOB);
    err_clear(&err);
    assert_int_equal(err.kind, ERR_NONE);
    assert_string_equal(err.text, "");
}

static void null_err_is_allowed(void **state) {
    (void)state;
    assert_false(err_set(NULL, ERR_DATA, "x"));
    assert_false(err_wrap(NULL, "x"));
    assert_false(err_errno(NULL, ENOENT, "x"));
    err_clear(NULL);
}

static void errno_decides_the_kind(void **state) {
    static const struct {
        int sys;
        enum err_kind kind;
    } cases[] = {
        {ENOSPC, ERR_TEMPORARY}, {EDQUOT, ERR_TEMPORARY},
        {EAGAIN, ERR_TEMPORARY}, {EINTR, ERR_TEMPORARY},
        {ENOMEM, ERR_TEMPORARY}, {EMFILE, ERR_TEMPORARY},
        {ENFILE, ERR_TEMPORARY}, {EACCES, ERR_DENIED},
        {EPERM, ERR_DENIED},     {ENOENT, ERR_CANNOT},
        {EIO, ERR_CANNOT},
    };
    struct err err = {0};

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        assert_false(err_errno(&err, cases[i].sys, "cannot open '%s'", "f"));
        assert_int_equal(err.kind, cases[i].kind);
        assert_int_equal(err.sys, cases[i].sys);
    }
    err_errno(&err, ENOSPC, "cannot write '%s'", "f");
    assert_string_equal(err.text, "cannot write 'f': No space left on device");
    err_errno(&err, 99999, "cannot");
    assert_string_equal(err.text, "cannot: error 99999");
}

static void an_error_text_is_one_line_of_utf8(void **state) {
    struct err err = {0};

    (void)state;
    err_set(&err, ERR_DATA, "bad name '%s'", "a\nb\x1b[1m\xff\\");
    assert_string_equal(err.text, "bad name 'a\\x0ab\\x1b[1m\\xff\\'");
    err_wrap(&err, "in\t'%s'", "x\\y");
    assert_string_equal(err.text,
                        "in\\x09'x\\y': bad name 'a\\x0ab\\x1b[1m\\xff\\'");
}

static void a_long_error_text_is_truncated_between_characters(void **state) {
    struct err err = {0};

    (void)state;
    for (size_t front = 0; front < 4; front++) {
        char name[1500];

        memset(name, 'x', front);
        for (size_t i = front; i + 3 < sizeof(name); i += 3)
            memcpy(name + i, "\xe2\x82\xac", 4);
        name[sizeof(name) - 3] = '\0';
        err_set(&err, ERR_DATA, "%s", name);
        assert_true(strlen(err.text) < ERR_TEXT_BYTES);
        assert_true(strlen(err.text) > ERR_TEXT_BYTES - 10);
        assert_true(span_is_utf8(span_of(err.text)));
        assert_true(span_ends(span_of(err.text), "..."));
    }
}

static void the_text_of_an_error_may_be_an_argument_of_the_next(void **state) {
    struct err err = {0};

    (void)state;
    err_set(&err, ERR_DATA, "second");
    err_set(&err, ERR_CONFIG, "first: %s", err.text);
    assert_string_equal(err.text, "first: second");
}

static void every_kind_has_a_name_and_statuses(void **state) {
    (void)state;
    for (int kind = 1; kind < ERR_KINDS; kind++) {
        const char *name = err_name((enum err_kind)kind);

        assert_true(name[0] != '\0');
        for (const char *c = name; *c != '\0'; c++)
            assert_true(islower((unsigned char)*c) || *c == '-');
        assert_in_range(err_exit_status((enum err_kind)kind), 64, 130);
        assert_in_range(err_http_status((enum err_kind)kind), 400, 504);
    }
    assert_string_equal(err_name(ERR_NO_JOB), "no-job");
    assert_int_equal(err_exit_status(ERR_NO_JOB), 66);
    assert_int_equal(err_http_status(ERR_NO_JOB), 404);
    assert_false(err_try_again(ERR_NO_JOB));
    assert_true(err_try_again(ERR_TEMPORARY));
    assert_string_equal(err_name(ERR_NONE), "none");
    assert_int_equal(err_exit_status(ERR_NONE), 0);
    /* An unknown number from outside is an internal error, not a crash. */
    assert_int_equal(err_exit_status((enum err_kind)12345), 70);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(wrapping_puts_context_in_front),
        cmocka_unit_test(null_err_is_allowed),
        cmocka_unit_test(errno_decides_the_kind),
        cmocka_unit_test(an_error_text_is_one_line_of_utf8),
        cmocka_unit_test(a_long_error_text_is_truncated_between_characters),
        cmocka_unit_test(the_text_of_an_error_may_be_an_argument_of_the_next),
        cmocka_unit_test(every_kind_has_a_name_and_statuses),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
