/* Packs change sets from a range or a directory, and lands them. */
#include "support/landing.h"

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include "landing/pack.h"
#include "wire/set_name.h"

static const char *in_dir(const char *name) {
    static char rooms[4][512];
    static unsigned next;
    char *room = rooms[next++ % COUNT(rooms)];
    snprintf(room, 512, "%s/%s", test_dir(), name);
    return room;
}

/* Creates the branch `fix` in the clone; `script` makes its commits. */
static void begin(const char *script) {
    landing_begin();
    sh("rm -rf packs; mkdir packs; cd clone; git checkout -q -b fix\n%s",
       script);
}

static struct pack_result pack_set(struct pack_options options) {
    struct pack_result result;
    struct err err = {0};
    if (options.repo == NULL)
        options.repo = in_dir("clone");
    if (options.target == NULL)
        options.target = "main";
    if (options.output == NULL)
        options.output = in_dir("packs");
    if (!pack_write(&options, &result, &err))
        fail_msg("%s", err.text);
    return result;
}

static void assert_refused(struct pack_options options, const char *words) {
    struct pack_result result;
    struct err err = {0};
    if (options.repo == NULL)
        options.repo = in_dir("clone");
    if (options.target == NULL)
        options.target = "main";
    options.output = in_dir("packs");
    assert_false(pack_write(&options, &result, &err));
    if (strstr(err.text, words) == NULL)
        fail_msg("error '%s', expected '%s'", err.text, words);
    assert_null(result.path);
    assert_string_equal(sh("ls -A packs"), "");
}

static struct outcome land_packed(const struct pack_result *result) {
    const struct set set = {.id = result->id};
    return land(&(struct attempt){
        .set = &set, .tarball = result->path, .symlinks = "allow"});
}

static const char *meta_of(const struct pack_result *result) {
    return sh("tar xOf '%s' meta", result->path);
}

static const char several[] =
    "sed -i s/2/two/ f; git rm -q g; mkdir -p d/e\n"
    "printf '#!/bin/sh\\n' >d/e/run; chmod +x d/e/run; ln -s d/e/run link\n"
    "printf 'odd' >'sp ace\\303\\244'; git add -A\n"
    "git commit -q --author='Zoë <zoe@example.org>' "
    "--date='2021-05-06T07:08:09 -0930' -m 'Fix \"it\"\n\nAt last.\n\n"
    "Signed-off-by: Z <z@e>'";

static void a_range_lands_with_the_same_tree_as_in_git(void **state) {
    (void)state;
    begin(several);
    struct pack_result result =
        pack_set((struct pack_options){.source = "main..fix"});
    assert_int_equal(result.files, 4);
    assert_int_equal(result.deleted, 1);
    struct outcome outcome = land_packed(&result);
    assert_landed(&outcome);
    assert_string_equal(sh("git -C target.git rev-parse 'main^{tree}'"),
                        sh("git -C clone rev-parse 'fix^{tree}'"));
    const char *format = "%an|%ae|%ad|%s";
    assert_string_equal(
        sh("git -C target.git log -1 --date=raw --format='%s' main", format),
        sh("git -C clone log -1 --date=raw --format='%s' fix", format));
    assert_string_equal(
        sh("git -C target.git log -1 --format=%%B main | sed '/^CS-/d'"),
        sh("git -C clone log -1 --format=%%B fix"));
    pack_result_clear(&result);
}

static void the_base_is_the_fork_point_of_the_branch(void **state) {
    (void)state;
    begin(several);
    /* main has moved; the set must not revert that change. */
    sh("cd clone; git checkout -q main; sed -i s/6/six/ f; echo n >n\n"
       "git add -A; git commit -q -m on; git push -q origin main");
    struct pack_result result =
        pack_set((struct pack_options){.source = "main..fix"});
    assert_non_null(
        strstr(meta_of(&result), sh("git -C clone rev-parse main~1")));
    struct outcome outcome = land_packed(&result);
    assert_landed(&outcome);
    assert_string_equal(content("f"), "1\ntwo\n3\n4\n5\nsix\n7");
    assert_string_equal(content("n"), "n");
    pack_result_clear(&result);
}

