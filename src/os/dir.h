/* Directories and the files in them, changed so that after a crash there is
 * either the old or the new state, never half of either
 * (doc/design/registry.md, G3).
 *
 * All names are relative to an open directory and never leave it: `..`,
 * absolute paths and symbolic links on the way are refused (openat2). */
#ifndef POINTSMAN_OS_DIR_H
#define POINTSMAN_OS_DIR_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "lib/arena.h"
#include "lib/err.h"
#include "lib/text.h"
#include "os/disk.h"
#include "os/fd.h"

/* Opens beneath `dir`, with O_CLOEXEC and O_NOFOLLOW. Errors: err_errno. */
bool dir_open_file(int dir, const char *path, int flags, mode_t mode,
                   int *ret_fd, struct err *err);
bool dir_open(int dir, const char *path, int *ret_fd, struct err *err);

/* Reads the whole file, at most `limit` bytes (else ERR_DATA), and appends it
 * to *out. */
bool dir_read_file(int fd, uint64_t limit, struct text *out, struct err *err);
bool dir_read(int dir, const char *name, uint64_t limit, struct text *out,
              struct err *err);
/* Writes all bytes, with as many write calls as needed. */
bool dir_write_file(int fd, struct span bytes, struct err *err);
/* Makes an immutable file in memory with these bytes, positioned at its
 * beginning. `name` is only for /proc. */
bool dir_file_sealed(const char *name, struct span bytes, int *ret_fd,
                     struct err *err);

/* A unique name: "STEM.PID.N", STEM truncated to fit. */
void dir_fresh_name(struct span stem, char ret[256]);

/* How durable a change must be when the call returns. */
enum dir_sync {
    DIR_LAZY,   /* the caller syncs the whole file system later */
    DIR_DURABLE /* on the disk now */
};

/* Atomic write by tmp/NAME.PID.N and rename; replaces an existing file. */
bool dir_write(int tmp, int dir, const char *name, struct span bytes,
               mode_t mode, enum dir_sync sync, struct err *err);

/* Result of a move. */
enum dir_moved {
    DIR_MOVED,
    DIR_ABSENT, /* there was no `from` */
    DIR_EXISTS  /* something called `to` is there already */
};
/* The durable move: RENAME_NOREPLACE, else link and unlink; then the target
 * directory is synced, then the source. A crash leaves two names of one inode
 * or one name, never none. EXDEV is ERR_CONFIG. */
bool dir_move(int from_dir, const char *from, int to_dir, const char *to,
              enum dir_sync sync, enum dir_moved *ret_moved, struct err *err);

/* Also succeeds if the file is absent; *ret_was (may be NULL) says whether it
 * was there. */
bool dir_remove(int dir, const char *name, bool *ret_was, struct err *err);
bool dir_sync_now(int dir, struct err *err);

/* Checks whether the name exists. Symbolic links are not followed. */
bool dir_stat(int dir, const char *name, struct stat *ret_stat, bool *ret_there,
              struct err *err);

/* Lists the names in a directory except . and .., sorted by bytes, in the
 * arena. */
bool dir_list(int dir, struct arena *arena, struct span **ret_names,
              size_t *ret_count, struct err *err);
/* Calls `each` for every name, unsorted, until it returns false. */
bool dir_each(int dir, bool (*each)(void *ctx, struct span name), void *ctx,
              struct err *err);

/* Creates the directory if absent, with exactly `mode`, regardless of the
 * umask. */
bool dir_make(int dir, const char *name, mode_t mode, struct err *err);
/* Removes a whole tree below `dir`; also succeeds if it is absent. */
bool dir_remove_tree(int dir, const char *name, struct err *err);
/* Changes the owner of `name` and everything in it; of symbolic links
 * themselves, not of their targets. Also succeeds if it is absent. */
bool dir_give_tree(int dir, const char *name, uid_t uid, gid_t gid,
                   struct err *err);

#endif
