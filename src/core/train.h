/* The merge train of one git target: which candidate trees are built and
 * checked, and which sets land, fail or leave (doc/design/train.md). Pure: no
 * clock, no randomness, no I/O; the same calls give the same proposals (M21).
 *
 * The train is an ordered list of units; a unit is one set or one group. The
 * candidate of a unit is the tree that results from merging onto the tip all
 * units ahead that are not failing, and then the unit itself:
 *
 *     tip <- C1 <- C2 (failing)      C3 is merged onto C1, without C2
 *         <- C1 <------- C3          C1 lands, then C2 fails, then C3 lands
 *
 * How to drive it. The owner of the train
 *   1. reports everything that happens: the tip (train_tip), units that join
 *      and leave, ranks, rollbacks, runs, merges, landings;
 *   2. answers questions about recorded results (train_next_question), then
 *   3. calls train_scan and carries out the effects; 2 and 3 are repeated until
 *      it returns 0;
 *   4. while it has a free slot, asks for the next run (train_next_run), starts
 *      it and reports that (train_run_begun); if it has none, it may ask which
 *      run gives its slot up (train_spare);
 *   5. writes the events of kind `train` from train_next_note.
 * A scan has to come before 4, 5, train_place and train_why: they show what
 * the last scan found.
 *
 * Every effect is proposed once and has to be answered:
 *     TRAIN_MERGE      train_merged for each step, train_merge_ended; only if
 *                      the target has checks
 *     TRAIN_LAND       train_landing_ended
 *     TRAIN_STOP       train_run_ended
 *     TRAIN_FAIL, TRAIN_LEAVE
 *                      train_leave when committed, else train_again
 *     TRAIN_STOP_LANDING  nothing; the landing ends as it ends
 *
 * A set is P or X on the train; it goes P -> X with its first run. A unit with
 * several attempts has at most one run at a time. The train is not stored:
 * after a restart the owner reports the tip and joins the units again, those
 * that had been running first, in the order in which their first runs had
 * begun. */
#ifndef POINTSMAN_CORE_TRAIN_H
#define POINTSMAN_CORE_TRAIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/arena.h"
#include "lib/text.h"
#include "lib/time.h"
#include "core/job.h"
#include "core/train_result.h"

struct train;

enum { TRAIN_TREE_BYTES = 65 }; /* of a tree or commit id with its NUL */

struct train_config {
    bool checks;            /* the target has checks; else nothing is merged
                               ahead: the landing finds the conflicts */
    unsigned lanes;         /* at least 1 */
    unsigned interrupt;     /* bits of 1 << class */
    bool follow;            /* see train_can_follow */
    unsigned land_max;      /* sets that one move of the branch lands; >= 1 */
    unsigned check_retries; /* repetitions of a failed check */
    enum train_remember remember;
    int64_t remember_for_ms; /* 0: any age */
    bool volatile_check;     /* a check is named in `volatile` */
};

/* `target`: its name, for texts; copied. */
struct train *train_new(struct span target, const struct train_config *config);
void train_free(struct train *train); /* NULL is fine */
/* Applies from the next scan on. If there are fewer lanes, the last runs are
 * stopped. */
void train_set_config(struct train *train, const struct train_config *config);
/* The check list, its user or the output of `environment` is another: all runs
 * are stopped and all results of the present stays are dropped. */
void train_checks_changed(struct train *train);
/* Recorded results do not count any more: passes that replaced a run are
 * dropped, and so is the proof of the tip. */
void train_forget_reused(struct train *train);
/* Something else that candidates depend on has changed (git, branch, blind,
 * symlinks): all candidates are rebuilt. */
void train_rebuild(struct train *train);

/* ---- the branch
 * ---------------------------------------------------------------- */

/* The tip at start-up, or as somebody else moved it. Ignored if the commit is
 * the one known. A tip made by a landing of this train is reported by
 * train_landing_ended, before any later one. The spans are copied. */
