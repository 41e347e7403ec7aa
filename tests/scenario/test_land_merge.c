/* Sets that land on a branch that has moved: a set with a base is merged;
 * without a base, the configuration of the target decides. */
#include "support/landing.h"

#include "lib/time.h"
#include "os/clock.h"

/* Runs `script` in a clone and pushes the changes to main. */
static void push(const char *script) {
    sh("cd clone; git pull -q origin main 2>/dev/null\n%s\n"
       "git add -A; git commit -q -m push; git push -q origin main",
       script);
}

static void a_set_based_on_an_older_commit_is_merged(void **state) {
    (void)state;
    landing_begin();
    char sections[128];
    snprintf(sections, sizeof sections, "##base\n%s\n", tip());
    push("sed -i s/1/one/ f");
    const struct set set = {
        .id = "C1",
        .sections = sections,
        .files = {{"f", "1\n2\n3\n4\n5\n6\nseven\n"}, {"n", "n\n"}}};
    struct outcome outcome = land(&(struct attempt){.set = &set});
    assert_landed(&outcome);
    assert_string_equal(content("f"), "one\n2\n3\n4\n5\n6\nseven");
    assert_string_equal(content("n"), "n");
    assert_string_equal(sh("git -C target.git log -1 --format=%%P main"),
                        sh("git -C target.git rev-parse main~1"));
}

static void a_base_that_is_the_tip_needs_no_merge(void **state) {
    (void)state;
    landing_begin();
    char sections[128];
    snprintf(sections, sizeof sections, "##base\n%s\n", tip());
    const struct set set = {.id = "C1",
                            .sections = sections,
                            .deleted = {"g"},
                            .files = {{"f", "1\n"}}};
    struct outcome outcome =
        land(&(struct attempt){.set = &set, .blind = "deny"});
    assert_landed(&outcome);
    assert_string_equal(content("f"), "1");
}

static void a_real_conflict_names_path_and_set(void **state) {
    (void)state;
    landing_begin();
    char sections[128];
    snprintf(sections, sizeof sections, "##base\n%s\n", tip());
    const struct set first = {.id = "C1", .files = {{"f", "other\n"}}};
    struct outcome outcome = land(&(struct attempt){.set = &first});
    assert_landed(&outcome);
    const char *before = tip();
    const struct set second = {
        .id = "C2",
        .sections = sections,
        .files = {{"f", "1\n2\n3\n4\n5\n6\n8\n"}, {"n", "n\n"}}};
    outcome = land(&(struct attempt){.set = &second});
    assert_line(&outcome, "conflict f (f was changed by C1)");
    assert_int_equal(outcome.exit_code, 101);
    assert_unmoved(&outcome, before);
}

static const struct set_file change_of_f[] = {
    {"f", "1\n2\n3\n4\n5\n6\nseven\n", 0, NULL}, {0}};

/* A set that changes f, based on the commit that `rev` names. */
static struct set based_on(const char *rev, char room[128]) {
    snprintf(room, 128, "##base\n%s\n",
             sh("git -C target.git rev-parse '%s'", rev));
    struct set set = {.id = "C1", .sections = room};
    memcpy(set.files, change_of_f, sizeof change_of_f);
    return set;
}

static void a_base_on_another_branch_is_refused(void **state) {
    (void)state;
    char room[128];
    landing_begin();
    /* A side branch that anybody may push. */
    sh("cd clone; git checkout -q -b side; echo side >s; git add s\n"
       "git commit -q -m side; git push -q origin side; git checkout -q main");
    const struct set set = based_on("side", room);
    const char *before = tip();
    /* Also if main has not moved since the side branch began. */
    struct outcome outcome =
        land(&(struct attempt){.set = &set, .seen = before});
    assert_starts(&outcome, "failed policy its ##base commit is not on branch "
                            "main (");
    assert_unmoved(&outcome, before);
    push("sed -i s/1/one/ f");
    before = tip();
    outcome = land(&(struct attempt){.set = &set});
    assert_starts(&outcome, "failed policy its ##base commit is not on branch "
                            "main (");
    assert_unmoved(&outcome, before);
}

