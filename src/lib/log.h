/* Messages of the roles to the operator: one line each, "sentence job=...
 * worker=...". lib, core and wire never log. Lines go to stderr; under a
 * journal (JOURNAL_STREAM set) they begin with a priority <N>, on a terminal
 * with the local time. Control bytes are escaped. */
#ifndef POINTSMAN_LIB_LOG_H
#define POINTSMAN_LIB_LOG_H

#include <stdbool.h>

#include "lib/attr.h"

enum log_level { LOG_ERROR = 3, LOG_WARNING = 4, LOG_INFO = 6, LOG_DEBUG = 7 };

/* Call once, before the first line. `role` (a literal) names the process;
 * messages less urgent than `least` are dropped. */
void log_init(const char *role, enum log_level least);
/* Writes one line. Safe in several threads. */
void log_write(enum log_level level, const char *format, ...) PRINTF_LIKE(2, 3);

#define log_error(...) log_write(LOG_ERROR, __VA_ARGS__)
#define log_warning(...) log_write(LOG_WARNING, __VA_ARGS__)
#define log_info(...) log_write(LOG_INFO, __VA_ARGS__)
#define log_debug(...) log_write(LOG_DEBUG, __VA_ARGS__)

#endif
