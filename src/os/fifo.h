/* Trigger FIFOs (doc/design/registry.md, G6): one byte means "look again". The
 * daemon's end is open for reading and writing, so there always is a reader
 * and never an end of file. Drain it, THEN look: a trigger that comes while
 * one looks causes one more look. No trigger is needed for correctness. */
#ifndef POINTSMAN_OS_FIFO_H
#define POINTSMAN_OS_FIFO_H

#include <stdbool.h>

#include "lib/err.h"

/* The daemon's end, non-blocking. Makes the FIFO when it is absent. */
bool fifo_open(int dir, const char *name, int *ret_fd, struct err *err);
/* Takes what is in it. Was there something? */
bool fifo_drain(int fd);
/* One byte; nobody there, full or not allowed is all the same: then whoever it
 * is for looks when it starts, was told already, or polls. */
void fifo_trigger(int dir, const char *name);

#endif
