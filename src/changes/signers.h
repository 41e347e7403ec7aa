/* The names under which each key may sign, from the list of allowed signers
 * (ssh-keygen(1), "ALLOWED SIGNERS"). ssh-keygen alone decides which signature
 * is valid; this tells who else the holder of a key is. */
#ifndef POINTSMAN_CHANGES_SIGNERS_H
#define POINTSMAN_CHANGES_SIGNERS_H

#include "base/base.h"
#include "core/approval.h"

/* Sets *ret_keys to the keys with their names, as "user:bob@host" and the
 * account or person that each seems to belong to (approvals_alias); keys of
 * certificate authorities are left out. Lives in the arena. Without a list
 * there are none. False: the list cannot be read; ERR_TEMPORARY, ERR_DENIED,
 * ERR_DATA (it has more than 1 MiB). */
bool signers_read(const struct base *base, struct arena *arena,
                  struct approval_person **ret_keys, size_t *ret_count,
                  struct err *err);

#endif
