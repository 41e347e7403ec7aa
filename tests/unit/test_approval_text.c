#include "support/test.h"

#include "wire/approval_text.h"

#define SUM "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define SIGNATURE \
    "-----BEGIN SSH SIGNATURE-----\nU1NIU0lH\n-----END SSH SIGNATURE-----"

static void assert_span(struct span span, const char *text) {
    if (!span_is(span, text))
        fail_msg("'%.*s' is not '%s'", (int)span.len, span.p, text);
}

static const char whole[] = "pointsman-approval 1\n"
                            "instance j4f2kq7c5wzq3a6b2\n"
                            "set C7\n"
                            "sum " SUM "\n"
                            "target main\n"
                            "base none\n"
                            "by alice@example.org\n"
                            "made 2026-11-22T02:00:00.000Z\n"
                            "expires 2026-12-22T02:00:00.000Z\n"
                            "ticket OPS-17 and more\n";

static void an_approval_text_names_its_set(void **state) {
    (void)state;
    struct approval_text it;
    struct err err = {0};
    char when[WALL_TEXT_BYTES];
    assert_true(approval_text_parse(SPAN(whole), &it, &err));
    assert_span(it.instance, "j4f2kq7c5wzq3a6b2");
    assert_span(it.csid, "C7");
    assert_span(it.sum, SUM);
    assert_span(it.target, "main");
    assert_span(it.base, "none");
    assert_span(it.by, "alice@example.org");
    assert_span(it.ticket, "OPS-17 and more");
    assert_string_equal(wall_format(it.made, when), "2026-11-22T02:00:00.000Z");
    assert_string_equal(wall_format(it.expires, when),
                        "2026-12-22T02:00:00.000Z");
}

static void parsing_and_formatting_return_the_same_text(void **state) {
    (void)state;
    CLEANUP(text_clear) struct text out = TEXT_INIT;
    struct approval_text it;
    assert_true(approval_text_parse(SPAN(whole), &it, NULL));
    approval_text_format(&it, &out);
    assert_string_equal(text_string(&out), whole);
}

/* Each approval has exactly one text: no line may be reworded, omitted, moved
 * or added. */
