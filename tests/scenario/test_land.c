/* Landing as users see it: a set becomes a commit on a branch. */
#include "support/landing.h"

#include "landing/history.h"
#include "landing/land_session.h"

#include "lib/time.h"
#include "os/clock.h"

static const struct set plain = {.id = "C1",
                                 .files = {{"f", "new\n"}, {"d/e/h", "h\n"}}};

static void a_set_becomes_one_commit_on_the_branch(void **state) {
    (void)state;
    landing_begin();
    struct outcome outcome = land(&(struct attempt){.set = &plain});
    assert_landed(&outcome);
    assert_string_equal(content("f"), "new");
    assert_string_equal(content("d/e/h"), "h");
    assert_string_equal(content("g"), "g");
    assert_string_equal(commits(), "2");
}

static void three_sets_land_one_after_the_other(void **state) {
    (void)state;
    landing_begin();
    const struct set sets[] = {{.id = "C1", .files = {{"f", "1\n"}}},
                               {.id = "C2", .files = {{"f", "2\n"}}},
                               {.id = "C3", .files = {{"h", "3\n"}}}};
    for (size_t i = 0; i < COUNT(sets); i++) {
        struct outcome outcome = land(&(struct attempt){.set = &sets[i]});
        assert_landed(&outcome);
    }
    assert_string_equal(content("f"), "2");
    assert_string_equal(
        sh("git -C target.git log --reverse --format='%%(trailers:key=CS-Id,"
           "valueonly)' main | tr -d '\\n'"),
        "C1C2C3");
}

static void trailers_name_set_sum_class_and_approval(void **state) {
    (void)state;
    landing_begin();
    const struct set set = {
        .id = "C1", .class = "EM", .files = {{"f", "new\n"}}};
    struct outcome outcome = land(
        &(struct attempt){.set = &set, .approved_by = "Olga <o@example.org>"});
    assert_landed(&outcome);
    assert_string_equal(
        sh("git -C target.git log -1 --format='%%(trailers)' main"),
        sh("echo CS-Id: C1; echo CS-Sum: $(sha256sum <sets/C1 | cut -c1-64)\n"
           "echo CS-Class: EM; echo 'CS-Approved-By: Olga <o@example.org>'"));
}

static void the_submitter_is_the_default_author(void **state) {
    (void)state;
    landing_begin();
    struct outcome outcome = land(&(struct attempt){.set = &plain});
    assert_landed(&outcome);
    assert_string_equal(
        sh("git -C target.git log -1 --format='%%an|%%ae|%%cn|%%ce|%%s' main"),
        "Sue|sue@example.org|Points Man|pointsman@example.org|C1");
}

static void an_account_is_a_valid_submitter(void **state) {
    (void)state;
    landing_begin();
    struct outcome outcome =
        land(&(struct attempt){.set = &plain, .submitter = "uid:0"});
    assert_landed(&outcome);
    assert_string_equal(
        sh("git -C target.git log -1 --format='%%an|%%ae' main"),
        "root|root@localhost");
}

static void author_date_and_message_are_kept_to_the_byte(void **state) {
    (void)state;
    landing_begin();
    const struct set set = {
        .id = "C1",
        .sections = "##author\nZoë Ünal <zoe@example.org>\n"
                    "##date\n2020-02-29T12:34:56+05:30\n"
                    "##message\nFix it: \"all\" of 'it' # not a comment\n"
                    "\n  indented\n\\\\##back\n\nSigned-off-by: Zoë <z@e>\n",
        .files = {{"f", "new\n"}}};
    struct outcome outcome = land(&(struct attempt){.set = &set});
    assert_landed(&outcome);
    assert_string_equal(
        sh("git -C target.git log -1 --date=raw --format='%%an <%%ae> %%ad' "
           "main"),
        "Zoë Ünal <zoe@example.org> 1582959896 +0530");
    assert_string_equal(
        sh("git -C target.git log -1 --format=%%B main | sed '/^CS-Sum/d'"),
        "Fix it: \"all\" of 'it' # not a comment\n\n  indented\n\\##back\n\n"
        "Signed-off-by: Zoë <z@e>\nCS-Id: C1\nCS-Class: DC");
    /* The trailers of the author and of Pointsman are one block for git. */
    assert_string_equal(
        sh("git -C target.git log -1 "
           "--format='%%(trailers:only,keyonly)' main | grep -c ."),
        "4");
}

