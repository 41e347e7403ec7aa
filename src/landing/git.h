/* git as a child: plumbing only, in a clean environment, against one
 * repository, with durable objects, no hooks, no user's configuration
 * (L7). Questions that return text are git_run; a git that answers
 * many is a git_pipe.
 *
 * Errors: ERR_CONFIG when it can never work (no git), ERR_UNAVAILABLE when the
 * repository is missing, damaged, locked or may not be written, ERR_TEMPORARY
 * when it may later (disk full, a lock, killed by a signal), ERR_INTERRUPTED
 * when somebody asked us to stop. The sentence carries git's own last line. */
#ifndef POINTSMAN_LANDING_GIT_H
#define POINTSMAN_LANDING_GIT_H

#include <stdbool.h>
#include <stdio.h>
#include <sys/types.h>

#include "lib/err.h"
#include "lib/text.h"
#include "landing/child.h"

enum { OID_BYTES = 65 }; /* SHA-1 or SHA-256 in hex, and NUL */

struct git {
    char *dir;               /* absolute path of the git directory */
    char *work;              /* scratch directory, or NULL */
    struct child_stop *stop; /* NULL: nobody asks us to stop, and what git says
                          is for the error alone, not for stderr too */
    char **envp;
    int stderr_fd; /* memory: what the last git said */
};

/* Does it look like one? Bare, or a work tree; nothing is started. */
bool git_is_repository(const char *dir);
/* The repository `dir` lies in; NULL: in none. You free it. */
char *git_discover(const char *dir);
/* `dir`: a git directory, or a work tree with .git inside. */
bool git_open(const char *dir, const char *work, struct child_stop *stop,
              struct git *ret_git, struct err *err);
void git_close(struct git *git);
/* From here on objects are written to DIR (made by the caller) and read from
 * both: nothing comes into the repository. */
void git_objects_apart(struct git *git, const char *dir);

#define GIT_ARGS(...) ((const char *const[]){__VA_ARGS__, NULL})

enum git_manner {
    GIT_PLAIN = 0,
    GIT_CARELESS = 1 << 0, /* what it writes need not be durable */
    GIT_SHIELDED = 1 << 1, /* TERM and HUP do not reach it */
    GIT_QUIET = 1 << 2,    /* a failure is an answer: what it says is dropped */
    GIT_TREE = 1 << 3, /* WORK/tree is its work tree, WORK/index its index */
};

/* Runs it with `input` (which it must read before it answers) and appends its
 * output. *ret_exit gets its exit status; NULL: other than 0 is an error. */
bool git_run(struct git *git, const char *const *args, enum git_manner manner,
             struct span input, struct text *out, int *ret_exit,
             struct err *err);
/* The same, output without its last LF, as one object name. */
bool git_run_oid(struct git *git, const char *const *args,
                 enum git_manner manner, struct span input,
                 char ret_oid[OID_BYTES], struct err *err);

struct git_pipe {
    struct git *git;
    const char *verb;
    FILE *in, *out;       /* to and from it */
    pid_t pid;            /* 0 = not open */
    struct child_end end; /* once it has ended */
};

bool git_pipe_open(struct git *git, const char *const *args,
                   enum git_manner manner, struct git_pipe *ret_pipe,
                   struct err *err);
/* Closes its input, waits; false when it did not end well. */
bool git_pipe_close(struct git_pipe *pipe, struct err *err);
/* Closes both ends; how it ends is of no interest. Also for pid 0. */
void git_pipe_drop(struct git_pipe *pipe);
/* It did not answer as it should: closes it and says why. Returns false. */
bool git_pipe_fail(struct git_pipe *pipe, struct err *err);

/* Reading objects: a pipe to `cat-file --batch-command --buffer`, which answers
 * all at once after `flush`. */
bool git_objects_open(struct git *git, struct git_pipe *ret_objects,
                      struct err *err);
/* Any name git understands. *ret_found false: no such object. The content is
 * appended; `ret_type` and `content` may be NULL. */
bool git_object_read(struct git_pipe *objects, const char *name,
                     char ret_oid[OID_BYTES], char ret_type[16],
                     struct text *content, bool *ret_found, struct err *err);
/* An object that must exist. */
struct git_lookup {
    const char *oid, *type; /* "blob", ... */
    bool whole; /* its content is read too, so that damage is found */
};

/* Looks them all up. *ret_bad: the first that is missing, damaged or of another
 * type, `count` if there is none. If git ends over an object, it is an error
 * and *ret_bad is that object. */
bool git_objects_verify(struct git_pipe *objects,
                        const struct git_lookup *lookups, size_t count,
                        size_t *ret_bad, struct err *err);
/* The commit behind `name` and its tree. */
bool git_commit_read(struct git_pipe *objects, const char *name,
                     char ret_oid[OID_BYTES], char ret_tree[OID_BYTES],
                     bool *ret_found, struct err *err);

/* Is it the name of an object, written out? */
bool git_oid_is_valid(struct span oid);

#endif
