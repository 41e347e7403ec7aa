/* For tests of the order: sets arrive, the order proposes steps, and a
 * simulated registry commits them. The relations of a set are written as one
 * string: dc("b", "f g <a ~h ^o") is a development change that touches f and g,
 * depends on a, hints at h, and supersedes o. */
#ifndef POINTSMAN_TESTS_SUPPORT_ORDER_STORY_H
#define POINTSMAN_TESTS_SUPPORT_ORDER_STORY_H

#include "core/order.h"
#include "support/order_check.h"
#include "support/test.h"

static struct order *order;
static struct arena arena;
static struct wall now;

enum { SETS = 64 };
static struct set {
    char id[16], key[16];
    enum job_state state;
    char reason[32], detail[160];
    char record[160]; /* precursors, sorted as proposed */
    char rank[16];
    unsigned offers; /* how often it was to be offered again */
} sets[SETS + 1];
static size_t set_count;

static inline int setup(void **state) {
    (void)state;
    arena = ARENA_INIT;
    now = wall_from_s(1700000000);
    memset(sets, 0, sizeof(sets));
    set_count = 0;
    struct order_limits limits = {.wait_for_dep_ms = 3600 * 1000};
    order = order_new(&limits);
    return 0;
}

static inline int teardown(void **state) {
    (void)state;
    order_free(order);
    arena_clear(&arena);
    return 0;
}

static inline struct set *set_of(const char *id) {
    for (size_t i = set_count; i >= 1; i--)
        if (strcmp(sets[i].id, id) == 0)
            return &sets[i];
    fail_msg("no set %s", id);
    return NULL;
}

static inline uint64_t num_of(const char *id) {
    return (uint64_t)(set_of(id) - sets);
}

/* The relations of a set: "f g" touches files, "<a" depends on a, "~a" hints at
 * a, "!a" runs after any end of a, "?a" after its failure, "60%a" once so much
 * of its tasks are done, "^a" supersedes a, "=a" has the recorded precursor a,
 * "+a" has the alias a (they land together). */
static inline void add_as(enum job_class job_class, const char *id,
                          const char *says, enum job_state state,
                          const char *target) {
    struct job_edge edges[16];
    struct job_touch touches[16];
    struct span aliases[4];
    struct order_entry entry = {
        .edges = edges, .touches = touches, .aliases = aliases};
    struct span rest = span_of(says), word;
    while (rest.len > 0 && span_cut(&rest, ' ', &word)) {
        enum edge_kind kind = EDGE_DEPENDENCY;
        if (word.len == 0)
            continue;
        if (word.p[0] == '+') {
            aliases[entry.alias_count++] = span_make(word.p + 1, word.len - 1);
            continue;
        }
        struct span to = word, share;
        uint64_t percent;
        if (span_cut(&to, '%', &share) && to.len > 0 &&
            span_u64(share, &percent)) {
            edges[entry.edge_count++] =
                (struct job_edge){EDGE_AFTER_SHARE, to, (unsigned)percent};
            continue;
        }
        const char *mark = strchr("<~^=!?", word.p[0]);
        if (mark == NULL) {
            touches[entry.touch_count++] = (struct job_touch){.path = word};
            continue;
        }
        kind = (enum edge_kind[]){EDGE_DEPENDENCY, EDGE_HINT,
                                  EDGE_SUPERSEDES, EDGE_PRECURSOR,
                                  EDGE_AFTER_ANY,  EDGE_AFTER_FAILED}[mark -
                                                                      "<~^=!?"];
        edges[entry.edge_count++] = (struct job_edge){
            .kind = kind, .to = span_make(word.p + 1, word.len - 1)};
    }
    assert_true(set_count < SETS);
    struct set *set = &sets[++set_count];
    snprintf(set->id, sizeof(set->id), "%s", id);
    snprintf(set->key, sizeof(set->key), "%d%03zu", (int)job_class, set_count);
    set->state = state;
    entry.num = set_count;
    entry.id = span_of(set->id);
    entry.job_class = job_class;
    entry.rb = job_class == CLASS_RB;
    entry.state = state;
    entry.was = STATE_STAGED; /* only used in state A */
    entry.key = span_of(set->key);
    entry.target = span_of(target);
    entry.admitted = entry.since = now;
    order_admit(order, &entry);
}

