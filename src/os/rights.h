/* The capabilities of a process of root, one thread at a time. */
#ifndef POINTSMAN_OS_RIGHTS_H
#define POINTSMAN_OS_RIGHTS_H

#include <stdbool.h>
#include <stdint.h>

#define RIGHTS_OF(capability) (UINT64_C(1) << (capability))

/* Of those this thread has, it uses only `used` from now on, and can come back
 * only to `spare`. Threads and children it starts later have no more either,
 * until a child of root calls exec. False with errno: nothing was changed. */
bool rights_lower(uint64_t used, uint64_t spare);

/* Uses all that it can come back to. */
bool rights_raise(void);

/* This thread has these of its capabilities from now on and never any other:
 * permitted, effective and bounding set, with an empty inheritable and ambient
 * one, and no exec gives it new rights. (Without CAP_SETPCAP the bounding set
 * stays; without new rights it means nothing.) False with errno: it has all it
 * had. */
bool rights_keep(uint64_t only);

#endif
