#include "support/landing.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/text.h"
#include "os/clock.h"
#include "support/tarball.h"

static struct text rooms[64];

static struct text *room(void) {
    static unsigned next;
    struct text *text = &rooms[next++ % 64];
    text_reset(text);
    text_reserve(text, 1);
    text->p[0] = '\0';
    return text;
}

static void file_read_all(const char *path, struct text *out) {
    FILE *file = fopen(path, "r");
    char piece[4096];
    assert_non_null(file);
    for (size_t n; (n = fread(piece, 1, sizeof piece, file)) > 0;)
        text_add(out, piece, n);
    fclose(file);
}

const char *sh(const char *format, ...) {
    static const char tame[] =
        "export HOME=\"$PWD\" GIT_CONFIG_NOSYSTEM=1 GIT_AUTHOR_NAME=Ann "
        "GIT_AUTHOR_EMAIL=ann@example.org GIT_COMMITTER_NAME=Ann "
        "GIT_COMMITTER_EMAIL=ann@example.org; set -e\n";
    CLEANUP(text_clear) struct text script = TEXT_INIT;
    struct text *out = room();
    va_list args;
    text_addf(&script, "cd '%s'; %s", test_dir(), tame);
    va_start(args, format);
    text_addv(&script, format, args);
    va_end(args);
    text_adds(&script, "\n");
    /* The script is in a file, so that it needs no quoting for popen. */
    char path[512];
    snprintf(path, sizeof path, "%s/script.sh", test_dir());
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text_string(&script), file);
    fclose(file);
    CLEANUP(text_clear) struct text line = TEXT_INIT;
    text_addf(&line, "sh '%s'", path);
    FILE *pipe = popen(text_string(&line), "r");
    assert_non_null(pipe);
    char piece[4096];
    for (size_t n; (n = fread(piece, 1, sizeof piece, pipe)) > 0;)
        text_add(out, piece, n);
    int status = pclose(pipe);
    if (status != 0)
        fail_msg("the script exited with %d: %s", status, text_string(&script));
    while (out->len > 0 && out->p[out->len - 1] == '\n')
        out->p[--out->len] = '\0';
    return text_string(out);
}

void landing_begin_empty(const char *options) {
    sh("rm -rf target.git clone sets work tmp branches out.*\n"
       "mkdir sets tmp\n"
       "git init -q --bare -b main %s target.git",
       options);
}

void landing_begin(void) {
    landing_begin_empty("");
    sh("git clone -q target.git clone 2>/dev/null; cd clone\n"
       "git checkout -q -b main\n"
       "printf '1\\n2\\n3\\n4\\n5\\n6\\n7\\n' >f; echo g >g\n"
       "git add f g; git commit -q -m begin; git push -q origin main");
}

static void set_meta(const struct set *set, struct text *meta) {
    text_addf(meta, "##movetype\n%s\n##target\nmain\n",
              set->class != NULL ? set->class : "DC");
    if (set->files[0].path != NULL)
        text_adds(meta, "##files\n");
    for (const struct set_file *file = set->files; file->path != NULL; file++)
        text_addf(meta, "%s\n", file->path);
    if (set->deleted[0] != NULL)
        text_adds(meta, "##deleted\n");
    for (const char *const *path = set->deleted; *path != NULL; path++)
        text_addf(meta, "%s\n", *path);
    if (set->sections != NULL)
        text_adds(meta, set->sections);
}

const char *large_content(void) {
    static char content[80001];
    for (size_t i = 0; i < sizeof content - 1; i++)
        content[i] = i % 20 == 19 ? '\n' : (char)('a' + i / 20 % 26);
    return content;
}

const char *set_write(const struct set *set) {
    CLEANUP(text_clear) struct text meta = TEXT_INIT;
    CLEANUP(text_clear) struct text tar = TEXT_INIT;
    set_meta(set, &meta);
    tarball_file(&tar, "meta", text_string(&meta));
    for (const struct set_file *file = set->files; file->path != NULL; file++) {
        char name[200];
        snprintf(name, sizeof name, "lroot/%s", file->path);
        size_t bytes = file->link != NULL ? 0 : strlen(file->content);
        tarball_header(&tar, name, file->link != NULL ? '2' : '0', bytes,
                       file->mode != 0 ? file->mode : 0644, file->link);
        tarball_content(&tar, file->content, bytes);
    }
    tarball_end(&tar);
    char path[512];
    snprintf(path, sizeof path, "%s/sets/%s", test_dir(), set->id);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_int_equal(fwrite(tar.p, 1, tar.len, file), tar.len);
    fclose(file);
    return sh("sha256sum 'sets/%s' | cut -c1-64", set->id);
}

/* An argument vector in static memory. */
struct argv {
    const char *words[128];
    size_t count;
};

static void argv_add(struct argv *argv, const char *option, const char *value) {
    if (value == NULL)
        return;
    if (option != NULL)
        argv->words[argv->count++] = option;
    argv->words[argv->count++] = value;
    argv->words[argv->count] = NULL;
}

static const char *in_dir(const char *name) {
    struct text *text = room();
    text_addf(text, "%s/%s", test_dir(), name);
    return text_string(text);
}