static void modes_come_from_the_archive(void **state) {
    (void)state;
    landing_begin();
    const struct set set = {
        .id = "C1", .files = {{"run", "x\n", 0755}, {"f", "y\n", 0100}}};
    struct outcome outcome = land(&(struct attempt){.set = &set});
    assert_landed(&outcome);
    assert_string_equal(
        sh("git -C target.git ls-tree main f g run | cut -c1-6 | tr '\\n' ' '"),
        "100755 100644 100755 ");
    const struct set back = {.id = "C2", .files = {{"run", "x\n"}}};
    outcome = land(&(struct attempt){.set = &back});
    assert_landed(&outcome);
    assert_string_equal(sh("git -C target.git ls-tree main run | cut -c1-6"),
                        "100644");
}

static void symbolic_links_need_the_permission_of_the_target(void **state) {
    (void)state;
    landing_begin();
    const char *before = tip();
    const struct set set = {.id = "C1", .files = {{"l", "", 0777, "f"}}};
    struct outcome outcome = land(&(struct attempt){.set = &set});
    assert_starts(&outcome, "failed policy ");
    assert_unmoved(&outcome, before);
    outcome = land(&(struct attempt){.set = &set, .symlinks = "allow"});
    assert_landed(&outcome);
    assert_string_equal(sh("git -C target.git ls-tree main l | cut -c1-6"),
                        "120000");
    assert_string_equal(content("l"), "f");
}

static void listed_paths_are_deleted_and_empty_directories_go(void **state) {
    (void)state;
    landing_begin();
    struct outcome outcome = land(&(struct attempt){.set = &plain});
    const struct set set = {
        .id = "C2", .deleted = {"d/e/h", "g"}, .files = {{"f", "2\n"}}};
    outcome = land(&(struct attempt){.set = &set});
    assert_landed(&outcome);
    assert_string_equal(sh("git -C target.git ls-tree -r -t --name-only main"),
                        "f");
}

static void deleting_a_missing_path_is_a_conflict(void **state) {
    (void)state;
    landing_begin();
    const char *before = tip();
    const struct set set = {
        .id = "C1", .deleted = {"nowhere"}, .files = {{"f", "2\n"}}};
    struct outcome outcome = land(&(struct attempt){.set = &set});
    assert_starts(&outcome, "conflict nowhere (");
    assert_int_equal(outcome.exit_code, 101);
    assert_unmoved(&outcome, before);
    outcome = land(&(struct attempt){.set = &set, .blind = "allow"});
    assert_landed(&outcome);
}

static void a_file_and_a_directory_of_the_same_name_clash(void **state) {
    (void)state;
    landing_begin();
    struct outcome outcome = land(&(struct attempt){.set = &plain});
    const char *before = tip();
    const struct set below = {.id = "C2", .files = {{"g/x", "x\n"}}};
    outcome = land(&(struct attempt){.set = &below, .blind = "allow"});
    assert_starts(&outcome, "conflict g/x (g/x is below a file)");
    const struct set above = {.id = "C3", .files = {{"d", "x\n"}}};
    outcome = land(&(struct attempt){.set = &above, .blind = "allow"});
    assert_starts(&outcome, "conflict d (d is a directory)");
    assert_unmoved(&outcome, before);
}

static void a_directory_may_replace_a_deleted_file(void **state) {
    (void)state;
    landing_begin();
    const struct set below = {
        .id = "C1", .deleted = {"g"}, .files = {{"g/x", "x\n"}}};
    struct outcome outcome = land(&(struct attempt){.set = &below});
    assert_landed(&outcome);
    assert_string_equal(content("g/x"), "x");
    const struct set above = {
        .id = "C2", .deleted = {"g/x"}, .files = {{"g", "y\n"}}};
    outcome = land(&(struct attempt){.set = &above});
    assert_landed(&outcome);
    assert_string_equal(content("g"), "y");
}

