#include "cli/command.h"
#include "landing/land.h"
#include "landing/revert.h"

int cmd_land(struct call *call) {
    return land_main(call->argc, call->argv);
}

int cmd_revert(struct call *call) {
    return revert_main(call->argc, call->argv);
}
