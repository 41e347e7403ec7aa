/* Trigger FIFOs (doc/design/registry.md, G6): one byte means "look again". The
 * daemon opens its end for reading and writing, so there is always a reader and
 * never an end of file. Drain the FIFO first and look afterwards: then a
 * trigger that arrives during a look causes another look. Correctness never
 * depends on a trigger. */
#ifndef POINTSMAN_OS_FIFO_H
#define POINTSMAN_OS_FIFO_H

#include <stdbool.h>

#include "lib/err.h"

/* Opens the daemon's end, non-blocking; makes the FIFO if it is absent. */
bool fifo_open(int dir, const char *name, int *ret_fd, struct err *err);
/* True if `name` is the FIFO that is open. */
bool fifo_is_there(int dir, const char *name, int fd);
/* Empties the FIFO. True if it held anything. */
bool fifo_drain(int fd);
/* Writes one byte. A missing reader, a full FIFO or a lack of permission is
 * ignored: the reader looks when it starts, is already awake, or polls. */
void fifo_trigger(int dir, const char *name);

#endif
