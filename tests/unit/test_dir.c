#include "os/dir.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "lib/attr.h"
#include "support/test.h"

static int new_dir(void) {
    static int count;
    char path[4096];
    snprintf(path, sizeof(path), "%s/d%d", test_dir(), count++);
    assert_int_equal(mkdir(path, 0700), 0);
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_true(fd >= 0);
    assert_true(dir_make(fd, "a", 0700, NULL));
    assert_true(dir_make(fd, "b", 0700, NULL));
    return fd;
}

static void put(int dir, const char *name, const char *text) {
    CLEANUP(fd_close)
    int fd = openat(dir, name, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
}

static void assert_content(int dir, const char *name, const char *text) {
    CLEANUP(text_clear) struct text found = TEXT_INIT;
    assert_true(dir_read(dir, name, 1000, &found, NULL));
    assert_string_equal(text_string(&found), text);
}

static int sub(int dir, const char *name) {
    int fd;
    assert_true(dir_open(dir, name, &fd, NULL));
    return fd;
}

static bool is_there(int dir, const char *name) {
    struct stat st;
    bool there;
    assert_true(dir_stat(dir, name, &st, &there, NULL));
    return there;
}

static void a_name_never_leads_out_of_its_directory(void **state) {
    CLEANUP(fd_close) int dir = new_dir();
    struct err err = {0};
    int fd;
    (void)state;
    put(dir, "secret", "x");
    CLEANUP(fd_close) int a = sub(dir, "a");
    assert_int_equal(symlinkat("../secret", a, "link"), 0);
    assert_int_equal(symlinkat("/etc", a, "etc"), 0);
    assert_false(dir_open_file(a, "../secret", O_RDONLY, 0, &fd, &err));
    assert_false(dir_open_file(a, "/etc/passwd", O_RDONLY, 0, &fd, &err));
    assert_false(dir_open_file(a, "link", O_RDONLY, 0, &fd, &err));
    assert_false(dir_open_file(a, "etc/passwd", O_RDONLY, 0, &fd, &err));
    assert_false(
        dir_open_file(a, "../new", O_WRONLY | O_CREAT, 0600, &fd, &err));
    assert_false(dir_write(a, a, "../new", SPAN("x"), 0600, DIR_LAZY, &err));
    assert_false(is_there(dir, "new"));
    assert_true(dir_open_file(dir, "a/./link/../link", O_PATH, 0, &fd, &err) ==
                false);
}

static void writing_replaces_the_file_and_leaves_nothing_behind(void **state) {
    CLEANUP(fd_close) int dir = new_dir();
    CLEANUP(fd_close) int a = sub(dir, "a");
    CLEANUP(fd_close) int b = sub(dir, "b");
    CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
    struct span *names;
    size_t count;
    (void)state;
    assert_true(dir_write(a, b, "x", SPAN("one"), 0600, DIR_DURABLE, NULL));
    assert_true(dir_write(a, b, "x", SPAN("two"), 0600, DIR_LAZY, NULL));
    assert_content(b, "x", "two");
    assert_true(dir_list(a, &arena, &names, &count, NULL));
    assert_int_equal(count, 0);
}

static void a_move_never_replaces(void **state) {
    CLEANUP(fd_close) int dir = new_dir();
    CLEANUP(fd_close) int a = sub(dir, "a");
    CLEANUP(fd_close) int b = sub(dir, "b");
    enum dir_moved moved;
    (void)state;
    put(a, "x", "mine");
    put(b, "x", "theirs");
    assert_true(dir_move(a, "x", b, "x", DIR_DURABLE, &moved, NULL));
    assert_int_equal(moved, DIR_EXISTS);
    assert_content(a, "x", "mine");
    assert_content(b, "x", "theirs");
    assert_true(dir_move(a, "y", b, "y", DIR_DURABLE, &moved, NULL));
    assert_int_equal(moved, DIR_ABSENT);
    assert_true(dir_move(a, "x", b, "y", DIR_DURABLE, &moved, NULL));
    assert_int_equal(moved, DIR_MOVED);
    assert_content(b, "y", "mine");
    assert_false(is_there(a, "x"));
}

static int no_renameat2(int from_dir, const char *from, int to_dir,
                        const char *to, unsigned flags) {
    (void)from_dir, (void)from, (void)to_dir, (void)to, (void)flags;
    errno = EINVAL;
    return -1;
}

static void a_move_works_without_renameat2_flags(void **state) {
    const struct disk *whole = disk;
    struct disk poor = *whole;
    poor.renameat2 = no_renameat2;
    disk = &poor;
    a_move_never_replaces(state);
    disk = whole;
}

static void moving_onto_a_hard_link_removes_the_old_name(void **state) {
    CLEANUP(fd_close) int dir = new_dir();
    CLEANUP(fd_close) int a = sub(dir, "a");
    CLEANUP(fd_close) int b = sub(dir, "b");
    enum dir_moved moved;
    (void)state;
    put(a, "x", "text");
    assert_int_equal(linkat(a, "x", b, "x", 0), 0);
    assert_true(dir_move(a, "x", b, "x", DIR_DURABLE, &moved, NULL));
    assert_int_equal(moved, DIR_MOVED);
    assert_false(is_there(a, "x"));
    assert_content(b, "x", "text");
}

static int full_after;
static ssize_t full_write(int fd, const void *bytes, size_t count) {
    if (full_after == 0) {
        errno = ENOSPC;
        return -1;
    }
    full_after--;
    return write(fd, bytes, count > 1 ? count / 2 : count);
}

static void a_full_disk_keeps_the_old_file_and_cleans_up(void **state) {
    CLEANUP(fd_close) int dir = new_dir();
    CLEANUP(fd_close) int a = sub(dir, "a");
    CLEANUP(fd_close) int b = sub(dir, "b");
    CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
    const struct disk *whole = disk;
    struct disk full = *whole;
    struct err err = {0};
    struct span *names;
    size_t count;
    (void)state;
    assert_true(dir_write(a, b, "x", SPAN("old"), 0600, DIR_LAZY, NULL));
    full.write = full_write;
    full_after = 1;
    disk = &full;
    assert_false(dir_write(a, b, "x", SPAN("new"), 0600, DIR_LAZY, &err));
    disk = whole;
    assert_int_equal(err.kind, ERR_TEMPORARY);
    assert_content(b, "x", "old");
    assert_true(dir_list(a, &arena, &names, &count, NULL));
    assert_int_equal(count, 0);
}

static void short_writes_are_continued(void **state) {
    CLEANUP(fd_close) int dir = new_dir();
    const struct disk *whole = disk;
    struct disk slow = *whole;
    (void)state;
    slow.write = full_write;
    full_after = 100;
    disk = &slow;
    assert_true(
        dir_write(dir, dir, "x", SPAN("0123456789"), 0600, DIR_LAZY, NULL));
    disk = whole;
    assert_content(dir, "x", "0123456789");
}

static void a_file_over_the_limit_is_refused(void **state) {
    CLEANUP(fd_close) int dir = new_dir();
    CLEANUP(text_clear) struct text text = TEXT_INIT;
    struct err err = {0};
    (void)state;
    put(dir, "x", "0123456789");
    assert_true(dir_read(dir, "x", 10, &text, NULL));
    assert_false(dir_read(dir, "x", 9, &text, &err));
    assert_int_equal(err.kind, ERR_DATA);
}

static void a_listing_is_sorted_by_bytes(void **state) {
    CLEANUP(fd_close) int dir = new_dir();
    CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
    struct span *names;
    size_t count;
    (void)state;
    put(dir, "b2", "");
    put(dir, ".h", "");
    put(dir, "B", "");
    assert_true(dir_list(dir, &arena, &names, &count, NULL));
    assert_int_equal(count, 5);
    assert_string_equal(names[0].p, ".h");
    assert_string_equal(names[1].p, "B");
    assert_string_equal(names[2].p, "a");
    assert_string_equal(names[3].p, "b");
    assert_string_equal(names[4].p, "b2");
}

static void a_tree_is_removed_without_following_links(void **state) {
    CLEANUP(fd_close) int dir = new_dir();
    CLEANUP(fd_close) int a = sub(dir, "a");
    (void)state;
    put(dir, "kept", "text");
    assert_true(dir_make(a, "deep", 0700, NULL));
    CLEANUP(fd_close) int deep = sub(a, "deep");
    put(deep, "x", "");
    assert_int_equal(symlinkat("../../b", deep, "link"), 0);
    assert_int_equal(symlinkat("../kept", a, "link"), 0);
    assert_true(dir_remove_tree(dir, "a", NULL));
    assert_false(is_there(dir, "a"));
    assert_true(is_there(dir, "b"));
    assert_content(dir, "kept", "text");
    assert_true(dir_remove_tree(dir, "a", NULL));
}

static void the_mode_does_not_depend_on_the_umask(void **state) {
    CLEANUP(fd_close) int dir = new_dir();
    struct stat st;
    bool there;
    (void)state;
    mode_t mask = umask(077);
    assert_true(dir_make(dir, "wide", 0751, NULL));
    umask(mask);
    assert_true(dir_stat(dir, "wide", &st, &there, NULL));
    assert_int_equal(st.st_mode & 07777, 0751);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_name_never_leads_out_of_its_directory),
        cmocka_unit_test(writing_replaces_the_file_and_leaves_nothing_behind),
        cmocka_unit_test(a_move_never_replaces),
        cmocka_unit_test(a_move_works_without_renameat2_flags),
        cmocka_unit_test(moving_onto_a_hard_link_removes_the_old_name),
        cmocka_unit_test(a_full_disk_keeps_the_old_file_and_cleans_up),
        cmocka_unit_test(short_writes_are_continued),
        cmocka_unit_test(a_file_over_the_limit_is_refused),
        cmocka_unit_test(a_listing_is_sorted_by_bytes),
        cmocka_unit_test(a_tree_is_removed_without_following_links),
        cmocka_unit_test(the_mode_does_not_depend_on_the_umask),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
