/* The schedule driver in a loop: the times it is given are those of this
 * machine, and a timer of the clock people set gives it a turn when something
 * is due, or when somebody sets that clock. */
#ifndef POINTSMAN_SERVE_CLOCK_ROLE_H
#define POINTSMAN_SERVE_CLOCK_ROLE_H

#include <uv.h>

#include "base/base.h"

struct clock_role;

/* The caller holds the role "clock". Brings the schedules of the configuration
 * into the registry (ERR_CONFIG for one that is wrong), then loads all. `wake`
 * is called from the loop when a turn is due. */
bool clock_role_open(uv_loop_t *loop, struct base *base,
                     void (*wake)(void *ctx), void *ctx,
                     struct clock_role **ret_role, struct err *err);
/* The configuration was read anew. One that is wrong is told in the log; then
 * all schedules stay as they were. */
void clock_role_reload(struct clock_role *role, struct wall now);
/* Does what is due. `once`: what comes later gives no turn. */
void clock_role_turn(struct clock_role *role, struct wall now, bool once);
bool clock_role_idle(const struct clock_role *role); /* schedule_driver_idle */
void clock_role_drain(struct clock_role *role);      /* schedule_driver_drain */
/* Frees it and calls closed(ctx) from the loop. */
void clock_role_close(struct clock_role *role, void (*closed)(void *ctx),
                      void *ctx);

#endif
