#include "landing/set_blobs.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "landing/objects_apart.h"
#include "wire/path.h"

struct set_limits set_limits_admitted(bool symlinks) {
    struct set_limits limits = SET_LIMITS;
    limits.unpacked_bytes = limits.members = limits.ratio = UINT64_MAX;
    limits.ratio_from_bytes = UINT64_MAX;
    limits.path.depth = 1024;
    limits.symlinks = symlinks;
    return limits;
}

bool set_check_admitted(const struct set_check *check, struct span sum,
                        struct err *err) {
    if (!span_is(sum, check->sha256))
        return err_set(err, ERR_REFUSED,
                       "the tarball was changed after it was admitted: its "
                       "SHA-256 is %s",
                       check->sha256);
    if (check->why.kind != REFUSAL_NONE)
        return err_set(err, ERR_REFUSED, "%s", check->why.text);
    return true;
}

enum { SMALL_BYTES = 64 << 10, SMALL_FILES = 100 };

/* A tarball being read. fast-import needs each size in advance, which a tar
 * header gives, and a mark for each blob; the file of marks gives their names
 * later. */
struct load {
    struct git *git;
    struct git_pipe importer; /* pid 0: not needed so far */
    const char *marks;        /* path of its file of marks */
    struct arena *arena;
    struct tree_edit *edits; /* in the order of the archive */
    size_t count, room;
    uint64_t left_bytes; /* of the blob being read */
    bool is_small;       /* it goes to `content` */
    struct text content;
    size_t imported;
};

static bool importer_begin(struct load *load, uint64_t bytes, struct err *err) {
    CLEANUP(text_clear) struct text option = TEXT_INIT;
    text_addf(&option, "--export-marks=%s", load->marks);
    if (load->importer.pid == 0 &&
        !git_pipe_open(
            load->git,
            GIT_ARGS("fast-import", "--quiet", "--done", text_string(&option)),
            GIT_PLAIN, &load->importer, err))
        return false;
    load->imported++;
    fprintf(load->importer.in, "blob\nmark :%zu\ndata %" PRIu64 "\n",
            load->count, bytes);
    return !ferror(load->importer.in) || git_pipe_fail(&load->importer, err);
}

static bool load_begin(void *context, const struct set_member *member,
                       struct err *err) {
    struct load *load = context;
    if (load->count == load->room) {
        load->room = load->room == 0 ? 32 : load->room * 2;
        load->edits = mem_grow(load->edits, load->room, sizeof *load->edits);
    }
    struct tree_edit *edit = &load->edits[load->count++];
    *edit = (struct tree_edit){.path = arena_span(load->arena, member->path),
                               .mode = member->symlink      ? 0120000
                                       : member->executable ? 0100755
                                                            : 0100644};
    load->left_bytes = member->symlink ? 0 : member->size;
    load->is_small = member->symlink || (member->size <= SMALL_BYTES &&
                                         load->count <= SMALL_FILES);
    text_reset(&load->content);
    if (member->symlink)
        text_addspan(&load->content, member->link);
    return load->is_small || importer_begin(load, member->size, err);
}

static bool load_content(void *context, const void *p, size_t bytes,
                         struct err *err) {
    struct load *load = context;
    if (bytes > load->left_bytes)
        return err_set(err, ERR_REFUSED,
                       "a member is longer than its header says");
    load->left_bytes -= bytes;
    if (load->is_small) {
        text_add(&load->content, p, bytes);
        return true;
    }
    return fwrite(p, 1, bytes, load->importer.in) == bytes ||
           git_pipe_fail(&load->importer, err);
}

static bool load_end(void *context, struct err *err) {
    struct load *load = context;
    if (load->left_bytes != 0)
        return err_set(err, ERR_REFUSED,
                       "a member is shorter than its header says");
    if (load->is_small)
        return objects_apart_write(load->git, "blob", text_span(&load->content),
                                   load->edits[load->count - 1].oid, err);
    return fputc('\n', load->importer.in) != EOF ||
           git_pipe_fail(&load->importer, err);
}

