/* The order (core/order.h) against a naive model, over thousands of random
 * histories (spec/change-queue.md §6.2, end): 3 to 25 sets and commands on six
 * paths, with failures, temporary ends, cancels, holds, late and unknown
 * dependencies, cycles, successors, plain commands, rollbacks after the fact,
 * lost proposals and restarts.
 *
 * The model (sim/order_model.h) judges every proposal when it is committed (may
 * this job go?) and, whenever nothing is proposed any more, everything that was
 * not proposed (must this one wait?).
 *
 * POINTSMAN_HISTORIES=N for more than the usual number, POINTSMAN_SEED=N to
 * begin elsewhere. */
#include "sim/order_model.h"

#include "base/random.h"

enum { STEPS = 60, HISTORIES = 12000 };

static const char *const targets[] = {"main", "main", "main", "site", ""};

static struct wall now;
static struct order *order;
static struct arena arena;
static struct random chance;
static uint64_t digest;
static struct {
    unsigned long proposals, lost, ready, failed, cycles, recomputed, spliced,
        ranks, restarts, drained;
} seen;

static bool percent(unsigned p) {
    return random_percent(&chance, p);
}

static unsigned below(unsigned n) {
    return (unsigned)random_below(&chance, n);
}

/* ---- the registry -------------------------------------------------------- */

static void tell_outside(unsigned i) {
    struct span successors[MAX];
    struct order_other other = {.id = span_of(rows[i].id),
                                .state = rows[i].state,
                                .rolled_back = rows[i].rolled_back,
                                .since = now,
                                .num = i + 1,
                                .key = span_of(rows[i].key),
                                .rank = span_of(rows[i].rank),
                                .successors = successors};

    for (unsigned k = 0; k < row_count; k++)
        if (rows[k].exists && rows[k].olds & bit(i))
            successors[other.successor_count++] = span_of(rows[k].id);
    order_outside(order, &other);
}

static void answer(void) {
    struct span id;

    while (order_next_unknown(order, &id)) {
        unsigned i = 0;
        while (i < row_count && !(rows[i].exists && span_is(id, rows[i].id)))
            i++;
        if (i < row_count)
            tell_outside(i);
        else
            order_outside(order,
                          &(struct order_other){.id = id, .state = STATE_NONE});
    }
}

static void step(unsigned i, enum job_state to) {
    rows[i].state = to;
    rows[i].doomed = false;
    if (job_state_is_final(to)) {
        line_remove(i);
        rows[i].placed = false;
    }
    if (!rows[i].plain)
        order_move(order, i + 1, to, now, false);
    else if (order_watches(order, span_of(rows[i].id)))
        tell_outside(i);
}

static void add_edges(unsigned i, struct job_edge *edges, size_t *count,
                      enum edge_kind kind, mask to) {
    static char names[MAX][16];

    (void)i;
    for (unsigned k = 0; k < MAX; k++)
        if (to & bit(k)) {
            snprintf(names[k], sizeof(names[k]), "s%u", k);
            edges[(*count)++] =
                (struct job_edge){.kind = kind, .to = span_of(names[k])};
        }
}

static void admit(unsigned i, bool at_start) {
    struct job_edge edges[4 * MAX + 1];
    struct job_touch touches[PATHS];
    struct row *row = &rows[i];
    struct order_entry entry = {.num = i + 1,
                                .id = span_of(row->id),
                                .job_class = row->job_class,
                                .state = row->state,
                                .key = span_of(row->key),
                                .rank = span_of(row->rank),
                                .target = span_of(row->target),
                                .holds = row->holds,
                                .admitted = row->admitted,
                                .since = now,
                                .edges = edges,
                                .touches = touches};

    if (row->plain) {
        if (order_watches(order, span_of(row->id)))
            tell_outside(i);
        return;
    }
    add_edges(i, edges, &entry.edge_count, EDGE_DEPENDENCY, row->deps);
    add_edges(i, edges, &entry.edge_count, EDGE_HINT, row->hints);
    add_edges(i, edges, &entry.edge_count, EDGE_SUPERSEDES, row->olds);
    if (at_start)
        add_edges(i, edges, &entry.edge_count, EDGE_PRECURSOR, row->record);
    if (row->dep_nobody)
        edges[entry.edge_count++] =
            (struct job_edge){.kind = EDGE_DEPENDENCY, .to = SPAN("nobody")};
    for (unsigned p = 0; p < PATHS; p++)
        if (row->touched >> p & 1)
            touches[entry.touch_count++] =
                (struct job_touch){.path = span_of(model_paths[p])};
    order_admit(order, &entry);
}

