/* The merge of a path, compared with `git merge-file` over random files of few
 * different lines. */
#include "support/landing.h"

#include <string.h>

#include "landing/git.h"
#include "landing/path_merge.h"
#include "lib/random.h"

/* Lines of a small alphabet, so that many are equal. */
static void lines_make(struct random *random, struct text *out) {
    for (uint64_t n = random_below(random, 12); n > 0; n--)
        text_addf(out, "%c\n", "xxxyz"[random_below(random, 5)]);
}

/* One or two changes: lines that are added, removed or replaced. */
static void lines_change(struct random *random, struct text *lines) {
    for (uint64_t n = 1 + random_below(random, 2); n > 0; n--) {
        CLEANUP(text_clear) struct text changed = TEXT_INIT;
        size_t at = 2 * random_below(random, lines->len / 2 + 1);
        size_t gone = 2 * random_below(random, 3);
        if (gone > lines->len - at)
            gone = lines->len - at;
        text_add(&changed, text_string(lines), at);
        if (gone == 0 || random_below(random, 2) == 0)
            text_addf(&changed, "%c\n", "xyzn"[random_below(random, 4)]);
        text_adds(&changed, text_string(lines) + at + gone);
        text_reset(lines);
        text_addspan(lines, text_span(&changed));
    }
}

static void file_write(unsigned number, const char *side, struct span content) {
    char path[512];
    snprintf(path, sizeof path, "%s/files/%u.%s", test_dir(), number, side);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_int_equal(fwrite(content.p, 1, content.len, file), content.len);
    assert_int_equal(fclose(file), 0);
}

static void files_make(unsigned count) {
    struct random random;
    random_init(&random, 12);
    for (unsigned i = 0; i < count; i++) {
        CLEANUP(text_clear) struct text base = TEXT_INIT;
        CLEANUP(text_clear) struct text ours = TEXT_INIT;
        CLEANUP(text_clear) struct text theirs = TEXT_INIT;
        lines_make(&random, &base);
        text_addspan(&ours, text_span(&base));
        text_addspan(&theirs, text_span(&base));
        lines_change(&random, &ours);
        lines_change(&random, &theirs);
        /* Sometimes the last line is incomplete. */
        if (theirs.len > 0 && random_below(&random, 8) == 0)
            theirs.len--;
        file_write(i, "base", text_span(&base));
        file_write(i, "ours", text_span(&ours));
        file_write(i, "theirs", text_span(&theirs));
    }
}

static struct tree_entry entry_of(const char *name) {
    struct tree_entry entry = {.mode = 0100644};
    snprintf(entry.oid, sizeof entry.oid, "%s", name);
    return entry;
}

/* What git makes of it: the name of the content, or "conflict". */
static void what_git_does(FILE *names, struct tree_entry ret_sides[PATH_SIDES],
                          char ret_merged[OID_BYTES]) {
    char ours[OID_BYTES], base[OID_BYTES], theirs[OID_BYTES];
    assert_int_equal(
        fscanf(names, "%64s %64s %64s %64s", ours, base, theirs, ret_merged),
        4);
    ret_sides[PATH_OURS] = entry_of(ours);
    ret_sides[PATH_BASE] = entry_of(base);
    ret_sides[PATH_THEIRS] = entry_of(theirs);
}

static void a_merge_does_what_git_merge_file_does(void **state) {
    (void)state;
    unsigned count = test_cases(500);
    char dir[512], work[512], path[512];
    struct git git;
    struct git_pipe objects;
    struct err err = {0};
    sh("rm -rf repo files work; mkdir files work; git init -q --bare repo");
    files_make(count);
    sh("cd files; export GIT_DIR=../repo; n=0\n"
       "while [ $n -lt %u ]; do\n"
       "if git merge-file -p -q $n.ours $n.base $n.theirs >$n.merged\n"
       "then :; else rm $n.merged; fi; n=$((n + 1)); done\n"
       "ls | git hash-object -w --stdin-paths --no-filters >../oids\n"
       "ls | paste -d ' ' - ../oids | awk -v n=%u '{ o[$1] = $2 } END {\n"
       "for (i = 0; i < n; i++) { m = o[i \".merged\"];\n"
       "print o[i \".ours\"], o[i \".base\"], o[i \".theirs\"],\n"
       "m == \"\" ? \"conflict\" : m } }' >../names",
       count, count);
    snprintf(dir, sizeof dir, "%s/repo", test_dir());
    snprintf(work, sizeof work, "%s/work", test_dir());
    snprintf(path, sizeof path, "%s/names", test_dir());
    FILE *names = fopen(path, "r");
    assert_non_null(names);
    assert_true(git_open(dir, work, NULL, &git, &err));
    assert_true(git_objects_open(&git, &objects, &err));
    for (unsigned i = 0; i < count; i++) {
        struct path_merge merge = {
            .git = &git, .objects = &objects, .is_in_memory = true};
        struct tree_entry sides[PATH_SIDES], merged;
        char expected[OID_BYTES];
        enum path_merged result;
        what_git_does(names, sides, expected);
        assert_true(path_merge(&merge, &sides[PATH_BASE], &sides[PATH_OURS],
                               &sides[PATH_THEIRS], &merged, &result, &err));
        const char *found = result == PATH_CLEAN ? merged.oid : "conflict";
        if (strcmp(found, expected) != 0)
            fail_msg("files/%u:\n%s", i,
                     sh("cd files; tail -n +1 %u.*; git -C ../repo cat-file -p "
                        "%s || :",
                        i, found));
        path_merge_clear(&merge);
    }
    fclose(names);
    git_pipe_drop(&objects);
    git_close(&git);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_merge_does_what_git_merge_file_does),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
