/* Everything of a base in one tar file, consistent while in use, and back. */
#ifndef POINTSMAN_SERVE_BACKUP_H
#define POINTSMAN_SERVE_BACKUP_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/time.h"
#include "serve/base.h"

struct backup_report {
    uint64_t files, bytes;
};

/* Written as FILE.part, read again and compared sum by sum, then renamed to
 * FILE (never over an existing one: ERR_CANNOT). */
bool backup_write(struct base *base, const char *file,
                  struct backup_report *ret_report, struct err *err);
/* Into `path`, which must hold no base. Every sum is compared and the registry
 * verified before anything has its final name; an event `restored` follows. */
bool backup_restore(const char *file, const char *path, struct wall now,
                    struct backup_report *ret_report, struct err *err);

#endif