static void restart(void) {
    struct order_limits limits = {.wait_for_dep_ms = model_wait_ms};

    order_free(order);
    order = order_new(&limits);
    line_clear();
    for (unsigned i = 0; i < row_count; i++) {
        rows[i].placed = rows[i].doomed = rows[i].moved = false;
        rows[i].old_place = 0;
        rows[i].wishes = true;
        if (is_live(i) && !rows[i].plain)
            admit(i, true);
        if (rows[i].plain) /* nobody may be left to give it back */
            memcpy(rows[i].rank, rows[i].key, sizeof(rows[i].rank));
    }
    seen.restarts++;
}

/* ---- judging proposals --------------------------------------------------- */

static void judge_ready(unsigned i) {
    mask waits = full_waits(i);

    if (rows[i].holds != 0)
        BROKEN("%s is held and was made ready", rows[i].id);
    if (waits != 0)
        BROKEN("%s was made ready before %s", rows[i].id,
               rows[__builtin_ctz(waits)].id);
    if (cannot_run(i, now) != 0 || has_unknown(i))
        BROKEN("%s was made ready without its dependency", rows[i].id);
    for (unsigned k = 0; k < row_count; k++)
        if (k != i && share(i, k) &&
            (rows[k].state == STATE_PENDING ||
             rows[k].state == STATE_EXECUTING))
            BROKEN("%s and %s may run at once", rows[i].id, rows[k].id);
}

static void judge_failure(unsigned i, struct span reason) {
    unsigned why = cannot_run(i, now);
    bool right = span_is(reason, "dep-failed")        ? why & CANNOT_FAILED
                 : span_is(reason, "dep-rolled-back") ? why & CANNOT_ROLLED
                 : span_is(reason, "dep-unknown")     ? why & CANNOT_UNKNOWN
                                                      : false;

    if (span_is(reason, "dep-cycle"))
        return; /* judged when it was proposed */
    if (rows[i].holds != 0 || !right)
        BROKEN("%s was failed: %.*s", rows[i].id, (int)reason.len, reason.p);
}

static mask ids_mask(const struct span *ids, size_t count) {
    mask all = 0;

    for (size_t p = 0; p < count; p++) {
        unsigned i = 0;
        while (i < row_count && !span_is(ids[p], rows[i].id))
            i++;
        if (i == row_count)
            BROKEN("a precursor nobody knows");
        if (all & bit(i))
            BROKEN("precursor %s twice", rows[i].id);
        all |= bit(i);
    }
    return all;
}

static void digest_add(const struct order_effect *effect) {
    digest = (digest ^ effect->num ^ (uint64_t)effect->kind << 8 ^
              effect->precursor_count << 16) *
             UINT64_C(0x100000001b3);
}

static void commit(const struct order_effect *effect) {
    unsigned i = (unsigned)effect->num - 1;
    struct row *row = &rows[i];

    switch (effect->kind) {
    case ORDER_RANK:
        snprintf(row->rank, sizeof(row->rank), "%.*s", (int)effect->rank.len,
                 effect->rank.p);
        seen.ranks++;
        return;
    case ORDER_SPLICE:
        row->record = ids_mask(effect->precursors, effect->precursor_count);
        seen.spliced++;
        return;
    case ORDER_STAGE:
        if (row->holds != 0)
            BROKEN("%s is held and was staged", row->id);
        row->record = ids_mask(effect->precursors, effect->precursor_count);
        step(i, STATE_STAGED);
        return;
    case ORDER_READY:
        judge_ready(i);
        seen.ready++;
        step(i, STATE_PENDING);
        return;
    case ORDER_RECOMPUTE:
        seen.recomputed++;
        step(i, STATE_QUEUED);
        return;
    case ORDER_FAIL:
        if (!job_step_is_legal(row->state, STATE_FAILED, effect->reason))
            BROKEN("%s cannot fail from %c", row->id,
                   job_state_letter(row->state));
        judge_failure(i, effect->reason);
        seen.failed++;
        step(i, STATE_FAILED);
        return;
    case ORDER_TO_PENDING_RB:
        BROKEN("no rollbacks here");
    }
}

