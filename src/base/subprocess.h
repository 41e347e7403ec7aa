/* Runs a program for a short task: this one once more, or one that the
 * configuration names. It gets a file as its standard input, answers on its
 * standard output, and is killed if it takes too long. It is started through
 * the guard if there is one, otherwise started and waited for here. */
#ifndef POINTSMAN_BASE_SUBPROCESS_H
#define POINTSMAN_BASE_SUBPROCESS_H

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

/* Those of one kind wait for each other, but not for the other kind: a program
 * of the configuration may take its time. */
enum subprocess_kind {
    SUBPROCESS_OURS,   /* this program */
    SUBPROCESS_PROGRAM /* of the configuration; runs in the base, as the account
                          of this process */
};

struct subprocess {
    enum subprocess_kind kind;
    const char *const *words; /* OURS: "check-set", ...; PROGRAM: the program
                                 too; copied */
    size_t word_count;
    int stdin_fd; /* read from its beginning; may be closed afterwards; -1:
                     nothing to read */
    int64_t timeout_ms;
    uint64_t answer_max; /* in bytes */
};

enum subprocess_how {
    SUBPROCESS_EXITED, /* exit_code and answer */
    SUBPROCESS_FAILED, /* why: "hung", "was killed", "printed too much" */
    SUBPROCESS_NOT_NOW /* why: a sentence; it may succeed later */
};

struct subprocess_end {
    enum subprocess_how how;
    int exit_code;
    struct span answer; /* valid during the call only */
    struct span errors; /* likewise: the end of what a PROGRAM printed on its
                           standard error, through the guard; otherwise it goes
                           to that of this process */
    const char *why;
};
typedef void subprocess_done(void *ctx, const struct subprocess_end *end);

/* `done` is called exactly once, except after subprocesses_free and
 * subprocesses_drop. Two of a kind run at once, further ones wait. */
void subprocesses_run(struct subprocesses *subprocesses,
                      const struct subprocess *subprocess,
                      subprocess_done *done, void *ctx);
/* The owner of the guard passes every end here; true: the child was one of
 * ours. */
bool subprocesses_ended(struct subprocesses *subprocesses,
                        const struct guard_end *end);
/* Kills what runs for this ctx; `done` is not called for it any more. */
void subprocesses_drop(struct subprocesses *subprocesses, const void *ctx);
unsigned subprocesses_waiting(const struct subprocesses *subprocesses);

#endif
