#include "serve/limbo.h"

bool limbo_look(struct store *store, const struct job *job, struct arena *arena,
                bool *ret_ended, struct job *ret_rollback, struct err *err) {
    struct job rb = {0};
    bool found = false;
    *ret_ended = job_state_is_final(job->state);
    if (ret_rollback)
        *ret_rollback = (struct job){0};
    if (job->state != STATE_ABANDONED)
        return true;
    /* Whoever is put into A has the rollback as the detail of that step. */
    if (!store_lookup(store, job->detail, arena, &rb, &found, err))
        return false;
    if (!found || rb.job_class != CLASS_RB || rb.state != STATE_EXECUTING)
        return true;
    *ret_ended = false;
    if (ret_rollback)
        *ret_rollback = rb;
    return true;
}
