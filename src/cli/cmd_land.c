#include "cli/commands.h"
#include "cli/call.h"
#include "landing/land_start.h"

int cmd_land(struct call *call) {
    return land_main(LAND_SETS, call->argc > 1 ? call->argv[1] : NULL);
}

int cmd_revert(struct call *call) {
    (void)call;
    return land_main(LAND_REVERT, NULL);
}
