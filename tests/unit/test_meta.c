#include "support/test.h"

#include "lib/arena.h"
#include "lib/text.h"
#include "wire/meta.h"

#define HEAD "##movetype\nDC\n##target\nmain\n"
#define COMMIT "0123456789abcdef0123456789abcdef01234567"
#define TAI "@400000005f5e10a50a000000"

static struct arena arena;

static int teardown(void **state) {
    (void)state;
    arena_clear(&arena);
    return 0;
}

static struct meta parsed(const char *text) {
    struct meta meta;
    struct refusal why = {0};
    if (!meta_parse(span_of(text), NULL, &arena, &meta, &why))
        fail_msg("%s", why.text);
    return meta;
}

static void assert_refused(const char *text, enum refusal_kind kind,
                           const char *words) {
    struct meta meta;
    struct refusal why = {0};
    if (meta_parse(span_of(text), NULL, &arena, &meta, &why))
        fail_msg("accepted: %s", text);
    if (why.kind != kind || !strstr(why.text, words))
        fail_msg("%s: %s", refusal_word(why.kind), why.text);
}

static void lists_are_sorted_without_duplicates(void **state) {
    (void)state;
    struct meta meta = parsed(HEAD "##files\nsrc/b.c\nsrc/a.c\nsrc/b.c\n"
                                   "##dependencies\nC3\nC1\nC3\n"
                                   "##approval\nticket 42\n");
    assert_int_equal(meta.movetype, SET_DC);
    assert_true(span_is(meta.target, "main"));
    assert_int_equal(meta.files.count, 2);
    assert_true(span_is(meta.files.items[0], "src/a.c"));
    assert_int_equal(meta.dependencies.count, 2);
    assert_true(span_is(meta.dependencies.items[0], "C1"));
    assert_true(span_is(meta.approval.items[0], "ticket 42"));
    assert_int_equal(meta.base.len, 0);
}

static void all_sections_are_parsed(void **state) {
    (void)state;
    struct meta meta = parsed(
        HEAD "##deleted\nold\n##base\n" COMMIT "\n##supersedes\nC1_" TAI
             "_1_h_DC\n##group\ng1\n##rb-limit\n70\n##author\n"
             "J\xc3\xb6rg X <j@x.org>\n##date\n2026-11-21T19:20:21+01:00\n"
             "##message\n\nFix\n\nFor good\n\n##odd\nkept\n");
    assert_true(span_is(meta.base, COMMIT));
    assert_true(span_is(meta.supersedes, "C1"));
    assert_true(span_is(meta.group, "g1"));
    assert_int_equal(meta.rb_limit, 70);
    assert_true(span_is(meta.author, "J\xc3\xb6rg X <j@x.org>"));
    assert_int_equal(wall_s(meta.date_wall), 1795285221);
    assert_true(span_is(meta.message, "Fix\n\nFor good"));
    assert_non_null(sections_find(&meta.sections, "odd"));
}

static void a_set_of_a_stack_names_set_and_tree(void **state) {
    (void)state;
    struct meta meta =
        parsed(HEAD "##files\na\n##dependencies\nC1\nC2\n##base-set\nC1_" TAI
                    "_1_h_DC\n##base-tree\n" COMMIT "\n");
    assert_true(span_is(meta.base_set, "C1"));
    assert_true(span_is(meta.base_tree, COMMIT));
    CLEANUP(text_clear) struct text text = TEXT_INIT;
    meta_format(&meta, &text);
    struct meta again = parsed(text_string(&text));
    assert_true(span_is(again.base_set, "C1"));
    assert_true(span_is(again.base_tree, COMMIT));
    assert_refused(HEAD "##files\na\n##dependencies\nC1\n##base-set\nC1\n",
                   REFUSAL_META_SECTION, "##base-set and ##base-tree belong");
    assert_refused(HEAD "##files\na\n##base-tree\n" COMMIT "\n",
                   REFUSAL_META_SECTION, "##base-set and ##base-tree belong");
    assert_refused(HEAD "##files\na\n##dependencies\nC1\n##base-set\nC1\n"
                        "##base-tree\n" COMMIT "\n##base-set\nC1\n",
                   REFUSAL_META_SECTION, "##base-set occurs 2 times");
}

