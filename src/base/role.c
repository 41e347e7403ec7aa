#include "base/role.h"

#include <string.h>

#include "base/base.h"

const struct role *role_find(const struct role *const *roles,
                             const char *name) {
    for (; *roles; roles++)
        if (strcmp((*roles)->name, name) == 0)
            return *roles;
    return NULL;
}

const struct role *role_of_state(const struct role *const *roles,
                                 enum job_state state) {
    for (; *roles; roles++)
        if ((*roles)->states & (1u << state))
            return *roles;
    return NULL;
}

void role_trigger_readers(const struct role *const *roles,
                          const struct base *base) {
    for (; *roles; roles++)
        if ((*roles)->reads_registry)
            base_trigger(base, (*roles)->name);
}

bool role_is_here(const struct role_host *host, const struct role *role) {
    for (size_t i = 0; i < host->role_count; i++)
        if (host->roles[i] == role)
            return true;
    return false;
}
