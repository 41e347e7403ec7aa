#include "maintenance/backup.h"
#include "landing/branch_note.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "maintenance/fsck.h"
#include "serve/tables.h"
#include "support/spool.h"

static char *path_of(const char *name) {
    static char paths[32][4200];
    static unsigned at, count;
    char *path = paths[at++ % 32];
    snprintf(path, sizeof(paths[0]), "%s/%s%u", test_dir(), name, count++);
    return path;
}

/* Only its path is of interest. */
static struct git project = {.dir = (char[]){"/srv/p.git"}, .dir_fd = -1};

static char *notes_of(const struct base *base) {
    CLEANUP(text_clear) struct text path = TEXT_INIT;
    text_addf(&path, "%s/" BASE_BRANCHES, base->path);
    return text_take(&path);
}

static void make(struct spool *spool) {
    spool_begin(spool);
    spool_put_set(spool, "D1", "EM", "##message\nOne\n", "a b");
    spool_put_set(spool, "Q1", "DC", "##dependencies\nD1\n", "b");
    spool_write(spool, BASE_PREQUEUE, "junk", SPAN(""));
    spool_scan(spool);
    spool_record(spool, "D1", NULL);
    spool_step(spool, "D1", STATE_STAGED, "staged");
    spool_step(spool, "D1", STATE_PENDING, "ready");
    spool_step(spool, "D1", STATE_EXECUTING, "start");
    spool_step(spool, "D1", STATE_DONE, "ok");
    spool_put_set(spool, "NEW", "DC", "", "n"); /* not admitted yet */
    assert_int_equal(
        mkdirat(spool->base->dirs[BASE_ATTEMPTS], "segments", 0700), 0);
    CLEANUP(fd_close)
    int fd = openat(spool->base->dirs[BASE_ATTEMPTS], "segments/1",
                    O_WRONLY | O_CREAT, 0600);
    assert_true(dir_write_file(fd, SPAN("output\n"), NULL));
    CLEANUP(text_free_string) char *notes = notes_of(spool->base);
    assert_true(branch_note_meet(notes, &project, "main",
                                 "0123456789012345678901234567890123456789",
                                 NULL, NULL));
}

static char *backup(struct spool *spool) {
    struct backup_report report;
    struct err err = {0};
    char *file = path_of("backup");
    if (!backup_write(spool->base, file, NULL, &report, &err))
        fail_msg("%s", err.text);
    assert_true(report.files >= 7);
    return file;
}

