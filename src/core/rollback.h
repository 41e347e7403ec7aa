/* The decision which jobs a rollback affects (doc/design/rollback.md, R1, R2).
 * Pure, and the same for a preview as for the rollback itself.
 *
 * It starts from the primaries, the sets named in the request, and adds all
 * their dependents at any depth. It asks for facts one job at a time, so that
 * the work is proportional to the number of members:
 *
 *     rollback = rollback_new(&order);
 *     while (rollback_next_question(rollback, &question))
 *         rollback_answer(rollback, nodes, count);   // from the registry
 *     rollback_decide(rollback, &decision);
 *
 * A set that failed, was cancelled or is rolled back already ends its branch of
 * the tree: the jobs that needed it failed with it. The effects of a command
 * cannot be rolled back: waiting commands are abandoned like sets, all others
 * are left alone, but their dependents are followed since these may be sets. */
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
    struct span id;     /* id of the RB; empty for a preview */
    struct span target; /* target of the RB; empty: that of the first primary */
    const struct span *primaries;
    size_t primary_count;
    size_t sets_max, files_max; /* 0: no limit */
    bool files; /* closure deps+files: also sets that landed later on the same
                   file */
};

/* Facts about one job. The spans must live as long as the rollback. */
struct rollback_node {
    uint64_t num;
    struct span id;
    enum job_kind kind;
    enum job_class job_class;
    enum job_state state; /* if this very RB has abandoned it: the state
                             before */
    struct span target;
    struct span rolled_back_by; /* empty: it is in effect */
    bool by_group;      /* it landed in one group with the job asked about */
    size_t files;       /* number of paths it touches */
    uint64_t state_seq; /* for a D set: when it landed */
};

enum rollback_question_kind {
    ROLLBACK_ASK_PRIMARY,    /* the job with this id: one node, or none */
    ROLLBACK_ASK_DEPENDENTS, /* jobs that depend on it, also through a set that
                                it supersedes, and those that landed together
                                with it */
    ROLLBACK_ASK_LATER       /* D sets on its target that landed after it and
                                touch one of its paths */
};

struct rollback_question {
    enum rollback_question_kind asked;
    struct span id;
    uint64_t num; /* 0 for PRIMARY */
};

enum rollback_verdict {
    ROLLBACK_GO,
    ROLLBACK_NOTHING,   /* rb-nothing: all primaries are rolled back already */
    ROLLBACK_UNKNOWN,   /* rb-unknown */
    ROLLBACK_TARGET,    /* rb-target: a member is on another target */
    ROLLBACK_TOO_LARGE, /* rb-too-large */
    ROLLBACK_LACKS      /* rb-lacks: a set would be in effect again without a
                           set that it needs */
};

enum rollback_fate {
    ROLLBACK_REVERT,  /* D: its commit is reverted */
    ROLLBACK_ABANDON, /* Q S P: to A */
    ROLLBACK_STOP,    /* X: HUP, then A; or D if it lands before that */
    ROLLBACK_NOTED,   /* F T A, or rolled back: nothing to do */
    ROLLBACK_PASSED   /* a command that runs or has run: left alone */
};

struct rollback_member {
    struct rollback_node node;
    enum rollback_fate fate;
    size_t from; /* index of the member that led here; SIZE_MAX: a primary */
    unsigned depth;
    bool by_file; /* not a dependent, but touches the same file */
};

struct rollback_decision {
    enum rollback_verdict verdict;
    const struct rollback_member *members; /* in order of discovery: nearest
                                              first */
    size_t count;
    size_t reverts, abandons, stops; /* number of members with this fate */
    size_t files;                    /* rollback_set_files */
    struct span detail;              /* a sentence unless the verdict is GO */
};

/* Copies nothing: `request` must live as long as the rollback. */
struct rollback *rollback_new(const struct rollback_request *request);
void rollback_free(struct rollback *rollback); /* NULL is fine */
/* The next question; the same one until it is answered. False: everything is
 * known. */
bool rollback_next_question(struct rollback *rollback,
                            struct rollback_question *ret_question);
/* True if the job is known already: no facts about it are needed. */
bool rollback_knows(const struct rollback *rollback, uint64_t num);
void rollback_answer(struct rollback *rollback,
                     const struct rollback_node *nodes, size_t count);
/* The number of different files that the rollback changes: those of the members
 * that it rolls back, and of the sets that come back in effect. Call it when
 * all questions are answered; it changes the decision. */
void rollback_set_files(struct rollback *rollback, size_t files);
/* Reports that `id`, which a rollback among the members had rolled back, would
 * be in effect again without `needs`. Call it when all questions are answered;
 * it changes the decision. The spans must live as long as the rollback. */
void rollback_add_lack(struct rollback *rollback, struct span id,
                       struct span needs);
/* Spans of the detail live in the arena, members as long as the rollback. */
void rollback_decide(struct rollback *rollback, struct arena *arena,
                     struct rollback_decision *ret_decision);

const char *rollback_fate_word(enum rollback_fate fate); /* "revert" */
/* From life.def: "rb-nothing" … ; "" for GO. */
const char *rollback_verdict_reason(enum rollback_verdict verdict);

/* ---- the plan as it is stored -------------------------------------------- */

/* The progress of a rollback; stored before each step. */
enum rollback_phase {
    ROLLBACK_STOPPING,  /* target closed: waiting members are A, running ones
                           ending */
    ROLLBACK_REVERTING, /* a process makes the commits and moves the ref */
    ROLLBACK_OVER,      /* rolled back */
    ROLLBACK_UNDONE     /* given up, members are back where they were */
};
const char *rollback_phase_word(enum rollback_phase phase);
bool rollback_phase_parse(struct span word, enum rollback_phase *ret_phase);

/* The effect on a set that was done; known once the rollback is over. */
enum rollback_outcome {
    ROLLBACK_UNTOUCHED,
    ROLLBACK_REVERTED, /* rolled back, and restored if this rollback is rolled
                          back itself */
    ROLLBACK_RESTORED, /* in effect again: it was a member of a rollback that
                          this one rolls back */
    ROLLBACK_AGAIN     /* rolled back by an earlier rollback, which is in effect
                          again */
};

struct rollback_entry {
    uint64_t num;
    enum job_state was; /* Q S P: abandoned by this rollback; X: it was running;
                           D */
    enum rollback_outcome outcome;
};

/* What the rollback does, or has done, to the member, for people: "revert",
 * "abandon" and "stop" are still to come; "reverted", "abandoned", "restored",
 * "reverted again" and "unchanged" have happened. `state`: its present one. */
const char *rollback_entry_fate(const struct rollback_entry *entry,
                                enum rollback_phase phase,
                                enum job_state state);
/* Appends one line per entry: "NUM WAS" or "NUM WAS OUTCOME", in which OUTCOME
 * is reverted, restored or again. */
void rollback_entry_format(const struct rollback_entry *entry,
                           struct text *out);
/* False: the text does not consist of such lines. */
bool rollback_entries_parse(struct span text, struct arena *arena,
                            struct rollback_entry **ret_entries,
                            size_t *ret_count);

#endif
