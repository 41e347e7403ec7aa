/* Trigger FIFOs (doc/design/registry.md, G6): one byte means "look again". The
 * daemon's end is open for reading and writing, so there always is a reader
 * and never an end of file. Drain it, THEN look: a trigger that comes during
 * a look causes another look. No trigger is needed for correctness. */
#ifndef POINTSMAN_OS_FIFO_H
#define POINTSMAN_OS_FIFO_H

#include <stdbool.h>

#include "lib/err.h"

/* The daemon's end, non-blocking. Makes the FIFO when it is absent. */
bool fifo_open(int dir, const char *name, int *ret_fd, struct err *err);
/* Empties the FIFO. True if it held anything. */
bool fifo_drain(int fd);
/* Writes one byte. A missing reader, a full FIFO or a lack of permission is
 * ignored: the reader looks when it starts, is awake already, or polls. */
void fifo_trigger(int dir, const char *name);

#endif
