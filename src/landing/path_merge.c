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
    CONTENT_MAX_BYTES = 1023 << 20 /* largest file that git merges */
};

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

enum side { OURS, BASE, THEIRS, SIDES };

static const char *side_path(const struct path_merge *merge, enum side side,
                             struct text *path) {
    static const char *const names[] = {"ours", "base", "theirs"};
    text_reset(path);
    text_addf(path, "%s/%s", merge->git->work, names[side]);
    return text_string(path);
}

static void sides_remove(const struct path_merge *merge) {
    CLEANUP(text_clear) struct text path = TEXT_INIT;
    for (enum side side = OURS; side < SIDES; side++)
        unlink(side_path(merge, side, &path));
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

/* Writes the blob to the file of that side. */
static bool side_write(struct path_merge *merge, enum side side,
                       const char *oid, bool *ret_text, struct err *err) {
    CLEANUP(text_clear) struct text content = TEXT_INIT;
    CLEANUP(text_clear) struct text path = TEXT_INIT;
    char found_oid[OID_BYTES], type[16];
    bool found;
    if (!git_object_read(merge->objects, oid, found_oid, type, &content, &found,
                         err))
        return false;
    if (!found || strcmp(type, "blob") != 0)
        return err_set(err, ERR_UNAVAILABLE,
                       "the repository is damaged: blob %s is missing", oid);
    size_t look_bytes =
        content.len < BINARY_LOOK_BYTES ? content.len : BINARY_LOOK_BYTES;
    *ret_text =
        content.len <= CONTENT_MAX_BYTES &&
        (content.len == 0 || memchr(content.p, '\0', look_bytes) == NULL);
    return !*ret_text || content_write(side_path(merge, side, &path),
                                       text_span(&content), err);
}

/* Stores the file of our side, which now holds the result, as a blob. */
static bool merged_store(struct path_merge *merge, char ret_oid[OID_BYTES],
                         struct err *err) {
    CLEANUP(text_clear) struct text path = TEXT_INIT;
    CLEANUP(text_clear) struct text content = TEXT_INIT;
    CLEANUP(fd_close)
    int fd = open(side_path(merge, OURS, &path), O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return err_errno(err, errno, "cannot read '%s'", text_string(&path));
    return dir_read_file(fd, UINT64_MAX, &content, err) &&
           objects_apart_write(merge->git, "blob", text_span(&content), ret_oid,
                               err);
}

/* `git merge-file` exits with the number of conflicts, at most 127; a larger
 * status is an error. */
static bool files_merge(struct path_merge *merge, char ret_oid[OID_BYTES],
                        enum path_merged *ret_result, struct err *err) {
    CLEANUP(text_clear) struct text ours = TEXT_INIT;
    CLEANUP(text_clear) struct text base = TEXT_INIT;
    CLEANUP(text_clear) struct text theirs = TEXT_INIT;
    CLEANUP(text_clear) struct text out = TEXT_INIT;
    int status = 0;
    if (!git_run(merge->git,
                 GIT_ARGS("merge-file", "--quiet",
                          side_path(merge, OURS, &ours),
                          side_path(merge, BASE, &base),
                          side_path(merge, THEIRS, &theirs)),
                 GIT_PLAIN, SPAN(""), &out, &status, err))
        return false;
    if (status > 127)
        return err_set(err, ERR_TEMPORARY, "git merge-file exited with %d",
                       status);
    *ret_result = status == 0 ? PATH_CLEAN : PATH_CONFLICT;
    return status != 0 || merged_store(merge, ret_oid, err);
}

static bool content_merge(struct path_merge *merge,
                          const char *const oids[SIDES],
                          char ret_oid[OID_BYTES], enum path_merged *ret_result,
                          struct err *err) {
    bool text = true;
    for (enum side side = OURS; text && side < SIDES; side++)
        if (!side_write(merge, side, oids[side], &text, err))
            return false;
    *ret_result = PATH_BINARY;
    return !text || files_merge(merge, ret_oid, ret_result, err);
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
    const char *const oids[SIDES] = {ours->oid, base->oid, theirs->oid};
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