static const char *number(int64_t value) {
    struct text *text = room();
    text_addf(text, "%lld", (long long)value);
    return text_string(text);
}

static void argv_also(struct argv *argv, const struct attempt *attempt,
                      const struct set *set, bool joined) {
    int64_t now_ns = clock_wall().ns;
    set_write(set);
    argv_add(argv, NULL, "--also");
    argv_add(argv, "--id", set->id);
    argv_add(argv, "--sum", sh("sha256sum <'sets/%s' | cut -c1-64", set->id));
    argv_add(argv, "--class", set->class);
    argv_add(argv, "--tarball", in_dir(sh("echo sets/%s", set->id)));
    argv_add(argv, "--since",
             number(attempt->since_ns != 0 ? attempt->since_ns : now_ns));
    argv_add(argv, "--admitted", number(now_ns - 60 * NS_PER_S));
    argv_add(argv, "--submitter", "Otto <otto@example.org>");
    argv_add(argv, "--joined", joined ? "yes" : NULL);
}

static void argv_fill(struct argv *argv, const struct attempt *attempt) {
    const struct set *set = attempt->set;
    const char *program = getenv("LAND_PROGRAM");
    assert_non_null(program);
    int64_t now_ns = clock_wall().ns;
    for (const char *const *word = attempt->wrap; word != NULL && *word != NULL;
         word++)
        argv_add(argv, NULL, *word);
    argv_add(argv, NULL, program);
    if (attempt->probe)
        argv_add(argv, NULL, "--probe");
    argv_add(argv, "--id", set->id);
    const char *tarball = attempt->tarball;
    if (tarball == NULL) {
        set_write(set);
        tarball = in_dir(sh("echo sets/%s", set->id));
    }
    argv_add(argv, "--sum", sh("sha256sum <'%s' | cut -c1-64", tarball));
    argv_add(argv, "--class", set->class != NULL ? set->class : "DC");
    argv_add(argv, "--target", "main");
    argv_add(argv, "--tarball", tarball);
    argv_add(argv, "--work", in_dir("tmp/land.work"));
    argv_add(argv, "--branches", in_dir("branches"));
    int64_t admitted_ns = now_ns - 60 * NS_PER_S;
    int64_t since_ns = attempt->since_ns != 0  ? attempt->since_ns
                       : attempt->seen != NULL ? admitted_ns
                                               : now_ns;
    argv_add(argv, "--since", number(since_ns));
    argv_add(argv, "--admitted", number(admitted_ns));
    argv_add(argv, "--submitter",
             attempt->submitter != NULL ? attempt->submitter
                                        : "Sue <sue@example.org>");
    argv_add(argv, "--command", attempt->command);
    if (attempt->command == NULL) {
        argv_add(argv, "--git",
                 in_dir(attempt->git != NULL ? attempt->git : "target.git"));
        argv_add(argv, "--branch",
                 attempt->branch != NULL ? attempt->branch : "main");
        argv_add(argv, "--committer", "Points Man <pointsman@example.org>");
    }
    argv_add(argv, "--blind", attempt->blind);
    argv_add(argv, "--seen", attempt->seen);
    argv_add(argv, "--symlinks", attempt->symlinks);
    argv_add(argv, "--joined",
             attempt->others[0] != NULL && !attempt->alone ? "yes" : NULL);
    argv_add(argv, "--filters", attempt->filters ? "yes" : NULL);
    argv_add(argv, "--user", attempt->user);
    argv_add(argv, "--timeout", attempt->timeout);
    argv_add(argv, "--approved-by", attempt->approved_by);
    for (size_t i = 0; i < COUNT(attempt->bases); i++) {
        const char *base_tarball = attempt->bases[i].tarball;
        const char *archived = attempt->bases[i].archived;
        if (base_tarball == NULL)
            break;
        argv_add(argv, "--base", attempt->bases[i].id);
        argv_add(argv, NULL,
                 sh("sha256sum <'%s' | cut -c1-64",
                    archived != NULL ? archived : base_tarball));
        argv_add(argv, NULL, base_tarball);
        argv_add(argv, NULL, attempt->bases[i].landed ? "landed" : "not");
        argv_add(argv, NULL, archived != NULL ? archived : "-");
    }
    for (const struct set *const *need = attempt->needs; *need != NULL;
         need++) {
        argv_add(argv, "--need", (*need)->id);
        argv_add(argv, NULL,
                 sh("sha256sum <'sets/%s' | cut -c1-64", (*need)->id));
    }
    for (const char *const *check = attempt->checks; *check != NULL;
         check += 2) {
        argv_add(argv, "--check", check[0]);
        argv_add(argv, NULL, check[1]);
    }
    for (const struct set *const *other = attempt->others; *other != NULL;
         other++)
        argv_also(argv, attempt, *other, other[1] != NULL && !attempt->alone);
}

/* In the child: sets up the process group, the descriptors and the limits, and
 * executes the program. */
