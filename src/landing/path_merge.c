#include "landing/path_merge.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "landing/objects_apart.h"
#include "os/dir.h"
#include "os/fd.h"

enum {
    BINARY_LOOK_BYTES = 8000, /* git treats a file with a NUL in these as binary
                               */
    CONTENT_MAX_BYTES = 1023 << 20, /* largest file that git merges */
    LINES_LOOKED_AT = 16            /* between two changes */
};

void path_merge_clear(struct path_merge *merge) {
    for (enum path_side side = PATH_OURS; side < PATH_SIDES; side++)
        text_clear(&merge->blobs[side].content);
}

bool path_entry_same(const struct tree_entry *a, const struct tree_entry *b) {
    return a->mode == b->mode && (a->mode == 0 || strcmp(a->oid, b->oid) == 0);
}

/* A directory counts as an absent file. Old repositories have modes such as
 * 0100664, which git treats as 0100644. */
static struct tree_entry entry_normal(const struct tree_entry *entry) {
    struct tree_entry normal = *entry;
    if (S_ISDIR(entry->mode))
        normal = (struct tree_entry){0};
    else if (S_ISREG(entry->mode))
        normal.mode = entry->mode & 0100 ? 0100755 : 0100644;
    return normal;
}

static const char *side_path(const struct path_merge *merge,
                             enum path_side side, struct text *path) {
    static const char *const names[] = {"ours", "base", "theirs"};
    text_reset(path);
    text_addf(path, "%s/%s", merge->git->work, names[side]);
    return text_string(path);
}

static void sides_remove(const struct path_merge *merge) {
    CLEANUP(text_clear) struct text path = TEXT_INIT;
    for (enum path_side side = PATH_OURS; side < PATH_SIDES; side++)
        unlink(side_path(merge, side, &path));
}

/* ---- contents ------------------------------------------------------------ */

static void blob_clear(struct path_blob *blob) {
    text_clear(&blob->content);
    *blob = (struct path_blob){0};
}

static bool blob_read(struct path_merge *merge, struct path_blob *blob,
                      const char *oid, struct err *err) {
    char found_oid[OID_BYTES], type[16];
    bool found;
    blob_clear(blob);
    if (!git_object_read(merge->objects, oid, found_oid, type, &blob->content,
                         &found, err))
        return false;
    if (!found || strcmp(type, "blob") != 0)
        return err_set(err, ERR_UNAVAILABLE,
                       "the repository is damaged: blob %s is missing", oid);
    snprintf(blob->oid, OID_BYTES, "%s", oid);
    return true;
}

/* A series of merges reads each file once: `theirs` of one merge is the base of
 * the next, and the result is `ours`. */
static bool side_take(struct path_merge *merge, enum path_side side,
                      const char *oid, struct err *err) {
    struct path_blob *blobs = merge->blobs;
    for (enum path_side i = side; i < PATH_SIDES; i++) {
        if (strcmp(blobs[i].oid, oid) != 0)
            continue;
        struct path_blob blob = blobs[i];
        blobs[i] = blobs[side];
        blobs[side] = blob;
        return true;
    }
    return blob_read(merge, &blobs[side], oid, err);
}

static bool is_text(struct span content) {
    size_t look_bytes =
        content.len < BINARY_LOOK_BYTES ? content.len : BINARY_LOOK_BYTES;
    return content.len <= CONTENT_MAX_BYTES &&
           (content.len == 0 || memchr(content.p, '\0', look_bytes) == NULL);
}

static bool content_write(const char *path, struct span content,
                          struct err *err) {
    FILE *file = fopen(path, "we");
    if (file == NULL)
        return err_errno(err, errno, "cannot write '%s'", path);
    int sys = 0;
    if (content.len > 0 &&
        fwrite(content.p, 1, content.len, file) != content.len)
        sys = errno;
    if (fclose(file) != 0 && sys == 0)
        sys = errno;
    return sys == 0 || err_errno(err, sys, "cannot write '%s'", path);
}

static bool content_read(const char *path, struct text *out, struct err *err) {
    CLEANUP(fd_close) int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return err_errno(err, errno, "cannot read '%s'", path);
    return dir_read_file(fd, UINT64_MAX, out, err);
}

