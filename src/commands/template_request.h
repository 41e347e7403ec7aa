/* Requests about templates: handlers named in routes.def, which also says what
 * each does. Each answers the call (api/api_call.h). */
#ifndef POINTSMAN_COMMANDS_TEMPLATE_REQUEST_H
#define POINTSMAN_COMMANDS_TEMPLATE_REQUEST_H

struct api_call;

void template_request_list(struct api_call *call);
void template_request_show(struct api_call *call);

#endif
