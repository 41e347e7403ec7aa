#include "core/train_result.h"

#include "support/test.h"

static const struct span unit_words[] = {{"make", 4}, {"check", 5}};
static const struct span other_words[] = {{"mak", 3}, {"echeck", 6}};
static const struct train_check checks[] = {{{"unit", 4}, unit_words, 2},
                                            {{"lint", 4}, other_words, 2}};
static const struct span ids[] = {{"C1", 2}, {"C2", 2}};

static struct train_key key(void) {
    return (struct train_key){.target = SPAN("main"),
                              .checks = checks,
                              .check_count = 1,
                              .user = SPAN("builder"),
                              .environment = SPAN("gcc 12"),
                              .path = SPAN("/usr/bin:/bin"),
                              .lang = SPAN("C.UTF-8"),
                              .tz = SPAN("UTC"),
                              .kernel = SPAN("6.1"),
                              .machine = SPAN("build3"),
                              .tree = SPAN("3f2a"),
                              .remember = TRAIN_REMEMBER_SET,
                              .ids = ids,
                              .id_count = 1};
}

static bool same(const struct train_key *a, const struct train_key *b) {
    struct text x = TEXT_INIT, y = TEXT_INIT;
    bool equal;

    train_key_format(a, &x);
    train_key_format(b, &y);
    equal = span_equal(text_span(&x), text_span(&y));
    text_clear(&x);
    text_clear(&y);
    return equal;
}

static void every_part_changes_the_key(void **state) {
    (void)state;
    struct train_key usual = key(), other;
    static const struct train_check moved[] = {{{"unit", 4}, other_words, 2}};

    assert_true(same(&usual, &usual));
#define DIFFERS(member, value)              \
    do {                                    \
        other = key();                      \
        other.member = value;               \
        assert_false(same(&usual, &other)); \
    } while (0)
    DIFFERS(target, SPAN("site"));
    DIFFERS(check_count, 2);
    DIFFERS(checks, moved); /* the same letters, in other words */
    DIFFERS(checks, checks + 1);
    DIFFERS(user, SPAN("root"));
    DIFFERS(environment, SPAN("gcc 13"));
    DIFFERS(path, SPAN("/bin"));
    DIFFERS(lang, SPAN("C"));
    DIFFERS(tz, SPAN("CET"));
    DIFFERS(kernel, SPAN("6.2"));
    DIFFERS(machine, SPAN("build4"));
    DIFFERS(tree, SPAN("3f2b"));
    DIFFERS(ids, ids + 1);
    DIFFERS(id_count, 2);
    DIFFERS(id_count, 0); /* the tip */
#undef DIFFERS
}

static void sets_share_results_only_if_they_are_kept_by_tree(void **state) {
    (void)state;
    struct train_key one = key(), other = key();

    other.ids = ids + 1;
    assert_false(same(&one, &other));
    one.remember = other.remember = TRAIN_REMEMBER_TREE;
    assert_true(same(&one, &other));
    other.id_count = 0;
    assert_true(same(&one, &other));
}

static void a_pass_is_reused_until_it_is_too_old(void **state) {
    (void)state;
    struct train_record record = {.passed = wall_from_s(100)};

    assert_true(train_record_is_reusable(&record, 60000, wall_from_s(160)));
    assert_false(train_record_is_reusable(&record, 60000, wall_from_s(161)));
    assert_true(train_record_is_reusable(&record, 0, wall_from_s(1000000)));
}

static void a_later_failure_disputes_a_pass(void **state) {
    (void)state;
    struct train_record record = {.passed = wall_from_s(100),
                                  .failed = wall_from_s(99)};
    struct wall now = wall_from_s(200);

    assert_true(train_record_is_reusable(&record, 0, now));
    record.failed = record.passed;
    assert_false(train_record_is_reusable(&record, 0, now));
    record.passed = wall_from_s(150); /* another run passed */
    assert_true(train_record_is_reusable(&record, 0, now));
}

static void without_a_pass_there_is_nothing_to_reuse(void **state) {
    (void)state;
    struct train_record record = {.failed = wall_from_s(100)};

    assert_false(train_record_is_reusable(&record, 0, wall_from_s(200)));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_part_changes_the_key),
        cmocka_unit_test(sets_share_results_only_if_they_are_kept_by_tree),
        cmocka_unit_test(a_pass_is_reused_until_it_is_too_old),
        cmocka_unit_test(a_later_failure_disputes_a_pass),
        cmocka_unit_test(without_a_pass_there_is_nothing_to_reuse),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
