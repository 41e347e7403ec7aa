/* Requests that submit commands: handlers named in routes.def. Each answers the
 * call, or sets `work` (api/api_call.h). */
#ifndef POINTSMAN_COMMANDS_COMMAND_REQUEST_H
#define POINTSMAN_COMMANDS_COMMAND_REQUEST_H

struct api_call;

/* The body is one submission; the reply is the new job (201), or the existing
 * one if the same submission was made before (200). */
void command_request_submit(struct api_call *call);
/* The body has one submission per line; the reply has one line for each. */
void command_request_batch(struct api_call *call);

#endif
