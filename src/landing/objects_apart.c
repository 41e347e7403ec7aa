#include "landing/objects_apart.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <nettle/sha1.h>
#include <nettle/sha2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/arena.h"
#include "os/dir.h"
#include "os/fd.h"
#include "os/owner.h"

/* Together at most 64 MiB. */
enum { HELD_BYTES = 64 << 10, HELD_OBJECTS = 1024 };

/* ---- one object ---------------------------------------------------------- */

enum {
    BLOCK_BYTES = 65535, /* the most that a stored block of deflate can hold */
    ADLER_BASE = 65521,
    ADLER_RUN = 5552 /* bytes until the sums must be reduced */
};

struct adler {
    uint32_t a, b;
};

static void adler_add(struct adler *adler, struct span bytes) {
    for (size_t at = 0; at < bytes.len;) {
        size_t end = at + ADLER_RUN < bytes.len ? at + ADLER_RUN : bytes.len;
        for (; at < end; at++) {
            adler->a += (unsigned char)bytes.p[at];
            adler->b += adler->a;
        }
        adler->a %= ADLER_BASE;
        adler->b %= ADLER_BASE;
    }
}

static void block_add(struct text *out, struct span bytes, bool last) {
    const unsigned length = (unsigned)bytes.len;
    const char head[] = {(char)last, (char)(length & 255), (char)(length >> 8),
                         (char)(~length & 255), (char)(~length >> 8 & 255)};
    text_add(out, head, sizeof head);
    text_addspan(out, bytes);
}

/* Appends a zlib stream (RFC 1950) of stored blocks: the header, then the
 * content. */
static void stream_add(struct text *out, struct span head, struct span body) {
    struct adler adler = {.a = 1};
    adler_add(&adler, head);
    adler_add(&adler, body);
    text_add(out, "\x78\x01", 2);
    block_add(out, head, body.len == 0);
    while (body.len > 0) {
        size_t take = body.len < BLOCK_BYTES ? body.len : BLOCK_BYTES;
        block_add(out, span_make(body.p, take), take == body.len);
        body = span_make(body.p + take, body.len - take);
    }
    const char sum[] = {(char)(adler.b >> 8), (char)adler.b,
                        (char)(adler.a >> 8), (char)adler.a};
    text_add(out, sum, sizeof sum);
}

static void hex(const unsigned char *raw, size_t bytes, char ret[OID_BYTES]) {
    for (size_t i = 0; i < bytes; i++)
        snprintf(ret + 2 * i, 3, "%02x", raw[i]);
}

static void object_name(bool sha256, struct span head, struct span body,
                        char ret_oid[OID_BYTES]) {
    unsigned char digest[SHA256_DIGEST_SIZE];
    if (sha256) {
        struct sha256_ctx state;
        sha256_init(&state);
        sha256_update(&state, head.len, (const uint8_t *)head.p);
        sha256_update(&state, body.len, (const uint8_t *)body.p);
        sha256_digest(&state, SHA256_DIGEST_SIZE, digest);
        hex(digest, SHA256_DIGEST_SIZE, ret_oid);
    } else {
        struct sha1_ctx state;
        sha1_init(&state);
        sha1_update(&state, head.len, (const uint8_t *)head.p);
        sha1_update(&state, body.len, (const uint8_t *)body.p);
        sha1_digest(&state, SHA1_DIGEST_SIZE, digest);
        hex(digest, SHA1_DIGEST_SIZE, ret_oid);
    }
}

/* Written under a temporary name: the directory may outlive this process, which
 * may be killed at any moment. */
static bool object_file(const char *dir, const char *oid, struct span bytes,
                        struct err *err) {
    CLEANUP(text_clear) struct text path = TEXT_INIT;
    CLEANUP(text_clear) struct text temporary = TEXT_INIT;
    char fresh[256];
    text_addf(&path, "%s/%.2s", dir, oid);
    if (mkdir(text_string(&path), 0700) != 0 && errno != EEXIST)
        return err_errno(err, errno, "cannot create '%s'", text_string(&path));
    text_addf(&path, "/%s", oid + 2);
    if (access(text_string(&path), F_OK) == 0) /* stored by an earlier step */
        return true;
    dir_fresh_name(SPAN("tmp_obj"), fresh);
    text_addf(&temporary, "%s/%s", dir, fresh);
    CLEANUP(fd_close)
    int fd = open(text_string(&temporary),
                  O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0400);
    if (fd < 0)
        return err_errno(err, errno, "cannot create '%s'",
                         text_string(&temporary));
    if (!dir_write_file(fd, bytes, err))
        err_wrap(err, "cannot store an object in '%s'", dir);
    else if (rename(text_string(&temporary), text_string(&path)) == 0)
        return true;
    else
        err_errno(err, errno, "cannot create '%s'", text_string(&path));
    unlink(text_string(&temporary));
    return false;
}

