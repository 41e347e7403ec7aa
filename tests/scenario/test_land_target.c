/* Damaged targets: the branch does not move; the set does not fail, and lands
 * after the target is repaired. */
#include "support/landing.h"

static const struct set plain = {.id = "C1",
                                 .files = {{"f", "new\n"}, {"d/e/h", "h\n"}}};

/* The set did not land and is to be tried again. */
static void assert_waits(const struct outcome *outcome, const char *words) {
    if (outcome->exit_code != 111)
        fail_msg("exit status %d, '%s':\n%s", outcome->exit_code, outcome->line,
                 outcome->output);
    assert_says(outcome, words);
    assert_string_equal(sh("ls -A tmp"), "");
    assert_string_equal(sh("cd target.git; find . -name '*.lock'"), "");
}

static void push(const char *commands) {
    sh("cd clone; git checkout -q main; %s; git add -A; git commit -q -m push;"
       "git push -q origin main",
       commands);
}

/* ---- damaged objects ----------------------------------------------------- */

/* Returns the file of the loose object `name`. */
static const char *object_file(const char *name) {
    return sh("git -C target.git rev-parse \"%s\" | "
              "sed 's,^..,target.git/objects/&/,'",
              name);
}

/* Asserts that the set waits while the script `damage` has damaged the file of
 * the object, and lands when the file is restored. */
static void assert_set_waits_without(const struct set *set, const char *object,
                                     const char *damage, const char *words) {
    const char *before = tip();
    const char *file = object_file(object);
    sh("cp -p %s saved; chmod u+w %s; f=%s; %s", file, file, file, damage);
    struct outcome outcome = land(&(struct attempt){.set = set});
    assert_waits(&outcome, words);
    assert_string_equal(tip(), before);
    sh("cp -f saved %s", file);
    outcome = land(&(struct attempt){.set = set});
    assert_landed(&outcome);
}

static void assert_waits_without(const char *object, const char *damage,
                                 const char *words) {
    assert_set_waits_without(&plain, object, damage, words);
}

static void a_missing_file_next_to_a_listed_one_delays_the_set(void **state) {
    (void)state;
    landing_begin();
    assert_waits_without("main:g", "rm $f",
                         "of 'g' is missing or cannot be read");
}

static void a_missing_file_in_a_directory_is_named(void **state) {
    (void)state;
    landing_begin();
    push("mkdir -p d/e; echo x >d/e/x");
    assert_waits_without("main:d/e/x", "rm $f",
                         "of 'd/e/x' is missing or cannot be read");
}

static void a_missing_directory_delays_the_set(void **state) {
    (void)state;
    landing_begin();
    push("mkdir -p d/e d/x; echo x >d/x/x; echo e >d/e/e");
    assert_waits_without("main:d/x", "rm $f",
                         "of 'd/x' is missing or cannot be read");
}

static void an_empty_object_file_counts_as_missing(void **state) {
    (void)state;
    landing_begin();
    assert_waits_without("main:g", ": >$f",
                         "of 'g' is missing or cannot be read");
}

static const char *const damages[] = {
    "printf x | dd of=$f bs=1 seek=12 conv=notrunc 2>/dev/null",
    "truncate -s 15 $f",
};

/* git does not rewrite an object file that exists, even if it is damaged. */
static void a_damaged_object_of_a_large_file_delays_the_set(void **state) {
    (void)state;
    landing_begin();
    const struct set set = {.id = "C1", .files = {{"f", large_content()}}};
    struct outcome outcome = land(&(struct attempt){.set = &set});
    assert_landed(&outcome);
    sh("git -C target.git show main:f >large");
    for (size_t i = 0; i < COUNT(damages); i++) {
        const char *object = sh("git hash-object large");
        const char *old = sh("git -C target.git rev-parse main~1");
        sh("git -C target.git update-ref refs/heads/main %s", old);
        assert_set_waits_without(&set, object, damages[i],
                                 "of 'f' is missing or cannot be read");
    }
}

