/* Templates: which values parameters take, what becomes of a submission, and
 * who may use one. */
#include "support/test.h"

#include "commands/template_expand.h"
#include "serve/tables.h"
#include "wire/config_section.h"

static const char sections[] =
    "[template \"all\"]\ncommand = run {x} a{x}{y}z {z} {}\n"
    "param.x = string min=0 max=5 default=\n"
    "param.y = int min=-5 max=5 default=-1\n"
    "[template \"shop\"]\ncommand = true\nallow = person:ann, 1005\n"
    "[template \"ops\"]\ncommand = true\nallow = operator\n"
    "[template \"lost\"]\ncommand = true\n"
    "allow = no-such-account, @no-such-group\n"
    "[template \"closed\"]\ncommand = true\nallow = ,\n"
    "[template \"open\"]\ncommand = true\nallow = *\n";

static struct base base;
static struct arena arena;

static int setup(void **state) {
    static const struct access_grant everybody = {.role = ACCESS_SUBMITTER,
                                                  .who = ACCESS_EVERYBODY};
    struct err err = {0};
    (void)state;
    config_sections_use(serve_sections, serve_section_count);
    base = (struct base){.uid = 1000, .access = {.owner = 1000}};
    /* Who may submit may not use every template. */
    base.access.grants = &everybody;
    base.access.grant_count = 1;
    config_init(&base.config);
    assert_true(config_read(&base.config, SPAN(sections), "test", &err));
    assert_true(config_finish(&base.config, &err));
    return 0;
}

static int teardown(void **state) {
    (void)state;
    config_clear(&base.config);
    arena_clear(&arena);
    return 0;
}

/* ---- values -------------------------------------------------------------- */

static bool takes(const char *declaration, struct span value) {
    struct template_param param;
    struct err err = {0};
    if (!template_param_parse(SPAN("p"), span_of(declaration), &arena, &param,
                              &err))
        fail_msg("%s: %s", declaration, err.text);
    return template_param_check(&param, value, &err);
}

static void a_value_has_to_be_of_its_type(void **state) {
    (void)state;
    assert_true(takes("string", SPAN("a; b $(c) {d}")));
    assert_false(takes("string", SPAN("")));
    assert_true(takes("string min=0", SPAN("")));
    assert_false(takes("string", SPAN("-a")));
    assert_true(takes("string pattern=-?a", SPAN("-a")));
    assert_false(takes("string", SPAN("a\nb")));
    assert_false(takes("string", SPAN("a\x1b[m")));
    assert_false(takes("string", SPAN("a\xff")));
    assert_false(takes("string", span_make("a\0b", 3)));
    assert_false(takes("string max=2", SPAN("abc")));
    /* The whole value, also if the pattern is an alternative. */
    assert_true(takes("string pattern='a|bc'", SPAN("bc")));
    assert_false(takes("string pattern='a|bc'", SPAN("abc")));
    assert_false(takes("string pattern='a|bc'", SPAN("a ")));
    assert_true(takes("int min=-1 max=2", SPAN("-1")));
    assert_false(takes("int min=-1 max=2", SPAN("-2")));
    assert_false(takes("int", SPAN("1.5")));
    assert_false(takes("int", SPAN("")));
    assert_false(takes("int", SPAN("99999999999999999999")));
    assert_true(takes("bool", SPAN("false")));
    assert_false(takes("bool", SPAN("1")));
    assert_true(takes("choice choices=a|b", SPAN("b")));
    assert_false(takes("choice choices=a|b", SPAN("a|b")));
    assert_false(takes("choice choices=a|b", SPAN("")));
    assert_true(takes("path", SPAN("/a/b.c/..d")));
    assert_false(takes("path", SPAN("/a/..")));
    assert_false(takes("path", SPAN("/./a")));
    assert_false(takes("path", SPAN("a")));
}

static void a_value_is_at_most_4096_bytes(void **state) {
    char large[4097];
    (void)state;
    memset(large, '/', sizeof(large));
    assert_true(takes("path", span_make(large, 4096)));
    assert_false(takes("path", span_make(large, 4097)));
}

/* ---- submissions --------------------------------------------------------- */

