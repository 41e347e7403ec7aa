/* Landlock: from here on this thread and its children can open only what the
 * rules name, use no TCP (version 4), and cannot reach outside processes by
 * signals and abstract sockets (version 6). */
#ifndef POINTSMAN_OS_LANDLOCK_H
#define POINTSMAN_OS_LANDLOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/err.h"

enum landlock_grant {
    LANDLOCK_READ,
    LANDLOCK_RUN,    /* read and execute */
    LANDLOCK_CHANGE, /* everything but execute and devices */
    LANDLOCK_ALL     /* everything but making devices */
};

struct landlock_rule {
    const char *path; /* and everything beneath it */
    enum landlock_grant grant;
};

/* Landlock's version; 0: not available. */
int landlock_abi(void);
/* Landlock must be available and no_new_privs must be set. */
bool landlock_enter(const struct landlock_rule *rules, size_t count,
                    struct err *err);

#endif