/* Between proposal and commit another process cancelled it. */
static bool is_cancelled(const struct order_effect *effect) {
    unsigned i = (unsigned)effect->num - 1;

    if (rows[i].plain || effect->kind == ORDER_RANK || !percent(2))
        return false;
    step(i, STATE_TERMINATED);
    seen.lost++;
    return true;
}

/* The disk was full: nothing of it, nor of what follows, was committed. */
static void lose_rest(const struct order_effect *effects, size_t count) {
    for (size_t e = 0; e < count; e++) {
        rows[effects[e].num - 1].doomed = false;
        seen.lost++;
        if (!order_again(order, effects[e].num) &&
            effects[e].kind == ORDER_RANK)
            commit(&effects[e]); /* later, as it is */
    }
}

/* One scan. Proposals are committed in their order, each if the state is still
 * the one it was made for. */
static size_t scan(bool may_lose) {
    struct order_effect *effects;
    size_t count;

    answer();
    count = order_scan(order, now, &arena, &effects);
    for (size_t e = 0; e < count; e++) {
        digest_add(&effects[e]);
        seen.cycles += effects[e].kind == ORDER_FAIL &&
                       span_is(effects[e].reason, "dep-cycle");
    }
    line_update(effects, count);
    /* Cascades: what fails now is failed for those behind it in this scan. */
    for (size_t e = 0; e < count; e++)
        if (effects[e].kind == ORDER_FAIL)
            rows[effects[e].num - 1].doomed = true;
    seen.proposals += count;
    for (size_t e = 0; e < count; e++) {
        unsigned i = (unsigned)effects[e].num - 1;
        if (effects[e].kind != ORDER_RANK && rows[i].state != effects[e].from)
            continue; /* lost to somebody, who has told us */
        if (may_lose && is_cancelled(&effects[e]))
            continue;
        if (may_lose && percent(1)) {
            lose_rest(&effects[e], count - e);
            break;
        }
        commit(&effects[e]);
    }
    order_check(order);
    return count;
}

/* ---- when nothing is proposed any more ----------------------------------- */

static void close_over(mask *waits) {
    for (unsigned k = 0; k < row_count; k++)
        for (unsigned i = 0; i < row_count; i++)
            if (waits[i] & bit(k))
                waits[i] |= waits[k];
}

/* What is on record says, taken together, the same as the full lists. */
static void judge_records(const mask *full) {
    mask recorded[MAX] = {0}, live = 0;

    for (unsigned i = 0; i < row_count; i++)
        if (is_live(i))
            live |= bit(i);
    for (unsigned i = 0; i < row_count; i++)
        if (is_waiting(i) && rows[i].placed)
            recorded[i] = (rows[i].state == STATE_STAGED ? rows[i].record
                                                         : full_waits(i)) &
                          live;
    close_over(recorded);
    for (unsigned i = 0; i < row_count; i++)
        if (rows[i].exists && rows[i].state == STATE_STAGED && rows[i].placed &&
            recorded[i] != full[i])
            BROKEN("the record of %s says %x, not %x", rows[i].id, recorded[i],
                   full[i]);
}

static void judge_ranks(const mask *full) {
    for (unsigned i = 0; i < row_count; i++) {
        const char *best = rows[i].key;
        if (!rows[i].exists || rows[i].state != STATE_PENDING)
            continue;
        for (unsigned k = 0; k < row_count; k++)
            if (rows[k].placed && full[k] & bit(i) &&
                strcmp(rows[k].key, best) < 0)
                best = rows[k].key;
        if (strcmp(rows[i].rank, best) != 0)
            BROKEN("%s has rank %s, not %s", rows[i].id, rows[i].rank, best);
    }
}