static void a_damaged_object_of_a_small_file_is_replaced(void **state) {
    (void)state;
    landing_begin();
    for (size_t i = 0; i < COUNT(damages); i++) {
        const char *old = tip();
        const char *file = object_file(
            sh("printf 'new\\n' | git -C target.git hash-object -w --stdin"));
        sh("chmod u+w %s; f=%s; %s", file, file, damages[i]);
        struct outcome outcome = land(&(struct attempt){.set = &plain});
        assert_landed(&outcome);
        assert_string_equal(content("f"), "new");
        sh("git -C target.git update-ref refs/heads/main %s", old);
    }
}

/* The commit of a submodule is in another repository. */
static void a_submodule_is_not_damage(void **state) {
    (void)state;
    landing_begin();
    push("git update-index --add --cacheinfo "
         "160000,0123456789012345678901234567890123456789,sub; mkdir sub");
    struct outcome outcome = land(&(struct attempt){.set = &plain});
    assert_landed(&outcome);
}

static void a_directory_of_many_files_is_checked_completely(void **state) {
    (void)state;
    landing_begin();
    push("mkdir d; for i in $(seq 1000); do echo $i >d/$i; done");
    const struct set set = {.id = "C1", .files = {{"d/new", "new\n"}}};
    struct outcome outcome = land(&(struct attempt){.set = &set});
    assert_landed(&outcome);
    assert_string_equal(sh("git -C target.git ls-tree main:d | wc -l"), "1001");
}

/* ---- objects that a power cut emptied ------------------------------------ */

/* Asserts that the set lands although the file of `object`, which it adds, is
 * in the repository and empty. */
static void assert_stored_again(const struct set *set, const char *object) {
    struct outcome outcome = land(&(struct attempt){.set = set});
    assert_landed(&outcome);
    const char *file = object_file(object);
    sh("chmod u+w %s; : >%s", file, file);
    /* As if the cut had come before the branch moved. */
    sh("rm target.git/logs/refs/heads/main; "
       "echo %s >target.git/refs/heads/main",
       sh("git -C clone rev-parse main"));
    outcome = land(&(struct attempt){.set = set});
    assert_says(&outcome, "an empty object file");
    assert_landed(&outcome);
}

static void an_empty_file_of_the_set_is_stored_again(void **state) {
    (void)state;
    landing_begin();
    push("echo x >x");
    assert_stored_again(&plain, "main:d/e/h");
}

static void an_empty_directory_of_the_set_is_stored_again(void **state) {
    (void)state;
    landing_begin();
    push("echo x >x");
    assert_stored_again(&plain, "main:d");
}

static void an_empty_merged_file_is_stored_again(void **state) {
    (void)state;
    landing_begin();
    push("seq 20 >f");
    const char *base = tip();
    push("sed -i s/^20/twenty/ f");
    char sections[128];
    snprintf(sections, sizeof sections, "##base\n%s\n", base);
    const struct set set = {.id = "C1",
                            .sections = sections,
                            .files = {{"f", "one\n2\n3\n4\n5\n6\n7\n8\n9\n10"
                                            "\n11\n12\n13\n14\n15\n16\n17\n"
                                            "18\n19\n20\n"}}};
    assert_stored_again(&set, "main:f");
    assert_string_equal(sh("git -C target.git show main:f | sed -n '1p;20p'"),
                        "one\ntwenty");
}

/* ---- a set that is on the branch already --------------------------------- */

/* A set whose content is lost has not landed. */
static void a_landed_set_that_cannot_be_read_is_not_believed(void **state) {
    (void)state;
    static const char *const objects[] = {"main^{tree}", "main:d", "main:f"};
    for (size_t i = 0; i < sizeof objects / sizeof objects[0]; i++) {
        landing_begin();
        struct outcome outcome = land(&(struct attempt){.set = &plain});
        assert_landed(&outcome);
        const char *file = object_file(objects[i]);
        sh("mv %s saved", file);
        outcome = land(&(struct attempt){.set = &plain});
        assert_waits(&outcome, "cannot read commit ");
        outcome = land(&(struct attempt){.set = &plain, .probe = true});
        assert_waits(&outcome, "cannot read commit ");
        sh("mv saved %s", file);
        outcome = land(&(struct attempt){.set = &plain});
        assert_starts(&outcome, "already-landed ");
    }
}

