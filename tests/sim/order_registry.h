/* The simulated registry of the naive model. It drives the order by its events,
 * as a scheduler does: admissions, steps, holds, groups and restarts. */
#ifndef POINTSMAN_TESTS_SIM_ORDER_REGISTRY_H
#define POINTSMAN_TESTS_SIM_ORDER_REGISTRY_H

#include "core/groups.h"
#include "sim/order_model.h"

struct registry {
    struct order *order;
    struct groups *groups;
    struct wall now;
    uint64_t seq; /* the number of the last event */
};

extern struct registry registry;

void registry_open(struct wall now); /* must be closed; is empty */
void registry_close(void);
/* Row i is new, or was known before a restart. */
void registry_admit(unsigned i, bool at_start);
void registry_step(unsigned i, enum job_state to);
void registry_hold(unsigned i, unsigned holds);
/* The proposals of a scan were committed or lost. */
void registry_settle(void);
/* Answers the questions of the order. */
void registry_answer(void);
/* Reports a change of row i to the order. */
void registry_report(unsigned i);
/* The process died; a new one loads the live jobs. */
void registry_restart(void);

/* The entry of row i in the order, or MAX. */
unsigned registry_entry(unsigned i);
/* The sets that land with i, in order; 0 if they cannot land now. */
mask registry_landing(unsigned i, unsigned *ret_order, size_t *ret_count);

#endif
