/* What a rollback takes back (doc/design/rollback.md, R1, R2): pure,
 * and the same for a preview as for the deed.
 *
 * It starts from the primaries, the sets somebody named, and adds whatever
 * depends on them at any depth. Facts are asked for one job at a time, so that
 * work is in proportion to what is taken:
 *
 *     rollback = rollback_new(&order);
 *     while (rollback_next_question(rollback, &question))
 *         rollback_answer(rollback, nodes, count);   // what the registry says
 *     rollback_decide(rollback, &decision);
 *
 * A set that failed, was cancelled or is rolled back already ends its branch of
 * the tree: whoever needed it failed with it. What a command did cannot be
 * taken back: those that wait are abandoned like sets, others left alone and
 * passed through, since sets may depend on them. */
#ifndef POINTSMAN_CORE_ROLLBACK_H
#define POINTSMAN_CORE_ROLLBACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/arena.h"
#include "lib/text.h"
#include "core/job.h"

struct rollback;

struct rollback_request {
    struct span id;     /* of the RB; empty for a preview */
    struct span target; /* of the RB; empty: that of the first primary */
    const struct span *primaries;
    size_t primary_count;
    size_t sets_max, files_max; /* 0: no limit */
    bool files; /* closure deps+files: also who landed on the same file later */
};

/* Facts about one job. Spans must live as long as the rollback. */
struct rollback_node {
    uint64_t num;
    struct span id;
    enum job_kind kind;
    enum job_class job_class;
    enum job_state state; /* of one this very RB has abandoned: as it was */
    struct span target;
    struct span rolled_back_by; /* empty: it is in effect */
    size_t files;               /* paths it touches */
    uint64_t state_seq;         /* of a D set: when it landed */
};

enum rollback_question_kind {
    ROLLBACK_ASK_PRIMARY,    /* the job of this id: one node, or none */
    ROLLBACK_ASK_DEPENDENTS, /* who depends on it, also through a set that it
                                supersedes */
    ROLLBACK_ASK_LATER       /* D sets of its target that landed after it and
                                touch a path of it */
};

struct rollback_question {
    enum rollback_question_kind asked;
    struct span id;
    uint64_t num; /* 0 for PRIMARY */
};

enum rollback_verdict {
    ROLLBACK_GO,
    ROLLBACK_NOTHING,   /* rb-nothing: all primaries are out of effect */
    ROLLBACK_UNKNOWN,   /* rb-unknown */
    ROLLBACK_TARGET,    /* rb-target: something of another target */
    ROLLBACK_TOO_LARGE, /* rb-too-large */
    ROLLBACK_LACKS      /* rb-lacks: a set would come in again without what it
                           needs */
};

enum rollback_fate {
    ROLLBACK_REVERT,  /* D: its commit is reverted */
    ROLLBACK_ABANDON, /* Q S P: to A */
    ROLLBACK_STOP,    /* X: HUP, to A; or D when it lands before that */
    ROLLBACK_NOTED,   /* F T A, or rolled back: nothing to do */
    ROLLBACK_PASSED   /* a command that runs or ran: left alone */
};

struct rollback_member {
    struct rollback_node node;
    enum rollback_fate fate;
    size_t from; /* place of the member that led here; SIZE_MAX: a primary */
    unsigned depth;
    bool by_file; /* it depends on nobody here, but touches the same file */
};

struct rollback_decision {
    enum rollback_verdict verdict;
    const struct rollback_member *members; /* as met: nearest first */
    size_t count;
    size_t reverts, abandons, stops; /* of these there are so many */
    size_t files;                    /* touched by those three */
    struct span detail;              /* a sentence when the verdict is not GO */
};

/* Copies nothing: the order must live as long. */
struct rollback *rollback_new(const struct rollback_request *request);
void rollback_free(struct rollback *rollback); /* NULL is fine */
/* The next question; the same until it is answered. False: all is known. */
bool rollback_next_question(struct rollback *rollback,
                            struct rollback_question *ret_question);
/* It was met already: facts about it need not be given again. */
bool rollback_knows(const struct rollback *rollback, uint64_t num);
void rollback_answer(struct rollback *rollback,
                     const struct rollback_node *nodes, size_t count);
/* `id`, which a rollback among the members had taken out, would come in again
 * without `needs`: told when all is known, the decision is another then. The
 * spans live as long as the rollback. */
void rollback_add_lack(struct rollback *rollback, struct span id,
                       struct span needs);
/* Spans of detail live in the arena; members as long as the rollback. */
void rollback_decide(struct rollback *rollback, struct arena *arena,
                     struct rollback_decision *ret_decision);

const char *rollback_fate_word(enum rollback_fate fate); /* "revert" */
/* Of life.def: "rb-nothing" … ; "" for GO. */
const char *rollback_verdict_reason(enum rollback_verdict verdict);

/* ---- the plan as it is kept ---------------------------------------------- */

/* How far a rollback is; what is remembered of it before each step. */
enum rollback_phase {
    ROLLBACK_STOPPING,  /* fenced: waiting members are A, running ones ending */
    ROLLBACK_REVERTING, /* a process makes the commits and moves the ref */
    ROLLBACK_OVER,      /* taken back */
    ROLLBACK_UNDONE     /* given up, members are where they were */
};
const char *rollback_phase_word(enum rollback_phase phase);
bool rollback_phase_parse(struct span word, enum rollback_phase *ret_phase);

struct rollback_entry {
    uint64_t num;
    enum job_state was; /* Q S P: abandoned by us; X: it ran; D */
    bool reverted;      /* once over: it is out of effect by this rollback */
};

/* Appends a line an entry: "NUM WAS" or "NUM WAS reverted". */
void rollback_entry_format(const struct rollback_entry *entry,
                           struct text *out);
/* False: not such lines. */
bool rollback_entries_parse(struct span text, struct arena *arena,
                            struct rollback_entry **ret_entries,
                            size_t *ret_count);

#endif