/* Reads lines ":MARK OID". */
static bool load_marks(struct load *load, struct err *err) {
    FILE *file = fopen(load->marks, "re");
    if (file == NULL)
        return err_errno(err, errno, "cannot read '%s'", load->marks);
    size_t mark, named = 0;
    char oid[OID_BYTES];
    while (fscanf(file, ":%zu %64s\n", &mark, oid) == 2)
        if (mark >= 1 && mark <= load->count) {
            snprintf(load->edits[mark - 1].oid, OID_BYTES, "%s", oid);
            named++;
        }
    fclose(file);
    if (named != load->imported)
        return err_set(err, ERR_TEMPORARY,
                       "git fast-import named %zu of %zu files", named,
                       load->imported);
    return true;
}

static int edit_compare(const void *a, const void *b) {
    const struct tree_edit *left = a, *right = b;
    return path_compare(left->path, right->path);
}

/* Merges files and deleted paths into one sorted list. */
static void edits_join(const struct load *load, const struct lines *deleted,
                       struct arena *arena, struct set_blobs *ret_blobs) {
    size_t count = load->count + deleted->count;
    struct tree_edit *edits = arena_alloc(arena, (count + 1) * sizeof *edits);
    if (load->count > 0)
        memcpy(edits, load->edits, load->count * sizeof *edits);
    for (size_t i = 0; i < deleted->count; i++)
        edits[load->count + i].path = deleted->items[i];
    qsort(edits, count, sizeof *edits, edit_compare);
    ret_blobs->edits = edits;
    ret_blobs->count = count;
}

static bool load_run(struct load *load, int fd, bool symlinks,
                     struct set_check *check, struct err *err) {
    struct set_limits limits = set_limits_admitted(symlinks);
    struct set_visitor visitor = {load, load_begin, load_content, load_end};
    if (!set_tar_walk(fd, &limits, &visitor, load->arena, check, err))
        return false;
    if (check->why.kind != REFUSAL_NONE || load->importer.pid == 0)
        return true;
    fputs("done\n", load->importer.in);
    return git_pipe_close(&load->importer, err) && load_marks(load, err);
}

/* An interrupted fast-import leaves a crash report in the repository. */
static void importer_drop(struct git *git, struct git_pipe *importer) {
    if (importer->pid == 0)
        return;
    CLEANUP(text_clear) struct text report = TEXT_INIT;
    text_addf(&report, "%s/fast_import_crash_%d", git->dir, importer->pid);
    git_pipe_drop(importer);
    unlink(text_string(&report));
}

static bool load_once(struct git *git, int fd, struct span sum, bool symlinks,
                      struct arena *arena, struct set_blobs *ret_blobs,
                      struct err *err) {
    CLEANUP(text_clear) struct text marks = TEXT_INIT;
    text_addf(&marks, "%s/marks", git->work);
    struct load load = {
        .git = git, .arena = arena, .marks = text_string(&marks)};
    *ret_blobs = (struct set_blobs){0};
    bool ok = load_run(&load, fd, symlinks, &ret_blobs->check, err) &&
              set_check_admitted(&ret_blobs->check, sum, err);
    if (ok)
        edits_join(&load, &ret_blobs->check.meta.deleted, arena, ret_blobs);
    ret_blobs->imported = load.imported;
    importer_drop(git, &load.importer);
    text_clear(&load.content);
    free(load.edits);
    return ok;
}

/* True if at least one file has to be stored again: git does not store what
 * seems to exist. */
static bool blobs_unblock(const struct git *git,
                          const struct set_blobs *blobs) {
    bool any = false;
    for (size_t i = 0; blobs->imported > 0 && i < blobs->count; i++)
        if (blobs->edits[i].mode != 0)
            any |= git_object_unblock(git, blobs->edits[i].oid);
    return any;
}

bool set_blobs_load(struct git *git, int fd, struct span sum, bool symlinks,
                    struct arena *arena, struct set_blobs *ret_blobs,
                    struct err *err) {
    do {
        if (lseek(fd, 0, SEEK_SET) < 0)
            return err_errno(err, errno, "cannot read the tarball");
        if (!load_once(git, fd, sum, symlinks, arena, ret_blobs, err))
            return false;
    } while (blobs_unblock(git, ret_blobs));
    return true;
}
