#include "commands/command_kind.h"

#include "commands/command_start.h"

const struct work_kind command_kind = {
    .kind = COMMAND_KIND,
    .make_start = command_start_make,
};
