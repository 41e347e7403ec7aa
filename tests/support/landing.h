/* A bare repository, change sets and `pointsman land` as a real process, for
 * the tests of landing. */
#ifndef POINTSMAN_TESTS_SUPPORT_LANDING_H
#define POINTSMAN_TESTS_SUPPORT_LANDING_H

#include "support/test.h"

#include <sys/resource.h>
#include <sys/types.h>

#include "lib/attr.h"
#include "landing/land.h"

/* Runs `sh -c` in test_dir with a clean git environment; it must succeed.
 * Returns its output without the last LF, valid until the 64th call from
 * here. */
const char *sh(const char *format, ...) PRINTF_LIKE(1, 2);

/* The parts of a set; zeros are omitted. */
struct set_file {
    const char *path, *content; /* path NULL ends the list */
    unsigned mode;              /* 0 = 0644 */
    const char *link;           /* a symbolic link instead of content */
};
struct set {
    const char *id;
    const char *class;    /* "DC" */
    const char *sections; /* more of meta: "##base\n...\n" */
    const char *deleted[4];
    struct set_file files[8];
};

/* One attempt. Zero: on branch main of DIR/target.git, made now. */
struct attempt {
    const struct set *set;
    const char *tarball; /* this file instead; of `set` only id and class */
    const struct set *others[4]; /* they land with it */
    const char *git, *branch, *blind, *seen, *symlinks, *timeout, *submitter;
    const char *user;
    const char *command;   /* instead of git */
    const char *checks[6]; /* name, command, name, command, ... */
    const char *approved_by;
    int64_t since_ns; /* 0 = now */
    bool probe;
    const char *path;        /* in front of $PATH */
    rlim_t file_bytes;       /* RLIMIT_FSIZE; 0 = none */
    const char *const *wrap; /* words in front of the program (strace ...) */
};

struct outcome {
    bool has_status;
    char text[LAND_STATUS_BYTES]; /* of that line, after verdict and reason */
    char line[LAND_STATUS_BYTES + 64]; /* of the status descriptor */
    int exit_code, signal;
    char *output; /* the whole output; freed with the test directory's other
                     text */
};

/* Empties test_dir of former repositories and sets and makes an empty bare
 * repository target.git with branch main at one commit: files f and g. */
void landing_begin(void);
/* Like it without any commit; `options` for git init. */
void landing_begin_empty(const char *options);

/* Writes its tarball (again: the same bytes) and returns its SHA-256. */
const char *set_write(const struct set *set);

struct outcome land(const struct attempt *attempt);
/* The same in two halves. */
struct landing_child {
    pid_t pid;
    int status_fd;
    char output[256];
};
struct landing_child landing_spawn(const struct attempt *attempt);
struct outcome land_wait(struct landing_child *child);

/* The status line is this one; begins so. */
void assert_line(const struct outcome *outcome, const char *line);
void assert_starts(const struct outcome *outcome, const char *start);
/* The line, or the account, contains these words. */
void assert_says(const struct outcome *outcome, const char *words);
/* It landed as the newest commit of branch main, the repository is sound and
 * nothing was left behind. */
void assert_landed(const struct outcome *outcome);
/* Not so: main is still at `tip`. */
void assert_unmoved(const struct outcome *outcome, const char *tip);
/* Content of a path on main; "main" as a commit; how many commits it has. */
const char *content(const char *path);
const char *tip(void);
const char *commits(void);

#endif
