#include "support/test.h"

#include "lib/text.h"
#include "wire/ref_name.h"
#include "wire/set_name.h"

#define TAI "@400000005f5e10a50a000000"
#define NAME "C7_" TAI "_4711_build3_BF.200_hot_fix"

static void the_parts_of_a_name_are_parsed(void **state) {
    (void)state;
    struct set_name name;
    struct refusal why = {0};
    assert_true(set_name_parse(span_of(NAME), &name, &why));
    assert_true(span_is(name.csid, "C7"));
    assert_true(span_is(name.host, "build3"));
    assert_true(span_is(name.extra, "hot_fix"));
    assert_int_equal(name.pid, 4711);
    assert_int_equal(name.class, SET_BF);
    assert_int_equal(name.sub_priority, 200);
}

static void a_name_is_formatted_as_it_was_parsed(void **state) {
    (void)state;
    static const char *const names[] = {NAME, "a_" TAI "_0_h_DC",
                                        "a.b-c_" TAI "_9999999999_h.x-y_RB",
                                        "A1_" TAI "_1_h_EM.000_e+=_.-"};
    for (size_t i = 0; i < COUNT(names); i++) {
        struct set_name name;
        CLEANUP(text_clear) struct text out = TEXT_INIT;
        assert_true(set_name_parse(span_of(names[i]), &name, NULL));
        assert_true(set_name_format(&name, &out));
        assert_string_equal(text_string(&out), names[i]);
    }
}

