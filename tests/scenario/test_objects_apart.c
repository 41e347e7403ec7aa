/* Objects that the program writes without git, and publishes. */
#include "support/landing.h"

#include <string.h>
#include <sys/stat.h>

#include "landing/git.h"
#include "landing/objects_apart.h"

/* The repository target.git with objects apart in work/objects. */
static struct git begin(const char *options) {
    char dir[512], work[512];
    struct git git;
    struct err err = {0};
    landing_begin_empty(options);
    sh("rm -rf work; mkdir work");
    snprintf(dir, sizeof dir, "%s/target.git", test_dir());
    snprintf(work, sizeof work, "%s/work", test_dir());
    assert_true(git_open(dir, work, NULL, &git, &err));
    assert_true(objects_apart_open(&git, "objects", &err));
    return git;
}

static const char *stored(struct git *git, const char *type,
                          struct span content) {
    static char oid[OID_BYTES];
    struct err err = {0};
    if (!objects_apart_write(git, type, content, oid, &err))
        fail_msg("%s", err.text);
    return oid;
}

static void assert_published(struct git *git) {
    struct err err = {0};
    if (!objects_apart_publish(git, &err))
        fail_msg("%s", err.text);
}

static char bytes[200000];

static void assert_as_git(const char *options) {
    static const size_t sizes[] = {0, 1, 65534, 65535, 65536, 131071, 200000};
    struct git git = begin(options);
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (char)(i * i % 251);
    for (size_t i = 0; i < COUNT(sizes); i++) {
        const char *oid = stored(&git, "blob", span_make(bytes, sizes[i]));
        char path[512];
        snprintf(path, sizeof path, "%s/content", test_dir());
        FILE *file = fopen(path, "w");
        assert_non_null(file);
        assert_int_equal(fwrite(bytes, 1, sizes[i], file), sizes[i]);
        fclose(file);
        assert_string_equal(sh("git -C target.git hash-object ../content"),
                            oid);
        assert_published(&git);
        sh("git -C target.git cat-file blob %s | cmp - content", oid);
    }
    assert_string_equal(stored(&git, "tree", SPAN("")),
                        sh("git -C target.git mktree </dev/null"));
    assert_published(&git);
    sh("git -C target.git fsck --strict --no-dangling >&2");
    assert_string_equal(sh("find work target.git -name 'tmp_*'"), "");
    git_close(&git);
}

static void objects_are_those_of_git(void **state) {
    (void)state;
    assert_as_git("");
    assert_as_git("--object-format=sha256");
}

static void nothing_is_in_the_repository_before_it_is_published(void **state) {
    (void)state;
    struct git git = begin("");
    const char *oid = stored(&git, "blob", SPAN("content"));
    assert_string_equal(sh("find target.git/objects -type f"), "");
    struct text content = TEXT_INIT;
    assert_true(git_run(&git, GIT_ARGS("cat-file", "blob", oid), GIT_PLAIN,
                        SPAN(""), &content, NULL, NULL));
    assert_string_equal(text_string(&content), "content");
    text_clear(&content);
    assert_published(&git);
    assert_published(&git);
    assert_string_equal(sh("git -C target.git cat-file blob %s", oid),
                        "content");
    assert_string_equal(sh("find work -type f"), "");
    git_close(&git);
}

/* The same questions are answered from memory, and by git after a flush. */
static void held_objects_can_be_read(void **state) {
    (void)state;
    struct git git = begin("");
    struct git_pipe objects;
    struct err err = {0};
    assert_true(git_objects_open(&git, &objects, &err));
    char oid[OID_BYTES], found_oid[OID_BYTES], type[16];
    snprintf(oid, sizeof oid, "%s", stored(&git, "blob", SPAN("content")));
    const struct git_lookup lookups[] = {
        {.oid = "0123456789012345678901234567890123456789"},
        {.oid = oid, .type = "blob", .whole = true},
        {.oid = oid, .type = "tree"}};
    for (int flushed = 0; flushed <= 1; flushed++) {
        struct text content = TEXT_INIT;
        bool found = false;
        size_t bad;
        assert_string_equal(sh("find work -type f | wc -l"),
                            flushed ? "1" : "0");
        assert_true(git_object_read(&objects, oid, found_oid, type, &content,
                                    &found, &err));
        assert_true(found);
        assert_string_equal(found_oid, oid);
        assert_string_equal(type, "blob");
        assert_string_equal(text_string(&content), "content");
        assert_true(git_objects_verify(&objects, lookups, 3, &bad, &err));
        assert_int_equal(bad, 0);
        assert_true(git_objects_verify(&objects, lookups + 1, 2, &bad, &err));
        assert_int_equal(bad, 1);
        text_clear(&content);
        assert_true(objects_apart_flush(&git, &err));
    }
    git_pipe_drop(&objects);
    git_close(&git);
}

