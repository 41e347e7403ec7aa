/* Is a signature under an approval good? Asked of `ssh-keygen -Y verify`, in a
 * child that may read and do nothing else: a signature is foreign bytes, and
 * so are the lists of keys. */
#ifndef POINTSMAN_CHANGES_SIGNATURE_H
#define POINTSMAN_CHANGES_SIGNATURE_H

#include "lib/time.h"
#include "base/base.h"
#include "changes/subprocess.h"

/* The child: `pointsman check-signature SIGNERS REVOKED|- NAME TIME`, an
 * approval (wire/approval_text.h) on stdin; becomes ssh-keygen. Returns only
 * when it cannot. */
int signature_main(int argc, char **argv);

/* Is there an ssh-keygen, where the child looks for it? ERR_UNAVAILABLE: there
 * is none; whoever can be told at once is told at once. */
bool signature_possible(struct err *err);

enum signature_how { SIGNATURE_GOOD, SIGNATURE_BAD, SIGNATURE_NOT_NOW };
struct signature_verdict {
    enum signature_how how;
    struct span key; /* good: "SHA256:..." */
    const char *why; /* else: a sentence */
};
/* The verdict is valid during the call only. */
typedef void signature_done(void *ctx, const struct signature_verdict *verdict);

struct signature_check;
/* `fd`: the file of the approval, read from its beginning; may be closed
 * afterwards. `by`: the name it says it is of. `now`: keys that are good only
 * for a time are judged by it. Without a guard `done` is called before it
 * returns (and then NULL is returned). */
struct signature_check *signature_check(const struct base *base,
                                        struct subprocesses *subprocesses,
                                        int fd, struct span by, struct wall now,
                                        signature_done *done, void *ctx);
/* `done` will not be called any more; NULL is fine. */
void signature_forget(struct signature_check *check);

#endif
