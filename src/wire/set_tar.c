/* Two readers of libarchive, one on top of the other: the outer one only
 * decompresses and passes bytes to the inner one, which only reads tar. So
 * every byte is seen in between, which shows two facts that libarchive alone
 * does not: whether the end of the archive was really there (its reader also
 * accepts a stream cut between two members), and whether only zeros follow it.
 */
#include "wire/set_tar.h"

#include <errno.h>
#include <locale.h>
#include <nettle/sha2.h>
#include <stdlib.h>
#include <unistd.h>

#include "wire/gzip_sum.h"
#include "wire/set_check.h"
#include "wire/tar.h"
#include "wire/tar_names.h"

enum { READ_BYTES = 64 << 10, END_BYTES = 1024, HEADERS_BYTES = 4 << 20 };

/* Every member including directories, for checks that compare members. */
struct seen {
    struct span path; /* as in the archive, without a slash at the end */
    bool directory, symlink;
};

struct reader {
    int fd;
    const struct set_limits *limits;
    const struct set_visitor *visitor;
    struct arena *arena;
    struct set_check *check;
    struct err *err;
    bool failed; /* a failure on our side: *err is set */

    struct sha256_ctx hash;
    struct gzip_sum gzip;
    bool packed_end; /* read() returned 0 */
    char *packed;    /* READ_BYTES */

    struct archive *outer, *inner;
    uint64_t zeros_from; /* unpacked offset after which there are only zeros */

    struct text window;   /* unpacked bytes that the inner reader may still need
                           */
    uint64_t window_from; /* offset of their beginning */
    bool window_grows;    /* headers are being read */

    struct seen *seen;
    size_t seen_count, seen_cap;
    struct set_member *members; /* moved to the arena at the end */
    size_t member_count, member_cap;
    uint64_t path_bytes;
    struct text meta;
    bool meta_seen;
};

static void reader_clear(struct reader *reader) {
    if (reader->inner)
        tar.read_free(reader->inner);
    if (reader->outer)
        tar.read_free(reader->outer);
    free(reader->packed);
    free(reader->seen);
    free(reader->members);
    text_clear(&reader->meta);
    text_clear(&reader->window);
}

#define refuse(reader, ...) refusal_set(&(reader)->check->why, __VA_ARGS__)

static bool fail(struct reader *reader) {
    reader->failed = true;
    return false;
}

/* Reads the next packed bytes: -1 failed, 0 end. */
static ssize_t packed_read(struct reader *reader) {
    ssize_t got;
    if (reader->packed_end)
        return 0;
    do
        got = read(reader->fd, reader->packed, READ_BYTES);
    while (got < 0 && errno == EINTR);
    if (got < 0) {
        err_errno(reader->err, errno, "cannot read the tarball");
        fail(reader);
        return -1;
    }
    reader->packed_end = !got;
    reader->check->size += (uint64_t)got;
    sha256_update(&reader->hash, (size_t)got, (const uint8_t *)reader->packed);
    gzip_sum_packed(&reader->gzip, reader->packed, (size_t)got);
    return got;
}

static la_ssize_t outer_read(struct archive *archive, void *context,
                             const void **ret_bytes) {
    struct reader *reader = context;
    ssize_t got = packed_read(reader);
    *ret_bytes = reader->packed;
    if (got < 0)
        tar.set_error(archive, EIO, "read failed");
    return got;
}

static bool is_cut(struct archive *archive) {
    const char *text = tar.error_string(archive);
    return text && (strcasestr(text, "truncated") ||
                    strcasestr(text, "unexpected end"));
}

static bool refuse_damage(struct reader *reader, struct archive *archive) {
    if (reader->failed || reader->check->why.kind)
        return false; /* a more exact reason is already set */
    const char *text = tar.error_string(archive);
    if (is_cut(archive))
        return refuse(reader, REFUSAL_CUT, "the archive ends too early: %s",
                      text);
    return refuse(reader, REFUSAL_CORRUPT, "the archive is damaged: %s",
                  text ? text : "no reason given");
}

