/* Internal commands with which the program starts itself. */
#include "cli/commands.h"
#include "cli/call.h"
#include "os/confine.h"
#include "os/guard.h"
#include "changes/checker.h"
#include "changes/signature.h"

int cmd_guard(struct call *call) {
    return guard_main(call->argc, call->argv);
}

int cmd_confine(struct call *call) {
    return confine_main(call->argc, call->argv);
}

int cmd_check_set(struct call *call) {
    return checker_main(call->argc, call->argv);
}

int cmd_check_signature(struct call *call) {
    return signature_main(call->argc, call->argv);
}
