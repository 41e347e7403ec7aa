#include "core/rollback_step.h"

#include "core/reason.h"

/* True: the decision is not to go on. */
static bool is_over(const struct rollback_situation *situation,
                    struct retry_verdict *ret_verdict) {
    const struct rollback_decision *decision = situation->decision;
    if (situation->killer == RETRY_OPERATOR) {
        *ret_verdict =
            retry_verdict_make(STATE_TERMINATED, REASON_OPERATOR, SPAN(""));
        return true;
    }
    if (situation->killer != RETRY_NOBODY) {
        *ret_verdict =
            retry_verdict_make(STATE_PENDING, REASON_RETURNED, SPAN(""));
        return true;
    }
    if (decision->verdict == ROLLBACK_GO)
        return false;
    bool nothing = decision->verdict == ROLLBACK_NOTHING;
    /* If nothing is left because all waiting members were abandoned, the
     * rollback has done its work; it is not one without an effect. */
    bool worked = nothing && situation->has_members;
    *ret_verdict = retry_verdict_make(
        nothing ? STATE_DONE : STATE_FAILED,
        worked ? REASON_OK : rollback_verdict_reason(decision->verdict),
        decision->detail);
    return true;
}

enum rollback_step
rollback_step_next(const struct rollback_situation *situation,
                   struct retry_verdict *ret_verdict) {
    if (is_over(situation, ret_verdict))
        return ROLLBACK_STEP_END;
    if (situation->to_abandon > 0)
        return ROLLBACK_STEP_ABANDON;
    if (situation->decision->stops == 0)
        return ROLLBACK_STEP_REVERT;
    return situation->is_late ? ROLLBACK_STEP_GIVE_UP : ROLLBACK_STEP_STOP;
}
