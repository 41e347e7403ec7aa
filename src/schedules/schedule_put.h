/* Requests that add, replace or remove schedules: handlers named in routes.def.
 * Each answers the call (api/api_call.h). */
#ifndef POINTSMAN_SCHEDULES_SCHEDULE_PUT_H
#define POINTSMAN_SCHEDULES_SCHEDULE_PUT_H

struct api_call;

void schedule_put_one(struct api_call *call);
/* Lines of {"name": ..., "schedule": {...}} or {"name": ..., "remove": true}.
 */
void schedule_put_many(struct api_call *call);

#endif