static void a_base_that_was_merged_is_on_the_branch(void **state) {
    (void)state;
    char room[128];
    landing_begin();
    sh("cd clone; git checkout -q -b side; echo side >s; git add s\n"
       "git commit -q -m side; git push -q origin side; git checkout -q main");
    const struct set set = based_on("side", room);
    push("git merge -q --no-ff -m merge side; echo m >m");
    struct outcome outcome = land(&(struct attempt){.set = &set});
    assert_landed(&outcome);
    assert_string_equal(content("f"), "1\n2\n3\n4\n5\n6\nseven");
}

static void a_base_that_a_rewrite_removed_is_a_conflict(void **state) {
    (void)state;
    char room[128], words[256];
    landing_begin();
    push("echo old >o");
    const struct set set = based_on("main", room);
    char seen[65];
    snprintf(seen, sizeof seen, "%s", tip());
    sh("cd clone; git commit -q --amend -m new; git push -q -f origin main");
    const char *before = tip();
    snprintf(words, sizeof words,
             "conflict branch main was rewritten after the set was admitted: "
             "it was at %.12s then, and the ##base of the set, %.12s, is no "
             "longer on it",
             seen, seen);
    struct outcome outcome = land(&(struct attempt){.set = &set, .seen = seen});
    assert_starts(&outcome, words);
    assert_int_equal(outcome.exit_code, 101);
    assert_unmoved(&outcome, before);
    /* The same when git has removed the commits. */
    sh("git -C target.git reflog expire --expire=now --all\n"
       "git -C target.git gc -q --prune=now");
    outcome = land(&(struct attempt){.set = &set, .seen = seen});
    assert_starts(&outcome, words);
    assert_unmoved(&outcome, before);
}

static void an_unknown_base_is_refused(void **state) {
    (void)state;
    landing_begin();
    const char *before = tip();
    const struct set set = {
        .id = "C1",
        .sections = "##base\n0123456789012345678901234567890123456789\n",
        .files = {{"f", "1\n"}}};
    struct outcome outcome = land(&(struct attempt){.set = &set});
    assert_starts(&outcome, "failed policy its ##base commit is not");
    assert_unmoved(&outcome, before);
}

static void a_base_that_is_not_a_commit_is_refused(void **state) {
    (void)state;
    landing_begin();
    const char *before = tip();
    char sections[128];
    snprintf(sections, sizeof sections, "##base\n%s\n",
             sh("git -C target.git rev-parse main^{tree}"));
    const struct set set = {
        .id = "C1", .sections = sections, .files = {{"f", "1\n"}}};
    struct outcome outcome = land(&(struct attempt){.set = &set});
    assert_starts(&outcome, "failed policy its ##base commit is not");
    assert_unmoved(&outcome, before);
}

static void a_deleted_path_must_be_in_the_base_commit(void **state) {
    (void)state;
    landing_begin();
    const char *before = tip();
    char sections[128];
    snprintf(sections, sizeof sections, "##base\n%s\n", before);
    const struct set set = {
        .id = "C1", .sections = sections, .deleted = {"gone"}};
    struct outcome outcome =
        land(&(struct attempt){.set = &set, .blind = "allow"});
    assert_starts(&outcome, "conflict gone (gone is to be deleted");
    assert_unmoved(&outcome, before);
}

/* ---- the merge of each path ---------------------------------------------- */

/* Lands a set that is based on the current tip of main, after `script` has
 * changed main. */
static struct outcome land_after(struct set set, const char *script) {
    char sections[128];
    snprintf(sections, sizeof sections, "##base\n%s\n", tip());
    set.sections = sections;
    push(script);
    return land(&(struct attempt){.set = &set, .symlinks = "allow"});
}

static void assert_conflict(const struct outcome *outcome, const char *start) {
    assert_starts(outcome, start);
    assert_int_equal(outcome->exit_code, 101);
    assert_string_equal(sh("git -C target.git log -1 --format=%%s main"),
                        "push");
    assert_unmoved(outcome, tip());
}

/* The files changed by the newest commit on main. */
static const char *changed(void) {
    return sh("git -C target.git diff-tree -r --no-renames --name-only "
              "--no-commit-id main | tr '\\n' ' '");
}

static const char *mode_of(const char *path) {
    return sh("git -C target.git ls-tree main '%s' | cut -c1-6", path);
}

static const struct set edits_f = {
    .id = "C1", .files = {{"f", "1\n2\n3\n4\n5\n6\nseven\n"}}};

