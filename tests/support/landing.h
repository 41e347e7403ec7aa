/* For the tests of landing: a bare repository, change sets, and `pointsman
 * land` as a real process. */
#ifndef POINTSMAN_TESTS_SUPPORT_LANDING_H
#define POINTSMAN_TESTS_SUPPORT_LANDING_H

#include "support/test.h"

#include <sys/resource.h>
#include <sys/types.h>

#include "lib/attr.h"
#include "landing/land.h"

/* Runs a shell script in test_dir with a clean git environment; the script must
 * succeed. Returns its output without the final LF, which is valid for the next
 * 63 calls. */
const char *sh(const char *format, ...) PRINTF_LIKE(1, 2);

/* The parts of a set. */
struct set_file {
    const char *path, *content; /* path NULL ends the list */
    unsigned mode;              /* 0 = 0644 */
    const char *link;           /* target of a symbolic link, or NULL */
};
struct set {
    const char *id;
    const char *class;    /* NULL = "DC" */
    const char *sections; /* more sections of meta: "##base\n...\n" */
    const char *deleted[4];
    struct set_file files[8];
};

/* One attempt; by default it lands on branch main of DIR/target.git, with the
 * current time. */
struct attempt {
    const struct set *set;
    const char *tarball; /* if set, only the id and class of `set` are used */
    const struct set *others[4]; /* sets that land together with `set` */
    const char *git, *branch, *blind, *seen, *symlinks, *timeout, *submitter;
    const char *user;
    const char *command;   /* instead of git */
    const char *checks[6]; /* name, command, name, command, ... */
    const char *approved_by;
    struct {
        const char *id, *tarball;
        bool landed;
        const char *archived;   /* where the tarball is instead; or NULL */
    } bases[4];                 /* of a stack */
    const struct set *needs[4]; /* must be on the branch */
    int64_t since_ns;           /* 0 = now */
    bool probe, filters;
    bool alone;              /* `set` and `others` are not a group */
    const char *path;        /* put before $PATH */
    rlim_t file_bytes;       /* RLIMIT_FSIZE; 0 = none */
    const char *const *wrap; /* words put before the program (strace ...) */
};

struct outcome {
    bool has_status;
    char text[LAND_STATUS_BYTES]; /* part of `line` after verdict and reason */
    char line[LAND_STATUS_BYTES + 64]; /* line on the status descriptor */
    int exit_code, signal;
    char *output; /* the whole output; valid as long as a result of sh() */
};

/* Removes the repositories and sets of earlier tests from test_dir and creates
 * a bare repository target.git whose branch main has one commit, with the files
 * f and g. */
void landing_begin(void);
/* The same without any commit; `options` are for git init. */
void landing_begin_empty(const char *options);

/* The content of a file that is too large to be stored without git. */
const char *large_content(void);

/* Writes the tarball of the set, always the same bytes; returns its SHA-256. */
const char *set_write(const struct set *set);

struct outcome land(const struct attempt *attempt);
/* land() in two steps. */
struct landing_child {
    pid_t pid;
    int status_fd;
    char output[256];
};
struct landing_child landing_spawn(const struct attempt *attempt);
struct outcome land_wait(struct landing_child *child);

/* Skips the test if strace is missing or cannot trace here. */
void require_strace(void);
/* Lands the set without git, and sends the landing the signal as it takes the
 * lock of HEAD, which is the second one. Needs strace. */
struct outcome land_signalled(const struct set *set, const char *signal);

/* The status line equals `line`, or begins with `start`. */
void assert_line(const struct outcome *outcome, const char *line);
void assert_starts(const struct outcome *outcome, const char *start);
/* The status line or the output contains these words. */
void assert_says(const struct outcome *outcome, const char *words);
/* The set landed as the newest commit of branch main, the repository is sound
 * and no temporary file is left. */
void assert_landed(const struct outcome *outcome);
/* The set did not land: main is still at `tip`. */
void assert_unmoved(const struct outcome *outcome, const char *tip);
/* The content of a path on main, the id of its newest commit, and the number of
 * its commits. */
const char *content(const char *path);
const char *tip(void);
const char *commits(void);

#endif
