/* Accounts of this machine that a task may run as. Looking one up asks the name
 * service, which may be slow, so this is not called for tasks that name no
 * user. */
#ifndef POINTSMAN_OS_ACCOUNT_H
#define POINTSMAN_OS_ACCOUNT_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "lib/arena.h"
#include "lib/err.h"
#include "lib/text.h"

struct account {
    uid_t uid;
    gid_t gid;
    gid_t *groups; /* all of them, gid too */
    size_t group_count;
    const char *name, *home, *shell;
};

/* Finds an account by name or number; the result lives in the arena.
 * ERR_CONFIG: no such account. */
bool account_find(struct span name, struct arena *arena,
                  struct account *ret_account, struct err *err);
/* Finds a group by name or number. ERR_CONFIG: no such group. */
bool account_group_find(struct span name, gid_t *ret_gid, struct err *err);
/* True if it is the account's own group, or the account is a member. */
bool account_has_group(const struct account *account, gid_t gid);
/* True if this process may start others as any account: it is root's and has
 * the capabilities for that. */
bool account_can_switch(void);
/* True if this process may start others as that account, which it always may as
 * its own. Otherwise ERR_DENIED with the reason. */
bool account_may_be(const struct account *account, struct err *err);
/* True if this process already runs as that account. */
bool account_is_ours(const struct account *account);

#endif
