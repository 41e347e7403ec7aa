/* Path and query of a request: "/api/v1/jobs/C7/logs?tail=10&follow=1". The
 * parts stay percent-encoded until asked for. */
#ifndef POINTSMAN_WIRE_URI_H
#define POINTSMAN_WIRE_URI_H

#include <stdbool.h>

#include "lib/arena.h"
#include "lib/err.h"
#include "lib/text.h"

struct uri {
    struct span path, query; /* as they were sent */
};

struct uri uri_split(struct span text);
/* %XX becomes its byte, with `plus` + a blank. False: a broken %, a NUL or
 * invalid UTF-8. In the arena. */
bool uri_decode(struct span text, bool plus, struct arena *arena,
                struct span *ret_text);
/* One key=value after the other, decoded: *rest is the query at first. False
 * at the end, or when something is broken (*ret_ok says). */
bool uri_next(struct span *rest, struct arena *arena, struct span *ret_key,
              struct span *ret_value, bool *ret_ok);
/* Appends `word` so that it can stand in a path or a value. */
void uri_encode(struct span word, struct text *out);

#endif
