#include "landing/pack.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "os/clock.h"
#include "os/fd.h"
#include "os/sum.h"
#include "landing/pack_source.h"
#include "wire/meta.h"
#include "wire/tar.h"

/* The state of one call of pack_write. */
struct pack {
    const struct pack_options *options;
    struct arena arena;
    struct pack_source source;
    struct meta meta;
    struct set_name name;
    struct text meta_text;
    struct wall now;
};

static bool source_open(struct pack *pack, struct err *err) {
    const struct pack_options *options = pack->options;
    struct stat st;
    if (options->rollback)
        return true;
    if (options->source == NULL)
        return err_set(err, ERR_USAGE,
                       "nothing to pack: name a directory or a range "
                       "like main..fix");
    if (stat(options->source, &st) == 0 && S_ISDIR(st.st_mode))
        return pack_dir_open(options->repo, options->source, options->base_rev,
                             &pack->source, err);
    if (strstr(options->source, "..") == NULL)
        return err_set(err, ERR_USAGE,
                       "'%s' is neither a directory nor a range like "
                       "main..fix",
                       options->source);
    return pack_range_open(options->repo, options->source, &pack->source,
                           err) &&
           (options->base_rev == NULL ||
            pack_source_rebase(&pack->source, options->repo, options->base_rev,
                               err));
}

static bool name_fill(struct pack *pack, struct err *err) {
    const struct pack_options *options = pack->options;
    struct set_name *name = &pack->name;
    const char *class = options->rollback        ? set_class_name(SET_RB)
                        : options->class != NULL ? options->class
                                                 : set_class_name(SET_DC);
    if (!set_priority_parse(span_of(class), &name->class, &name->sub_priority))
        return err_set(err, ERR_USAGE, "'%s' is not a class; use EM, BF or DC",
                       class);
    if (options->id != NULL && !set_csid_is_valid(span_of(options->id)))
        return err_set(err, ERR_USAGE,
                       "'%s' is not a valid id; use letters, digits, dots "
                       "and dashes",
                       options->id);
    const char *colon =
        options->group != NULL ? strchr(options->group, ':') : NULL;
    uint64_t group_size;
    if (colon != NULL && !span_u64(span_of(colon + 1), &group_size))
        return err_set(err, ERR_USAGE,
                       "'--group' is NAME or NAME:COUNT, and COUNT a number, "
                       "not '%s'",
                       options->group);
    if (name->class == SET_RB && !options->rollback)
        return err_set(err, ERR_USAGE,
                       "a set of class RB is made by pointsman rollback; pack "
                       "takes EM, BF or DC");
    char made[ID_TEXT_BYTES];
    uint64_t chance[2] = {clock_seed(), clock_seed()};
    unsigned char ten[10];
    memcpy(ten, chance, sizeof ten);
    sum_format_id(ten, made);
    name->csid = arena_span(&pack->arena,
                            span_of(options->id != NULL ? options->id : made));
    name->tai = pack->now;
    name->pid = (uint64_t)getpid();
    char host[256] = "";
    gethostname(host, sizeof host - 1);
    CLEANUP(text_clear) struct text clean = TEXT_INIT;
    set_host_clean(span_of(host), &clean);
    name->host = arena_span(&pack->arena, text_span(&clean));
    CLEANUP(text_clear) struct text whole = TEXT_INIT;
    if (!set_name_format(name, &whole))
        return err_set(err, ERR_USAGE, "the set's name would be too long");
    name->text = arena_span(&pack->arena, text_span(&whole));
    return true;
}

static struct lines lines_of(struct arena *arena, const char *const *items,
                             size_t count) {
    struct lines lines = {arena_alloc(arena, (count + 1) * sizeof(struct span)),
                          count};
    for (size_t i = 0; i < count; i++)
        lines.items[i] = span_of(items[i]);
    return lines;
}

/* The source's paths that stay, or those that are deleted. */
static struct lines lines_of_items(struct pack *pack, bool deleted) {
    const struct pack_source *source = &pack->source;
    size_t more = deleted ? pack->options->deletes_count : 0;
    struct lines lines = {arena_alloc(&pack->arena, (source->count + more + 1) *
                                                        sizeof(struct span)),
                          0};
    for (size_t i = 0; i < source->count; i++)
        if ((source->items[i].mode == 0) == deleted)
            lines.items[lines.count++] = source->items[i].path;
    for (size_t i = 0; i < more; i++)
        lines.items[lines.count++] = span_of(pack->options->deletes[i]);
    return lines;
}

