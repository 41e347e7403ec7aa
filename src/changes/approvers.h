/* Whether enough people of this machine can give the approvals that a policy
 * asks for. */
#ifndef POINTSMAN_CHANGES_APPROVERS_H
#define POINTSMAN_CHANGES_APPROVERS_H

#include "base/base.h"
#include "changes/policies.h"

/* False, ERR_CONFIG: a policy names who may approve, and fewer people than it
 * needs can: they lack a role of [access], are in no list of allowed signers,
 * or several of them are one person. Members of groups are not counted. The
 * policies are those of the configuration, in its order. */
bool approvers_check(const struct base *base, const struct policies *policies,
                     struct err *err);

#endif