/* It may be on the branch when that is back. */
static void a_set_is_asked_after_again_while_its_branch_is_away(void **state) {
    (void)state;
    static const char *const ways[][2] = {
        {"mv target.git/refs/heads/main aside", "existed before"},
        {"git -C target.git branch -m main aside", "existed before"},
        {"mv target.git aside; git init -q --bare -b main target.git",
         "existed before"},
        {"rm -rf other; git init -q -b main other; git -C other commit -q "
         "--allow-empty -m other; mv target.git aside; git clone -q --bare "
         "other target.git",
         "is not the one that was used before"}};
    for (size_t i = 0; i < COUNT(ways); i++) {
        landing_begin();
        struct attempt probe = {.set = &plain, .probe = true};
        struct outcome outcome = land(&(struct attempt){.set = &plain});
        assert_landed(&outcome);
        sh("rm -rf aside; %s", ways[i][0]);
        outcome = land(&probe);
        assert_starts(&outcome, "unavailable ");
        assert_waits(&outcome, ways[i][1]);
    }
}

static void a_set_is_not_on_a_branch_that_never_existed(void **state) {
    (void)state;
    landing_begin();
    struct outcome outcome =
        land(&(struct attempt){.set = &plain, .branch = "none", .probe = true});
    assert_line(&outcome, "not-landed");
}

/* ---- a branch that does not name a commit -------------------------------- */

/* Asserts that the set waits while the script has changed what main names, and
 * lands afterwards. $f is the file of its commit. */
static void assert_waits_at(const char *script, const char *words) {
    landing_begin();
    const char *at = tip();
    const char *file = object_file("main");
    sh("cp -p %s saved; chmod u+w %s; cd target.git; f=../%s; %s", file, file,
       file, script);
    struct outcome outcome = land(&(struct attempt){.set = &plain});
    assert_waits(&outcome, words);
    assert_starts(&outcome, "unavailable ");
    outcome = land(&(struct attempt){.set = &plain, .probe = true});
    assert_starts(&outcome, "unavailable ");
    sh("cp -f saved %s; echo %s >target.git/refs/heads/main", file, at);
    outcome = land(&(struct attempt){.set = &plain});
    assert_landed(&outcome);
}

static void a_branch_that_names_a_file_is_unavailable(void **state) {
    (void)state;
    assert_waits_at("git rev-parse main:f >x; mv x refs/heads/main",
                    "names a blob (");
}

static void a_branch_that_names_a_directory_is_unavailable(void **state) {
    (void)state;
    assert_waits_at("git rev-parse main^{tree} >x; mv x refs/heads/main",
                    "names a tree (");
}

static void a_branch_that_names_a_tag_is_unavailable(void **state) {
    (void)state;
    assert_waits_at("git -c user.name=a -c user.email=a@b tag -m t t main; "
                    "git rev-parse t >x; mv x refs/heads/main",
                    "names a tag (");
}

static void a_branch_that_names_a_missing_commit_is_unavailable(void **state) {
    (void)state;
    assert_waits_at("rm $f", "is missing");
}

static void a_branch_that_names_a_damaged_commit_is_unavailable(void **state) {
    (void)state;
    assert_waits_at("echo junk >$f", "");
    assert_waits_at(": >$f", "");
    assert_waits_at("truncate -s 20 $f", "");
}

static void a_branch_file_that_is_damaged_is_unavailable(void **state) {
    (void)state;
    assert_waits_at(": >refs/heads/main", "cannot be read");
    assert_waits_at("echo junk >refs/heads/main", "cannot be read");
    assert_waits_at("echo ref: refs/heads/none >refs/heads/main",
                    "cannot be read");
}

static void a_missing_older_commit_is_unavailable(void **state) {
    (void)state;
    landing_begin();
    push("echo x >x");
    assert_waits_without("main~", "rm $f", "");
}

/* ---- a base that cannot be read ------------------------------------------ */

/* A set that changes f, based on the commit that `rev` names. */
static struct set based_on(const char *rev, char room[128]) {
    snprintf(room, 128, "##base\n%s\n",
             sh("git -C target.git rev-parse '%s'", rev));
    return (struct set){
        .id = "C1", .sections = room, .files = {{"f", "new\n"}}};
}

