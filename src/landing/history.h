/* Questions about the history of a branch: whether a set is on it already, its
 * state at a given time, who changed a path. Our commits are identified by
 * their trailers; only the last CS-Id and CS-Sum of a message count, since
 * those are the ones we added, whatever the submitter's text contains. */
#ifndef POINTSMAN_LANDING_HISTORY_H
#define POINTSMAN_LANDING_HISTORY_H

#include <stdbool.h>

#include "lib/arena.h"
#include "lib/err.h"
#include "lib/map.h"
#include "lib/text.h"
#include "lib/time.h"
#include "landing/git.h"

/* A commit and its trailers. Spans are valid only during the call. */
struct history_commit {
    char oid[OID_BYTES], tree[OID_BYTES];
    char parent[OID_BYTES];  /* the first parent; "" = none */
    char reverts[OID_BYTES]; /* the commit that its message says it reverts */
    struct wall committed;
    struct span author; /* name only */
    struct span subject;
    struct span csid, sum; /* of the set that made it; empty: not made by a set
                            */
    struct span trailers;  /* the text after CS-Id, each line indented by four
                              blanks; only we can have written it */
};

/* The next line `NAME: VALUE` of commit->trailers; *rest starts as these. */
bool history_trailer(struct span *rest, const char *name,
                     struct span *ret_value);

/* A commit put a set out of effect, or back in effect (`in`), with a line
 * `Reverts-CS: ID` or `Restores-CS: ID` and a line `Reverts-CS-Sum: SUM` or
 * `Restores-CS-Sum: SUM` below it. */
struct history_effect {
    bool in;
    struct span id;
    struct span sum; /* empty in commits of earlier versions: all sets of this
                        id that are older than the commit */
};

/* The next effect in the trailers; *rest starts as these. A commit's effects
 * form a stack: each set was affected by the one above it, the first by the set
 * that made the commit. */
bool history_effect_next(struct span *rest, struct history_effect *ret_effect);
/* Appends its lines. */
void history_effect_add(const struct history_effect *effect, struct text *out);
/* True if the effect is one on this set. */
bool history_effect_is_on(const struct history_effect *effect, struct span id,
                          struct span sum);

/* The set of a commit has done what another set did (landing/merge_shared.h).
 */
struct history_shared {
    struct span path; /* all that the other did to it; empty: some of what it
                         did, nobody knows where */
    struct span id;
    struct span sum; /* empty in commits of earlier versions: any set of this
                        id */
};

/* The next one in the trailers; *rest starts as these. */
bool history_shared_next(struct span *rest, struct history_shared *ret_shared);
/* Appends its lines. */
void history_shared_add(const struct history_shared *shared, struct text *out);
/* True if it names this set. */
bool history_shared_is_with(const struct history_shared *shared, struct span id,
                            struct span sum);

/* Calls `visit` for the commits of `tip`, newest first, until it returns false.
 */
typedef bool history_visit(void *ctx, const struct history_commit *commit);
bool history_walk(struct git *git, const char *tip, history_visit *visit,
                  void *ctx, struct err *err);

/* The same for the first parents only: what the branch itself went through. */
bool history_walk_first_parent(struct git *git, const char *tip,
                               history_visit *visit, void *ctx,
                               struct err *err);

/* Instead of the admission of a set: look through the whole history. */
#define HISTORY_ALL ((struct wall){0})

/* A set whose commit is looked for. */
struct history_search {
    struct span csid, sum;
    struct wall admitted; /* or HISTORY_ALL */
    char oid[OID_BYTES];  /* the result; "" = none */
};

/* All sets in the whole history of `tip`, as hashes of their ids and sums: what
 * is not among them is not there. A commit's history never changes, so this
 * outlives what else is known. Zero: nothing. */
struct history_marks {
    char tip[OID_BYTES]; /* "" = none */
    uint64_t *p;         /* ascending */
    size_t count, room;
};

void history_marks_clear(struct history_marks *marks);

/* What a search has shown of the history of `tip`. Zero: nothing. */
struct history_known {
    char tip[OID_BYTES]; /* "" = the search was not complete */
    int64_t since_s;     /* it went back as far as this asks for */
    struct map commits;  /* the names that it saw */
    struct map sets;     /* "ID SUM" -> the name of the set's newest commit */
    struct arena arena;
    struct history_marks *marks; /* not its own; NULL: none */
};

void history_known_clear(struct history_known *known);
/* The set's `commit` was added on top of `parent`, which is known->tip if there
 * is one, and replaces it. */
void history_known_add(struct history_known *known, const char *parent,
                       const char *commit, struct span csid, struct span sum);

/* Starts git for history_find_sets, before the tip of the branch is known. */
bool history_begin(struct git *git, const char *branch,
                   struct git_pipe *ret_begun, struct err *err);
/* Finds the commits in `tip`'s history with these trailers, searching as far
 * back as the oldest `admitted`. Clocks of other committers may be wrong, so
 * the search ends only after many consecutive commits older than that. Even so,
 * commits with old dates may hide one: whoever says that a set is not there,
 * and not only that it is probably new, asks for HISTORY_ALL.
 * `known` (may be NULL) answers without git if it can; otherwise it becomes
 * what this search has shown, unless `keep`, and so do its marks after a search
 * of the whole history, which a long one would otherwise cost each time.
 * `begun` (may be NULL) is closed. */
bool history_find_sets(struct git *git, struct git_pipe *begun, const char *tip,
                       struct history_search *searches, size_t count,
                       struct history_known *known, bool keep, struct err *err);
/* The same for one set. */
bool history_find_set(struct git *git, const char *tip, struct span csid,
                      struct span sum, struct wall admitted,
                      char ret_oid[OID_BYTES], struct err *err);

/* The commit that `branch`, now at `tip`, was at `when`, as far as it can be
 * known. The reflog knows to the second where the branch was (we enable it; git
 * records pushes too). Starting there, or at the tip without a reflog, the
 * result is the newest first-parent commit that is not later than `when`. A
 * commit is later if its committer date is, if its object was added to the
 * repository later, or if it is based on a later commit. "" = the branch was
 * empty then. */
bool history_tip_at(struct git *git, const char *branch, const char *tip,
                    struct wall when, char ret_oid[OID_BYTES], struct err *err);

/* True if `commit` is `tip` or an ancestor of it; it may be missing in the
 * repository. If a commit in between cannot be read, that is an error. */
bool history_contains(struct git *git, const char *tip, const char *commit,
                      bool *ret_contains, struct err *err);

/* "C9" or "commit 0123456789ab by NAME". */
void history_who(const struct history_commit *commit, struct text *out);

/* The authors of changes to `path` between `from` and `to`, newest first. */
bool history_changers(struct git *git, const char *from, const char *to,
                      struct span path, history_visit *visit, void *ctx,
                      struct err *err);

/* The last author of a change to `path` between `from` ("" = the beginning) and
 * `to`: the id of a set, or "commit 0123456789ab by NAME". If the path was not
 * changed, nothing is appended. */
bool history_changer(struct git *git, const char *from, const char *to,
                     struct span path, struct text *out, struct err *err);

#endif
