#include "lib/pattern.h"

#include "support/test.h"

#include <regex.h>
#include <stdio.h>
#include <stdlib.h>

#include "lib/random.h"

static bool finds(const char *text, const char *line) {
    struct pattern *pattern;
    struct err err = {0};
    if (!pattern_new(span_of(text), false, &pattern, &err))
        fail_msg("%s", err.text);
    bool found = pattern_finds(pattern, span_of(line));
    /* The states cached by the first search do not change the result. */
    assert_int_equal(pattern_finds(pattern, span_of(line)), found);
    pattern_free(pattern);
    return found;
}

static void patterns_are_found(void **state) {
    (void)state;
    static const char *const yes[][2] = {{"b", "abc"},
                                         {"", ""},
                                         {"", "x"},
                                         {"^abc$", "abc"},
                                         {"^$", ""},
                                         {"a|b", "xb"},
                                         {"(ab)+$", "xabab"},
                                         {"a{2,3}b", "aab"},
                                         {"x*y", "y"},
                                         {"[a-c]d", "xcd"},
                                         {"[^a]", "b"},
                                         {"[]a]", "]"},
                                         {"\\.", "a.b"},
                                         {"\\d{3}", "a123"},
                                         {"^\\s*#", "  # x"},
                                         {"[[:digit:]]+z", "9z"},
                                         {"(a|b)*c", "ababc"},
                                         {"^(a|)b", "b"},
                                         {"a{0}b", "b"},
                                         {"(((a*)*)*)*b", "aab"},
                                         {"\\e\\[", "\033[1m"},
                                         {"\\w+@\\w+", "to me@here now"},
                                         {"a.c", "a\xff"
                                                 "c"},
                                         {"(^|x)y", "y"},
                                         {"a{2,}", "aaaa"}};
    for (size_t i = 0; i < COUNT(yes); i++)
        if (!finds(yes[i][0], yes[i][1]))
            fail_msg("'%s' is not found in '%s'", yes[i][0], yes[i][1]);
}

static void patterns_that_do_not_match_are_not_found(void **state) {
    (void)state;
    static const char *const no[][2] = {
        {"b", "ac"},       {"^b", "ab"},   {"a$", "ab"},    {"a.c", "ac"},
        {"^$", "x"},       {"[^a]", "a"},  {"a{2}", "aba"}, {"\\d", "x"},
        {"(ab){2}", "ab"}, {"\\S", " \t"}, {"a^b", "ab"},   {"^a{3}$", "aaaa"}};
    for (size_t i = 0; i < COUNT(no); i++)
        if (finds(no[i][0], no[i][1]))
            fail_msg("'%s' is found in '%s'", no[i][0], no[i][1]);
}

static void case_is_ignored_on_request(void **state) {
    (void)state;
    struct pattern *pattern;
    struct err err = {0};
    assert_true(pattern_new(SPAN("err[o-p]r [^z]"), true, &pattern, &err));
    assert_true(pattern_finds(pattern, SPAN("An ERROR Q")));
    assert_false(pattern_finds(pattern, SPAN("ERROR Z")));
    pattern_free(pattern);
}

static void an_invalid_pattern_is_rejected_with_a_position(void **state) {
    (void)state;
    static const char *const bad[][2] = {
        {"a(b", "a '(' without its ')' at character 4"},
        {"[a", "a '[' without its ']' at character 3"},
        {"*a", "nothing to repeat at character 1"},
        {"a**", "repeated twice"},
        {"a{5,2}", "not a number of times"},
        {"a{9999}", "up to 1000"},
        {"[z-a]", "end is before its start"},
        {"(a)\\1", "a back reference, which is not supported,"},
        {"[[:moon:]]", "unknown character class"},
        {"a\\", "nothing after a backslash"},
        {"((a{1000}){1000}){1000}", "too large"}};
    for (size_t i = 0; i < COUNT(bad); i++) {
        struct pattern *pattern;
        struct err err = {0};
        if (pattern_new(span_of(bad[i][0]), false, &pattern, &err))
            fail_msg("accepted: '%s'", bad[i][0]);
        assert_int_equal(err.kind, ERR_USAGE);
        if (strstr(err.text, bad[i][1]) == NULL)
            fail_msg("'%s' instead of '%s'", err.text, bad[i][1]);
    }
}

/* Backtracking would need 2^30 steps for the first expressions; the last one
 * has more sets of states than are cached. */
static void hostile_patterns_are_matched_in_bounded_time(void **state) {
    (void)state;
    char line[40000];
    memset(line, 'a', sizeof line - 1);
    line[sizeof line - 1] = '\0';
    assert_false(finds("(a|a)*(a|aa)*(a*)*b", line));
    char nested[200] = "";
    for (int i = 0; i < 30; i++)
        strcat(nested, "(");
    strcat(nested, "a");
    for (int i = 0; i < 30; i++)
        strcat(nested, "*)");
    strcat(nested, "*b");
    assert_false(finds(nested, line));
    for (size_t i = 0; i < sizeof line - 1; i += 3)
        line[i] = 'b';
    assert_false(finds("(a|b)*a(a|b){14}c", line));
    for (size_t i = 0; i < sizeof line - 1; i++)
        line[i] = "ab"[i * i * 2654435761U >> 30 & 1];
    assert_false(finds("(a|b)*a(a|b){14}c", line));
}

/* Short expressions are compared with the matcher of the C library. */
static void random_patterns_agree_with_the_c_library(void **state) {
    (void)state;
    static const char *const words[] = {"a", "b",    "(",    ")",   "|",
                                        "*", "?",    "+",    ".",   "^",
                                        "$", "[ab]", "[^a]", "{2}", "{1,2}"};
    struct random random;
    unsigned compared = 0;
    random_init(&random, 7);
    for (unsigned n = 0; n < 20000; n++) {
        char text[64] = "", line[12] = "";
        unsigned count = 1 + (unsigned)random_below(&random, 7);
        for (unsigned i = 0; i < count; i++)
            strcat(text, words[random_below(&random, COUNT(words))]);
        count = (unsigned)random_below(&random, 8);
        for (unsigned i = 0; i < count; i++)
            line[i] = "abc"[random_below(&random, 3)];
        struct pattern *pattern;
        struct err err = {0};
        regex_t judge;
        if (!pattern_new(span_of(text), false, &pattern, &err))
            continue;
        /* Some matchers treat anchors inside an expression as characters. */
        bool odd = strpbrk(text, "^$") != NULL || strchr(text, ')') != NULL ||
                   regcomp(&judge, text, REG_EXTENDED | REG_NOSUB) != 0;
        if (!odd) {
            bool found = regexec(&judge, line, 0, NULL, 0) == 0;
            if (pattern_finds(pattern, span_of(line)) != found)
                fail_msg("'%s' in '%s': %d", text, line, !found);
            regfree(&judge);
            compared++;
        }
        pattern_free(pattern);
    }
    assert_true(compared > 1000);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(patterns_are_found),
        cmocka_unit_test(patterns_that_do_not_match_are_not_found),
        cmocka_unit_test(case_is_ignored_on_request),
        cmocka_unit_test(an_invalid_pattern_is_rejected_with_a_position),
        cmocka_unit_test(hostile_patterns_are_matched_in_bounded_time),
        cmocka_unit_test(random_patterns_agree_with_the_c_library),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