bool objects_apart_open(struct git *git, const char *name, struct err *err) {
    CLEANUP(text_clear) struct text dir = TEXT_INIT;
    text_addf(&dir, "%s/%s", git->work, name);
    if (mkdir(text_string(&dir), 0700) != 0 && errno != EEXIST)
        return err_errno(err, errno, "cannot create '%s'", text_string(&dir));
    if (git->apart == NULL)
        git_objects_apart(git, text_string(&dir));
    git->is_holding = true;
    return true;
}

static struct span object_head(const char *type, size_t bytes, char room[64]) {
    int length = snprintf(room, 64, "%s %zu", type, bytes);
    return span_make(room, (size_t)length + 1); /* with its NUL */
}

/* Appends the bytes of its file. */
static void object_format(const struct git_held *object, struct text *out) {
    char room[64];
    stream_add(out, object_head(object->type, object->content.len, room),
               object->content);
}

static bool object_write(const struct git *git, const struct git_held *object,
                         struct err *err) {
    CLEANUP(text_clear) struct text bytes = TEXT_INIT;
    object_format(object, &bytes);
    return object_file(git->apart, object->oid, text_span(&bytes), err);
}

static void object_hold(struct git *git, const struct git_held *object) {
    struct arena *arena = &git->held_arena;
    struct git_held *held = arena_alloc(arena, sizeof *held);
    *held =
        (struct git_held){.oid = arena_string(arena, span_of(object->oid)),
                          .type = arena_string(arena, span_of(object->type)),
                          .content = arena_span(arena, object->content)};
    map_put(&git->held, span_of(held->oid), held);
}

bool objects_apart_name(struct git *git, const char *type, struct span content,
                        char ret_oid[OID_BYTES], struct err *err) {
    char room[64];
    bool sha256;
    if (!git_is_sha256(git, &sha256, err))
        return false;
    object_name(sha256, object_head(type, content.len, room), content, ret_oid);
    return true;
}

bool objects_apart_write(struct git *git, const char *type, struct span content,
                         char ret_oid[OID_BYTES], struct err *err) {
    if (!objects_apart_name(git, type, content, ret_oid, err))
        return false;
    struct git_held object = {ret_oid, type, content};
    if (!git->is_holding || content.len > HELD_BYTES)
        return object_write(git, &object, err);
    if (map_count(&git->held) >= HELD_OBJECTS && !objects_apart_flush(git, err))
        return false;
    if (map_get(&git->held, span_of(ret_oid)) == NULL)
        object_hold(git, &object);
    return true;
}

static void held_clear(struct git *git) {
    map_clear(&git->held);
    git->held = MAP_INIT;
    arena_clear(&git->held_arena);
}

bool objects_apart_flush(struct git *git, struct err *err) {
    size_t cursor = 0;
    void *held;
    while (map_next(&git->held, &cursor, NULL, &held))
        if (!object_write(git, held, err))
            return false;
    held_clear(git);
    return true;
}

/* ---- publishing ---------------------------------------------------------- */

/* A file on its way: its temporary name and its name, relative to objects/. */
struct parcel {
    const char *temporary, *name;
};

struct publishing {
    const struct git *git;
    int from, to; /* the directories of objects */
    mode_t mode;  /* of `to`: new directories get it, files what it allows to
                     read */
    struct arena arena;
    struct parcel *parcels;
    size_t count, room;
    size_t named; /* so many have their names */
};