static struct span option_or(const char *said, struct span otherwise) {
    return said != NULL ? span_of(said) : otherwise;
}

/* Converts "NAME:COUNT" to the form of meta, "NAME COUNT". */
static struct span group_of(struct pack *pack) {
    if (pack->options->group == NULL)
        return (struct span){0};
    char *group = arena_string(&pack->arena, span_of(pack->options->group));
    char *colon = strchr(group, ':');
    if (colon != NULL)
        *colon = ' ';
    return span_of(group);
}

/* A line of meta cannot end in white space. */
static bool can_be_lines(const struct lines *paths, struct err *err) {
    for (size_t i = 0; i < paths->count; i++) {
        struct span path = paths->items[i];
        if (path.len > 0 && isspace((unsigned char)path.p[path.len - 1]))
            return err_set(err, ERR_DATA,
                           "'%.*s': a change set cannot carry a path that ends "
                           "in white space",
                           (int)path.len, path.p);
    }
    return true;
}

/* A set that depends on just one set is taken to be stacked on it. If the base
 * turns out to be on the branch, ##base-set is not needed there. */
static bool base_set_fill(struct pack *pack, struct err *err) {
    const struct pack_options *options = pack->options;
    const char *base_set = options->base_set;
    size_t count = options->depends_count;
    if (base_set == NULL && count == 1 && pack->source.base.len > 0 &&
        options->base_rev == NULL)
        base_set = options->depends[0];
    if (base_set == NULL || options->rollback)
        return true;
    pack->meta.base_set = span_of(base_set);
    struct lines *depends = &pack->meta.dependencies;
    for (size_t i = 0; i < count; i++)
        if (strcmp(options->depends[i], base_set) == 0)
            base_set = NULL;
    if (base_set != NULL)
        depends->items[depends->count++] = pack->meta.base_set;
    return pack_source_base_tree(&pack->source, &pack->meta.base_tree, err);
}

/* Makes the meta text and reads it back with the rules that apply to every set:
 * what admission would refuse is refused here already. */
/* The number of commits of a range; 0 also if git does not say. */
static unsigned long commits_in(struct pack *pack, const char *range) {
    CLEANUP(text_clear) struct text out = TEXT_INIT;
    struct err err;
    if (!git_run(&pack->source.git,
                 GIT_ARGS("rev-list", "--count", range, "--"), GIT_QUIET,
                 SPAN(""), &out, NULL, &err))
        return 0;
    return strtoul(text_string(&out), NULL, 10);
}

/* "A..B" is empty if it is reversed, or if nothing was committed on B. */
static bool refuse_empty(struct pack *pack, struct err *err) {
    const char *range = pack->options->source, *dots = strstr(range, "..");
    if (dots == NULL || !pack->source.has_git)
        return err_set(err, ERR_DATA, "nothing to pack: '%s' changes no file",
                       range);
    const char *from =
        arena_string(&pack->arena, span_make(range, (size_t)(dots - range)));
    const char *to = dots + 2;
    const char *back = arena_printf(&pack->arena, "%s..%s", to, from);
    unsigned long behind = commits_in(pack, back);
    if (behind > 0 && commits_in(pack, range) == 0)
        return err_set(err, ERR_DATA,
                       "nothing to pack: '%s' has %lu commit%s more than '%s'; "
                       "did you mean '%s'?",
                       from[0] == '\0' ? "HEAD" : from, behind,
                       behind == 1 ? "" : "s", to[0] == '\0' ? "HEAD" : to,
                       back);
    return err_set(err, ERR_DATA,
                   "nothing to pack: '%s' changes no file; only committed "
                   "changes are packed",
                   range);
}

static bool meta_fill(struct pack *pack, struct err *err) {
    const struct pack_options *options = pack->options;
    struct meta *meta = &pack->meta, check;
    struct refusal why = {0};
    meta->movetype = pack->name.class;
    meta->target = span_of(options->target);
    meta->files = lines_of_items(pack, false);
    meta->deleted = lines_of_items(pack, true);
    meta->base = pack->source.base;
    meta->dependencies =
        lines_of(&pack->arena, options->depends, options->depends_count);
    meta->supersedes = span_of(options->supersedes);
    meta->group = group_of(pack);
    meta->author = option_or(options->author, pack->source.author);
    meta->date = pack->source.date;
    meta->message = option_or(options->message, pack->source.message);
    meta->rb_limit = options->rb_limit;
    if (!base_set_fill(pack, err))
        return false;
    if (!options->rollback && meta->files.count + meta->deleted.count == 0)
        return refuse_empty(pack, err);
    meta_format(meta, &pack->meta_text);
    if (options->closure != NULL)
        text_addf(&pack->meta_text, "##closure\n%s\n", options->closure);
    /* The name is recorded in meta so that it survives renaming the file. */
    text_addf(&pack->meta_text, "##set-name\n%.*s\n", (int)pack->name.text.len,
              pack->name.text.p);
    if (!meta_parse(text_span(&pack->meta_text), NULL, &pack->arena, &check,
                    &why) ||
        !meta_match_name(&check, &pack->name, &why))
        return err_set(err, ERR_DATA, "it cannot be a change set: %s",
                       why.text);
    return can_be_lines(&meta->files, err) && can_be_lines(&meta->deleted, err);
}

