/* libarchive ends a name at its first NUL without reporting it. These functions
 * search the raw blocks in front of a member (PAX and GNU long names) for names
 * that continue after a NUL. */
#ifndef POINTSMAN_WIRE_TAR_NAMES_H
#define POINTSMAN_WIRE_TAR_NAMES_H

#include <stdbool.h>

#include "lib/text.h"

/* `blocks`: the known blocks, beginning at the first header block of a member.
 * Extension headers are followed up to the member's own header. */
bool tar_names_hold_nul(struct span blocks);

#endif
