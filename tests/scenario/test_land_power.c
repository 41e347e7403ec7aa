/* The state of a branch after a power failure: everything that a landing or a
 * rollback reported as done is readable. Three tests shut down a file system of
 * their own, which needs root and a loop device. The others check with a trace
 * that each object was synced before it got its name, and that the note of a
 * move on another file system was before the branch was locked, and outlives
 * the lock. */
#include "support/landing.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <unistd.h>

/* For ext4 and xfs: every later call fails, and data that is only in memory,
 * including the journal, is not written to the disk. */
#define SHUTDOWN _IOR('X', 125, uint32_t)
enum { SHUTDOWN_NO_FLUSH = 2 };

static const struct set deep = {
    .id = "C1",
    .files = {{"f", "new\n"}, {"d/e/run", "#!/bin/sh\n", 0755}},
    .deleted = {"g"}};

/* Rolls back C1 as R1; returns the status line. */
static const char *roll_back(const char *wrap) {
    return sh(
        "rm -f status; POINTSMAN_STATUS_FD=3 %s \"$LAND_PROGRAM\" revert "
        "--id R1 --sum $(printf R1 | sha256sum | cut -c1-64) "
        "--target main --work \"$PWD/tmp/revert.work\" --submitter "
        "'Rob <rob@x>' --git \"$PWD/target.git\" --branch main "
        "--member C1 $(sha256sum <sets/C1 | cut -c1-64) DC 0 $PWD/sets/C1 "
        "3>status >account 2>&1 || :; cat status",
        wrap);
}

static void assert_done(const char *line) {
    if (strncmp(line, "done ", 5) != 0)
        fail_msg("'%s': %s", line, sh("cat account"));
}

/* ---- a file system that is shut down ------------------------------------- */

static void disk_mount(void) {
    if (*sh("mount -o loop,commit=300 disk.img disk 2>/dev/null && echo yes "
            "|| true") == '\0')
        test_skip("loop devices cannot be mounted here");
}

/* What is mounted on disk/ is mounted only for this process, so that it cannot
 * remain. */
static void mounts_begin(void) {
    if (geteuid() != 0)
        test_skip("only root can mount a file system");
    if (unshare(CLONE_NEWNS) != 0 ||
        mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0)
        test_skip("mount namespaces cannot be created here");
    sh("mkdir -p disk");
}

static void repository_begin(void) {
    landing_begin();
    sh("mv target.git disk/target.git; ln -s disk/target.git target.git; sync");
}

/* Creates a repository on a file system that can be shut down. */
static void disk_begin(void) {
    mounts_begin();
    if (*sh("command -v mkfs.ext4 || true") == '\0')
        test_skip("mkfs.ext4 is missing");
    sh("truncate -s 32M disk.img; mkfs.ext4 -q disk.img");
    disk_mount();
    repository_begin();
}

/* Creates a repository on another file system than the notes. */
static void apart_begin(void) {
    mounts_begin();
    sh("mount -t tmpfs none disk");
    repository_begin();
}

static void disk_shut_down(void) {
    char path[512];
    uint32_t how = SHUTDOWN_NO_FLUSH;
    snprintf(path, sizeof path, "%s/disk", test_dir());
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_true(fd >= 0);
    int result = ioctl(fd, SHUTDOWN, &how), sys = errno;
    close(fd);
    if (result != 0) {
        sh("umount disk");
        print_message("# because: %s\n", strerror(sys));
        test_skip("the file system cannot be shut down");
    }
    sh("umount disk");
    disk_mount();
}

static int disk_end(void **state) {
    (void)state;
    sh("while umount -l disk 2>/dev/null; do :; done\n"
       "rm -rf target.git disk.img other.img");
    return 0;
}

static void a_landed_branch_survives_a_power_failure(void **state) {
    (void)state;
    disk_begin();
    struct outcome outcome = land(&(struct attempt){.set = &deep});
    assert_starts(&outcome, "done ");
    disk_shut_down();
    assert_string_equal(outcome.text, tip());
    sh("git -C target.git fsck --strict --no-dangling >&2");
    assert_string_equal(content("f"), "new");
    assert_string_equal(content("d/e/run"), "#!/bin/sh");
}

/* Only the first move of a branch is made by git. */
static void a_branch_that_moved_without_git_survives_too(void **state) {
    (void)state;
    disk_begin();
    struct outcome outcome = land(&(struct attempt){.set = &deep});
    assert_starts(&outcome, "done ");
    const struct set later = {.id = "C2", .files = {{"d/h", "later\n"}}};
    outcome = land(&(struct attempt){.set = &later});
    assert_starts(&outcome, "done ");
    disk_shut_down();
    assert_string_equal(outcome.text, tip());
    sh("git -C target.git fsck --strict --no-dangling >&2");
    assert_string_equal(content("d/h"), "later");
    assert_string_equal(sh("git -C target.git reflog main --format=%%gs"),
                        "pointsman: land C2\npointsman: land C1");
}

