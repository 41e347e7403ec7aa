/* The clocks of this machine. */
#ifndef POINTSMAN_CRON_CLOCK_H
#define POINTSMAN_CRON_CLOCK_H

#include <pointsman/cron.h>

extern const struct cron_clocks clocks_of_linux;

#endif