static void a_set_that_changes_nothing_is_still_a_commit(void **state) {
    (void)state;
    landing_begin();
    const struct set set = {.id = "C1", .files = {{"g", "g\n"}}};
    struct outcome outcome = land(&(struct attempt){.set = &set});
    assert_line(&outcome, sh("echo done %s C1~%s", tip(), tip()));
    assert_string_equal(commits(), "2");
    assert_string_equal(sh("git -C target.git diff --stat main~1 main"), "");
}

static void the_first_set_creates_the_branch(void **state) {
    (void)state;
    landing_begin_empty("");
    struct outcome outcome = land(&(struct attempt){.set = &plain});
    assert_landed(&outcome);
    assert_string_equal(commits(), "1");
    assert_string_equal(sh("git -C target.git ls-tree -r --name-only main"),
                        "d/e/h\nf");
    outcome = land(&(struct attempt){.set = &plain, .branch = "a/b"});
    assert_starts(&outcome, "done ");
    assert_string_equal(sh("git -C target.git rev-list --count a/b"), "1");
}

static void a_set_lands_in_a_sha256_repository(void **state) {
    (void)state;
    landing_begin_empty("--object-format=sha256");
    struct outcome outcome = land(&(struct attempt){.set = &plain});
    assert_landed(&outcome);
    assert_int_equal(strlen(outcome.text), 64);
    const struct set set = {.id = "C2", .files = {{"d/e/i", "i\n"}}};
    outcome = land(&(struct attempt){.set = &set});
    assert_landed(&outcome);
    assert_string_equal(content("d/e/h"), "h");
    assert_string_equal(content("d/e/i"), "i");
}

static void a_checked_out_branch_is_unavailable(void **state) {
    (void)state;
    landing_begin();
    struct outcome outcome =
        land(&(struct attempt){.set = &plain, .git = "clone"});
    assert_starts(&outcome, "unavailable branch 'main' is checked out");
    assert_int_equal(outcome.exit_code, 111);
    /* Another branch of the repository may move. */
    outcome = land(
        &(struct attempt){.set = &plain, .git = "clone", .branch = "other"});
    assert_starts(&outcome, "done ");
    /* The same for a work tree of a bare repository. */
    const char *before = tip();
    sh("git -C target.git worktree add -q ../work main 2>/dev/null");
    outcome = land(&(struct attempt){.set = &plain});
    assert_starts(&outcome, "unavailable branch 'main' is checked out");
    assert_unmoved(&outcome, before);
}

static void assert_unavailable(const struct outcome *outcome,
                               const char *words) {
    assert_starts(outcome, "unavailable ");
    assert_says(outcome, words);
    assert_int_equal(outcome->exit_code, 111);
}

static void a_missing_repository_is_unavailable(void **state) {
    (void)state;
    landing_begin();
    struct attempt attempt = {.set = &plain, .git = "sets"};
    struct outcome outcome = land(&attempt);
    assert_unavailable(&outcome, "no git repository '");
    attempt.git = "none";
    attempt.probe = true;
    outcome = land(&attempt);
    assert_unavailable(&outcome, "no git repository '");
}

static void a_missing_branch_is_unavailable(void **state) {
    (void)state;
    landing_begin();
    const char *at = tip();
    char sections[128];
    snprintf(sections, sizeof sections, "##base\n%s\n", at);
    struct set based = plain;
    based.sections = sections;
    sh("git -C target.git update-ref -d refs/heads/main");
    struct outcome outcome = land(&(struct attempt){.set = &based});
    assert_unavailable(&outcome, "no branch 'main'");
    outcome = land(&(struct attempt){.set = &plain, .seen = at});
    assert_unavailable(&outcome, "no branch 'main'");
    assert_string_equal(sh("git -C target.git for-each-ref refs/heads/main"),
                        "");
    sh("git -C target.git update-ref refs/heads/main %s", at);
    outcome = land(&(struct attempt){.set = &based});
    assert_landed(&outcome);
}