static void a_rolled_back_branch_survives_a_power_failure(void **state) {
    (void)state;
    disk_begin();
    struct outcome outcome = land(&(struct attempt){.set = &deep});
    assert_starts(&outcome, "done ");
    /* So that the rollback writes a new tree. */
    const struct set later = {.id = "C2", .files = {{"d/h", "later\n"}}};
    outcome = land(&(struct attempt){.set = &later});
    assert_starts(&outcome, "done ");
    sh("sync");
    const char *line = roll_back("");
    assert_done(line);
    disk_shut_down();
    assert_string_equal(line + 5, tip());
    sh("git -C target.git fsck --strict --no-dangling >&2");
    assert_string_equal(content("g"), "g");
    assert_string_equal(content("d/h"), "later");
}

/* ---- a trace ------------------------------------------------------------- */

#define STRACE                                                             \
    "strace -f -y -e trace=openat,fsync,syncfs,rename,renameat,renameat2," \
    "linkat,unlink,unlinkat"

static void awk_write(const char *name, const char *program) {
    char path[512];
    snprintf(path, sizeof path, "%s/%s", test_dir(), name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(program, file);
    fclose(file);
}

/* Asserts that after an object was written under its temporary name, the file
 * system was synced before the object got its name, and that this was before
 * the branch moved; and that another sync followed. The same holds for the new
 * value of a branch that is moved without git: `links` are its locks. */
static void assert_synced_first(const char *trace, unsigned objects,
                                unsigned links) {
    static const char program[] =
        "/syncfs\\(/ { synced = NR }\n"
        "/ linkat\\(/ {"
        "  split($0, part, \"\\\"\"); linked++; from = part[2];"
        "  sub(/^objects\\//, \"\", from);"
        "  if (!created[from] || created[from] > synced)"
        "    print \"not synced: \" part[4] }\n"
        "/openat\\(.*tmp_obj_pointsman.*O_CREAT/ {"
        "  split($0, part, \"\\\"\"); created[part[2]] = NR }\n"
        "/ (rename|renameat|renameat2)\\(/ {"
        "  split($0, part, \"\\\"\"); from = part[2]; to = part[4];"
        "  if (to ~ /refs\\/heads\\/main$/) moved = NR;"
        "  if (moved || from !~ /tmp_obj_pointsman/) next;"
        "  named++;"
        "  if (!created[from] || created[from] > synced)"
        "    print \"not synced: \" to }\n"
        "END { if (!moved) print \"the branch did not move\";"
        "  if (synced < moved) print \"the branch was not synced\";"
        "  if (named != objects) print named + 0, \"objects\";"
        "  if (linked + 0 != links) print linked + 0, \"links\" }\n";
    awk_write("synced.awk", program);
    assert_string_equal(sh("awk -v objects=%u -v links=%u -f synced.awk '%s'",
                           objects, links, trace),
                        "");
}

/* Leaves a trace of the landing. */
static struct outcome land_and_trace(const struct set *set) {
    char trace[512];
    snprintf(trace, sizeof trace, "%s/trace", test_dir());
    const char *const wrap[] = {
        "env", "ASAN_OPTIONS=detect_leaks=0",      "sh",
        "-c",  "exec " STRACE " -o \"$0\" \"$@\"", trace,
        NULL};
    return land(&(struct attempt){.set = set, .wrap = wrap});
}

static void land_traced(const struct set *set) {
    struct outcome outcome = land_and_trace(set);
    assert_landed(&outcome);
}

/* The first move creates the reflog, so git makes it. The lock of the branch
 * and that of HEAD are links. */
static void every_object_is_synced_before_the_branch_moves(void **state) {
    (void)state;
    require_strace();
    landing_begin();
    land_traced(&deep);
    assert_synced_first("trace", 2 + 3 + 1, 0); /* files, trees, the commit */
    const struct set later = {.id = "C2", .files = {{"d/h", "later\n"}}};
    land_traced(&later);
    assert_synced_first("trace", 1 + 2 + 1, 2);
    assert_done(roll_back("env ASAN_OPTIONS=detect_leaks=0 " STRACE
                          " -o trace.revert"));
    assert_synced_first("trace.revert", 2 + 1, 2);
}

/* Otherwise, after a power failure, the branch may be locked by a git whose
 * note is that of an earlier one. */
static void
a_note_on_another_disk_is_synced_before_the_branch_is_locked(void **state) {
    (void)state;
    require_strace();
    apart_begin();
    land_traced(&deep);
    assert_string_equal(
        sh("awk '/rename.*move\\.[^\"]*main\"/ && !noted { noted = NR }"
           " /fsync\\([0-9]*<[^>]*\\/tmp>/ && noted && !synced { synced = NR }"
           " /openat.*heads\\/main\\.lock\"/ && !locked { locked = NR }"
           " END { print (noted && noted < synced && synced < locked) }' "
           "trace"),
        "1");
}

/* Asserts that whenever the note was removed or replaced, the file system of
 * the repository had been synced since a lock was made or removed there. */
static void assert_note_outlives_locks(unsigned notes) {
    static const char program[] =
        "/ = -1 E/ { next }\n"
        "/ openat\\(/ && !/O_CREAT/ { next }\n"
        "/ syncfs\\(.*target\\.git/ { synced = NR }\n"
        "/\\.lock\"/ { touched = NR; locks++ }\n"
        "/ rename.*move\\.[^\"]*main\"\\)/ {"
        "  if (touched > synced) print \"replaced: \" $0 }\n"
        "/ unlink(at)?\\(.*move\\.[^\"]*main\"/ {"
        "  removed++;"
        "  if (touched > synced) print \"not synced: \" $0 }\n"
        "END { if (removed != notes) print removed + 0, \"notes\";"
        "  if (!locks) print \"no lock\" }\n";
    awk_write("outlives.awk", program);
    assert_string_equal(sh("awk -v notes=%u -f outlives.awk trace", notes), "");
}

/* Otherwise a power cut may bring back a lock that nobody can explain. */
static void a_note_goes_after_the_removal_of_its_locks_is_synced(void **state) {
    (void)state;
    require_strace();
    apart_begin();
    land_traced(&deep); /* by git */
    assert_note_outlives_locks(1);
    const struct set second = {.id = "C2", .files = {{"d/h", "later\n"}}};
    land_traced(&second);
    assert_note_outlives_locks(1);
    /* It takes the lock of the branch, and gives it up. */
    const struct set third = {.id = "C3", .files = {{"d/i", "later\n"}}};
    sh("touch target.git/HEAD.lock");
    struct outcome outcome = land_and_trace(&third);
    assert_starts(&outcome, "unavailable ");
    sh("rm target.git/HEAD.lock");
    assert_note_outlives_locks(1);
    outcome = land_signalled(&third, "KILL");
    assert_string_equal(sh("ls target.git/refs/heads"), "main\nmain.lock");
    land_traced(&third);
    assert_note_outlives_locks(2); /* that of the killed one is the first */
}

/* One that removed a lock, and was killed before that was synced, has left the
 * note. */
static void a_note_without_locks_goes_after_a_sync(void **state) {
    (void)state;
    require_strace();
    apart_begin();
    land_traced(&deep);
    const struct set second = {.id = "C2", .files = {{"d/h", "later\n"}}};
    struct outcome outcome = land_signalled(&second, "KILL");
    assert_int_equal(outcome.signal, SIGKILL);
    sh("rm target.git/refs/heads/main.lock");
    land_traced(&second);
    assert_string_equal(
        sh("awk '/ syncfs\\(.*target\\.git/ && !synced { synced = NR }"
           " / unlink\\(.*move\\.[^\"]*main\"/ && !removed { removed = NR }"
           " END { print (synced && synced < removed) }' trace"),
        "1");
}

static const char *disk_device(void) {
    return sh("stat -c %%d disk");
}

/* As after a start of the machine. The first mount stays. */
static void disk_mount_as_another_device(void) {
    const char *before = disk_device();
    sh("sync; cp disk.img other.img; mount -o loop other.img disk");
    assert_string_not_equal(disk_device(), before);
}

/* Only the note shows whose an empty lock is. */
static void a_note_is_found_after_the_device_number_changed(void **state) {
    (void)state;
    require_strace();
    disk_begin();
    land_traced(&deep);
    const struct set second = {.id = "C2", .files = {{"d/h", "later\n"}}};
    struct outcome outcome = land_signalled(&second, "KILL");
    assert_int_equal(outcome.signal, SIGKILL);
    sh(": >target.git/refs/heads/main.lock");
    disk_mount_as_another_device();
    outcome = land(&(struct attempt){.set = &second});
    assert_landed(&outcome);
    assert_says(&outcome, "removing a lock left by a process that died");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_object_is_synced_before_the_branch_moves),
        cmocka_unit_test_teardown(
            a_note_on_another_disk_is_synced_before_the_branch_is_locked,
            disk_end),
        cmocka_unit_test_teardown(
            a_note_goes_after_the_removal_of_its_locks_is_synced, disk_end),
        cmocka_unit_test_teardown(a_note_without_locks_goes_after_a_sync,
                                  disk_end),
        cmocka_unit_test_teardown(
            a_note_is_found_after_the_device_number_changed, disk_end),
        cmocka_unit_test_teardown(a_landed_branch_survives_a_power_failure,
                                  disk_end),
        cmocka_unit_test_teardown(a_branch_that_moved_without_git_survives_too,
                                  disk_end),
        cmocka_unit_test_teardown(a_rolled_back_branch_survives_a_power_failure,
                                  disk_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