static void a_rename_on_the_branch_is_not_followed(void **state) {
    (void)state;
    landing_begin();
    struct outcome outcome = land_after(edits_f, "mkdir sec; git mv f sec/f");
    assert_conflict(&outcome, "conflict f (f was deleted by commit ");
    assert_string_equal(content("sec/f"), "1\n2\n3\n4\n5\n6\n7");
}

static void a_new_file_does_not_follow_a_renamed_directory(void **state) {
    (void)state;
    landing_begin();
    push("mkdir d; for i in a b c; do echo $i >d/$i; done");
    const struct set set = {.id = "C1", .files = {{"d/n", "n\n"}}};
    struct outcome outcome = land_after(set, "git mv d sec");
    assert_landed(&outcome);
    assert_string_equal(changed(), "d/n ");
}

static void a_rename_by_a_set_does_not_follow_changes(void **state) {
    (void)state;
    landing_begin();
    const struct set set = {.id = "C1",
                            .deleted = {"f"},
                            .files = {{"moved", "1\n2\n3\n4\n5\n6\n7\n"}}};
    struct outcome outcome = land_after(set, "sed -i s/1/one/ f");
    assert_conflict(&outcome, "conflict f (f was changed by commit ");
}

static void modes_and_contents_are_merged_separately(void **state) {
    (void)state;
    landing_begin();
    struct outcome outcome = land_after(edits_f, "chmod +x f");
    assert_landed(&outcome);
    assert_string_equal(mode_of("f"), "100755");
    assert_string_equal(content("f"), "1\n2\n3\n4\n5\n6\nseven");
    const struct set set = {.id = "C2", .files = {{"g", "g\n", .mode = 0755}}};
    outcome = land_after(set, "echo G >g");
    assert_landed(&outcome);
    assert_string_equal(mode_of("g"), "100755");
    assert_string_equal(content("g"), "G");
    assert_string_equal(changed(), "g ");
}

static void a_changed_type_is_a_conflict(void **state) {
    (void)state;
    landing_begin();
    struct outcome outcome = land_after(edits_f, "ln -sf g f");
    assert_conflict(&outcome, "conflict f (f was changed by commit ");

    landing_begin();
    outcome = land_after(edits_f, "rm f; mkdir f; echo x >f/x");
    assert_conflict(&outcome,
                    "conflict f (f has become a directory by commit ");

    landing_begin();
    const struct set link = {.id = "C1", .files = {{"f", .link = "g"}}};
    outcome = land_after(link, "sed -i s/1/one/ f");
    assert_conflict(&outcome, "conflict f (f was changed by commit ");

    landing_begin();
    const struct set directory = {
        .id = "C1", .deleted = {"f"}, .files = {{"f/x", "x\n"}}};
    outcome = land_after(directory, "sed -i s/1/one/ f");
    assert_conflict(&outcome, "conflict f (f was changed by commit ");
}

static void a_type_that_only_the_set_changes_lands(void **state) {
    (void)state;
    landing_begin();
    const struct set set = {.id = "C1",
                            .deleted = {"f"},
                            .files = {{"f/x", "x\n"}, {"g", .link = "f/x"}}};
    struct outcome outcome = land_after(set, "echo n >n");
    assert_landed(&outcome);
    assert_string_equal(content("f/x"), "x");
    assert_string_equal(mode_of("g"), "120000");
    const struct set back = {
        .id = "C2", .deleted = {"f/x"}, .files = {{"f", "f\n"}}};
    outcome = land_after(back, "echo m >n");
    assert_landed(&outcome);
    assert_string_equal(mode_of("f"), "100644");
    assert_string_equal(changed(), "f f/x ");
}

static void a_directory_with_a_new_file_in_it_is_not_replaced(void **state) {
    (void)state;
    landing_begin();
    push("mkdir d; echo x >d/x");
    const struct set set = {
        .id = "C1", .deleted = {"d/x"}, .files = {{"d", "d\n"}}};
    struct outcome outcome = land_after(set, "echo y >d/y");
    assert_conflict(&outcome, "conflict d (d is a directory)");
}

static void a_file_below_a_new_file_is_a_conflict(void **state) {
    (void)state;
    landing_begin();
    const struct set set = {.id = "C1", .files = {{"n/x", "x\n"}}};
    struct outcome outcome = land_after(set, "echo n >n");
    assert_conflict(&outcome, "conflict n/x (n/x is below a file)");
}