static bool unpacked_fits(struct reader *reader) {
    const struct set_limits *limits = reader->limits;
    uint64_t unpacked = reader->check->unpacked_bytes;
    uint64_t packed = reader->check->size;
    if (unpacked > limits->unpacked_bytes)
        return refuse(reader, REFUSAL_TOO_BIG,
                      "unpacks to more than %llu bytes",
                      (unsigned long long)limits->unpacked_bytes);
    if (unpacked > limits->ratio_from_bytes &&
        unpacked / limits->ratio >= packed)
        return refuse(reader, REFUSAL_BOMB,
                      "%llu bytes unpack to more than %llu times as many",
                      (unsigned long long)packed,
                      (unsigned long long)limits->ratio);
    return true;
}

/* Records where the run of zeros at the end of these bytes begins. */
static void note_zeros(struct reader *reader, const char *p, size_t bytes,
                       uint64_t offset) {
    while (bytes && !p[bytes - 1])
        bytes--;
    if (bytes)
        reader->zeros_from = offset + bytes;
}

/* Drops the bytes before `offset`. */
static void window_move(struct reader *reader, uint64_t offset) {
    struct text *window = &reader->window;
    uint64_t gone = offset - reader->window_from;
    if (gone > window->len)
        gone = window->len;
    if (!gone)
        return;
    memmove(window->p, window->p + gone, window->len - (size_t)gone);
    window->len -= (size_t)gone;
    reader->window_from += gone;
}

/* Outside headers only the current block is kept: the next headers may begin in
 * it. */
static bool window_add(struct reader *reader, const void *p, size_t bytes) {
    if (!reader->window_grows)
        window_move(reader, reader->window_from + reader->window.len);
    text_add(&reader->window, p, bytes);
    if (reader->window_grows && reader->window.len > HEADERS_BYTES)
        return refuse(reader, REFUSAL_TOO_BIG,
                      "headers of a member have more than %d bytes",
                      HEADERS_BYTES);
    return true;
}

/* Reads the next unpacked bytes: -1 refused or failed, 0 end. */
static ssize_t unpacked_read(struct reader *reader, const void **ret_bytes) {
    size_t bytes = 0;
    la_int64_t offset;
    int result = tar.read_data_block(reader->outer, ret_bytes, &bytes, &offset);
    if (result == ARCHIVE_EOF)
        return 0;
    if (result != ARCHIVE_OK) {
        refuse_damage(reader, reader->outer);
        return -1;
    }
    note_zeros(reader, *ret_bytes, bytes, reader->check->unpacked_bytes);
    reader->check->unpacked_bytes += bytes;
    gzip_sum_unpacked(&reader->gzip, *ret_bytes, bytes);
    return unpacked_fits(reader) && window_add(reader, *ret_bytes, bytes)
               ? (ssize_t)bytes
               : -1;
}

static la_ssize_t inner_read(struct archive *archive, void *context,
                             const void **ret_bytes) {
    ssize_t got = unpacked_read(context, ret_bytes);
    if (got < 0)
        tar.set_error(archive, EINVAL, "unpacking failed");
    return got;
}

static bool outer_open(struct reader *reader) {
    struct archive *outer = reader->outer = tar.read_new();
    struct archive_entry *entry;
    if (!outer || tar.read_support_format_raw(outer) ||
        tar.read_support_filter_none(outer) ||
        tar.read_support_filter_gzip(outer) ||
        tar.read_support_filter_xz(outer) ||
        tar.read_support_filter_zstd(outer)) {
        err_set(reader->err, ERR_INTERNAL, "cannot set up libarchive");
        return fail(reader);
    }
    if (tar.read_open(outer, reader, NULL, outer_read, NULL) ||
        tar.read_next_header(outer, &entry)) {
        if (!reader->check->size && !reader->failed)
            return refuse(reader, REFUSAL_NOT_TAR, "the tarball is empty");
        return refuse_damage(reader, outer);
    }
    if (tar.filter_count(outer) > 2)
        return refuse(reader, REFUSAL_NOT_TAR, "it is compressed twice");
    return true;
}

