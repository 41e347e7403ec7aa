/* A job as plain data (glossary: ARCHITECTURE.md). The store keeps jobs, the
 * core decides about them, codecs and pages format them. */
#ifndef POINTSMAN_CORE_JOB_H
#define POINTSMAN_CORE_JOB_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/arena.h"
#include "lib/text.h"
#include "lib/time.h"

enum job_kind {
#define JOB_KIND(name, word, traits) JOB_##name,
#include "core/life.def"
#undef JOB_KIND
    JOB_KINDS
};

enum job_class {
#define JOB_CLASS(name, word, meaning, traits) CLASS_##name,
#include "core/life.def"
#undef JOB_CLASS
    JOB_CLASSES
};

/* Facts about a job that modules other than that of its kind need. */
enum job_trait {
    JOB_HAS_FILE = 1 << 0, /* has a job file, a tarball and a log in the base */
    JOB_LANDS = 1 << 1,    /* lands on a target: it needs a lane there, its
                              verdict is what landing reports, and after a
                              crash the target is asked whether it landed */
    JOB_CAN_BE_APPROVED = 1 << 2,
    JOB_CAN_BE_GROUPED = 1 << 3,
    JOB_CAN_BE_ROLLED_BACK = 1 << 4,
    JOB_HAS_EXIT_CODE = 1 << 5, /* the exit code of its process; for jobs
                                   without it, 1 means that the job failed */
    JOB_ROLLS_BACK = 1 << 6,    /* rolls back other jobs */
    JOB_ON_NODES = 1 << 7       /* has a task on each node, for as long as it
                                   stands; it does not start as a whole */
};

enum job_state {
#define JOB_STATE(name, letter, word, dir, group, traits) STATE_##name,
#include "core/life.def"
#undef JOB_STATE
    JOB_STATES,
    STATE_NONE = JOB_STATES /* not admitted */
};

enum job_hold {
#define JOB_HOLD(name, bit, word, lifter) HOLD_##name = 1 << (bit),
#include "core/life.def"
#undef JOB_HOLD
};

enum {
    HOLDS_ALL = 0
#define JOB_HOLD(name, bit, word, lifter) | HOLD_##name
#include "core/life.def"
#undef JOB_HOLD
    ,
    /* Those that the command `release` lifts. */
    HOLDS_RELEASED =
        HOLD_OPERATOR | HOLD_AMBIGUOUS | HOLD_ACCOUNT | HOLD_RESTORED
};

/* Facts from a command's submission that the program needs often. */
enum job_flag {
    JOB_AT_MOST_ONCE = 1 << 0,
    JOB_ARRAY = 1 << 1,
    JOB_BEGINS = 1 << 2 /* not before a time that its submitter named */
};

enum task_status {
#define TASK_STATUS(name, word) TASK_##name,
#include "core/life.def"
#undef TASK_STATUS
    TASK_STATUSES
};

enum edge_kind {
#define EDGE_KIND(name, word) EDGE_##name,
#include "core/life.def"
#undef EDGE_KIND
    EDGE_KINDS
};

enum event_kind {
#define EVENT_KIND(name, word, traits) EVENT_##name,
#include "core/life.def"
#undef EVENT_KIND
    EVENT_KINDS
};

enum event_trait {
    EVENT_IN_LOG = 1 << 0 /* belongs in log/CSID of its set even if it comes
                             after the end of the set */
};

struct job;

/* What the jobs of one submitter with the same singleton key touch: no key of
 * --touches, because it has more than one line. */
struct span job_singleton_path(struct span key, struct span actor,
                               struct arena *arena);
/* The key in such a path. False: it is another one. */
bool job_singleton_key(struct span path, struct span *ret_key);

/* The bit of a state in a set of states. */
#define STATE_BIT(state) (1u << (state))

enum state_trait {
    STATE_WAITS = 1 << 0, /* the job has to be started */
    STATE_ENDS = 1 << 1   /* the job has ended */
};

/* The states that have the trait. */
#define STATES_WITH(trait, state, traits) \
    | (((traits) & (trait)) != 0 ? 1 << (state) : 0)
