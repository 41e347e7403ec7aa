/* The pretend registry of the naive model, and the code that drives the
 * order by its events, like a scheduler: starts, steps, holds, sets that
 * land together (##group), restarts. */
#ifndef POINTSMAN_TESTS_SIM_ORDER_REGISTRY_H
#define POINTSMAN_TESTS_SIM_ORDER_REGISTRY_H

#include "core/groups.h"
#include "sim/order_model.h"

struct registry {
    struct order *order;
    struct groups *groups;
    struct wall now;
    uint64_t seq; /* of the last event */
};

extern struct registry registry;

void registry_open(struct wall now); /* empty; before it, one is closed */
void registry_close(void);
/* Row i is new in it, or known from before a restart. */
void registry_admit(unsigned i, bool at_start);
void registry_step(unsigned i, enum job_state to);
void registry_hold(unsigned i, unsigned holds);
/* Tells what the order asks for. */
void registry_answer(void);
/* A change of row i must be passed on to its dependents. */
void registry_tell(unsigned i);
/* The process died; another one loads what lives. */
void registry_restart(void);

/* The entry of the order that row i stands under; MAX: none. */
unsigned registry_entry(unsigned i);
/* The sets of a landing that begins with i, in order; 0: not now. */
mask registry_landing(unsigned i, unsigned *ret_order, size_t *ret_count);

#endif
