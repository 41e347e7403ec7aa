#include "scheduler/scheduler_plan.h"

#include "scheduler/scheduler_state.h"

struct plan *scheduler_plan_add(struct scheduler *scheduler,
                                enum plan_kind kind) {
    if (scheduler->plan_count == scheduler->plan_cap) {
        scheduler->plan_cap =
            scheduler->plan_cap ? scheduler->plan_cap * 2 : 64;
        scheduler->plans = mem_grow(scheduler->plans, scheduler->plan_cap,
                                    sizeof(*scheduler->plans));
    }
    struct plan *plan = &scheduler->plans[scheduler->plan_count++];
    *plan = (struct plan){.kind = kind};
    return plan;
}
