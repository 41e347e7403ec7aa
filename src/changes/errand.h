/* This program started once more for a short errand: it gets a file as its
 * standard input, answers on its standard output, and is ended when it takes
 * too long. Through the guard where there is one, else started and waited for
 * here. */
#ifndef POINTSMAN_CHANGES_ERRAND_H
#define POINTSMAN_CHANGES_ERRAND_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/text.h"
#include "os/guard.h"
#include "base/base.h"

struct errands;

/* `guard` NULL: `done` is called before errands_run returns. `executable`
 * NULL: this program. */
struct errands *errands_new(struct base *base, struct guard *guard,
                            const char *executable);
/* Ends still to come are never told. NULL is fine. */
void errands_free(struct errands *errands);

struct errand {
    const char *const *words; /* "check-set", ...; copied */
    size_t word_count;
    int stdin_fd; /* read from its beginning; may be closed afterwards */
    int64_t timeout_ms;
    uint64_t answer_max; /* bytes */
};

enum errand_how {
    ERRAND_EXITED, /* exit_code and answer */
    ERRAND_FAILED, /* why: "hung", "was killed", "answered too much" */
    ERRAND_NOT_NOW /* why: a sentence; it may go well later */
};

struct errand_end {
    enum errand_how how;
    int exit_code;
    struct span answer; /* valid during the call only */
    const char *why;
};
typedef void errand_done(void *ctx, const struct errand_end *end);

/* `done` comes exactly once, but for errands_free. A few run at once, others
 * wait their turn. */
void errands_run(struct errands *errands, const struct errand *errand,
                 errand_done *done, void *ctx);
/* The guard's owner hands every end over; true: it was one of ours. */
bool errands_ended(struct errands *errands, const struct guard_end *end);
unsigned errands_waiting(const struct errands *errands);

#endif
