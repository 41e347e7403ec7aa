/* UTF-8 (RFC 3629). Nothing is allocated here; the cron library uses it too. */
#ifndef POINTSMAN_LIB_UTF8_H
#define POINTSMAN_LIB_UTF8_H

#include <stddef.h>

/* Length of the well-formed character at p; 0: there is none. */
size_t utf8_character(const char *p, const char *end);

#endif
