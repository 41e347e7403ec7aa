/* The request for the text that approves a set which has not been submitted
 * yet. A handler named in routes.def. */
#ifndef POINTSMAN_CHANGES_APPROVAL_DRAFT_H
#define POINTSMAN_CHANGES_APPROVAL_DRAFT_H

struct api_call;

/* Replies with the text that the signer named in the query has to sign. The
 * body is the tarball, which is checked and not kept. */
void approval_draft_request(struct api_call *call);

#endif
