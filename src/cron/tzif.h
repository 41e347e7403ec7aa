/* Zone files: TZif of version 2 and later (RFC 9636). Files with leap
 * seconds ("right/") are refused: their seconds are not POSIX seconds. */
#ifndef POINTSMAN_CRON_TZIF_H
#define POINTSMAN_CRON_TZIF_H

#include "cron/fault.h"

enum { TZIF_BYTES_MOST = 1 << 20 };

/* `name` is for messages. */
bool tzif_decode(const void *bytes, size_t byte_count, const char *name,
                 struct cron_zone **ret_zone, struct cron_err *err);

#endif
