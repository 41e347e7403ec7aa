#include "landing/pack_source.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "os/dir.h"
#include "wire/path.h"

enum { MODE_LINK = 0120000, MODE_MODULE = 0160000 };

/* Files are read whole, one at a time. */
#define FILE_BYTES_MAX (UINT64_C(2) << 30)

static void item_add(struct pack_source *source, struct span path,
                     unsigned mode, const char *oid) {
    if (source->count == source->room) {
        source->room = source->room == 0 ? 32 : source->room * 2;
        source->items =
            mem_grow(source->items, source->room, sizeof *source->items);
    }
    struct pack_item *item = &source->items[source->count++];
    *item = (struct pack_item){.path = arena_span(&source->arena, path),
                               .mode = mode};
    snprintf(item->oid, OID_BYTES, "%s", oid);
}

static int item_compare(const void *a, const void *b) {
    const struct pack_item *left = a, *right = b;
    return path_compare(left->path, right->path);
}

static void items_sort(struct pack_source *source) {
    if (source->count > 1)
        qsort(source->items, source->count, sizeof *source->items,
              item_compare);
}

void pack_source_close(struct pack_source *source) {
    git_pipe_drop(&source->objects);
    if (source->has_git)
        git_close(&source->git);
    fd_close(&source->dir);
    free(source->items);
    arena_clear(&source->arena);
    *source = (struct pack_source){.dir = -1};
}

static bool source_git(struct pack_source *source, const char *repo,
                       struct err *err) {
    if (source->has_git)
        return true;
    const char *where = repo != NULL ? repo : ".";
    CLEANUP(text_free_string) char *found = git_discover(where);
    if (found == NULL)
        return err_set(err, ERR_USAGE, "'%s' is not in a git repository",
                       where);
    source->has_git = git_open(found, NULL, NULL, &source->git, err);
    return source->has_git;
}

/* Returns one line of git's output, in the arena. */
static bool ask(struct pack_source *source, const char *const *args,
                struct span *ret_answer, int *ret_exit, struct err *err) {
    CLEANUP(text_clear) struct text out = TEXT_INIT;
    if (!git_run(&source->git, args, GIT_PLAIN, SPAN(""), &out, ret_exit, err))
        return false;
    struct span answer = text_span(&out);
    while (answer.len > 0 && answer.p[answer.len - 1] == '\n')
        answer.len--;
    *ret_answer = arena_span(&source->arena, answer);
    return true;
}

static bool resolve(struct pack_source *source, const char *rev,
                    const char **ret_oid, struct err *err) {
    struct span oid = {NULL, 0};
    int status = 0;
    const char *name = arena_printf(&source->arena, "%s^{commit}", rev);
    if (!ask(source,
             GIT_ARGS("rev-parse", "--verify", "-q", "--end-of-options", name),
             &oid, &status, err))
        return false;
    if (status != 0 || !git_oid_is_valid(oid))
        return err_set(err, ERR_USAGE, "no commit '%s'", rev);
    *ret_oid = arena_string(&source->arena, oid);
    return true;
}

bool pack_source_rebase(struct pack_source *source, const char *repo,
                        const char *rev, struct err *err) {
    const char *oid;
    if (!source_git(source, repo, err) || !resolve(source, rev, &oid, err))
        return false;
    source->base = span_of(oid);
    return true;
}

bool pack_source_base_tree(struct pack_source *source, struct span *ret_tree,
                           struct err *err) {
    if (source->base.len == 0)
        return err_set(err, ERR_USAGE,
                       "a set that is stacked on another one needs a base; "
                       "name a range, or a commit with --base-rev");
    const char *name = arena_printf(&source->arena, "%.*s^{tree}",
                                    (int)source->base.len, source->base.p);
    return ask(source, GIT_ARGS("rev-parse", "--verify", name), ret_tree, NULL,
               err);
}

/* ---- a range ------------------------------------------------------------ */

