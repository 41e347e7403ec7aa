/* Under which account work runs. The work of others never runs as the owner of
 * the base by accident: a command that an account submits and the checks of its
 * change sets run under that account, or the owner must have allowed that they
 * run under the account of the owner. Pure; accounts are looked up by
 * base/base_run_as.c. */
#ifndef POINTSMAN_CORE_RUN_AS_H
#define POINTSMAN_CORE_RUN_AS_H

#include <stdbool.h>
#include <stdint.h>

/* The facts of one decision. */
struct run_as_case {
    uint32_t owner;     /* of the base: the service runs as this account */
    bool can_switch;    /* the service may start processes of other accounts */
    uint32_t submitter; /* who submitted the command or the change set */
    bool is_admin;      /* the submitter has the role admin */
    bool allowed;       /* [access] commands-as-owner or checks-as-owner */
    bool names_user;    /* --user, or `user` of the target */
    uint32_t user;      /* that account */
};

enum run_as {
    RUN_AS_OWNER,
    RUN_AS_SUBMITTER,
    RUN_AS_USER,
    RUN_AS_DENIED,   /* the submitter may not name that user */
    RUN_AS_FORBIDDEN /* only the account of the owner is left */
};

/* True if the work of this account is that of the owner. */
bool run_as_is_own(uint32_t owner, uint32_t submitter);
/* A command, for which its submitter may name a user. */
enum run_as run_as_command(const struct run_as_case *run_as_case);
/* The checks or the command of a target, for which the owner may have named a
 * user. Never RUN_AS_DENIED. */
enum run_as run_as_target(const struct run_as_case *run_as_case);

#endif
