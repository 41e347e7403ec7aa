#include "core/run_as.h"

bool run_as_is_own(uint32_t owner, uint32_t submitter) {
    return submitter == owner || submitter == 0;
}

static enum run_as without_user(const struct run_as_case *it) {
    if (run_as_is_own(it->owner, it->submitter))
        return RUN_AS_OWNER;
    if (it->can_switch)
        return RUN_AS_SUBMITTER;
    return it->allowed ? RUN_AS_OWNER : RUN_AS_FORBIDDEN;
}

/* An admin can become the owner anyway. Nobody else may name another account,
 * even if commands run as the owner: this may be root. */
enum run_as run_as_command(const struct run_as_case *it) {
    if (!it->names_user)
        return without_user(it);
    return run_as_is_own(it->owner, it->submitter) || it->is_admin ||
                   it->user == it->submitter
               ? RUN_AS_USER
               : RUN_AS_DENIED;
}

/* A target that names the owner says no more than one that names nobody, except
 * that nothing else is tried. */
enum run_as run_as_target(const struct run_as_case *it) {
    if (!it->names_user)
        return without_user(it);
    if (it->user != it->owner)
        return RUN_AS_USER;
    return run_as_is_own(it->owner, it->submitter) || it->allowed
               ? RUN_AS_OWNER
               : RUN_AS_FORBIDDEN;
}