static bool inner_open(struct reader *reader) {
    struct archive *inner = reader->inner = tar.read_new();
    if (!inner || tar.read_support_format_tar(inner) ||
        tar.read_support_filter_none(inner)) {
        err_set(reader->err, ERR_INTERNAL, "cannot set up libarchive");
        return fail(reader);
    }
    if (!tar.read_open(inner, reader, NULL, inner_read, NULL))
        return true;
    if (!reader->failed && !reader->check->why.kind)
        return refuse(reader, REFUSAL_NOT_TAR,
                      "not a tar archive (plain, gzip, xz or zstd)");
    return false;
}

static void add_seen(struct reader *reader, struct seen seen) {
    if (reader->seen_count == reader->seen_cap) {
        reader->seen_cap = reader->seen_cap ? 2 * reader->seen_cap : 64;
        reader->seen =
            mem_grow(reader->seen, reader->seen_cap, sizeof *reader->seen);
    }
    reader->seen[reader->seen_count++] = seen;
}

static void add_member(struct reader *reader, struct set_member member) {
    if (reader->member_count == reader->member_cap) {
        reader->member_cap = reader->member_cap ? 2 * reader->member_cap : 64;
        reader->members = mem_grow(reader->members, reader->member_cap,
                                   sizeof *reader->members);
    }
    reader->members[reader->member_count++] = member;
}

static bool take_content(struct reader *reader, struct span path, uint64_t size,
                         bool (*take)(struct reader *, struct span)) {
    uint64_t done = 0;
    for (;;) {
        const void *p;
        size_t bytes;
        la_int64_t offset;
        int result = tar.read_data_block(reader->inner, &p, &bytes, &offset);
        if (result == ARCHIVE_EOF)
            break;
        if (result != ARCHIVE_OK)
            return refuse_damage(reader, reader->inner);
        if ((uint64_t)offset != done)
            return refuse(reader, REFUSAL_MEMBER_TYPE,
                          "member '%.*s' is a sparse file", (int)path.len,
                          path.p);
        done += bytes;
        if (bytes && !take(reader, span_make(p, bytes)))
            return false;
    }
    if (done != size)
        return refuse(reader, REFUSAL_CUT,
                      "member '%.*s' has %llu of %llu bytes", (int)path.len,
                      path.p, (unsigned long long)done,
                      (unsigned long long)size);
    return true;
}

static bool take_meta_bytes(struct reader *reader, struct span bytes) {
    text_addspan(&reader->meta, bytes);
    return true;
}

static bool take_meta(struct reader *reader, struct archive_entry *entry) {
    uint64_t size = (uint64_t)tar.entry_size(entry);
    if (tar.entry_filetype(entry) != AE_IFREG)
        return refuse(reader, REFUSAL_MEMBER_TYPE,
                      "member 'meta' is not a regular file");
    if (reader->meta_seen)
        return refuse(reader, REFUSAL_DUPLICATE, "member 'meta' occurs twice");
    if (size > reader->limits->meta_bytes)
        return refuse(reader, REFUSAL_TOO_BIG,
                      "member 'meta' has %llu bytes, %llu are allowed",
                      (unsigned long long)size,
                      (unsigned long long)reader->limits->meta_bytes);
    reader->meta_seen = true;
    return take_content(reader, SPAN("meta"), size, take_meta_bytes);
}

static bool visit_bytes(struct reader *reader, struct span bytes) {
    const struct set_visitor *visitor = reader->visitor;
    return !visitor->content ||
           visitor->content(visitor->context, bytes.p, bytes.len,
                            reader->err) ||
           fail(reader);
}

