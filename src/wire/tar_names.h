/* libarchive ends a name at its first NUL and does not say so. This looks at
 * the raw blocks in front of a member (PAX and GNU long names) for names that
 * go on behind a NUL. */
#ifndef POINTSMAN_WIRE_TAR_NAMES_H
#define POINTSMAN_WIRE_TAR_NAMES_H

#include <stdbool.h>

#include "lib/text.h"

/* `blocks`: from the first header block of a member on, as far as they are
 * known. Extension headers are followed up to the member's own header. */
bool tar_names_hold_nul(struct span blocks);

#endif