static void judge_rest(void) {
    mask full[MAX] = {0};

    for (unsigned i = 0; i < row_count; i++) {
        if (!is_live(i) || rows[i].plain)
            continue;
        if (!rows[i].placed)
            BROKEN("%s was forgotten", rows[i].id);
        if (!is_waiting(i))
            continue;
        full[i] = full_waits(i);
        if (rows[i].holds != 0)
            continue;
        if (rows[i].state == STATE_QUEUED)
            BROKEN("%s was not staged", rows[i].id);
        if (cannot_run(i, now) != 0)
            BROKEN("%s did not fail", rows[i].id);
        if (full[i] == 0 && !has_unknown(i))
            BROKEN("%s waits for nobody and is not ready", rows[i].id);
    }
    close_over(full);
    for (unsigned i = 0; i < row_count; i++)
        if (full[i] & bit(i))
            BROKEN("%s waits for itself", rows[i].id);
    judge_ranks(full);
    for (unsigned i = 0; i < row_count; i++)
        if (rows[i].holds != 0 && is_live(i))
            return; /* its record may be out of date until it is released */
    judge_records(full);
}

static void settle(bool may_lose) {
    unsigned scans = 0;

    while (scan(may_lose) > 0)
        if (++scans > 200)
            BROKEN("it never comes to rest");
    judge_rest();
}

/* ---- a history ----------------------------------------------------------- */

static void row_new(unsigned most) {
    unsigned i = row_count;
    struct row *row = &rows[i];

    if (i >= most)
        return;
    row_count++;
    *row = (struct row){.exists = true, .admitted = now};
    snprintf(row->id, sizeof(row->id), "s%u", i);
    row->job_class = (enum job_class)(1 + below(3));
    snprintf(row->key, sizeof(row->key), "%d%02u%02u", (int)row->job_class,
             below(40), i);
    memcpy(row->rank, row->key, sizeof(row->rank));
    row->state = STATE_QUEUED;
    row->target = targets[below(5)];
    row->plain = percent(8);
    if (row->plain) {
        row->target = "";
        row->state = STATE_PENDING;
        admit(i, false);
        return;
    }
    for (unsigned files = 1 + below(3); files > 0; files--)
        row->touched |= 1u << below(PATHS);
    if (percent(45))
        for (unsigned n = 1 + below(2); n > 0; n--)
            row->deps |= bit(below(percent(30) ? most : i + 1));
    if (!percent(3))
        row->deps &= ~bit(i);
    row->dep_nobody = percent(2);
    if (percent(15))
        row->hints |= bit(below(most)) & ~bit(i);
    for (unsigned k = 0; k < i; k++)
        if (percent(30) && rows[k].exists && !rows[k].plain &&
            (rows[k].state == STATE_FAILED ||
             rows[k].state == STATE_TERMINATED))
            row->olds |= bit(k);
    if (percent(10))
        row->holds = percent(50) ? HOLD_OPERATOR : HOLD_APPROVAL;
    admit(i, false);
}

/* Any job in that state; -1: none. */
static int any_in(unsigned states) {
    unsigned begin = row_count > 0 ? below(row_count) : 0;

    for (unsigned n = 0; n < row_count; n++) {
        unsigned i = (begin + n) % row_count;
        if (rows[i].exists && states & STATE_BIT(rows[i].state))
            return (int)i;
    }
    return -1;
}

static void start_one(void) {
    int i = any_in(STATE_BIT(STATE_PENDING));

    if (i < 0 || rows[i].holds != 0)
        return;
    for (unsigned k = 0; k < row_count; k++)
        if (rows[k].exists && rows[k].state == STATE_EXECUTING &&
            share((unsigned)i, k))
            BROKEN("%s and %s run at once", rows[i].id, rows[k].id);
    step((unsigned)i, STATE_EXECUTING);
}

static void end_one(bool well) {
    int i = any_in(STATE_BIT(STATE_EXECUTING));
    const enum job_state ends[] = {STATE_DONE,   STATE_DONE,   STATE_DONE,
                                   STATE_FAILED, STATE_FAILED, STATE_TERMINATED,
                                   STATE_PENDING};

    if (i >= 0)
        step((unsigned)i, well ? STATE_DONE : ends[below(COUNT(ends))]);
}

static void cancel_one(void) {
    int i = any_in(STATES_WAITING);

    if (i >= 0)
        step((unsigned)i, STATE_TERMINATED);
}

static void hold_one(unsigned holds) {
    int i = any_in(STATES_WAITING);

    if (i < 0 || rows[i].plain)
        return;
    rows[i].holds = holds;
    order_hold(order, (uint64_t)i + 1, holds);
}