/* ---- changes in different places ----------------------------------------- */

/* The lines in which a side differs from the base: one stretch from the first
 * difference to the last. */
struct stretch {
    size_t begin, end; /* in the base */
    size_t side_end;
};

static bool begins_line(struct span text, size_t at) {
    return at == 0 || text.p[at - 1] == '\n';
}

static struct stretch stretch_find(struct span base, struct span side) {
    size_t most = base.len < side.len ? base.len : side.len, same = 0, tail = 0;
    while (same < most && base.p[same] == side.p[same])
        same++;
    while (!begins_line(base, same))
        same--;
    while (tail < most - same &&
           base.p[base.len - 1 - tail] == side.p[side.len - 1 - tail])
        tail++;
    while (tail > 0 && !(begins_line(base, base.len - tail) &&
                         begins_line(side, side.len - tail)))
        tail--;
    return (struct stretch){same, base.len - tail, side.len - tail};
}

static struct span line_at(struct span text, size_t at) {
    struct span line, rest = span_make(text.p + at, text.len - at);
    (void)span_cut(&rest, '\n', &line);
    return line;
}

static bool has_line(struct span text, size_t begin, size_t end,
                     struct span line) {
    for (size_t at = begin; at < end;) {
        struct span other = line_at(text, at);
        if (span_equal(other, line))
            return true;
        at += other.len + 1;
    }
    return false;
}

/* git shows a change as late as it can: lines added or removed in "x x x" are
 * the last ones. So a change moves down over lines that equal its own, and may
 * reach the other change. False: it may reach `end`. */
static bool stays_above(struct span base, struct span side,
                        const struct stretch *change, size_t end) {
    for (size_t at = change->end, i = 0; at < end && i < LINES_LOOKED_AT; i++) {
        struct span line = line_at(base, at);
        if (!has_line(base, change->begin, change->end, line) &&
            !has_line(side, change->begin, change->side_end, line))
            return true;
        at += line.len + 1;
    }
    return false;
}

/* Appends `first` up to its change and the unchanged lines behind it, then
 * `second` from its change on. False: perhaps no line lies between the two
 * changes. */
static bool join(struct span base, struct span first, const struct stretch *a,
                 struct span second, const struct stretch *b,
                 struct text *out) {
    if (a->end >= b->begin || !stays_above(base, first, a, b->begin))
        return false;
    text_add(out, first.p, a->side_end + (b->begin - a->end));
    text_add(out, second.p + b->begin, second.len - b->begin);
    return true;
}

/* As `git merge-file` would, without a process. False: the changes interleave
 * or touch each other. */
static bool apart_merge(const struct path_blob *blobs, struct text *out) {
    struct span base = text_span(&blobs[PATH_BASE].content),
                ours = text_span(&blobs[PATH_OURS].content),
                theirs = text_span(&blobs[PATH_THEIRS].content);
    struct stretch a = stretch_find(base, ours), b = stretch_find(base, theirs);
    return join(base, ours, &a, theirs, &b, out) ||
           join(base, theirs, &b, ours, &a, out);
}

/* ---- merging ------------------------------------------------------------- */

/* `git merge-file` exits with the number of conflicts, at most 127; a larger
 * status is an error. */
static bool files_merge(struct path_merge *merge, struct text *out,
                        enum path_merged *ret_result, struct err *err) {
    CLEANUP(text_clear) struct text ours = TEXT_INIT;
    CLEANUP(text_clear) struct text base = TEXT_INIT;
    CLEANUP(text_clear) struct text theirs = TEXT_INIT;
    CLEANUP(text_clear) struct text said = TEXT_INIT;
    const char *const args[] = {"merge-file",
                                "--quiet",
                                side_path(merge, PATH_OURS, &ours),
                                side_path(merge, PATH_BASE, &base),
                                side_path(merge, PATH_THEIRS, &theirs),
                                NULL};
    int status = 0;
    for (enum path_side side = PATH_OURS; side < PATH_SIDES; side++)
        if (!content_write(args[2 + side],
                           text_span(&merge->blobs[side].content), err))
            return false;
    if (!git_run(merge->git, args, GIT_BLIND, SPAN(""), &said, &status, err))
        return false;
    if (status > 127)
        return err_set(err, ERR_TEMPORARY, "git merge-file exited with %d",
                       status);
    *ret_result = status == 0 ? PATH_CLEAN : PATH_CONFLICT;
    return status != 0 || content_read(args[2], out, err);
}

