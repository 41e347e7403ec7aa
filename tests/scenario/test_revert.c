/* Rolling back landed sets as a release engineer sees it: the branch before and
 * after, and the sets that prevent a rollback. */
#include "support/landing.h"

#include <errno.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "lib/text.h"

/* Adds one --member to the command line; an id that begins with R is a
 * rollback. */
static void member_add(struct text *out, const char *option, const char *id) {
    text_addf(out, " %s %s ", option, id);
    if (id[0] == 'R')
        text_addf(out, "$(printf %s | sha256sum | cut -c1-64) RB 0 -", id);
    else
        text_addf(out, "$(sha256sum <sets/%s | cut -c1-64) DC 0 $PWD/sets/%s",
                  id, id);
}

/* Rolls back `members` ("C1 C2") as `id`; returns the status line. The output
 * is in the file `account`. */
static const char *roll_back(const char *id, const char *members,
                             const char *more) {
    CLEANUP(text_clear) struct text words = TEXT_INIT;
    struct span rest = span_of(members), member;
    while (rest.len > 0 && span_cut(&rest, ' ', &member)) {
        char name[64];
        snprintf(name, sizeof name, "%.*s", (int)member.len, member.p);
        member_add(&words, "--member", name);
    }
    return sh("rm -f status; POINTSMAN_STATUS_FD=3 \"$LAND_PROGRAM\" revert "
              "--id %s --sum $(printf %s | sha256sum | cut -c1-64) "
              "--target main --work \"$PWD/tmp/revert.work\" --submitter "
              "'Rob <rob@x>' %s %s 3>status >account 2>&1 || :; cat status",
              id, id, more, text_string(&words));
}

static const char *on_git(const char *id, const char *members) {
    return roll_back(id, members, "--git \"$PWD/target.git\" --branch main");
}

static void assert_begins(const char *line, const char *start) {
    if (strncmp(line, start, strlen(start)) != 0)
        fail_msg("status '%s', expected '%s...': %s", line, start,
                 sh("cat account"));
}

static void assert_contains(const char *line, const char *words) {
    if (strstr(line, words) == NULL)
        fail_msg("'%s' is not in '%s'", words, line);
}

static void assert_nothing_left(void) {
    assert_string_equal(sh("ls -A tmp"), "");
    assert_string_equal(sh("cd target.git; find . -name '*.lock'"), "");
    sh("git -C target.git fsck --strict --no-dangling >&2");
}

static void put(const char *id, const char *path, const char *text) {
    const struct set set = {.id = id, .files = {{path, text}}};
    struct outcome outcome = land(&(struct attempt){.set = &set});
    assert_starts(&outcome, "done ");
}

static const char *trailers(const char *commit) {
    return sh("git -C target.git log -1 --format='%%(trailers:key=CS-Id,"
              "key=RB-Id,key=Reverts-CS,key=Restores-CS,separator=%%x20,"
              "unfold)' %s",
              commit);
}

static void several_sets_are_reverted_in_one_update(void **state) {
    (void)state;
    landing_begin();
    put("C1", "f", "one\n");
    put("C2", "new/h", "two\n");
    put("C3", "f", "three\n");
    const char *line = on_git("R1", "C1 C3 C2");
    assert_begins(line, "done ");
    assert_string_equal(line + 5, tip());
    assert_string_equal(sh("git -C target.git diff main main~6"), "");
    assert_string_equal(commits(), "7");
    assert_string_equal(trailers("main~2"),
                        "CS-Id: R1 RB-Id: R1 Reverts-CS: C3");
    assert_string_equal(trailers("main~1"),
                        "CS-Id: R1 RB-Id: R1 Reverts-CS: C2");
    assert_string_equal(trailers("main"), "CS-Id: R1 RB-Id: R1 Reverts-CS: C1");
    assert_string_equal(sh("git -C target.git log -1 --format='%%an|%%s' main"),
                        "Rob|Revert \"C1\"");
    assert_string_equal(sh("git -C target.git reflog -1 --format=%%gs main"),
                        "pointsman: roll back by R1");
    assert_nothing_left();
}

static void lines_of_other_sets_stay(void **state) {
    (void)state;
    landing_begin();
    sh("cd clone; git checkout -q main");
    const char *base = tip();
    CLEANUP(text_clear) struct text sections = TEXT_INIT;
    text_addf(&sections, "##base\n%s\n", base);
    const struct set top = {.id = "C1",
                            .sections = text_string(&sections),
                            .files = {{"f", "ONE\n2\n3\n4\n5\n6\n7\n"}}};
    const struct set bottom = {.id = "C2",
                               .sections = text_string(&sections),
                               .files = {{"f", "1\n2\n3\n4\n5\n6\nSEVEN\n"}}};
    struct outcome outcome = land(&(struct attempt){.set = &top});
    assert_starts(&outcome, "done ");
    outcome = land(&(struct attempt){.set = &bottom});
    assert_starts(&outcome, "done ");
    assert_begins(on_git("R1", "C1"), "done ");
    assert_string_equal(content("f"), "1\n2\n3\n4\n5\n6\nSEVEN");
    assert_nothing_left();
}

static void a_later_set_that_prevents_a_rollback_is_named(void **state) {
    (void)state;
    landing_begin();
    put("C1", "f", "one\n");
    put("C2", "g", "two\n");
    put("C9", "f", "nine\n");
    const char *before = tip();
    const char *line = on_git("R1", "C1 C2");
    assert_begins(line, "failed rb-conflict C1 cannot be rolled back: ");
    assert_contains(line, "f was also changed by C9 (done); add C9 to the "
                          "rollback or revert by hand");
    assert_string_equal(tip(), before);
    assert_begins(on_git("R2", "C1 C2 C9"), "done ");
    assert_string_equal(sh("git -C target.git diff main main~6"), "");
    assert_nothing_left();
}