static bool visit(struct reader *reader, const struct set_member *member) {
    const struct set_visitor *visitor = reader->visitor;
    if (visitor->member_begin &&
        !visitor->member_begin(visitor->context, member, reader->err))
        return fail(reader);
    if (!member->symlink &&
        !take_content(reader, member->path, member->size, visit_bytes))
        return false;
    if (visitor->member_end &&
        !visitor->member_end(visitor->context, reader->err))
        return fail(reader);
    return true;
}

static bool take_link(struct reader *reader, struct archive_entry *entry,
                      struct set_member *member) {
    struct span target = span_of(tar.entry_symlink(entry));
    if (!reader->limits->symlinks)
        return refuse(reader, REFUSAL_SYMLINK,
                      "member '%.*s' is a symbolic link, the target does not "
                      "allow any",
                      (int)member->path.len, member->path.p);
    member->symlink = true;
    member->size = 0;
    member->link = arena_span(reader->arena, target);
    reader->path_bytes += target.len;
    return path_link_check(member->path, target, &reader->limits->path,
                           &reader->check->why);
}

/* Adds a file or link below lroot/. */
static bool take_file(struct reader *reader, struct archive_entry *entry,
                      struct span path) {
    struct set_member member = {.path = path,
                                .size = (uint64_t)tar.entry_size(entry),
                                .executable = tar.entry_mode(entry) & 0111};
    if (!path_check(path, &reader->limits->path, &reader->check->why))
        return false;
    if (tar.entry_filetype(entry) == AE_IFLNK) {
        if (!take_link(reader, entry, &member))
            return false;
        member.executable = false;
    }
    add_member(reader, member);
    return visit(reader, &member);
}

static bool type_is_allowed(struct reader *reader, struct archive_entry *entry,
                            struct span path) {
    const char *what = NULL;
    mode_t type = tar.entry_filetype(entry);
    if (tar.entry_hardlink(entry))
        what = "a hard link";
    else if (type == AE_IFCHR || type == AE_IFBLK)
        what = "a device";
    else if (type == AE_IFIFO)
        what = "a FIFO";
    else if (tar.entry_sparse_count(entry))
        what = "a sparse file";
    else if (type != AE_IFREG && type != AE_IFDIR && type != AE_IFLNK)
        what = "of a kind that is not allowed";
    if (!what)
        return true;
    return refuse(reader, REFUSAL_MEMBER_TYPE, "member '%.*s' is %s",
                  (int)path.len, path.p, what);
}

/* Checks the name from the archive and removes the slash at the end of a
 * directory. */
static bool take_path(struct reader *reader, struct archive_entry *entry,
                      struct span *ret_path) {
    struct path_limits limits = reader->limits->path;
    struct span path = span_of(tar.entry_pathname(entry));
    if (tar.entry_filetype(entry) == AE_IFDIR && path.len > 1 &&
        path.p[path.len - 1] == '/')
        path.len--;
    limits.path_bytes += strlen("lroot/");
    limits.depth++;
    if (span_is(path, ".") || span_starts(path, "./"))
        return refuse(reader, REFUSAL_BAD_PATH,
                      "member '%.*s' begins with '.', pack the tarball with "
                      "'tar -cf FILE meta lroot'",
                      (int)path.len, path.p);
    if (!path_check(path, &limits, &reader->check->why))
        return false;
    reader->path_bytes += path.len;
    if (reader->path_bytes > SET_PATHS_BYTES)
        return refuse(reader, REFUSAL_TOO_BIG,
                      "all paths together have more than %d bytes",
                      SET_PATHS_BYTES);
    *ret_path = arena_span(reader->arena, path);
    return true;
}