static bool range_split(struct pack_source *source, const char *range,
                        const char **ret_from, const char **ret_to,
                        struct err *err) {
    const char *dots = strstr(range, "..");
    if (dots == NULL || dots[2] == '.')
        return err_set(err, ERR_USAGE, "'%s' is not a range like main..fix",
                       range);
    struct span from = span_make(range, (size_t)(dots - range));
    *ret_from = from.len > 0 ? arena_string(&source->arena, from) : "HEAD";
    *ret_to = dots[2] != '\0' ? dots + 2 : "HEAD";
    return true;
}

/* A record of diff-tree --raw -z: ":OLD NEW OID OID LETTER" NUL path NUL. */
static bool diff_record(struct pack_source *source, struct span head,
                        struct span path, struct err *err) {
    unsigned mode;
    char oid[OID_BYTES], letter;
    CLEANUP(text_free_string) char *line = span_string(head);
    if (sscanf(line, ":%*o %o %*s %64s %c", &mode, oid, &letter) != 3)
        return err_set(err, ERR_INTERNAL,
                       "cannot read what git diff-tree prints");
    if (mode == MODE_MODULE)
        return err_set(err, ERR_DATA,
                       "'%.*s' is a submodule, which a set cannot carry",
                       (int)path.len, path.p);
    item_add(source, path, letter == 'D' ? 0 : mode, oid);
    return true;
}

static bool range_diff(struct pack_source *source, const char *base,
                       const char *to, struct err *err) {
    CLEANUP(text_clear) struct text out = TEXT_INIT;
    if (!git_run(&source->git,
                 GIT_ARGS("diff-tree", "-r", "-z", "--raw", "--no-renames",
                          base, to),
                 GIT_PLAIN, SPAN(""), &out, NULL, err))
        return false;
    struct span rest = text_span(&out), head, path;
    while (rest.len > 0)
        if (!span_cut(&rest, '\0', &head) || !span_cut(&rest, '\0', &path) ||
            !diff_record(source, head, path, err))
            return false;
    items_sort(source);
    return true;
}

/* Author, date and message of the range: those of its last commit; if there are
 * several commits, they are listed below its message. */
/* Appends a message as an item of a list: "* subject", the rest indented. */
static void message_add_item(struct span message, struct text *out) {
    struct span line;
    text_adds(out, "\n\n* ");
    for (bool first = true; span_cut(&message, '\n', &line); first = false) {
        if (!first)
            text_adds(out, line.len > 0 ? "\n  " : "\n");
        text_addspan(out, line);
    }
}

/* The message of the last commit; if there are several, those of the others
 * follow, the oldest first. */
static bool range_message(struct pack_source *source, const char *range,
                          struct err *err) {
    CLEANUP(text_clear) struct text message = TEXT_INIT;
    struct span all, last = {0};
    if (!ask(source,
             GIT_ARGS("log", "--reverse", "--no-show-signature",
                      "--encoding=UTF-8", "--format=%B%x00", range),
             &all, NULL, err))
        return false;
    for (struct span rest = all, one; span_cut(&rest, '\0', &one);)
        if (span_trim(one).len > 0)
            last = one;
    text_addspan(&message, span_trim(last));
    for (struct span rest = all, one; span_cut(&rest, '\0', &one);)
        if (span_trim(one).len > 0 && one.p != last.p)
            message_add_item(span_trim(one), &message);
    source->message = arena_span(&source->arena, text_span(&message));
    return true;
}

static bool range_words(struct pack_source *source, const char *base,
                        const char *to, struct err *err) {
    struct span words;
    const char *range = arena_printf(&source->arena, "%s..%s", base, to);
    if (!ask(source,
             GIT_ARGS("log", "-1", "--no-show-signature", "--encoding=UTF-8",
                      "--format=%an <%ae>%n%aI", to),
             &words, NULL, err))
        return false;
    span_cut(&words, '\n', &source->author);
    source->date = words;
    return range_message(source, range, err);
}