static void a_file_added_by_both_must_be_identical(void **state) {
    (void)state;
    landing_begin();
    const struct set set = {.id = "C1", .files = {{"n", "1\n2\n3\n"}}};
    struct outcome outcome = land_after(set, "printf '1\\n2\\n4\\n' >n");
    assert_conflict(&outcome, "conflict n (n was added by commit ");

    landing_begin();
    outcome = land_after(set, "printf '1\\n2\\n3\\n' >n");
    assert_line(&outcome, sh("echo done %s C1~%s", tip(), tip()));
    assert_says(&outcome, "already contains all of it");
    assert_string_equal(changed(), "");
}

static void deleting_a_changed_file_is_a_conflict(void **state) {
    (void)state;
    landing_begin();
    struct outcome outcome = land_after(edits_f, "rm f");
    assert_conflict(&outcome, "conflict f (f was deleted by commit ");

    landing_begin();
    const struct set deletes = {.id = "C1", .deleted = {"f"}};
    outcome = land_after(deletes, "sed -i s/1/one/ f");
    assert_conflict(&outcome, "conflict f (f was changed by commit ");

    landing_begin();
    const struct set both = {
        .id = "C1", .deleted = {"f"}, .files = {{"n", "n\n"}}};
    outcome = land_after(both, "rm f");
    assert_landed(&outcome);
    assert_string_equal(changed(), "n ");
}

static void binary_files_are_not_merged(void **state) {
    (void)state;
    landing_begin();
    push("printf '1\\n\\0\\n3\\n4\\n5\\n6\\n7\\n' >b");
    const struct set set = {.id = "C1", .files = {{"b", "text\n"}}};
    struct outcome outcome =
        land_after(set, "printf '1\\n\\0\\n3\\n4\\n5\\n6\\n8\\n' >b");
    assert_conflict(&outcome, "conflict b (b is binary and was changed by ");

    const struct set again = {.id = "C2", .files = {{"b", "text\n"}}};
    outcome = land_after(again, "echo n >n");
    assert_landed(&outcome);
    assert_string_equal(content("b"), "text");
}

/* Makes each git that a landing starts write its arguments to the file `gits`.
 */
static void log_gits(void) {
    sh("rm -rf bin gits; mkdir bin; git=$(command -v git)\n"
       "printf '#!/bin/sh\\necho \"$*\" >>%s/gits\\nexec %%s \"$@\"\\n' "
       "\"$git\" >bin/git; chmod +x bin/git",
       test_dir());
}

static void only_changes_that_interleave_are_merged_by_git(void **state) {
    (void)state;
    landing_begin();
    push("for i in a b c d; do seq 9 >$i; done");
    char sections[128], path[512];
    snprintf(sections, sizeof sections, "##base\n%s\n", tip());
    const struct set set = {.id = "C1",
                            .sections = sections,
                            .deleted = {"g"},
                            .files = {{"a", "1\n2\n3\n4\n5\n6\n7\n8\nA\n"},
                                      {"b", "1\n2\n3\n4\nB\n6\n7\n8\n9\n"},
                                      {"c", "c\n"},
                                      {"d", "d\n"},
                                      {"n", "n\n"}}};
    push("sed -i s/1/one/ a; sed -i 's/1/one/; s/9/nine/' b; echo d >d; "
         "echo m >m");
    log_gits();
    snprintf(path, sizeof path, "%s/bin", test_dir());
    struct outcome outcome = land(&(struct attempt){.set = &set, .path = path});
    assert_landed(&outcome);
    assert_string_equal(changed(), "a b c g n ");
    assert_string_equal(content("a"), "one\n2\n3\n4\n5\n6\n7\n8\nA");
    assert_string_equal(content("b"), "one\n2\n3\n4\nB\n6\n7\n8\nnine");
    /* Once to merge b, and once to see whether the sides share a change. */
    assert_string_equal(sh("grep -c ' merge-file ' gits"), "2");
    sh("! grep -e ' hash-object ' -e ' fast-import ' gits");
}

/* ---- without a base ----------------------------------------------------- */

static const struct set blind = {.id = "C1", .files = {{"f", "mine\n"}}};

