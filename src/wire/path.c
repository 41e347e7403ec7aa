#include "wire/path.h"

static bool is_ignored_by_hfs(const unsigned char *p, size_t left) {
    if (left < 3)
        return false;
    if (p[0] == 0xe2 && p[1] == 0x80)
        return (p[2] >= 0x8c && p[2] <= 0x8f) || (p[2] >= 0xaa && p[2] <= 0xae);
    if (p[0] == 0xe2 && p[1] == 0x81)
        return p[2] >= 0xaa && p[2] <= 0xaf;
    return p[0] == 0xef && p[1] == 0xbb && p[2] == 0xbf;
}

static char lower(char c) {
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

/* HFS+ drops some invisible code points and folds case. */
static bool is_same_on_hfs(struct span part, const char *want) {
    size_t found = 0, len = strlen(want);
    for (size_t i = 0; i < part.len;) {
        if (is_ignored_by_hfs((const unsigned char *)part.p + i,
                              part.len - i)) {
            i += 3;
            continue;
        }
        if (found == len || lower(part.p[i]) != want[found])
            return false;
        found++;
        i++;
    }
    return found == len;
}

static bool begins_folded(struct span part, const char *lower_prefix) {
    size_t len = strlen(lower_prefix);
    if (part.len < len)
        return false;
    for (size_t i = 0; i < len; i++)
        if (lower(part.p[i]) != lower_prefix[i])
            return false;
    return true;
}

/* NTFS drops dots and blanks at the end, and treats the part after a colon as a
 * stream of the file. */
static bool ends_on_ntfs(struct span part, size_t at) {
    for (; at < part.len && part.p[at] != ':'; at++)
        if (part.p[at] != '.' && part.p[at] != ' ')
            return false;
    return true;
}

/* It folds case too, and also accepts GIT~1. */
static bool is_dot_git_on_ntfs(struct span part) {
    if (begins_folded(part, ".git"))
        return ends_on_ntfs(part, 4);
    return begins_folded(part, "git~1") && ends_on_ntfs(part, 5);
}

static bool is_digit(char c, char least) {
    return c >= least && c <= '9';
}

/* The short name that NTFS gives a file if the usual ones are taken: characters
 * of a hash, '~' and a number, eight in all. */
static bool is_hashed_gitmodules(struct span part) {
    static const char hash[] = "gi7eba";
    size_t at = 0;
    if (part.len < 8)
        return false;
    while (at < sizeof hash - 1 && lower(part.p[at]) == hash[at])
        at++;
    if (part.p[at] != '~' || !is_digit(part.p[at + 1], '1'))
        return false;
    for (at += 2; at < 8; at++)
        if (!is_digit(part.p[at], '0'))
            return false;
    return ends_on_ntfs(part, 8);
}

static bool is_gitmodules_on_ntfs(struct span part) {
    if (begins_folded(part, ".gitmodules"))
        return ends_on_ntfs(part, 11);
    if (begins_folded(part, "gitmod~") && part.len >= 8 && part.p[7] >= '1' &&
        part.p[7] <= '4')
        return ends_on_ntfs(part, 8);
    return is_hashed_gitmodules(part);
}

/* git refuses to check out a symbolic link with one of these names. */
static bool is_gitmodules(struct span component) {
    struct span part; /* a backslash is a separator there too */
    for (struct span rest = component; span_cut(&rest, '\\', &part);)
        if (is_gitmodules_on_ntfs(part) || is_same_on_hfs(part, ".gitmodules"))
            return true;
    return false;
}

bool path_is_dot_git(struct span component) {
    struct span part; /* a backslash is a separator there too */
    for (struct span rest = component; span_cut(&rest, '\\', &part);)
        if (is_dot_git_on_ntfs(part) || is_same_on_hfs(part, ".git"))
            return true;
    return is_same_on_hfs(component, ".git");
}

const char *path_pattern_fault(struct span pattern) {
    struct span part;
    if (pattern.len > 0 &&
        (pattern.p[0] == '/' || pattern.p[pattern.len - 1] == '/'))
        return "paths of sets have no leading or trailing slash; prod/** "
               "matches everything below a directory";
    if (memchr(pattern.p, '\0', pattern.len) ||
        memchr(pattern.p, '\n', pattern.len))
        return "paths of sets have no NUL and no line feed";
    for (struct span rest = pattern; span_cut(&rest, '/', &part);) {
        if (part.len == 0)
            return "paths of sets have no empty component; write a/b, or "
                   "a/**/b "
                   "for any depth";
        if (span_is(part, ".") || span_is(part, ".."))
            return "paths of sets have no component '.' or '..'; they begin at "
                   "the root of the tree, as prod/** does";
        if (!memchr(part.p, '*', part.len) && !memchr(part.p, '?', part.len) &&
            path_is_dot_git(part))
            return "sets cannot name anything in .git";
    }
    return NULL;
}

static bool refuse(struct refusal *why, enum refusal_kind kind,
                   struct span path, const char *what) {
    return refusal_set(why, kind, "path '%.*s' %s", (int)path.len,
                       path.p ? path.p : "", what);
}

static bool component_check(struct span path, struct span part,
                            const struct path_limits *limits,
                            struct refusal *why) {
    if (!part.len)
        return refuse(why, REFUSAL_BAD_PATH, path, "has an empty component");
    if (span_is(part, ".") || span_is(part, ".."))
        return refuse(why, REFUSAL_BAD_PATH, path,
                      "has a component '.' or '..'");
    if (part.len > limits->component_bytes)
        return refusal_set(why, REFUSAL_TOO_BIG,
                           "path '%.*s' has a component of more than %zu bytes",
                           (int)path.len, path.p, limits->component_bytes);
    if (path_is_dot_git(part))
        return refuse(why, REFUSAL_DOT_GIT, path,
                      "has a component that some file system treats as '.git'");
    return true;
}

bool path_check(struct span path, const struct path_limits *limits,
                struct refusal *why) {
    if (!path.len)
        return refuse(why, REFUSAL_BAD_PATH, path, "is empty");
    if (path.len > limits->path_bytes)
        return refusal_set(
            why, REFUSAL_TOO_BIG,
            "path of %zu bytes, at most %zu are allowed: '%.100s...'", path.len,
            limits->path_bytes, path.p);
    if (memchr(path.p, '\n', path.len) || memchr(path.p, '\0', path.len))
        return refuse(why, REFUSAL_BAD_PATH, path,
                      "holds a line feed or a NUL");
    if (path.p[0] == '/')
        return refuse(why, REFUSAL_BAD_PATH, path, "is absolute");
    size_t depth = 0;
    struct span part;
    for (struct span rest = path; span_cut(&rest, '/', &part);) {
        if (!component_check(path, part, limits, why))
            return false;
        if (++depth > limits->depth)
            return refusal_set(why, REFUSAL_TOO_BIG,
                               "path '%.*s' is more than %zu levels deep",
                               (int)path.len, path.p, limits->depth);
    }
    return true;
}

static size_t slashes(struct span path) {
    size_t count = 0;
    for (size_t i = 0; i < path.len; i++)
        count += path.p[i] == '/';
    return count;
}

/* Also in a directory of such a name, which git does not accept either. */
static bool names_gitmodules(struct span path) {
    struct span part;
    for (struct span rest = path; span_cut(&rest, '/', &part);)
        if (is_gitmodules(part))
            return true;
    return false;
}

bool path_link_check(struct span path, struct span target,
                     const struct path_limits *limits, struct refusal *why) {
    size_t ups = 0;
    struct span rest = target;
    if (names_gitmodules(path))
        return refusal_set(why, REFUSAL_SYMLINK,
                           "link '%.*s' has a name that some file system "
                           "treats as '.gitmodules', which git does not check "
                           "out as a link",
                           (int)path.len, path.p);
    while (span_starts(rest, "../")) {
        ups++;
        rest.p += 3;
        rest.len -= 3;
    }
    bool only_ups = span_is(rest, "..");
    if (only_ups)
        ups++;
    if (ups > slashes(path))
        return refusal_set(why, REFUSAL_SYMLINK,
                           "link '%.*s' points outside, to '%.*s'",
                           (int)path.len, path.p, (int)target.len, target.p);
    /* A later ".." might follow another link and lead anywhere. */
    struct refusal inner = {0};
    if (only_ups || (ups && !rest.len) || path_check(rest, limits, &inner))
        return true;
    return refusal_set(why, REFUSAL_SYMLINK,
                       "link '%.*s' points to '%.*s', which is not allowed: "
                       "%s",
                       (int)path.len, path.p, (int)target.len,
                       target.p ? target.p : "", inner.text);
}

int path_compare(struct span a, struct span b) {
    size_t least = a.len < b.len ? a.len : b.len;
    for (size_t i = 0; i < least; i++) {
        if (a.p[i] == b.p[i])
            continue;
        if (a.p[i] == '/')
            return -1;
        if (b.p[i] == '/')
            return 1;
        return (unsigned char)a.p[i] < (unsigned char)b.p[i] ? -1 : 1;
    }
    return (a.len > b.len) - (a.len < b.len);
}

bool path_is_below(struct span inner, struct span outer) {
    return inner.len > outer.len && inner.p[outer.len] == '/' &&
           (!outer.len || !memcmp(inner.p, outer.p, outer.len));
}
