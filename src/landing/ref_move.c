#include "landing/ref_move.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "landing/git_file.h"
#include "landing/objects_apart.h"
#include "landing/ref_plain.h"
#include "os/clock.h"
#include "os/dir.h"
#include "os/fd.h"
#include "os/process.h"

/* For locks that git made just after the note and never wrote to: after this
 * long the process that made them is dead. */
#define EMPTY_LOCK_AGE_NS (3 * NS_PER_S)
/* How long after the note git may still have made a lock. */
#define NOTE_REACH_NS (60 * NS_PER_S)

enum { LOCK_BRANCH, LOCK_HEAD, LOCKS };
enum { LOOK_MS = 50 }; /* between two checks of a lock */

/* The identity of a lock file: not only its inode, which is soon reused. */
struct lock_mark {
    char path[PATH_MAX]; /* for messages */
    const char *name;    /* the end of `path`, relative to note.dir */
    bool seen;           /* the other members are known */
    uintmax_t inode;
    int64_t changed_ns;
};

struct note {
    char path[PATH_MAX];
    bool apart; /* on another file system than the repository */
    bool sure;  /* it is about this repository, not only perhaps */
    /* The repository. Paths below it are not enough: if it is moved away while
     * git works, its locks move along, and would seem to be gone. */
    int dir;
    char to[OID_BYTES];
    int64_t at_ns;
    int pid; /* of the git that makes the locks; 0 = not known */
    unsigned long long started; /* its process_start */
    struct lock_mark locks[LOCKS];
};

static int64_t stat_changed_ns(const struct stat *st) {
    return st->st_ctim.tv_sec * NS_PER_S + st->st_ctim.tv_nsec;
}

static void note_close(struct note *note) {
    fd_close(&note->dir);
}

/* With the inode, this tells repositories apart and stays when the machine
 * starts again, unlike device numbers, and f_fsid, which is one on XFS. If
 * there is no time of birth, the device has to do. */
static uintmax_t repository_mark(int dir, const struct stat *st) {
    struct statx stx;
    if (statx(dir, "", AT_EMPTY_PATH, STATX_BTIME, &stx) != 0 ||
        (stx.stx_mask & STATX_BTIME) == 0 || stx.stx_btime.tv_sec <= 0)
        return st->st_dev;
    return (uintmax_t)stx.stx_btime.tv_sec * NS_PER_S + stx.stx_btime.tv_nsec;
}

