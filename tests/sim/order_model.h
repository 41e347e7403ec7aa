/* The naive model of the order and the pretend registry it looks at. It keeps
 * one list L and recomputes everything else from it each time, pair by pair,
 * with full lists: no groups, no splicing, no counters. */
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
    /* the model's */
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

void model_show(void);
/* May these two not run at once? */
bool share(unsigned i, unsigned k);
bool has_unknown(unsigned i);
enum { CANNOT_FAILED = 1, CANNOT_ROLLED = 2, CANNOT_UNKNOWN = 4 };
/* Why it can never run; 0: it may. */
unsigned cannot_run(unsigned i, struct wall now);
/* All i waits for directly, with full lists. */
mask full_waits(unsigned i);

/* L */
void line_clear(void);
void line_remove(unsigned i);
/* Places all that are not, given what the order proposed in this scan. */
void line_update(const struct order_effect *effects, size_t count);

#endif
