/* Who may do what: each route of the API and each verb of the command line
 * names the least role that it needs, each caller has a role, and one function
 * decides. Nothing here looks at accounts or jobs by itself. */
#ifndef POINTSMAN_CORE_ACCESS_H
#define POINTSMAN_CORE_ACCESS_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/err.h"

/* Each role includes those before it. */
enum access_role {
    ACCESS_NOBODY,    /* health and metrics; what needs no base */
    ACCESS_VIEWER,    /* reads */
    ACCESS_SUBMITTER, /* submits; cancels, holds and retries his own jobs */
    ACCESS_OPERATOR,  /* does that to any job; schedules, approves rollbacks */
    ACCESS_ADMIN,     /* configuration, settings, backup, fsck */
    ACCESS_ROLES
};

/* What a route or a verb needs. The second role counts for the jobs of others;
 * it is the same as the first where it makes no difference whose job it is. */
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

/* Who has a role in a base. */
struct access_rules {
    uint32_t owner;
    bool has_group; /* its members share the base (init --group) */
    uint32_t gid;
};

struct access_actor {
    uint32_t uid;
    enum access_role role;
    bool is_known; /* false: over TCP, nobody in particular */
    /* A member of the group that shares the base: is refused nothing, although
     * the role is submitter. Roles of a configuration will replace this. */
    bool shares;
};

const char *access_role_word(enum access_role role); /* "submitter" */

/* The caller of that account; `in_group`: a member of rules->gid. The owner and
 * root are admin, members of the group are submitters. */
struct access_actor access_actor_make(const struct access_rules *rules,
                                      uint32_t uid, bool in_group);
/* Has that account at least the role, whatever its groups are? */
bool access_has_role(const struct access_rules *rules, uint32_t uid,
                     enum access_role role);

/* May this actor do that to this job? `submitter` is the job's account; NULL:
 * no particular job, so that the lesser role of `need` is enough. Else
 * ERR_DENIED with the role that is missing and who has it. */
bool access_allows(const struct access_rules *rules,
                   const struct access_actor *actor, struct access_need need,
                   const uint32_t *submitter, struct err *err);

#endif