/* A git that cannot write, as on a file system mounted read-only. */
static void a_read_only_repository_is_unavailable(void **state) {
    (void)state;
    static const char *const said[] = {
        "error: unable to create temporary file: Read-only file system",
        ("error: insufficient permission for adding an object to repository "
         "database objects"),
        "fatal: detected dubious ownership in repository",
    };
    landing_begin();
    const struct set large = {.id = "C1", .files = {{"f", large_content()}}};
    const char *before = tip();
    char path[512];
    snprintf(path, sizeof path, "%s/bin", test_dir());
    for (size_t i = 0; i < COUNT(said); i++) {
        sh("rm -rf bin; mkdir bin; git=$(command -v git)\n"
           "printf '#!/bin/sh\\ncase \"$*\" in *\" fast-import \"*) echo "
           "\"%s\" >&2; exit 128;; esac\\nexec %%s \"$@\"\\n' \"$git\" "
           ">bin/git; chmod +x bin/git",
           said[i]);
        struct outcome outcome =
            land(&(struct attempt){.set = &large, .path = path});
        assert_unavailable(&outcome, strchr(said[i], ' ') + 1);
        assert_unmoved(&outcome, before);
    }
}

static void a_damaged_repository_is_unavailable(void **state) {
    (void)state;
    landing_begin();
    char path[80];
    const char *tree = sh("git -C target.git rev-parse 'main^{tree}'");
    snprintf(path, sizeof path, "target.git/objects/%.2s/%s", tree, tree + 2);
    sh("cp %s kept; rm -f %s", path, path);
    struct outcome outcome = land(&(struct attempt){.set = &plain});
    assert_unavailable(&outcome, "the repository is damaged: tree ");
    sh("echo junk >%s", path);
    outcome = land(&(struct attempt){.set = &plain});
    assert_starts(&outcome, "unavailable ");
    sh("rm -f %s; mv kept %s", path, path);
    outcome = land(&(struct attempt){.set = &plain});
    assert_landed(&outcome);
}

static void a_changed_tarball_is_refused(void **state) {
    (void)state;
    landing_begin();
    const char *before = tip();
    struct set other = plain;
    char wrapper[512];
    snprintf(wrapper, sizeof wrapper, "echo junk >>%s/sets/C1; exec \"$@\"",
             test_dir());
    const char *const wrap[] = {"sh", "-c", wrapper, "sh", NULL};
    struct outcome outcome =
        land(&(struct attempt){.set = &other, .wrap = wrap});
    assert_starts(&outcome, "failed policy the tarball was changed");
    assert_unmoved(&outcome, before);
}

static void a_second_attempt_finds_the_commit_of_the_first(void **state) {
    (void)state;
    landing_begin();
    struct attempt attempt = {.set = &plain, .probe = true};
    struct outcome outcome = land(&attempt);
    assert_line(&outcome, "not-landed");
    attempt.probe = false;
    outcome = land(&attempt);
    assert_landed(&outcome);
    const char *commit = tip();
    /* Another commit was pushed meanwhile, with a date of 1990. */
    sh("cd clone; git pull -q origin main; echo x >x; git add x\n"
       "GIT_COMMITTER_DATE='1990-01-01T00:00Z' git commit -q -m x\n"
       "git push -q origin main");
    outcome = land(&attempt);
    assert_starts(&outcome, "already-landed ");
    assert_string_equal(outcome.text, commit);
    attempt.probe = true;
    outcome = land(&attempt);
    assert_starts(&outcome, "landed ");
    assert_string_equal(outcome.text, commit);
    assert_string_equal(commits(), "3");
}

static void a_message_cannot_impersonate_another_set(void **state) {
    (void)state;
    landing_begin();
    char sections[300];
    snprintf(sections, sizeof sections,
             "##message\nhoax\n\nCS-Id: C1\nCS-Sum: %s\n", set_write(&plain));
    const struct set hoax = {
        .id = "C0", .sections = sections, .files = {{"g", "h\n"}}};
    struct outcome outcome = land(&(struct attempt){.set = &hoax});
    assert_landed(&outcome);
    outcome = land(&(struct attempt){.set = &plain});
    assert_landed(&outcome);
}

/* ---- what a process keeps ------------------------------------------------ */

