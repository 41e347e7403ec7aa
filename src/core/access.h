/* Access control: each route of the API and each verb of the command line names
 * the lowest role that it needs, each caller has a role, and one function
 * decides. This module never looks up accounts or jobs itself. */
#ifndef POINTSMAN_CORE_ACCESS_H
#define POINTSMAN_CORE_ACCESS_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/err.h"

/* Each role includes those before it. */
enum access_role {
    ACCESS_NOBODY,    /* health and metrics; whatever needs no base */
    ACCESS_VIEWER,    /* may read */
    ACCESS_SUBMITTER, /* may submit; may cancel, hold and retry own jobs */
    ACCESS_OPERATOR,  /* may do so with any job; schedules, rollback
                         approvals */
    ACCESS_ADMIN,     /* configuration, settings, backup, fsck */
    ACCESS_ROLES
};

/* The roles that a route or a verb requires. `others` is the role required
 * for other people's jobs; it equals `role` if it does not matter whose job
 * it is. */
struct access_need {
    enum access_role role, others;
};
/* clang-format off */
#define ACCESS_NEED_NOBODY    {ACCESS_NOBODY, ACCESS_NOBODY}
#define ACCESS_NEED_VIEWER    {ACCESS_VIEWER, ACCESS_VIEWER}
#define ACCESS_NEED_SUBMITTER {ACCESS_SUBMITTER, ACCESS_SUBMITTER}
#define ACCESS_NEED_OWN_JOB   {ACCESS_SUBMITTER, ACCESS_OPERATOR}
#define ACCESS_NEED_OPERATOR  {ACCESS_OPERATOR, ACCESS_OPERATOR}
#define ACCESS_NEED_ADMIN     {ACCESS_ADMIN, ACCESS_ADMIN}
/* clang-format on */

/* Which accounts have which role in a base. */
struct access_rules {
    uint32_t owner;
    bool has_group; /* its members share the base (init --group) */
    uint32_t gid;
};

struct access_actor {
    uint32_t uid;
    enum access_role role;
    bool is_known; /* false: the caller came over TCP and is anonymous */
    /* True for a member of the group that shares the base: the role is
     * submitter, but nothing is refused. Configured roles will replace this. */
    bool shares;
};

const char *access_role_word(enum access_role role); /* "submitter" */

/* The actor for an account; `in_group`: the account is a member of rules->gid.
 * The owner and root are admins, members of the group are submitters. */
struct access_actor access_actor_make(const struct access_rules *rules,
                                      uint32_t uid, bool in_group);
/* True if the account has at least this role, regardless of its groups. */
bool access_has_role(const struct access_rules *rules, uint32_t uid,
                     enum access_role role);

/* True if this actor may do this to the job; an actor that `shares` may do
 * everything. `submitter` is the job's account; NULL: no particular job, so
 * the lower role of `need` suffices. Otherwise ERR_DENIED, which names the
 * missing role and who has it. */
bool access_allows(const struct access_rules *rules,
                   const struct access_actor *actor, struct access_need need,
                   const uint32_t *submitter, struct err *err);

#endif
