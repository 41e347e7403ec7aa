/* Names that git accepts for a branch: the rules of git-check-ref-format(1) for
 * refs/heads/NAME, and also no leading dash and at most 200 bytes. */
#ifndef POINTSMAN_WIRE_REF_NAME_H
#define POINTSMAN_WIRE_REF_NAME_H

#include <stdbool.h>

#include "lib/text.h"

enum { REF_NAME_BYTES = 200 };

/* `name` without refs/heads/. */
bool ref_name_is_valid(struct span name);

#endif