static bool restore(const char *file, const char *path, struct wall now,
                    struct err *err) {
    struct backup_report report;
    CLEANUP(fd_close) int fd = open(file, O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    return backup_restore(fd, path, serve_roles, now, &report, err);
}

static void a_backup_is_restored_completely(void **state) {
    struct spool spool, other = {0};
    struct err err = {0};
    (void)state;
    make(&spool);
    char *file = backup(&spool);
    spool_admit(&spool, "LATER", "x"); /* not in the backup */
    other.path = mem_string(path_of("restored"));
    other.now = spool.now;
    if (!restore(file, other.path, spool.now, &err))
        fail_msg("%s", err.text);
    spool_open(&other);
    assert_int_equal(spool_job(&other, "D1").state, STATE_DONE);
    assert_int_equal(spool_job(&other, "Q1").state, STATE_QUEUED);
    assert_false(spool_knows(&other, "LATER"));
    spool_assert_projected(&other);
    assert_int_equal(faccessat(other.base->fd, "attempts/segments/1", R_OK, 0),
                     0);
    CLEANUP(text_free_string) char *notes = notes_of(other.base);
    assert_false(branch_note_meet(notes, &project, "main", "", NULL, &err));
    assert_int_equal(err.kind, ERR_UNAVAILABLE);
    assert_int_equal(spool_count(&other, BASE_REJECT), 2);
    spool_scan(&other);
    assert_true(spool_knows(&other, "NEW"));
    struct fsck_report report = {0};
    spool_check(&other, &report);
    assert_int_equal(report.problems, 0);
    spool_end(&spool);
    spool_end(&other);
}

static void a_backup_never_replaces_a_file(void **state) {
    struct spool spool;
    struct backup_report report;
    struct err err = {0};
    (void)state;
    make(&spool);
    char *file = backup(&spool);
    assert_false(backup_write(spool.base, file, NULL, &report, &err));
    assert_int_equal(err.kind, ERR_CANNOT);
    spool_end(&spool);
}

/* Restored files belong to whoever restores them. */
static void a_waiting_set_keeps_its_submitter(void **state) {
    struct spool spool, other = {0};
    struct err err = {0};
    uid_t alice = 4711;
    (void)state;
    if (geteuid() != 0)
        skip();
    spool_begin(&spool);
    static const struct access_grant all = {ACCESS_SUBMITTER, ACCESS_EVERYBODY,
                                            0, SPAN("*")};
    struct access_rules rules = spool.base->access;
    spool.base->access.grants = &all;
    spool.base->access.grant_count = 1;
    const char *name = spool_put_set(&spool, "C1", "DC", "", "a");
    assert_int_equal(
        fchownat(spool.base->dirs[BASE_PREQUEUE], name, alice, alice, 0), 0);
    struct backup_report report;
    char *file = path_of("backup");
    assert_true(backup_write(spool.base, file, NULL, &report, &err));
    spool.base->access = rules;
    other.path = mem_string(path_of("restored"));
    other.now = spool.now;
    assert_true(restore(file, other.path, spool.now, &err));
    spool_open(&other);
    spool_scan(&other);
    assert_int_equal(spool_job(&other, "C1").uid, alice);
    spool_end(&other);
    spool_end(&spool);
}

static void restore_refuses_an_existing_base(void **state) {
    struct spool spool;
    struct err err = {0};
    (void)state;
    make(&spool);
    char *file = backup(&spool);
    assert_false(restore(file, spool.path, spool.now, &err));
    assert_int_equal(err.kind, ERR_REFUSED);
    spool_assert_projected(&spool);
    spool_end(&spool);
}

/* If a significant byte is changed, an error is reported and no file is left.
 */
static void a_damaged_backup_restores_nothing(void **state) {
    struct spool spool;
    struct err err = {0};
    struct stat st;
    (void)state;
    make(&spool);
    char *file = backup(&spool);
    assert_int_equal(stat(file, &st), 0);
    CLEANUP(fd_close) int fd = open(file, O_RDWR);
    for (int i = 0; i < 8; i++) {
        char byte, flipped, *path = path_of("damaged");
        off_t at = 700 + i * (st.st_size / 9);
        assert_int_equal(pread(fd, &byte, 1, at), 1);
        flipped = (char)(byte ^ 0x55);
        assert_int_equal(pwrite(fd, &flipped, 1, at), 1);
        bool ok = restore(file, path, spool.now, &err);
        assert_int_equal(pwrite(fd, &byte, 1, at), 1);
        if (!ok) /* a change in the padding is no error */
            assert_int_equal(access(path, F_OK), -1);
    }
    char *path = path_of("cut");
    assert_int_equal(ftruncate(fd, st.st_size / 2), 0);
    assert_false(restore(file, path, spool.now, &err));
    assert_int_equal(err.kind, ERR_DATA);
    assert_int_equal(access(path, F_OK), -1);
    assert_false(restore("/etc/hostname", path, spool.now, &err));
    spool_end(&spool);
}

/* The reader of a pipe can be cut off anywhere. */
static void a_backup_that_is_cut_anywhere_restores_nothing(void **state) {
    struct spool spool;
    struct backup_report report;
    struct err err = {0};
    struct stat st;
    (void)state;
    make(&spool);
    char *file = path_of("stream");
    CLEANUP(fd_close) int fd = open(file, O_RDWR | O_CREAT | O_EXCL, 0600);
    assert_true(backup_stream(spool.base, fd, &report, &err));
    assert_true(report.files >= 7);
    assert_int_equal(fstat(fd, &st), 0);
    /* The last block of the manifest; the archive ends with 10 KiB at most. */
    off_t cuts[] = {st.st_size - 10240 - 512, st.st_size / 2, 1024, 1, 0};
    char *whole = path_of("whole");
    assert_true(restore(file, whole, spool.now, &err));
    for (unsigned i = 0; i < COUNT(cuts); i++) {
        char *path = path_of("cut");
        assert_int_equal(ftruncate(fd, cuts[i]), 0);
        assert_false(restore(file, path, spool.now, &err));
        assert_int_equal(err.kind, ERR_DATA);
        assert_int_equal(access(path, F_OK), -1);
        err_clear(&err);
    }
    spool_end(&spool);
}

int main(int argc, char **argv) {
    SPOOL_MAIN(argc, argv);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_backup_is_restored_completely),
        cmocka_unit_test(a_backup_never_replaces_a_file),
        cmocka_unit_test(a_waiting_set_keeps_its_submitter),
        cmocka_unit_test(restore_refuses_an_existing_base),
        cmocka_unit_test(a_damaged_backup_restores_nothing),
        cmocka_unit_test(a_backup_that_is_cut_anywhere_restores_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