/* A lost mount leaves an empty directory, or none. */
static void a_base_in_objects_that_are_away_is_not_rewritten(void **state) {
    (void)state;
    static const char *const losses[] = {"mv objects away",
                                         "mv objects away; mkdir objects"};
    for (size_t i = 0; i < COUNT(losses); i++) {
        char room[128];
        landing_begin();
        const struct set set = based_on("main", room);
        const char *before = tip();
        const struct attempt attempt = {
            .set = &set,
            .seen = before,
            .checks = {"lose", sh("echo \"sh -c 'cd $PWD/target.git; %s'\"",
                                  losses[i])}};
        struct outcome outcome = land(&attempt);
        sh("cd target.git; rm -rf objects; mv away objects");
        assert_starts(&outcome, "unavailable ");
        assert_waits(&outcome, "");
        assert_string_equal(tip(), before);
        outcome = land(&(struct attempt){.set = &set, .seen = before});
        assert_landed(&outcome);
    }
}

/* The search for sets that have landed ends before it reaches that commit. */
static void a_base_below_a_missing_commit_is_unavailable(void **state) {
    (void)state;
    char room[128];
    landing_begin();
    sh("cd target.git; export GIT_COMMITTER_DATE='1000000000 +0000'\n"
       "c=$(git rev-parse main)\n"
       "for i in $(seq 300); do\n"
       "c=$(git commit-tree -p $c -m $i 'main^{tree}'); done\n"
       "git update-ref refs/heads/main $c");
    const struct set set = based_on("main~299", room);
    assert_set_waits_without(&set, "main~290", "rm $f", "");
}

/* ---- a missing branch ---------------------------------------------------- */

static const struct set later = {.id = "C2", .files = {{"f", "later\n"}}};

/* Asserts that C2 does not land while main is missing, and lands when main is
 * restored to `at`. */
static void assert_not_created(const char *at) {
    struct outcome outcome = land(&(struct attempt){.set = &later});
    assert_waits(&outcome,
                 "branch 'main', which existed before, is missing in '");
    assert_says(&outcome, "'; restore it, or remove its reflog and '");
    assert_string_equal(sh("git -C target.git for-each-ref"), "");
    sh("git -C target.git update-ref refs/heads/main %s", at);
    outcome = land(&(struct attempt){.set = &later});
    assert_landed(&outcome);
}

static void a_branch_with_a_landed_set_is_not_created_again(void **state) {
    (void)state;
    landing_begin();
    struct outcome outcome = land(&(struct attempt){.set = &plain});
    assert_landed(&outcome);
    const char *at = tip();
    sh("git -C target.git update-ref -d refs/heads/main");
    assert_not_created(at);
}

static void a_branch_that_was_only_read_is_not_created_again(void **state) {
    (void)state;
    landing_begin();
    const struct set conflict = {.id = "C1", .deleted = {"absent"}};
    struct outcome outcome = land(&(struct attempt){.set = &conflict});
    assert_starts(&outcome, "conflict ");
    const char *at = tip();
    sh("git -C target.git update-ref -d refs/heads/main");
    assert_not_created(at);
}

/* No landing has looked at it yet, but its history is not over. */
static void
a_branch_whose_ref_alone_is_lost_is_not_created_again(void **state) {
    (void)state;
    landing_begin();
    const char *at = tip();
    sh("cd target.git; git update-ref -m one --create-reflog refs/heads/main "
       "$(git commit-tree -p main -m one 'main^{tree}')\n"
       "git update-ref -m back refs/heads/main %s\n"
       "rm -f refs/heads/main packed-refs",
       at);
    assert_not_created(at);
}

static void a_branch_that_a_set_created_is_not_created_again(void **state) {
    (void)state;
    landing_begin_empty("");
    struct outcome outcome = land(&(struct attempt){.set = &plain});
    assert_landed(&outcome);
    const char *at = tip();
    sh("git -C target.git update-ref -d refs/heads/main");
    assert_not_created(at);
}

static void a_branch_that_vanishes_is_not_created_again(void **state) {
    (void)state;
    landing_begin();
    const char *at = tip();
    const struct attempt attempt = {
        .set = &later,
        .checks = {"vanish", sh("echo \"git --git-dir=$PWD/target.git "
                                "update-ref -d refs/heads/main\"")}};
    struct outcome outcome = land(&attempt);
    assert_waits(&outcome,
                 "branch 'main', which existed before, is missing in '");
    assert_not_created(at);
}

