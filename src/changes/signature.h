/* Verifies the signature of an approval with `ssh-keygen -Y verify`, in a child
 * that may read and do nothing else, because a signature and the lists of keys
 * are untrusted input. */
#ifndef POINTSMAN_CHANGES_SIGNATURE_H
#define POINTSMAN_CHANGES_SIGNATURE_H

#include "lib/time.h"
#include "base/base.h"
#include "base/subprocess.h"

/* The child: `pointsman check-signature SIGNERS REVOKED|- NAME TIME`, with an
 * approval (wire/approval_text.h) on stdin; executes ssh-keygen. Returns only
 * on failure. */
int signature_main(int argc, char **argv);

/* True if there is an ssh-keygen where the child looks for it. Otherwise
 * ERR_UNAVAILABLE, so that a caller can be informed at once. */
bool signature_possible(struct err *err);

/* True if nobody but root and the owner of the base can change the lists of
 * allowed signers and of revoked keys, or the directories in which they lie. No
 * signature is valid otherwise. ERR_DENIED, with what to do. */
bool signature_lists_check(const struct base *base, struct err *err);

enum signature_how { SIGNATURE_GOOD, SIGNATURE_BAD, SIGNATURE_NOT_NOW };
struct signature_verdict {
    enum signature_how how;
    struct span key; /* if valid: "SHA256:..." */
    const char *why; /* otherwise: a sentence */
};
/* The verdict is valid during the call only. */
typedef void signature_done(void *ctx, const struct signature_verdict *verdict);

struct signature_check;
/* `fd`: the file of the approval, read from its beginning; may be closed
 * afterwards. `by`: the name given in it. `now`: the time at which the validity
 * of keys is judged. Without a guard, `done` is called before this returns (and
 * NULL is returned). */
struct signature_check *signature_check(const struct base *base,
                                        struct subprocesses *subprocesses,
                                        int fd, struct span by, struct wall now,
                                        signature_done *done, void *ctx);
/* `done` will not be called any more; NULL is fine. */
void signature_forget(struct signature_check *check);

#endif
