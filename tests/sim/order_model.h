/* The naive model of the order and the pretend registry it looks at. It keeps
 * one list L and recomputes everything else from it each time, pair by pair,
 * with full lists: no splicing, no counters.
 *
 * Sets that land together (##group) stand in L as one: a unit, named after its
 * first member. What a unit touches and needs outside of itself is looked up in
 * its members each time; a row without a group is a unit of its own. */
#ifndef POINTSMAN_TESTS_SIM_ORDER_MODEL_H
#define POINTSMAN_TESTS_SIM_ORDER_MODEL_H

#include "core/order.h"
#include "support/test.h"

enum { MAX = 30, PATHS = 6 };

typedef uint32_t mask; /* of numbers of sets */

/* One row of the pretend registry. */
struct row {
    bool exists, plain;
    char id[16], key[32], rank[32];
    const char *target;
    enum job_class job_class;
    enum job_state state;
    unsigned holds, touched;        /* bits of paths */
    mask deps, hints, olds, record; /* olds: those it supersedes */
    bool dep_nobody, rolled_back;
    struct wall admitted;
    unsigned group, want; /* on its target; 0: none; COUNT, 0: not said */
    uint64_t admitted_seq, ended_seq;
    unsigned unit; /* the row it stands under */
    /* the model's; of a unit at its first member */
    bool placed, doomed, wishes, moved;
    unsigned place, old_place;
};

extern const char *const model_paths[PATHS];
extern struct row rows[MAX];
extern unsigned row_count;
extern uint64_t model_seed;         /* of the history, for messages */
extern const int64_t model_wait_ms; /* for unknown dependencies */

/* Ends the test with all that is known. */
#define BROKEN(...)                                                         \
    do {                                                                    \
        char text[256];                                                     \
        snprintf(text, sizeof(text), __VA_ARGS__);                          \
        model_show();                                                       \
        fail_msg("history %llu: %s", (unsigned long long)model_seed, text); \
    } while (0)

static inline mask bit(unsigned i) {
    return (mask)1 << i;
}

static inline bool is_live(unsigned i) {
    return rows[i].exists && (STATES_LIVE & STATE_BIT(rows[i].state)) != 0;
}

static inline bool is_waiting(unsigned i) {
    return rows[i].state == STATE_QUEUED || rows[i].state == STATE_STAGED;
}

static inline bool is_open(unsigned i) {
    return rows[i].exists && is_waiting(i);
}

void model_show(void);
/* May these two rows not run at once? */
bool share(unsigned i, unsigned k);

/* ---- groups ---- */

bool same_group(unsigned i, unsigned k);
/* Has another member of its group ended without landing since it came? */
bool fails_with_group(unsigned i);
/* Are fewer members of its group present than it needs? */
bool is_incomplete(unsigned i);
/* The live rows that stand under u; 0: it is no unit, or over. */
mask members(unsigned u);
/* It lives, or sets that were made ready with it live: these end too. */
bool stands(unsigned i);
/* The open members of i's group stand under the first of them, as newcomers. */
void unit_form(unsigned i);
enum job_state unit_state(unsigned u); /* the least far one */
const char *unit_key(unsigned u);      /* the most urgent one */
bool unit_is_held(unsigned u);         /* a member is held, or members are
                                          missing */
void doom_all(unsigned u);             /* its failure is proposed ... */
void undoom_all(unsigned u);           /* ... and was not committed */
mask units_of(mask some);              /* the units these rows stand under */

/* ---- units ---- */

bool has_unknown(unsigned u);
enum {
    CANNOT_FAILED = 1,
    CANNOT_ROLLED = 2,
    CANNOT_UNKNOWN = 4,
    CANNOT_ALONE = 8, /* its group failed */
    CANNOT_WAIT = 16  /* its group did not come */
};
/* Why the row can never run; 0: it may. */
unsigned cannot_run(unsigned i, struct wall now);
/* All units u waits for directly, with full lists. */
mask full_waits(unsigned u);

/* L */
void line_clear(void);
void line_remove(unsigned u);
/* Places all that are not, given what the order proposed in this scan. */
void line_update(const struct order_effect *effects, size_t count);

#endif