void train_tip(struct train *train, struct span commit, struct span tree);
/* While any bit is set nothing starts, lands or fails; runs go on. */
enum train_closed {
    TRAIN_CLOSED_ROLLBACK = 1 << 0,    /* a rollback is open */
    TRAIN_CLOSED_UNAVAILABLE = 1 << 1, /* the target cannot be used */
    TRAIN_CLOSED_ENVIRONMENT = 1 << 2  /* what checks depend on is not known */
};
void train_close(struct train *train, unsigned closed);
/* Runs the tip at once; for `train recheck`. (The caller has cleared disputed
 * results in the registry.) */
void train_recheck(struct train *train);

/* ---- units
 * ---------------------------------------------------------------- */

/* Something that a unit waits for, which is on the train ahead of it. */
struct train_follow {
    uint64_t num;    /* of the unit, or of one of its sets */
    bool dependency; /* must be done; otherwise it must only have left the
                        queue */
};

struct train_set {
    uint64_t num;
    struct span id;
};

struct train_entry {
    uint64_t num; /* identifies the unit: the number of its last set */
    enum job_class job_class;     /* of its rank */
    const struct train_set *sets; /* in landing order, at least one; the last
                                     one names the unit in texts */
    size_t set_count;
    const struct train_follow *follows;
    size_t follow_count;
};

/* A unit joins, in the place that M2 gives it. Everything is copied. False: a
 * num is on the train already, or something that it follows is not. */
bool train_join(struct train *train, const struct train_entry *entry);
/* True if a set in S may join: the target has `follow`, and all that it waits
 * for is on the train and stays there. */
bool train_can_follow(const struct train *train,
                      const struct train_follow *follows, size_t count);
bool train_has(const struct train *train, uint64_t num);
/* The class of its rank has changed. False: unknown num. */
bool train_rank(struct train *train, uint64_t num, enum job_class job_class);

/* How a unit left, which decides what becomes of those that follow it. */
enum train_departure {
    TRAIN_LEFT_ALIVE,      /* held, approval withdrawn, temporary end: X -> P;
                              its followers leave too */
    TRAIN_LEFT_ENDED,      /* F or T: those that depend on it fail */
    TRAIN_LEFT_ROLLED_BACK /* A: its followers leave too, unless the rollback
                              takes them */
};
/* The unit left, by a proposal of the train or for another reason. Its run is
 * stopped: TRAIN_STOP. If it is being landed, TRAIN_STOP_LANDING is proposed,
 * and it leaves when the landing ends, unless it landed. False: unknown num. */
bool train_leave(struct train *train, uint64_t num, enum train_departure how);
/* A proposal to fail or leave was not committed: it is made again if it is
 * still right. False: unknown num. */
bool train_again(struct train *train, uint64_t num);

/* ---- merges
 * ---------------------------------------------------------------- */

enum train_merged {
    TRAIN_MERGED_TREE,     /* `text`: the tree that results */
    TRAIN_MERGED_LANDED,   /* its commits are on the branch already; it lands
                              with the tree that it was merged onto */
    TRAIN_MERGED_CONFLICT, /* `text` says where and with what */
    TRAIN_MERGED_REFUSED   /* by the configuration; `text` says why */
};
/* The result of a step of TRAIN_MERGE. */
void train_merged(struct train *train, uint64_t num, enum train_merged as,
                  struct span text);
enum train_merge_end {
    TRAIN_MERGE_DONE,      /* each step was reported */
    TRAIN_MERGE_TEMPORARY, /* it failed at the first step not reported: that
                              unit leaves */
    TRAIN_MERGE_AGAIN      /* no unit is to blame; the rest is proposed again */
};
void train_merge_ended(struct train *train, enum train_merge_end end);

/* ---- results and runs
 * ---------------------------------------------------------------- */

/* A question about a recorded result; see train_key. */
struct train_question {
    uint64_t num;     /* the unit; 0: the tip */
    struct span tree; /* valid until the next call */
};
/* Each question is returned once. None are asked if results are not
 * remembered. */