static bool range_read(struct pack_source *source, const char *repo,
                       const char *range, struct err *err) {
    const char *from = NULL, *to = NULL, *from_oid, *to_oid;
    struct span base = {NULL, 0};
    int status = 0;
    if (!source_git(source, repo, err) ||
        !range_split(source, range, &from, &to, err) ||
        !resolve(source, from, &from_oid, err) ||
        !resolve(source, to, &to_oid, err) ||
        !ask(source, GIT_ARGS("merge-base", from_oid, to_oid), &base, &status,
             err))
        return false;
    if (status != 0 || !git_oid_is_valid(base))
        return err_set(err, ERR_USAGE, "'%s' and '%s' have no common history",
                       from, to);
    source->base = base;
    const char *base_oid = arena_string(&source->arena, base);
    return range_diff(source, base_oid, to_oid, err) &&
           range_words(source, base_oid, to_oid, err) &&
           git_objects_open(&source->git, &source->objects, err);
}

/* A line of rev-list --parents, "COMMIT PARENT...", that must continue the
 * branch after `before` (empty: it is the first commit). */
static bool commit_line(struct span line, struct span before,
                        struct span *ret_commit, struct err *err) {
    struct span rest = line, parent = {0};
    span_cut(&rest, ' ', ret_commit);
    if (span_cut(&rest, ' ', &parent) && rest.p == NULL &&
        (before.len == 0 || span_equal(parent, before)))
        return true;
    return err_set(err, ERR_DATA,
                   "commit %.12s is %s, so the commits cannot become a stack; "
                   "rebase the branch, or pack the range as one set",
                   ret_commit->p,
                   parent.p == NULL ? "the first of its repository"
                   : rest.p != NULL ? "a merge"
                                    : "beside a merge");
}

static bool commits_read(struct pack_source *source, const char *range,
                         struct arena *arena, struct lines *ret_commits,
                         struct err *err) {
    CLEANUP(text_clear) struct text out = TEXT_INIT;
    const char *from = NULL, *to = NULL, *from_oid, *to_oid;
    size_t room = 1;
    if (!range_split(source, range, &from, &to, err) ||
        !resolve(source, from, &from_oid, err) ||
        !resolve(source, to, &to_oid, err))
        return false;
    const char *without = arena_printf(&source->arena, "^%s", from_oid);
    if (!git_run(&source->git,
                 GIT_ARGS("rev-list", "--reverse", "--topo-order", "--parents",
                          to_oid, without, "--"),
                 GIT_PLAIN, SPAN(""), &out, NULL, err))
        return false;
    for (size_t i = 0; i < out.len; i++)
        room += out.p[i] == '\n';
    struct span rest = text_span(&out), line, commit, before = {0};
    ret_commits->items = arena_alloc(arena, room * sizeof *ret_commits->items);
    while (span_cut(&rest, '\n', &line) && line.len > 0) {
        if (!commit_line(line, before, &commit, err))
            return false;
        before = arena_span(arena, commit);
        ret_commits->items[ret_commits->count++] = before;
    }
    return ret_commits->count > 0 ||
           err_set(err, ERR_DATA, "nothing to pack: '%s' has no commit", range);
}

bool pack_range_commits(const char *repo, const char *range,
                        struct arena *arena, struct lines *ret_commits,
                        struct err *err) {
    struct pack_source source = {.dir = -1};
    *ret_commits = (struct lines){NULL, 0};
    bool ok = source_git(&source, repo, err) &&
              commits_read(&source, range, arena, ret_commits, err);
    pack_source_close(&source);
    return ok;
}

bool pack_range_open(const char *repo, const char *range,
                     struct pack_source *ret_source, struct err *err) {
    *ret_source = (struct pack_source){.dir = -1};
    if (range_read(ret_source, repo, range, err))
        return true;
    pack_source_close(ret_source);
    return false;
}

