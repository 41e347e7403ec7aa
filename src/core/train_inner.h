/* The internals of train.h, shared only by the files train*.c. They use each
 * other from the bottom up:
 *
 *     train.c             what is reported, and the scan
 *     train_why.c         explanations
 *     train_land.c        landings; who fails or leaves
 *     train_spare.c       which runs are stopped
 *     train_run.c         results, runs, the next run
 *     train_candidate.c   candidates and merges; the state of each unit
 *     train_place.c       joining and leaving: the order of the units
 *     train_tip.c         is the tip proven or broken?
 *     train_unit.c        units, their outcomes, notes */
#ifndef POINTSMAN_CORE_TRAIN_INNER_H
#define POINTSMAN_CORE_TRAIN_INNER_H

#include <string.h>

#include "lib/map.h"
#include "core/train.h"

enum {
    LANDINGS_LOST_MAX = 5, /* in a row, then the set leaves for a while (M9) */
    OUTCOMES_MAX = 32,     /* trees whose outcome a unit remembers */
    WINDOW_PER_LANE = 4,   /* units with a candidate (M10) */
    PPM = 1000000
};

/* The id of a tree or commit. The hash makes most comparisons one of two
 * numbers. */
struct train_tree {
    uint64_t hash;
    char text[TRAIN_TREE_BYTES];
};

static inline bool train_tree_equal(const struct train_tree *a,
                                    const struct train_tree *b) {
    return a->hash == b->hash && strcmp(a->text, b->text) == 0;
}

/* What the runs of one tree gave during this stay on the train. */
struct train_outcome {
    struct train_tree tree;
    bool asked, answered; /* the registry, about a recorded pass */
    bool passed, reused;
    unsigned fails; /* since the last pass */
    char *reason, *detail;
};

enum train_doom {
    DOOM_NONE,
    DOOM_LEFT,      /* what it follows has left */
    DOOM_TEMPORARY, /* temporary end */
    DOOM_DEPENDENCY /* a dependency ended otherwise than done */
};

enum train_candidate_kind {
    CANDIDATE_NONE,
    CANDIDATE_TREE,
    CANDIDATE_LANDED, /* on the branch already; a landing reports that */
    CANDIDATE_CONFLICT,
    CANDIDATE_REFUSED
};

struct train_unit {
    uint64_t num;
    enum job_class job_class;
    uint64_t *sets;
    size_t set_count;
    char *id;            /* of its last set */
    size_t answer_bytes; /* of what a landing says of its sets, at most */
    struct train_follow *follows;
    size_t follow_count;
    uint64_t *followers; /* units that follow it, in no order */
    size_t follower_count, follower_cap;
    /* Its candidate: what merging it onto `base` gave. */
    enum train_candidate_kind kind;
    uint64_t generation;
    struct train_tree base, tree;
    char *detail;
    struct train_outcome *outcomes;
    size_t outcome_count;
    size_t present; /* 1 + the index of the outcome of its tree; 0: none */
    unsigned runs, lost;
    bool landing, leaving;
    enum train_departure departure;
    enum train_doom doom;
    uint64_t doom_about;
    bool proposed; /* to fail or leave; not answered yet */
    bool marked;   /* within train_rank() */
    /* Found by the last refresh. */
    enum train_state state;
    bool stale;
    size_t fresh; /* the candidate that has to be built was noted for this
                     cause */
};

struct train_attempt {
    uint64_t num;            /* 0: the tip */
    struct train_unit *unit; /* NULL: the tip, or departed */
    struct train_tree tree;
    struct wall begun;
    uint64_t serial;
    bool stopping;
    bool departed; /* its unit has left, or what it checks is an old list */
    bool told;     /* TRAIN_STOP was proposed, or train_spare returned it */
};

struct train_branch {
    bool known;
    struct train_tree commit, tree;
    enum train_proof proof;
    bool asked;
    bool needed; /* a failure waits for the proof */
    uint64_t for_num;
    bool recheck; /* requested by an operator */
    unsigned fails, tries;
    struct wall again;
    char *reason, *detail;
};

struct train_merge {
    bool active;
    struct train_step *steps;
    size_t count, done;
    uint64_t generation;
    struct train_tree base; /* of the next step */
};

struct train_move {
    bool active, stop, told, refused;
    bool outdated; /* the check list changed meanwhile */
    uint64_t *nums;
    size_t count;
    struct train_tree tree;
};

struct train {
    char *target;
    struct train_config config;
    unsigned closed;
    struct train_branch tip;
    struct train_unit **slots; /* `units` begins somewhere inside: those that
                                  leave at the front move nothing */
    struct train_unit **units;
    size_t count, cap;
    struct map by_set; /* units by the number of each of their sets */
    size_t reach;      /* units behind have no candidate, run or outcome that
                          counts: TRAIN_BEYOND and not stale */
    size_t dooms;      /* units with a doom */
    struct train_attempt *attempts;
    size_t attempt_count, attempt_cap;
    uint64_t serial;
    struct train_merge merge;
    struct train_move move;
    size_t together;     /* units that one landing takes at most */
    uint64_t generation; /* of candidates */
    unsigned q_ppm;
    int64_t mean_ms;
    size_t ask_from;            /* units ahead of it have no question */
    bool dirty;                 /* states have to be found anew */
    enum train_note_kind cause; /* of the next change of candidates */
    uint64_t cause_about;
    size_t cause_serial;
    struct train_note_kept *notes;
    size_t note_count, note_cap, note_next;
};