static void become(const struct attempt *attempt, const struct argv *argv,
                   int status_fd, const char *output) {
    union {
        const char *const *in;
        char *const *out;
    } words = {argv->words};
    setpgid(0, 0);
    int fd = open(output, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    if (fd < 0 || dup2(fd, 1) < 0 || dup2(fd, 2) < 0 || dup2(status_fd, 3) < 0)
        _exit(99);
    fcntl(3, F_SETFD, 0);
    setenv("POINTSMAN_STATUS_FD", "3", 1);
    if (attempt->path != NULL) {
        char path[4096];
        snprintf(path, sizeof path, "%s:%s", attempt->path, getenv("PATH"));
        setenv("PATH", path, 1);
    }
    if (attempt->file_bytes != 0) {
        struct rlimit limit = {attempt->file_bytes, attempt->file_bytes};
        setrlimit(RLIMIT_FSIZE, &limit);
    }
    execvp(words.out[0], words.out);
    _exit(98);
}

struct landing_child landing_spawn(const struct attempt *attempt) {
    static unsigned serial;
    struct argv argv = {0};
    struct landing_child child = {0};
    int fds[2];
    argv_fill(&argv, attempt);
    snprintf(child.output, sizeof child.output, "%s/out.%u", test_dir(),
             serial++);
    assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
    child.pid = fork();
    assert_true(child.pid >= 0);
    if (child.pid == 0)
        become(attempt, &argv, fds[1], child.output);
    close(fds[1]);
    child.status_fd = fds[0];
    return child;
}

struct outcome land_wait(struct landing_child *child) {
    struct outcome outcome = {.exit_code = -1};
    CLEANUP(text_clear) struct text line = TEXT_INIT;
    char piece[512];
    for (ssize_t n; (n = read(child->status_fd, piece, sizeof piece)) > 0;)
        text_add(&line, piece, (size_t)n);
    close(child->status_fd);
    int status = 0;
    while (waitpid(child->pid, &status, 0) < 0)
        assert_int_equal(errno, EINTR);
    if (WIFEXITED(status))
        outcome.exit_code = WEXITSTATUS(status);
    else
        outcome.signal = WTERMSIG(status);
    struct span trimmed = span_trim(text_span(&line));
    snprintf(outcome.line, sizeof outcome.line, "%.*s", (int)trimmed.len,
             trimmed.p != NULL ? trimmed.p : "");
    struct land_verdict_line said = land_verdict_parse(trimmed);
    outcome.has_status = said.verdict != LAND_NONE;
    snprintf(outcome.text, sizeof outcome.text, "%.*s", (int)said.text.len,
             said.text.p != NULL ? said.text.p : "");
    struct text *output = room();
    file_read_all(child->output, output);
    outcome.output = output->p;
    return outcome;
}

struct outcome land(const struct attempt *attempt) {
    struct landing_child child = landing_spawn(attempt);
    return land_wait(&child);
}

void require_strace(void) {
    if (*sh("command -v strace || true") == '\0')
        test_skip("strace is missing");
    if (*sh("strace -o /dev/null true 2>/dev/null && echo yes || true") == '\0')
        test_skip("strace cannot trace here");
}

struct outcome land_signalled(const struct set *set, const char *signal) {
    char inject[100];
    snprintf(inject, sizeof inject, "inject=linkat:signal=%s:when=2", signal);
    const char *const wrap[] = {"env",       "ASAN_OPTIONS=detect_leaks=0",
                                "strace",    "-o",
                                "/dev/null", "-e",
                                inject,      NULL};
    return land(&(struct attempt){.set = set, .wrap = wrap});
}

void assert_line(const struct outcome *outcome, const char *line) {
    if (strcmp(outcome->line, line) != 0)
        fail_msg("status '%s', expected '%s':\n%s", outcome->line, line,
                 outcome->output);
}

void assert_starts(const struct outcome *outcome, const char *start) {
    if (strncmp(outcome->line, start, strlen(start)) != 0)
        fail_msg("status '%s', expected '%s...':\n%s", outcome->line, start,
                 outcome->output);
}

void assert_says(const struct outcome *outcome, const char *words) {
    if (strstr(outcome->line, words) == NULL &&
        strstr(outcome->output, words) == NULL)
        fail_msg("'%s' is neither in the status '%s' nor in the output:\n%s",
                 words, outcome->line, outcome->output);
}

static void assert_clean(void) {
    assert_string_equal(sh("ls -A tmp"), "");
    assert_string_equal(
        sh("cd target.git; find . -name '*.lock' -o -name '*crash*'"), "");
    sh("git -C target.git fsck --strict --no-dangling >&2");
}

void assert_landed(const struct outcome *outcome) {
    assert_starts(outcome, "done ");
    assert_int_equal(outcome->exit_code, 0);
    assert_string_equal(outcome->text, tip());
    assert_clean();
}

void assert_unmoved(const struct outcome *outcome, const char *at) {
    if (strcmp(tip(), at) != 0)
        fail_msg("the set landed: '%s':\n%s", outcome->line, outcome->output);
    assert_clean();
}

const char *content(const char *path) {
    return sh("git -C target.git show 'main:%s'", path);
}

const char *tip(void) {
    return sh("git -C target.git rev-parse main");
}

const char *commits(void) {
    return sh("git -C target.git rev-list --count main");
}
