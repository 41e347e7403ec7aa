/* Accounts of this machine: who a task may run as. Asks the name service, which
 * may take its time: never on the way of tasks that name nobody. */
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

/* By name, or by number. All in the arena. ERR_CONFIG: there is none of it. */
bool account_find(struct span name, struct arena *arena,
                  struct account *ret_account, struct err *err);
/* May this process start others as that account? It may always be itself.
 * ERR_DENIED, with the reason. */
bool account_may_be(const struct account *account, struct err *err);
/* It is the one we run as: nothing to change. */
bool account_is_ours(const struct account *account);

#endif
