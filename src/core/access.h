/* Access control: each route of the API and each verb of the command line names
 * the lowest role that it needs, each caller has a role, and one function
 * decides. This module never looks up accounts or jobs itself. */
#ifndef POINTSMAN_CORE_ACCESS_H
#define POINTSMAN_CORE_ACCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/err.h"
#include "lib/text.h"

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
    const char *reserved; /* what only people may do, and no process of a job:
                           "approve change sets"; NULL: jobs may do it too */
};
/* clang-format off */
#define ACCESS_NEED_NOBODY    {ACCESS_NOBODY, ACCESS_NOBODY, NULL}
#define ACCESS_NEED_VIEWER    {ACCESS_VIEWER, ACCESS_VIEWER, NULL}
#define ACCESS_NEED_SUBMITTER {ACCESS_SUBMITTER, ACCESS_SUBMITTER, NULL}
#define ACCESS_NEED_OWN_JOB   {ACCESS_SUBMITTER, ACCESS_OPERATOR, NULL}
#define ACCESS_NEED_APPROVER  {ACCESS_SUBMITTER, ACCESS_SUBMITTER, "approve change sets"}
#define ACCESS_NEED_OPERATOR  {ACCESS_OPERATOR, ACCESS_OPERATOR, NULL}
#define ACCESS_NEED_SETTER    {ACCESS_ADMIN, ACCESS_ADMIN, "change settings"}
#define ACCESS_NEED_ADMIN     {ACCESS_ADMIN, ACCESS_ADMIN, NULL}
/* clang-format on */

/* A role given to an account, to the members of a group, to a person without an
 * account (see below) or to everybody. */
enum access_who {
    ACCESS_EVERYBODY,
    ACCESS_ACCOUNT,
    ACCESS_GROUP,
    ACCESS_PERSON
};
struct access_grant {
    enum access_role role;
    enum access_who who;
    uint32_t id;      /* of the account or group */
    struct span name; /* as configured: "alice", "@dev", "person:ann", "*" */
};

/* Who has which role in a base. The owner and root are admins.
 *
 * Several persons can share one account, the shell account: it belongs to
 * `pointsman shell`, whose command line in authorized_keys names the person.
 * That account alone may say for whom it acts, and has no role of its own. */
struct access_rules {
    uint32_t owner;
    bool has_shell;
    uint32_t shell; /* the shell account */
    const struct access_grant *grants;
    size_t grant_count;
};

/* Recorded as the account of what a person does. No account has this number, so
 * nothing can run under it and no file belongs to it. */
#define ACCESS_PERSON_UID (UINT32_MAX - 1)
enum { ACCESS_PERSON_BYTES = 64 };

/* Whether the process of the caller belongs to a job of this base. */
enum access_place {
    ACCESS_OUTSIDE,
    ACCESS_IN_JOB,
    ACCESS_UNCLEAR /* the process cannot be examined */
};

/* Why a process of a job may only read. */
enum access_limit {
    ACCESS_UNLIMITED,
    ACCESS_OTHER_ACCOUNT, /* it runs as another account than the submitter */
    ACCESS_RUNS_A_SET     /* it runs what a change set, and others before it,
                             brought along */
};

/* In a job, uid and person are those of its submitter. */
struct access_actor {
    uint32_t uid; /* ACCESS_PERSON_UID for a person */
    enum access_role role;
    bool is_known;      /* false: the caller came over TCP and is anonymous */
    struct span person; /* "ann"; empty: the account acts for itself */
    uint32_t account;   /* of the process */
    bool is_refused;    /* names a person without being allowed to, or is the
                           shell account and names none */
    enum access_place place;
    struct span job; /* id; empty: none, or it is not known which */
    enum access_limit limit;
};

/* The job that a process belongs to. */
struct access_job {
    struct span id;
    struct access_actor submitter;
    bool lands;     /* a change set: its checks, or its command */
    bool is_unsure; /* it may be another job, of another submitter */
};

/* Whose job it is. */
struct access_owner {
    uint32_t uid;
    struct span actor; /* as recorded: see access_actor_format */
};

/* An actor as recorded. False: it is neither an account nor a person. */
bool access_owner_parse(struct span actor, struct access_owner *ret_owner);
bool access_owner_is_same(const struct access_owner *one,
                          const struct access_owner *other);

const char *access_role_word(enum access_role role); /* "submitter" */

/* The highest role that is given to an account with these groups. The shell
 * account has none. */
enum access_role access_role_of(const struct access_rules *rules, uint32_t uid,
                                const uint32_t *groups, size_t group_count);
/* The actor for such an account. */
struct access_actor access_actor_make(const struct access_rules *rules,
                                      uint32_t uid, const uint32_t *groups,
                                      size_t group_count);
/* True for 1 to 64 letters, digits and the characters . _ - + @ */
bool access_person_is_valid(struct span person);
/* The highest role that is given to a person. */
enum access_role access_role_of_person(const struct access_rules *rules,
                                       struct span person);
/* The actor for an account that acts for `person`. */
struct access_actor access_actor_person(const struct access_rules *rules,
                                        uint32_t account, struct span person);
/* How an actor is recorded: "uid:1000", or "person:ann/uid:1005" for a person
 * who came under that account. */
void access_actor_format(const struct access_actor *actor, struct text *out);
/* The one who did it, without the account: "uid:1000", "person:ann". */
struct span access_actor_name(struct span actor);
/* "ann" of "person:ann/uid:1005" and of "person:ann"; empty: no person. */
struct span access_actor_person_of(struct span actor);

/* Makes the caller act for the job that its process belongs to: as the account
 * that submitted the job, with the lesser role of the two. It may only read if
 * the job is not known (`job` NULL), if it is a change set, or if the process
 * runs as another account than the submitter, except as one that has every
 * right anyway. */
void access_actor_in_job(const struct access_rules *rules,
                         struct access_actor *caller,
                         const struct access_job *job);
/* True if a role is given to a group: the groups of an account matter. */
bool access_needs_groups(const struct access_rules *rules);

/* True if this actor may do this to the job of `owner`. NULL: no particular
 * job, so the lower role of `need` suffices. Otherwise ERR_DENIED, which names
 * the missing role and who has it, or says that no job may do this. */
bool access_allows(const struct access_rules *rules,
                   const struct access_actor *actor, struct access_need need,
                   const struct access_owner *owner, struct err *err);

#endif