static void a_push_that_prevents_a_rollback_is_named(void **state) {
    (void)state;
    landing_begin();
    put("C1", "f", "one\n");
    sh("cd clone; git pull -q origin main; echo mine >f; git commit -qam push;"
       "git push -q origin main");
    const char *line = on_git("R1", "C1");
    assert_begins(line, "failed rb-conflict ");
    assert_contains(line, "f was also changed by commit ");
    assert_contains(line, " by Ann; revert by hand");
}

/* The sets have landed on another branch. */
static void sets_that_a_merge_brought_are_named(void **state) {
    (void)state;
    landing_begin();
    put("C1", "f", "one\n");
    sh("git -C target.git branch next main");
    const struct set two = {.id = "C2", .files = {{"f", "two\n"}}};
    const struct set three = {.id = "C3", .files = {{"g", "three\n"}}};
    struct outcome outcome =
        land(&(struct attempt){.set = &two, .branch = "next"});
    assert_starts(&outcome, "done ");
    outcome = land(&(struct attempt){.set = &three, .branch = "next"});
    assert_starts(&outcome, "done ");
    sh("cd clone; git pull -q origin main; git pull -q --no-ff --no-rebase "
       "--no-edit origin next; git push -q origin HEAD:main");
    const char *line = on_git("R1", "C1");
    assert_begins(line, "failed rb-conflict ");
    assert_contains(line, ", which merged C2; revert by hand");
    assert_nothing_left();
}

static void a_rollback_of_a_rollback_restores_the_sets(void **state) {
    (void)state;
    landing_begin();
    put("C1", "f", "one\n");
    put("C2", "h", "two\n");
    assert_begins(on_git("R1", "C1 C2"), "done ");
    assert_begins(on_git("R2", "R1"), "done ");
    assert_string_equal(content("f"), "one");
    assert_string_equal(content("h"), "two");
    assert_string_equal(trailers("main"),
                        "CS-Id: R2 RB-Id: R2 Reverts-CS: R1 Restores-CS: C2");
    assert_string_equal(sh("git -C target.git log -1 --format=%%s main"),
                        "Reapply \"C2\"");
    /* Rollbacks of rollbacks work at any depth, and so do rollbacks of the
     * restored sets. */
    assert_begins(on_git("R3", "R2"), "done ");
    assert_string_equal(content("f"), "1\n2\n3\n4\n5\n6\n7");
    assert_string_equal(
        trailers("main"),
        "CS-Id: R3 RB-Id: R3 Reverts-CS: R2 Restores-CS: R1 Reverts-CS: C1");
    assert_begins(on_git("R4", "R3"), "done ");
    assert_string_equal(content("f"), "one");
    assert_begins(on_git("R5", "C1"), "done ");
    assert_string_equal(content("f"), "1\n2\n3\n4\n5\n6\n7");
    assert_string_equal(content("h"), "two");
    assert_string_equal(trailers("main"), "CS-Id: R5 RB-Id: R5 Reverts-CS: C1");
    /* The effect of R4 on C2 can still be rolled back. */
    assert_begins(on_git("R6", "R4"), "done ");
    assert_string_equal(sh("git -C target.git diff main main~12"), "");
    assert_nothing_left();
}

/* R4 rolls back R3, which brings C1 back, and then R2, which takes it out again
 * because of R1. */
static void two_rollbacks_of_one_set_are_rolled_back_at_once(void **state) {
    (void)state;
    landing_begin();
    put("C1", "f", "one\n");
    assert_begins(on_git("R1", "C1"), "done ");
    assert_begins(on_git("R2", "R1"), "done ");
    put("C2", "h", "two\n");
    assert_begins(on_git("R3", "C2 C1"), "done ");
    assert_begins(on_git("R4", "R3 R2"), "done ");
    assert_string_equal(content("f"), "1\n2\n3\n4\n5\n6\n7");
    assert_string_equal(content("h"), "two");
    assert_string_equal(
        trailers("main"),
        "CS-Id: R4 RB-Id: R4 Reverts-CS: R2 Restores-CS: R1 Reverts-CS: C1");
    assert_nothing_left();
}

/* R1 rolls back C1, R2 rolls back R1, and R3 rolls back R2. C1 is out of effect
 * because of R1, which R3 has restored. */
static void
rolling_back_a_restored_rollback_touches_nothing_else(void **state) {
    (void)state;
    landing_begin();
    put("C1", "f", "one\n");
    assert_begins(on_git("R1", "C1"), "done ");
    assert_begins(on_git("R2", "R1"), "done ");
    assert_begins(on_git("R3", "R2"), "done ");
    const char *line = on_git("R4", "R1");
    assert_begins(line, "done ");
    assert_string_equal(content("f"), "one");
    assert_string_equal(trailers("main"),
                        "CS-Id: R4 RB-Id: R4 Reverts-CS: R1 Restores-CS: C1");
    /* R3 has no effect left; C1 can be rolled back again. */
    line = on_git("R5", "R3");
    assert_contains(line, " nothing of R3 is left to revert");
    assert_string_equal(trailers("main"),
                        "CS-Id: R5 RB-Id: R5 Reverts-CS: R3 Restores-CS: R2");
    assert_string_equal(content("f"), "one");
    assert_begins(on_git("R6", "C1"), "done ");
    assert_string_equal(content("f"), "1\n2\n3\n4\n5\n6\n7");
    assert_nothing_left();
}

static void a_set_already_rolled_back_is_only_noted(void **state) {
    (void)state;
    landing_begin();
    put("C1", "f", "one\n");
    put("C2", "g", "two\n");
    assert_begins(on_git("R1", "C1"), "done ");
    const char *line = on_git("R2", "C1 C2");
    assert_begins(line, "done ");
    assert_contains(sh("cat account"), "C1 is rolled back already");
    const char *before = tip();
    assert_string_equal(on_git("R3", "C1 C2"), "done");
    assert_string_equal(tip(), before);
}