/* The note that a branch existed is about one branch of one repository. */
static void other_branches_and_repositories_are_created(void **state) {
    (void)state;
    landing_begin();
    struct outcome outcome = land(&(struct attempt){.set = &plain});
    assert_landed(&outcome);
    outcome = land(&(struct attempt){.set = &plain, .branch = "other"});
    assert_starts(&outcome, "done ");
    sh("rm -rf new.git; git init -q --bare -b main new.git");
    outcome = land(&(struct attempt){.set = &plain, .git = "new.git"});
    assert_starts(&outcome, "done ");
}

static void a_set_waits_while_another_repository_is_in_the_place(void **state) {
    (void)state;
    char sections[128], other[65];
    landing_begin();
    snprintf(sections, sizeof sections, "##base\n%s\n", tip());
    const struct set based = {
        .id = "C3", .sections = sections, .files = {{"f", "based\n"}}};
    struct outcome outcome = land(&(struct attempt){.set = &plain});
    assert_landed(&outcome);
    sh("mv target.git away.git; git init -q --bare -b main target.git\n"
       "cd target.git; t=$(git write-tree); git update-ref refs/heads/main "
       "$(git commit-tree -m other $t)");
    snprintf(other, sizeof other, "%s", tip());
    const struct set *const sets[] = {&based, &later};
    for (size_t i = 0; i < COUNT(sets); i++) {
        const struct attempt attempts[] = {
            {.set = sets[i], .seen = other},
            {.set = sets[i], .seen = other, .checks = {"fine", "true"}}};
        for (size_t j = 0; j < COUNT(attempts); j++) {
            outcome = land(&attempts[j]);
            assert_starts(&outcome, "unavailable the repository '");
            assert_says(&outcome, "is not the one that was used before");
            assert_int_equal(outcome.exit_code, 111);
            assert_unmoved(&outcome, other);
        }
    }
    /* A copy of the former one is the same. */
    sh("mv target.git other.git; git clone -q --bare away.git target.git");
    outcome = land(&(struct attempt){.set = &later});
    assert_landed(&outcome);
    /* Somebody may decide that the other one is right. */
    sh("rm -rf target.git; mv other.git target.git; rm branches/*");
    outcome = land(&(struct attempt){.set = &based, .seen = other});
    assert_starts(&outcome, "failed policy its ##base commit is not in ");
    outcome = land(&(struct attempt){.set = &later});
    assert_landed(&outcome);
}

/* A forced push takes the branch back to its first commit, and git removes all
 * the others. */
static void take_back(void) {
    sh("cd target.git; git update-ref refs/heads/main "
       "$(git rev-list --max-parents=0 --first-parent main)\n"
       "git update-ref -m forced refs/heads/main "
       "$(git commit-tree -p main -m forced 'main^{tree}')\n"
       "git reflog expire --expire=all --all; git gc -q --prune=now");
}

/* The branch has three commits when a landing first looks at it. */
static void begin_with_history(void) {
    landing_begin();
    sh("cd target.git; for i in 1 2; do git update-ref refs/heads/main "
       "$(git commit-tree -p main -m more 'main^{tree}'); done");
}

static const char *note_lines(void) {
    return sh("cat branches/* | wc -l");
}

/* As versions up to 0.1 wrote it. */
static void shorten_note(int lines) {
    sh("sed -i '%d,$d' branches/*", lines + 1);
}

static void assert_forced_push_is_no_other_repository(void) {
    take_back();
    struct outcome outcome = land(&(struct attempt){.set = &later});
    assert_landed(&outcome);
    assert_string_equal(note_lines(), "4");
}

static void a_repository_is_the_same_after_a_forced_push(void **state) {
    (void)state;
    begin_with_history();
    struct outcome outcome = land(&(struct attempt){.set = &plain});
    assert_landed(&outcome);
    assert_string_equal(sh("sed -n 4p branches/*"),
                        sh("git -C target.git rev-list --max-parents=0 main"));
    assert_forced_push_is_no_other_repository();
}

static void an_older_note_of_a_branch_is_completed(void **state) {
    (void)state;
    for (int lines = 2; lines <= 3; lines++) {
        begin_with_history();
        struct outcome outcome = land(&(struct attempt){.set = &plain});
        assert_landed(&outcome);
        shorten_note(lines);
        const struct set next = {.id = "C3", .files = {{"new", "n\n"}}};
        outcome = land(&(struct attempt){.set = &next});
        assert_landed(&outcome);
        assert_forced_push_is_no_other_repository();
    }
}