static void a_blind_set_lands_if_its_files_are_unchanged(void **state) {
    (void)state;
    landing_begin();
    int64_t since_ns = clock_wall().ns;
    push("echo other >g");
    struct outcome outcome =
        land(&(struct attempt){.set = &blind, .since_ns = since_ns});
    assert_landed(&outcome);
    assert_string_equal(content("g"), "other");
}

static void a_blind_set_does_not_overwrite_a_push(void **state) {
    (void)state;
    landing_begin();
    int64_t since_ns = clock_wall().ns;
    push("echo other >f");
    const char *before = tip();
    struct outcome outcome =
        land(&(struct attempt){.set = &blind, .since_ns = since_ns});
    assert_starts(&outcome, "conflict f (f was changed by commit ");
    assert_says(&outcome, "by Ann");
    assert_unmoved(&outcome, before);
}

static void a_blind_set_does_not_overwrite_another_set(void **state) {
    (void)state;
    landing_begin();
    int64_t since_ns = clock_wall().ns;
    const struct set other = {.id = "C9", .files = {{"f", "theirs\n"}}};
    struct outcome outcome = land(&(struct attempt){.set = &other});
    assert_landed(&outcome);
    const char *before = tip();
    outcome = land(&(struct attempt){.set = &blind, .since_ns = since_ns});
    assert_line(&outcome, "conflict f (f was changed by C9)");
    assert_unmoved(&outcome, before);
    /* A set made after C9 had landed lands, even in the same second. */
    outcome = land(&(struct attempt){.set = &blind});
    assert_landed(&outcome);
}

static void a_push_with_an_old_date_counts_as_late(void **state) {
    (void)state;
    landing_begin();
    int64_t since_ns = clock_wall().ns;
    push("export GIT_COMMITTER_DATE='2001-01-01T00:00Z'; echo other >f");
    struct outcome outcome =
        land(&(struct attempt){.set = &blind, .since_ns = since_ns});
    assert_starts(&outcome, "conflict f (");
}

static void commits_on_top_of_a_late_commit_are_late(void **state) {
    (void)state;
    landing_begin();
    int64_t since_ns = clock_wall().ns - 10 * NS_PER_S;
    /* All objects are packed, so only the dates show which are new. */
    sh("cd clone; export GIT_COMMITTER_DATE='2001-01-01T00:00Z'\n"
       "git commit -q --amend --reset-author --no-edit\n"
       "unset GIT_COMMITTER_DATE; echo n >n; git add n; git commit -q -m n\n"
       "export GIT_COMMITTER_DATE='2001-01-01T00:00Z'; echo other >f\n"
       "git commit -q -a -m f; git push -q -f origin main\n"
       "cd ../target.git; git repack -q -a -d; git prune-packed");
    struct outcome outcome =
        land(&(struct attempt){.set = &blind, .since_ns = since_ns});
    assert_starts(&outcome, "conflict f (");
}

static void the_reflog_shows_when_an_old_commit_arrived(void **state) {
    (void)state;
    landing_begin();
    const struct set first = {.id = "C0", .files = {{"g", "theirs\n"}}};
    struct outcome outcome = land(&(struct attempt){.set = &first});
    assert_landed(&outcome);
    /* The commit is in the repository, with an old date, but on another
     * branch. */
    sh("cd clone; git pull -q origin main; echo other >f\n"
       "GIT_COMMITTER_DATE='2001-01-01T00:00Z' git commit -q -a -m f\n"
       "git push -q origin main:side; cd ../target.git\n"
       "git repack -q -a -d; git prune-packed");
    int64_t since_ns = clock_wall().ns;
    /* The reflog has a resolution of one second; its time is an hour ahead. */
    sh("cd clone; export GIT_COMMITTER_DATE=\"$(($(date +%%s) + 3600)) +0000\""
       "\ngit push -q origin main");
    const char *before = tip();
    outcome = land(&(struct attempt){.set = &blind, .since_ns = since_ns});
    assert_starts(&outcome, "conflict f (f was changed by commit ");
    assert_unmoved(&outcome, before);
}

