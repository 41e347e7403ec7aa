/* A schedule from the command line, on its way to a base. */
#ifndef POINTSMAN_CLI_CMD_SCHEDULE_H
#define POINTSMAN_CLI_CMD_SCHEDULE_H

#include "cli/client.h"
#include "cli/call.h"
#include "cli/submission_line.h"
#include "wire/schedule_spec.h"

/* Adds the schedule, as --replace and --since of the call request. */
bool cmd_schedule_send(struct call *call, struct client *client,
                       const char *name, const struct schedule_spec *spec,
                       struct err *err);

#endif