static void wrong_values_are_refused_with_their_section(void **state) {
    (void)state;
    static const char *const cases[][2] = {
        {"##movetype\ndc\n##target\nm\n", "##movetype: 'dc'"},
        {"##movetype\nDC\nBF\n##target\nm\n", "##movetype holds 2"},
        {"##movetype\nDC\n##target\na..b\n", "##target"},
        {HEAD "##base\nmain\n", "##base"},
        {HEAD "##base\n" COMMIT "0\n", "##base"},
        {HEAD "##dependencies\na/b\n", "##dependencies"},
        {HEAD "##dependencies\nC1\n##base-set\nC1\n##base-tree\nmain\n",
         "##base-tree: 'main'"},
        {HEAD "##dependencies\nC1\n##base-set\nC1\n##base-tree\n" COMMIT "0\n",
         "##base-tree"},
        {HEAD "##dependencies\nC1\n##base-set\n../C1\n##base-tree\n" COMMIT
              "\n",
         "##base-set: '../C1'"},
        {HEAD "##dependencies\nC1\nC2\n##base-set\nC1\nC2\n##base-tree\n" COMMIT
              "\n",
         "##base-set holds 2"},
        {HEAD "##dependencies\nC2\n##base-set\nC1\n##base-tree\n" COMMIT "\n",
         "is not in ##dependencies"},
        {"##movetype\nRB\n##target\nm\n##dependencies\nC1\n##base-set\nC1\n"
         "##base-tree\n" COMMIT "\n",
         "is not allowed in a rollback"},
        {HEAD "##dependencies\na_b\n", "##dependencies"},
        {HEAD "##precursors\n..\n", "##precursors"},
        {HEAD "##supersedes\nA\nB\n", "##supersedes"},
        {HEAD "##group\na b\n", "##group"},
        {HEAD "##rb-limit\n0\n", "##rb-limit"},
        {HEAD "##rb-limit\n-1\n", "##rb-limit"},
        {HEAD "##author\nJoe\n", "##author"},
        {HEAD "##author\n<j@x>\n", "##author"},
        {HEAD "##author\nJ <a> <b>\n", "##author"},
        {HEAD "##author\nJ < j@x>\n", "##author"},
        {HEAD "##author\nJ <j@x >\n", "##author"},
        {HEAD "##author\nJ <j@\001x>\n", "##author"},
        {HEAD "##author\nJ\177 <j@x>\n", "##author"},
        {HEAD "##date\nyesterday\n", "##date"},
    };
    for (size_t i = 0; i < COUNT(cases); i++)
        assert_refused(cases[i][0], REFUSAL_META_VALUE, cases[i][1]);
}

static void the_target_may_be_missing(void **state) {
    (void)state;
    assert_int_equal(parsed("##movetype\nDC\n##files\na\n").target.len, 0);
    assert_int_equal(
        parsed("##movetype\nDC\n##target\n##files\na\n").target.len, 0);
}

static void missing_and_repeated_sections_are_refused(void **state) {
    (void)state;
    assert_refused("##target\nm\n##files\na\n", REFUSAL_META_SECTION,
                   "##movetype is missing");
    assert_refused(HEAD "##files\na\n##files\nb\n", REFUSAL_META_SECTION,
                   "##files occurs 2 times");
    assert_refused(HEAD "##files\na\n##job\nx\n", REFUSAL_META_SECTION,
                   "##job");
    assert_refused(HEAD "##files\na\n##precursors-computed 1\n",
                   REFUSAL_META_SECTION, "##precursors-computed");
}

