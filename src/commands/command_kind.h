/* The row for commands in the table of work kinds. */
#ifndef POINTSMAN_COMMANDS_COMMAND_KIND_H
#define POINTSMAN_COMMANDS_COMMAND_KIND_H

#include "scheduler/work_kind.h"

#define COMMAND_KIND JOB_COMMAND /* kind of a job that is a command */

extern const struct work_kind command_kind;

#endif