static void several_commits_become_one_with_all_messages(void **state) {
    (void)state;
    begin("echo 1 >a; git add a\n"
          "git commit -q -m 'First one\n\nFor a reason:\n  indented'\n"
          "echo 2 >b; git add b; git commit -q -m 'Second one'\n"
          "echo 3 >b; git add b; git commit -q -m 'Third one\n\nAlso.'");
    struct pack_result result =
        pack_set((struct pack_options){.source = "main..fix"});
    struct outcome outcome = land_packed(&result);
    assert_landed(&outcome);
    assert_string_equal(
        sh("git -C target.git log -1 --format=%%B main | sed '/^CS-/d'"),
        "Third one\n\nAlso.\n\n* First one\n\n  For a reason:\n    indented\n\n"
        "* Second one");
    pack_result_clear(&result);
}

static void a_packed_set_has_a_valid_name(void **state) {
    (void)state;
    begin("echo 1 >a; git add a; git commit -q -m a");
    static const char *const depends[] = {"C1", "C2"};
    struct pack_result result =
        pack_set((struct pack_options){.source = "main..fix",
                                          .class = "EM.200",
                                          .id = "Fix-7",
                                          .depends = depends,
                                          .depends_count = 2,
                                          .supersedes = "Fix-6",
                                          .message = "Mine\n\nand more"});
    struct set_name name;
    struct refusal why;
    assert_true(set_name_parse(span_of(result.name), &name, &why));
    assert_true(span_is(name.csid, "Fix-7"));
    assert_int_equal(name.class, SET_EM);
    assert_int_equal(name.sub_priority, 200);
    assert_string_equal(result.path, in_dir(sh("echo packs/%s", result.name)));
    const char *meta = meta_of(&result);
    assert_non_null(strstr(meta, "##movetype\nEM\n"));
    assert_non_null(strstr(meta, "##dependencies\nC1\nC2\n"));
    assert_non_null(strstr(meta, "##supersedes\nFix-6\n"));
    assert_non_null(strstr(meta, "##message\nMine\n\nand more"));
    pack_result_clear(&result);
}

static void generated_ids_differ(void **state) {
    (void)state;
    begin("echo 1 >a; git add a; git commit -q -m a");
    struct pack_result one =
        pack_set((struct pack_options){.source = "main..fix"});
    struct pack_result two =
        pack_set((struct pack_options){.source = "main.."});
    assert_string_not_equal(one.id, two.id);
    assert_string_not_equal(one.path, two.path);
    pack_result_clear(&one);
    pack_result_clear(&two);
}

static void a_directory_is_packed_without_git(void **state) {
    (void)state;
    begin("true");
    sh("rm -rf dir; mkdir -p dir/.git dir/sub/deep; echo x >dir/.git/config\n"
       "echo new >dir/f; echo y >dir/sub/deep/y; chmod +x dir/sub/deep/y\n"
       "ln -s f dir/l; chmod 600 dir/f");
    struct pack_result result = pack_set((struct pack_options){
        .source = in_dir("dir"), .id = "D1", .output = in_dir("packs/d.tar")});
    assert_string_equal(result.path, in_dir("packs/d.tar"));
    assert_string_equal(sh("tar tf packs/d.tar"),
                        "meta\nlroot/f\nlroot/l\nlroot/sub/deep/y");
    assert_null(strstr(meta_of(&result), "##base"));
    struct outcome outcome = land_packed(&result);
    assert_landed(&outcome);
    assert_string_equal(
        sh("git -C target.git ls-tree -r main | sed 's/ .*\\t/ /'"),
        "100644 f\n100644 g\n120000 l\n100755 sub/deep/y");
    pack_result_clear(&result);
}

static void a_directory_can_have_a_base_and_deletions(void **state) {
    (void)state;
    begin("true");
    sh("rm -rf dir; mkdir dir; echo new >dir/n");
    static const char *const deletes[] = {"g"};
    struct pack_result result = pack_set(
        (struct pack_options){.source = in_dir("dir"),
                              .base_rev = "main",
                              .deletes = deletes,
                              .deletes_count = 1,
                              .author = "Ann Other <other@example.org>"});
    assert_non_null(strstr(meta_of(&result),
                           sh("echo '##base'; git -C clone rev-parse main")));
    struct outcome outcome = land_packed(&result);
    assert_landed(&outcome);
    assert_string_equal(sh("git -C target.git ls-tree --name-only main"),
                        "f\nn");
    assert_string_equal(sh("git -C target.git log -1 --format='%%an' main"),
                        "Ann Other");
    pack_result_clear(&result);
}

static void the_same_content_is_found_from_a_subdirectory(void **state) {
    (void)state;
    begin("mkdir -p x/y; echo 1 >x/y/a; git add x; git commit -q -m a");
    struct pack_result result = pack_set((struct pack_options){
        .source = "main..fix", .repo = in_dir("clone/x/y")});
    assert_int_equal(result.files, 1);
    pack_result_clear(&result);
}