/* The branch says so: an empty commit puts the set out of effect. */
static void a_set_of_which_nothing_is_left_is_reported(void **state) {
    (void)state;
    landing_begin();
    put("C3", "f", "three\n");
    sh("cd clone; git pull -q origin main; git revert --no-edit HEAD "
       ">/dev/null; git push -q origin main");
    const char *line = on_git("R4", "C3");
    assert_begins(line, "done ");
    assert_contains(line, " nothing of C3 is left to revert: commit ");
    assert_contains(line, " by Ann removed it");
    assert_contains(sh("cat account"), "nothing of C3");
    assert_string_equal(sh("git -C target.git diff main main~1"), "");
    assert_string_equal(trailers("main"), "CS-Id: R4 RB-Id: R4 Reverts-CS: C3");
    assert_nothing_left();
}

static void text_of_a_set_rolled_back_stays_away(void **state) {
    (void)state;
    landing_begin();
    put("C1", "f", "1\n2\n3\n4\n5\n6\n7\nC1\n");
    put("C2", "f", "zero\n1\n2\n3\n4\n5\n6\n7\n");
    const char *line = on_git("R1", "C1");
    assert_begins(line, "done ");
    assert_contains(line, " nothing of C1 is left to revert: C2 removed it; "
                          "to undo that too, roll back C2");
    assert_string_equal(content("f"), "zero\n1\n2\n3\n4\n5\n6\n7");
    /* A reverse merge of C2 would bring back the line of C1. */
    assert_begins(on_git("R2", "C2"), "done ");
    assert_string_equal(content("f"), "1\n2\n3\n4\n5\n6\n7");
    /* The rollbacks can be rolled back in any order. */
    assert_begins(on_git("R3", "R1"), "done ");
    assert_string_equal(content("f"), "1\n2\n3\n4\n5\n6\n7\nC1");
    assert_begins(on_git("R4", "R2"), "done ");
    assert_string_equal(content("f"), "zero\n1\n2\n3\n4\n5\n6\n7");
    assert_nothing_left();
}

/* C3 puts the line that C1 had put and C2 had removed: it is C3's. */
static void text_that_a_later_set_put_again_stays(void **state) {
    (void)state;
    landing_begin();
    put("C1", "f", "1\n2\n3\n4\n5\n6\n7\nmore\n");
    put("C2", "f", "1\n2\n3\n4\n5\n6\n7\n");
    put("C3", "f", "1\n2\n3\n4\n5\n6\n7\nmore\n");
    assert_begins(on_git("R1", "C1"), "done ");
    assert_string_equal(content("f"), "1\n2\n3\n4\n5\n6\n7\nmore");
    assert_begins(on_git("R2", "C3"), "done ");
    assert_string_equal(content("f"), "1\n2\n3\n4\n5\n6\n7");
    assert_nothing_left();
}

/* Rolls back one set that is known by its id and sum. */
static const char *on_git_by_sum(const char *id, const char *member,
                                 const char *sum) {
    char more[256];
    snprintf(more, sizeof more,
             "--git \"$PWD/target.git\" --branch main --member %s %s DC 0 -",
             member, sum);
    return roll_back(id, "", more);
}

static const char *sum_of(const char *id) {
    return sh("sha256sum <sets/%s | cut -c1-64", id);
}

/* What commits of earlier versions do not have. */
static void strip_sums(void) {
    sh("cd target.git; git update-ref refs/heads/main \"$(git log -1 "
       "--format=%%B main | sed -E '/(-CS|Contains|Overlaps)-Sum:/d' | "
       "git commit-tree -p main~1 "
       "-F - 'main^{tree}')\"");
}

/* Lands a set that was made when the branch was at `base`. */
static void put_on(const char *base, const char *id, const char *path,
                   const char *text) {
    CLEANUP(text_clear) struct text sections = TEXT_INIT;
    text_addf(&sections, "##base\n%s\n", base);
    const struct set set = {
        .id = id, .sections = text_string(&sections), .files = {{path, text}}};
    struct outcome outcome = land(&(struct attempt){.set = &set});
    assert_starts(&outcome, "done ");
}

static void text_that_two_sets_put_stays_with_one_of_them(void **state) {
    (void)state;
    landing_begin();
    sh("cd clone; git checkout -q main");
    const char *base = tip();
    put_on(base, "C1", "f", "1\n2\n3\n4\n5\n6\n7\nmore\n");
    put_on(base, "C2", "f", "1\n2\n3\n4\n5\n6\n7\nmore\n");
    put_on(base, "C3", "f", "zero\n1\n2\n3\n4\n5\n6\n7\nmore\n");
    assert_string_equal(
        sh("git -C target.git log -1 --format=%%B main~1 | grep "
           "^CS-Contains"),
        sh("printf 'CS-Contains: C1 f\nCS-Contains-Sum: %s'", sum_of("C1")));
    const char *line = on_git("R1", "C1");
    assert_begins(line, "done ");
    assert_contains(line, "nothing of C1 is left to revert: C3, C2 made the "
                          "same change; to undo that too, roll back C3 C2");
    assert_string_equal(content("f"), "zero\n1\n2\n3\n4\n5\n6\n7\nmore");
    assert_begins(on_git("R2", "C2"), "done ");
    assert_string_equal(content("f"), "zero\n1\n2\n3\n4\n5\n6\n7\nmore");
    assert_begins(on_git("R3", "C3"), "done ");
    assert_string_equal(content("f"), "1\n2\n3\n4\n5\n6\n7");
    /* The same when they come back, whichever is first. */
    assert_begins(on_git("R4", "R2"), "done ");
    assert_string_equal(content("f"), "1\n2\n3\n4\n5\n6\n7\nmore");
    assert_begins(on_git("R5", "R1"), "done ");
    assert_begins(on_git("R6", "R4"), "done ");
    assert_string_equal(content("f"), "1\n2\n3\n4\n5\n6\n7\nmore");
    assert_begins(on_git("R7", "R5"), "done ");
    assert_string_equal(content("f"), "1\n2\n3\n4\n5\n6\n7");
    assert_nothing_left();
}

