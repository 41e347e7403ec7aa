#include "cli/command.h"
#include "serve/land.h"
#include "serve/revert.h"

int cmd_land(struct call *call) {
    return land_main(call->argc, call->argv);
}

int cmd_revert(struct call *call) {
    return revert_main(call->argc, call->argv);
}
