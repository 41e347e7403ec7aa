/* Libraries that most commands do not need are loaded on first use, so that
 * commands, guard and landings start in a millisecond (doc/design/threads.md,
 * T10). */
#ifndef POINTSMAN_LIB_LIBRARY_H
#define POINTSMAN_LIB_LIBRARY_H

#include <stdbool.h>
#include <stddef.h>

#include "lib/err.h"

/* Loads `file` permanently and finds `count` of its functions: the pointers are
 * stored one after the other in ret_calls, a struct of pointers to functions.
 * ERR_UNAVAILABLE: the library is missing or has a different version; names the
 * package. */
bool library_load(const char *file, const char *package,
                  const char *const *names, size_t count, void *ret_calls,
                  struct err *err);

#endif