static void a_file_that_two_sets_added_or_deleted_is_that_of_both(void **s) {
    (void)s;
    landing_begin();
    sh("cd clone; git checkout -q main");
    const char *base = tip();
    put_on(base, "C1", "new", "text\n");
    put_on(base, "C2", "new", "text\n");
    assert_begins(on_git("R1", "C1"), "done ");
    assert_string_equal(content("new"), "text");
    assert_begins(on_git("R2", "C2"), "done ");
    assert_string_equal(sh("git -C target.git ls-tree main new"), "");
    CLEANUP(text_clear) struct text sections = TEXT_INIT;
    text_addf(&sections, "##base\n%s\n", base);
    const char *ids[] = {"C3", "C4"};
    for (size_t i = 0; i < COUNT(ids); i++) {
        const struct set set = {
            .id = ids[i], .sections = text_string(&sections), .deleted = {"f"}};
        struct outcome outcome = land(&(struct attempt){.set = &set});
        assert_starts(&outcome, "done ");
    }
    assert_begins(on_git("R3", "C4"), "done ");
    assert_string_equal(sh("git -C target.git ls-tree main f"), "");
    assert_begins(on_git("R4", "C3"), "done ");
    assert_string_equal(content("f"), "1\n2\n3\n4\n5\n6\n7");
    assert_nothing_left();
}

static void sets_that_share_a_part_are_rolled_back_together(void **state) {
    (void)state;
    landing_begin();
    sh("cd clone; git checkout -q main");
    const char *base = tip();
    put_on(base, "C1", "f", "ONE\n2\n3\nFOUR\n5\n6\n7\n");
    put_on(base, "C2", "f", "1\n2\n3\nFOUR\n5\n6\nSEVEN\n");
    assert_string_equal(
        sh("git -C target.git log -1 --format=%%B main | grep "
           "^CS-Overlaps"),
        sh("printf 'CS-Overlaps: C1\nCS-Overlaps-Sum: %s'", sum_of("C1")));
    const char *before = tip();
    const char *line = on_git("R1", "C1");
    assert_begins(line, "failed rb-conflict C1 and C2 made a part of their "
                        "changes both, so only both can be rolled back or "
                        "restored; add C2 to the rollback or revert by hand");
    assert_string_equal(tip(), before);
    assert_begins(on_git("R2", "C2"), "done ");
    assert_string_equal(content("f"), "ONE\n2\n3\nFOUR\n5\n6\n7");
    assert_begins(on_git("R3", "R2"), "done ");
    assert_begins(on_git("R4", "C1 C2"), "done ");
    assert_string_equal(content("f"), "1\n2\n3\n4\n5\n6\n7");
    assert_begins(on_git("R5", "R4"), "done ");
    assert_string_equal(content("f"), "ONE\n2\n3\nFOUR\n5\n6\nSEVEN");
    assert_nothing_left();
}

/* C2 has the text of the first C1; the second C1 shares nothing with it. */
static void what_sets_share_is_told_apart_by_their_sums(void **state) {
    (void)state;
    landing_begin();
    sh("cd clone; git checkout -q main");
    const char *base = tip();
    put_on(base, "C1", "f", "1\n2\n3\n4\n5\n6\n7\nmore\n");
    const char *one = sum_of("C1");
    put_on(base, "C2", "f", "1\n2\n3\n4\n5\n6\n7\nmore\n");
    put("C1", "f", "zero\n1\n2\n3\n4\n5\n6\n7\nmore\n");
    const char *two = sum_of("C1");
    assert_begins(on_git_by_sum("R1", "C1", two), "done ");
    assert_string_equal(content("f"), "1\n2\n3\n4\n5\n6\n7\nmore");
    const char *line = on_git_by_sum("R2", "C1", one);
    assert_begins(line, "done ");
    assert_contains(line, "C2 made the same change");
    assert_string_equal(content("f"), "1\n2\n3\n4\n5\n6\n7\nmore");
    assert_nothing_left();
}

/* C2 shares a part with the first C1 only. */
static void a_set_of_the_same_id_can_be_rolled_back_alone(void **state) {
    (void)state;
    landing_begin();
    sh("cd clone; git checkout -q main");
    const char *base = tip();
    put_on(base, "C1", "f", "ONE\n2\n3\nFOUR\n5\n6\n7\n");
    const char *one = sum_of("C1");
    put_on(base, "C2", "f", "1\n2\n3\nFOUR\n5\n6\nSEVEN\n");
    put("C1", "g", "two\n");
    const char *two = sum_of("C1");
    assert_begins(on_git_by_sum("R1", "C1", two), "done ");
    assert_string_equal(content("g"), "g");
    assert_begins(on_git_by_sum("R2", "C1", one), "failed rb-conflict C1 and ");
    assert_nothing_left();
}

/* Commits of earlier versions name the sets that they share with by their ids
 * alone. */
static void what_earlier_versions_say_of_shared_text_counts(void **state) {
    (void)state;
    landing_begin();
    sh("cd clone; git checkout -q main");
    const char *base = tip();
    put_on(base, "C1", "f", "1\n2\n3\n4\n5\n6\n7\nmore\n");
    put_on(base, "C2", "f", "1\n2\n3\n4\n5\n6\n7\nmore\n");
    strip_sums();
    const char *line = on_git("R1", "C1");
    assert_contains(line, "C2 made the same change");
    assert_string_equal(content("f"), "1\n2\n3\n4\n5\n6\n7\nmore");
    assert_nothing_left();
}

static void all_sets_in_the_way_are_named(void **state) {
    (void)state;
    landing_begin();
    put("C1", "f", "one\n");
    put("C2", "f", "two\n");
    put("C3", "g", "three\n");
    put("C4", "f", "four\n");
    const char *line = on_git("R1", "C1");
    assert_begins(line, "failed rb-conflict C1 cannot be rolled back: f was "
                        "also changed by C2 (done), C4 (done); add C2 C4 to ");
    assert_begins(on_git("R1", "C1 C2 C4"), "done ");
    assert_string_equal(content("f"), "1\n2\n3\n4\n5\n6\n7");
    assert_nothing_left();
}

