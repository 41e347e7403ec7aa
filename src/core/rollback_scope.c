#include "core/rollback_scope.h"

enum job_state rollback_scope_covers(const struct rollback_scope *scope,
                                     uint64_t num) {
    for (size_t i = 0; scope->num != 0 && i < scope->count; i++)
        if (scope->entries[i].num == num)
            return scope->entries[i].was;
    return STATE_NONE;
}

enum job_state rollback_return_state(enum job_state was) {
    bool waited = was < JOB_STATES && (STATES_WAITING & STATE_BIT(was)) != 0;
    return waited ? was : STATE_PENDING;
}

enum job_state rollback_scope_stands_as(const struct rollback_scope *scope,
                                        uint64_t num, enum job_state state) {
    return rollback_return_state(
        state == STATE_ABANDONED ? rollback_scope_covers(scope, num) : state);
}
