#include "os/packed.h"

#include <endian.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/library.h"
#include "lib/text.h"

enum { LEVEL = 1, FRAMES_MAX = 1 << 22 };

#define SKIPPABLE 0x184D2A5EU
#define SEEKABLE 0x8F92EAB1U

/* Functions of libzstd; its simple calls are unchanged since 1.0. */
static struct {
    size_t (*compress)(void *to, size_t room, const void *from, size_t bytes,
                       int level);
    size_t (*decompress)(void *to, size_t room, const void *from, size_t bytes);
    size_t (*bound)(size_t bytes);
    unsigned (*is_error)(size_t code);
} zstd;

static pthread_mutex_t zstd_lock = PTHREAD_MUTEX_INITIALIZER;

static bool zstd_load(struct err *err) {
    static const char *const names[] = {"ZSTD_compress", "ZSTD_decompress",
                                        "ZSTD_compressBound", "ZSTD_isError"};
    static bool loaded;
    pthread_mutex_lock(&zstd_lock);
    if (!loaded)
        loaded = library_load("libzstd.so.1", "libzstd1", names, COUNT(names),
                              &zstd, err);
    bool ok = loaded;
    pthread_mutex_unlock(&zstd_lock);
    return ok;
}

/* ---- writing ------------------------------------------------------------- */

static ssize_t read_whole(int fd, uint64_t at, char *block, size_t bytes) {
    size_t got = 0;
    while (got < bytes) {
        ssize_t n = pread(fd, block + got, bytes - got, (off_t)(at + got));
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -1;
        if (n == 0)
            break;
        got += (size_t)n;
    }
    return (ssize_t)got;
}

static bool write_whole(int fd, const void *bytes, size_t count) {
    const char *p = bytes;
    while (count > 0) {
        ssize_t n = write(fd, p, count);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        p += n;
        count -= (size_t)n;
    }
    return true;
}

static void put_u32(struct text *out, uint32_t value) {
    uint32_t little = htole32(value);
    text_add(out, &little, sizeof little);
}

static bool write_frames(int from_fd, int to_fd, struct text *frame,
                         char *block, struct text *table, struct err *err) {
    for (uint64_t at = 0;;) {
        ssize_t got = read_whole(from_fd, at, block, PACKED_FRAME_BYTES);
        if (got < 0)
            return err_errno(err, errno, "cannot read the output to compress");
        if (got == 0)
            return true;
        size_t bytes = zstd.compress(frame->p, zstd.bound(PACKED_FRAME_BYTES),
                                     block, (size_t)got, LEVEL);
        if (zstd.is_error(bytes) != 0)
            return err_set(err, ERR_CANNOT, "zstd cannot compress it");
        if (!write_whole(to_fd, frame->p, bytes))
            return err_errno(err, errno, "cannot write the compressed output");
        put_u32(table, (uint32_t)bytes);
        put_u32(table, (uint32_t)got);
        at += (uint64_t)got;
    }
}

/* Writes the entries, their number, no checksums, and the magic number at the
 * end. */
static bool write_table(int fd, const struct text *entries, struct err *err) {
    CLEANUP(text_clear) struct text table = TEXT_INIT;
    put_u32(&table, SKIPPABLE);
    put_u32(&table, (uint32_t)entries->len + 9);
    text_add(&table, entries->p, entries->len);
    put_u32(&table, (uint32_t)(entries->len / 8));
    text_addc(&table, '\0');
    put_u32(&table, SEEKABLE);
    return write_whole(fd, table.p, table.len) ||
           err_errno(err, errno, "cannot write the compressed output");
}

bool packed_write(int from_fd, int to_fd, struct err *err) {
    CLEANUP(text_clear) struct text frame = TEXT_INIT;
    CLEANUP(text_clear) struct text block = TEXT_INIT;
    CLEANUP(text_clear) struct text table = TEXT_INIT;
    if (!zstd_load(err))
        return false;
    text_reserve(&frame, zstd.bound(PACKED_FRAME_BYTES));
    text_reserve(&block, PACKED_FRAME_BYTES);
    return write_frames(from_fd, to_fd, &frame, block.p, &table, err) &&
           write_table(to_fd, &table, err);
}

/* ---- reading ------------------------------------------------------------- */

/* Where a frame begins, in the packed file and in the original. */
struct start {
    uint64_t packed, plain;
};

struct packed {
    int fd;
    uint32_t count;
    struct start *starts; /* one more than there are frames */
    uint32_t held;        /* the frame in `block`; UINT32_MAX: none */
    char *block, *frame;
};

