/* Who may sign approvals, from the list of allowed signers (ssh-keygen(1),
 * "ALLOWED SIGNERS"). ssh-keygen alone decides which signature is valid; this
 * tells who else the holder of a key is, and whether the key may still sign. */
#ifndef POINTSMAN_CHANGES_SIGNERS_H
#define POINTSMAN_CHANGES_SIGNERS_H

#include "base/base.h"
#include "changes/policies.h"

/* Sets `keys` of the policies to the keys with their names, as "user:bob@host"
 * and the account or person that each seems to belong to (approvals_alias), and
 * what signers_allow needs; keys of certificate authorities are left out. Lives
 * in the arena. Without a list there are none. False: the list of allowed
 * signers cannot be read; ERR_TEMPORARY, ERR_DENIED, ERR_DATA (it has more than
 * 1 MiB). If only that of revoked keys cannot be read, or
 * is damaged, no_signature says so. */
bool signers_read(const struct base *base, struct arena *arena,
                  struct policies *policies, struct err *err);
/* True if the lists, as they are now, let the key of a signed approval sign
 * under its name: by itself, or by a certificate of its authority. */
bool signers_allow(const struct policies *policies,
                   const struct approval_given *given);
/* True if somebody could sign under this name ("user:bob@host"; empty: any)
 * with this key (empty: any), which any listed authority may have certified. */
bool signers_might_allow(const struct policies *policies, struct span name,
                         struct span key);
/* The key of the authority, "SHA256:...", if the armored signature was made
 * with a certificate; otherwise empty. "unknown", which no list allows: it
 * cannot be read. */
struct span signers_authority(struct span signature, struct arena *arena);
/* Changes if one of the lists does. */
uint64_t signers_version(const struct base *base);

#endif