bool train_next_question(struct train *train, struct train_question *ret);
void train_record(struct train *train, uint64_t num, struct span tree,
                  const struct train_record *record, struct wall now);

struct train_run {
    uint64_t num;       /* the unit; 0: the tip is run, to see if the branch is
                           broken */
    uint64_t about;     /* the unit that the tip is run for; 0: none */
    struct span tree;   /* valid until the next call */
    size_t position;    /* 1: the first unit, or the tip */
    unsigned worth_ppm; /* of 1,000,000: how likely it is to be needed */
    bool interrupts;    /* its class is in `interrupt` */
};
enum {
    TRAIN_WORTH_RANKED = 500000, /* worth this or more, or at position 1: it
                                    competes for a slot with its rank; else it
                                    comes after all other ready work */
    TRAIN_WORTH_KEPT = 250000    /* worth less: it gives its slot up when other
                                    work wants it */
};

/* The run to start next; the same one until it is begun. False: none, or no
 * lane is free. */
bool train_next_run(struct train *train, struct wall now,
                    struct train_run *ret);
void train_run_begun(struct train *train, uint64_t num, struct wall now);

enum train_run_end {
    TRAIN_RUN_PASSED,
    TRAIN_RUN_FAILED,    /* check-failed, timeout */
    TRAIN_RUN_TEMPORARY, /* it says nothing about the tree: the unit leaves */
    TRAIN_RUN_STOPPED    /* it was ended from outside; not counted */
};
/* `reason` (of life.def) and `detail` for TRAIN_RUN_FAILED. The caller records
 * a pass or failure under the key of the tree that was run, whatever the
 * candidate of the unit is now. */
void train_run_ended(struct train *train, uint64_t num, enum train_run_end end,
                     struct span reason, struct span detail, struct wall now);

enum train_claim {
    TRAIN_CLAIM_RUN,       /* the next run of this train wants a slot */
    TRAIN_CLAIM_INTERRUPT, /* the same, and it interrupts */
    TRAIN_CLAIM_OTHER      /* other work wants one */
};
/* The run to be stopped so that its slot becomes free: a stale one, or what the
 * claim may displace. Answered by train_run_ended. False: none now; also while
 * a run is being stopped. */
bool train_spare(struct train *train, enum train_claim claim,
                 uint64_t *ret_num);

/* ---- landings
 * ---------------------------------------------------------------- */

enum train_landing_end {
    TRAIN_LANDED,
    TRAIN_LANDING_LOST,      /* `moved`: somebody else moved the branch; report
                                the tip too */
    TRAIN_LANDING_CHANGED,   /* `changed`: a merge gave another tree */
    TRAIN_LANDING_TEMPORARY, /* one of its units kept the others from landing:
                                fewer are tried next. If it was alone, it
                                leaves */
    TRAIN_LANDING_STOPPED,   /* a unit was leaving; or the target closed */
    TRAIN_LANDING_REFUSED    /* its first transaction was refused: proposed
                                again after the next report */
};
/* `commit`: the new tip, for TRAIN_LANDED; its tree is not known if the target
 * has no checks. The caller has recorded a pass for
 * the key of the tip (no ids) in the transaction that made the sets D. */
void train_landing_ended(struct train *train, enum train_landing_end end,
                         struct span commit);

/* ---- proposals
 * ---------------------------------------------------------------- */

struct train_step {
    uint64_t num;
    bool aside; /* the steps behind it are not merged onto it */
};

struct train_landing_unit {
    uint64_t num;
    struct span tree; /* after its last set; empty: any, without checks */
};

enum train_effect_kind {
    TRAIN_MERGE, /* merge the steps, one after another, onto `tree`; a step
                    with a conflict is not merged onto */
    TRAIN_STOP,  /* end the run of `num` (0: of the tip), no failure */
    TRAIN_LAND,  /* land `units` if the tip is `commit` and each tree results;
                    without checks on any tip, and `commit` is empty */
    TRAIN_STOP_LANDING,
    TRAIN_FAIL, /* P | X -> F: reason, detail, `about` for dep-failed */
    TRAIN_LEAVE /* X -> P: reason; `backoff` for those of D30 */
};

