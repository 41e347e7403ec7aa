/* A naive model of the order, with a simulated registry. It keeps one list L
 * and always recomputes everything else from it, pair by pair and with full
 * lists, without updating records or counters.
 *
 * Sets that land together (##group) are in L as a unit, named after its first
 * member. What a unit touches and depends on is always found from its members;
 * a row without a group is a unit by itself. */
#ifndef POINTSMAN_TESTS_SIM_ORDER_MODEL_H
#define POINTSMAN_TESTS_SIM_ORDER_MODEL_H

#include "core/order.h"
#include "support/test.h"

enum { MAX = 30, PATHS = 6 };

typedef uint32_t mask; /* a set of row numbers */

/* One row of the simulated registry. */
struct row {
    bool exists, plain;
    char id[16], key[32], rank[32];
    const char *target;
    enum job_class job_class;
    enum job_state state;
    unsigned holds, touched;        /* bits of paths */
    mask deps, hints, olds, record; /* olds: the rows it supersedes */
    bool dep_nobody, rolled_back;
    struct wall admitted;
    unsigned group, want; /* 0: in no group, no COUNT given */
    uint64_t admitted_seq, staged_seq, ready_seq, ended_seq;
    unsigned instance; /* which of the groups of that name; from 1 */
    bool proposed;     /* to become ready */
    unsigned unit;     /* the first member of its unit */
    /* Used by the model, and kept in the first member of a unit. */
    bool placed, failing, uses_record, moved;
    unsigned place, old_place;
    mask inherited; /* by its record, from sets that left before they had a
                       place */
};

extern const char *const model_paths[PATHS];
extern struct row rows[MAX];
extern unsigned row_count;
extern uint64_t model_seed;         /* of the history, for messages */
extern const int64_t model_wait_ms; /* the time to wait for dependencies */

/* Shows everything known, and fails the test. */
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
/* Returns whether the two rows must not run at the same time. */
bool rows_clash(unsigned i, unsigned k);

/* ---- groups ---- */

bool same_name(unsigned i, unsigned k);
bool same_group(unsigned i, unsigned k);
/* Row i has come: finds the group of its name that it belongs to. */
void group_begin(unsigned i);
/* No row is proposed to become ready any more: if the newest group of a name
 * did not become ready, the rows that came meanwhile belong to it. */
void groups_merge(void);
/* Returns whether a member of its group ended without landing. */
bool fails_with_group(unsigned i);
/* Returns whether members of its group are still missing. */
bool is_incomplete(unsigned i);
/* The live rows of unit u; 0 if u is not a unit or has ended. */
mask members(unsigned u);
/* Returns whether i or another set of its unit is live: they end together. */
bool is_active(unsigned i);
/* Makes the open members of i's group one new unit. */
void unit_form(unsigned i);
enum job_state unit_state(unsigned u); /* the state of its last member */
const char *unit_key(unsigned u);      /* the key of its most urgent member */
bool unit_is_held(unsigned u);         /* a member is held or missing */
void mark_failing(unsigned u);         /* its failure is proposed */
void unmark_failing(unsigned u);       /* the failure was not committed */
mask units_of(mask some);              /* the units of these rows */

/* ---- units ---- */

bool has_unknown(unsigned u);
enum {
    CANNOT_FAILED = 1,
    CANNOT_ROLLED = 2,
    CANNOT_UNKNOWN = 4,
    CANNOT_ALONE = 8, /* its group failed */
    CANNOT_WAIT = 16  /* its group is incomplete */
};
/* The reasons why the row can never run, or 0. */
unsigned cannot_run(unsigned i, struct wall now);
/* All units that u directly waits for, as full lists. */
mask full_waits(unsigned u);

/* The list L. */
void line_clear(void);
void line_remove(unsigned u);
/* Places all units, given the proposals of the order in this scan. */
void line_update(const struct order_effect *effects, size_t count);

#endif