/* There is one note for each branch of each repository. */
static bool note_open(struct note *note, const struct git *git,
                      const char *notes, const char *branch, struct err *err) {
    struct stat st, ours;
    CLEANUP(text_clear) struct text name = TEXT_INIT;
    note->dir = open(git->dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (note->dir < 0 || fstat(note->dir, &st) != 0)
        return err_set(err, ERR_UNAVAILABLE, "cannot open '%s': %s", git->dir,
                       strerror(errno));
    note->sure = true;
    note->apart = stat(notes, &ours) != 0 || ours.st_dev != st.st_dev;
    for (const char *p = branch; *p != '\0'; p++)
        text_addc(&name, *p == '/' ? '%' : *p);
    snprintf(note->path, sizeof note->path, "%s/move.%jx-%jx.%s", notes,
             repository_mark(note->dir, &st), (uintmax_t)st.st_ino,
             text_string(&name));
    snprintf(note->locks[LOCK_BRANCH].path, PATH_MAX, "%s/refs/heads/%s.lock",
             git->dir, branch);
    snprintf(note->locks[LOCK_HEAD].path, PATH_MAX, "%s/HEAD.lock", git->dir);
    for (int i = 0; i < LOCKS; i++)
        note->locks[i].name = note->locks[i].path + strlen(git->dir) + 1;
    return true;
}

static bool lock_stat(const struct note *note, const struct lock_mark *lock,
                      struct stat *st) {
    return fstatat(note->dir, lock->name, st, AT_SYMLINK_NOFOLLOW) == 0;
}

/* Makes the name of the note durable. */
static bool notes_sync(const struct note *note) {
    CLEANUP(text_clear) struct text dir = TEXT_INIT;
    text_add(&dir, note->path, (size_t)(strrchr(note->path, '/') - note->path));
    CLEANUP(fd_close)
    int fd = open(text_string(&dir), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return fd >= 0 && fsync(fd) == 0;
}

/* Written to a temporary file and renamed: a note is complete or absent. */
static bool note_write(const struct note *note, bool durable, struct err *err) {
    CLEANUP(text_clear) struct text bytes = TEXT_INIT;
    CLEANUP(text_clear) struct text fresh = TEXT_INIT;
    text_addf(&bytes, "to %s\nat %" PRId64 "\n", note->to, note->at_ns);
    text_addf(&fresh, "%s.new", note->path);
    CLEANUP(fd_close)
    int fd = open(text_string(&fresh), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC,
                  0600);
    if (fd >= 0 && write(fd, bytes.p, bytes.len) == (ssize_t)bytes.len &&
        (!durable || fsync(fd) == 0) &&
        rename(text_string(&fresh), note->path) == 0 &&
        (!durable || notes_sync(note)))
        return true;
    return err_errno(err, errno, "cannot write the note '%s'", note->path);
}

/* Adds git and its locks, which it holds by now. The note is not replaced: a
 * power cut might leave an empty one, and the locks. */
static bool note_add_locks(const struct note *note, struct err *err) {
    CLEANUP(text_clear) struct text bytes = TEXT_INIT;
    text_addf(&bytes, "pid %d %llu\n", note->pid, note->started);
    for (int i = 0; i < LOCKS; i++)
        if (note->locks[i].seen)
            text_addf(&bytes, "lock %d 0 %ju %" PRId64 "\n", i,
                      note->locks[i].inode, note->locks[i].changed_ns);
    CLEANUP(fd_close)
    int fd = open(note->path, O_WRONLY | O_APPEND | O_CLOEXEC);
    return (fd >= 0 && write(fd, bytes.p, bytes.len) == (ssize_t)bytes.len) ||
           err_errno(err, errno, "cannot write the note '%s'", note->path);
}

static void note_line(struct note *note, const char *line) {
    int n;
    uintmax_t inode;
    int64_t changed_ns;
    if (sscanf(line, "to %64s", note->to) == 1 ||
        sscanf(line, "at %" SCNd64, &note->at_ns) == 1 ||
        sscanf(line, "pid %d %llu", &note->pid, &note->started) == 2)
        return;
    /* The number skipped was the device in earlier versions. */
    if (sscanf(line, "lock %d %*u %ju %" SCNd64, &n, &inode, &changed_ns) ==
            3 &&
        n >= 0 && n < LOCKS) {
        note->locks[n].seen = true;
        note->locks[n].inode = inode;
        note->locks[n].changed_ns = changed_ns;
    }
}

/* False: there is no note. */
static bool note_read(struct note *note) {
    FILE *file = fopen(note->path, "re");
    if (file == NULL)
        return false;
    char line[256];
    while (fgets(line, sizeof line, file) != NULL)
        note_line(note, line);
    fclose(file);
    return true;
}

/* True if the git of the note is still running; its pid may have been reused.
 */
static bool note_git_lives(const struct note *note) {
    return note->pid > 0 && process_lives(note->pid, note->started);
}

static bool lock_holds(const struct note *note, const struct lock_mark *lock) {
    CLEANUP(text_clear) struct text content = TEXT_INIT;
    return note->to[0] != '\0' &&
           git_file_read(note->dir, lock->name, O_NOFOLLOW, OID_BYTES, &content,
                         NULL) == GIT_FILE_READ &&
           span_is(span_trim(text_span(&content)), note->to);
}

static bool lock_is_marked(const struct lock_mark *lock,
                           const struct stat *st) {
    return lock->seen && st->st_ino == lock->inode &&
           stat_changed_ns(st) == lock->changed_ns;
}

/* True if the lock was made while git was at work and is still empty. File
 * times advance in ticks and may be slightly behind our clock. */
static bool lock_may_be_ours(const struct note *note, const struct stat *st) {
    int64_t changed_ns = stat_changed_ns(st);
    return note->sure && st->st_size == 0 &&
           changed_ns >= note->at_ns - NS_PER_S / 10 &&
           changed_ns <= note->at_ns + NOTE_REACH_NS;
}

static bool lock_is_ours(const struct note *note, const struct lock_mark *lock,
                         const struct stat *st) {
    if (lock_is_marked(lock, st) || lock_holds(note, lock))
        return true;
    return lock_may_be_ours(note, st) &&
           clock_wall().ns - stat_changed_ns(st) > EMPTY_LOCK_AGE_NS;
}

/* HEAD.lock is empty, so it does not show its owner. But if HEAD refers to the
 * branch, git makes it before the branch's own lock and keeps both until the
 * end: while that one exists and is ours, so is HEAD.lock. */
static bool head_lock_is_ours(const struct note *note, const char *branch,
                              const struct stat *st) {
    CLEANUP(text_clear) struct text want = TEXT_INIT;
    CLEANUP(text_clear) struct text head = TEXT_INIT;
    text_addf(&want, "refs/heads/%s", branch);
    return st->st_size == 0 && git_file_head(note->dir, &head) &&
           span_equal(text_span(&head), text_span(&want));
}

/* The lock that a landing holds while it moves the branch. Landings of other
 * lanes wait for their turn, since each branch has only one note. */
struct turn {
    char path[PATH_MAX];
    int fd;
};

/* Giving up a turn removes its file, so a lock just taken may belong to a file
 * that no longer exists. */
static bool turn_take(struct turn *turn, const struct note *note,
                      struct err *err) {
    struct stat held, named;
    snprintf(turn->path, sizeof turn->path, "%.*s.turn", PATH_MAX - 6,
             note->path);
    for (;;) {
        CLEANUP(fd_close)
        int fd = open(turn->path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
        if (fd < 0)
            return err_errno(err, errno, "cannot open '%s'", turn->path);
        while (flock(fd, LOCK_EX) != 0)
            if (errno != EINTR)
                return err_errno(err, errno, "cannot lock '%s'", turn->path);
        if (fstat(fd, &held) == 0 && stat(turn->path, &named) == 0 &&
            held.st_dev == named.st_dev && held.st_ino == named.st_ino) {
            turn->fd = take_fd(&fd);
            return true;
        }
    }
}

static void turn_give(struct turn *turn) {
    if (turn->fd >= 0)
        unlink(turn->path);
    fd_close(&turn->fd);
}

/* A lock file as recovery finds it. */
struct standing {
    bool exists, ours;
};

/* True: for at least one lock it is too early to say whether it is ours. */
static bool locks_look(const char *branch, const struct note *note,
                       struct standing ret_standing[LOCKS]) {
    bool too_young = false;
    for (int i = 0; i < LOCKS; i++) {
        const struct lock_mark *lock = &note->locks[i];
        struct standing *it = &ret_standing[i];
        struct stat st;
        it->exists = lock_stat(note, lock, &st);
        it->ours =
            it->exists && (lock_is_ours(note, lock, &st) ||
                           (i == LOCK_HEAD && ret_standing[LOCK_BRANCH].ours &&
                            head_lock_is_ours(note, branch, &st)));
        too_young |= it->exists && !it->ours && lock_may_be_ours(note, &st);
    }
    return too_young;
}

/* A lock that its owner has not written to yet looks like one of a dead git;
 * waiting a moment is cheaper than another attempt. */
static void locks_await(const struct git *git, const char *branch,
                        const struct note *note,
                        struct standing ret_standing[LOCKS]) {
    struct mono until =
        mono_add_ms(clock_mono(), EMPTY_LOCK_AGE_NS / NS_PER_MS + LOOK_MS);
    while (locks_look(branch, note, ret_standing) && clock_mono().ns < until.ns)
        if (child_stop_wait(git->stop, LOOK_MS) != 0)
            return;
}

/* git syncs the file of the ref, but neither the directories above it nor the
 * reflog. */
static bool sync_refs(const struct git *git, struct err *err) {
    CLEANUP(fd_close)
    int fd = openat(git->dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return (fd >= 0 && syncfs(fd) == 0) ||
           err_errno(err, errno, "cannot sync '%s'", git->dir);
}

/* The note outlives its locks: a power cut may bring back a lock whose removal
 * is not on the disk, and only the note shows whose it is. On one file system
 * the journal keeps the order. */
static bool note_remove(const struct git *git, const struct note *note,
                        struct err *err) {
    if (note->apart && !sync_refs(git, err))
        return false;
    unlink(note->path);
    return true;
}

/* `note` was read. */
static bool unlock_noted(const struct git *git, const struct note *note,
                         const char *branch, struct err *err) {
    if (note_git_lives(note))
        return err_set(err, ERR_UNAVAILABLE,
                       "a git process of an earlier attempt is still running");
    bool proved = note->sure;
    struct standing standing[LOCKS];
    locks_await(git, branch, note, standing);
    /* The branch's lock is removed last, because it identifies the other one.
     */
    for (int i = LOCKS; i-- > 0;) {
        const struct lock_mark *lock = &note->locks[i];
        if (!standing[i].exists)
            continue;
        if (!standing[i].ours)
            return err_set(err, ERR_UNAVAILABLE, "'%s' is locked: '%s' exists",
                           branch, lock->path);
        printf("removing a lock left by a process that died: %s\n", lock->path);
        if (unlinkat(note->dir, lock->name, 0) != 0 && errno != ENOENT)
            return err_errno(err, errno, "cannot remove '%s'", lock->path);
        proved = true;
    }
    /* Also if no lock is left: an attempt that was killed may have removed it.
     */
    return !proved || note_remove(git, note, err);
}

/* A lock that is in the way, whose note may have another name: earlier versions
 * wrote the device instead of the time of birth, and a file system may begin or
 * cease to have these times. */
struct search {
    const struct git *git;
    const struct note *opened;
    const char *branch;
    const char *dir;  /* of the notes */
    const char *like; /* how the names of such notes end */
    uintmax_t device; /* of the repository */
};

/* Such a note may be of a repository with the same inode on another device:
 * then it proves only what no other repository has. */
static bool search_look(void *ctx, struct span name) {
    const struct search *search = ctx;
    struct note note = *search->opened;
    struct err unproven = {0};
    uintmax_t device;
    int end = 0;
    snprintf(note.path, sizeof note.path, "%s/%.*s", search->dir, (int)name.len,
             name.p);
    const char *base = note.path + strlen(search->dir) + 1;
    if (sscanf(base, "move.%jx%n", &device, &end) != 1 ||
        strcmp(base + end, search->like) != 0 || !note_read(&note))
        return true;
    note.sure = device == search->device;
    return !unlock_noted(search->git, &note, search->branch, &unproven);
}

static bool locks_stand(const struct note *note) {
    struct stat st;
    return lock_stat(note, &note->locks[LOCK_BRANCH], &st) ||
           lock_stat(note, &note->locks[LOCK_HEAD], &st);
}

static bool unlock_searching(const struct git *git, const struct note *opened,
                             const char *branch, struct err *err) {
    struct stat st;
    CLEANUP(text_clear) struct text dir = TEXT_INIT;
    const char *base = strrchr(opened->path, '/') + 1;
    text_add(&dir, opened->path, (size_t)(base - 1 - opened->path));
    struct search search = {.git = git,
                            .opened = opened,
                            .branch = branch,
                            .dir = text_string(&dir),
                            .like = strchr(base, '-')};
    if (fstat(opened->dir, &st) != 0)
        return err_errno(err, errno, "cannot read '%s'", git->dir);
    search.device = st.st_dev;
    CLEANUP(fd_close)
    int fd = open(search.dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return err_errno(err, errno, "cannot open '%s'", search.dir);
    return dir_each(fd, search_look, &search, err);
}

/* `opened` was opened. */
static bool unlock_stale(const struct git *git, const struct note *opened,
                         const char *branch, struct err *err) {
    struct note note = *opened;
    if (note_read(&note))
        return unlock_noted(git, &note, branch, err);
    return !locks_stand(opened) || unlock_searching(git, opened, branch, err);
}

bool ref_unlock_stale(struct git *git, const char *notes, const char *branch,
                      struct err *err) {
    CLEANUP(note_close) struct note note = {.dir = -1};
    CLEANUP(turn_give) struct turn turn = {.fd = -1};
    return note_open(&note, git, notes, branch, err) &&
           turn_take(&turn, &note, err) &&
           unlock_stale(git, &note, branch, err);
}

static void note_locks(struct note *note) {
    for (int i = 0; i < LOCKS; i++) {
        struct lock_mark *lock = &note->locks[i];
        struct stat st;
        lock->seen = lock_stat(note, lock, &st);
        if (!lock->seen)
            continue;
        lock->inode = st.st_ino;
        lock->changed_ns = stat_changed_ns(&st);
    }
}

/* A failing disk may keep files that git tried to remove. */
static bool locks_gone(const struct note *note) {
    struct stat st;
    for (int i = 0; i < LOCKS; i++)
        if (lock_stat(note, &note->locks[i], &st) &&
            (lock_is_marked(&note->locks[i], &st) ||
             lock_holds(note, &note->locks[i])))
            return false;
    return true;
}

/* The commit that the ref holds now, "" = none. */
static bool ref_read(struct git *git, const char *branch,
                     char ret_oid[OID_BYTES], struct err *err) {
    CLEANUP(text_clear) struct text ref = TEXT_INIT;
    CLEANUP(text_clear) struct text out = TEXT_INIT;
    int status = 0;
    text_addf(&ref, "refs/heads/%s", branch);
    ret_oid[0] = '\0';
    if (!git_run(git,
                 GIT_ARGS("rev-parse", "--verify", "-q", text_string(&ref)),
                 GIT_SHIELDED, SPAN(""), &out, &status, err))
        return false;
    struct span oid = span_trim(text_span(&out));
    if (status == 0 && git_oid_is_valid(oid))
        snprintf(ret_oid, OID_BYTES, "%.*s", (int)oid.len, oid.p);
    return true;
}

static bool answered(struct git_pipe *pipe, const char *want) {
    char line[64];
    return fgets(line, sizeof line, pipe->out) != NULL &&
           strcmp(line, want) == 0;
}

/* git failed. The value of the ref explains why better than git's message. */
static bool ref_explain(struct git_pipe *pipe, const char *branch,
                        const char *old, const char *to,
                        enum ref_moved *ret_moved, struct err *err) {
    struct err why = {0}, unread = {0};
    git_pipe_fail(pipe, &why);
    char now[OID_BYTES];
    if (!ref_read(pipe->git, branch, now, &unread)) {
        if (err != NULL)
            *err = unread;
        return false;
    }
    *ret_moved = strcmp(now, to) == 0 ? REF_MOVED : REF_LOST;
    if (strcmp(now, old) != 0)
        return true;
    if (err != NULL)
        *err = why;
    return false;
}

static bool ref_transact(struct git *git, struct git_pipe *pipe,
                         struct note *note, const char *branch, const char *old,
                         enum ref_moved *ret_moved, struct err *err) {
    if (old[0] != '\0')
        fprintf(pipe->in, "start\nupdate refs/heads/%s %s %s\nprepare\n",
                branch, note->to, old);
    else
        fprintf(pipe->in, "start\ncreate refs/heads/%s %s\nprepare\n", branch,
                note->to);
    if (fflush(pipe->in) != 0 || !answered(pipe, "start: ok\n") ||
        !answered(pipe, "prepare: ok\n"))
        return ref_explain(pipe, branch, old, note->to, ret_moved, err);
    note_locks(note);
    note->pid = pipe->pid;
    note->started = process_start(pipe->pid);
    if (!note_add_locks(note, err) || !git_is_in_place(git, err)) {
        git_pipe_drop(pipe);
        return false;
    }
    if (git->stop != NULL && child_stop_requested(git->stop) != 0) {
        git_pipe_drop(pipe); /* end of input: git releases the locks */
        *ret_moved = REF_STOPPED;
        return true;
    }
    fputs("commit\n", pipe->in);
    if (fflush(pipe->in) != 0 || !answered(pipe, "commit: ok\n"))
        return ref_explain(pipe, branch, old, note->to, ret_moved, err);
    git_pipe_drop(pipe);
    *ret_moved = REF_MOVED;
    return true;
}

static bool mover_start(struct git *git, struct ref_mover *mover,
                        struct err *err) {
    return mover->pipe.pid != 0 ||
           git_pipe_open(git,
                         GIT_ARGS("update-ref", "--create-reflog", "-m",
                                  mover->message, "--stdin"),
                         GIT_SHIELDED | GIT_DURABLE | GIT_BLIND, &mover->pipe,
                         err);
}

bool ref_move_begin(struct git *git, const char *branch, const char *message,
                    struct ref_mover *ret_begun, struct err *err) {
    *ret_begun = (struct ref_mover){.message = mem_string(message)};
    return ref_plain_is(git, branch) || mover_start(git, ret_begun, err);
}

void ref_move_drop(struct ref_mover *begun) {
    git_pipe_drop(&begun->pipe);
    free(begun->message);
    *begun = (struct ref_mover){0};
}

/* REF_LOST: nothing has changed, and git has to try. */
static bool plain_transact(struct git *git, struct ref_plain *plain,
                           const char *old, const char *to, const char *message,
                           enum ref_moved *ret_moved, struct err *err) {
    *ret_moved = REF_LOST;
    if (!ref_plain_lock(plain, old))
        return true;
    if (!git_is_in_place(git, err))
        return false;
    if (git->stop != NULL && child_stop_requested(git->stop) != 0)
        *ret_moved = REF_STOPPED;
    else if (ref_plain_commit(plain, old, to, message))
        *ret_moved = REF_MOVED;
    return true;
}

bool ref_move(struct git *git, struct ref_mover *begun, const char *notes,
              bool sync_later, const char *branch, const char *old,
              const char *to, enum ref_moved *ret_moved, struct err *err) {
    CLEANUP(note_close) struct note note = {.dir = -1};
    CLEANUP(turn_give) struct turn turn = {.fd = -1};
    CLEANUP(ref_move_drop) struct ref_mover mover = *begun;
    CLEANUP(ref_plain_end) struct ref_plain plain = {0};
    *begun = (struct ref_mover){0};
    *ret_moved = REF_LOST;
    if (!git_is_in_place(git, err) ||
        !note_open(&note, git, notes, branch, err) ||
        !turn_take(&turn, &note, err) || !unlock_stale(git, &note, branch, err))
        return false;
    snprintf(note.to, sizeof note.to, "%s", to);
    note.at_ns = clock_wall().ns;
    /* Publishing syncs the note too if both are on one file system. */
    if (!note_write(&note, note.apart, err))
        return false;
    bool is_plain =
        mover.pipe.pid == 0 && ref_plain_open(git, branch, to, &plain);
    if (!objects_apart_publish(git, err)) {
        unlink(note.path);
        return false;
    }
    bool ok = !is_plain || plain_transact(git, &plain, old, to, mover.message,
                                          ret_moved, err);
    ref_plain_end(&plain);
    bool by_git = ok && *ret_moved == REF_LOST;
    if (by_git)
        ok = mover_start(git, &mover, err) &&
             ref_transact(git, &mover.pipe, &note, branch, old, ret_moved, err);
    bool moved = ok && *ret_moved == REF_MOVED;
    if (moved && (note.apart || !sync_later))
        ok = sync_refs(git, err);
    git_pipe_drop(&mover.pipe);
    /* A git that exited has removed its locks, if it could: it does not find
     * them if the repository is moved away meanwhile, and neither do we. After
     * one that was killed only the note shows whose they are; a later attempt
     * decides the cases that are still open. */
    if ((!by_git || mover.pipe.end.how == CHILD_EXITED) && locks_gone(&note) &&
        git_is_in_place(git, NULL)) {
        if (moved && ok)
            unlink(note.path); /* its locks went before that sync */
        else
            note_remove(git, &note, NULL);
    } else {
        unlock_stale(git, &note, branch, NULL);
    }
    return ok;
}

static bool has(const struct git *git, const char *name) {
    return faccessat(git->dir_fd, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

/* True if the repository's configuration plainly says so. */
static bool is_bare(const struct git *git) {
    CLEANUP(text_clear) struct text bare = TEXT_INIT;
    return git_file_core(git->dir_fd, "bare", &bare) &&
           span_is(text_span(&bare), "true");
}

/* True if no work tree can have the branch checked out, as far as a look at the
 * repository shows; otherwise git is asked. */
static bool is_plainly_free(const struct git *git, const char *branch) {
    CLEANUP(text_clear) struct text head = TEXT_INIT;
    CLEANUP(text_clear) struct text ours = TEXT_INIT;
    if (has(git, "worktrees") || has(git, "config.worktree"))
        return false;
    text_addf(&ours, "refs/heads/%s", branch);
    return (git_file_head(git->dir_fd, &head) && head.len > 0 &&
            !span_equal(text_span(&head), text_span(&ours))) ||
           is_bare(git);
}

bool ref_is_free(struct git *git, const char *branch, struct err *err) {
    CLEANUP(text_clear) struct text out = TEXT_INIT;
    CLEANUP(text_clear) struct text mine = TEXT_INIT;
    if (is_plainly_free(git, branch))
        return true;
    if (!git_run(git, GIT_ARGS("worktree", "list", "--porcelain"), GIT_PLAIN,
                 SPAN(""), &out, NULL, err))
        return false;
    text_addf(&mine, "branch refs/heads/%s", branch);
    struct span rest = text_span(&out), line, where = {NULL, 0};
    while (span_cut(&rest, '\n', &line)) {
        if (span_starts(line, "worktree "))
            where = span_make(line.p + 9, line.len - 9);
        if (!span_equal(line, text_span(&mine)))
            continue;
        return err_set(err, ERR_UNAVAILABLE,
                       "branch '%s' is checked out in '%.*s'; run `git switch "
                       "--detach` there, or use a bare repository",
                       branch, (int)where.len, where.p);
    }
    return true;
}