/* ---- the archive -------------------------------------------------------- */

static bool archive_fail(struct archive *archive, struct err *err) {
    int sys = tar.error_number(archive);
    return err_errno(err, sys > 0 ? sys : EIO, "cannot write the tarball");
}

static bool member_write(struct pack *pack, struct archive *archive,
                         const char *name, unsigned mode, struct span content,
                         struct err *err) {
    bool link = mode == 0120000;
    struct archive_entry *entry = tar.entry_new();
    tar.entry_set_pathname(entry, name);
    tar.entry_set_filetype(entry, link ? AE_IFLNK : AE_IFREG);
    tar.entry_set_perm(entry, link ? 0777 : mode & 0777);
    tar.entry_set_mtime(entry, wall_s(pack->now), 0);
    if (link) {
        CLEANUP(text_free_string) char *target = span_string(content);
        tar.entry_set_symlink(entry, target);
        tar.entry_set_size(entry, 0);
        content = SPAN("");
    } else {
        tar.entry_set_size(entry, (int64_t)content.len);
    }
    bool ok =
        tar.write_header(archive, entry) == ARCHIVE_OK &&
        (content.len == 0 || tar.write_data(archive, content.p, content.len) ==
                                 (la_ssize_t)content.len);
    tar.entry_free(entry);
    return ok || archive_fail(archive, err);
}

static bool members_write(struct pack *pack, struct archive *archive,
                          struct err *err) {
    if (!member_write(pack, archive, "meta", 0644, text_span(&pack->meta_text),
                      err))
        return false;
    CLEANUP(text_clear) struct text name = TEXT_INIT;
    CLEANUP(text_clear) struct text content = TEXT_INIT;
    for (size_t i = 0; i < pack->source.count; i++) {
        const struct pack_item *item = &pack->source.items[i];
        if (item->mode == 0)
            continue;
        text_reset(&name);
        text_reset(&content);
        text_adds(&name, "lroot/");
        text_addspan(&name, item->path);
        if (!pack_item_read(&pack->source, item, &content, err) ||
            !member_write(pack, archive, text_string(&name), item->mode,
                          text_span(&content), err))
            return false;
    }
    return true;
}

/* GNU tar accepts any name and size and changes no byte of either; gzip without
 * a time, so that the same content gives the same bytes. */
static bool archive_write(struct pack *pack, int fd, struct err *err) {
    if (!tar_load(err))
        return false;
    struct archive *archive = tar.write_new();
    bool ok = tar.write_set_format_gnutar(archive) == ARCHIVE_OK &&
              tar.write_add_filter_gzip(archive) == ARCHIVE_OK &&
              tar.write_set_filter_option(archive, "gzip", "timestamp", NULL) ==
                  ARCHIVE_OK &&
              tar.write_set_bytes_in_last_block(archive, 1) == ARCHIVE_OK &&
              tar.write_open_fd(archive, fd) == ARCHIVE_OK;
    if (!ok)
        archive_fail(archive, err);
    ok = ok && members_write(pack, archive, err);
    if (ok && tar.write_close(archive) != ARCHIVE_OK)
        ok = archive_fail(archive, err);
    tar.write_free(archive);
    return ok;
}

/* ---- the file ----------------------------------------------------------- */

static bool is_inside(const char *path, const char *dir) {
    size_t n = strlen(dir);
    return strncmp(path, dir, n) == 0 && (path[n] == '\0' || path[n] == '/');
}

/* The current directory, or the nearest one above it that lies neither in a
 * work tree (or repository) nor in the directory that was packed: there, the
 * tarball would become part of the next commit or set. */
