/* Reads a change set's tarball (C3, C4) from a descriptor, using libarchive
 * with only tar, gzip, xz and zstd enabled; files are never unpacked by name.
 * Runs in a sandboxed child: the sandbox limits memory, CPU time and file
 * system access; bytes, members, names and ratio are limited here.
 *
 * There are two kinds of failure: false with err if reading the descriptor or a
 * callback failed, which says nothing about the tarball; otherwise true, and
 * `why` says whether the tarball was refused (REFUSAL_NONE: it was not). */
#ifndef POINTSMAN_WIRE_SET_TAR_H
#define POINTSMAN_WIRE_SET_TAR_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/arena.h"
#include "lib/err.h"
#include "lib/text.h"
#include "wire/meta.h"
#include "wire/path.h"
#include "wire/refusal.h"

enum {
    SHA256_HEX_BYTES = 65,
    SET_PATHS_BYTES = 16 << 20 /* of all paths and link targets together */
};

struct set_limits {
    uint64_t unpacked_bytes; /* of the tar stream, headers included */
    uint64_t members;
    uint64_t ratio; /* unpacked : packed, once past ratio_from_bytes */
    uint64_t ratio_from_bytes;
    uint64_t meta_bytes;
    struct path_limits path; /* for the part after lroot/ */
    bool symlinks;           /* allow links that stay inside */
};

#define SET_LIMITS                                                             \
    ((struct set_limits){UINT64_C(2) << 30, 100000, 200, 16 << 20, META_BYTES, \
                         PATH_LIMITS, false})

/* A regular file or symbolic link below lroot/. */
struct set_member {
    struct span path; /* without lroot/ */
    uint64_t size;
    bool executable; /* any x bit in the archive's mode */
    bool symlink;
    struct span link; /* target of the link */
};

/* The properties and content of a tarball. */
struct set_check {
    struct refusal why; /* if refused, the other members are incomplete */
    char sha256[SHA256_HEX_BYTES]; /* of the stream, always set */
    uint64_t size;                 /* of the stream */
    uint64_t unpacked_bytes;
    struct span meta_text;
    struct meta meta;
    struct set_member *members; /* sorted by path_compare; equal to meta.files
                                 */
    size_t member_count;
};

/* Reads and checks the whole tarball; results live in the arena. After a
 * refusal the descriptor is still read to its end, for sum and size. */
bool set_tar_check(int fd, const struct set_limits *limits, struct arena *arena,
                   struct set_check *ret_check, struct err *err);

/* Called for each member in the archive's order: member_begin, then content
 * pieces (regular files only), then member_end. Any may be NULL; false ends
 * the walk with *err as it set it. */
struct set_visitor {
    void *context;
    bool (*member_begin)(void *context, const struct set_member *member,
                         struct err *err);
    bool (*content)(void *context, const void *p, size_t bytes,
                    struct err *err);
    bool (*member_end)(void *context, struct err *err);
};

/* Reads and checks likewise, and passes the content to the visitor meanwhile:
 * the content is valid only if the walk ends without a refusal. */
bool set_tar_walk(int fd, const struct set_limits *limits,
                  const struct set_visitor *visitor, struct arena *arena,
                  struct set_check *ret_check, struct err *err);

#endif
