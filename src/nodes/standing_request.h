/* Requests about standing jobs: handlers named in routes.def, which also says
 * what each does. */
#ifndef POINTSMAN_NODES_STANDING_REQUEST_H
#define POINTSMAN_NODES_STANDING_REQUEST_H

struct api_call;

void standing_request_list(struct api_call *call);
void standing_request_show(struct api_call *call);
void standing_request_add(struct api_call *call);
void standing_request_set(struct api_call *call);
void standing_request_enable(struct api_call *call);
void standing_request_disable(struct api_call *call);
void standing_request_forgive(struct api_call *call);
void standing_request_delete(struct api_call *call);

#endif
