/* Libraries that most commands do without, loaded when they are first needed:
 * a command line starts in a millisecond, and so do guard and landings
 * (doc/design/threads.md, T10). */
#ifndef POINTSMAN_LIB_LIBRARY_H
#define POINTSMAN_LIB_LIBRARY_H

#include <stdbool.h>
#include <stddef.h>

#include "lib/err.h"

/* Loads `file` for good and finds `count` functions of it: the pointers go one
 * after the other to ret_calls, which is a struct of pointers to functions.
 * ERR_UNAVAILABLE: it is not there, or another one; names the package. */
bool library_load(const char *file, const char *package,
                  const char *const *names, size_t count, void *ret_calls,
                  struct err *err);

#endif