static char *output_dir(const struct pack *pack) {
    char packed[PATH_MAX], here[PATH_MAX], top[PATH_MAX];
    const char *source = pack->options->source;
    bool is_dir = pack->source.dir >= 0 && realpath(source, packed) != NULL;
    char *place = mem_string(".");
    while (realpath(place, here) != NULL && strcmp(here, "/") != 0) {
        CLEANUP(text_free_string) char *found = git_discover(here);
        const char *inside = is_dir && is_inside(here, packed) ? packed : NULL;
        if (found != NULL && realpath(found, top) != NULL)
            inside = top;
        if (inside == NULL)
            break;
        struct text above = TEXT_INIT;
        text_addf(&above, "%s/..", inside);
        free(place);
        place = text_take(&above);
    }
    if (strcmp(place, ".") != 0 && realpath(place, here) != NULL) {
        free(place);
        place = mem_string(here);
    }
    return place;
}

static char *output_path(const struct pack *pack) {
    CLEANUP(text_free_string)
    char *output = pack->options->output != NULL
                       ? mem_string(pack->options->output)
                       : output_dir(pack);
    struct stat st;
    size_t n = strlen(output);
    if (!(stat(output, &st) == 0 && S_ISDIR(st.st_mode)) &&
        !(n > 0 && output[n - 1] == '/'))
        return mem_string(output);
    struct text path = TEXT_INIT;
    text_addf(&path, "%s%s%.*s", output,
              n > 0 && output[n - 1] == '/' ? "" : "/",
              (int)pack->name.text.len, pack->name.text.p);
    return text_take(&path);
}

/* The name is durable once its directory is. */
static bool parent_sync(const char *path, struct err *err) {
    const char *slash = strrchr(path, '/');
    CLEANUP(text_free_string)
    char *parent = slash == NULL ? mem_string(".")
                                 : mem_copy(path, (size_t)(slash - path + 1));
    CLEANUP(fd_close)
    int fd = open(parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return (fd >= 0 && fsync(fd) == 0) ||
           err_errno(err, errno, "cannot sync '%s'", parent);
}

static bool file_make(struct pack *pack, const char *path, struct err *err) {
    CLEANUP(text_clear) struct text fresh = TEXT_INIT;
    text_addf(&fresh, "%s.%d.new", path, getpid());
    CLEANUP(fd_close)
    int fd = open(text_string(&fresh), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC,
                  0644);
    if (fd < 0)
        return err_errno(err, errno, "cannot write '%s'", path);
    bool ok = archive_write(pack, fd, err);
    if (ok && fsync(fd) != 0)
        ok = err_errno(err, errno, "cannot sync '%s'", path);
    if (ok && rename(text_string(&fresh), path) != 0)
        ok = err_errno(err, errno, "cannot write '%s'", path);
    if (!ok)
        unlink(text_string(&fresh));
    return ok && parent_sync(path, err);
}

static bool pack_out(struct pack *pack, struct pack_result *ret_packed,
                     struct err *err) {
    const char *output = pack->options->output;
    if (output != NULL && strcmp(output, "-") == 0)
        return archive_write(pack, STDOUT_FILENO, err);
    ret_packed->path = output_path(pack);
    return file_make(pack, ret_packed->path, err);
}

static void packed_fill(const struct pack *pack,
                        struct pack_result *ret_packed) {
    const struct set_name *name = &pack->name;
    snprintf(ret_packed->id, sizeof ret_packed->id, "%.*s", (int)name->csid.len,
             name->csid.p);
    snprintf(ret_packed->name, sizeof ret_packed->name, "%.*s",
             (int)name->text.len, name->text.p);
    ret_packed->files = pack->meta.files.count;
    ret_packed->deleted = pack->meta.deleted.count;
}

void pack_result_clear(struct pack_result *result) {
    free(result->path);
    *result = (struct pack_result){0};
}

bool pack_write(const struct pack_options *options,
                struct pack_result *ret_packed, struct err *err) {
    struct pack pack = {
        .options = options, .source = {.dir = -1}, .now = clock_wall()};
    *ret_packed = (struct pack_result){0};
    bool ok = source_open(&pack, err) && name_fill(&pack, err) &&
              meta_fill(&pack, err);
    if (ok) {
        packed_fill(&pack, ret_packed);
        ok = pack_out(&pack, ret_packed, err);
    }
    pack_source_close(&pack.source);
    text_clear(&pack.meta_text);
    arena_clear(&pack.arena);
    if (!ok) {
        pack_result_clear(ret_packed);
        return err_wrap(err, "cannot pack");
    }
    return true;
}
