#include "landing/git.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "landing/objects_apart.h"

enum { ARGS_MAX = 64 };

static void env_add(struct git *git, size_t *count, const char *name,
                    const char *value) {
    struct text line = TEXT_INIT;
    text_addf(&line, "%s=%s", name, value);
    git->envp = mem_grow(git->envp, *count + 2, sizeof *git->envp);
    git->envp[(*count)++] = text_take(&line);
    git->envp[*count] = NULL;
}

/* Only PATH is taken from the caller's environment: a GIT_* or HOME left in it
 * would let a user's configuration affect a target. */
static void git_environment(struct git *git) {
    const char *path = getenv("PATH");
    size_t n = 0;
    env_add(git, &n, "PATH", path != NULL ? path : "/usr/bin:/bin");
    env_add(git, &n, "LC_ALL", "C");
    env_add(git, &n, "TZ", "UTC");
    env_add(git, &n, "GIT_CONFIG_NOSYSTEM", "1");
    env_add(git, &n, "GIT_CONFIG_GLOBAL", "/dev/null");
    env_add(git, &n, "GIT_ATTR_NOSYSTEM", "1");
    env_add(git, &n, "GIT_TERMINAL_PROMPT", "0");
    env_add(git, &n, "GIT_NO_LAZY_FETCH", "1");
}

static bool is_git_dir(const char *dir) {
    struct text path = TEXT_INIT;
    text_addf(&path, "%s/HEAD", dir);
    bool head = access(text_string(&path), F_OK) == 0;
    text_reset(&path);
    text_addf(&path, "%s/objects", dir);
    bool objects = access(text_string(&path), F_OK) == 0;
    text_clear(&path);
    return head && objects;
}

static char *absolute(const char *path) {
    char *real = realpath(path, NULL);
    return real != NULL ? real : mem_string(path);
}

/* Accepts a bare repository, a work tree with a directory .git, or (worktrees,
 * submodules) one with a file .git, which git itself must read. The directory
 * with the branches is the one that counts. */
static bool git_find_dir(struct git *git, const char *dir, struct err *err) {
    git->dir = absolute(dir);
    if (is_git_dir(git->dir))
        return true;
    struct text inner = TEXT_INIT;
    text_addf(&inner, "%s/.git", git->dir);
    struct stat st;
    if (stat(text_string(&inner), &st) != 0) {
        text_clear(&inner);
        return err_set(err, ERR_UNAVAILABLE, "no git repository '%s'", dir);
    }
    free(git->dir);
    git->dir = text_take(&inner);
    struct text out = TEXT_INIT;
    bool ok = git_run(
        git,
        GIT_ARGS("rev-parse", "--path-format=absolute", "--git-common-dir"),
        GIT_PLAIN, SPAN(""), &out, NULL, err);
    struct span found = span_trim(text_span(&out));
    if (ok && found.len > 0) {
        free(git->dir);
        git->dir = span_string(found);
    }
    text_clear(&out);
    return ok;
}

bool git_is_repository(const char *dir) {
    CLEANUP(text_clear) struct text inner = TEXT_INIT;
    text_addf(&inner, "%s/.git", dir);
    return is_git_dir(dir) || access(text_string(&inner), F_OK) == 0;
}

char *git_discover(const char *dir) {
    CLEANUP(text_free_string) char *at = absolute(dir);
    for (;;) {
        CLEANUP(text_clear) struct text inner = TEXT_INIT;
        text_addf(&inner, "%s/.git", at);
        char *slash = strrchr(at, '/');
        if (is_git_dir(at) || access(text_string(&inner), F_OK) == 0)
            return mem_string(at);
        if (slash == NULL || slash == at)
            return NULL;
        *slash = '\0';
    }
}

/* From here on git starts inside the repository: it would otherwise create
 * directories at the old path if the repository is moved away while it works,
 * and these would be in the way when the repository comes back. */
