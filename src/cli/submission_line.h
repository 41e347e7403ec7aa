/* The options of run, submit and cron add as a submission, together with the
 * caller's directory (pointsman-tasks(7)). */
#ifndef POINTSMAN_CLI_SUBMISSION_LINE_H
#define POINTSMAN_CLI_SUBMISSION_LINE_H

#include "lib/err.h"
#include "lib/text.h"
#include "cli/call.h"
#include "wire/submission.h"

/* Everything is in the call's arena. */
bool submission_of_call(struct call *call, struct submission *ret_submission,
                        struct err *err);
/* Fills in what the submission does not set: directory, umask and, unless it
 * is clean, PATH HOME LANG TZ of this process. */
bool submission_fill(struct submission *submission, struct arena *arena,
                     struct err *err);

#endif
