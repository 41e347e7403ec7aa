/* Structs of options, which begin with their size: programs and libraries of
 * different versions understand each other. */
#ifndef POINTSMAN_CRON_OPTIONS_H
#define POINTSMAN_CRON_OPTIONS_H

#include "cron/fault.h"

/* Copies the options that both know to `ours`, which has the defaults.
 * CRON_ERR_OPTION: the size is 0, or an option that only the caller knows is
 * set. */
bool options_take(void *ours, size_t our_size, const void *options, size_t size,
                  struct cron_err *err);

#endif