/* ---- a directory -------------------------------------------------------- */

struct walk {
    struct pack_source *source;
    int dir;            /* the directory being listed */
    const char *prefix; /* its path and "/", or "" */
    struct err *err;
    bool ok;
};

static bool walk_entry(void *context, struct span name);

static bool walk_dir(struct pack_source *source, int dir, const char *prefix,
                     struct err *err) {
    struct walk walk = {source, dir, prefix, err, true};
    return dir_each(dir, walk_entry, &walk, err) && walk.ok;
}

static bool walk_below(struct walk *walk, const char *name, const char *path) {
    CLEANUP(fd_close) int dir = -1;
    const char *prefix = arena_printf(&walk->source->arena, "%s/", path);
    return dir_open(walk->dir, name, &dir, walk->err) &&
           walk_dir(walk->source, dir, prefix, walk->err);
}

static bool walk_entry(void *context, struct span name) {
    struct walk *walk = context;
    struct arena *arena = &walk->source->arena;
    struct stat st;
    bool there = false;
    if (path_is_dot_git(name))
        return true;
    const char *own = arena_string(arena, name);
    const char *path = arena_printf(arena, "%s%s", walk->prefix, own);
    walk->ok = dir_stat(walk->dir, own, &st, &there, walk->err);
    if (!walk->ok || !there)
        return walk->ok;
    if (S_ISDIR(st.st_mode))
        walk->ok = walk_below(walk, own, path);
    else if (S_ISREG(st.st_mode))
        item_add(walk->source, span_of(path),
                 st.st_mode & 0111 ? 0100755 : 0100644, "");
    else if (S_ISLNK(st.st_mode))
        item_add(walk->source, span_of(path), MODE_LINK, "");
    else
        walk->ok = err_set(walk->err, ERR_DATA,
                           "'%s' is not a file, directory or link", path);
    return walk->ok;
}

bool pack_dir_open(const char *repo, const char *dir, const char *base_rev,
                   struct pack_source *ret_source, struct err *err) {
    *ret_source = (struct pack_source){.dir = -1};
    ret_source->dir = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    bool ok =
        ret_source->dir >= 0 || err_errno(err, errno, "cannot open '%s'", dir);
    if (ok && walk_dir(ret_source, ret_source->dir, "", err) &&
        (base_rev == NULL ||
         pack_source_rebase(ret_source, repo, base_rev, err))) {
        items_sort(ret_source);
        return true;
    }
    pack_source_close(ret_source);
    return false;
}

/* ---- content ------------------------------------------------------------ */

static bool dir_item_read(struct pack_source *source, const char *path,
                          unsigned mode, struct text *content,
                          struct err *err) {
    if (mode == MODE_LINK) {
        char target[PATH_MAX];
        ssize_t n = readlinkat(source->dir, path, target, sizeof target);
        if (n < 0)
            return err_errno(err, errno, "cannot read link '%s'", path);
        text_add(content, target, (size_t)n);
        return true;
    }
    CLEANUP(fd_close) int fd = -1;
    return dir_open_file(source->dir, path, O_RDONLY | O_NONBLOCK, 0, &fd,
                         err) &&
           dir_read_file(fd, FILE_BYTES_MAX, content, err);
}

bool pack_item_read(struct pack_source *source, const struct pack_item *item,
                    struct text *content, struct err *err) {
    if (source->dir >= 0) {
        CLEANUP(text_free_string) char *path = span_string(item->path);
        return dir_item_read(source, path, item->mode, content, err);
    }
    char oid[OID_BYTES];
    bool found;
    if (!git_object_read(&source->objects, item->oid, oid, NULL, content,
                         &found, err))
        return false;
    return found || err_set(err, ERR_DATA,
                            "the repository has no object %s, which is file "
                            "'%.*s'; check it with `git fsck`",
                            item->oid, (int)item->path.len, item->path.p);
}