static void invalid_names_are_refused_with_the_wrong_part(void **state) {
    (void)state;
    static const struct {
        const char *name, *part;
    } cases[] = {
        {"", "time is missing"},
        {"C7", "time is missing"},
        {".C7_" TAI "_1_h_DC", "id"},
        {"-C7_" TAI "_1_h_DC", "id"},
        {"C/7_" TAI "_1_h_DC", "id"},
        {"C7_400000005f5e10a50a000000_1_h_DC", "time"},
        {"C7_@400000005F5E10A50A000000_1_h_DC", "time"},
        {"C7_@400000005f5e10a5ffffffff_1_h_DC", "time"},
        {"C7_" TAI "_12345678901_h_DC", "process number"},
        {"C7_" TAI "_-1_h_DC", "process number"},
        {"C7_" TAI "_1__DC", "host"},
        {"C7_" TAI "_1_-h_DC", "host"},
        {"C7_" TAI "_1_h_dc", "priority"},
        {"C7_" TAI "_1_h_DC.20", "priority"},
        {"C7_" TAI "_1_h_DC.2000", "priority"},
        {"C7_" TAI "_1_h_XX", "priority"},
        {"C7_" TAI "_1_h_DC_", "last part"},
        {"C7_" TAI "_1_h_DC_a/b", "last part"},
        {"C7_" TAI "_1_h_DC_a\nb", "last part"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct set_name name;
        struct refusal why = {0};
        assert_false(set_name_parse(span_of(cases[i].name), &name, &why));
        assert_int_equal(why.kind, REFUSAL_BAD_NAME);
        assert_non_null(strstr(why.text, cases[i].part));
    }
}

static void a_name_that_is_too_long_is_refused(void **state) {
    (void)state;
    char text[260] = "C7_" TAI "_1_";
    memset(text + strlen(text), 'h', 63);
    strcat(text, "_DC_");
    memset(text + strlen(text), 'e', 64);
    struct set_name name;
    assert_true(set_name_parse(span_of(text), &name, NULL));
    char *id = text;
    memmove(id + 64, id + 2, strlen(id + 2) + 1);
    memset(id, 'C', 64);
    assert_true(strlen(text) > SET_NAME_BYTES);
    assert_false(set_name_parse(span_of(text), &name, NULL));
}

static void ids_consist_of_valid_characters_only(void **state) {
    (void)state;
    assert_true(set_csid_is_valid(SPAN("a.-")));
    assert_false(set_csid_is_valid(span_make("a\0b", 3)));
    assert_false(set_csid_is_valid(SPAN("")));
    assert_false(set_csid_is_valid(SPAN("a_b")));
    assert_false(set_csid_is_valid(SPAN("\xc3\xa4")));
    char id[66];
    memset(id, 'a', sizeof id);
    assert_true(set_csid_is_valid(span_make(id, 64)));
    assert_false(set_csid_is_valid(span_make(id, 65)));
}

static int key_order(const struct set_name *a, const struct set_name *b) {
    unsigned char ka[SET_KEY_BYTES], kb[SET_KEY_BYTES];
    size_t la = set_key(a, ka), lb = set_key(b, kb);
    assert_in_range(la, 1, SET_KEY_BYTES);
    int order = memcmp(ka, kb, la < lb ? la : lb);
    return order ? order : (la > lb) - (la < lb);
}

static struct set_name named(const char *text) {
    struct set_name name;
    assert_true(set_name_parse(span_of(text), &name, NULL));
    return name;
}

static void keys_sort_as_specified(void **state) {
    (void)state;
    /* Each name sorts before all that follow. */
    static const char *const order[] = {
        "z_@400000006000000000000000_9_z_EM.000",
        "z_@400000006000000000000000_9_z_EM",
        "z_@400000005000000000000001_9_z_BF",
        "z_@400000005000000000000002_9_a_BF",
        "z_@400000005000000000000002_10_a_BF",
        "a_@400000005000000000000002_2_a.b_BF",
        "a_@400000005000000000000002_2_b_BF",
        "ab_@400000005000000000000002_2_b_BF",
        "b_@400000005000000000000002_2_b_BF",
        "A_@400000000000000000000000_0_a_DC.499",
        "A_@3fffffff0000000000000000_0_a_DC.500",
        "A_@400000000000000000000000_0_a_DC.500",
    };
    for (size_t i = 1; i < COUNT(order); i++) {
        struct set_name a = named(order[i - 1]), b = named(order[i]);
        assert_true(key_order(&a, &b) < 0);
        assert_true(key_order(&b, &a) > 0);
        assert_int_equal(key_order(&a, &a), 0);
    }
}

static void invalid_bytes_in_a_host_name_become_dashes(void **state) {
    (void)state;
    static const char *const cases[][2] = {
        {"build3.example.org", "build3.example.org"},
        {"my_host \xc3\xa4", "my-host---"},
        {"-._x", "x"},
        {"__", "localhost"},
        {"", "localhost"}};
    for (size_t i = 0; i < COUNT(cases); i++) {
        CLEANUP(text_clear) struct text out = TEXT_INIT;
        set_host_clean(span_of(cases[i][0]), &out);
        assert_string_equal(text_string(&out), cases[i][1]);
    }
}

static void branch_names_follow_git(void **state) {
    (void)state;
    static const char *const good[] = {"main",       "a/b", "release-1.2",
                                       "f\xc3\xbcr", "@x",  "a@b"};
    static const char *const bad[] = {
        "",         "/a",  "a/",   "a//b", ".a",  "a/.b", "a..b", "a.lock",
        "a.lock/b", "a b", "a~b",  "a^b",  "a:b", "a?b",  "a*b",  "a[b",
        "a\\b",     "@",   "a@{b", "a.",   "-a",  "a\nb", "a\x7f"};
    for (size_t i = 0; i < COUNT(good); i++)
        assert_true(ref_name_is_valid(span_of(good[i])));
    for (size_t i = 0; i < COUNT(bad); i++)
        assert_false(ref_name_is_valid(span_of(bad[i])));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_parts_of_a_name_are_parsed),
        cmocka_unit_test(a_name_is_formatted_as_it_was_parsed),
        cmocka_unit_test(invalid_names_are_refused_with_the_wrong_part),
        cmocka_unit_test(a_name_that_is_too_long_is_refused),
        cmocka_unit_test(ids_consist_of_valid_characters_only),
        cmocka_unit_test(keys_sort_as_specified),
        cmocka_unit_test(invalid_bytes_in_a_host_name_become_dashes),
        cmocka_unit_test(branch_names_follow_git),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
