/* What a branch's past can tell: whether a set is on it already, how it was
 * at a time, who changed a path. Commits of ours are known by their trailers;
 * the last CS-Id and CS-Sum of a message count, which are those we put there
 * whatever the submitter's text says. */
#ifndef POINTSMAN_SERVE_HISTORY_H
#define POINTSMAN_SERVE_HISTORY_H

#include <stdbool.h>

#include "base/err.h"
#include "base/text.h"
#include "base/time.h"
#include "serve/git.h"

/* The commit on `tip`'s history with these trailers, looked for as far back as
 * `admitted`; "" = there is none. Clocks of pushers may be wrong, so many
 * commits older than that must follow each other before the search ends. */
bool history_find_set(struct git *git, const char *tip, struct span csid,
                      struct span sum, struct wall admitted,
                      char ret_oid[OID_BYTES], struct err *err);

/* The commit `branch`, now at `tip`, was at `when`, as well as can be told. Its
 * reflog knows to the second where the branch was (we make one; git keeps it
 * up for pushes too). From there on, or from the tip where there is none, the
 * newest first-parent commit that is not later: one is later when its
 * committer's date is, when its object came into the repository later, or when
 * it stands on a later one. "" = the branch was empty then. */
bool history_tip_at(struct git *git, const char *branch, const char *tip,
                    struct wall when, char ret_oid[OID_BYTES], struct err *err);

/* Who changed `path` last between `from` ("" = the beginning) and `to`: the id
 * of a set, or "commit 0123456789ab by NAME". Nothing is appended when nobody
 * did. */
bool history_changer(struct git *git, const char *from, const char *to,
                     struct span path, struct text *out, struct err *err);

#endif