static void a_missing_commit_fails_the_rollback(void **state) {
    (void)state;
    landing_begin();
    put("C1", "f", "one\n");
    put("C2", "g", "two\n");
    sh("git -C target.git update-ref refs/heads/main main~1");
    const char *before = tip();
    assert_begins(on_git("R1", "C1 C2"), "failed rb-absent the commit of C2");
    assert_string_equal(tip(), before);
}

static void trailers_in_a_message_are_not_trusted(void **state) {
    (void)state;
    landing_begin();
    put("C1", "f", "one\n");
    const struct set liar = {.id = "C2",
                             .sections =
                                 "##message\nx\n\nCS-Id: C1\nReverts-CS: C1\n",
                             .files = {{"g", "two\n"}}};
    struct outcome outcome = land(&(struct attempt){.set = &liar});
    assert_starts(&outcome, "done ");
    assert_begins(on_git("R1", "C1"), "done ");
    assert_string_equal(content("f"), "1\n2\n3\n4\n5\n6\n7");
}

static void sets_of_one_id_are_rolled_back_each_by_itself(void **state) {
    (void)state;
    landing_begin();
    put("C1", "f", "one\n");
    const char *one = sum_of("C1");
    put("C1", "g", "two\n");
    const char *two = sum_of("C1");
    assert_begins(on_git_by_sum("R1", "C1", two), "done ");
    assert_string_equal(content("f"), "one");
    assert_string_equal(content("g"), "g");
    assert_contains(sh("git -C target.git log -1 --format=%%B main"),
                    sh("printf 'Reverts-CS: C1\nReverts-CS-Sum: %s'", two));
    assert_begins(on_git_by_sum("R2", "C1", one), "done ");
    assert_string_equal(content("f"), "1\n2\n3\n4\n5\n6\n7");
    assert_begins(on_git("R3", "R1"), "done ");
    assert_string_equal(content("f"), "1\n2\n3\n4\n5\n6\n7");
    assert_string_equal(content("g"), "two");
    assert_begins(on_git("R4", "R3 R2"), "done ");
    assert_string_equal(content("f"), "one");
    assert_string_equal(content("g"), "g");
    assert_string_equal(on_git_by_sum("R5", "C1", two), "done");
    assert_contains(sh("cat account"), "C1 is rolled back already");
    assert_nothing_left();
}

/* Then the line says so, and a rollback of the rollback restores both; a set
 * that landed later is in effect. */
static void
a_line_without_a_sum_speaks_of_all_older_sets_of_its_id(void **state) {
    (void)state;
    landing_begin();
    put("C1", "f", "one\n");
    const char *one = sum_of("C1");
    put("C1", "g", "two\n");
    const char *two = sum_of("C1");
    char both[256];
    snprintf(both, sizeof both,
             "--git \"$PWD/target.git\" --branch main --member C1 %s DC 0 - "
             "--member C1 %s DC 0 -",
             one, two);
    assert_begins(roll_back("R1", "", both), "done ");
    sh("git -C target.git update-ref refs/heads/main \"$(cd target.git; "
       "git log -1 --format=%%B main | git commit-tree -p main~2 -F - "
       "'main^{tree}')\"");
    strip_sums();
    assert_string_equal(content("f"), "1\n2\n3\n4\n5\n6\n7");
    assert_string_equal(content("g"), "g");
    put("C1", "h", "three\n");
    const char *three = sum_of("C1");
    assert_string_equal(on_git_by_sum("R2", "C1", one), "done");
    assert_string_equal(on_git_by_sum("R2", "C1", two), "done");
    assert_begins(on_git("R3", "R1"), "done ");
    assert_string_equal(content("f"), "one");
    assert_string_equal(content("g"), "two");
    assert_string_equal(content("h"), "three");
    assert_begins(on_git("R4", "R3"), "done ");
    assert_string_equal(content("f"), "1\n2\n3\n4\n5\n6\n7");
    assert_string_equal(content("g"), "g");
    assert_string_equal(content("h"), "three");
    assert_begins(on_git_by_sum("R5", "C1", three), "done ");
    assert_string_equal(sh("git -C target.git ls-tree --name-only main"),
                        "f\ng");
    assert_nothing_left();
}

static void rollbacks_of_earlier_versions_can_be_rolled_back(void **state) {
    (void)state;
    landing_begin();
    put("C1", "f", "one\n");
    assert_begins(on_git("R1", "C1"), "done ");
    strip_sums();
    assert_begins(on_git("R2", "R1"), "done ");
    strip_sums();
    assert_string_equal(content("f"), "one");
    assert_begins(on_git("R3", "R2"), "done ");
    assert_string_equal(content("f"), "1\n2\n3\n4\n5\n6\n7");
    assert_string_equal(
        trailers("main"),
        "CS-Id: R3 RB-Id: R3 Reverts-CS: R2 Restores-CS: R1 Reverts-CS: C1");
    assert_begins(on_git("R4", "R3"), "done ");
    strip_sums();
    assert_begins(on_git("R5", "C1"), "done ");
    assert_string_equal(content("f"), "1\n2\n3\n4\n5\n6\n7");
    assert_nothing_left();
}

/* Somebody pushes commits with the id of a set, and of a rollback of it, but
 * not with its sum. */
static void pushed(const char *message) {
    sh("cd clone; git pull -q origin main; echo pushed >>g; "
       "printf 'push\n\n%s\n' | git commit -qa -F -; git push -q origin main",
       message);
}

static void pushes_with_the_id_of_a_set_change_no_rollback(void **state) {
    (void)state;
    landing_begin();
    put("C1", "f", "one\n");
    pushed("CS-Id: C1\nCS-Sum: 0");
    pushed("CS-Id: C1");
    pushed("CS-Id: R9\nCS-Sum: 9\nRB-Id: R9\n"
           "Reverts-CS: C1\nReverts-CS-Sum: 0");
    assert_begins(on_git("R1", "C1"), "done ");
    assert_string_equal(content("f"), "1\n2\n3\n4\n5\n6\n7");
    assert_string_equal(content("g"), "g\npushed\npushed\npushed");
    pushed("CS-Id: C1\nCS-Sum: 0");
    pushed("CS-Id: R1\nCS-Sum: 0");
    pushed("CS-Id: R9\nCS-Sum: 9\nRB-Id: R9\n"
           "Restores-CS: C1\nRestores-CS-Sum: 0");
    assert_string_equal(on_git("R2", "C1"), "done");
    assert_begins(on_git("R3", "R1"), "done ");
    assert_string_equal(content("f"), "one");
    assert_string_equal(sh("git -C target.git show main:g | wc -l"), "7");
    assert_nothing_left();
}

