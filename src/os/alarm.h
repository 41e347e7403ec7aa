/* A timer by the clock people set: it goes off at an instant, also when the
 * machine slept over it, and whenever somebody sets the clock. */
#ifndef POINTSMAN_OS_ALARM_H
#define POINTSMAN_OS_ALARM_H

#include <stdbool.h>

#include "lib/err.h"
#include "lib/time.h"

/* *ret_fd becomes readable when it goes off; it waits for nothing yet. Close
 * it. ERR_CANNOT: no descriptor left. */
bool alarm_open(int *ret_fd, struct err *err);
/* A time in the past goes off at once; WALL_NEVER: only when the clock is
 * set. */
void alarm_set(int fd, struct wall at);
/* Acknowledges the alarm, which must then be set again. True if the clock was
 * set. */
bool alarm_drain(int fd);

#endif