struct train_effect {
    enum train_effect_kind kind;
    uint64_t num;
    struct span commit; /* the tip */
    struct span tree;   /* for MERGE */
    const struct train_step *steps;
    size_t step_count;
    const struct train_landing_unit *units;
    size_t unit_count;
    struct span reason;
    struct span detail;
    uint64_t about;
    bool backoff; /* not-before grows as after every temporary end */
};

/* Everything to be done now. Effects live in the arena. */
size_t train_scan(struct train *train, struct wall now, struct arena *arena,
                  struct train_effect **ret_effects);
/* When the passing of time alone changes something; WALL_NEVER: never. */
struct wall train_next_time(const struct train *train);
/* The clock was set back by so much. */
void train_set_back(struct train *train, int64_t ms);

/* ---- explanations
 * ---------------------------------------------------------------- */

enum train_state {
    TRAIN_BEYOND,  /* behind the first 4 x lanes units */
    TRAIN_BLOCKED, /* waits for the verdict on what it depends on */
    TRAIN_MERGING,
    TRAIN_WAITING, /* for a lane or slot */
    TRAIN_RUNNING,
    TRAIN_PASSED,
    TRAIN_FAILING,
    TRAIN_LANDING
};
const char *train_state_word(enum train_state state);

enum train_proof {
    TRAIN_TIP_UNKNOWN,  /* not known yet whether it passed */
    TRAIN_TIP_UNPROVEN, /* nothing recorded */
    TRAIN_TIP_PROVEN,
    TRAIN_TIP_BROKEN
};

struct train_overview {
    struct span commit, tree;
    enum train_proof proof;
    struct span reason, detail; /* why it is broken */
    struct wall again;          /* broken: when it is run again */
    bool tip_running;
    size_t units;
    unsigned lanes, busy; /* busy: runs, stale ones and the tip included */
    unsigned q_ppm;       /* of 1,000,000: how likely a set is to pass */
    bool landing;
};
void train_overview(const struct train *train, struct train_overview *ret);

struct train_place {
    size_t position; /* from 1 */
    uint64_t num;
    struct span id;
    enum job_class job_class;
    enum train_state state;
    const uint64_t *on_top_of; /* undecided or landing units ahead that its
                                  candidate includes */
    size_t on_top_count;
    struct span tree; /* of the candidate; empty: none yet, or a conflict */
    struct span reason, detail; /* why it is failing */
    unsigned runs;              /* begun in this stay */
    bool reused;                /* the pass was recorded before */
    bool stale;                 /* a run of an earlier candidate goes on */
    struct wall begun;          /* of its run; 0: none */
    int64_t expected_ms;        /* mean duration of recent runs; 0: unknown */
};
/* The unit at the position (from 1), or with the num. False: none. Spans live
 * until the next call that changes the train, `on_top_of` in the arena. */
bool train_place(const struct train *train, size_t position,
                 struct arena *arena, struct train_place *ret);
bool train_find(const struct train *train, uint64_t num, struct arena *arena,
                struct train_place *ret);
/* Appends sentences that say why the unit is not decided yet. `slots`, `busy`:
 * of the whole installation. False: unknown num. */
bool train_why(const struct train *train, uint64_t num, unsigned slots,
               unsigned busy, struct wall now, struct text *out);

enum train_note_kind {
#define TRAIN_NOTE(name, word) TRAIN_NOTE_##name,
#include "core/train_note.def"
#undef TRAIN_NOTE
    TRAIN_NOTES
};
const char *train_note_word(enum train_note_kind kind);

struct train_note {
    enum train_note_kind kind;
    uint64_t num;     /* the unit; 0: the tip */
    uint64_t about;   /* another unit that is the cause; 0: none */
    struct span tree; /* may be empty; valid until the next call */
    size_t position;  /* 0: none */
};
/* The next thing worth an event since the last call. False: none. */
bool train_next_note(struct train *train, struct train_note *ret);

#endif
