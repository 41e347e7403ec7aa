/* A timer on the wall clock: it expires at a given instant, even if the machine
 * was asleep then, and whenever the clock is set. */
#ifndef POINTSMAN_OS_ALARM_H
#define POINTSMAN_OS_ALARM_H

#include <stdbool.h>

#include "lib/err.h"
#include "lib/time.h"

/* *ret_fd becomes readable when the alarm expires; initially none is set. Close
 * it after use. ERR_CANNOT: no descriptor left. */
bool alarm_open(int *ret_fd, struct err *err);
/* A time in the past expires at once; WALL_NEVER expires only when the clock is
 * set. */
void alarm_set(int fd, struct wall at);
/* Acknowledges the alarm, which must then be set again. True if the clock was
 * set. */
bool alarm_drain(int fd);

#endif
