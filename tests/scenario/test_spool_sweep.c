/* Every transition of a set is killed, or fails, at every call that changes a
 * file, and is then recovered. Each set is in exactly one directory, its log
 * shows its history, and no submitted set is lost (doc/design/change-sets.md,
 * C7, C11).
 *
 * A step runs in a process of its own (this program, started with "step"), with
 * a disk that ends the process at the k-th call. The test increments k until a
 * step runs to its end. Other sweeps kill the recovery too, or make calls fail.
 */
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "maintenance/fsck.h"
#include "changes/prune.h"
#include "changes/upload.h"
#include "support/spool.h"
#include "support/tarball.h"

enum { KILLED = 77, NOT_STARTED = 255 };

/* ---- a disk with faults ---------------------------------------------- */

enum fault { FAULT_NONE, FAULT_KILL, FAULT_EIO, FAULT_FULL };

static enum fault fault;
static unsigned calls, fatal_call;

/* Files with bytes that are not synced. A power failure loses these bytes: the
 * names stay, and the files have the size of the last sync. */
static struct {
    int fd;
    ino_t inode;
    off_t synced_size;
} unsynced[256];
static unsigned unsynced_count;
static bool power_fails;

static void note_unsynced(int fd) {
    struct stat st;
    if (!power_fails || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
        return;
    for (unsigned i = 0; i < unsynced_count; i++)
        if (unsynced[i].inode == st.st_ino)
            return;
    if (unsynced_count == COUNT(unsynced))
        abort();
    unsynced[unsynced_count].fd = fcntl(fd, F_DUPFD_CLOEXEC, 3);
    unsynced[unsynced_count].inode = st.st_ino;
    unsynced[unsynced_count++].synced_size = st.st_size;
}

static void note_synced(int fd) {
    struct stat st;
    if (fstat(fd, &st) < 0)
        return;
    for (unsigned i = 0; i < unsynced_count; i++)
        if (unsynced[i].inode == st.st_ino) {
            close(unsynced[i].fd);
            unsynced[i] = unsynced[--unsynced_count];
            return;
        }
}

static void all_synced(void) {
    while (unsynced_count > 0)
        close(unsynced[--unsynced_count].fd);
}

/* ---- names that are not on disk yet ------------------------------------ */

/* Changes of names since the directory was synced. A rename reaches the disk
 * completely or not at all, but the old name may reappear until its directory
 * is synced too. */
struct name_op {
    enum { NAME_MADE, NAME_GONE, NAME_MOVED } kind;
    int dir, from_dir;
    ino_t dir_inode, from_inode, inode;
    char name[256], from[256];
    bool synced, from_synced;
    bool stashed; /* stash/ has the previous file of this name, by number */
};
static struct name_op name_ops[512];
static unsigned name_op_count;
static bool names_fail;
static int stash = -1;

static ino_t inode_of(int dir, const char *name) {
    struct stat st;
    return fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0 ? st.st_ino : 0;
}

static ino_t inode_of_fd(int fd) {
    struct stat st;
    return fstat(fd, &st) == 0 ? st.st_ino : 0;
}

static const char *stash_name(const struct name_op *op) {
    static char name[16];
    snprintf(name, sizeof(name), "%u", (unsigned)(op - name_ops));
    return name;
}

/* Called before the change; keeps the current file of this name. */
static struct name_op *name_op_begin(int dir, const char *name) {
    struct name_op *op = &name_ops[name_op_count];
    if (!names_fail)
        return NULL;
    if (name_op_count == COUNT(name_ops))
        abort();
    *op = (struct name_op){.dir = fcntl(dir, F_DUPFD_CLOEXEC, 3),
                           .dir_inode = inode_of_fd(dir),
                           .inode = inode_of(dir, name)};
    snprintf(op->name, sizeof(op->name), "%s", name);
    (void)unlinkat(stash, stash_name(op), 0);
    op->stashed = linkat(dir, name, stash, stash_name(op), 0) == 0;
    return op;
}

static void name_op_end(struct name_op *op, int kind) {
    if (op == NULL)
        return;
    op->kind = kind;
    if (kind != NAME_GONE)
        op->inode = inode_of(op->dir, op->name);
    name_op_count++;
}

static void names_synced_in(int fd) {
    ino_t inode = inode_of_fd(fd);
    for (unsigned i = 0; i < name_op_count; i++) {
        name_ops[i].synced |= name_ops[i].dir_inode == inode;
        name_ops[i].from_synced |= name_ops[i].from_inode == inode;
    }
}

static void name_undo(const struct name_op *op) {
    if (op->kind == NAME_MADE)
        (void)unlinkat(op->dir, op->name, 0);
    if (op->kind == NAME_MOVED)
        (void)renameat2(op->dir, op->name, op->from_dir, op->from,
                        RENAME_NOREPLACE);
    if (op->stashed)
        (void)linkat(stash, stash_name(op), op->dir, op->name, 0);
}

/* Sets the change time of the file to now. */
static void touch(const struct name_op *op) {
    struct stat st;
    if (fstatat(op->dir, op->name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
        S_ISREG(st.st_mode))
        (void)fchmodat(op->dir, op->name, st.st_mode & 07777, 0);
}

/* Undoes changes of names, the last one first, except those that a later change
 * depends on. */
static void lose_names(void) {
    for (unsigned i = name_op_count; i-- > 0;) {
        struct name_op *op = &name_ops[i];
        bool is_needed = false;
        for (unsigned k = i + 1; k < name_op_count; k++)
            is_needed |= name_ops[k].inode == op->inode;
        if (op->kind == NAME_MOVED && op->synced && !op->from_synced &&
            !is_needed && (i + fatal_call) % 2 == 0)
            (void)linkat(op->dir, op->name, op->from_dir, op->from, 0);
        if (op->synced || is_needed || (i + fatal_call) % 3 == 0)
            continue;
        name_undo(op);
        op->inode = 0;
    }
    /* No file has a name in stash/ after a power failure. */
    for (unsigned i = 0; i < name_op_count; i++)
        (void)unlinkat(stash, stash_name(&name_ops[i]), 0);
    /* Linking has changed the times of the restored files, unlike a power
     * failure; files created after them must not be older. */
    for (unsigned i = 0; i < name_op_count; i++)
        if (name_ops[i].kind != NAME_GONE)
            touch(&name_ops[i]);
}

/* Some of the unsynced bytes reach the disk anyway. */
static void fail_power(int status) {
    lose_names();
    for (unsigned i = 0; i < unsynced_count; i++)
        if ((i + fatal_call) % 3 != 0)
            (void)!ftruncate(unsynced[i].fd, unsynced[i].synced_size);
    _exit(status);
}

/* Returns true if the call has to fail. */
static bool call_fails(void) {
    if (fault == FAULT_NONE)
        return false;
    calls++;
    if (fault == FAULT_KILL && calls == fatal_call)
        fail_power(KILLED);
    if (fault == FAULT_EIO && calls == fatal_call)
        errno = EIO;
    else if (fault == FAULT_FULL && calls >= fatal_call)
        errno = ENOSPC;
    else
        return false;
    return true;
}

static int faulty_openat(int dir, const char *name, int flags, mode_t mode) {
    if (call_fails())
        return -1;
    bool is_new = inode_of(dir, name) == 0;
    struct name_op *op = is_new ? name_op_begin(dir, name) : NULL;
    int fd = openat(dir, name, flags, mode);
    if (fd >= 0)
        name_op_end(op, NAME_MADE);
    return fd;
}
/* A write that fails writes half of its bytes first. */
static ssize_t faulty_write(int fd, const void *bytes, size_t count) {
    note_unsynced(fd);
    if (fault != FAULT_NONE && calls + 1 == fatal_call && count > 1)
        (void)!write(fd, bytes, count / 2);
    return call_fails() ? -1 : write(fd, bytes, count);
}
static int faulty_ftruncate(int fd, off_t size) {
    return call_fails() ? -1 : ftruncate(fd, size);
}
static int faulty_fchmod(int fd, mode_t mode) {
    return call_fails() ? -1 : fchmod(fd, mode);
}
static int faulty_fchown(int fd, uid_t uid, gid_t gid) {
    return call_fails() ? -1 : fchown(fd, uid, gid);
}
static int faulty_fsync(int fd) {
    if (call_fails())
        return -1;
    note_synced(fd);
    names_synced_in(fd);
    return 0;
}
static int faulty_syncfs(int fd) {
    (void)fd;
    if (call_fails())
        return -1;
    all_synced();
    name_op_count = 0;
    return 0;
}
static int faulty_renameat2(int from_dir, const char *from, int to_dir,
                            const char *to, unsigned flags) {
    if (call_fails())
        return -1;
    struct name_op *op = name_op_begin(to_dir, to);
    int result = renameat2(from_dir, from, to_dir, to, flags);
    if (result != 0 || op == NULL)
        return result;
    op->from_dir = fcntl(from_dir, F_DUPFD_CLOEXEC, 3);
    op->from_inode = inode_of_fd(from_dir);
    snprintf(op->from, sizeof(op->from), "%s", from);
    name_op_end(op, NAME_MOVED);
    return 0;
}
static int faulty_renameat(int from_dir, const char *from, int to_dir,
                           const char *to) {
    return faulty_renameat2(from_dir, from, to_dir, to, 0);
}
/* On a file system without RENAME_NOREPLACE, a rename takes two calls. */
static int two_call_renameat2(int from_dir, const char *from, int to_dir,
                              const char *to, unsigned flags) {
    (void)from_dir, (void)from, (void)to_dir, (void)to, (void)flags;
    errno = EINVAL;
    return -1;
}
static int faulty_linkat(int from_dir, const char *from, int to_dir,
                         const char *to, int flags) {
    if (call_fails())
        return -1;
    struct name_op *op = name_op_begin(to_dir, to);
    int result = linkat(from_dir, from, to_dir, to, flags);
    if (result == 0)
        name_op_end(op, NAME_MADE);
    return result;
}
static int faulty_unlinkat(int dir, const char *name, int flags) {
    if (call_fails())
        return -1;
    struct name_op *op = name_op_begin(dir, name);
    int result = unlinkat(dir, name, flags);
    if (result == 0)
        name_op_end(op, NAME_GONE);
    return result;
}
static int faulty_mkdirat(int dir, const char *name, mode_t mode) {
    return call_fails() ? -1 : mkdirat(dir, name, mode);
}
static int faulty_mkfifoat(int dir, const char *name, mode_t mode) {
    return call_fails() ? -1 : mkfifoat(dir, name, mode);
}

static struct disk faulty = {
    .openat = faulty_openat,
    .write = faulty_write,
    .ftruncate = faulty_ftruncate,
    .fchmod = faulty_fchmod,
    .fchown = faulty_fchown,
    .fsync = faulty_fsync,
    .syncfs = faulty_syncfs,
    .renameat = faulty_renameat,
    .renameat2 = faulty_renameat2,
    .linkat = faulty_linkat,
    .unlinkat = faulty_unlinkat,
    .mkdirat = faulty_mkdirat,
    .mkfifoat = faulty_mkfifoat,
};

/* ---- steps ----------------------------------------------------------- */

static const char tar_name[] = "C1_@400000006553f10a00000000_17_here_DC";

static void good_tar(struct text *tar) {
    spool_tar(tar, "DC", "##precursors\nC0\n", "f g");
}

static void scan(struct spool *spool) {
    struct wall next;
    struct err err = {0};
    do
        (void)prequeue_scan(spool->prequeue, spool->now, &next, &err);
    while (prequeue_is_due(spool->prequeue));
}

static void pass(struct spool *spool) {
    struct err err = {0};
    (void)projection_finish(spool->projection, spool->now, &err);
}

static void have_marker(struct spool *spool) {
    CLEANUP(text_clear) struct text tar = TEXT_INIT;
    good_tar(&tar);
    spool_put(spool, tar_name, text_span(&tar));
}
static void have_bad_marker(struct spool *spool) {
    spool_put(spool, tar_name, SPAN("this is no tarball"));
}
static void have_job_file(struct spool *spool) {
    struct spool other;
    CLEANUP(text_clear) struct text tar = TEXT_INIT;
    good_tar(&tar);
    spool_begin(&other);
    spool_put(&other, tar_name, text_span(&tar));
    spool_scan(&other);
    const char *file = spool_text(&other, BASE_QUEUE, tar_name);
    spool_write(spool, BASE_DATA, tar_name, text_span(&tar));
    spool_write(spool, BASE_PREQUEUE, tar_name, span_of(file));
    spool_end(&other);
}
static void have_queued(struct spool *spool) {
    have_marker(spool);
    spool_scan(spool);
}
static void have_staged(struct spool *spool) {
    have_queued(spool);
    spool_record(spool, "C1", "C0");
    spool_step(spool, "C1", STATE_STAGED, "staged");
}
static void have_pending(struct spool *spool) {
    have_staged(spool);
    spool_step(spool, "C1", STATE_PENDING, "ready");
}
static void have_running(struct spool *spool) {
    have_pending(spool);
    spool_step(spool, "C1", STATE_EXECUTING, "start");
}
static void have_done(struct spool *spool) {
    have_running(spool);
    spool_step(spool, "C1", STATE_DONE, "ok");
}
static void have_moved_by_hand(struct spool *spool) {
    have_pending(spool);
    (void)renameat(spool->base->dirs[BASE_PENDING], tar_name,
                   spool->base->dirs[BASE_TERM], tar_name);
}
static void have_moved_wrongly(struct spool *spool) {
    have_pending(spool);
    (void)renameat(spool->base->dirs[BASE_PENDING], tar_name,
                   spool->base->dirs[BASE_DONE], tar_name);
}

static void move_on(struct spool *spool, enum job_state to,
                    const char *reason) {
    struct err err = {0};
    struct job job = spool_job(spool, "C1");
    struct store_batch *batch = store_batch_new(spool->base->store);
    store_batch_actor(batch, spool->now, SPAN("daemon:test"));
    store_move(batch,
               &(struct store_move){.num = job.num,
                                    .from = job.state,
                                    .to = to,
                                    .reason = span_of(reason),
                                    .begin_attempt = to == STATE_EXECUTING});
    (void)store_write(batch, &err);
    store_batch_free(batch);
}

static void do_stage(struct spool *spool) {
    spool_record(spool, "C1", "C0");
    move_on(spool, STATE_STAGED, "staged");
    pass(spool);
}
static void do_stage_to_start(struct spool *spool) {
    spool_record(spool, "C1", "C0");
    move_on(spool, STATE_STAGED, "staged");
    move_on(spool, STATE_PENDING, "ready");
    move_on(spool, STATE_EXECUTING, "start");
    pass(spool);
}
static void do_record_again(struct spool *spool) {
    spool_record(spool, "C1", "C9");
    pass(spool);
}
static void do_ready(struct spool *spool) {
    move_on(spool, STATE_PENDING, "ready");
    pass(spool);
}
static void do_start(struct spool *spool) {
    move_on(spool, STATE_EXECUTING, "start");
    pass(spool);
}
static void do_finish(struct spool *spool) {
    move_on(spool, STATE_DONE, "ok");
    pass(spool);
}
static void do_fail(struct spool *spool) {
    move_on(spool, STATE_FAILED, "exit-3");
    pass(spool);
}
static void do_return(struct spool *spool) {
    move_on(spool, STATE_PENDING, "temp");
    pass(spool);
}
static void do_abandon(struct spool *spool) {
    move_on(spool, STATE_ABANDONED, "rollback");
    pass(spool);
}
static void do_cancel(struct spool *spool) {
    move_on(spool, STATE_TERMINATED, "operator");
    pass(spool);
}
/* A file next to the base records that the set was acknowledged. */
static char *promise_path(const struct spool *spool) {
    CLEANUP(text_clear) struct text path = TEXT_INIT;
    text_addf(&path, "%s.promised", spool->path);
    return mem_string(text_string(&path));
}
static void promise(const struct spool *spool) {
    CLEANUP(text_free_string) char *path = promise_path(spool);
    close(open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
}
static bool is_promised(const struct spool *spool) {
    CLEANUP(text_free_string) char *path = promise_path(spool);
    return access(path, F_OK) == 0;
}
static void do_put(struct spool *spool) {
    CLEANUP(text_clear) struct text tar = TEXT_INIT;
    CLEANUP(fd_close) int fd = memfd_create("tar", MFD_CLOEXEC);
    struct err err = {0};
    good_tar(&tar);
    (void)!write(fd, tar.p, tar.len);
    (void)lseek(fd, 0, SEEK_SET);
    if (upload_put(spool->base, fd, span_of(tar_name), &err))
        promise(spool);
}
static void answer(void *ctx, const struct upload_result *result) {
    if (result->ok)
        promise(ctx);
}
static void do_upload(struct spool *spool) {
    CLEANUP(text_clear) struct text tar = TEXT_INIT;
    struct origin origin = {.now = spool->now};
    struct upload *upload;
    struct err err = {0};
    good_tar(&tar);
    if (!upload_open(spool->base, span_of(tar_name), SPAN(""), &origin, &upload,
                     &err))
        return;
    if (upload_write(upload, text_span(&tar), &err))
        upload_finish(upload, spool->checker, answer, spool);
    else
        upload_abort(upload);
}
static void do_prune(struct spool *spool) {
    struct prune_report report;
    struct err err = {0};
    (void)prune(spool->base,
                wall_add_ms(spool->now, INT64_C(91) * 24 * 3600 * 1000),
                &report, &err);
}

/* ---- checks after the recovery --------------------------------------- */

static void is_in_order(struct spool *spool) {
    spool_assert_projected(spool);
    assert_int_equal(spool_count(spool, BASE_PREQUEUE), 0);
}
static void is_admitted(struct spool *spool) {
    assert_true(spool_knows(spool, "C1"));
    assert_int_equal(spool_count(spool, BASE_REJECT), 0);
    assert_true(spool_has(spool, BASE_DATA, tar_name));
    is_in_order(spool);
}
static void is_rejected(struct spool *spool) {
    assert_false(spool_knows(spool, "C1"));
    assert_true(spool_has(spool, BASE_REJECT, tar_name));
    assert_int_equal(spool_count(spool, BASE_REJECT), 2);
    assert_int_equal(spool_count(spool, BASE_DATA), 0);
    is_in_order(spool);
}
/* If the set was not acknowledged, it can be submitted again. */
static void can_be_put_again(struct spool *spool) {
    assert_true(spool_knows(spool, "C1") || !is_promised(spool));
    is_in_order(spool);
    do_put(spool);
    spool_scan(spool);
    is_admitted(spool);
}
static void can_be_sent_again(struct spool *spool) {
    assert_true(spool_knows(spool, "C1") || !is_promised(spool));
    is_in_order(spool);
    do_upload(spool);
    spool_scan(spool);
    is_admitted(spool);
}
static void is_cancelled(struct spool *spool) {
    assert_int_equal(spool_job(spool, "C1").state, STATE_TERMINATED);
    is_in_order(spool);
}
static void is_pending_still(struct spool *spool) {
    assert_int_equal(spool_job(spool, "C1").state, STATE_PENDING);
    is_in_order(spool);
}
static void is_archived(struct spool *spool) {
    do_prune(spool);
    struct fsck_report report = {0};
    assert_true(spool_has(spool, BASE_ARCHIVE, tar_name));
    assert_int_equal(spool_count(spool, BASE_ARCHIVE), 2);
    spool_check(spool, &report);
    assert_int_equal(report.problems, 0);
}

static const struct step {
    const char *name;
    void (*have)(struct spool *spool);
    void (*run)(struct spool *spool); /* NULL: only the start itself */
    void (*check)(struct spool *spool);
} steps[] = {
    {"admission", have_marker, scan, is_admitted},
    {"admission-of-a-job-file", have_job_file, scan, is_admitted},
    {"rejection", have_bad_marker, scan, is_rejected},
    {"put", NULL, do_put, can_be_put_again},
    {"upload", NULL, do_upload, can_be_sent_again},
    {"stage", have_queued, do_stage, is_in_order},
    {"stage-to-start", have_queued, do_stage_to_start, is_in_order},
    {"record-again", have_staged, do_record_again, is_in_order},
    {"ready", have_staged, do_ready, is_in_order},
    {"start", have_pending, do_start, is_in_order},
    {"finish", have_running, do_finish, is_in_order},
    {"fail", have_running, do_fail, is_in_order},
    {"return", have_running, do_return, is_in_order},
    {"abandon", have_running, do_abandon, is_in_order},
    {"cancel", have_pending, do_cancel, is_in_order},
    {"cancel-by-hand", have_moved_by_hand, NULL, is_cancelled},
    {"illegal-move", have_moved_wrongly, NULL, is_pending_still},
    {"prune", have_done, do_prune, is_archived},
};

/* ---- the sweep ------------------------------------------------------- */

/* step INDEX PATH FAULT K KIND NOW; if INDEX is "open", only the recovery
 * runs. */
static int step_main(char **argv) {
    struct spool spool = {.path = mem_string(argv[2])};
    bool opening = strcmp(argv[1], "open") == 0 || !steps[atoi(argv[1])].run;
    enum fault asked = atoi(argv[3]);
    fatal_call = (unsigned)atoi(argv[4]);
    if (argv[5][0] == 'p')
        faulty.renameat2 = two_call_renameat2;
    power_fails = argv[5][0] == 'l' || argv[5][0] == 'n';
    if (argv[5][0] == 'n') {
        CLEANUP(text_clear) struct text path = TEXT_INIT;
        text_addf(&path, "%s.stash", argv[2]);
        (void)mkdir(text_string(&path), 0700);
        stash = open(text_string(&path), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        names_fail = stash >= 0;
    }
    disk = &faulty;
    spool.now = (struct wall){strtoll(argv[6], NULL, 10)};
    if (opening)
        fault = asked;
    spool_open(&spool);
    fault = asked;
    if (opening)
        scan(&spool);
    else
        steps[atoi(argv[1])].run(&spool);
    fault = FAULT_NONE;
    /* Nothing is closed, because the process is to end abruptly. */
    fail_power(asked == FAULT_NONE || calls < fatal_call ? 0 : 1);
    return 0;
}

static int run_step(const char *what, const struct spool *spool, enum fault how,
                    unsigned k, const char *kind) {
    char fault_text[8], k_text[16], now[32], kind_text[8];
    snprintf(fault_text, sizeof(fault_text), "%d", how);
    snprintf(k_text, sizeof(k_text), "%u", k);
    snprintf(now, sizeof(now), "%lld", (long long)spool->now.ns);
    snprintf(kind_text, sizeof(kind_text), "%s", kind);
    char self[] = "/proc/self/exe", verb[] = "step";
    char *what_text = mem_string(what);
    char *argv[] = {self,   verb,      what_text, spool->path, fault_text,
                    k_text, kind_text, now,       NULL};
    posix_spawn_file_actions_t files;
    pid_t pid;
    int status;
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_addopen(&files, 2, "/dev/null", O_WRONLY, 0);
    assert_int_equal(posix_spawn(&pid, self, &files, NULL, argv, environ), 0);
    posix_spawn_file_actions_destroy(&files);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    free(what_text);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static void copy_base(const char *from, const char *to) {
    char command[9000];
    snprintf(command, sizeof(command), "cp -a '%s' '%s'", from, to);
    assert_int_equal(system(command), 0);
}

static char *make_template(const struct step *step, struct wall *ret_now) {
    struct spool spool;
    spool_begin(&spool);
    if (step->have)
        step->have(&spool);
    spool_close(&spool);
    *ret_now = spool.now;
    return spool.path;
}

struct sweep {
    const struct step *step;
    char *template;
    char path[4200];
    struct wall now;
    enum fault fault;
    const char *kind; /* "plain", "poor", "lossy" or "names" */
};

/* Tries one point; returns false if the step ended without a fault. */
static bool try(struct sweep *sweep, unsigned k, unsigned second) {
    struct spool spool = {.path = sweep->path, .now = sweep->now};
    char index[16];
    snprintf(index, sizeof(index), "%zu", (size_t)(sweep->step - steps));
    static unsigned tries;
    snprintf(sweep->path, sizeof(sweep->path), "%s/sweep%u", test_dir(),
             tries++);
    copy_base(sweep->template, sweep->path);
    int got = run_step(index, &spool, sweep->fault, k, sweep->kind);
    /* A start that cannot do its work ends with an error. */
    assert_true(got == 0 || got == 1 || got == KILLED ||
                (!sweep->step->run && got == NOT_STARTED));
    if (second > 0) {
        int again = run_step("open", &spool, FAULT_KILL, second, sweep->kind);
        assert_true(again == 0 || again == KILLED);
    }
    if (getenv("SWEEP_VERBOSE"))
        print_message("# %s: %u, %u: %d\n", sweep->step->name, k, second, got);
    spool_open(&spool);
    spool_scan(&spool);
    sweep->step->check(&spool);
    spool_close(&spool);
    return got != 0;
}

static void sweep_all(enum fault how, const char *kind, bool twice,
                      unsigned stride) {
    static const unsigned seconds[] = {1, 2, 4, 7, 12};
    struct sweep sweep = {.fault = how, .kind = kind};
    /* The number of the call also chooses which names are lost. Points after
     * the last call, where the power fails after the step, cover the remaining
     * choices. */
    bool names = strcmp(kind, "names") == 0;
    unsigned apart = test_sweep_stride(stride);
    for (size_t i = 0; i < COUNT(steps); i++) {
        sweep.step = &steps[i];
        sweep.template = make_template(sweep.step, &sweep.now);
        unsigned k = 1, tries = 0;
        unsigned past = names ? 5 : 0;
        for (bool more = true; more || past-- > 0; k += apart) {
            more = try(&sweep, k, twice ? seconds[tries % COUNT(seconds)] : 0);
            tries++;
            assert_true(k < 500);
        }
        print_message("# %s: %u tries\n", steps[i].name, tries);
        assert_true(tries > 1); /* at least one fault occurred */
        free(sweep.template);
    }
}

static void a_kill_leaves_each_set_in_one_place(void **state) {
    (void)state;
    sweep_all(FAULT_KILL, "plain", false, 4);
}

static void a_second_kill_during_the_recovery_does_no_harm(void **state) {
    (void)state;
    sweep_all(FAULT_KILL, "plain", true, 4);
}

static void a_kill_within_a_rename_of_two_calls_does_no_harm(void **state) {
    (void)state;
    sweep_all(FAULT_KILL, "poor", true, 6);
}

static void a_power_failure_loses_no_acknowledged_set(void **state) {
    (void)state;
    sweep_all(FAULT_KILL, "lossy", true, 3);
}

static void a_power_failure_that_loses_renames_loses_no_set(void **state) {
    (void)state;
    sweep_all(FAULT_KILL, "names", false, 1);
}

static void one_failing_call_loses_no_set(void **state) {
    (void)state;
    sweep_all(FAULT_EIO, "plain", false, 3);
}

static void a_disk_that_fills_up_loses_no_set(void **state) {
    (void)state;
    sweep_all(FAULT_FULL, "plain", true, 6);
}

int main(int argc, char **argv) {
    SPOOL_MAIN(argc, argv);
    if (argc == 8 && strcmp(argv[1], "step") == 0)
        return step_main(argv + 1);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_kill_leaves_each_set_in_one_place),
        cmocka_unit_test(a_second_kill_during_the_recovery_does_no_harm),
        cmocka_unit_test(a_kill_within_a_rename_of_two_calls_does_no_harm),
        cmocka_unit_test(a_power_failure_loses_no_acknowledged_set),
        cmocka_unit_test(a_power_failure_that_loses_renames_loses_no_set),
        cmocka_unit_test(one_failing_call_loses_no_set),
        cmocka_unit_test(a_disk_that_fills_up_loses_no_set),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