enum {
    STATES_ALL = (1 << JOB_STATES) - 1,
    STATES_WAITING = 0
#define JOB_STATE(name, letter, word, dir, group, traits) \
    STATES_WITH(STATE_WAITS, STATE_##name, traits)
#include "core/life.def"
#undef JOB_STATE
    ,
    STATES_FINAL = 0
#define JOB_STATE(name, letter, word, dir, group, traits) \
    STATES_WITH(STATE_ENDS, STATE_##name, traits)
#include "core/life.def"
#undef JOB_STATE
    ,
    STATES_LIVE = STATES_ALL & ~STATES_FINAL
};

const char *job_kind_word(enum job_kind kind);
bool job_kind_parse(struct span word, enum job_kind *ret_kind);
bool job_kind_has(enum job_kind kind, enum job_trait trait);
/* The kinds that have the trait, as bits of 1 << kind. */
unsigned job_kinds_with(enum job_trait trait);
const char *job_class_word(enum job_class job_class); /* "RB" */
bool job_class_parse(struct span word, enum job_class *ret_class);
char job_state_letter(enum job_state state); /* '-' for none */
struct span job_state_letter_span(enum job_state state);
const char *job_state_word(enum job_state state);  /* "queued" */
const char *job_state_dir(enum job_state state);   /* "queue" */
const char *job_state_group(enum job_state state); /* "submitted" */
bool job_state_parse(struct span word, enum job_state *ret_state);
bool job_state_of_letter(char letter, enum job_state *ret_state);
bool job_state_is_final(enum job_state state);
const char *job_task_status_word(enum task_status status);
bool job_task_status_parse(struct span word, enum task_status *ret_status);
const char *job_edge_kind_word(enum edge_kind kind);
bool job_edge_kind_parse(struct span word, enum edge_kind *ret_kind);
/* True if a job waits for `to` because of what becomes of that. */
bool job_edge_is_dependency(enum edge_kind kind);
const char *job_event_kind_word(enum event_kind kind);
bool job_event_kind_parse(struct span word, enum event_kind *ret_kind);
bool job_event_kind_has(enum event_kind kind, enum event_trait trait);
const char *job_hold_word(enum job_hold one_bit);
/* "operator, approval": the words for all bits that are set. */
void job_holds_format(unsigned holds, struct text *out);
/* The classes that give a job the trait, as bits of 1 << class. */
unsigned job_classes_with(enum job_trait trait);
/* True if the kind or the class gives the job this trait. */
bool job_has(const struct job *job, enum job_trait trait);
/* Copies the job and all its spans into the arena; the two may be the same. */
void job_copy(struct arena *arena, const struct job *job, struct job *ret_job);
/* True if two sets that name the same group mean the same name: that of one
 * submitter on one target. Several groups may have had it (core/group_life.h).
 */
bool job_shares_group(const struct job *job, const struct job *other);
/* True if its not_before, if any, is the time that its submitter named, and not
 * the end of a back-off. */
bool job_begins(const struct job *job);
/* The key that the job is scheduled by: inherited (O14) or its own. */
struct span job_rank(const struct job *job);
/* True if life.def lists this step with this reason. */
bool job_step_is_legal(enum job_state from, enum job_state to,
                       struct span reason);

enum {
    JOB_ID_BYTES = 64,    /* longest id */
    JOB_KEY_BYTES = 200,  /* longest order key */
    JOB_REASON_BYTES = 64 /* longest reason word; details are free text */
};

/* A path that a job touches. Its directories are not listed: they follow from
 * it (O2). */
struct job_touch {
    struct span path; /* for commands: a key of --touches */
    bool deleted;
};

struct job_edge {
    enum edge_kind kind;
    struct span to; /* an id that may not be known yet */
    unsigned share; /* of EDGE_AFTER_SHARE: percent, 1 to 100 */
};

/* One admitted job. Its spans point into memory of the code that returned
 * it. */
struct job {
    uint64_t num; /* position in order of admission; set by the registry */
    struct span id;
    enum job_kind kind;
    enum job_class job_class;
    enum job_state state;
    struct span key;     /* its own order key, memcmp-able (wire/set_name.h) */
    struct span rank;    /* key used for scheduling: its own or inherited
                            (O14) */
    struct span target;  /* for changes; empty for commands */
    struct span name;    /* full change-set name; empty for commands */
    struct span reason;  /* of the last step */
    struct span detail;  /* a sentence for people */
    struct span actor;   /* the submitter: "uid:1000" */
    struct span cause;   /* "person", "retry of j…", … */
    struct span sum;     /* SHA-256 in hex of the tarball, or of spec */
    uint64_t size_bytes; /* size of the tarball */
    struct span spec;    /* the submission as JSON, formatted in advance */
    /* Decoded from `spec` at admission. For commands: */
    unsigned retries, flags; /* flags: of enum job_flag */
    /* For changes: the number of sets in its group, 0 if not given; and the tip
     * of the target's branch at admission: a commit, "none" if there was no
     * such branch, empty if unknown. */
    unsigned group_size;
    struct span seen;
    /* For a done change: the RB that rolled it back; empty: it is in effect. */
    struct span rolled_back_by;
    struct wall owed;               /* when the owed approval is due (A5); 0:
                                       none owed */
    unsigned holds;                 /* bits of enum job_hold */
    unsigned attempt;               /* attempts begun */
    unsigned temps, crashes, fails; /* temporary, abnormal and failed ends */
    unsigned tasks, tasks_done;     /* 1 and 0/1, except for arrays */
    unsigned max_running;           /* tasks at once; 0: no limit of its own */
    struct wall admitted, since;    /* when it entered the queue; when it
                                       entered the state */
    struct wall not_before;         /* 0: at once */
    uint64_t admitted_seq, state_seq, record_seq; /* record: 0 = none */
    uint32_t uid;
    bool has_relations; /* has edges or touches: the order must know it */
    bool cancel_asked;  /* while it was executing */
    bool stale;         /* its job file may be in another directory (C11) */
};

#endif
