/* What a branch's past can tell: whether a set is on it already, how it was
 * at a time, who changed a path. Commits of ours are known by their trailers;
 * the last CS-Id and CS-Sum of a message count, which are those we put there
 * whatever the submitter's text says. */
#ifndef POINTSMAN_LANDING_HISTORY_H
#define POINTSMAN_LANDING_HISTORY_H

#include <stdbool.h>

#include "lib/err.h"
#include "lib/text.h"
#include "lib/time.h"
#include "landing/git.h"

/* A commit and what it says of sets. Spans last for the call. */
struct history_commit {
    char oid[OID_BYTES], tree[OID_BYTES];
    char parent[OID_BYTES]; /* the first; "" = none */
    struct wall committed;
    struct span author; /* name only */
    struct span subject;
    struct span csid, sum; /* of the set that made it; empty: not a set's */
    struct span trailers;  /* what stands behind CS-Id, each line indented by
                              four blanks; nobody but we can put words there */
};

/* The next line `NAME: VALUE` of commit->trailers; *rest begins as these. */
bool history_trailer(struct span *rest, const char *name,
                     struct span *ret_value);

/* The next line `Reverts-CS: ID` or `Restores-CS: ID` of them: by this commit
 * the set went out of effect, or came in again. A commit's lines are a stack,
 * each was turned by the one above; the first by the set that made the commit.
 */
bool history_effect(struct span *rest, bool *ret_in, struct span *ret_id);

/* Shows `visit` the commits of `tip`, newest first, until it answers false. */
typedef bool history_visit(void *ctx, const struct history_commit *commit);
bool history_walk(struct git *git, const char *tip, history_visit *visit,
                  void *ctx, struct err *err);

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

/* "C9" or "commit 0123456789ab by NAME". */
void history_who(const struct history_commit *commit, struct text *out);

/* Those who changed `path` between `from` and `to`, newest first. */
bool history_changers(struct git *git, const char *from, const char *to,
                      struct span path, history_visit *visit, void *ctx,
                      struct err *err);

/* Who changed `path` last between `from` ("" = the beginning) and `to`: the id
 * of a set, or "commit 0123456789ab by NAME". Nothing is appended when nobody
 * did. */
bool history_changer(struct git *git, const char *from, const char *to,
                     struct span path, struct text *out, struct err *err);

#endif