/* Looks through the whole history of `tip`, in a landing of its own. */
static bool finds(struct land_session *session, const char *tip_oid,
                  const char *id, char ret_oid[OID_BYTES]) {
    struct history_search search = {
        .csid = span_of(id), .sum = SPAN("0"), .admitted = HISTORY_ALL};
    struct err err = {0};
    sh("rm -rf work; mkdir work");
    if (!land_session_open(session, sh("echo $PWD/target.git"),
                           sh("echo $PWD/work"), NULL, &err))
        fail_msg("%s", err.text);
    bool ok = history_find_sets(&session->git, NULL, tip_oid, &search, 1,
                                &session->known, false, &err);
    memcpy(ret_oid, search.oid, OID_BYTES);
    land_session_end(session, false);
    return ok;
}

static void a_history_is_walked_once_for_sets_that_it_lacks(void **state) {
    (void)state;
    struct land_session session = {0};
    char at[OID_BYTES], found[OID_BYTES], next[OID_BYTES];
    landing_begin();
    sh("cd target.git; git update-ref refs/heads/main "
       "$(git commit-tree -p main -m more 'main^{tree}')\n"
       "git update-ref refs/heads/main $(printf "
       "'set\\n\\nCS-Id: C1\\nCS-Sum: 0\\n' | "
       "git commit-tree -p main 'main^{tree}')");
    snprintf(at, sizeof at, "%s", tip());
    assert_true(finds(&session, at, "C9", found));
    assert_string_equal(found, "");
    /* Whoever walks through it now meets an error. */
    sh("cd target.git; c=$(git rev-list --max-parents=0 main)\n"
       "rm -f objects/$(echo $c | sed 's,..,&/,')");
    assert_true(finds(&session, at, "C8", found));
    assert_string_equal(found, "");
    assert_true(finds(&session, at, "C1", found));
    assert_string_equal(found, at);
    /* A set lands. */
    snprintf(next, sizeof next, "%s",
             sh("cd target.git; printf 'set\\n\\nCS-Id: C9\\nCS-Sum: 0\\n' | "
                "git commit-tree -p main 'main^{tree}'"));
    session.known.marks = &session.sets;
    history_known_add(&session.known, at, next, SPAN("C9"), SPAN("0"));
    assert_true(finds(&session, next, "C8", found));
    assert_string_equal(found, "");
    assert_true(finds(&session, next, "C9", found));
    assert_string_equal(found, next);
    /* Another history is not known. */
    assert_false(finds(&session,
                       sh("git -C target.git commit-tree -p main -m o "
                          "'main^{tree}'"),
                       "C8", found));
    land_session_clear(&session);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_set_becomes_one_commit_on_the_branch),
        cmocka_unit_test(three_sets_land_one_after_the_other),
        cmocka_unit_test(trailers_name_set_sum_class_and_approval),
        cmocka_unit_test(the_submitter_is_the_default_author),
        cmocka_unit_test(an_account_is_a_valid_submitter),
        cmocka_unit_test(author_date_and_message_are_kept_to_the_byte),
        cmocka_unit_test(modes_come_from_the_archive),
        cmocka_unit_test(symbolic_links_need_the_permission_of_the_target),
        cmocka_unit_test(listed_paths_are_deleted_and_empty_directories_go),
        cmocka_unit_test(deleting_a_missing_path_is_a_conflict),
        cmocka_unit_test(a_file_and_a_directory_of_the_same_name_clash),
        cmocka_unit_test(a_directory_may_replace_a_deleted_file),
        cmocka_unit_test(a_set_that_changes_nothing_is_still_a_commit),
        cmocka_unit_test(the_first_set_creates_the_branch),
        cmocka_unit_test(a_set_lands_in_a_sha256_repository),
        cmocka_unit_test(a_checked_out_branch_is_unavailable),
        cmocka_unit_test(a_missing_repository_is_unavailable),
        cmocka_unit_test(a_missing_branch_is_unavailable),
        cmocka_unit_test(a_read_only_repository_is_unavailable),
        cmocka_unit_test(a_damaged_repository_is_unavailable),
        cmocka_unit_test(a_changed_tarball_is_refused),
        cmocka_unit_test(a_second_attempt_finds_the_commit_of_the_first),
        cmocka_unit_test(a_message_cannot_impersonate_another_set),
        cmocka_unit_test(a_history_is_walked_once_for_sets_that_it_lacks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
