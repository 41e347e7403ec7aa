/* The request that tries the reverse merges of a rollback before there is one.
 * A handler named in routes.def. */
#ifndef POINTSMAN_CHANGES_ROLLBACK_TRIAL_H
#define POINTSMAN_CHANGES_ROLLBACK_TRIAL_H

struct api_call;

/* Replies with the verdict that the rollback named in the query would get from
 * its target: {"verdict", "reason", "text"} as in wire/land_verdict.h; verdict
 * null: nothing can be tried. Nothing is changed. */
void rollback_trial_request(struct api_call *call);

#endif
