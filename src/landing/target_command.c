#include "landing/target_command.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "os/account.h"
#include "os/clock.h"
#include "os/dir.h"
#include "os/fd.h"
#include "os/process.h"
#include "os/sum.h"
#include "landing/set_blobs.h"
#include "landing/set_unpack.h"
#include "wire/status_line.h"
#include "wire/words.h"

/* Between TERM and KILL; the guard's own grace is longer. */
enum {
    GRACE_MS = 5000,
    ORPHANS_MS = 10000,
    READER_MS = 2000,
    STATUS_MAX = 65536,
    ENVIRONMENT_MAX = 65536
};

extern char **environ;

/* The state of one run of a command line. */
struct run {
    const struct land_start *start;
    struct child_stop *stop;
    const char *label;   /* "check 'unit'" */
    const char *command; /* its command line */
    const char *dir;
    int status_fd; /* -1: it has none */
    int out_fd;    /* gets what it prints, and nothing of its attempt is in its
                      environment; 0: it prints into the log */
    const struct account *account; /* NULL = our own */
    struct child_end end;
};

static void env_add(struct text *env, const char *name, const char *value) {
    if (value == NULL)
        return;
    text_addf(env, "%s=%s", name, value);
    text_addc(env, '\0');
}

/* PATH, the language, and variables about the account. */
static void account_environment(const struct run *run, struct text *env) {
    static const char *const kept[] = {"PATH", "HOME", "LANG", "TZ"};
    const struct account *account = run->account;
    for (size_t i = 0; i < COUNT(kept); i++)
        if (account == NULL || strcmp(kept[i], "HOME") != 0)
            env_add(env, kept[i], getenv(kept[i]));
    if (account != NULL) {
        env_add(env, "HOME", account->home);
        env_add(env, "USER", account->name);
        env_add(env, "LOGNAME", account->name);
        env_add(env, "SHELL", account->shell);
    }
    env_add(env, "POINTSMAN_TARGET", run->start->target);
}

/* Variables about the attempt and the set. */
static void run_environment(const struct run *run, struct text *env) {
    const struct land_start *start = run->start;
    env_add(env, "TRACEPARENT", getenv("TRACEPARENT"));
    for (char **entry = environ; *entry != NULL; entry++)
        if (span_starts(span_of(*entry), "POINTSMAN_") &&
            !span_starts(span_of(*entry), "POINTSMAN_STATUS_FD="))
            text_add(env, *entry, strlen(*entry) + 1);
    if (run->status_fd >= 0)
        env_add(env, "POINTSMAN_STATUS_FD", "3");
    env_add(env, "POINTSMAN_CSID", start->id);
    CLEANUP(text_clear) struct text all = TEXT_INIT;
    text_adds(&all, start->id);
    for (size_t i = 0; i < start->other_count; i++)
        text_addf(&all, " %s", start->others[i].id);
    env_add(env, "POINTSMAN_CSIDS", text_string(&all));
    env_add(env, "POINTSMAN_CLASS", start->class);
    env_add(env, "POINTSMAN_SET_DIR", start->work);
    CLEANUP(text_clear) struct text scratch = TEXT_INIT;
    text_addf(&scratch, "%s/tmp", start->work);
    env_add(env, "TMPDIR", text_string(&scratch));
}

static char **env_split(struct text *env, struct arena *arena) {
    size_t count = 0;
    for (size_t i = 0; i < env->len; i++)
        count += env->p[i] == '\0';
    char **envp = arena_alloc(arena, (count + 1) * sizeof *envp);
    char *at = env->p;
    for (size_t i = 0; i < count; i++, at += strlen(at) + 1)
        envp[i] = at;
    return envp;
}

static int progress_fd(void) {
    const char *text = getenv("POINTSMAN_PROGRESS_FD");
    int fd = text != NULL ? atoi(text) : -1;
    return fd > 2 && fcntl(fd, F_GETFD) >= 0 ? fd : -1;
}

static const char *ended_words(const struct run *run, char room[64]) {
    switch (run->end.how) {
    case CHILD_STOPPED:
        return "was stopped";
    case CHILD_LATE:
        return "timed out";
    case CHILD_SIGNALLED:
        snprintf(room, 64, "was killed by signal %d", run->end.code);
        return room;
    case CHILD_EXITED:
        break;
    }
    snprintf(room, 64, "exited with %d", run->end.code);
    return room;
}