static void packs_are_published(void **state) {
    (void)state;
    struct git git = begin("");
    sh("cd target.git; for i in $(seq 5); do echo $i | git hash-object -w "
       "--stdin; done >../names; mkdir ../work/objects/pack; git pack-objects "
       "-q ../work/objects/pack/pack <../names; rm -r objects/??");
    assert_published(&git);
    sh("cd target.git; git verify-pack objects/pack/*.idx; "
       "xargs -n 1 git cat-file blob <../names >&2");
    git_close(&git);
}

static void a_damaged_object_is_replaced(void **state) {
    (void)state;
    static const char *const damages[] = {"x", "xxxxxxxxxxxxxxxxxxxxxxx"};
    struct git git = begin("");
    for (size_t i = 0; i < COUNT(damages); i++) {
        const char *oid = stored(&git, "blob", SPAN("content"));
        sh("o=target.git/objects/%.2s; mkdir -p $o; rm -f $o/%s; "
           "printf '%s' >$o/%s",
           oid, oid + 2, damages[i], oid + 2);
        assert_published(&git);
        assert_string_equal(sh("git -C target.git cat-file blob %s", oid),
                            "content");
    }
    git_close(&git);
}

/* As `git init --shared=group` and `--shared=0600` make them. */
static void modes_are_those_of_the_directory(void **state) {
    (void)state;
    static const struct {
        mode_t objects, file;
    } cases[] = {{02775, 0444}, {0755, 0444}, {0700, 0400}, {02770, 0440}};
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct git git = begin("");
        char path[512];
        struct stat st;
        sh("chmod %o target.git/objects", (unsigned)cases[i].objects);
        const char *oid = stored(&git, "blob", SPAN("content"));
        assert_published(&git);
        snprintf(path, sizeof path, "%s/target.git/objects/%.2s", test_dir(),
                 oid);
        assert_int_equal(stat(path, &st), 0);
        assert_int_equal(st.st_mode & 07777, cases[i].objects);
        snprintf(path, sizeof path, "%s/target.git/objects/%.2s/%s", test_dir(),
                 oid, oid + 2);
        assert_int_equal(stat(path, &st), 0);
        assert_int_equal(st.st_mode & 07777, cases[i].file);
        git_close(&git);
    }
}

static void a_failure_leaves_nothing_behind(void **state) {
    (void)state;
    struct git git = begin("");
    struct err err = {0};
    const char *oid = stored(&git, "blob", SPAN("content"));
    sh("mkdir -p target.git/objects/%.2s/%s", oid, oid + 2);
    assert_false(objects_apart_publish(&git, &err));
    assert_int_equal(err.kind, ERR_UNAVAILABLE);
    assert_string_equal(sh("find target.git -name 'tmp_*'"), "");
    sh("rm -r target.git/objects/%.2s; : >target.git/objects/%.2s", oid, oid);
    stored(&git, "blob", SPAN("content"));
    err_clear(&err);
    assert_false(objects_apart_publish(&git, &err));
    assert_int_equal(err.kind, ERR_UNAVAILABLE);
    sh("rm target.git/objects/%.2s", oid);
    assert_published(&git);
    git_close(&git);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(objects_are_those_of_git),
        cmocka_unit_test(nothing_is_in_the_repository_before_it_is_published),
        cmocka_unit_test(held_objects_can_be_read),
        cmocka_unit_test(packs_are_published),
        cmocka_unit_test(a_damaged_object_is_replaced),
        cmocka_unit_test(modes_are_those_of_the_directory),
        cmocka_unit_test(a_failure_leaves_nothing_behind),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
