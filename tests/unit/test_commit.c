#include "support/test.h"

#include "lib/attr.h"
#include "landing/commit.h"

static struct commit_draft draft(void) {
    return (struct commit_draft){.tree = "1111",
                                 .parent = "2222",
                                 .author = SPAN("A <a@b>"),
                                 .authored = {1500000000 * NS_PER_S},
                                 .author_zone_min = -90,
                                 .committer = SPAN("C <c@d>"),
                                 .committed = {1600000000 * NS_PER_S},
                                 .message = SPAN("Fix it\n\nwell\n"),
                                 .csid = SPAN("C1"),
                                 .sum = SPAN("abcd"),
                                 .class = SPAN("BF")};
}

/* An approval by `from` names the approver as `want` in the commit. */
static void assert_ident(const char *from, const char *want) {
    CLEANUP(text_clear) struct text out = TEXT_INIT, line = TEXT_INIT;
    struct commit_draft d = draft();
    d.approved_by = &from;
    d.approved_count = 1;
    commit_format(&d, &out);
    text_addf(&line, "\nCS-Approved-By: %s\n", want);
    assert_true(span_ends(text_span(&out), text_string(&line)));
}

static void an_identity_is_kept_as_it_is(void **state) {
    (void)state;
    assert_ident("Zoë O'Neil <z@e>", "Zoë O'Neil <z@e>");
    assert_ident("  A B  <a@b>  ", "A B <a@b>");
}

static void characters_git_forbids_in_an_identity_are_removed(void **state) {
    (void)state;
    assert_ident("A\nB <a\n@b>", "AB <a@b>");
    assert_ident("A> B <a@b> tail <c@d>", "A B <a@b>");
    assert_ident("<a@b>", "a@b <a@b>");
    assert_ident("A <", "A <unknown>");
}

static void a_bare_name_gets_an_address(void **state) {
    (void)state;
    assert_ident("peer box/7", "peer box/7 <peer-box-7@localhost>");
    assert_ident("uid:4294967294x", "uid:4294967294x "
                                    "<uid-4294967294x@localhost>");
    assert_ident("", "unknown <unknown@localhost>");
}

static void trailers_are_recognized_as_git_does(void **state) {
    (void)state;
    static const struct {
        const char *message;
        bool has;
    } cases[] = {
        {"", false},
        {"Fix: it", false},
        {"Fix\n\nSigned-off-by: A <a@b>", true},
        {"Fix\n\nSigned-off-by: A <a@b>\n\n", true},
        {"Fix\n\nA: b\n c\nD-e: f", true},
        {"Fix\n\nA: b\nplain words", false},
        {"Fix\n\nplain words\nSigned-off-by: A <a@b>", true},
        {"Fix\n\nA: b\n\nmore text", false},
        {"Fix\n\nhttp://example.org/ and more", true},
        {"Fix\n\n: b", false},
        {"Fix\n\none\ntwo\nthree\nfour\nSigned-off-by: A <a@b>", false},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        CLEANUP(text_clear) struct text out = TEXT_INIT;
        struct commit_draft d = draft();
        d.message = span_of(cases[i].message);
        commit_format(&d, &out);
        /* Our trailers join an existing block, or else start a new
         * paragraph. */
        if ((strstr(text_string(&out), "\n\nCS-Id:") == NULL) != cases[i].has)
            fail_msg("'%s'", cases[i].message);
    }
}

static void zones_are_parsed_into_minutes(void **state) {
    (void)state;
    assert_int_equal(commit_date_zone_min(SPAN("2020-01-01T00:00:00Z")), 0);
    assert_int_equal(commit_date_zone_min(SPAN("2020-01-01T00:00:00+05:30")),
                     330);
    assert_int_equal(commit_date_zone_min(SPAN("2020-01-01T00:00:00-09:30")),
                     -570);
    assert_int_equal(commit_date_zone_min(SPAN("")), 0);
}

static void a_commit_has_exactly_these_bytes(void **state) {
    (void)state;
    CLEANUP(text_clear) struct text out = TEXT_INIT;
    struct commit_draft d = draft();
    commit_format(&d, &out);
    assert_string_equal(
        text_string(&out),
        "tree 1111\nparent 2222\nauthor A <a@b> 1500000000 -0130\n"
        "committer C <c@d> 1600000000 +0000\n\n"
        "Fix it\n\nwell\n\nCS-Id: C1\nCS-Sum: abcd\nCS-Class: BF\n");
}

/* They come from a backport of a landed set, or are forged. */
static void trailers_like_ours_are_kept_in_a_separate_block(void **state) {
    (void)state;
    static const struct {
        const char *message, *end;
    } cases[] = {
        {"Fix it\n\nSigned-off-by: A <a@b>\n",
         "\nSigned-off-by: A <a@b>\nCS-Id: C1\n"},
        {"Fix it\n\nCS-Id: C0\nCS-Sum: 12\nCS-Class: DC\n",
         "\nCS-Class: DC\n\nCS-Id: C1\n"},
        {"Fix it\n\nReviewed-by: A\ncs-approved-by: The Boss\n",
         "\ncs-approved-by: The Boss\n\nCS-Id: C1\n"},
        {"Fix it\n\nReverts-CS: C0\n", "\nReverts-CS: C0\n\nCS-Id: C1\n"},
        {"Fix it\n\nRestores-CS : C0", "\nRestores-CS : C0\n\nCS-Id: C1\n"},
        {"Fix it\n\nRB-Id: C0\n", "\nRB-Id: C0\n\nCS-Id: C1\n"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        CLEANUP(text_clear) struct text out = TEXT_INIT;
        struct commit_draft d = draft();
        d.message = span_of(cases[i].message);
        commit_format(&d, &out);
        assert_non_null(strstr(text_string(&out), cases[i].end));
    }
}

static void
a_first_commit_has_no_parent_and_an_empty_message_becomes_the_id(void **state) {
    (void)state;
    static const char *const who[] = {"O\n<o@p>", "uid:0"};
    CLEANUP(text_clear) struct text out = TEXT_INIT;
    struct commit_draft d = draft();
    d.parent = "";
    d.message = SPAN("");
    d.authored.ns = -5 * NS_PER_S;
    d.approved_by = who;
    d.approved_count = 2;
    commit_format(&d, &out);
    assert_string_equal(text_string(&out),
                        "tree 1111\nauthor A <a@b> 0 -0130\n"
                        "committer C <c@d> 1600000000 +0000\n\n"
                        "C1\n\nCS-Id: C1\nCS-Sum: abcd\nCS-Class: BF\n"
                        "CS-Approved-By: O <o@p>\n"
                        "CS-Approved-By: root <root@localhost>\n");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_identity_is_kept_as_it_is),
        cmocka_unit_test(trailers_like_ours_are_kept_in_a_separate_block),
        cmocka_unit_test(characters_git_forbids_in_an_identity_are_removed),
        cmocka_unit_test(a_bare_name_gets_an_address),
        cmocka_unit_test(trailers_are_recognized_as_git_does),
        cmocka_unit_test(zones_are_parsed_into_minutes),
        cmocka_unit_test(a_commit_has_exactly_these_bytes),
        cmocka_unit_test(
            a_first_commit_has_no_parent_and_an_empty_message_becomes_the_id),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