static const struct access_actor submitter = {
    .uid = 1001, .role = ACCESS_SUBMITTER, .is_known = true};

static struct submission with(const char *template,
                              struct submission_env *params, size_t count) {
    struct submission submission;
    submission_init(&submission);
    submission.template = span_of(template);
    submission.params = params;
    submission.param_count = count;
    return submission;
}

static void parameters_are_replaced_in_words_and_not_again(void **state) {
    struct submission_env params[] = {{SPAN("x"), SPAN("{y}")}};
    struct submission s = with("all", params, 1);
    struct err err = {0};
    (void)state;
    assert_true(template_expand(&base, &submitter, &s, &arena, &err));
    static const char *const words[] = {"run", "{y}", "a{y}-1z", "{z}", "{}"};
    assert_int_equal(s.command.count, COUNT(words));
    for (size_t i = 0; i < COUNT(words); i++)
        assert_true(span_is(s.command.items[i], words[i]));
    assert_int_equal(s.param_count, 2); /* with the default of the other */
    assert_true(span_is(s.params[1].value, "-1"));
}

static void an_empty_value_leaves_an_empty_word(void **state) {
    struct submission s = with("all", NULL, 0);
    struct err err = {0};
    (void)state;
    assert_true(template_expand(&base, &submitter, &s, &arena, &err));
    assert_int_equal(s.command.count, 5);
    assert_int_equal(s.command.items[1].len, 0);
    assert_true(span_is(s.command.items[2], "a-1z"));
}

static void a_submission_without_a_template_stays(void **state) {
    struct span word = SPAN("{x}");
    struct submission s = with("", NULL, 0);
    struct err err = {0};
    (void)state;
    s.command = (struct lines){.items = &word, .count = 1};
    assert_true(template_expand(NULL, &submitter, &s, &arena, &err));
    assert_true(span_is(s.command.items[0], "{x}"));
    s.template = SPAN("all");
    assert_false(template_expand(NULL, &submitter, &s, &arena, &err));
}

/* ---- who ----------------------------------------------------------------- */

static bool may(const char *template, struct access_actor actor) {
    struct submission s = with(template, NULL, 0);
    struct err err = {0};
    bool ok = template_expand(&base, &actor, &s, &arena, &err);
    assert_true(ok || err.kind == ERR_DENIED);
    assert_true(ok || s.command.count == 0);
    return ok;
}

static void a_template_is_for_those_whom_it_names(void **state) {
    struct access_actor operator= submitter, viewer = submitter,
                        owner = submitter, ann = submitter, other = submitter,
                        unknown = submitter;
    (void)state;
    operator.role = ACCESS_OPERATOR;
    viewer.role = ACCESS_VIEWER;
    owner.uid = 1000;
    owner.role = ACCESS_ADMIN;
    ann.uid = ACCESS_PERSON_UID;
    ann.person = SPAN("ann");
    other.uid = 1005;
    unknown.is_known = false;
    assert_true(may("all", submitter));
    assert_false(may("all", viewer));
    assert_false(may("all", unknown));
    assert_true(may("open", submitter));
    assert_false(may("ops", submitter));
    assert_true(may("ops", operator));
    assert_false(may("shop", submitter));
    assert_false(may("shop", operator));
    assert_true(may("shop", ann));
    assert_true(may("shop", other));
    ann.person = SPAN("anna");
    assert_false(may("shop", ann));
    ann.is_refused = true;
    assert_false(may("open", ann));
    /* Nobody but the owner of the base. */
    assert_false(may("lost", operator));
    assert_false(may("closed", operator));
    assert_true(may("lost", owner));
    assert_true(may("closed", owner));
}

#define TEMPLATE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEMPLATE(a_value_has_to_be_of_its_type),
        TEMPLATE(a_value_is_at_most_4096_bytes),
        TEMPLATE(parameters_are_replaced_in_words_and_not_again),
        TEMPLATE(an_empty_value_leaves_an_empty_word),
        TEMPLATE(a_submission_without_a_template_stays),
        TEMPLATE(a_template_is_for_those_whom_it_names),
    };
    return cmocka_run_group_tests_name("template", tests, NULL, NULL);
}