static bool cannot(struct err *err, int sys, const char *what,
                   const struct publishing *publishing, const char *name) {
    err_errno(err, sys, "cannot %s '%s/objects/%s'", what, publishing->git->dir,
              name);
    if (err != NULL && sys != ENOMEM && sys != EMFILE && sys != ENFILE &&
        sys != EFBIG)
        err->kind = ERR_UNAVAILABLE;
    return false;
}

static bool parcel_write(const struct publishing *publishing, int to,
                         struct span bytes, const char *name, struct err *err) {
    while (bytes.len > 0) {
        ssize_t put = write(to, bytes.p, bytes.len);
        if (put < 0)
            return cannot(err, errno, "write", publishing, name);
        bytes = span_make(bytes.p + put, bytes.len - (size_t)put);
    }
    return true;
}

static bool file_copy(struct publishing *publishing, int from, int to,
                      const char *name, struct err *err) {
    static char piece[1 << 16];
    for (;;) {
        ssize_t got = read(from, piece, sizeof piece);
        if (got == 0)
            return true;
        if (got < 0)
            return err_errno(err, errno, "cannot read an object");
        if (!parcel_write(publishing, to, span_make(piece, (size_t)got), name,
                          err))
            return false;
    }
}

/* Creates the temporary file of IN/FILE. */
static bool parcel_open(struct publishing *publishing, struct span in,
                        struct span file, int *ret_fd, struct err *err) {
    char fresh[256];
    /* git's gc removes old files that are called tmp_*. */
    dir_fresh_name(SPAN("tmp_obj_pointsman"), fresh);
    const char *temporary =
        arena_printf(&publishing->arena, "%.*s/%s", (int)in.len, in.p, fresh);
    const char *name = arena_printf(&publishing->arena, "%.*s/%.*s",
                                    (int)in.len, in.p, (int)file.len, file.p);
    CLEANUP(fd_close)
    int to = openat(publishing->to, temporary,
                    O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0400);
    if (to < 0)
        return cannot(err, errno, "create", publishing, temporary);
    if (publishing->count == publishing->room) {
        publishing->room = publishing->room == 0 ? 16 : 2 * publishing->room;
        publishing->parcels = mem_grow(publishing->parcels, publishing->room,
                                       sizeof *publishing->parcels);
    }
    publishing->parcels[publishing->count++] =
        (struct parcel){.temporary = temporary, .name = name};
    owner_inherit(to, publishing->to);
    if (fchmod(to, 0444 & publishing->mode) != 0)
        return cannot(err, errno, "change the mode of", publishing, temporary);
    *ret_fd = take_fd(&to);
    return true;
}

static bool file_send(struct publishing *publishing, int dir, struct span in,
                      struct span file, struct err *err) {
    CLEANUP(fd_close) int to = -1;
    const char *name = arena_string(&publishing->arena, file);
    CLEANUP(fd_close) int from = openat(dir, name, O_RDONLY | O_CLOEXEC);
    if (from < 0)
        return err_errno(err, errno, "cannot read object '%s'", name);
    /* Removed at once, so that the sync does not write it too. */
    return parcel_open(publishing, in, file, &to, err) &&
           file_copy(publishing, from, to, name, err) &&
           (unlinkat(dir, name, 0) == 0 ||
            err_errno(err, errno, "cannot remove object '%s'", name));
}

/* Makes objects/IN like objects/ itself, which is how git makes it in a
 * repository that a group shares. */
