#include "support/test.h"

#include "landing/option_value.h"

static void instants_are_nanoseconds(void **state) {
    (void)state;
    struct wall at;
    struct err err;
    assert_true(option_instant("since", "1700000000000000001", &at, &err));
    assert_true(at.ns == INT64_C(1700000000000000001));
    assert_false(option_instant("since", "soon", &at, &err));
    assert_int_equal(err.kind, ERR_USAGE);
    assert_string_equal(err.text, "wrong value 'soon' for --since");
}

static void seconds_are_not_below_zero(void **state) {
    (void)state;
    int64_t s;
    struct err err;
    assert_true(option_seconds("timeout", "0", &s, &err));
    assert_int_equal(s, 0);
    assert_true(option_seconds("timeout", "90", &s, &err));
    assert_int_equal(s, 90);
    assert_false(option_seconds("timeout", "-1", &s, &err));
    assert_false(option_seconds("timeout", "1m", &s, &err));
    assert_false(option_seconds("timeout", "", &s, &err));
    assert_string_equal(err.text, "wrong value '' for --timeout");
}

static void allowed_or_not(void **state) {
    (void)state;
    bool allowed;
    struct err err;
    assert_true(option_allowed("symlinks", "allow", &allowed, &err));
    assert_true(allowed);
    assert_true(option_allowed("symlinks", "deny", &allowed, &err));
    assert_false(allowed);
    assert_false(option_allowed("symlinks", "yes", &allowed, &err));
    assert_string_equal(err.text, "wrong value 'yes' for --symlinks");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(instants_are_nanoseconds),
        cmocka_unit_test(seconds_are_not_below_zero),
        cmocka_unit_test(allowed_or_not),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