/* Its commit is not on the first-parent line, so nothing can be replayed. */
static void
sets_that_a_merge_brought_are_rolled_back_and_restored(void **state) {
    (void)state;
    landing_begin();
    sh("git -C target.git branch next main");
    const struct set one = {.id = "C1", .files = {{"f", "one\n"}}};
    struct outcome outcome =
        land(&(struct attempt){.set = &one, .branch = "next"});
    assert_starts(&outcome, "done ");
    sh("cd clone; git pull -q --no-ff --no-rebase --no-edit origin next; "
       "git push -q origin HEAD:main");
    assert_begins(on_git("R1", "C1"), "done ");
    assert_string_equal(content("f"), "1\n2\n3\n4\n5\n6\n7");
    assert_begins(on_git("R2", "R1"), "done ");
    assert_string_equal(content("f"), "one");
    assert_contains(sh("git -C target.git log -1 --format=%%B main"),
                    sh("printf 'Reverts-CS: R1\nReverts-CS-Sum: %%s\n"
                       "Restores-CS: C1\nRestores-CS-Sum: %%s' "
                       "$(printf R1 | sha256sum | cut -c1-64) %s",
                       sum_of("C1")));
    assert_begins(on_git("R3", "C1"), "done ");
    assert_string_equal(content("f"), "1\n2\n3\n4\n5\n6\n7");
    assert_nothing_left();
}

static void a_rollback_waits_for_its_branch(void **state) {
    (void)state;
    landing_begin();
    put("C1", "f", "one\n");
    const char *at = tip();
    sh("git -C target.git update-ref -d refs/heads/main");
    assert_begins(on_git("R1", "C1"), "unavailable no branch 'main'");
    const char *probe = "--git \"$PWD/target.git\" --branch main --probe";
    assert_begins(roll_back("R1", "C1", probe), "unavailable no branch 'main'");
    sh("git -C target.git update-ref refs/heads/main %s", at);
    assert_begins(on_git("R1", "C1"), "done ");
    sh("mv target.git away.git");
    assert_begins(on_git("R2", "C1"), "unavailable no git repository");
    sh("mv away.git target.git");
}

static void a_rollback_happens_once(void **state) {
    (void)state;
    landing_begin();
    put("C1", "f", "one\n");
    const char *git = "--git \"$PWD/target.git\" --branch main";
    char probe[128];
    snprintf(probe, sizeof probe, "%s --probe", git);
    assert_string_equal(roll_back("R1", "C1", probe), "not-landed");
    assert_begins(on_git("R1", "C1"), "done ");
    const char *at = tip();
    assert_string_equal(roll_back("R1", "C1", probe), sh("echo landed %s", at));
    assert_string_equal(on_git("R1", "C1"), sh("echo already-landed %s", at));
    assert_string_equal(tip(), at);
}

static void a_preview_changes_nothing(void **state) {
    (void)state;
    landing_begin();
    put("C1", "f", "one\n");
    put("C9", "f", "nine\n");
    const char *options = "--git \"$PWD/target.git\" --branch main --preview";
    const char *before = sh("find target.git | LC_ALL=C sort | sha256sum");
    assert_begins(roll_back("R1", "C9 C1", options), "done ");
    assert_begins(roll_back("R1", "C1", options), "failed rb-conflict ");
    assert_string_equal(sh("find target.git | LC_ALL=C sort | sha256sum"),
                        before);
    assert_nothing_left();
}

static void added_and_deleted_files_are_reverted(void **state) {
    (void)state;
    landing_begin();
    sh("cd clone; mkdir d; for i in 1 2 3 4 5 6 7 8; do echo line $i; done "
       ">d/x; chmod +x d/x; git add d; git commit -qm d; git push -q origin "
       "main");
    const struct set set = {.id = "C1",
                            .deleted = {"d/x"},
                            .files = {{"d/x/y", "deep\n"}, {"g", "G\n", 0755}}};
    struct outcome outcome = land(&(struct attempt){.set = &set});
    assert_starts(&outcome, "done ");
    assert_begins(on_git("R1", "C1"), "done ");
    assert_string_equal(sh("git -C target.git diff main main~2"), "");
    assert_string_equal(sh("git -C target.git ls-tree main d/x | cut -c1-6"),
                        "100755");
    assert_nothing_left();
}

static void push(const char *script) {
    sh("cd clone; git pull -q origin main\n%s\n"
       "git add -A; git commit -qm push; git push -q origin main",
       script);
}

static void a_revert_does_not_follow_a_rename(void **state) {
    (void)state;
    landing_begin();
    put("C1", "f", "1\n2\n3\n4\n5\n6\nseven\n");
    push("mkdir sec; git mv f sec/f");
    const char *before = tip();
    const char *line = on_git("R1", "C1");
    assert_begins(line, "failed rb-conflict C1 ");
    assert_contains(line, "f was also changed by commit ");
    assert_string_equal(tip(), before);
    assert_nothing_left();
}

static void a_restored_file_does_not_follow_a_rename(void **state) {
    (void)state;
    landing_begin();
    push("mkdir d; for i in a b c; do echo $i >d/$i; done");
    const struct set set = {.id = "C1", .deleted = {"d/a"}};
    struct outcome outcome = land(&(struct attempt){.set = &set});
    assert_starts(&outcome, "done ");
    push("git mv d sec");
    assert_begins(on_git("R1", "C1"), "done ");
    assert_string_equal(sh("git -C target.git diff-tree -r --name-only "
                           "--no-commit-id main"),
                        "d/a");
    assert_nothing_left();
}

