/* Where zones are stored on this machine. */
#ifndef POINTSMAN_CRON_ZONE_FILE_H
#define POINTSMAN_CRON_ZONE_FILE_H

#include <sys/types.h>
#include <time.h>

#include "cron/fault.h"

/* Distinguishes one state of a file from the next. */
struct file_stamp {
    dev_t dev;
    ino_t ino;
    off_t bytes;
    struct timespec changed;
};

enum { ZONE_PATH_BYTES = 4096 };

/* Opens a zone by any name; `ret_path` is the file it came from, or "" for a
 * zone that needs no file. */
bool zone_file_open(const char *name, struct cron_zone **ret_zone,
                    char ret_path[ZONE_PATH_BYTES],
                    struct file_stamp *ret_stamp, struct cron_err *err);
/* The path that a name of the database resolves to now, and its stamp;
 * false: no such file. */
bool zone_file_stamp(const char *path, struct file_stamp *ret_stamp);

#endif
