/* A role: a part of the service that one process of a base holds at a time,
 * within `serve` or alone as `daemon NAME`.
 *
 * A role is one row, defined beside the capability it belongs to;
 * serve/tables.c lists the rows in the order of their turns. The locks
 * (ctrl/NAME.pid), the FIFOs (ctrl/NAME_fifo), the words of `pointsman daemon`
 * and its help come from the rows, and the process that holds some roles calls
 * them through the rows (serve/roles.h). */
#ifndef POINTSMAN_BASE_ROLE_H
#define POINTSMAN_BASE_ROLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/err.h"
#include "lib/text.h"
#include "lib/time.h"
#include "core/job.h"

struct base;
struct checker;
struct projection;
struct scheduler;
struct uv_loop_s;
struct worker;

/* Which children a role starts: what the guard of its process is for. */
enum role_children { ROLE_NO_CHILDREN, ROLE_CHECKS, ROLE_TASKS };

enum { ROLES_MOST = 16 }; /* in one process */

/* What the roles of one process share. */
struct role_host {
    struct base *base;
    struct uv_loop_s *loop;
    struct worker *worker;   /* NULL: none of the roles starts children */
    struct checker *checker; /* NULL together with the worker */
    struct projection *projection;
    struct scheduler *scheduler; /* set by its engine while it is open */
    uint64_t job_limit;          /* end after so many jobs; 0: none */
    bool once;                   /* one pass: what comes later needs no turn */
    void (*wake)(void *ctx);     /* asks for a turn soon */
    void *ctx;
    const struct role *roles[ROLES_MOST]; /* those of this process */
    size_t role_count;
};

struct role_turn {
    struct wall now;
    bool look; /* a trigger, a poll or the first turn: something may be new */
    bool is_stopping; /* nothing new is to be started */
};

/* The work of a role. Roles that share an engine share its one instance in a
 * process: `queue` and `exec` are two halves of the scheduler. All functions
 * are called from the loop; those marked may be NULL. */
struct role_engine {
    /* The process holds the locks of the roles already. After an error it is
     * closed if *ret_self is set. */
    bool (*open)(struct role_host *host, void **ret_self, struct err *err);
    /* The base has read its configuration again. May be NULL. */
    void (*reload)(void *self);
    /* Does what is due. *ret_next is WALL_NEVER, or set to the time that gives
     * it work again. False: the service cannot go on. */
    bool (*turn)(void *self, const struct role_turn *turn,
                 struct wall *ret_next, struct err *err);
    /* Nothing can change without time passing (doc/design/processes.md, P14).
     */
    bool (*is_idle)(const void *self);
    /* Starts nothing new; with `at_once` what runs is ended too and given back
     * to the queue. May be NULL. */
    void (*drain)(void *self, bool at_once);
    /* Nothing runs any more. NULL: nothing ever does. */
    bool (*is_drained)(const void *self);
    /* Adds lines for GET /metrics. May be NULL. */
    void (*metrics)(const void *self, struct text *out);
    /* Frees it and calls closed(ctx), at once or from the loop. */
    void (*close)(void *self, void (*closed)(void *ctx), void *ctx);
};

struct role {
    const char *name;
    const char *help; /* what it does: "accepts change sets" */
    const struct role_engine *engine;
    enum role_children children;
    unsigned states;     /* bits 1 << enum job_state: jobs that it takes on */
    bool reads_registry; /* triggered after a write to the registry */
    bool is_hosted;      /* `run` without a server holds it too */
};

/* The functions below take a table of rows that ends with NULL. */

/* NULL: there is none of this name. */
const struct role *role_find(const struct role *const *roles, const char *name);
/* The role that takes on jobs in this state; NULL: no role does. */
const struct role *role_of_state(const struct role *const *roles,
                                 enum job_state state);
/* Pulls the FIFOs of the roles that read the registry. */
void role_trigger_readers(const struct role *const *roles,
                          const struct base *base);
bool role_is_here(const struct role_host *host, const struct role *role);

#endif