static void mode_and_content_are_reverted_separately(void **state) {
    (void)state;
    landing_begin();
    const struct set set = {
        .id = "C1", .files = {{"f", "ONE\n2\n3\n4\n5\n6\n7\n", .mode = 0755}}};
    struct outcome outcome = land(&(struct attempt){.set = &set});
    assert_starts(&outcome, "done ");
    push("sed -i s/7/seven/ f");
    assert_begins(on_git("R1", "C1"), "done ");
    assert_string_equal(content("f"), "1\n2\n3\n4\n5\n6\nseven");
    assert_string_equal(sh("git -C target.git ls-tree main f | cut -c1-6"),
                        "100644");
    assert_nothing_left();
}

/* Asserts that the change that `script` makes prevents a rollback of C1, which
 * changed f and n and deleted g, and that the error names `path`. */
static void assert_prevents_rollback(const char *script, const char *path) {
    landing_begin();
    const struct set set = {
        .id = "C1", .deleted = {"g"}, .files = {{"f", "one\n"}, {"n", "n\n"}}};
    struct outcome outcome = land(&(struct attempt){.set = &set});
    assert_starts(&outcome, "done ");
    push(script);
    const char *before = tip();
    const char *line = on_git("R1", "C1");
    char words[64];
    snprintf(words, sizeof words, "C1 cannot be rolled back: %s was also ",
             path);
    assert_begins(line, "failed rb-conflict ");
    assert_contains(line, words);
    assert_string_equal(tip(), before);
    assert_nothing_left();
}

static void changes_that_cannot_be_merged_are_a_conflict(void **state) {
    (void)state;
    assert_prevents_rollback("ln -sf n f", "f");
    assert_prevents_rollback("rm f; mkdir f; echo x >f/x", "f");
    assert_prevents_rollback("rm f", "f");
    assert_prevents_rollback("printf 'one\\0two' >f", "f");
    assert_prevents_rollback("echo more >>n", "n");
    assert_prevents_rollback("echo other >g", "g");
    assert_prevents_rollback("mkdir g; echo x >g/x", "g");
}

static void the_first_commit_of_a_branch_can_be_reverted(void **state) {
    (void)state;
    landing_begin_empty("");
    put("C1", "f", "one\n");
    assert_begins(on_git("R1", "C1"), "done ");
    assert_string_equal(sh("git -C target.git ls-tree main"), "");
    assert_nothing_left();
}

static void a_sha256_repository_can_be_reverted(void **state) {
    (void)state;
    landing_begin_empty("--object-format=sha256");
    put("C1", "f", "one\n");
    put("C2", "f", "two\n");
    assert_begins(on_git("R1", "C2"), "done ");
    assert_string_equal(content("f"), "one");
}

/* The rollback is killed at its k-th mutating call, for every k, and repeated
 * until it ends: both sets are reverted once, and never only one of them. */
static void a_killed_rollback_is_all_or_nothing(void **state) {
    (void)state;
    require_strace();
    enum { POINTS_MAX = 300 };
    prctl(PR_SET_CHILD_SUBREAPER, 1L, 0L, 0L, 0L);
    landing_begin();
    put("C1", "f", "one\n");
    put("C2", "h", "two\n");
    sh("rm -rf begin.git; cp -a target.git begin.git; rm -f counts\n"
       "echo revert --id R1 --sum x --target main --git $PWD/target.git "
       "--branch main --work $PWD/tmp/w "
       "--member C1 $(sha256sum <sets/C1 | cut -c1-64) DC 0 - "
       "--member C2 $(sha256sum <sets/C2 | cut -c1-64) DC 0 - >words");
    unsigned point = 1;
    for (; point < POINTS_MAX; point += test_sweep_stride(2)) {
        sh("rm -rf target.git tmp; cp -a begin.git target.git; mkdir tmp\n"
           "is=0; ASAN_OPTIONS=detect_leaks=0 setsid -w sh -c 'echo $$ >pid; "
           "exec strace -o /dev/null -e "
           "inject=write,rename,renameat2,unlink,unlinkat,mkdir,mkdirat,rmdir,"
           "fsync:signal=KILL:when=%u \"$LAND_PROGRAM\" $(cat words)' "
           ">account 2>&1 || is=$?; echo $is >first\n"
           "kill -KILL -- -$(cat pid) 2>/dev/null || :",
           point);
        /* No process of the rollback is left, as with the guard. */
        while (waitpid(-1, NULL, 0) > 0 || errno == EINTR)
            continue;
        sh("git -C target.git rev-list --count main >>counts\n"
           "for i in 1 2 3 4 5 6 7 8 9; do is=0\n"
           "POINTSMAN_STATUS_FD=3 \"$LAND_PROGRAM\" $(cat words) 3>status "
           ">>account 2>&1 || is=$?\n"
           "[ $is = 111 ] || break; done");
        if (strcmp(commits(), "5") != 0 ||
            *sh("git -C target.git diff main main~4") != '\0')
            fail_msg("killed at call %u: %s", point, sh("cat account status"));
        assert_nothing_left();
        if (strcmp(sh("cat first"), "0") == 0)
            break;
    }
    assert_in_range(point, 10, POINTS_MAX - 1);
    assert_string_equal(sh("sort -u counts | tr '\\n' ' '"), "3 5 ");
}

/* ---- targets that are commands ------------------------------------------- */

static void begin_site(void) {
    landing_begin();
    sh("rm -rf site; mkdir site\n"
       "printf '#!/bin/sh\\ncat lroot/f >>%s/site/log\\n"
       "case $POINTSMAN_CSID in bad*) exit 3;; busy*) [ -e %s/site/go ] || "
       "exit 75;; esac\\n' >undo; chmod +x undo",
       test_dir(), test_dir());
}

static const char *on_site(const char *members, const char *more) {
    CLEANUP(text_clear) struct text options = TEXT_INIT;
    text_addf(&options, "--command \"$PWD/apply\" %s", more);
    return roll_back("R1", members, text_string(&options));
}