/* The history of the commit in the note is gone in part. */
static void
an_older_note_is_completed_from_what_the_branch_is_now(void **state) {
    (void)state;
    begin_with_history();
    struct outcome outcome = land(&(struct attempt){.set = &plain});
    assert_landed(&outcome);
    shorten_note(3);
    sh("cd target.git; c=$(sed -n 3p ../branches/*); p=$(git rev-parse $c^)\n"
       "git update-ref refs/heads/main "
       "$(git rev-list --max-parents=0 --first-parent main)\n"
       "git reflog expire --expire=all --all\n"
       "rm objects/$(echo $p | sed 's,..,&/,')");
    outcome = land(&(struct attempt){.set = &later});
    assert_starts(&outcome, "done ");
    assert_string_equal(sh("sed -n 4p branches/*"),
                        sh("git -C target.git rev-list --max-parents=0 main"));
}

/* A history that was merged into the branch may be in many repositories. */
static void a_repository_with_a_part_of_the_history_is_another(void **state) {
    (void)state;
    begin_with_history();
    sh("git init -q --bare -b main library.git; cd library.git\n"
       "git update-ref refs/heads/main "
       "$(git commit-tree -m library $(git write-tree))\n"
       "cd ../target.git; git fetch -q ../library.git main\n"
       "git update-ref refs/heads/main "
       "$(git commit-tree -p main -p FETCH_HEAD -m merge 'main^{tree}')");
    struct outcome outcome = land(&(struct attempt){.set = &plain});
    assert_landed(&outcome);
    sh("rm -rf target.git; mv library.git target.git");
    outcome = land(&(struct attempt){.set = &later});
    assert_starts(&outcome, "unavailable the repository '");
    assert_says(&outcome, "is not the one that was used before");
}

/* The last commit of a shallow one is not that with which the branch began. */
static void a_note_of_a_shallow_repository_is_completed_later(void **state) {
    (void)state;
    begin_with_history();
    sh("mv target.git whole.git\n"
       "git clone -q --bare --depth 2 \"file://$PWD/whole.git\" target.git");
    struct outcome outcome = land(&(struct attempt){.set = &plain});
    assert_landed(&outcome);
    assert_string_equal(note_lines(), "3");
    sh("git -C target.git fetch -q --unshallow");
    const struct set next = {.id = "C3", .files = {{"new", "n\n"}}};
    outcome = land(&(struct attempt){.set = &next});
    assert_landed(&outcome);
    assert_forced_push_is_no_other_repository();
}

/* ---- a set that has left the branch -------------------------------------- */

static void a_set_waits_for_a_dependency_that_left_the_branch(void **state) {
    (void)state;
    landing_begin();
    const char *before = tip();
    const struct set second = {.id = "C2", .files = {{"b", "b\n"}}};
    const struct set third = {.id = "C3", .files = {{"c", "c\n"}}};
    struct outcome outcome = land(&(struct attempt){.set = &plain});
    assert_landed(&outcome);
    outcome = land(&(struct attempt){.set = &second, .needs = {&plain}});
    assert_landed(&outcome);
    const char *after = tip();
    const struct attempt attempt = {.set = &third, .needs = {&plain, &second}};
    sh("git -C target.git update-ref refs/heads/main %s~", after);
    outcome = land(&attempt);
    assert_line(&outcome, "base-lost C2 has landed, but is no longer on branch "
                          "'main'; was the branch rewritten?");
    assert_int_equal(outcome.exit_code, 111);
    sh("git -C target.git update-ref refs/heads/main %s", before);
    outcome = land(&attempt);
    assert_line(&outcome, "base-lost C1, C2 have landed, but are no longer on "
                          "branch 'main'; was the branch rewritten?");
    assert_string_equal(tip(), before);
    sh("git -C target.git update-ref refs/heads/main %s", after);
    outcome = land(&attempt);
    assert_landed(&outcome);
}

