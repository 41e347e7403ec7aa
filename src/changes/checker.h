/* Examines a tarball in a child that can do nothing else: no files, no network,
 * little memory, a minute of CPU (C4). Whatever the child does, including a
 * crash or a hang, is a verdict. */
#ifndef POINTSMAN_CHANGES_CHECKER_H
#define POINTSMAN_CHANGES_CHECKER_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/arena.h"
#include "lib/err.h"
#include "os/guard.h"
#include "base/base.h"
#include "wire/set_tar.h"

/* The child: `pointsman check-set`, a tarball on stdin, the verdict
 * (wire/set_check.h) on stdout. Returns the exit status. */
int checker_main(int argc, char **argv);

struct api_call;
struct checker;
struct subprocesses; /* base/subprocess.h */

/* `guard` NULL: children are started by posix_spawn and waited for; `done` is
 * then called before checker_check returns. `executable` NULL: this program. */
struct checker *checker_new(struct base *base, struct guard *guard,
                            const char *executable);
/* `lent`, or if that is NULL a new one without a guard, which *ret_own gets and
 * the caller frees. */
struct checker *checker_lent_or_own(struct base *base, struct checker *lent,
                                    struct checker **ret_own);
/* The same, with the one that the roles lend to the API. */
struct checker *checker_of_call(struct api_call *call,
                                struct checker **ret_own);
/* Pending verdicts are dropped. NULL is fine. */
void checker_free(struct checker *checker);

/* `ok` false: no verdict is possible now (err; no processes, full disk), ask
 * again later. Otherwise check->why is the verdict; it and what it points to
 * are valid only during the call. */
typedef void checker_done(void *ctx, bool ok, const struct set_check *check,
                          const struct err *err);
/* Reads fd from its beginning; fd may be closed afterwards. At most a few
 * children run at once, further checks wait. If the verdict is remembered,
 * `done` is called before this returns. */
void checker_check(struct checker *checker, int fd, checker_done *done,
                   void *ctx);
/* Remembers `check` for the file fd as it is now, because it is about to be
 * checked once more: unless the file changes before that, the second check
 * needs no child. A verdict is used once and not kept for ever; without it the
 * file is read again. */
void checker_remember(struct checker *checker, int fd,
                      const struct set_check *check);
/* The owner of the guard passes every end here; true: the child was one of
 * ours. */
bool checker_ended(struct checker *checker, const struct guard_end *end);
/* The runner of its children; also for other short ones. */
struct subprocesses *checker_subprocesses(struct checker *checker);
/* Number of children that have not ended yet. */
unsigned checker_waiting(const struct checker *checker);
/* Drops all pending verdicts for this ctx. */
void checker_forget(struct checker *checker, void *ctx);

#endif