static void write_set(const char *id) {
    char text[32];
    snprintf(text, sizeof text, "%s\n", id);
    const struct set set = {.id = id, .files = {{"f", text}}};
    set_write(&set);
}

static void a_revert_command_runs_for_each_member_in_order(void **state) {
    (void)state;
    begin_site();
    write_set("C1");
    write_set("C2");
    assert_string_equal(on_site("C2 C1", "--revert \"$PWD/undo\""), "done");
    assert_string_equal(sh("cat site/log"), "C2\nC1");
    assert_string_equal(sh("ls -A tmp"), "");
}

static void a_rollback_fails_without_a_revert_command(void **state) {
    (void)state;
    begin_site();
    write_set("C1");
    assert_begins(on_site("C1", ""), "failed rb-target ");
}

static void a_failed_revert_command_reports_what_was_undone(void **state) {
    (void)state;
    begin_site();
    write_set("C1");
    write_set("bad");
    write_set("C3");
    const char *line = on_site("C3 bad C1", "--revert \"$PWD/undo\"");
    assert_begins(line, "failed rb-command bad: exit-3 ");
    assert_contains(line, "; undone before that: C3");
    assert_string_equal(sh("cat site/log"), "C3\nbad");
    assert_string_equal(sh("ls -A tmp"), "");
}

static void a_later_attempt_continues_where_the_first_stopped(void **state) {
    (void)state;
    begin_site();
    write_set("C1");
    write_set("busy");
    write_set("C3");
    assert_begins(on_site("C3 busy C1", "--revert \"$PWD/undo\""),
                  "temporary ");
    sh("touch site/go");
    assert_string_equal(on_site("C3 busy C1", "--revert \"$PWD/undo\""),
                        "done");
    assert_string_equal(sh("cat site/log"), "C3\nbusy\nbusy\nC1");
    assert_string_equal(sh("ls -A tmp"), "");
}

static void a_set_that_was_rolled_back_is_applied_again(void **state) {
    (void)state;
    begin_site();
    write_set("C1");
    CLEANUP(text_clear) struct text again = TEXT_INIT;
    sh("printf '#!/bin/sh\\necho again $POINTSMAN_CSID >>%s/site/log\\n' "
       ">apply; chmod +x apply",
       test_dir());
    text_adds(&again, "--command \"$PWD/apply\"");
    member_add(&again, "--again", "C1");
    assert_string_equal(
        sh("POINTSMAN_STATUS_FD=3 \"$LAND_PROGRAM\" revert --id R2 --sum x "
           "--work \"$PWD/tmp/w\" %s 3>status >account 2>&1; cat status",
           text_string(&again)),
        "done");
    assert_string_equal(sh("cat site/log"), "again C1");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(several_sets_are_reverted_in_one_update),
        cmocka_unit_test(lines_of_other_sets_stay),
        cmocka_unit_test(a_later_set_that_prevents_a_rollback_is_named),
        cmocka_unit_test(a_push_that_prevents_a_rollback_is_named),
        cmocka_unit_test(sets_that_a_merge_brought_are_named),
        cmocka_unit_test(a_rollback_of_a_rollback_restores_the_sets),
        cmocka_unit_test(two_rollbacks_of_one_set_are_rolled_back_at_once),
        cmocka_unit_test(rolling_back_a_restored_rollback_touches_nothing_else),
        cmocka_unit_test(a_set_already_rolled_back_is_only_noted),
        cmocka_unit_test(a_set_of_which_nothing_is_left_is_reported),
        cmocka_unit_test(text_of_a_set_rolled_back_stays_away),
        cmocka_unit_test(text_that_a_later_set_put_again_stays),
        cmocka_unit_test(text_that_two_sets_put_stays_with_one_of_them),
        cmocka_unit_test(a_file_that_two_sets_added_or_deleted_is_that_of_both),
        cmocka_unit_test(sets_that_share_a_part_are_rolled_back_together),
        cmocka_unit_test(what_sets_share_is_told_apart_by_their_sums),
        cmocka_unit_test(a_set_of_the_same_id_can_be_rolled_back_alone),
        cmocka_unit_test(what_earlier_versions_say_of_shared_text_counts),
        cmocka_unit_test(all_sets_in_the_way_are_named),
        cmocka_unit_test(a_missing_commit_fails_the_rollback),
        cmocka_unit_test(trailers_in_a_message_are_not_trusted),
        cmocka_unit_test(sets_of_one_id_are_rolled_back_each_by_itself),
        cmocka_unit_test(
            a_line_without_a_sum_speaks_of_all_older_sets_of_its_id),
        cmocka_unit_test(rollbacks_of_earlier_versions_can_be_rolled_back),
        cmocka_unit_test(pushes_with_the_id_of_a_set_change_no_rollback),
        cmocka_unit_test(
            sets_that_a_merge_brought_are_rolled_back_and_restored),
        cmocka_unit_test(a_rollback_waits_for_its_branch),
        cmocka_unit_test(a_rollback_happens_once),
        cmocka_unit_test(a_preview_changes_nothing),
        cmocka_unit_test(added_and_deleted_files_are_reverted),
        cmocka_unit_test(a_revert_does_not_follow_a_rename),
        cmocka_unit_test(a_restored_file_does_not_follow_a_rename),
        cmocka_unit_test(mode_and_content_are_reverted_separately),
        cmocka_unit_test(changes_that_cannot_be_merged_are_a_conflict),
        cmocka_unit_test(the_first_commit_of_a_branch_can_be_reverted),
        cmocka_unit_test(a_sha256_repository_can_be_reverted),
        cmocka_unit_test(a_killed_rollback_is_all_or_nothing),
        cmocka_unit_test(a_revert_command_runs_for_each_member_in_order),
        cmocka_unit_test(a_rollback_fails_without_a_revert_command),
        cmocka_unit_test(a_failed_revert_command_reports_what_was_undone),
        cmocka_unit_test(a_later_attempt_continues_where_the_first_stopped),
        cmocka_unit_test(a_set_that_was_rolled_back_is_applied_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
