/* Unpacks a change set for commands that need files: `meta` and lroot/ in a new
 * directory of ours. Names were checked with the set; still every file is
 * opened beneath that directory, without following symbolic links. */
#ifndef POINTSMAN_LANDING_SET_UNPACK_H
#define POINTSMAN_LANDING_SET_UNPACK_H

#include <stdbool.h>

#include "lib/err.h"
#include "lib/text.h"

/* ERR_REFUSED: the tarball differs from the one that was admitted. */
bool set_unpack(int tarball_fd, const char *dir, struct span sum, bool symlinks,
                struct err *err);

#endif
