/* Strict INI: `[name]`, `[name "label"]`, `key = value`; comments (# or ;) only
 * on separate lines; LF or CRLF. A value is the rest of the line without
 * surrounding blanks; the caller interprets quotes. Errors are ERR_CONFIG:
 * "pointsman.conf:12: ...". */
#ifndef POINTSMAN_WIRE_INI_H
#define POINTSMAN_WIRE_INI_H

#include <stdbool.h>
#include <stddef.h>

#include "lib/arena.h"
#include "lib/err.h"
#include "lib/text.h"

enum { INI_BYTES = 1 << 20 }; /* largest file */

struct ini_item {
    struct span section;
    struct span label; /* p is NULL: none */
    struct span key;   /* empty: the section's own line */
    struct span value;
    unsigned line; /* from 1 */
};

struct ini {
    struct ini_item *items; /* in the order of the file */
    size_t count;
};

/* `file` is its name in errors. Results live in the arena. */
bool ini_parse(struct span text, const char *file, struct arena *arena,
               struct ini *ret_ini, struct err *err);

#endif
