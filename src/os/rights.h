/* The capabilities of a process running as root, one thread at a time. */
#ifndef POINTSMAN_OS_RIGHTS_H
#define POINTSMAN_OS_RIGHTS_H

#include <stdbool.h>
#include <stdint.h>

#define RIGHTS_OF(capability) (UINT64_C(1) << (capability))

/* From now on this thread uses only the capabilities in `used` and can regain
 * only those in `spare`. The same holds for threads and children that it starts
 * later, until a child running as root calls exec. False with errno: nothing
 * was changed. */
bool rights_lower(uint64_t used, uint64_t spare);

/* Uses all capabilities that the thread can regain. */
bool rights_raise(void);

/* Reduces this thread's capabilities for good to those in `only`: permitted,
 * effective and bounding set, with an empty inheritable and ambient one; no
 * exec gives it new rights. (Without CAP_SETPCAP the bounding set stays;
 * without new rights it has no effect.) False with errno: nothing was changed.
 */
bool rights_keep(uint64_t only);

#endif