static void invalid_paths_are_refused(void **state) {
    (void)state;
    assert_refused(HEAD "##files\n../a\n", REFUSAL_BAD_PATH, "##files");
    assert_refused(HEAD "##deleted\n/a\n", REFUSAL_BAD_PATH, "##deleted");
    assert_refused(HEAD "##files\n.GIT/x\n", REFUSAL_DOT_GIT, ".GIT/x");
    assert_refused(HEAD "##files\na\n##deleted\na\n", REFUSAL_PATH_CLASH,
                   "##deleted too");
    assert_refused(HEAD "##files\na\na.b\na/b\n", REFUSAL_PATH_CLASH, "a/b");
    parsed(HEAD "##files\na/b\n##deleted\na\n");
}

static void a_set_that_changes_nothing_is_refused(void **state) {
    (void)state;
    assert_refused(HEAD, REFUSAL_EMPTY, "neither");
    assert_refused("##movetype\nRB\n##target\nm\n", REFUSAL_EMPTY,
                   "##dependencies");
    assert_refused("##movetype\nRB\n##target\nm\n##dependencies\nC1\n"
                   "##files\na\n",
                   REFUSAL_META_SECTION, "rollback");
    parsed("##movetype\nRB\n##target\nm\n##dependencies\nC1\n");
}

static void a_huge_meta_is_refused(void **state) {
    (void)state;
    char *text = mem_alloc(META_BYTES + 2);
    memset(text, '\n', META_BYTES + 1);
    assert_refused(text, REFUSAL_TOO_BIG, "1048576");
    free(text);
}

static void name_and_meta_must_agree(void **state) {
    (void)state;
    struct set_name name;
    struct refusal why = {0};
    assert_true(set_name_parse(SPAN("C1_" TAI "_1_h_DC"), &name, NULL));
    struct meta meta = parsed(HEAD "##files\na\n");
    assert_true(meta_match_name(&meta, &name, &why));
    meta = parsed(HEAD "##files\na\n##dependencies\nC1\n");
    assert_false(meta_match_name(&meta, &name, &why));
    assert_int_equal(why.kind, REFUSAL_META_VALUE);
    name.class = SET_BF;
    assert_false(meta_match_name(&meta, &name, &why));
    assert_int_equal(why.kind, REFUSAL_CLASS_MISMATCH);
}

static void a_formatted_meta_is_parsed_with_the_same_values(void **state) {
    (void)state;
    struct meta once =
        parsed(HEAD "##files\n\\##odd\nb\n##deleted\nold\n##base\n" COMMIT
                    "\n##dependencies\nC1\n##author\nJ <j@x>\n##rb-limit\n7\n"
                    "##date\n2026-11-21T19:20:21Z\n##message\nA\n\n\\##B\n");
    CLEANUP(text_clear) struct text out = TEXT_INIT;
    meta_format(&once, &out);
    struct meta twice = parsed(text_string(&out));
    assert_int_equal(twice.files.count, 2);
    assert_true(span_equal(once.files.items[0], twice.files.items[0]));
    assert_true(span_equal(once.message, twice.message));
    assert_true(span_is(twice.message, "A\n\n##B"));
    assert_true(span_equal(once.base, twice.base));
    assert_int_equal(twice.rb_limit, 7);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lists_are_sorted_without_duplicates),
        cmocka_unit_test(all_sections_are_parsed),
        cmocka_unit_test(a_set_of_a_stack_names_set_and_tree),
        cmocka_unit_test(wrong_values_are_refused_with_their_section),
        cmocka_unit_test(the_target_may_be_missing),
        cmocka_unit_test(missing_and_repeated_sections_are_refused),
        cmocka_unit_test(invalid_paths_are_refused),
        cmocka_unit_test(a_set_that_changes_nothing_is_refused),
        cmocka_unit_test(a_huge_meta_is_refused),
        cmocka_unit_test(name_and_meta_must_agree),
        cmocka_unit_test(a_formatted_meta_is_parsed_with_the_same_values),
    };
    return cmocka_run_group_tests(tests, NULL, teardown);
}