static void many_files_land_as_one_pack(void **state) {
    (void)state;
    begin("true");
    sh("rm -rf dir; mkdir dir; cd dir\n"
       "for d in 1 2 3 4 5 6 7 8 9; do mkdir $d; for f in 1 2 3 4 5 6 7 8 9 10 "
       "11 12 13 14 15 16 17 18 19 20; do echo $d $f >$d/$f; done; done");
    struct pack_result result =
        pack_set((struct pack_options){.source = in_dir("dir")});
    assert_int_equal(result.files, 180);
    struct outcome outcome = land_packed(&result);
    assert_landed(&outcome);
    assert_string_equal(content("7/20"), "7 20");
    assert_string_equal(
        sh("git -C target.git ls-tree -r --name-only main | wc -l"), "182");
    pack_result_clear(&result);
}

static void a_source_that_cannot_be_packed_is_an_error(void **state) {
    (void)state;
    begin("echo 1 >a; git add a; git commit -q -m a");
    assert_refused((struct pack_options){.source = "main..main"},
                   "nothing to pack");
    assert_refused((struct pack_options){.source = "main..nowhere"},
                   "no commit 'nowhere'");
    assert_refused((struct pack_options){.source = "-x..fix"},
                   "no commit '-x'");
    assert_refused((struct pack_options){.source = "main...fix"}, "is not a range");
    assert_refused((struct pack_options){.source = "fix"},
                   "neither a directory nor a range");
    assert_refused((struct pack_options){.source = "main..fix", .repo = "/"},
                   "is not in a git repository");
    assert_refused((struct pack_options){.source = "main..fix", .class = "ZZ"},
                   "'ZZ' is not a class");
    assert_refused((struct pack_options){.source = "main..fix", .id = "a_b"},
                   "'a_b' is not a valid id");
    assert_refused(
        (struct pack_options){.source = "main..fix", .target = "a..b"},
        "cannot be a change set");
    sh("rm -rf dir; mkdir dir; mkfifo dir/pipe");
    assert_refused((struct pack_options){.source = in_dir("dir")},
                   "is not a file, directory or link");
}

static void a_submodule_is_refused(void **state) {
    (void)state;
    begin("git -c protocol.file.allow=always submodule add -q "
          "\"$PWD/../target.git\" sub >/dev/null 2>&1\n"
          "git commit -q -m sub");
    assert_refused((struct pack_options){.source = "main..fix"},
                   "'sub' is a submodule");
}

static void a_path_that_meta_cannot_list_is_refused(void **state) {
    (void)state;
    begin("echo 1 >'tail '; git add .; git commit -q -m tail");
    assert_refused((struct pack_options){.source = "main..fix"},
                   "ends in white space");
}

static void an_existing_file_is_replaced(void **state) {
    (void)state;
    begin("echo 1 >a; git add a; git commit -q -m a");
    sh("echo old >packs/p");
    struct pack_result result = pack_set((struct pack_options){
        .source = "main..fix", .output = in_dir("packs/p")});
    assert_string_equal(sh("ls packs"), "p");
    assert_string_equal(sh("tar tf packs/p"), "meta\nlroot/a");
    pack_result_clear(&result);
    struct err err = {0};
    struct pack_options options = {.source = "main..fix",
                                   .repo = in_dir("clone"),
                                   .target = "main",
                                   .output = in_dir("no/such/file")};
    assert_false(pack_write(&options, &result, &err));
    assert_non_null(strstr(err.text, "cannot pack: cannot write"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_range_lands_with_the_same_tree_as_in_git),
        cmocka_unit_test(the_base_is_the_fork_point_of_the_branch),
        cmocka_unit_test(several_commits_become_one_with_all_messages),
        cmocka_unit_test(a_packed_set_has_a_valid_name),
        cmocka_unit_test(generated_ids_differ),
        cmocka_unit_test(a_directory_is_packed_without_git),
        cmocka_unit_test(a_directory_can_have_a_base_and_deletions),
        cmocka_unit_test(the_same_content_is_found_from_a_subdirectory),
        cmocka_unit_test(many_files_land_as_one_pack),
        cmocka_unit_test(a_source_that_cannot_be_packed_is_an_error),
        cmocka_unit_test(a_submodule_is_refused),
        cmocka_unit_test(a_path_that_meta_cannot_list_is_refused),
        cmocka_unit_test(an_existing_file_is_replaced),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