static void roll_back_one(void) {
    int i = any_in(STATE_BIT(STATE_DONE));

    if (i < 0 || rows[i].rolled_back)
        return;
    rows[i].rolled_back = true;
    if (order_watches(order, span_of(rows[i].id)))
        tell_outside((unsigned)i);
}

static void random_step(unsigned most) {
    unsigned draw = below(100);

    if (draw < 25)
        row_new(most);
    else if (draw < 45)
        start_one();
    else if (draw < 65)
        end_one(false);
    else if (draw < 72)
        cancel_one();
    else if (draw < 76)
        hold_one(HOLD_OPERATOR);
    else if (draw < 82)
        hold_one(0);
    else if (draw < 84)
        roll_back_one();
    else if (draw < 86)
        restart();
    else if (draw < 87)
        now = wall_add_ms(now, model_wait_ms / 3);
    else if (draw < 93)
        scan(true); /* one step of a queue that is busy */
    else
        settle(true);
}

static void history_begin(uint64_t number) {
    struct order_limits limits = {.wait_for_dep_ms = model_wait_ms};

    model_seed = number;
    memset(rows, 0, sizeof(rows));
    row_count = 0;
    line_clear();
    digest = number;
    now = wall_from_s(1700000000);
    random_init(&chance, number);
    arena = ARENA_INIT;
    order = order_new(&limits);
}

/* Everything is released, runs, and ends well: the queue must drain. */
static void drain(void) {
    for (unsigned i = 0; i < row_count; i++)
        if (is_live(i) && rows[i].holds != 0) {
            rows[i].holds = 0;
            order_hold(order, i + 1, 0);
        }
    settle(false);
    for (unsigned rounds = 0; any_in(STATES_LIVE) >= 0; rounds++) {
        if (rounds > 4 * MAX)
            BROKEN("deadlock: %s waits for ever", rows[any_in(STATES_LIVE)].id);
        start_one();
        end_one(true);
        if (any_in(STATE_BIT(STATE_PENDING) | STATE_BIT(STATE_EXECUTING)) < 0)
            now =
                wall_add_ms(now, model_wait_ms); /* for those that never come */
        settle(false);
    }
    if (order_count(order) != 0)
        BROKEN("somebody stayed in the order");
    seen.drained++;
}

static uint64_t history(uint64_t number) {
    unsigned most;

    history_begin(number);
    most = 3 + below(23);
    for (unsigned i = 0; i < STEPS; i++)
        random_step(most);
    drain();
    order_free(order);
    arena_clear(&arena);
    return digest;
}

static uint64_t number_of(const char *name, uint64_t otherwise) {
    const char *value = getenv(name);
    uint64_t number;

    return value != NULL && span_u64(span_of(value), &number) ? number
                                                              : otherwise;
}

static void random_histories_break_no_rule(void **state) {
    (void)state;
    uint64_t first = number_of("POINTSMAN_SEED", 0),
             count = number_of("POINTSMAN_HISTORIES", HISTORIES);

    memset(&seen, 0, sizeof(seen));
    for (uint64_t i = 0; i < count; i++)
        history(first + i);
    print_message("# %lu proposals, %lu of them lost, %lu ready, %lu failed, "
                  "%lu cycles, %lu recomputed, %lu spliced, %lu ranks, "
                  "%lu restarts, %lu drained\n",
                  seen.proposals, seen.lost, seen.ready, seen.failed,
                  seen.cycles, seen.recomputed, seen.spliced, seen.ranks,
                  seen.restarts, seen.drained);
    /* A test that meets nothing proves nothing. */
    if (count >= HISTORIES) {
        assert_true(seen.cycles > 1000 && seen.recomputed > 1000);
        assert_true(seen.spliced > 1000 && seen.ranks > 1000);
        assert_true(seen.lost > 1000 && seen.restarts > 1000);
        assert_int_equal(seen.drained, count);
    }
}

static void same_history_gives_the_same_proposals(void **state) {
    (void)state;
    for (uint64_t number = 0; number < 300; number++)
        assert_int_equal(history(number), history(number));
    assert_int_not_equal(history(1), history(2));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_histories_break_no_rule),
        cmocka_unit_test(same_history_gives_the_same_proposals),
    };
    return cmocka_run_group_tests_name("order_model", tests, NULL, NULL);
}
