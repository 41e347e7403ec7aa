/* Runs git as a child: only plumbing commands, in a clean environment, on one
 * repository, with no hooks and no user configuration (L7). A
 * single question that returns text is a git_run; a git process that answers
 * many is a git_pipe.
 *
 * Errors: ERR_CONFIG if it can never work (no git), ERR_UNAVAILABLE if the
 * repository is missing, damaged, locked or not writable, or its disk is full
 * or fails, ERR_TEMPORARY if it may work later (no memory, killed by a signal),
 * ERR_INTERRUPTED on a request to stop, ERR_CANNOT for the rest and for every
 * failure of a checkout (GIT_TREE). The sentence includes git's own last
 * line. */
#ifndef POINTSMAN_LANDING_GIT_H
#define POINTSMAN_LANDING_GIT_H

#include <stdbool.h>
#include <stdio.h>
#include <sys/types.h>

#include "lib/arena.h"
#include "lib/err.h"
#include "lib/map.h"
#include "lib/text.h"
#include "landing/child.h"

/* Whom the reflogs name. */
#define GIT_NAME "Pointsman"
#define GIT_EMAIL "pointsman@localhost"

enum { OID_BYTES = 65 }; /* SHA-1 or SHA-256 in hex, and NUL */

/* An object that is stored, but has no file yet (landing/objects_apart.h). */
struct git_held {
    const char *oid, *type;
    struct span content;
};

struct git {
    char *dir;               /* absolute path of the git directory */
    int dir_fd;              /* the same, open */
    char *work;              /* scratch directory, or NULL */
    struct child_stop *stop; /* NULL: there are no stop requests, and git's
                                messages go only into the error, not to stderr
                                too */
    char **envp;
    int stderr_fd;   /* memory file: stderr of the last git */
    char *apart;     /* directory of the objects apart, or NULL */
    struct map held; /* name -> struct git_held */
    struct arena held_arena;
    bool is_holding;
    bool is_sha256, hash_is_known; /* of the object names; ask git_is_sha256 */
};

/* True if it looks like a repository, bare or a work tree; starts nothing. */
bool git_is_repository(const char *dir);
/* The repository that `dir` lies in; NULL: none. The caller frees it. */
char *git_discover(const char *dir);
/* `dir`: a git directory, or a work tree with .git inside. */
bool git_open(const char *dir, const char *work, struct child_stop *stop,
              struct git *ret_git, struct err *err);
void git_close(struct git *git);
/* True if the path of the repository still leads to the directory that was
 * opened. ERR_UNAVAILABLE. */
bool git_is_in_place(const struct git *git, struct err *err);
/* From here on objects are written to DIR (created by the caller) and read from
 * both: nothing is added to the repository (landing/objects_apart.h). */
void git_objects_apart(struct git *git, const char *dir);
/* Whether object names of the repository are SHA-256 or SHA-1. The first object
 * that is read shows it; before that, git is asked. */
bool git_is_sha256(struct git *git, bool *ret_sha256, struct err *err);

/* Removes the file of a loose object of the repository if it is empty. A power
 * cut may leave such files, and git does not write an object again whose file
 * exists. True: there was one, and the object can be written now. */
bool git_object_unblock(const struct git *git, const char *oid);

/* Creates WORK/raw, a git directory without branches whose objects are those
 * of the repository. */
bool git_raw_prepare(const struct git *git, const char *tree, struct err *err);

#define GIT_ARGS(...) ((const char *const[]){__VA_ARGS__, NULL})

enum git_manner {
    GIT_PLAIN = 0,
    GIT_DURABLE = 1 << 0,  /* it syncs what it writes */
    GIT_SHIELDED = 1 << 1, /* it does not get TERM and HUP */
    GIT_QUIET = 1 << 2, /* failure is a valid answer: its messages are dropped
                         */
    GIT_TREE = 1 << 3,  /* its work tree is WORK/tree, its index WORK/index */
    GIT_BLIND = 1 << 5, /* it needs no object that is held in memory */
    GIT_ALONE = 1 << 6, /* it reads no objects but those of the repository, also
                           if the repository is moved away meanwhile */
    GIT_RAW = 1 << 4    /* it reads no configuration or attributes of the
                           repository: files are written as they are stored.
                           Needs git_raw_prepare */
};

/* Runs git with `input` (which it must read before it answers) and appends its
 * output. *ret_exit gets its exit status; NULL: a status other than 0 is an
 * error. */
bool git_run(struct git *git, const char *const *args, enum git_manner manner,
             struct span input, struct text *out, int *ret_exit,
             struct err *err);

struct git_pipe {
    struct git *git;
    const char *verb;
    bool is_checkout;     /* GIT_TREE */
    FILE *in, *out;       /* to and from it */
    pid_t pid;            /* 0 = not open */
    struct child_end end; /* once it has ended */
};

bool git_pipe_open(struct git *git, const char *const *args,
                   enum git_manner manner, struct git_pipe *ret_pipe,
                   struct err *err);
/* Closes its input; all output can be read until its end. */
bool git_pipe_end_input(struct git_pipe *pipe, struct err *err);
/* Closes its input and waits; false if it did not end successfully. */
bool git_pipe_close(struct git_pipe *pipe, struct err *err);
/* True if git was started and has not ended. */
bool git_pipe_runs(const struct git_pipe *pipe);
/* Closes both ends and ignores how git ends. Also accepts pid 0. */
void git_pipe_drop(struct git_pipe *pipe);
/* Call it after an unexpected answer: closes the pipe and sets the error.
 * Returns false. */
bool git_pipe_fail(struct git_pipe *pipe, struct err *err);

/* Opens a pipe for reading objects, `cat-file --batch-command --buffer`, which
 * answers all requests at once after `flush`. */
bool git_objects_open(struct git *git, struct git_pipe *ret_objects,
                      struct err *err);
/* Accepts any name git understands. *ret_found false: no such object. The
 * content is appended; `ret_type` and `content` may be NULL. */
bool git_object_read(struct git_pipe *objects, const char *name,
                     char ret_oid[OID_BYTES], char ret_type[16],
                     struct text *content, bool *ret_found, struct err *err);
/* An object that must exist. */
struct git_lookup {
    const char *oid, *type; /* "blob", ...; NULL: any */
    bool whole;             /* read its content too, to find damage */
};

/* Looks up all of them. *ret_bad: the first that is missing, damaged or of
 * another type, `count` if there is none. If git dies on an object, that is an
 * error and *ret_bad is that object. */
bool git_objects_verify(struct git_pipe *objects,
                        const struct git_lookup *lookups, size_t count,
                        size_t *ret_bad, struct err *err);
/* The commit that `name` refers to, and its tree. */
bool git_commit_read(struct git_pipe *objects, const char *name,
                     char ret_oid[OID_BYTES], char ret_tree[OID_BYTES],
                     bool *ret_found, struct err *err);

/* True if it is a full object name. */
bool git_oid_is_valid(struct span oid);

#endif
