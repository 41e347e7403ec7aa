#include "api/api_call.h"
#include "api/api_handlers.h"

void api_workers(struct api_call *call) {
    static const char *const keys[] = {NULL};
    const struct api_roles *roles = call->api->options.roles;
    struct err err = {0};
    if (!api_query_check(call, keys))
        return;
    if (roles == NULL || roles->workers == NULL) {
        err_set(&err, ERR_UNAVAILABLE,
                "only a running server knows the workers; start `pointsman "
                "serve`");
        api_fail(call, &err);
        return;
    }
    roles->workers(roles->ctx, &call->out);
    api_reply(call, 200, api_lines);
    api_end(call);
}
