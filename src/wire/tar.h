/* libarchive, loaded on first use: tar.read_new is archive_read_new. A
 * sandboxed child loads it before it enters the sandbox. */
#ifndef POINTSMAN_WIRE_TAR_H
#define POINTSMAN_WIRE_TAR_H

#include <archive.h>
#include <archive_entry.h>
#include <locale.h>
#include <stdbool.h>

#include "lib/err.h"

#define TAR_CALLS(CALL)                 \
    CALL(entry_filetype)                \
    CALL(entry_free)                    \
    CALL(entry_hardlink)                \
    CALL(entry_mode)                    \
    CALL(entry_new)                     \
    CALL(entry_pathname)                \
    CALL(entry_perm)                    \
    CALL(entry_set_filetype)            \
    CALL(entry_set_mtime)               \
    CALL(entry_set_pathname)            \
    CALL(entry_set_perm)                \
    CALL(entry_set_size)                \
    CALL(entry_set_symlink)             \
    CALL(entry_size)                    \
    CALL(entry_sparse_count)            \
    CALL(entry_symlink)                 \
    CALL(error_string)                  \
    CALL(filter_bytes)                  \
    CALL(filter_count)                  \
    CALL(read_data_block)               \
    CALL(read_data_skip)                \
    CALL(read_free)                     \
    CALL(read_header_position)          \
    CALL(read_new)                      \
    CALL(read_next_header)              \
    CALL(read_open)                     \
    CALL(read_open_fd)                  \
    CALL(read_support_filter_gzip)      \
    CALL(read_support_filter_none)      \
    CALL(read_support_filter_xz)        \
    CALL(read_support_filter_zstd)      \
    CALL(read_support_format_raw)       \
    CALL(read_support_format_tar)       \
    CALL(set_error)                     \
    CALL(write_add_filter_gzip)         \
    CALL(write_add_filter_none)         \
    CALL(write_close)                   \
    CALL(write_data)                    \
    CALL(write_free)                    \
    CALL(write_header)                  \
    CALL(write_new)                     \
    CALL(write_open_fd)                 \
    CALL(write_set_bytes_in_last_block) \
    CALL(write_set_filter_option)       \
    CALL(write_set_format_gnutar)       \
    CALL(write_set_format_pax_restricted)

struct tar {
#define CALL(name) __typeof__(archive_##name) *name;
    TAR_CALLS(CALL)
#undef CALL
    __typeof__(archive_errno) *error_number; /* errno is a macro */
};

extern struct tar tar;

/* Call it before any other function; calling it again is harmless. */
bool tar_load(struct err *err);
/* A locale with the character set UTF-8, for reading names of PAX headers;
 * tar_load loads it, since it needs a file too. (locale_t)0: not available. */
locale_t tar_utf8(void);

#endif
