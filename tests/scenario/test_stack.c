/* Stacks: a branch of several commits is packed as a set for each commit, and
 * lands set by set. The commits below exist only in the clone. */
#include "support/landing.h"

#include "landing/pack.h"

enum { SETS = 3 };

static struct pack_result packed[SETS];

static const char *in_dir(const char *name) {
    static char rooms[4][512];
    static unsigned next;
    char *room = rooms[next++ % COUNT(rooms)];
    snprintf(room, 512, "%s/%s", test_dir(), name);
    return room;
}

static void pack_one(size_t at, const char *range, const char *id,
                     const char *below) {
    const char *const depends[] = {below};
    struct pack_options options = {.source = range,
                                   .repo = in_dir("clone"),
                                   .target = "main",
                                   .id = id,
                                   .depends = depends,
                                   .depends_count = below != NULL,
                                   .output = in_dir("packs")};
    struct err err = {0};
    pack_result_clear(&packed[at]);
    if (!pack_write(&options, &packed[at], &err))
        fail_msg("%s", err.text);
}

/* A branch of three commits, each packed as a set on top of the one before. */
static void make_stack(void) {
    sh("rm -rf packs; mkdir packs; cd clone; git checkout -q -b fix\n"
       "sed -i s/2/two/ f; echo 1 >new; git add -A\n"
       "git commit -q --author='Zoe <zoe@e>' --date='2021-05-06T07:08:09 -0930'"
       " -m 'First\n\nWith a reason.\n\nFixes: 1'\n"
       "sed -i s/two/TWO/ f; echo 2 >>new; git add -A\n"
       "git commit -q --author='Otto <o@e>' --date='2022-05-06T07:08:09 +0100' "
       "-m 'Second\n\n* list'\n"
       "git rm -q g; sed -i s/TWO/Two/ f; git add -A; git commit -q -m Third");
    pack_one(0, "main..fix~2", "S1", NULL);
    pack_one(1, "fix~2..fix~1", "S2", "S1");
    pack_one(2, "fix~1..fix", "S3", "S2");
}

static void begin(void) {
    landing_begin();
    make_stack();
}

/* Lands packed[at]; `landed` are the sets below it that have landed. */
static struct outcome land_packed(size_t at, bool landed) {
    const struct set set = {.id = packed[at].id};
    struct attempt attempt = {.set = &set, .tarball = packed[at].path};
    for (size_t i = 0; i < at; i++) {
        attempt.bases[i].id = packed[at - 1 - i].id;
        attempt.bases[i].tarball = packed[at - 1 - i].path;
        attempt.bases[i].landed = landed;
    }
    return land(&attempt);
}

static void land_all(void) {
    for (size_t i = 0; i < SETS; i++) {
        struct outcome outcome = land_packed(i, true);
        assert_landed(&outcome);
    }
}

static void a_stack_lands_as_the_same_commits(void **state) {
    (void)state;
    begin();
    land_all();
    const char *format = "%T%n%an <%ae>%n%ad%n%B";
    assert_string_equal(
        sh("git -C target.git log --date=raw --format='%s' main~3..main |\n"
           "sed '/^CS-/d' | grep .",
           format),
        sh("git -C clone log --date=raw --format='%s' main..fix | grep .",
           format));
    assert_string_equal(commits(), "4");
    assert_string_equal(
        sh("git -C target.git log --format='%%(trailers:key=CS-Id,valueonly)' "
           "main~3..main | grep ."),
        "S3\nS2\nS1");
}

static void a_set_lands_on_a_set_that_was_merged(void **state) {
    (void)state;
    begin();
    sh("cd clone; git checkout -q main; sed -i s/6/six/ f; echo o >other\n"
       "git add -A; git commit -q -m on; git push -q origin main");
    land_all();
    assert_string_equal(content("f"), "1\nTwo\n3\n4\n5\nsix\n7");
    assert_string_equal(content("new"), "1\n2");
    assert_string_equal(sh("git -C target.git ls-tree --name-only main"),
                        "f\nnew\nother");
}

