/* Requests about schedules: handlers named in routes.def, which also says what
 * each does. Each answers the call, or sets `work` (api/api_call.h). */
#ifndef POINTSMAN_SCHEDULES_SCHEDULE_REQUEST_H
#define POINTSMAN_SCHEDULES_SCHEDULE_REQUEST_H

struct api_call;

void schedule_request_list(struct api_call *call);
void schedule_request_run(struct api_call *call);
void schedule_request_pause(struct api_call *call);
void schedule_request_resume(struct api_call *call);
void schedule_request_remove(struct api_call *call);

#endif
