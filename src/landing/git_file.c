#include "landing/git_file.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "os/fd.h"

enum { CONFIG_BYTES = 1 << 20 };

enum git_file git_file_read(int dir, const char *name, int how, size_t most,
                            struct text *out, struct stat *ret_st) {
    struct stat st;
    char piece[4096];
    CLEANUP(fd_close)
    int fd = openat(dir, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | how);
    if (fd < 0)
        return errno == ENOENT || errno == ENOTDIR ? GIT_FILE_MISSING
                                                   : GIT_FILE_ODD;
    if (fstat(fd, &st) != 0 || S_ISDIR(st.st_mode))
        return S_ISDIR(st.st_mode) ? GIT_FILE_MISSING : GIT_FILE_ODD;
    if (!S_ISREG(st.st_mode))
        return GIT_FILE_ODD;
    if (ret_st != NULL)
        *ret_st = st;
    while (most > 0) {
        ssize_t n = read(fd, piece, most < sizeof piece ? most : sizeof piece);
        if (n <= 0)
            return n == 0 ? GIT_FILE_READ : GIT_FILE_ODD;
        text_add(out, piece, (size_t)n);
        most -= (size_t)n;
    }
    return GIT_FILE_READ;
}

bool git_file_shallow(int dir) {
    struct stat st;
    return fstatat(dir, "shallow", &st, 0) == 0 ? st.st_size > 0
                                                : errno != ENOENT;
}

bool git_file_head(int dir, struct text *ret_ref) {
    CLEANUP(text_clear) struct text text = TEXT_INIT;
    struct stat st;
    if (git_file_read(dir, "HEAD", O_NOFOLLOW, PATH_MAX, &text, &st) !=
            GIT_FILE_READ ||
        st.st_size == 0 || st.st_size >= PATH_MAX)
        return false;
    struct span head = span_trim(text_span(&text));
    if (span_starts(head, "ref:"))
        text_addspan(ret_ref, span_trim(span_make(head.p + 4, head.len - 4)));
    return true;
}

static bool begins_with(struct span line, const char *section) {
    size_t length = strlen(section);
    return line.len >= length && strncasecmp(line.p, section, length) == 0;
}

/* "key = value" or "key" alone, which means true. */
static void variable_parse(struct span line, struct text *ret_key,
                           struct span *ret_value) {
    struct span key, rest = line;
    (void)span_cut(&rest, '=', &key);
    key = span_trim(key);
    for (size_t i = 0; i < key.len; i++)
        text_addc(ret_key, (char)tolower((unsigned char)key.p[i]));
    *ret_value = rest.p != NULL ? span_trim(rest) : SPAN("true");
}

/* Quotes, comments and lines that go on are not read here. */
static bool is_plain(struct span line) {
    for (size_t i = 0; i < line.len; i++)
        if (line.p[i] == '"' || line.p[i] == '\\' || line.p[i] == '#' ||
            line.p[i] == ';')
            return false;
    return true;
}

bool git_file_core(int dir, const char *key, struct text *ret_value) {
    CLEANUP(text_clear) struct text config = TEXT_INIT;
    struct stat st;
    bool in_core = false;
    if (faccessat(dir, "config.worktree", F_OK, 0) == 0 ||
        git_file_read(dir, "config", 0, CONFIG_BYTES, &config, &st) !=
            GIT_FILE_READ ||
        (size_t)st.st_size != config.len)
        return false;
    struct span line, value, rest = text_span(&config), found = SPAN("");
    while (span_cut(&rest, '\n', &line)) {
        CLEANUP(text_clear) struct text name = TEXT_INIT;
        line = span_trim(line);
        if (span_starts(line, "[")) {
            in_core = span_is(line, "[core]");
            if (begins_with(line, "[include") ||
                (!in_core && begins_with(line, "[core")))
                return false;
            continue;
        }
        if (!in_core || line.len == 0)
            continue;
        variable_parse(line, &name, &value);
        if (!span_is(text_span(&name), key))
            continue;
        if (!is_plain(value))
            return false;
        found = value;
    }
    text_addspan(ret_value, found);
    return true;
}