static void land_alone(const char *id, const char *text) {
    CLEANUP(text_clear) struct text sections = TEXT_INIT;
    text_addf(&sections, "##base\n%s\n",
              sh("git -C target.git rev-parse main"));
    const struct set set = {
        .id = id, .sections = text_string(&sections), .files = {{"f", text}}};
    struct outcome outcome = land(&(struct attempt){.set = &set});
    assert_landed(&outcome);
}

static const char *shared(void) {
    return sh("git -C target.git log -1 --format="
              "'%%(trailers:key=CS-Contains,valueonly)' main | grep . || :");
}

/* What the sets below it did is part of its base, as is what landed before. */
static void a_set_shares_what_others_did_since_the_stack_began(void **state) {
    (void)state;
    landing_begin();
    land_alone("C0", "1\n2\n3\n4\n5\n6\nseven\n");
    sh("cd clone; git checkout -q main; git pull -q");
    make_stack();
    land_alone("C1", "1\nTWO\n3\n4\n5\n6\nseven\n");
    land_alone("C2", "1\n2\n3\n4\n5\n6\nseven\n");
    struct outcome outcome = land_packed(0, true);
    assert_landed(&outcome);
    land_alone("C3", "1\nTWO\n3\n4\n5\n6\nseven\n");
    outcome = land_packed(1, true);
    assert_landed(&outcome);
    assert_string_equal(shared(), "C3 f\nC2 f\nC1 f");
    assert_string_equal(content("f"), "1\nTWO\n3\n4\n5\n6\nseven");
}

static void the_base_is_rebuilt_after_a_gc(void **state) {
    (void)state;
    begin();
    sh("cd clone; git checkout -q main; sed -i s/6/six/ f; git add -A\n"
       "git commit -q -m on; git push -q origin main");
    for (size_t i = 0; i < SETS; i++) {
        struct outcome outcome = land_packed(i, true);
        assert_landed(&outcome);
        sh("git -C target.git gc -q --prune=now");
    }
    assert_string_equal(content("f"), "1\nTwo\n3\n4\n5\nsix\n7");
}

static void a_set_that_did_not_land_can_be_a_base(void **state) {
    (void)state;
    begin();
    /* Another set took the place of S1. */
    sh("cd clone; git checkout -q main; git merge -q --squash fix~2\n"
       "git commit -q -m instead; git push -q origin main");
    for (size_t i = 1; i < SETS; i++) {
        struct outcome outcome = land_packed(i, false);
        assert_landed(&outcome);
    }
    assert_string_equal(sh("git -C target.git rev-parse 'main^{tree}'"),
                        sh("git -C clone rev-parse 'fix^{tree}'"));
}

static void a_base_set_is_found_in_the_archive(void **state) {
    (void)state;
    begin();
    struct outcome outcome = land_packed(0, true);
    assert_landed(&outcome);
    sh("mkdir -p archive; cp '%s' archive/S1.tar", packed[0].path);
    const struct set set = {.id = "S2"};
    struct attempt attempt = {.set = &set, .tarball = packed[1].path};
    attempt.bases[0].id = "S1";
    attempt.bases[0].tarball = in_dir("packs/gone");
    attempt.bases[0].landed = true;
    attempt.bases[0].archived = in_dir("archive/S1.tar");
    outcome = land(&attempt);
    assert_landed(&outcome);
    assert_string_equal(content("new"), "1\n2");
}

static void a_conflict_in_a_stack_names_path_and_set(void **state) {
    (void)state;
    begin();
    struct outcome outcome = land_packed(0, true);
    assert_landed(&outcome);
    const struct set other = {.id = "X1", .files = {{"new", "other\n"}}};
    outcome = land(&(struct attempt){.set = &other});
    assert_landed(&outcome);
    const char *before = tip();
    outcome = land_packed(1, true);
    assert_line(&outcome, "conflict new (new was changed by X1)");
    assert_unmoved(&outcome, before);
}

