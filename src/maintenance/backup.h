/* Backup of a whole base in one tar file, consistent while the base is in use,
 * and restoring it.
 *
 * The file contains a copy of the registry, the configuration, tarballs,
 * archive, outputs, entries still in prequeue/ and rejected ones, and at its
 * end MANIFEST with the SHA-256 of each member. Job files and logs are not
 * included: they are derived from the registry and rebuilt, so that nothing in
 * a backup can contradict it. */
#ifndef POINTSMAN_MAINTENANCE_BACKUP_H
#define POINTSMAN_MAINTENANCE_BACKUP_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/err.h"
#include "lib/time.h"
#include "base/base.h"

struct backup_report {
    uint64_t files, bytes;
    bool replaced; /* FILE.part of a backup that was killed */
};

/* Asked between the pieces. True: give up (ERR_INTERRUPTED). */
typedef bool backup_stopped(void);

/* Writes FILE.part, reads it again and compares every checksum, then renames it
 * to FILE (never over an existing file: ERR_CANNOT). After an error nothing of
 * it is left. `stopped` may be NULL. */
bool backup_write(struct base *base, const char *file, backup_stopped *stopped,
                  struct backup_report *ret_report, struct err *err);
/* Writes a backup to a descriptor, such as standard output. It is not read
 * again; what was cut short is refused when it is restored. */
bool backup_stream(struct base *base, int fd, struct backup_report *ret_report,
                   struct err *err);
/* Restores the backup that `fd` reads, from a file or a pipe, into `path`,
 * which must not hold a base. Every checksum is compared and the registry
 * verified before any file gets its final name; then everything that was to be
 * done is held (maintenance/restored.h), and an event `restored` is recorded.
 * `roles` as in struct base_init. */
bool backup_restore(int fd, const char *path, const struct role *const *roles,
                    struct wall now, struct backup_report *ret_report,
                    struct err *err);

#endif
