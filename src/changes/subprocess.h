/* Runs this program once more for a short task: it gets a file as its standard
 * input, answers on its standard output, and is killed if it takes too long. It
 * is started through the guard if there is one, otherwise started and waited
 * for here. */
#ifndef POINTSMAN_CHANGES_SUBPROCESS_H
#define POINTSMAN_CHANGES_SUBPROCESS_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/text.h"
#include "os/guard.h"
#include "base/base.h"

struct subprocesses;

/* `guard` NULL: `done` is called before subprocesses_run returns. `executable`
 * NULL: this program. */
struct subprocesses *subprocesses_new(struct base *base, struct guard *guard,
                                      const char *executable);
/* Pending ends are dropped. NULL is fine. */
void subprocesses_free(struct subprocesses *subprocesses);

struct subprocess {
    const char *const *words; /* "check-set", ...; copied */
    size_t word_count;
    int stdin_fd; /* read from its beginning; may be closed afterwards */
    int64_t timeout_ms;
    uint64_t answer_max; /* in bytes */
};

enum subprocess_how {
    SUBPROCESS_EXITED, /* exit_code and answer */
    SUBPROCESS_FAILED, /* why: "hung", "was killed", "answered too much" */
    SUBPROCESS_NOT_NOW /* why: a sentence; it may succeed later */
};

struct subprocess_end {
    enum subprocess_how how;
    int exit_code;
    struct span answer; /* valid during the call only */
    const char *why;
};
typedef void subprocess_done(void *ctx, const struct subprocess_end *end);

/* `done` is called exactly once, except after subprocesses_free. A few run at
 * once, further ones wait. */
void subprocesses_run(struct subprocesses *subprocesses,
                      const struct subprocess *subprocess,
                      subprocess_done *done, void *ctx);
/* The owner of the guard passes every end here; true: the child was one of
 * ours. */
bool subprocesses_ended(struct subprocesses *subprocesses,
                        const struct guard_end *end);
unsigned subprocesses_waiting(const struct subprocesses *subprocesses);

#endif