static void a_wrong_base_tree_is_refused(void **state) {
    (void)state;
    begin();
    struct outcome outcome = land_packed(0, true);
    assert_landed(&outcome);
    const char *before = tip();
    char sections[512];
    /* A tree that exists in the repository, but S1 does not make it. */
    snprintf(sections, sizeof sections,
             "##dependencies\nS1\n##base-set\nS1\n##base-tree\n%s\n",
             sh("git -C target.git rev-parse 'main~1^{tree}'"));
    const struct set set = {
        .id = "E1", .sections = sections, .files = {{"f", "evil\n"}}};
    struct attempt attempt = {.set = &set,
                              .bases = {{"S1", packed[0].path, true}}};
    outcome = land(&attempt);
    assert_starts(&outcome, "failed policy its ##base-tree ");
    assert_unmoved(&outcome, before);
    /* The tree is verified also if the base is on the branch. */
    snprintf(sections, sizeof sections,
             "##base\n%s\n##dependencies\nS1\n##base-set\nS1\n##base-tree\n"
             "0123456789012345678901234567890123456789\n",
             before);
    outcome = land(&attempt);
    assert_starts(&outcome, "failed policy its ##base-tree 012345678901 is not "
                            "the tree of its ##base (");
    assert_unmoved(&outcome, before);
}

static void a_base_set_that_is_not_known_is_refused(void **state) {
    (void)state;
    begin();
    struct outcome outcome = land_packed(0, true);
    assert_landed(&outcome);
    const char *before = tip();
    const struct set set = {.id = "S2"};
    outcome = land(&(struct attempt){.set = &set, .tarball = packed[1].path});
    assert_line(&outcome, "failed policy its base set 'S1' is not known here");
    assert_unmoved(&outcome, before);
    /* A list that continues with another set. */
    outcome = land(&(struct attempt){.set = &set,
                                     .tarball = packed[1].path,
                                     .bases = {{"S3", packed[2].path, true}}});
    assert_line(&outcome, "failed policy its base set 'S1' is not known here");
    assert_unmoved(&outcome, before);
}

static void a_base_set_without_a_base_is_refused(void **state) {
    (void)state;
    begin();
    const char *before = tip();
    const struct set blind = {.id = "B1", .files = {{"n", "n\n"}}};
    set_write(&blind);
    char sections[512];
    snprintf(sections, sizeof sections,
             "##dependencies\nB1\n##base-set\nB1\n##base-tree\n%s\n",
             sh("git -C target.git rev-parse 'main^{tree}'"));
    const struct set set = {
        .id = "E1", .sections = sections, .files = {{"f", "evil\n"}}};
    struct outcome outcome = land(&(struct attempt){
        .set = &set, .bases = {{"B1", in_dir("sets/B1"), true}}});
    assert_starts(&outcome, "failed policy the base of its base set 'B1' is "
                            "not on branch main");
    assert_unmoved(&outcome, before);
}

static void
a_base_that_was_rewritten_is_a_conflict_in_a_stack_too(void **state) {
    (void)state;
    begin();
    sh("cd clone; git push -q -f origin fix~2:main");
    const char *seen = tip();
    sh("cd clone; git push -q -f origin main:main");
    const char *before = tip();
    const struct set set = {.id = "S2"};
    struct outcome outcome =
        land(&(struct attempt){.set = &set,
                               .tarball = packed[1].path,
                               .seen = seen,
                               .bases = {{"S1", packed[0].path, true}}});
    assert_starts(&outcome, "conflict branch main was rewritten");
    assert_unmoved(&outcome, before);
}

static int clear(void **state) {
    (void)state;
    for (size_t i = 0; i < SETS; i++)
        pack_result_clear(&packed[i]);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_stack_lands_as_the_same_commits),
        cmocka_unit_test(a_set_lands_on_a_set_that_was_merged),
        cmocka_unit_test(a_set_shares_what_others_did_since_the_stack_began),
        cmocka_unit_test(the_base_is_rebuilt_after_a_gc),
        cmocka_unit_test(a_set_that_did_not_land_can_be_a_base),
        cmocka_unit_test(a_base_set_is_found_in_the_archive),
        cmocka_unit_test(a_conflict_in_a_stack_names_path_and_set),
        cmocka_unit_test(a_wrong_base_tree_is_refused),
        cmocka_unit_test(a_base_set_that_is_not_known_is_refused),
        cmocka_unit_test(a_base_set_without_a_base_is_refused),
        cmocka_unit_test(
            a_base_that_was_rewritten_is_a_conflict_in_a_stack_too),
    };
    return cmocka_run_group_tests(tests, NULL, clear);
}
