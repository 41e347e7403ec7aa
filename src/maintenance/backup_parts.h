/* Shared by writing and reading backups. */
#ifndef POINTSMAN_MAINTENANCE_BACKUP_PARTS_H
#define POINTSMAN_MAINTENANCE_BACKUP_PARTS_H

#include "maintenance/backup.h"

/* Reads a backup to its end and compares each member with MANIFEST. Members are
 * written below `into`, which holds the directories of a base; -1: they are
 * only compared. ERR_DATA: not a backup, truncated, or damaged. */
bool backup_read(int fd, int into, backup_stopped *stopped,
                 struct backup_report *report, struct err *err);
/* False, with ERR_INTERRUPTED, if it is to stop. */
bool backup_goes_on(backup_stopped *stopped, struct err *err);

#endif
