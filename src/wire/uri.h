/* Path and query of a request: "/api/v1/jobs/C7/logs?tail=10&follow=1". The
 * parts stay percent-encoded until they are requested. */
#ifndef POINTSMAN_WIRE_URI_H
#define POINTSMAN_WIRE_URI_H

#include <stdbool.h>

#include "lib/arena.h"
#include "lib/err.h"
#include "lib/text.h"

struct uri {
    struct span path, query; /* as sent */
};

struct uri uri_split(struct span text);
/* Decodes %XX, and with `plus` + as a blank. False: an invalid %, a NUL or
 * invalid UTF-8. The result lives in the arena. */
bool uri_decode(struct span text, bool plus, struct arena *arena,
                struct span *ret_text);
/* Returns the next key=value, decoded: *rest is the query at first. False at
 * the end, or if the query is invalid (*ret_ok says which). */
bool uri_next(struct span *rest, struct arena *arena, struct span *ret_key,
              struct span *ret_value, bool *ret_ok);
/* Appends `word` encoded for use in a path or a value. */
void uri_encode(struct span word, struct text *out);

#endif