struct train_note_kept {
    struct train_note note;
    struct train_tree tree;
};

static inline bool train_interrupts(const struct train *train,
                                    enum job_class job_class) {
    return (train->config.interrupt & (1u << job_class)) != 0;
}

/* ---- train_unit.c ------------------------------------------------------- */

struct train_tree train_tree_make(struct span id);
struct span train_tree_span(const struct train_tree *tree);
struct train_unit *train_unit_new(const struct train_entry *entry);
void train_unit_free(struct train_unit *unit);
struct train_unit *train_unit_find(const struct train *train, uint64_t num);
void train_unit_doom(struct train *train, struct train_unit *unit,
                     enum train_doom doom, uint64_t about);
/* The unit that contains the set. */
struct train_unit *train_unit_of_set(const struct train *train, uint64_t num);
/* Its index; quick near both ends of the train. */
size_t train_unit_at(const struct train *train, const struct train_unit *unit);
bool train_unit_follows(const struct train_unit *unit,
                        const struct train_unit *other, bool *ret_dependency);
/* The outcome of a tree, empty at first; valid until the next call. */
struct train_outcome *train_unit_outcome(struct train_unit *unit,
                                         const struct train_tree *tree);
/* It had this tree, or has it now. */
bool train_unit_knows(const struct train_unit *unit,
                      const struct train_tree *tree);
/* A result of the tree may have been recorded since it was asked for. */
void train_unit_ask_again(struct train_unit *unit,
                          const struct train_tree *tree);
/* Call it when its tree has changed. */
void train_unit_find_present(struct train_unit *unit);
const struct train_outcome *
train_unit_present_outcome(const struct train_unit *unit);
/* The reason of a candidate that could not be merged. */
struct span train_unit_refusal(const struct train_unit *unit);
void train_unit_forget_failures(struct train_unit *unit);
/* Passes that were recorded earlier, or are those of another unit. */
void train_unit_forget_reused(struct train_unit *unit);
void train_unit_forget_outcomes(struct train_unit *unit);
void train_note_add(struct train *train, enum train_note_kind kind,
                    uint64_t num, uint64_t about,
                    const struct train_tree *tree);
/* From now on this is why candidates change. */
void train_note_cause(struct train *train, enum train_note_kind kind,
                      uint64_t about);

/* ---- train_tip.c -------------------------------------------------------- */

void train_tip_set(struct train *train, struct span commit, struct span tree,
                   bool proven);
/* The key of results is another: the proof does not count any more. */
void train_tip_doubt(struct train *train);
void train_tip_passed(struct train *train);
void train_tip_failed(struct train *train, struct span reason,
                      struct span detail, struct wall now);
/* The tip is to be run now. */
bool train_tip_is_wanted(const struct train *train, struct wall now);

/* ---- train_place.c ------------------------------------------------------ */

void train_place_join(struct train *train, struct train_unit *unit);
/* Takes it off the train and tells those that follow it. `landed`: it is D. */
void train_place_remove(struct train *train, struct train_unit *unit,
                        bool landed, enum train_departure how);
/* Units that were being landed are not any more: those that interrupt pass
 * them. */
void train_place_hurry(struct train *train);
void train_place_to_front(struct train *train, struct train_unit *unit);

/* ---- train_candidate.c -------------------------------------------------- */

/* Finds the state of each unit if anything was reported since the last time. */
void train_candidate_refresh(struct train *train);
bool train_candidate_propose(struct train *train, struct arena *arena,
                             struct train_effect *ret_effect);
void train_candidate_rebuild(struct train *train);
/* How many units have candidates. */
size_t train_candidate_window(const struct train *train);

/* ---- train_run.c -------------------------------------------------------- */

struct train_attempt *train_run_find(const struct train *train, uint64_t num);
size_t train_run_live(const struct train *train); /* not being stopped */
/* The unit's candidate wants a run, and nothing but a lane or slot is
 * missing. */
bool train_run_is_wanted(const struct train *train,
                         const struct train_unit *unit);
/* The first position whose run is worth less than `least`. */
size_t train_run_first_below(const struct train *train, unsigned least);

/* ---- train_spare.c ------------------------------------------------------ */

/* Marks the runs to be stopped for lanes. */
void train_spare_mark(struct train *train, struct wall now);
size_t train_spare_propose(struct train *train, struct train_effect *effects);

/* ---- train_land.c ------------------------------------------------------- */

bool train_land_propose(struct train *train, struct arena *arena,
                        struct train_effect *ret_effect);
bool train_land_propose_stop(struct train *train,
                             struct train_effect *ret_effect);
/* A final verdict, for the worth of runs. */
void train_land_learn(struct train *train, bool passed);
/* Those that fail or leave; at most one effect for each unit. */
size_t train_land_judge(struct train *train, struct train_effect *effects);

#endif