/* Finds the account of the commands; *ret_account NULL: our own. Otherwise the
 * entries `names` in order->work are given to it, and work is made searchable.
 * ERR_DENIED: nothing can run under that account. */
static bool give_to_user(const struct land_start *start,
                         const char *const *names, struct arena *arena,
                         const struct account **ret_account, struct err *err) {
    struct account *account = arena_alloc(arena, sizeof *account);
    *ret_account = NULL;
    if (start->user == NULL)
        return true;
    if (!account_find(span_of(start->user), arena, account, err) ||
        !account_may_be(account, err)) {
        if (err->kind == ERR_CONFIG) /* it does not exist */
            err->kind = ERR_DENIED;
        return false;
    }
    if (account_is_ours(account))
        return true;
    CLEANUP(fd_close)
    int work = open(start->work, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (work < 0 || fchmod(work, 0711) < 0)
        return err_errno(err, errno, "cannot change the mode of '%s'",
                         start->work);
    for (; *names != NULL; names++)
        if (!dir_give_tree(work, *names, account->uid, account->gid, err))
            return false;
    /* Otherwise it could not open /dev/stdout. */
    (void)!fchown(STDOUT_FILENO, account->uid, account->gid);
    (void)!fchown(STDERR_FILENO, account->uid, account->gid);
    *ret_account = account;
    return true;
}

/* Waits until the supervisor has read what the command wrote to a pipe. It
 * reads two pipes in any order, and the line about the end, on standard output,
 * would precede the last lines on standard error. */
static void wait_for_reader(int fd) {
    const struct timespec pause = {.tv_nsec = 1000000};
    struct stat st;
    int bytes;
    if (fstat(fd, &st) != 0 || !S_ISFIFO(st.st_mode))
        return;
    for (int ms = 0;
         ms < READER_MS && ioctl(fd, FIONREAD, &bytes) == 0 && bytes > 0; ms++)
        (void)nanosleep(&pause, NULL);
}

/* A name such as ./check or lroot/install is a file of the tree or of the set;
 * any other program is one of this machine. */
static bool is_of_set(const char *command) {
    CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
    char **words;
    size_t count;
    struct err ignored;
    return words_split(span_of(command), &arena, &words, &count, &ignored) &&
           count > 0 && words[0][0] != '/' && strchr(words[0], '/') != NULL;
}

/* Says what may help. */
static bool cannot_start(const struct run *run, struct err *err) {
    const struct err why = *err;
    const char *advice = "";
    if (why.kind == ERR_CONFIG && !is_of_set(run->command)) {
        if (why.sys == ENOENT || why.sys == ENOTDIR)
            advice = "; install it, or its interpreter, on this machine, or "
                     "correct the configuration of the target";
        else if (why.sys == EACCES)
            advice = "; make it executable, or correct the configuration of "
                     "the target";
    }
    err_set(err, why.kind, "cannot run %s: %s%s", run->label, why.text, advice);
    err->sys = why.sys;
    return false;
}

/* Starts it and waits until it has ended; run->end says how it went.
 * ERR_CONFIG: it cannot be started; ERR_DENIED: its account may not enter its
 * directory. */
static bool run_through(struct run *run, struct err *err) {
    CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
    CLEANUP(text_clear) struct text env = TEXT_INIT;
    union {
        char **out;
        const char *const *in;
    } words;
    size_t count;
    if (!words_split(span_of(run->command), &arena, &words.out, &count, err)) {
        err->kind = ERR_CONFIG;
        return cannot_start(run, err);
    }
    if (count == 0)
        return err_set(err, ERR_CONFIG, "%s is an empty command", run->label);
    account_environment(run, &env);
    if (run->out_fd == 0)
        run_environment(run, &env);
    struct child child = {.argv = words.in,
                          .envp = env_split(&env, &arena),
                          .dir = run->dir,
                          .in = -1,
                          .out = run->out_fd > 0 ? run->out_fd : -1,
                          .err = -1,
                          .status = run->status_fd,
                          .progress = progress_fd(),
                          .account = run->account};
    printf("== %s: %s\n", run->label, run->command);
    fflush(stdout);
    pid_t pid;
    if (!child_start(&child, &pid, err))
        return cannot_start(run, err);
    struct mono begun = clock_mono();
    run->end =
        child_wait(pid, run->stop, run->start->timeout_s * 1000, GRACE_MS);
    process_end_orphans(ORPHANS_MS);
    wait_for_reader(STDERR_FILENO);
    char room[64];
    printf("== %s %s after %.1f s\n", run->label, ended_words(run, room),
           (double)mono_ms_since(clock_mono(), begun) / 1000);
    return true;
}

static bool make_directory(const char *work, const char *name,
                           struct text *ret_path, struct err *err) {
    text_reset(ret_path);
    text_addf(ret_path, "%s/%s", work, name);
    if (mkdir(text_string(ret_path), 0700) != 0 && errno != EEXIST)
        return err_errno(err, errno, "cannot create '%s'",
                         text_string(ret_path));
    return true;
}

static void status_say(struct land_status *status, enum land_verdict verdict,
                       const char *reason, const struct run *run) {
    char room[64];
    CLEANUP(text_clear) struct text text = TEXT_INIT;
    text_addf(&text, "%s %s", run->label, ended_words(run, room));
    if (run->end.how == CHILD_LATE)
        text_addf(&text, " (%lld s)", (long long)run->start->timeout_s);
    land_status_set(status, verdict, reason, text_span(&text));
}

/* Nothing of ours had asked for it, so the kernel killed it, for example for
 * lack of memory, or somebody else: that says nothing about the set. A shell
 * exits with 128 + 9 if its command was killed. */
static bool was_killed(const struct run *run) {
    return (run->end.how == CHILD_SIGNALLED && run->end.code == SIGKILL) ||
           (run->end.how == CHILD_EXITED && run->end.code == 128 + SIGKILL);
}

static void status_say_killed(struct land_status *status,
                              const struct run *run) {
    char room[64];
    CLEANUP(text_clear) struct text text = TEXT_INIT;
    text_addf(&text,
              "%s %s, which Pointsman did not do; did the machine run out of "
              "memory?",
              run->label,
              run->end.how == CHILD_SIGNALLED
                  ? ended_words(run, room)
                  : "exited with 137, as if killed by signal 9");
    land_status_set(status, LAND_TEMPORARY, "", text_span(&text));
}

/* Translates the end of a check into a verdict. True: it passed. */
static bool check_verdict(const struct run *run,
                          struct land_status *ret_status) {
    int code = run->end.code;
    if (run->end.how == CHILD_EXITED && code == 0)
        return true;
    if (run->end.how == CHILD_STOPPED)
        status_say(ret_status, LAND_STOPPED, "", run);
    else if (run->end.how == CHILD_LATE)
        status_say(ret_status, LAND_FAILED, "timeout", run);
    else if (run->end.how == CHILD_EXITED && (code == 75 || code == 111))
        status_say(ret_status, LAND_TEMPORARY, "", run);
    else if (was_killed(run))
        status_say_killed(ret_status, run);
    else
        status_say(ret_status, LAND_FAILED, "check-failed", run);
    return false;
}

/* True: nothing can run under the account of the commands. That is for the
 * owner of the base to change; the set is not the cause. */
static bool is_forbidden(const struct err *err,
                         struct land_status *ret_status) {
    if (err->kind != ERR_DENIED)
        return false;
    land_status_set(ret_status, LAND_FORBIDDEN, "", span_of(err->text));
    return true;
}

/* It could not be started. True: that is a verdict. No set is to blame for a
 * program that this machine lacks; if it belongs to the set, `blame` with
 * `reason` is the verdict. */
static bool unstarted_verdict(const struct run *run, enum land_verdict blame,
                              const char *reason,
                              struct land_status *ret_status,
                              const struct err *err) {
    if (err->kind != ERR_CONFIG || !is_of_set(run->command))
        return is_forbidden(err, ret_status);
    land_status_set(ret_status, blame, reason, span_of(err->text));
    return true;
}

/* A filter of the repository, or a conversion that the set's .gitattributes
 * asks for, would make the checks see other bytes than those that land. So the
 * tree is written as it is stored, unless the target wants the filters.
 *
 * Uses `read-tree` with a separate index: it writes the tree's files and
 * nothing in the repository. */
static bool tree_check_out(const struct land_start *start, struct git *git,
                           const char *tree, struct text *ret_dir,
                           struct err *err) {
    CLEANUP(text_clear) struct text out = TEXT_INIT;
    CLEANUP(text_clear) struct text raw = TEXT_INIT;
    text_addf(&raw, "%s/raw", start->work);
    return make_directory(start->work, "tmp", ret_dir, err) &&
           make_directory(start->work, "tree", ret_dir, err) &&
           (start->filters || access(text_string(&raw), F_OK) == 0 ||
            git_raw_prepare(git, tree, err)) &&
           git_run(git, GIT_ARGS("read-tree", "--reset", "-u", tree),
                   GIT_TREE | (start->filters ? 0 : GIT_RAW), SPAN(""), &out,
                   NULL, err);
}

/* The tree of the branch; "": there is none. */
static bool tip_tree_read(const struct land_start *start, struct git *git,
                          char ret_tree[OID_BYTES], struct err *err) {
    CLEANUP(text_clear) struct text name = TEXT_INIT;
    CLEANUP(text_clear) struct text out = TEXT_INIT;
    int status = 0;
    text_addf(&name, "refs/heads/%s^{tree}", start->branch);
    if (!git_run(git,
                 GIT_ARGS("rev-parse", "--verify", "-q", text_string(&name)),
                 GIT_QUIET, SPAN(""), &out, &status, err))
        return false;
    struct span oid = span_trim(text_span(&out));
    snprintf(ret_tree, OID_BYTES, "%.*s",
             status == 0 && git_oid_is_valid(oid) ? (int)oid.len : 0, oid.p);
    return true;
}

/* Whether the branch itself can be checked out here, in place of `tree`, which
 * cannot. False: no set is the cause. */
static bool tip_check_out(const struct land_start *start, struct git *git,
                          const char *tree, const struct err *why,
                          struct err *err) {
    CLEANUP(text_clear) struct text dir = TEXT_INIT;
    CLEANUP(fd_close)
    int work = open(start->work, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    char tip[OID_BYTES];
    if (work < 0)
        return err_errno(err, errno, "cannot open '%s'", start->work);
    if (!tip_tree_read(start, git, tip, err))
        return false;
    *err = *why;
    return tip[0] == '\0' ||
           (strcmp(tip, tree) != 0 && dir_remove_tree(work, "tree", err) &&
            tree_check_out(start, git, tip, &dir, err));
}

/* The tree could not be checked out, which `err` explains. True: that is a
 * verdict. Its objects may have been deleted, since candidates are not kept; or
 * one of its sets has a file that cannot exist here. Only the train can tell
 * these apart. */
static bool unwritten_verdict(const struct land_start *start, struct git *git,
                              const char *tree, struct land_status *ret_status,
                              struct err *err) {
    struct err of_tip = {0};
    if (err->kind != ERR_CANNOT && err->kind != ERR_UNAVAILABLE)
        return false;
    if (!tip_check_out(start, git, tree, err, &of_tip)) {
        *err = of_tip;
        if (err->kind == ERR_CANNOT)
            err->kind = ERR_UNAVAILABLE;
        return err_wrap(err, "branch '%s' itself cannot be checked out here",
                        start->branch);
    }
    land_status_set(ret_status, LAND_CHANGED, "", span_of(err->text));
    return true;
}

/* ": needs update" follows each path that is not as the tree says. */
static void changed_say(struct span out, const char *label) {
    struct span line, first = {0};
    size_t count = 0;
    while (span_cut(&out, '\n', &line) && line.len > 0)
        if (count++ == 0)
            (void)span_cut(&line, ':', &first);
    printf("== %s changed %.*s%s, so the next check gets a new checkout\n",
           label, (int)first.len, first.p,
           count > 1 ? " and other files of the tree" : "");
    fflush(stdout);
}

/* True: the directory of the checkout is still there. */
static bool is_directory(const char *path) {
    struct stat st;
    return lstat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

/* Moves a changed checkout, or what a check put in its place, out of the way.
 */
static bool set_aside(const struct land_start *start, const char *dir,
                      size_t number, struct err *err) {
    CLEANUP(text_clear) struct text aside = TEXT_INIT;
    text_addf(&aside, "%s/changed.%zu", start->work, number);
    return rename(dir, text_string(&aside)) == 0 || errno == ENOENT ||
           err_errno(err, errno, "cannot rename '%s'", dir);
}

/* A check runs code of the set, which may change files that the next check is
 * to judge. An index without times makes git compare the contents. A changed
 * directory is set aside, not repaired: its processes might redirect what we
 * write there as root. */
static bool tree_restore(const struct land_start *start, struct git *git,
                         const char *tree, const struct run *run, size_t number,
                         bool *ret_restored, struct err *err) {
    CLEANUP(text_clear) struct text out = TEXT_INIT;
    CLEANUP(text_clear) struct text dir = TEXT_INIT;
    enum git_manner manner = GIT_TREE | (start->filters ? 0 : GIT_RAW);
    int code = 0;
    *ret_restored = !is_directory(run->dir);
    if (*ret_restored) {
        printf("== %s removed its directory, so the next check gets a new "
               "checkout\n",
               run->label);
        fflush(stdout);
        return set_aside(start, run->dir, number, err) &&
               tree_check_out(start, git, tree, &dir, err);
    }
    if (!git_run(git, GIT_ARGS("read-tree", "--reset", tree), manner, SPAN(""),
                 &out, NULL, err))
        return false;
    text_reset(&out);
    if (!git_run(git, GIT_ARGS("update-index", "--really-refresh"), manner,
                 SPAN(""), &out, &code, err))
        return false;
    if (code == 0)
        return true;
    if (out.len == 0)
        return err_set(
            err, ERR_TEMPORARY,
            "cannot compare the files of the checkout with the tree");
    changed_say(text_span(&out), run->label);
    *ret_restored = true;
    return set_aside(start, run->dir, number, err) &&
           tree_check_out(start, git, tree, &dir, err);
}

bool target_checks_run(const struct land_start *start, struct git *git,
                       const char *tree, struct child_stop *stop,
                       bool *ret_pass, struct land_status *ret_status,
                       struct err *err) {
    CLEANUP(text_clear) struct text dir = TEXT_INIT;
    *ret_pass = true;
    if (start->check_count == 0)
        return true;
    static const char *const names[] = {"tree", "tmp", NULL};
    CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
    const struct account *account;
    *ret_pass = tree_check_out(start, git, tree, &dir, err);
    if (!*ret_pass)
        return unwritten_verdict(start, git, tree, ret_status, err);
    *ret_pass = give_to_user(start, names, &arena, &account, err);
    if (!*ret_pass)
        return is_forbidden(err, ret_status);
    for (size_t i = 0; i < start->check_count; i++) {
        const struct land_check *check = &start->checks[i];
        CLEANUP(text_clear) struct text label = TEXT_INIT;
        text_addf(&label, "check '%s'", check->name);
        struct run run = {.start = start,
                          .stop = stop,
                          .label = text_string(&label),
                          .command = check->command,
                          .dir = text_string(&dir),
                          .status_fd = -1,
                          .account = account};
        *ret_pass = run_through(&run, err);
        if (!*ret_pass)
            return unstarted_verdict(&run, LAND_FAILED, "check-failed",
                                     ret_status, err);
        *ret_pass = check_verdict(&run, ret_status);
        if (!*ret_pass || i + 1 == start->check_count)
            break;
        bool restored;
        *ret_pass = tree_restore(start, git, tree, &run, i, &restored, err);
        if (!*ret_pass)
            return unwritten_verdict(start, git, tree, ret_status, err);
        *ret_pass =
            !restored || give_to_user(start, names, &arena, &account, err);
        if (!*ret_pass)
            return is_forbidden(err, ret_status);
    }
    return true;
}

/* A longer output ends the command with SIGXFSZ. */
static int environment_open(const struct account *account, struct err *err) {
    struct rlimit limit = {ENVIRONMENT_MAX, ENVIRONMENT_MAX};
    int fd = memfd_create("environment", MFD_CLOEXEC);
    if (fd < 0 || setrlimit(RLIMIT_FSIZE, &limit) < 0 ||
        (account != NULL && fchown(fd, account->uid, account->gid) < 0)) {
        err_errno(err, errno,
                  "cannot create a memory file for the environment");
        fd_close(&fd);
    }
    return fd;
}

bool target_environment_run(const struct land_start *start,
                            struct child_stop *stop,
                            struct land_status *ret_status, struct err *err) {
    CLEANUP(text_clear) struct text dir = TEXT_INIT;
    CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
    static const char *const names[] = {"tmp", NULL};
    const struct account *account;
    if (!make_directory(start->work, "tmp", &dir, err) ||
        !give_to_user(start, names, &arena, &account, err))
        return false;
    CLEANUP(fd_close) int fd = environment_open(account, err);
    struct run run = {.start = start,
                      .stop = stop,
                      .label = "the environment command",
                      .command = start->environment,
                      .dir = text_string(&dir),
                      .status_fd = -1,
                      .out_fd = fd,
                      .account = account};
    if (fd < 0 || !run_through(&run, err))
        return false;
    char sum[SUM_TEXT_BYTES];
    uint64_t bytes;
    if (run.end.how == CHILD_STOPPED)
        status_say(ret_status, LAND_STOPPED, "", &run);
    else if (run.end.how != CHILD_EXITED || run.end.code != 0)
        status_say(ret_status, LAND_FAILED, "environment", &run);
    else if (!sum_file(fd, sum, &bytes, err))
        return false;
    else
        land_status_set(ret_status, LAND_PASSED, "", span_of(sum));
    return true;
}

/* The exit status of a target's command (doc/design/processes.md). */
static void command_verdict(const struct run *run,
                            struct land_status *ret_status) {
    int code = run->end.code;
    char reason[LAND_REASON_BYTES];
    if (run->end.how == CHILD_STOPPED)
        status_say(ret_status, LAND_STOPPED, "", run);
    else if (run->end.how == CHILD_LATE)
        status_say(ret_status, LAND_FAILED, "timeout", run);
    else if (run->end.how == CHILD_SIGNALLED) {
        snprintf(reason, sizeof reason, "signal-%d", code);
        status_say(ret_status, LAND_FAILED, reason, run);
    } else if (code == 0)
        land_status_set(ret_status, LAND_DONE, "", SPAN(""));
    else if (code == 75 || code == 111)
        status_say(ret_status, LAND_TEMPORARY, "", run);
    else if (code == 100 || code == 126 || code == 127)
        status_say(ret_status, LAND_PERMANENT, "", run);
    else {
        snprintf(reason, sizeof reason, "exit-%d", code);
        status_say(ret_status, LAND_FAILED, reason, run);
    }
}

/* The last line on its status descriptor, a file in memory, so that writing
 * never blocks and its children cannot hold back the end of file. */
static struct span status_last_line(int fd, struct text *room) {
    char piece[4096];
    lseek(fd, 0, SEEK_SET);
    for (ssize_t n;
         room->len < STATUS_MAX && (n = read(fd, piece, sizeof piece)) > 0;)
        text_add(room, piece, (size_t)n);
    struct span rest = text_span(room), line, last = {NULL, 0};
    while (span_cut(&rest, '\n', &line))
        if (span_trim(line).len > 0)
            last = span_trim(line);
    return last;
}

static void status_translate(const struct status_line *said,
                             struct land_status *ret_status) {
    static const enum land_verdict verdicts[] = {
        [STATUS_DONE] = LAND_DONE,
        [STATUS_FAILED] = LAND_FAILED,
        [STATUS_TEMPORARY] = LAND_TEMPORARY,
        [STATUS_PERMANENT] = LAND_PERMANENT,
        [STATUS_CONFLICT] = LAND_CONFLICT,
        [STATUS_INCOMPLETE] = LAND_TEMPORARY,
        [STATUS_INCOMPLETE_BACKOFF] = LAND_TEMPORARY,
    };
    enum land_verdict verdict = verdicts[said->word];
    land_status_set(ret_status, verdict, verdict == LAND_FAILED ? "failed" : "",
                    said->reason);
}

bool target_command_run(const struct land_start *start, int tarball_fd,
                        struct child_stop *stop, struct land_status *ret_status,
                        struct err *err) {
    CLEANUP(text_clear) struct text dir = TEXT_INIT;
    CLEANUP(text_clear) struct text room = TEXT_INIT;
    CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
    static const char *const names[] = {"lroot", "meta", "tmp", NULL};
    const struct account *account;
    CLEANUP(fd_close) int status_fd = memfd_create("status", MFD_CLOEXEC);
    if (status_fd < 0)
        return err_errno(err, errno,
                         "cannot create a memory file for its status");
    if (!set_unpack(tarball_fd, start->work, span_of(start->sum),
                    start->symlinks, err) ||
        !make_directory(start->work, "tmp", &dir, err))
        return false;
    if (!give_to_user(start, names, &arena, &account, err))
        return is_forbidden(err, ret_status);
    struct run run = {.start = start,
                      .stop = stop,
                      .label = "command",
                      .command = start->command,
                      .dir = start->work,
                      .status_fd = status_fd,
                      .account = account};
    if (!run_through(&run, err))
        return unstarted_verdict(&run, LAND_PERMANENT, "", ret_status, err);
    command_verdict(&run, ret_status);
    struct span line = status_last_line(status_fd, &room);
    struct status_line said;
    struct err unread = {0};
    if (line.len == 0 || run.end.how == CHILD_STOPPED ||
        run.end.how == CHILD_LATE)
        return true;
    if (status_line_parse(line, &arena, &said, &unread))
        status_translate(&said, ret_status);
    else
        land_status_set(ret_status, LAND_FAILED, "failed",
                        span_of(unread.text));
    return true;
}