static inline void add(enum job_class job_class, const char *id,
                       const char *says) {
    add_as(job_class, id, says, STATE_QUEUED, "main");
}

static inline void dc(const char *id, const char *says) {
    add(CLASS_DC, id, says);
}

static inline void move(const char *id, enum job_state to) {
    set_of(id)->state = to;
    assert_true(order_move(order, num_of(id), to, now, false));
}

static inline void outside(const char *id, enum job_state state) {
    struct order_other other = {
        .id = span_of(id), .state = state, .since = now};
    order_outside(order, &other);
}

static inline void commit(const struct order_effect *effect) {
    struct set *set = &sets[effect->num];
    enum job_state to = STATE_NONE;
    if (effect->kind == ORDER_RANK) {
        snprintf(set->rank, sizeof(set->rank), "%.*s", (int)effect->rank.len,
                 effect->rank.p);
        return;
    }
    assert_int_equal(set->state, effect->from);
    if (effect->kind == ORDER_STAGE || effect->kind == ORDER_SPLICE) {
        set->record[0] = '\0';
        for (size_t i = 0; i < effect->precursor_count; i++)
            snprintf(set->record + strlen(set->record),
                     sizeof(set->record) - strlen(set->record), "%s%.*s",
                     i > 0 ? " " : "", (int)effect->precursors[i].len,
                     effect->precursors[i].p);
    }
    switch (effect->kind) {
    case ORDER_STAGE:
        to = STATE_STAGED;
        break;
    case ORDER_TO_PENDING_RB:
    case ORDER_READY:
    case ORDER_FOLLOW:
        to = STATE_PENDING;
        break;
    case ORDER_FAIL:
        to = STATE_FAILED;
        break;
    case ORDER_RECOMPUTE:
        to = STATE_QUEUED;
        break;
    case ORDER_OFFER:
        set->offers++;
        return;
    case ORDER_SPLICE:
    case ORDER_RANK:
        return;
    }
    assert_true(job_step_is_legal(set->state, to, effect->reason));
    snprintf(set->reason, sizeof(set->reason), "%.*s", (int)effect->reason.len,
             effect->reason.p);
    snprintf(set->detail, sizeof(set->detail), "%.*s", (int)effect->detail.len,
             effect->detail.p);
    set->state = to;
    order_move(order, effect->num, to, now, false);
}

/* Does one scan and commits everything that it proposes. Ids that were never
 * added are unknown. */
static inline size_t scan(void) {
    struct order_effect *effects;
    struct span id;
    while (order_next_unknown(order, &id)) {
        struct order_other other = {.id = id, .state = STATE_NONE};
        for (size_t i = 1; i <= set_count; i++)
            if (span_is(id, sets[i].id))
                other.state = sets[i].state;
        order_outside(order, &other);
    }
    size_t count = order_scan(order, now, &arena, &effects);
    for (size_t i = 0; i < count; i++)
        commit(&effects[i]);
    order_check(order);
    return count;
}

static inline void settle(void) {
    for (int i = 0; scan() > 0; i++)
        assert_true(i < 100);
}

static inline void is(const char *id, enum job_state state) {
    if (set_of(id)->state != state)
        fail_msg("%s is in state %c, expected %c (%s)", id,
                 job_state_letter(set_of(id)->state), job_state_letter(state),
                 set_of(id)->reason);
}

static inline void failed(const char *id, const char *reason,
                          const char *detail) {
    is(id, STATE_FAILED);
    assert_string_equal(set_of(id)->reason, reason);
    assert_string_equal(set_of(id)->detail, detail);
}

static inline void run(const char *id) {
    is(id, STATE_PENDING);
    move(id, STATE_EXECUTING);
    settle();
    move(id, STATE_DONE);
    settle();
}

#define STORY(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

#endif
