/* The policies and persons of the configuration in the form that
 * core/approval.h judges: accounts and groups are looked up on this machine. */
#ifndef POINTSMAN_CHANGES_POLICIES_H
#define POINTSMAN_CHANGES_POLICIES_H

#include "base/base.h"
#include "core/approval.h"

struct policies {
    struct approval_policy *items; /* has room for one more than `count` */
    size_t count;
    struct approval_person *persons;
    size_t person_count;
    struct approval_person *keys; /* changes/signers.h */
    size_t key_count;
    struct span signers;  /* the list itself */
    struct span *revoked; /* keys, "SHA256:..." */
    size_t revoked_count;
    const char *no_signature;    /* why no signature counts; NULL: they do */
    struct policy_group *groups; /* those that roles name */
    size_t group_count;
    /* Why no approval counts: it is unknown who is one person. NULL: none. */
    const char *fault;
};

/* Lives in the arena. */
void policies_read(const struct base *base, struct arena *arena,
                   struct policies *ret_policies);
/* False: an account or a group does not exist, one account belongs to two
 * persons, or a policy can never be met (ERR_CONFIG, "FILE:LINE: ..."); or the
 * list of allowed signers cannot be read. */
bool policies_check(const struct base *base, struct err *err);
/* Sets the groups of the account that gave the approval. */
void policies_set_groups(const struct policies *policies,
                         struct approval_given *given, struct arena *arena);

#endif