static bool merged_keep(struct path_merge *merge, struct text *content,
                        char ret_oid[OID_BYTES], struct err *err) {
    struct path_blob *blob = &merge->blobs[PATH_OURS];
    if (!merge->is_in_memory)
        return objects_apart_write(merge->git, "blob", text_span(content),
                                   ret_oid, err);
    if (!objects_apart_name(merge->git, "blob", text_span(content), ret_oid,
                            err))
        return false;
    blob_clear(blob);
    *blob = (struct path_blob){.content = *content, .is_new = true};
    memcpy(blob->oid, ret_oid, OID_BYTES);
    *content = TEXT_INIT;
    return true;
}

static bool content_merge(struct path_merge *merge,
                          const char *const oids[PATH_SIDES],
                          char ret_oid[OID_BYTES], enum path_merged *ret_result,
                          struct err *err) {
    CLEANUP(text_clear) struct text merged = TEXT_INIT;
    *ret_result = PATH_CLEAN;
    for (enum path_side side = PATH_OURS; side < PATH_SIDES; side++) {
        if (!side_take(merge, side, oids[side], err))
            return false;
        if (!is_text(text_span(&merge->blobs[side].content)))
            *ret_result = PATH_BINARY;
    }
    if (*ret_result == PATH_CLEAN && !apart_merge(merge->blobs, &merged) &&
        !files_merge(merge, &merged, ret_result, err))
        return false;
    return *ret_result != PATH_CLEAN ||
           merged_keep(merge, &merged, ret_oid, err);
}

bool path_merge_take(struct path_merge *merge, const char *oid,
                     struct text *ret_content) {
    for (enum path_side side = PATH_OURS; side < PATH_SIDES; side++) {
        struct path_blob *blob = &merge->blobs[side];
        if (!blob->is_new || strcmp(blob->oid, oid) != 0)
            continue;
        *ret_content = blob->content;
        *blob = (struct path_blob){0};
        return true;
    }
    return false;
}

/* Both sides changed a regular file: mode and content are merged separately. */
static bool file_merge(struct path_merge *merge, const struct tree_entry *base,
                       const struct tree_entry *ours,
                       const struct tree_entry *theirs,
                       struct tree_entry *ret_merged,
                       enum path_merged *ret_result, struct err *err) {
    *ret_merged = *ours;
    if (ours->mode == base->mode)
        ret_merged->mode = theirs->mode;
    if (strcmp(theirs->oid, base->oid) == 0 ||
        strcmp(theirs->oid, ours->oid) == 0)
        return true;
    if (strcmp(ours->oid, base->oid) == 0) {
        memcpy(ret_merged->oid, theirs->oid, OID_BYTES);
        return true;
    }
    const char *const oids[PATH_SIDES] = {ours->oid, base->oid, theirs->oid};
    bool ok = content_merge(merge, oids, ret_merged->oid, ret_result, err);
    sides_remove(merge);
    return ok;
}

bool path_merge(struct path_merge *merge, const struct tree_entry *base,
                const struct tree_entry *ours, const struct tree_entry *theirs,
                struct tree_entry *ret_merged, enum path_merged *ret_result,
                struct err *err) {
    struct tree_entry b = entry_normal(base), o = entry_normal(ours),
                      t = entry_normal(theirs);
    *ret_result = PATH_CLEAN;
    *ret_merged = *ours;
    if (path_entry_same(&t, &b) || path_entry_same(&t, &o))
        return true;
    if (path_entry_same(&o, &b)) {
        *ret_merged = t;
        return true;
    }
    if (S_ISREG(b.mode) && S_ISREG(o.mode) && S_ISREG(t.mode))
        return file_merge(merge, &b, &o, &t, ret_merged, ret_result, err);
    *ret_result = PATH_CONFLICT;
    return true;
}