static bool take_entry(struct reader *reader, struct archive_entry *entry) {
    struct span path;
    bool directory = tar.entry_filetype(entry) == AE_IFDIR;
    if (!take_path(reader, entry, &path) ||
        !type_is_allowed(reader, entry, path))
        return false;
    if (span_is(path, "meta"))
        return take_meta(reader, entry);
    if (span_is(path, "lroot") && !directory)
        return refuse(reader, REFUSAL_MEMBER_TYPE,
                      "member 'lroot' is not a directory");
    if (!span_is(path, "lroot") && !span_starts(path, "lroot/"))
        return refuse(reader, REFUSAL_OUTSIDE,
                      "member '%.*s' is neither 'meta' nor below 'lroot/'",
                      (int)path.len, path.p);
    add_seen(reader, (struct seen){path, directory,
                                   tar.entry_filetype(entry) == AE_IFLNK});
    if (directory)
        return true;
    return take_file(reader, entry, span_make(path.p + 6, path.len - 6));
}

/* Checks the end of the archive: two blocks of zeros, then only zeros. */
static bool take_end(struct reader *reader) {
    uint64_t end = (uint64_t)tar.read_header_position(reader->inner);
    const void *p;
    ssize_t got;
    do
        got = unpacked_read(reader, &p);
    while (got > 0);
    if (got < 0)
        return false;
    if (reader->zeros_from > end)
        return refuse(reader, REFUSAL_GARBAGE,
                      "there is data after the end of the archive");
    if (reader->check->unpacked_bytes < end + END_BYTES)
        return refuse(reader, REFUSAL_CUT,
                      "the archive is truncated: its end is missing");
    while ((got = packed_read(reader)) > 0)
        ;
    if (got < 0)
        return false;
    if ((uint64_t)tar.filter_bytes(reader->outer, -1) != reader->check->size)
        return refuse(reader, REFUSAL_GARBAGE,
                      "there is data after the compressed archive");
    if (!gzip_sum_agrees(&reader->gzip))
        return refuse(
            reader, REFUSAL_CORRUPT,
            "the archive is damaged, or consists of several gzip streams: its "
            "final checksum does not match; pack it again");
    return true;
}

/* Reads the headers of the next member; ARCHIVE_OK, ARCHIVE_EOF or other. */
static int next_entry(struct reader *reader, bool first,
                      struct archive_entry **ret) {
    int result = first ? ARCHIVE_OK : tar.read_data_skip(reader->inner);
    if (result != ARCHIVE_OK && result != ARCHIVE_EOF)
        return result;
    window_move(reader, (uint64_t)tar.filter_bytes(reader->inner, -1));
    reader->window_grows = true;
    result = tar.read_next_header(reader->inner, ret);
    reader->window_grows = false;
    return result;
}

static bool check_headers(struct reader *reader) {
    uint64_t begin = (uint64_t)tar.read_header_position(reader->inner);
    uint64_t skip = begin - reader->window_from;
    if (skip > reader->window.len ||
        !tar_names_hold_nul(span_make(reader->window.p + skip,
                                      reader->window.len - (size_t)skip)))
        return true;
    return refuse(reader, REFUSAL_BAD_PATH,
                  "the name of a member contains a NUL");
}

static bool take_entries(struct reader *reader) {
    for (uint64_t members = 0;; members++) {
        struct archive_entry *entry;
        int result = next_entry(reader, !members, &entry);
        if (result == ARCHIVE_EOF)
            return take_end(reader);
        /* A warning means that a name or number was not understood. */
        if (result != ARCHIVE_OK)
            return refuse_damage(reader, reader->inner);
        if (members == reader->limits->members)
            return refuse(reader, REFUSAL_TOO_BIG, "more than %llu members",
                          (unsigned long long)members);
        if (!check_headers(reader) || !take_entry(reader, entry))
            return false;
    }
}

static int seen_order(const void *a, const void *b) {
    return path_compare(((const struct seen *)a)->path,
                        ((const struct seen *)b)->path);
}