static uint32_t get_u32(const char *p) {
    uint32_t little;
    memcpy(&little, p, sizeof little);
    return le32toh(little);
}

static bool bad(struct err *err, const char *what) {
    return err_set(err, ERR_DATA, "this is not a compressed output: %s", what);
}

/* The frames must fill the file exactly up to the table. */
static bool read_starts(struct packed *packed, const char *entries,
                        uint64_t room, struct err *err) {
    struct start at = {0, 0};
    packed->starts = mem_alloc((packed->count + 1) * sizeof *packed->starts);
    for (uint32_t i = 0; i < packed->count; i++) {
        uint32_t bytes = get_u32(entries + 8 * (size_t)i);
        uint32_t plain = get_u32(entries + 8 * (size_t)i + 4);
        if (plain == 0 || plain > PACKED_FRAME_BYTES ||
            bytes > 2 * PACKED_FRAME_BYTES ||
            (i + 1 < packed->count && plain != PACKED_FRAME_BYTES))
            return bad(err, "a frame has an impossible size");
        packed->starts[i] = at;
        at.packed += bytes;
        at.plain += plain;
    }
    packed->starts[packed->count] = at;
    return at.packed == room || bad(err, "its frames do not cover the file");
}

static bool read_table(struct packed *packed, struct err *err) {
    CLEANUP(text_clear) struct text table = TEXT_INIT;
    struct stat stat;
    char end[9];
    if (fstat(packed->fd, &stat) < 0)
        return err_errno(err, errno, "cannot check a compressed output");
    uint64_t size = (uint64_t)stat.st_size;
    if (size < 17 ||
        read_whole(packed->fd, size - 9, end, sizeof end) != sizeof end ||
        get_u32(end + 5) != SEEKABLE || end[4] != 0)
        return bad(err, "it has no table");
    packed->count = get_u32(end);
    uint64_t bytes = 8 * (uint64_t)packed->count + 17;
    if (packed->count > FRAMES_MAX || bytes > size)
        return bad(err, "its table is larger than the file");
    text_reserve(&table, bytes);
    if (read_whole(packed->fd, size - bytes, table.p, bytes) !=
            (ssize_t)bytes ||
        get_u32(table.p) != SKIPPABLE || get_u32(table.p + 4) != bytes - 8)
        return bad(err, "its table has no valid beginning");
    return read_starts(packed, table.p + 8, size - bytes, err);
}

bool packed_open(int fd, struct packed **ret_packed, struct err *err) {
    if (!zstd_load(err))
        return false;
    struct packed *packed = mem_alloc(sizeof *packed);
    packed->fd = fd;
    packed->held = UINT32_MAX;
    if (!read_table(packed, err)) {
        packed_close(packed);
        return false;
    }
    packed->block = mem_alloc(PACKED_FRAME_BYTES);
    packed->frame = mem_alloc(2 * PACKED_FRAME_BYTES);
    *ret_packed = packed;
    return true;
}

void packed_close(struct packed *packed) {
    if (packed == NULL)
        return;
    free(packed->starts);
    free(packed->block);
    free(packed->frame);
    free(packed);
}

uint64_t packed_bytes(const struct packed *packed) {
    return packed->starts[packed->count].plain;
}

static bool hold(struct packed *packed, uint32_t number) {
    const struct start *start = &packed->starts[number];
    size_t bytes = (size_t)(start[1].packed - start->packed);
    size_t plain = (size_t)(start[1].plain - start->plain);
    packed->held = UINT32_MAX;
    ssize_t got = read_whole(packed->fd, start->packed, packed->frame, bytes);
    if (got < 0)
        return false;
    if ((size_t)got != bytes ||
        zstd.decompress(packed->block, PACKED_FRAME_BYTES, packed->frame,
                        bytes) != plain) {
        errno = EIO;
        return false;
    }
    packed->held = number;
    return true;
}

ssize_t packed_read(struct packed *packed, uint64_t at, char *block,
                    size_t bytes) {
    if (at >= packed_bytes(packed))
        return 0;
    /* All frames but the last have the same size. */
    uint32_t number = (uint32_t)(at / PACKED_FRAME_BYTES);
    if (packed->held != number && !hold(packed, number))
        return -1;
    size_t offset = (size_t)(at - packed->starts[number].plain);
    size_t there = (size_t)(packed->starts[number + 1].plain - at);
    if (bytes > there)
        bytes = there;
    memcpy(block, packed->block + offset, bytes);
    return (ssize_t)bytes;
}