static bool directory_make(struct publishing *publishing, const char *in,
                           struct err *err) {
    if (mkdirat(publishing->to, in, 0700) != 0)
        return errno == EEXIST || cannot(err, errno, "create", publishing, in);
    CLEANUP(fd_close)
    int made = openat(publishing->to, in, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (made >= 0)
        owner_inherit(made, publishing->to);
    return (made >= 0 && fchmod(made, publishing->mode) == 0) ||
           cannot(err, errno, "create", publishing, in);
}

static bool directory_send(struct publishing *publishing, struct span in,
                           struct err *err) {
    struct span *files;
    size_t count;
    const char *name = arena_string(&publishing->arena, in);
    CLEANUP(fd_close)
    int dir =
        openat(publishing->from, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (dir < 0)
        return err_errno(err, errno, "cannot open the objects '%s'", name);
    if (!dir_list(dir, &publishing->arena, &files, &count, err) ||
        (count > 0 && !directory_make(publishing, name, err)))
        return false;
    for (size_t i = 0; i < count; i++)
        if (!file_send(publishing, dir, in, files[i], err))
            return false;
    return true;
}

static bool held_send(struct publishing *publishing,
                      const struct git_held *held, struct err *err) {
    CLEANUP(text_clear) struct text bytes = TEXT_INIT;
    CLEANUP(fd_close) int to = -1;
    char in[] = {held->oid[0], held->oid[1], '\0'};
    struct span rest = span_of(held->oid + 2);
    object_format(held, &bytes);
    if (!directory_make(publishing, in, err) ||
        !parcel_open(publishing, span_of(in), rest, &to, err))
        return false;
    return parcel_write(publishing, to, text_span(&bytes), held->oid, err);
}

static bool is_index(const struct parcel *parcel) {
    size_t length = strlen(parcel->name);
    return length > 4 && strcmp(parcel->name + length - 4, ".idx") == 0;
}

/* A name that exists already is replaced: its content should be the same, but a
 * power cut may have left it damaged. */
static bool parcel_name(const struct publishing *publishing,
                        const struct parcel *parcel, struct err *err) {
    struct stat st;
    if (fstatat(publishing->to, parcel->name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
        st.st_size == 0)
        printf("replacing an empty object file, left by a power cut: "
               "%s/objects/%s\n",
               publishing->git->dir, parcel->name);
    return renameat(publishing->to, parcel->temporary, publishing->to,
                    parcel->name) == 0 ||
           cannot(err, errno, "create", publishing, parcel->name);
}

/* The index of a pack comes last, because it makes git look for the others. */
static bool parcels_name(struct publishing *publishing, struct err *err) {
    for (int indexes = 0; indexes <= 1; indexes++)
        for (size_t i = 0; i < publishing->count; i++)
            if (is_index(&publishing->parcels[i]) == (indexes == 1) &&
                !parcel_name(publishing, &publishing->parcels[i], err))
                return false;
    publishing->named = publishing->count;
    return true;
}

static bool publish(struct publishing *publishing, struct err *err) {
    struct span *names;
    size_t count = 0;
    struct stat st;
    if (fstat(publishing->to, &st) != 0)
        return cannot(err, errno, "read", publishing, "");
    publishing->mode = st.st_mode & 07777;
    if (publishing->from >= 0 &&
        !dir_list(publishing->from, &publishing->arena, &names, &count, err))
        return false;
    for (size_t i = 0; i < count; i++)
        if (!span_starts(names[i], "tmp_") &&
            !directory_send(publishing, names[i], err))
            return false;
    size_t cursor = 0;
    void *held;
    while (map_next(&publishing->git->held, &cursor, NULL, &held))
        if (!held_send(publishing, held, err))
            return false;
    if (syncfs(publishing->to) != 0)
        return cannot(err, errno, "sync", publishing, "");
    return parcels_name(publishing, err);
}

bool objects_apart_may_publish(const struct git *git, struct err *err) {
    if (faccessat(git->dir_fd, "objects", W_OK | X_OK, 0) == 0)
        return true;
    int sys = errno;
    err_errno(err, sys, "cannot write to '%s/objects'", git->dir);
    err->kind = ERR_UNAVAILABLE;
    return false;
}

bool objects_apart_publish(struct git *git, struct err *err) {
    struct publishing publishing = {.git = git, .from = -1, .to = -1};
    enum { HOW = O_RDONLY | O_DIRECTORY | O_CLOEXEC };
    publishing.to = openat(git->dir_fd, "objects", HOW);
    if (git->apart != NULL)
        publishing.from = open(git->apart, HOW);
    bool ok =
        publishing.to >= 0 && (git->apart == NULL || publishing.from >= 0);
    if (!ok)
        cannot(err, errno, "open", &publishing, "");
    ok = ok && publish(&publishing, err);
    if (ok)
        held_clear(git);
    for (size_t i = publishing.named; !ok && i < publishing.count; i++)
        unlinkat(publishing.to, publishing.parcels[i].temporary, 0);
    fd_close(&publishing.from);
    fd_close(&publishing.to);
    free(publishing.parcels);
    arena_clear(&publishing.arena);
    return ok;
}
