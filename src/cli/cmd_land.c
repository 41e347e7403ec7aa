#include "cli/command.h"
#include "serve/land.h"

int cmd_land(struct call *call) {
    return land_main(call->argc, call->argv);
}
