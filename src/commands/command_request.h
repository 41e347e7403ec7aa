/* Requests that submit commands. Handlers named in routes.def. */
#ifndef POINTSMAN_COMMANDS_COMMAND_REQUEST_H
#define POINTSMAN_COMMANDS_COMMAND_REQUEST_H

struct api_call;

void command_request_submit(struct api_call *call);
void command_request_batch(struct api_call *call);

#endif
