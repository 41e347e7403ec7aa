/* Requests that submit change sets. Handlers named in routes.def. */
#ifndef POINTSMAN_CHANGES_CHANGE_REQUEST_H
#define POINTSMAN_CHANGES_CHANGE_REQUEST_H

struct api_call;

void change_request_submit(struct api_call *call);

#endif
