/* Everything of a base in one tar file, consistent while in use, and back.
 *
 * In it: a copy of the registry, the configuration, tarballs, archive, outputs,
 * what is still in prequeue/ and what was rejected, and at its end MANIFEST
 * with the SHA-256 of each. Job files and logs are not: they follow from the
 * registry and are made anew, so that nothing in a backup can contradict it. */
#ifndef POINTSMAN_MAINTENANCE_BACKUP_H
#define POINTSMAN_MAINTENANCE_BACKUP_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/err.h"
#include "lib/time.h"
#include "base/base.h"

struct backup_report {
    uint64_t files, bytes;
};

/* Written as FILE.part, read again and compared sum by sum, then renamed to
 * FILE (never over an existing one: ERR_CANNOT). */
bool backup_write(struct base *base, const char *file,
                  struct backup_report *ret_report, struct err *err);
/* Into `path`, which must hold no base. Every sum is compared and the registry
 * verified before anything has its final name; an event `restored` follows.
 * `roles` as in struct base_init. */
bool backup_restore(const char *file, const char *path,
                    const struct role *const *roles, struct wall now,
                    struct backup_report *ret_report, struct err *err);

#endif
