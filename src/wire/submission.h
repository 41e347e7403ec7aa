/* A command submitted as JSON: a line of `submit --batch`, and the body of
 * POST /api/v1/jobs.
 *
 *     {"id": "nightly-7", "command": ["make", "-k", "check"], "class": "BF",
 *      "after": ["C3"], "touches": ["db"], "retries": 2, "timeout": "15m",
 *      "node": "tag:big", "env": {"CC": "clang"}, "dir": "/srv/x"}
 *
 * Only command is needed. The body may also hold: clean, at_most_once, umask
 * (octal string), array (strings), hold. Both may hold the keys of
 * task_options.def. null is as good as absent. */
#ifndef POINTSMAN_WIRE_SUBMISSION_H
#define POINTSMAN_WIRE_SUBMISSION_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/arena.h"
#include "lib/err.h"
#include "lib/text.h"
#include "wire/sections.h"
#include "wire/set_name.h"
#include "wire/task_options.h"

enum {
    SUBMISSION_BYTES = 8 << 20, /* of the JSON at most */
    SUBMISSION_LIST = 100000,   /* members of any list at most */
    SUBMISSION_RETRIES = 1000
};

struct submission_env {
    struct span name, value;
};

struct submission {
    struct span id; /* empty: to be made */
    struct lines command;
    enum set_class class; /* DC when not given */
    unsigned sub_priority;
    struct lines after;
    struct lines touches;
    unsigned retries;
    int64_t timeout_ms; /* 0: none */
    struct span node;   /* empty: anywhere */
    struct submission_env *env;
    size_t env_count;
    struct span dir; /* empty: the submitter's */
    bool clean;
    bool at_most_once;
    int umask; /* -1: not given */
    struct lines array;
    bool hold;
    struct task_options task;
};

void submission_init(struct submission *submission); /* the defaults */

enum submission_form { SUBMISSION_LINE, SUBMISSION_BODY };

/* What it returns lives in the arena or in `text`. Error ERR_DATA; for an
 * unknown key with what was perhaps meant. */
bool submission_parse(struct span text, enum submission_form form,
                      struct arena *arena, struct submission *ret_submission,
                      struct err *err);
/* The same rules for one that was not parsed (from a command line). */
bool submission_check(const struct submission *submission, struct err *err);
/* The nodes that exist. Asked of a new submission only: a stored one may name
 * a node of another base. Error ERR_DATA. */
bool submission_check_node(const struct submission *submission,
                           struct err *err);
/* One more key that it touches, unless it does; what is in `touches` is not
 * written over. */
void submission_touch(struct submission *submission, struct arena *arena,
                      struct span key);
/* Appends one line of JSON without LF, body form, only what is not default. */
void submission_format(const struct submission *submission, struct text *out);

#endif
