/* Looks through a tarball in a child that can do nothing else: no files, no
 * network, little memory, a minute of CPU (C4). Whatever the child
 * does, crash or hang, is a verdict. */
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

struct checker;
struct subprocesses; /* changes/subprocess.h */

/* `guard` NULL: children are started by posix_spawn and waited for; `done` is
 * then called before checker_check returns. `executable` NULL: this program. */
struct checker *checker_new(struct base *base, struct guard *guard,
                            const char *executable);
/* Verdicts still to come are never told. NULL is fine. */
void checker_free(struct checker *checker);

/* `ok` false: no verdict could be had now (err; no processes, full disk), ask
 * again later. Otherwise check->why is the verdict; it and what it points to
 * are valid during the call only. */
typedef void checker_done(void *ctx, bool ok, const struct set_check *check,
                          const struct err *err);
/* Reads fd from its beginning; it may be closed afterwards. At most a few
 * children run at once, others wait their turn. A verdict that is remembered
 * comes before this returns. */
void checker_check(struct checker *checker, int fd, checker_done *done,
                   void *ctx);
/* `check` is about the file fd as it is now, which somebody is about to check
 * once more: unless it has changed until then, that check needs no child. For
 * one time only, and not for ever; what is forgotten is read again. */
void checker_remember(struct checker *checker, int fd,
                      const struct set_check *check);
/* The guard's owner hands every end over; true: it was one of ours. */
bool checker_ended(struct checker *checker, const struct guard_end *end);
/* What runs its children; for other short ones. */
struct subprocesses *checker_subprocesses(struct checker *checker);
/* Children whose end is still to come. */
unsigned checker_waiting(const struct checker *checker);
/* The verdicts for this ctx are never told. */
void checker_forget(struct checker *checker, void *ctx);

#endif
