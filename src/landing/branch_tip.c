#include "landing/branch_tip.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "landing/git_file.h"

enum {
    LINE_BYTES = 4096,
    SYMBOLIC_REFS = 5 /* git follows no more, one after the other */
};

/* The first line of DIR/NAME, without LF. If a directory has that name, it is a
 * prefix of other branches. */
static bool read_line(const char *dir, const char *name, char line[LINE_BYTES],
                      bool *ret_missing) {
    CLEANUP(text_clear) struct text path = TEXT_INIT;
    CLEANUP(text_clear) struct text text = TEXT_INIT;
    text_addf(&path, "%s/%s", dir, name);
    enum git_file found = git_file_read(AT_FDCWD, text_string(&path), 0,
                                        LINE_BYTES - 1, &text, NULL);
    *ret_missing = found == GIT_FILE_MISSING;
    snprintf(line, LINE_BYTES, "%s", text_string(&text));
    line[strcspn(line, "\n")] = '\0';
    return found == GIT_FILE_READ && text.len > 0;
}

static bool has(const char *dir, const char *name) {
    CLEANUP(text_clear) struct text path = TEXT_INIT;
    text_addf(&path, "%s/%s", dir, name);
    return access(text_string(&path), F_OK) == 0;
}

/* "A", or "DIR/A". */
static void join(const char *dir, const char *path, struct text *out) {
    text_reset(out);
    if (path[0] != '/')
        text_addf(out, "%s/", dir);
    text_adds(out, path);
}

/* The directory itself, its .git, or the target of a file .git (a worktree, a
 * submodule). */
bool branch_tip_directory(const char *git, struct text *ret_dir) {
    char line[LINE_BYTES];
    bool missing;
    text_adds(ret_dir, git);
    if (!has(git, "HEAD") || !has(git, "objects"))
        join(git, ".git", ret_dir);
    if (read_line(git, ".git", line, &missing) &&
        span_starts(span_of(line), "gitdir: "))
        join(git, line + strlen("gitdir: "), ret_dir);
    if (!has(text_string(ret_dir), "HEAD"))
        return false;
    CLEANUP(text_free_string) char *own = mem_string(text_string(ret_dir));
    if (read_line(own, "commondir", line, &missing))
        join(own, line, ret_dir);
    return true;
}

static bool take_oid(struct span oid, char ret_oid[OID_BYTES]) {
    if (!git_oid_is_valid(oid))
        return false;
    snprintf(ret_oid, OID_BYTES, "%.*s", (int)oid.len, oid.p);
    return true;
}

/* Lines "OID NAME"; others begin with '#' or '^'. A file with anything else is
 * damaged and says nothing about any branch. */
static bool packed_read(const char *dir, const char *name,
                        char ret_oid[OID_BYTES]) {
    CLEANUP(text_clear) struct text path = TEXT_INIT;
    char line[LINE_BYTES];
    bool ok = true;
    text_addf(&path, "%s/packed-refs", dir);
    FILE *file = fopen(text_string(&path), "re");
    if (file == NULL)
        return errno == ENOENT;
    while (ok && ret_oid[0] == '\0' && fgets(line, sizeof line, file) != NULL) {
        struct span oid, rest = span_trim(span_of(line));
        if (line[0] == '#' || line[0] == '^')
            continue;
        ok = span_cut(&rest, ' ', &oid) && git_oid_is_valid(oid) &&
             (!span_is(rest, name) || take_oid(oid, ret_oid));
    }
    fclose(file);
    return ok;
}

/* "refs/heads/main" if the file has "ref: refs/heads/main" or is, as early
 * versions of git made it, a symbolic link to that; else "". */
static void next_ref(const char *dir, const char *ref, char next[LINE_BYTES]) {
    CLEANUP(text_clear) struct text path = TEXT_INIT;
    char line[LINE_BYTES];
    bool missing;
    text_addf(&path, "%s/%s", dir, ref);
    ssize_t n = readlink(text_string(&path), next, LINE_BYTES - 1);
    next[n > 0 ? n : 0] = '\0';
    if (span_starts(span_of(next), "refs/"))
        return;
    next[0] = '\0';
    if (!read_line(dir, ref, line, &missing) ||
        !span_starts(span_of(line), "ref:"))
        return;
    struct span name = span_trim(span_of(line + strlen("ref:")));
    snprintf(next, LINE_BYTES, "%.*s", (int)name.len, name.p);
}

bool branch_tip_ref(const char *git, struct span branch, struct text *ret_ref) {
    CLEANUP(text_clear) struct text dir = TEXT_INIT;
    char next[LINE_BYTES];
    text_addf(ret_ref, "refs/heads/%.*s", (int)branch.len, branch.p);
    if (!branch_tip_directory(git, &dir))
        return false;
    for (int i = 0; i < SYMBOLIC_REFS; i++) {
        next_ref(text_string(&dir), text_string(ret_ref), next);
        if (next[0] == '\0')
            return true;
        text_reset(ret_ref);
        text_adds(ret_ref, next);
    }
    return false;
}

bool branch_tip_read(const char *git, struct span branch,
                     char ret_oid[OID_BYTES]) {
    CLEANUP(text_clear) struct text dir = TEXT_INIT;
    CLEANUP(text_clear) struct text name = TEXT_INIT;
    char line[LINE_BYTES];
    bool missing;
    ret_oid[0] = '\0';
    text_addf(&name, "refs/heads/%.*s", (int)branch.len, branch.p);
    if (!branch_tip_directory(git, &dir) || has(text_string(&dir), "reftable"))
        return false;
    if (read_line(text_string(&dir), text_string(&name), line, &missing))
        return take_oid(span_of(line), ret_oid);
    return missing &&
           packed_read(text_string(&dir), text_string(&name), ret_oid);
}