/* After sorting, duplicates and the paths below a path directly follow it. */
static bool check_neighbours(struct reader *reader) {
    struct seen *seen = reader->seen;
    if (reader->seen_count)
        qsort(seen, reader->seen_count, sizeof *seen, seen_order);
    for (size_t i = 1; i < reader->seen_count; i++) {
        struct span above = seen[i - 1].path, path = seen[i].path;
        if (span_equal(above, path))
            return refuse(reader, REFUSAL_DUPLICATE,
                          "member '%.*s' occurs twice", (int)path.len, path.p);
        if (seen[i - 1].directory || !path_is_below(path, above))
            continue;
        if (seen[i - 1].symlink)
            return refuse(reader, REFUSAL_SYMLINK,
                          "member '%.*s' would be reached through the "
                          "symbolic link '%.*s'",
                          (int)path.len, path.p, (int)above.len, above.p);
        return refuse(reader, REFUSAL_PATH_CLASH,
                      "member '%.*s' is below '%.*s', which is not a directory",
                      (int)path.len, path.p, (int)above.len, above.p);
    }
    return true;
}

static bool check_meta(struct reader *reader) {
    struct set_check *check = reader->check;
    if (!reader->meta_seen)
        return refuse(reader, REFUSAL_NO_META,
                      "the archive has no member 'meta'");
    check->meta_text = arena_span(reader->arena, text_span(&reader->meta));
    return meta_parse(check->meta_text, &reader->limits->path, reader->arena,
                      &check->meta, &check->why) &&
           set_check_agree(check);
}

static void finish_sum(struct reader *reader) {
    unsigned char sum[32];
    while (!reader->failed && packed_read(reader) > 0)
        ;
    sha256_digest(&reader->hash, sizeof sum, sum);
    for (size_t i = 0; i < sizeof sum; i++) {
        reader->check->sha256[2 * i] = "0123456789abcdef"[sum[i] >> 4];
        reader->check->sha256[2 * i + 1] = "0123456789abcdef"[sum[i] & 15];
    }
}

/* The table grew outside the arena; now it is copied there. */
static void keep_members(struct reader *reader) {
    size_t count = reader->member_count;
    struct set_member *kept =
        arena_alloc(reader->arena, (count + 1) * sizeof *kept);
    if (count)
        memcpy(kept, reader->members, count * sizeof *kept);
    reader->check->members = kept;
    reader->check->member_count = count;
}

static bool run(struct reader *reader) {
    reader->packed = mem_alloc(READ_BYTES);
    sha256_init(&reader->hash);
    if (outer_open(reader) && inner_open(reader) && take_entries(reader) &&
        check_neighbours(reader)) {
        keep_members(reader);
        check_meta(reader);
    }
    finish_sum(reader);
    return !reader->failed;
}

/* libarchive converts names of PAX headers, which are UTF-8, to the character
 * set of the thread's locale, so that is set to UTF-8 while it works. */
static bool run_in_utf8(struct reader *reader) {
    locale_t utf8 = tar_utf8();
    locale_t before = utf8 ? uselocale(utf8) : (locale_t)0;
    bool fine = run(reader);
    reader_clear(reader);
    if (utf8)
        uselocale(before);
    return fine;
}

bool set_tar_walk(int fd, const struct set_limits *limits,
                  const struct set_visitor *visitor, struct arena *arena,
                  struct set_check *ret_check, struct err *err) {
    struct reader reader = {.fd = fd,
                            .limits = limits,
                            .visitor = visitor,
                            .arena = arena,
                            .check = ret_check,
                            .err = err,
                            .gzip = GZIP_SUM_INIT};
    *ret_check = (struct set_check){0};
    if (!tar_load(err))
        return false;
    return run_in_utf8(&reader);
}

bool set_tar_check(int fd, const struct set_limits *limits, struct arena *arena,
                   struct set_check *ret_check, struct err *err) {
    static const struct set_visitor nobody;
    return set_tar_walk(fd, limits, &nobody, arena, ret_check, err);
}