/* That a set has landed counts more than what it depends on. */
static void a_set_that_landed_does_not_wait_for_its_dependency(void **state) {
    (void)state;
    landing_begin();
    const struct set never = {.id = "C9", .files = {{"n", "n\n"}}};
    struct outcome outcome = land(&(struct attempt){.set = &plain});
    assert_landed(&outcome);
    set_write(&never);
    outcome = land(&(struct attempt){.set = &plain, .needs = {&never}});
    assert_starts(&outcome, "already-landed ");
    outcome = land(
        &(struct attempt){.set = &plain, .needs = {&never}, .probe = true});
    assert_starts(&outcome, "landed ");
}

/* A branch that others move during the check is looked at again. */
static void
a_branch_that_is_rewritten_during_a_check_loses_a_base(void **state) {
    (void)state;
    landing_begin();
    const struct set second = {.id = "C2", .files = {{"b", "b\n"}}};
    struct outcome outcome = land(&(struct attempt){.set = &plain});
    assert_landed(&outcome);
    const struct attempt attempt = {
        .set = &second,
        .needs = {&plain},
        .checks = {"rewrite", sh("echo \"git --git-dir=$PWD/target.git "
                                 "update-ref refs/heads/main main~\"")}};
    outcome = land(&attempt);
    assert_starts(&outcome, "base-lost C1 has landed");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_missing_file_next_to_a_listed_one_delays_the_set),
        cmocka_unit_test(a_missing_file_in_a_directory_is_named),
        cmocka_unit_test(a_missing_directory_delays_the_set),
        cmocka_unit_test(an_empty_object_file_counts_as_missing),
        cmocka_unit_test(a_damaged_object_of_a_large_file_delays_the_set),
        cmocka_unit_test(a_damaged_object_of_a_small_file_is_replaced),
        cmocka_unit_test(a_submodule_is_not_damage),
        cmocka_unit_test(a_directory_of_many_files_is_checked_completely),
        cmocka_unit_test(an_empty_file_of_the_set_is_stored_again),
        cmocka_unit_test(an_empty_directory_of_the_set_is_stored_again),
        cmocka_unit_test(an_empty_merged_file_is_stored_again),
        cmocka_unit_test(a_landed_set_that_cannot_be_read_is_not_believed),
        cmocka_unit_test(a_set_is_asked_after_again_while_its_branch_is_away),
        cmocka_unit_test(a_set_is_not_on_a_branch_that_never_existed),
        cmocka_unit_test(a_branch_that_names_a_file_is_unavailable),
        cmocka_unit_test(a_branch_that_names_a_directory_is_unavailable),
        cmocka_unit_test(a_branch_that_names_a_tag_is_unavailable),
        cmocka_unit_test(a_branch_that_names_a_missing_commit_is_unavailable),
        cmocka_unit_test(a_branch_that_names_a_damaged_commit_is_unavailable),
        cmocka_unit_test(a_branch_file_that_is_damaged_is_unavailable),
        cmocka_unit_test(a_missing_older_commit_is_unavailable),
        cmocka_unit_test(a_base_in_objects_that_are_away_is_not_rewritten),
        cmocka_unit_test(a_base_below_a_missing_commit_is_unavailable),
        cmocka_unit_test(a_branch_with_a_landed_set_is_not_created_again),
        cmocka_unit_test(a_branch_that_was_only_read_is_not_created_again),
        cmocka_unit_test(a_branch_whose_ref_alone_is_lost_is_not_created_again),
        cmocka_unit_test(a_branch_that_a_set_created_is_not_created_again),
        cmocka_unit_test(a_branch_that_vanishes_is_not_created_again),
        cmocka_unit_test(other_branches_and_repositories_are_created),
        cmocka_unit_test(a_repository_is_the_same_after_a_forced_push),
        cmocka_unit_test(an_older_note_of_a_branch_is_completed),
        cmocka_unit_test(
            an_older_note_is_completed_from_what_the_branch_is_now),
        cmocka_unit_test(a_repository_with_a_part_of_the_history_is_another),
        cmocka_unit_test(a_note_of_a_shallow_repository_is_completed_later),
        cmocka_unit_test(a_set_waits_while_another_repository_is_in_the_place),
        cmocka_unit_test(a_set_waits_for_a_dependency_that_left_the_branch),
        cmocka_unit_test(a_set_that_landed_does_not_wait_for_its_dependency),
        cmocka_unit_test(
            a_branch_that_is_rewritten_during_a_check_loses_a_base),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