static void any_deviation_is_refused(void **state) {
    (void)state;
    static const struct {
        const char *from, *to, *wrong;
    } cases[] = {
        {"approval 1", "approval 2", "pointsman-approval 1"},
        {"\nset C7", "\nset C_7", "set"},
        {"\nset C7\n", "\n", "set"},
        {"\nset C7\n", "\nset C7\nset C8\n", "sum"},
        {"sum 0", "sum ", "sum"},
        {"sum 0", "sum A", "sum"},
        {"target main", "target ..", "target"},
        {"base none", "base 12ab", "base"},
        {"base none", "base  none", "base"},
        {"by alice", "by -alice", "by"},
        {"by alice", "by al ice", "by"},
        {"by alice", "by *", "by"},
        {"02:00:00.000Z\nex", "02:00:00Z\nex", "made"},
        {"02:00:00.000Z\nex", "03:00:00.000+01:00\nex", "made"},
        {"expires 2026-12-22T02:00:00.000Z", "expires soon", "expires"},
        {"ticket OPS", "ticket  OPS", "ticket"},
        {"and more\n", "and more", "ticket"},
        {"and more\n", "and more\n\n", "ticket"},
        {"and more\n", "and\xffmore\n", "ticket"},
        {"ticket", "tickets", "ticket"},
        {"\nset", "\r\nset", "instance"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        CLEANUP(text_clear) struct text text = TEXT_INIT, want = TEXT_INIT;
        struct approval_text it;
        struct err err = {0};
        const char *at = strstr(whole, cases[i].from);
        assert_non_null(at);
        text_add(&text, whole, (size_t)(at - whole));
        text_adds(&text, cases[i].to);
        text_adds(&text, at + strlen(cases[i].from));
        text_addf(&want, "line '%s' is missing", cases[i].wrong);
        if (approval_text_parse(text_span(&text), &it, &err) ||
            !strstr(err.text, text_string(&want)))
            fail_msg("%zu: %s", i, err.text);
    }
}

static void a_file_holds_a_text_and_a_signature(void **state) {
    (void)state;
    CLEANUP(text_clear) struct text bytes = TEXT_INIT;
    struct approval_file file;
    struct err err = {0};
    text_adds(&bytes, whole);
    assert_true(approval_file_parse(text_span(&bytes), &file, &err));
    assert_int_equal(file.signature.len, 0);
    text_adds(&bytes, SIGNATURE "\n");
    assert_true(approval_file_parse(text_span(&bytes), &file, &err));
    assert_span(file.text, whole);
    assert_span(file.signature, SIGNATURE);
    size_t len = bytes.len;
    text_adds(&bytes, "more\n" SIGNATURE "\n"); /* two signatures */
    assert_false(approval_file_parse(text_span(&bytes), &file, &err));
    bytes.len = len;
    text_adds(&bytes, "more");
    assert_false(approval_file_parse(text_span(&bytes), &file, &err));
    bytes.len -= 8; /* into the last line */
    assert_false(approval_file_parse(text_span(&bytes), &file, &err));
    assert_non_null(strstr(err.text, "truncated"));
}

static void times_and_names_are_filled_in(void **state) {
    (void)state;
    static const struct {
        const char *expires, *becomes;
    } cases[] = {
        {"", "never"},
        {"7d", "1970-01-08T00:00:01.000Z"},
        {"2030-01-01T01:00:00+01:00", "2030-01-01T00:00:00.000Z"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        CLEANUP(text_clear) struct text out = TEXT_INIT;
        struct approval_text it;
        struct err err = {0};
        assert_true(approval_text_parse(SPAN(whole), &it, &err));
        assert_true(approval_text_fill(&it, SPAN("bob"), SPAN(""),
                                       span_of(cases[i].expires),
                                       (struct wall){NS_PER_S + 7}, &err));
        approval_text_format(&it, &out);
        assert_non_null(strstr(text_string(&out), cases[i].becomes));
        assert_true(approval_text_parse(text_span(&out), &it, &err));
        assert_int_equal(it.made.ns, NS_PER_S);
        assert_false(approval_text_fill(&it, SPAN("a b"), SPAN(""), SPAN(""),
                                        it.made, &err));
        assert_false(approval_text_fill(&it, SPAN("bob"), SPAN("a\nb"),
                                        SPAN(""), it.made, &err));
        assert_false(approval_text_fill(&it, SPAN("bob"), SPAN(""),
                                        SPAN("soon"), it.made, &err));
        assert_int_equal(err.kind, ERR_USAGE);
    }
}

static void the_file_name_holds_the_csid(void **state) {
    (void)state;
    struct span csid;
    assert_true(approval_entry_parse(SPAN("approve_C7"), &csid));
    assert_span(csid, "C7");
    assert_true(approval_entry_parse(SPAN("approve_C.7-x_a.b_9"), &csid));
    assert_span(csid, "C.7-x");
    static const char *const others[] = {
        "approve",     "approve_",       "approve__x",  "approve_-C",
        "approved_C7", "approve_C7_a b", "approve_C 7", "Approve_C7"};
    for (size_t i = 0; i < COUNT(others); i++)
        if (approval_entry_parse(span_of(others[i]), &csid))
            fail_msg("'%s'", others[i]);
}

static void a_note_is_parsed_as_it_was_formatted(void **state) {
    (void)state;
    CLEANUP(text_clear) struct text text = TEXT_INIT;
    struct approval_note note = {.key = SPAN("SHA256:a+b/c"),
                                 .made = wall_from_s(1000),
                                 .until = wall_from_s(2000),
                                 .alias = SPAN("uid:7"),
                                 .ticket = SPAN("OPS 1 key=x")};
    struct approval_note again;
    approval_note_format(&note, &text);
    assert_string_equal(text_string(&text),
                        "key=SHA256:a+b/c made=1970-01-01T00:16:40.000Z "
                        "until=1970-01-01T00:33:20.000Z as=uid:7 "
                        "ticket=OPS 1 key=x");
    approval_note_parse(text_span(&text), &again);
    assert_span(again.key, "SHA256:a+b/c");
    assert_span(again.alias, "uid:7");
    assert_span(again.ticket, "OPS 1 key=x");
    assert_int_equal(again.made.ns, note.made.ns);
    assert_int_equal(again.until.ns, note.until.ns);
    approval_note_parse(SPAN("nonsense = until= ticket="), &again);
    assert_int_equal(again.until.ns + (int64_t)again.ticket.len, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_approval_text_names_its_set),
        cmocka_unit_test(parsing_and_formatting_return_the_same_text),
        cmocka_unit_test(any_deviation_is_refused),
        cmocka_unit_test(a_file_holds_a_text_and_a_signature),
        cmocka_unit_test(times_and_names_are_filled_in),
        cmocka_unit_test(the_file_name_holds_the_csid),
        cmocka_unit_test(a_note_is_parsed_as_it_was_formatted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
