/* A command submitted as JSON: a line of `submit --batch`, and the body of POST
 * /api/v1/jobs.
 *
 *     {"id": "nightly-7", "command": ["make", "-k", "check"], "class": "BF",
 *      "after": ["C3"], "touches": ["db"], "retries": 2, "timeout": "15m",
 *      "node": "tag:big", "env": {"CC": "clang"}, "dir": "/srv/x",
 *      "begin": "2026-12-01T02:00:00Z"}
 *
 * Only command is required, or in its place template with params (an object of
 * strings): the name of a template and the values of its parameters. A stored
 * submission has template, params and command. A member of `after` may be
 * "ID[60%]". Both may have after_any, after_failed (lists of ids) and singleton
 * (a key). The body may also have: clean, at_most_once, umask (octal string),
 * array (strings), max_running (tasks of the array at once), hold. Both may
 * have the keys of task_options.def. null counts as absent. */
#ifndef POINTSMAN_WIRE_SUBMISSION_H
#define POINTSMAN_WIRE_SUBMISSION_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/arena.h"
#include "lib/err.h"
#include "lib/json.h"
#include "lib/text.h"
#include "wire/sections.h"
#include "wire/set_name.h"
#include "wire/task_options.h"

enum {
    SUBMISSION_BYTES = 8 << 20, /* largest JSON */
    SUBMISSION_LIST = 100000,   /* most members of a list */
    SUBMISSION_RETRIES = 1000,
    SUBMISSION_RUNNING = 1000000, /* largest limit of tasks at once */
    SUBMISSION_PARAMS = 64        /* most parameters of a template */
};

struct submission_env {
    struct span name, value;
};

struct submission {
    struct span id; /* empty: will be generated */
    struct lines command;
    struct span template; /* empty: none */
    struct submission_env *params;
    size_t param_count;
    enum set_class class; /* default DC */
    unsigned sub_priority;
    struct lines after; /* ids, or "ID[60%]" (submission_share_parse) */
    struct lines after_any, after_failed;
    struct span singleton; /* empty: none */
    struct lines touches;
    unsigned retries;
    int64_t timeout_ms; /* 0: none */
    struct wall begin;  /* not before this time; 0: at once */
    struct span node;   /* empty: anywhere */
    struct submission_env *env;
    size_t env_count;
    struct span dir; /* empty: the submitter's */
    bool clean;
    bool at_most_once;
    int umask; /* -1: not given */
    struct lines array;
    unsigned max_running; /* tasks of the array at once; 0: no limit */
    bool hold;
    struct task_options task;
};

void submission_init(struct submission *submission); /* sets the defaults */

enum submission_form { SUBMISSION_LINE, SUBMISSION_BODY };

/* The result lives in the arena or in `text`. Error ERR_DATA; for an unknown
 * key with a suggestion. */
bool submission_parse(struct span text, enum submission_form form,
                      struct arena *arena, struct submission *ret_submission,
                      struct err *err);
/* Only its first step, for objects that contain a submission: checks the size
 * and that the text is an object. Error ERR_DATA. */
bool submission_open(struct span text, struct json_value *ret_object,
                     struct err *err);
/* Applies the same rules to a submission from a command line. */
bool submission_check(const struct submission *submission, struct err *err);
/* Splits "ID[60%]"; *ret_share is 0 for an id alone. False: neither. */
bool submission_share_parse(struct span text, struct span *ret_id,
                            unsigned *ret_share);
/* Checks that the node exists. Call it only for a new submission: a stored one
 * may name a node of another base. Error ERR_DATA. */
bool submission_check_node(const struct submission *submission,
                           struct err *err);
/* Adds a key to those it touches, unless it is there; the memory of `touches`
 * is not overwritten. */
void submission_touch(struct submission *submission, struct arena *arena,
                      struct span key);
/* Appends one line of JSON without LF, in body form, omitting defaults. */
void submission_format(const struct submission *submission, struct text *out);

#endif