static bool git_enter(struct git *git, struct err *err) {
    int fd = open(git->dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return err_set(err, ERR_UNAVAILABLE, "cannot open '%s': %s", git->dir,
                       strerror(errno));
    git->dir_fd = fd;
    return true;
}

bool git_open(const char *dir, const char *work, struct child_stop *stop,
              struct git *ret_git, struct err *err) {
    *ret_git = (struct git){.work = mem_string(work), .stop = stop};
    git_environment(ret_git);
    ret_git->stderr_fd = memfd_create("git", MFD_CLOEXEC);
    if (ret_git->stderr_fd < 0) {
        int sys = errno;
        git_close(ret_git);
        return err_errno(err, sys,
                         "cannot create a memory file for git's messages");
    }
    if (!git_find_dir(ret_git, dir, err) || !git_enter(ret_git, err)) {
        git_close(ret_git);
        return false;
    }
    return true;
}

bool git_is_in_place(const struct git *git, struct err *err) {
    struct stat ours, there;
    if (fstat(git->dir_fd, &ours) == 0 && stat(git->dir, &there) == 0 &&
        ours.st_dev == there.st_dev && ours.st_ino == there.st_ino)
        return true;
    return err_set(err, ERR_UNAVAILABLE,
                   "the repository '%s' was moved away or replaced while it "
                   "was in use",
                   git->dir);
}

void git_objects_apart(struct git *git, const char *dir) {
    CLEANUP(text_clear) struct text own = TEXT_INIT;
    size_t n = 0;
    while (git->envp[n] != NULL)
        n++;
    text_addf(&own, "%s/objects", git->dir);
    git->apart = mem_string(dir);
    env_add(git, &n, "GIT_OBJECT_DIRECTORY", dir);
    env_add(git, &n, "GIT_ALTERNATE_OBJECT_DIRECTORIES", text_string(&own));
}

static bool raw_file(const struct git *git, const char *name,
                     const char *content, struct err *err) {
    CLEANUP(text_clear) struct text path = TEXT_INIT;
    text_addf(&path, "%s/raw/%s", git->work, name);
    FILE *file = fopen(text_string(&path), "we");
    if (file != NULL) {
        bool ok = fputs(content, file) != EOF;
        if (fclose(file) == 0 && ok)
            return true;
    }
    return err_errno(err, errno, "cannot write '%s'", text_string(&path));
}

static bool raw_directory(const struct git *git, const char *name,
                          struct err *err) {
    CLEANUP(text_clear) struct text path = TEXT_INIT;
    text_addf(&path, "%s/raw%s", git->work, name);
    return mkdir(text_string(&path), 0700) == 0 ||
           err_errno(err, errno, "cannot create '%s'", text_string(&path));
}

/* info/attributes wins over every .gitattributes of the tree. '!' is needed
 * where git refuses the values true and false. */
bool git_raw_prepare(const struct git *git, const char *tree, struct err *err) {
    static const char attributes[] =
        "* -text !eol !crlf -ident -filter !working-tree-encoding\n";
    bool sha256 = strlen(tree) == 64;
    return raw_directory(git, "", err) && raw_directory(git, "/refs", err) &&
           raw_directory(git, "/info", err) &&
           raw_file(git, "HEAD", "ref: refs/heads/none\n", err) &&
           raw_file(git, "info/attributes", attributes, err) &&
           raw_file(git, "config",
                    sha256 ? "[core]\nrepositoryformatversion = 1\n"
                             "[extensions]\nobjectFormat = sha256\n"
                           : "[core]\nrepositoryformatversion = 0\n",
                    err);
}

bool git_object_unblock(const struct git *git, const char *oid) {
    CLEANUP(text_clear) struct text path = TEXT_INIT;
    struct stat st;
    text_addf(&path, "%s/objects/%.2s/%s", git->dir, oid, oid + 2);
    if (lstat(text_string(&path), &st) != 0 || !S_ISREG(st.st_mode) ||
        st.st_size != 0 || unlink(text_string(&path)) != 0)
        return false;
    printf("removing an empty object file, left by a power cut: %s\n",
           text_string(&path));
    return true;
}

void git_close(struct git *git) {
    for (size_t i = 0; git->envp != NULL && git->envp[i] != NULL; i++)
        free(git->envp[i]);
    free(git->envp);
    free(git->dir);
    free(git->work);
    free(git->apart);
    map_clear(&git->held);
    arena_clear(&git->held_arena);
    if (git->stderr_fd > 0)
        close(git->stderr_fd);
    if (git->dir_fd > 0)
        close(git->dir_fd);
    *git = (struct git){0};
}

/* Takes git's messages from the memory file and empties it for the next git. */
static void git_stderr_take(struct git *git, struct text *out) {
    char piece[4096];
    off_t at = 0;
    for (ssize_t n; (n = pread(git->stderr_fd, piece, sizeof piece, at)) > 0;
         at += n)
        text_add(out, piece, (size_t)n);
    if (ftruncate(git->stderr_fd, 0) == 0)
        lseek(git->stderr_fd, 0, SEEK_SET);
}

/* The most informative line: the first "fatal:" or "error:", else the last one.
 */
static struct span stderr_line(struct span text) {
    struct span line, best = {NULL, 0};
    while (span_cut(&text, '\n', &line)) {
        if (span_starts(line, "fatal: ") || span_starts(line, "error: "))
            return span_make(line.p + 7, line.len - 7);
        if (span_trim(line).len > 0)
            best = span_trim(line);
    }
    return best;
}

static bool says_any(const char *said, const char *const *signs, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (strstr(said, signs[i]) != NULL)
            return true;
    return false;
}

static bool is_temporary(const char *said) {
    static const char *const signs[] = {
        "annot allocate",      "ut of memory",   "emporarily unavailable",
        "Too many open files", "File too large", "unable to create thread",
        "Interrupted",
    };
    return says_any(said, signs, COUNT(signs));
}

/* True if the message says that the repository itself cannot be used. */
static bool is_unavailable(const char *said) {
    static const char *const signs[] = {
        "ead-only file system",
        "ermission denied",
        "nsufficient permission",
        "dubious ownership",
        "ot a git repository",
        "No space left",
        "ut of disk",
        "quota exceeded",
        "Input/output error",
        "ouldn't write",
        "ouldn't close",
        "File exists",
        "cannot lock ref",
        "corrupt",
        "bad object",
        "nable to read",
        "ould not read",
        "nable to parse",
        "ailed to traverse parents",
        "nable to load root tree",
        "ailed to unpack tree",
        "bad tree",
        "issing tree",
        "issing blob",
    };
    return says_any(said, signs, COUNT(signs));
}

/* The messages without what is in quotes: names of files are, and a set may
 * call a file anything. A quote within a word is an apostrophe. */
static void unquoted(struct span said, struct text *out) {
    struct span line;
    while (span_cut(&said, '\n', &line)) {
        const char *last = memrchr(line.p, '\'', line.len);
        const char *open = memmem(line.p, line.len, " '", 2);
        if (open != NULL && last > open + 1) {
            text_add(out, line.p, (size_t)(open - line.p));
            line = span_make(last + 1, line.len - (size_t)(last + 1 - line.p));
        }
        text_addspan(out, line);
        text_addc(out, '\n');
    }
}

/* update-ref names only the branch and files of the repository. */
static enum err_kind kind_of(const char *verb, struct span said,
                             struct child_end end) {
    CLEANUP(text_clear) struct text words = TEXT_INIT;
    if (strcmp(verb, "update-ref") == 0)
        text_addspan(&words, said);
    else
        unquoted(said, &words);
    if (is_unavailable(text_string(&words)))
        return ERR_UNAVAILABLE;
    if (is_temporary(text_string(&words)) || end.code == 141)
        return ERR_TEMPORARY;
    return ERR_CANNOT;
}

/* Turns git's failure into an error. All its messages go to the attempt's
 * output. Those of a checkout name files without quotes, so their words say
 * nothing about the kind. */
static bool git_explain(const struct git_pipe *pipe, struct child_end end,
                        struct err *err) {
    struct git *git = pipe->git;
    const char *verb = pipe->verb;
    CLEANUP(text_clear) struct text said = TEXT_INIT;
    git_stderr_take(git, &said);
    if (said.len > 0 && git->stop != NULL)
        fprintf(stderr, "%s", text_string(&said));
    if (git->stop != NULL && child_stop_requested(git->stop) != 0)
        return err_set(err, ERR_INTERRUPTED, "git %s was stopped", verb);
    if (git->dir_fd > 0 && !git_is_in_place(git, err))
        return false;
    if (end.how != CHILD_EXITED)
        return err_set(err, ERR_TEMPORARY, "git %s was killed by signal %d",
                       verb, end.code);
    struct span line = stderr_line(text_span(&said));
    if (line.len == 0)
        line = SPAN("it gave no reason");
    enum err_kind kind =
        pipe->is_checkout ? ERR_CANNOT : kind_of(verb, text_span(&said), end);
    return err_set(err, kind, "git %s exited with %d: %.*s", verb, end.code,
                   (int)(line.len > 300 ? 300 : line.len), line.p);
}

struct argv {
    const char *words[ARGS_MAX];
    size_t count;
    struct text texts[4]; /* texts that are made here */
};

static void argv_add(struct argv *argv, const char *word) {
    if (argv->count < ARGS_MAX - 1)
        argv->words[argv->count++] = word;
}

static void argv_fill(struct argv *argv, const struct git *git,
                      const char *const *args, enum git_manner manner) {
    *argv = (struct argv){0};
    if (manner & GIT_RAW)
        text_addf(&argv->texts[0], "--git-dir=%s/raw", git->work);
    else
        text_addf(&argv->texts[0], "--git-dir=%s",
                  git->dir_fd > 0 ? "." : git->dir);
    text_addf(&argv->texts[1], "safe.directory=%s", git->dir);
    text_addf(&argv->texts[2], "--work-tree=%s/tree",
              git->work != NULL ? git->work : "");
    argv_add(argv, "git");
    argv_add(argv, text_string(&argv->texts[0]));
    if (manner & GIT_TREE) {
        argv_add(argv, text_string(&argv->texts[2]));
        argv_add(argv, "-c");
        argv_add(argv, "core.bare=false");
    }
    argv_add(argv, "--literal-pathspecs");
    argv_add(argv, "--no-replace-objects");
    const char *const settings[] = {
        manner & GIT_DURABLE ? "core.fsync=all" : "core.fsync=none",
        "gc.auto=0",
        "maintenance.auto=false",
        "core.hooksPath=/dev/null",
        "protocol.allow=never",
        "core.filesRefLockTimeout=1000",
        "i18n.logOutputEncoding=UTF-8", /* trailers are read as ASCII */
        "user.name=" GIT_NAME,
        "user.email=" GIT_EMAIL,
        text_string(&argv->texts[1]),
    };
    for (size_t i = 0; i < COUNT(settings); i++) {
        argv_add(argv, "-c");
        argv_add(argv, settings[i]);
    }
    for (; *args != NULL; args++)
        argv_add(argv, *args);
}

static void argv_clear(struct argv *argv) {
    for (size_t i = 0; i < COUNT(argv->texts); i++)
        text_clear(&argv->texts[i]);
}

/* Without them git reads the objects of the directory that it starts in. */
static bool is_about_objects(const char *variable) {
    return span_starts(span_of(variable), "GIT_OBJECT_DIRECTORY=") ||
           span_starts(span_of(variable), "GIT_ALTERNATE_OBJECT_DIRECTORIES=");
}

static bool git_start(struct git *git, const char *const *args,
                      enum git_manner manner, int in, int out, pid_t *ret_pid,
                      struct err *err) {
    CLEANUP(argv_clear) struct argv argv;
    argv_fill(&argv, git, args, manner);
    CLEANUP(text_clear) struct text index = TEXT_INIT;
    text_addf(&index, "GIT_INDEX_FILE=%s/index",
              git->work != NULL ? git->work : "");
    char *env[16];
    size_t n = 0;
    for (size_t i = 0; git->envp[i] != NULL && n < COUNT(env) - 3; i++)
        if (!(manner & GIT_ALONE) || !is_about_objects(git->envp[i]))
            env[n++] = git->envp[i];
    CLEANUP(text_clear) struct text objects = TEXT_INIT;
    text_addf(&objects, "GIT_OBJECT_DIRECTORY=%s/objects", git->dir);
    if (manner & GIT_TREE)
        env[n++] = index.p;
    if ((manner & GIT_RAW) && git->apart == NULL)
        env[n++] = objects.p;
    env[n] = NULL;
    struct child child = {.argv = argv.words,
                          .envp = env,
                          .at = git->dir_fd,
                          .in = in,
                          .out = out,
                          .err = git->stderr_fd,
                          .status = -1,
                          .progress = -1,
                          .shielded = (manner & GIT_SHIELDED) != 0};
    return child_start(&child, ret_pid, err);
}

static void pipe_shut(int fds[2]) {
    for (int i = 0; i < 2; i++)
        if (fds[i] >= 0)
            close(fds[i]);
}

bool git_pipe_open(struct git *git, const char *const *args,
                   enum git_manner manner, struct git_pipe *ret_pipe,
                   struct err *err) {
    *ret_pipe = (struct git_pipe){
        .git = git, .verb = args[0], .is_checkout = (manner & GIT_TREE) != 0};
    if (!(manner & GIT_BLIND) && !objects_apart_flush(git, err))
        return false;
    int to[2] = {-1, -1}, from[2] = {-1, -1};
    if (pipe2(to, O_CLOEXEC) != 0 || pipe2(from, O_CLOEXEC) != 0) {
        int sys = errno;
        pipe_shut(to);
        return err_errno(err, sys, "cannot create a pipe to git %s", args[0]);
    }
    bool ok = git_start(git, args, manner, to[0], from[1], &ret_pipe->pid, err);
    close(to[0]);
    close(from[1]);
    to[0] = from[1] = -1;
    if (!ok) {
        ret_pipe->pid = 0;
        pipe_shut(to);
        pipe_shut(from);
        return false;
    }
    ret_pipe->in = fdopen(to[1], "w");
    ret_pipe->out = fdopen(from[0], "r");
    if (ret_pipe->in == NULL || ret_pipe->out == NULL) {
        git_pipe_drop(ret_pipe);
        return err_set(err, ERR_TEMPORARY, "out of memory");
    }
    return true;
}

static void pipe_files_close(struct git_pipe *pipe) {
    if (pipe->in != NULL)
        fclose(pipe->in);
    if (pipe->out != NULL)
        fclose(pipe->out);
    pipe->in = pipe->out = NULL;
}

/* Waits without taking TERM: a TERM to the group ends git as well, and
 * git_explain then reports that git did not fail. */
static struct child_end pipe_wait(struct git_pipe *pipe) {
    pipe->end = child_wait(pipe->pid, NULL, 0, 0);
    pipe->pid = 0;
    return pipe->end;
}

bool git_pipe_end_input(struct git_pipe *pipe, struct err *err) {
    bool sent = fclose(pipe->in) == 0;
    pipe->in = NULL;
    return sent || git_pipe_fail(pipe, err);
}

bool git_pipe_close(struct git_pipe *pipe, struct err *err) {
    bool sent = pipe->in == NULL || fclose(pipe->in) == 0;
    pipe->in = NULL;
    char rest[512];
    while (fread(rest, 1, sizeof rest, pipe->out) > 0)
        continue;
    pipe_files_close(pipe);
    struct child_end end = pipe_wait(pipe);
    if (end.how == CHILD_EXITED && end.code == 0 && sent)
        return true;
    return git_explain(pipe, end, err);
}

bool git_pipe_runs(const struct git_pipe *pipe) {
    siginfo_t ended = {0};
    return pipe->pid != 0 &&
           waitid(P_PID, (id_t)pipe->pid, &ended,
                  WEXITED | WNOHANG | WNOWAIT) == 0 &&
           ended.si_pid == 0;
}

void git_pipe_drop(struct git_pipe *pipe) {
    if (pipe->pid == 0)
        return;
    pipe_files_close(pipe);
    pipe_wait(pipe);
    CLEANUP(text_clear) struct text said = TEXT_INIT;
    git_stderr_take(pipe->git, &said);
}

bool git_pipe_fail(struct git_pipe *pipe, struct err *err) {
    if (git_pipe_close(pipe, err))
        return err_set(err, ERR_TEMPORARY, "git %s printed nothing",
                       pipe->verb);
    return false;
}

bool git_run(struct git *git, const char *const *args, enum git_manner manner,
             struct span input, struct text *out, int *ret_exit,
             struct err *err) {
    struct git_pipe pipe;
    if (!git_pipe_open(git, args, manner, &pipe, err))
        return false;
    fwrite(input.p, 1, input.len, pipe.in);
    fclose(pipe.in);
    pipe.in = NULL;
    char piece[16384];
    for (size_t n; (n = fread(piece, 1, sizeof piece, pipe.out)) > 0;)
        text_add(out, piece, n);
    pipe_files_close(&pipe);
    struct child_end end = pipe_wait(&pipe);
    if (ret_exit != NULL)
        *ret_exit = end.code;
    if (ret_exit != NULL && end.code != 0 && git->dir_fd > 0 &&
        !git_is_in_place(git, err))
        return false;
    if (end.how == CHILD_EXITED && (end.code == 0 || ret_exit != NULL)) {
        CLEANUP(text_clear) struct text said = TEXT_INIT;
        git_stderr_take(git, &said);
        if (end.code > 1 && git->stop != NULL && !(manner & GIT_QUIET))
            fprintf(stderr, "%s", text_string(&said));
        return true;
    }
    return git_explain(&pipe, end, err);
}

bool git_objects_open(struct git *git, struct git_pipe *ret_objects,
                      struct err *err) {
    return git_pipe_open(git,
                         GIT_ARGS("cat-file", "--batch-command", "--buffer"),
                         GIT_PLAIN, ret_objects, err);
}

static bool object_content(struct git_pipe *objects, size_t bytes,
                           struct text *content) {
    char piece[16384];
    while (bytes > 0) {
        size_t want = bytes < sizeof piece ? bytes : sizeof piece;
        if (fread(piece, 1, want, objects->out) != want)
            return false;
        if (content != NULL)
            text_add(content, piece, want);
        bytes -= want;
    }
    return fgetc(objects->out) == '\n';
}

/* Reads the first line of an answer. *ret_found false: there is no such object.
 */
static bool object_head(struct git_pipe *objects, char ret_oid[OID_BYTES],
                        char ret_type[16], size_t *ret_bytes, bool *ret_found,
                        struct err *err) {
    char line[4608];
    if (fgets(line, sizeof line, objects->out) == NULL)
        return git_pipe_fail(objects, err);
    *ret_found =
        sscanf(line, "%64s %15s %zu", ret_oid, ret_type, ret_bytes) == 3 &&
        git_oid_is_valid(span_of(ret_oid));
    return true;
}

static void held_read(const struct git_held *held, char ret_oid[OID_BYTES],
                      char ret_type[16], struct text *content) {
    snprintf(ret_oid, OID_BYTES, "%s", held->oid);
    if (ret_type != NULL)
        snprintf(ret_type, 16, "%s", held->type);
    if (content != NULL)
        text_addspan(content, held->content);
}

static bool object_read(struct git_pipe *objects, const char *name,
                        char ret_oid[OID_BYTES], char ret_type[16],
                        struct text *content, bool *ret_found,
                        struct err *err) {
    char oid[OID_BYTES], type[16];
    size_t bytes;
    const struct git_held *held = map_get(&objects->git->held, span_of(name));
    if (held != NULL) {
        held_read(held, ret_oid, ret_type, content);
        *ret_found = true;
        return true;
    }
    fprintf(objects->in, "contents %s\nflush\n", name);
    if (fflush(objects->in) != 0)
        return git_pipe_fail(objects, err);
    if (!object_head(objects, oid, type, &bytes, ret_found, err))
        return false;
    if (!*ret_found)
        return true;
    if (!object_content(objects, bytes, content))
        return git_pipe_fail(objects, err);
    objects->git->is_sha256 = strlen(oid) == 64;
    objects->git->hash_is_known = true;
    snprintf(ret_oid, OID_BYTES, "%s", oid);
    if (ret_type != NULL)
        snprintf(ret_type, 16, "%s", type);
    return true;
}

/* Beside objects apart, git finds those of the repository only by its path; so
 * if one is missing, the repository may be away at that moment. */
bool git_object_read(struct git_pipe *objects, const char *name,
                     char ret_oid[OID_BYTES], char ret_type[16],
                     struct text *content, bool *ret_found, struct err *err) {
    const struct git *git = objects->git;
    return object_read(objects, name, ret_oid, ret_type, content, ret_found,
                       err) &&
           (*ret_found || (git_is_in_place(git, err) &&
                           object_read(objects, name, ret_oid, ret_type,
                                       content, ret_found, err) &&
                           (*ret_found || git_is_in_place(git, err))));
}

/* So few that one pipe is not full before the other is read. */
enum { LOOKUPS_AT_ONCE = 128 };

static bool lookups_ask(struct git_pipe *objects,
                        const struct git_lookup *lookups, size_t count,
                        struct err *err) {
    for (size_t i = 0; i < count; i++)
        if (map_get(&objects->git->held, span_of(lookups[i].oid)) == NULL)
            fprintf(objects->in, "%s %s\n",
                    lookups[i].whole ? "contents" : "info", lookups[i].oid);
    fputs("flush\n", objects->in);
    return fflush(objects->in) == 0 || git_pipe_fail(objects, err);
}

static bool lookup_answer(struct git_pipe *objects,
                          const struct git_lookup *lookup, bool *ret_good,
                          struct err *err) {
    char oid[OID_BYTES], type[16];
    size_t bytes;
    bool found;
    const struct git_held *held =
        map_get(&objects->git->held, span_of(lookup->oid));
    if (held != NULL) {
        *ret_good =
            lookup->type == NULL || strcmp(held->type, lookup->type) == 0;
        return true;
    }
    if (!object_head(objects, oid, type, &bytes, &found, err))
        return false;
    if (found && lookup->whole && !object_content(objects, bytes, NULL))
        return git_pipe_fail(objects, err);
    *ret_good =
        found && (lookup->type == NULL || strcmp(type, lookup->type) == 0);
    return true;
}

bool git_objects_verify(struct git_pipe *objects,
                        const struct git_lookup *lookups, size_t count,
                        size_t *ret_bad, struct err *err) {
    size_t asked = 0;
    *ret_bad = count;
    for (size_t i = 0; i < count; i++) {
        size_t more = count - asked;
        bool good = false;
        if (more > LOOKUPS_AT_ONCE)
            more = LOOKUPS_AT_ONCE;
        if (i == asked && !lookups_ask(objects, lookups + asked, more, err))
            return false;
        if (i == asked)
            asked += more;
        if (!lookup_answer(objects, &lookups[i], &good, err)) {
            *ret_bad = i;
            return false;
        }
        if (!good && *ret_bad == count)
            *ret_bad = i;
    }
    return true;
}

bool git_commit_read(struct git_pipe *objects, const char *name,
                     char ret_oid[OID_BYTES], char ret_tree[OID_BYTES],
                     bool *ret_found, struct err *err) {
    CLEANUP(text_clear) struct text content = TEXT_INIT;
    char type[16] = "";
    if (!git_object_read(objects, name, ret_oid, type, &content, ret_found,
                         err))
        return false;
    if (!*ret_found)
        return true;
    char tree[OID_BYTES];
    if (strcmp(type, "commit") != 0 ||
        sscanf(text_string(&content), "tree %64s", tree) != 1)
        return err_set(err, ERR_CANNOT, "'%s' is not a commit", name);
    snprintf(ret_tree, OID_BYTES, "%s", tree);
    return true;
}

bool git_is_sha256(struct git *git, bool *ret_sha256, struct err *err) {
    CLEANUP(text_clear) struct text out = TEXT_INIT;
    if (!git->hash_is_known &&
        !git_run(git, GIT_ARGS("rev-parse", "--show-object-format"), GIT_PLAIN,
                 SPAN(""), &out, NULL, err))
        return false;
    if (!git->hash_is_known)
        git->is_sha256 = span_is(span_trim(text_span(&out)), "sha256");
    git->hash_is_known = true;
    *ret_sha256 = git->is_sha256;
    return true;
}

bool git_oid_is_valid(struct span oid) {
    if (oid.len != 40 && oid.len != 64)
        return false;
    for (size_t i = 0; i < oid.len; i++)
        if (!isxdigit((unsigned char)oid.p[i]))
            return false;
    return true;
}
