/* The plan of a rollback that a request asks about. */
#ifndef POINTSMAN_API_API_ROLLBACK_H
#define POINTSMAN_API_API_ROLLBACK_H

#include "api/api_call.h"
#include "scheduler/rollback_plan.h"

/* ?ids= (with commas) &closure= &limit= . False: the call has failed; otherwise
 * clear the plan. */
bool api_rollback_plan(struct api_call *call, struct rollback_plan *ret_plan);

#endif
