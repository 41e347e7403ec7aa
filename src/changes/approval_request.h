/* Requests that approve change sets and show the text to be signed. Handlers
 * named in routes.def. */
#ifndef POINTSMAN_CHANGES_APPROVAL_REQUEST_H
#define POINTSMAN_CHANGES_APPROVAL_REQUEST_H

#include <stdbool.h>

struct api_call;
struct job;
struct why;

/* Approves as the caller, or with the signed text in the body. */
void approval_request_approve(struct api_call *call);
/* Replies with the text that the signer named in the query has to sign. */
void approval_request_show(struct api_call *call);
/* Takes the signed approval of a set that may be submitted later. */
void approval_request_give(struct api_call *call);
/* For `why`: explains the approval that the set waits for or still owes. False:
 * the call has failed. */
bool approval_request_explain(struct api_call *call, const struct job *job,
                              bool waits, struct why *why);

#endif
