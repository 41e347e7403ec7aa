/* Requests that submit change sets: handlers named in routes.def. */
#ifndef POINTSMAN_CHANGES_CHANGE_REQUEST_H
#define POINTSMAN_CHANGES_CHANGE_REQUEST_H

struct api_call;

/* The body is the tarball. Replies when the set is durable and checked. */
void change_request_submit(struct api_call *call);

#endif
