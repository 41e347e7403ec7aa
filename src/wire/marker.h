/* The content of a marker in prequeue/ that the service, or root, made for
 * somebody else, whose account the marker does not show:
 *
 *     ##submitted
 *     format 1
 *     name C7_@4000..._4711_build3_BF
 *     by uid:1000                                                       */
#ifndef POINTSMAN_WIRE_MARKER_H
#define POINTSMAN_WIRE_MARKER_H

#include <stdbool.h>

#include "core/access.h"
#include "lib/text.h"
#include "wire/refusal.h"

/* `by.actor` is written for a person, otherwise the account. */
void marker_format(struct span name, const struct access_owner *by,
                   struct text *out);
/* True if it is such content, and not a job file (wire/job_file.h). */
bool marker_is_meant(struct span text);
/* False: it is not the content of the marker of this name. The result refers to
 * `text`; ret_by->actor is as recorded. */
bool marker_parse(struct span text, struct span name,
                  struct access_owner *ret_by, struct refusal *why);

#endif
