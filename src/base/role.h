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
struct scheduler_running; /* scheduler/scheduler.h */
struct subprocesses;      /* base/subprocess.h */
struct uv_loop_s;
struct worker;

/* Which children a role starts, and so what the guard of its process is for. */
enum role_children { ROLE_NO_CHILDREN, ROLE_CHECKS, ROLE_SCRIPTS, ROLE_TASKS };

enum { ROLES_MOST = 16 }; /* in one process, at most */

/* State shared by the roles of one process. */
struct role_host {
    struct base *base;
    struct uv_loop_s *loop;
    struct worker *worker;   /* NULL: none of the roles starts children */
    struct checker *checker; /* NULL together with the worker */
    struct subprocesses *subprocesses; /* likewise; the checker's */
    struct projection *projection;
    struct scheduler *scheduler; /* set by its engine while it is open */
    bool awaits_rollback; /* one lies in prequeue/, and nothing starts before
                             it is admitted or rejected */
    /* What the program before left running in this process; NULL: it was none
     * that left anything. */
    const struct scheduler_running *adopted;
    size_t adopted_count;
    uint64_t job_limit; /* end after this many jobs; 0: never */
    bool once;          /* make one pass; later times need no turn */
    /* In a `run` without a server: does a `run` wait for this job? Only such
     * jobs, and what they wait for, are started. NULL: all are. */
    bool (*hosts)(void *ctx, struct span id);
    void *hosts_ctx;
    void (*wake)(void *ctx); /* asks for a turn soon */
    void *ctx;
    const struct role *roles[ROLES_MOST]; /* those of this process */
    size_t role_count;
};

struct role_turn {
    struct wall now;
    bool look; /* a trigger, a poll or the first turn: there may be news */
    bool is_stopping; /* start nothing new */
};

/* The stages of a stop. */
enum role_drain {
    ROLE_DRAIN,  /* starts nothing new */
    ROLE_RETURN, /* and asks what runs to end; its jobs are requeued */
    ROLE_KILL    /* and kills it */
};

/* The work of a role. Roles that share an engine share a single instance of it
 * in a process: `queue` and `exec` are two halves of the scheduler. All
 * functions are called from the loop; those marked may be NULL. */
struct role_engine {
    /* The process already holds the locks of the roles. After an error the
     * instance is closed if *ret_self is set. */
    bool (*open)(struct role_host *host, void **ret_self, struct err *err);
    /* Called after the base has read its configuration again. May be NULL. */
    void (*reload)(void *self);
    /* The clock was set back by so many milliseconds and shows `now`: times
     * that were planned move with it. Called before the events of a turn reach
     * the instance, because their times are those of the new clock. May be
     * NULL. */
    void (*set_back)(void *self, struct wall now, int64_t ms);
    /* Does the work that is due. *ret_next is WALL_NEVER, or set to the time at
     * which there is more. False: the service cannot go on. */
    bool (*turn)(void *self, const struct role_turn *turn,
                 struct wall *ret_next, struct err *err);
    /* True if nothing can change without time passing (doc/design/processes.md,
     * P14). */
    bool (*is_idle)(const void *self);
    /* Ends the work of the role as far as `how` says. May be NULL. */
    void (*drain)(void *self, enum role_drain how);
    /* Before a short drain for another program: starts no more of what that one
     * could not go on with. NULL: there is no such work. */
    void (*settle)(void *self);
    /* True if none of it is left. May be NULL. */
    bool (*has_settled)(const void *self);
    /* Ends a drain and `settle`: work is started again. NULL: it cannot be
     * drained only for a while. */
    void (*proceed)(void *self);
    /* True if the instance can be closed without ending what another program in
     * this process could not go on with. NULL: always. */
    bool (*may_leave)(const void *self);
    /* True if nothing runs any more. NULL: this role never runs anything. */
    bool (*is_drained)(const void *self);
    /* Adds lines for GET /metrics. May be NULL. */
    void (*metrics)(const void *self, struct text *out);
    /* Frees the instance and calls closed(ctx), at once or from the loop. */
    void (*close)(void *self, void (*closed)(void *ctx), void *ctx);
};

struct role {
    const char *name;
    const char *help; /* what it does: "accepts change sets" */
    const struct role_engine *engine;
    enum role_children children;
    unsigned states; /* bits 1 << enum job_state: states whose jobs it handles
                      */
    bool reads_registry; /* triggered after a write to the registry */
    bool is_hosted;      /* `run` holds it too if there is no server */
};

/* The functions below take a table of rows that ends with NULL. */

/* NULL: there is no role of this name. */
const struct role *role_find(const struct role *const *roles, const char *name);
/* The role that handles jobs in this state; NULL: there is none. */
const struct role *role_of_state(const struct role *const *roles,
                                 enum job_state state);
/* Triggers the FIFOs of the roles that read the registry. */
void role_trigger_readers(const struct role *const *roles,
                          const struct base *base);
bool role_is_here(const struct role_host *host, const struct role *role);

#endif