static void the_commit_seen_at_admission_decides(void **state) {
    (void)state;
    landing_begin();
    const char *seen = tip();
    push("echo other >f");
    struct outcome outcome =
        land(&(struct attempt){.set = &blind, .seen = seen});
    assert_starts(&outcome, "conflict f (");
    outcome = land(
        &(struct attempt){.set = &blind, .seen = tip(), .since_ns = NS_PER_S});
    assert_landed(&outcome);
    /* But not if the time in the set's name is later than its admission. */
    landing_begin();
    seen = tip();
    push("echo other >f");
    outcome = land(&(struct attempt){
        .set = &blind, .seen = seen, .since_ns = clock_wall().ns + NS_PER_S});
    assert_landed(&outcome);
}

static void an_added_or_deleted_file_is_a_conflict(void **state) {
    (void)state;
    landing_begin();
    int64_t since_ns = clock_wall().ns;
    push("echo new >n; git rm -q g");
    const struct set set = {.id = "C1",
                            .files = {{"g", "mine\n"}, {"n", "mine\n"}}};
    struct outcome outcome =
        land(&(struct attempt){.set = &set, .since_ns = since_ns});
    assert_starts(&outcome, "conflict g n (g was changed by commit ");
}

static void deny_requires_a_base(void **state) {
    (void)state;
    landing_begin();
    const char *before = tip();
    struct outcome outcome =
        land(&(struct attempt){.set = &blind, .blind = "deny"});
    assert_starts(&outcome, "failed policy the target takes only sets with "
                            "##base");
    assert_unmoved(&outcome, before);
    /* If the branch does not exist, nothing can be overwritten. */
    outcome = land(
        &(struct attempt){.set = &blind, .blind = "deny", .branch = "fresh"});
    assert_starts(&outcome, "done ");
}

static void allow_overwrites_and_reports_it(void **state) {
    (void)state;
    landing_begin();
    int64_t since_ns = clock_wall().ns;
    push("echo other >f");
    struct outcome outcome = land(&(struct attempt){
        .set = &blind, .blind = "allow", .since_ns = since_ns});
    assert_landed(&outcome);
    assert_says(&outcome, "f was changed by commit ");
    assert_says(&outcome, "blind = allow");
    assert_string_equal(content("f"), "mine");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_set_based_on_an_older_commit_is_merged),
        cmocka_unit_test(a_base_that_is_the_tip_needs_no_merge),
        cmocka_unit_test(a_real_conflict_names_path_and_set),
        cmocka_unit_test(a_base_on_another_branch_is_refused),
        cmocka_unit_test(a_base_that_was_merged_is_on_the_branch),
        cmocka_unit_test(a_base_that_a_rewrite_removed_is_a_conflict),
        cmocka_unit_test(an_unknown_base_is_refused),
        cmocka_unit_test(a_base_that_is_not_a_commit_is_refused),
        cmocka_unit_test(a_deleted_path_must_be_in_the_base_commit),
        cmocka_unit_test(a_rename_on_the_branch_is_not_followed),
        cmocka_unit_test(a_new_file_does_not_follow_a_renamed_directory),
        cmocka_unit_test(a_rename_by_a_set_does_not_follow_changes),
        cmocka_unit_test(modes_and_contents_are_merged_separately),
        cmocka_unit_test(a_changed_type_is_a_conflict),
        cmocka_unit_test(a_type_that_only_the_set_changes_lands),
        cmocka_unit_test(a_directory_with_a_new_file_in_it_is_not_replaced),
        cmocka_unit_test(a_file_below_a_new_file_is_a_conflict),
        cmocka_unit_test(a_file_added_by_both_must_be_identical),
        cmocka_unit_test(deleting_a_changed_file_is_a_conflict),
        cmocka_unit_test(binary_files_are_not_merged),
        cmocka_unit_test(only_changes_that_interleave_are_merged_by_git),
        cmocka_unit_test(a_blind_set_lands_if_its_files_are_unchanged),
        cmocka_unit_test(a_blind_set_does_not_overwrite_a_push),
        cmocka_unit_test(a_blind_set_does_not_overwrite_another_set),
        cmocka_unit_test(a_push_with_an_old_date_counts_as_late),
        cmocka_unit_test(commits_on_top_of_a_late_commit_are_late),
        cmocka_unit_test(the_reflog_shows_when_an_old_commit_arrived),
        cmocka_unit_test(the_commit_seen_at_admission_decides),
        cmocka_unit_test(an_added_or_deleted_file_is_a_conflict),
        cmocka_unit_test(deny_requires_a_base),
        cmocka_unit_test(allow_overwrites_and_reports_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
