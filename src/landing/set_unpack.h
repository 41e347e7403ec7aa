/* A change set as files, for commands that want it so: `meta` and lroot/ in a
 * fresh directory of ours. Names were checked with the set; still every one is
 * opened beneath that directory, through no symbolic link. */
#ifndef POINTSMAN_LANDING_SET_UNPACK_H
#define POINTSMAN_LANDING_SET_UNPACK_H

#include <stdbool.h>

#include "lib/err.h"
#include "lib/text.h"

/* ERR_REFUSED: the tarball is not what was admitted. */
bool set_unpack(int tarball_fd, const char *dir, struct span sum, bool symlinks,
                struct err *err);

#endif
