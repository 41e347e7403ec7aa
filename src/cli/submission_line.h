/* The options of run, submit and cron add as a submission: what the caller
 * gave, and where he stands (pointsman-tasks(7)). */
#ifndef POINTSMAN_CLI_SUBMISSION_LINE_H
#define POINTSMAN_CLI_SUBMISSION_LINE_H

#include "lib/err.h"
#include "lib/text.h"
#include "cli/call.h"
#include "wire/submission.h"

/* Everything in the call's arena. */
bool submission_of_call(struct call *call, struct submission *ret_submission,
                        struct err *err);
/* What a submission does not say itself is taken from here: directory, umask
 * and, unless it is clean, PATH HOME LANG TZ. */
bool submission_fill(struct submission *submission, struct arena *arena,
                     struct err *err);

#endif
