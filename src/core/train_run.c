/* Results and runs. */
#include "core/train_inner.h"

#include <stdlib.h>
#include <string.h>

enum { MEAN_WEIGHT = 8 };

struct train_attempt *train_run_find(const struct train *train, uint64_t num) {
    for (size_t i = 0; i < train->attempt_count; i++)
        if (train->attempts[i].num == num)
            return &train->attempts[i];
    return NULL;
}

size_t train_run_live(const struct train *train) {
    size_t live = 0;

    for (size_t i = 0; i < train->attempt_count; i++)
        live += !train->attempts[i].stopping;
    return live;
}

/* True if results are looked up in the registry. */
static bool asks(const struct train *train) {
    return train->config.checks && !train->config.volatile_check &&
           train->config.remember != TRAIN_REMEMBER_OFF;
}

/* ---- results ------------------------------------------------------------ */

static bool is_shared(const struct train *train) {
    return train->config.remember == TRAIN_REMEMBER_TREE &&
           !train->config.volatile_check;
}

static bool tip_has_tree(const struct train *train,
                         const struct train_tree *tree) {
    return train->tip.known && train_tree_equal(&train->tip.tree, tree);
}

/* With TRAIN_REMEMBER_TREE a pass counts for all units with that tree, and for
 * the tip. */
static void share_pass(struct train *train, const struct train_unit *from,
                       const struct train_tree *tree) {
    if (!is_shared(train))
        return;
    for (size_t i = 0; i < train->count; i++) {
        struct train_unit *unit = train->units[i];
        struct train_outcome *outcome;

        if (unit == from || !train_unit_knows(unit, tree))
            continue;
        outcome = train_unit_outcome(unit, tree);
        if (!outcome->passed)
            train_note_add(train, TRAIN_NOTE_REUSED, unit->num,
                           from != NULL ? from->num : 0, tree);
        outcome->passed = outcome->reused = true;
    }
    if (from != NULL && tip_has_tree(train, tree) &&
        train->tip.proof != TRAIN_TIP_PROVEN)
        train_tip_passed(train);
}

static bool unit_asks(struct train_unit *unit) {
    struct train_outcome *outcome;

    if (unit->state != TRAIN_WAITING && unit->state != TRAIN_RUNNING)
        return false;
    outcome = train_unit_outcome(unit, &unit->tree);
    if (outcome->asked)
        return false;
    outcome->asked = true;
    return true;
}

bool train_next_question(struct train *train, struct train_question *ret) {
    train_candidate_refresh(train);
    if (!train->tip.known || !train->config.checks)
        return false;
    if (!asks(train)) {
        if (train->tip.proof == TRAIN_TIP_UNKNOWN) {
            train->tip.proof = TRAIN_TIP_UNPROVEN;
            train->dirty = true;
        }
        return false;
    }
    if (train->tip.proof == TRAIN_TIP_UNKNOWN && !train->tip.asked) {
        train->tip.asked = true;
        *ret = (struct train_question){0, train_tree_span(&train->tip.tree)};
        return true;
    }
    for (size_t i = train->ask_from; i < train->reach; i++) {
        train->ask_from = i + 1;
        if (unit_asks(train->units[i])) {
            *ret = (struct train_question){
                train->units[i]->num, train_tree_span(&train->units[i]->tree)};
            return true;
        }
    }
    return false;
}

void train_record(struct train *train, uint64_t num, struct span tree,
                  const struct train_record *record, struct wall now) {
    bool reusable =
        train_record_is_reusable(record, train->config.remember_for_ms, now);
    struct train_unit *unit = train_unit_find(train, num);
    struct train_outcome *outcome;
    struct train_tree text = train_tree_make(tree);

    if (num == 0) {
        if (!tip_has_tree(train, &text) ||
            train->tip.proof != TRAIN_TIP_UNKNOWN)
            return;
        if (reusable)
            train_tip_passed(train);
        else
            train->tip.proof = TRAIN_TIP_UNPROVEN;
        train->dirty = true;
        return;
    }
    if (unit == NULL)
        return;
    outcome = train_unit_outcome(unit, &text);
    outcome->asked = outcome->answered = true;
    if (!reusable || outcome->passed || outcome->fails > 0)
        return;
    train->dirty = true;
    outcome->passed = outcome->reused = true;
    train_note_add(train, TRAIN_NOTE_REUSED, num, 0, &text);
}

/* ---- the next run ------------------------------------------------------- */

/* With TRAIN_REMEMBER_TREE equal trees are run once. */
static bool runs_elsewhere(const struct train *train,
                           const struct train_tree *tree) {
    for (size_t i = 0; is_shared(train) && i < train->attempt_count; i++)
        if (!train->attempts[i].stopping &&
            train_tree_equal(&train->attempts[i].tree, tree))
            return true;
    return false;
}

bool train_run_is_wanted(const struct train *train,
                         const struct train_unit *unit) {
    const struct train_outcome *outcome;

    if (unit->state != TRAIN_WAITING || train->closed != 0 || unit->landing)
        return false;
    outcome = train_unit_present_outcome(unit);
    if (asks(train) && (outcome == NULL || !outcome->answered))
        return false;
    /* The first unit that passes alone ends the broken state. */
    if (train->tip.proof == TRAIN_TIP_BROKEN &&
        (train->move.active || train->units[0]->state == TRAIN_PASSED))
        return false;
    return !runs_elsewhere(train, &unit->tree);
}

static unsigned run_worth(const struct train *train, size_t at) {
    uint64_t worth = PPM;

    for (size_t i = 0; i < at && worth > 0; i++)
        worth = worth * train->q_ppm / PPM;
    return (unsigned)worth;
}

size_t train_run_first_below(const struct train *train, unsigned least) {
    uint64_t worth = PPM;
    size_t at = 0;

    while (at < train->reach && worth >= least) {
        worth = worth * train->q_ppm / PPM;
        at++;
    }
    return at;
}

/* In train order; on a broken branch the most urgent ones first. */
static struct train_unit *next_wanted(const struct train *train,
                                      size_t *ret_at) {
    struct train_unit *found = NULL;

    for (size_t i = 0; i < train->reach; i++) {
        struct train_unit *unit = train->units[i];

        if (!train_run_is_wanted(train, unit) ||
            train_run_find(train, unit->num) != NULL)
            continue;
        if (found != NULL && unit->job_class >= found->job_class)
            continue;
        found = unit;
        *ret_at = i;
        if (train->tip.proof != TRAIN_TIP_BROKEN)
            break;
    }
    return found;
}

/* Others wait for the proof of the tip, but a unit that interrupts waits for
 * nobody. */
static bool tip_comes_first(const struct train *train,
                            const struct train_unit *unit) {
    return unit == NULL || !train_interrupts(train, unit->job_class);
}

bool train_next_run(struct train *train, struct wall now,
                    struct train_run *ret) {
    const struct train_unit *unit;
    size_t at = 0;

    train_candidate_refresh(train);
    if (train->attempt_count >= train->config.lanes)
        return false;
    unit = next_wanted(train, &at);
    if (tip_comes_first(train, unit) && train_tip_is_wanted(train, now) &&
        train_run_find(train, 0) == NULL) {
        *ret = (struct train_run){.about = train->tip.for_num,
                                  .tree = train_tree_span(&train->tip.tree),
                                  .position = 1,
                                  .worth_ppm = PPM};
        return true;
    }
    if (unit == NULL)
        return false;
    *ret = (struct train_run){.num = unit->num,
                              .tree = train_tree_span(&unit->tree),
                              .position = at + 1,
                              .worth_ppm = run_worth(train, at),
                              .interrupts =
                                  train_interrupts(train, unit->job_class)};
    return true;
}

void train_run_begun(struct train *train, uint64_t num, struct wall now) {
    struct train_unit *unit = num > 0 ? train_unit_find(train, num) : NULL;
    const struct train_tree *tree =
        unit != NULL ? &unit->tree : &train->tip.tree;
    struct train_attempt *attempt;

    if (train_run_find(train, num) != NULL || (num > 0 && unit == NULL))
        return;
    if (train->attempt_count == train->attempt_cap) {
        train->attempt_cap =
            train->attempt_cap > 0 ? 2 * train->attempt_cap : 8;
        train->attempts = mem_grow(train->attempts, train->attempt_cap,
                                   sizeof(*train->attempts));
    }
    attempt = &train->attempts[train->attempt_count++];
    *attempt = (struct train_attempt){.num = num,
                                      .unit = unit,
                                      .tree = *tree,
                                      .begun = now,
                                      .serial = ++train->serial};
    train_note_add(train, TRAIN_NOTE_RUN, num, 0, tree);
    if (unit == NULL)
        return;
    unit->runs++;
    if (unit->state == TRAIN_WAITING)
        unit->state = TRAIN_RUNNING;
}

/* ---- the end of a run --------------------------------------------------- */

static void learn_duration(struct train *train, int64_t ms) {
    train->mean_ms +=
        train->mean_ms == 0 ? ms : (ms - train->mean_ms) / MEAN_WEIGHT;
}

static void unit_passed(struct train *train, struct train_unit *unit,
                        const struct train_tree *tree) {
    struct train_outcome *outcome = train_unit_outcome(unit, tree);

    train_note_add(train, TRAIN_NOTE_PASSED, unit->num, 0, tree);
    if (outcome->fails > 0)
        train_note_add(train, TRAIN_NOTE_FLAKY, unit->num, 0, tree);
    outcome->passed = true;
    outcome->reused = false;
    outcome->fails = 0;
    share_pass(train, unit, tree);
}

static void unit_failed(struct train *train, struct train_unit *unit,
                        const struct train_tree *tree, struct span reason,
                        struct span detail) {
    struct train_outcome *outcome = train_unit_outcome(unit, tree);

    /* What was recorded or shared counts no more: this run is later. */
    outcome->passed = outcome->reused = false;
    outcome->fails++;
    free(outcome->reason);
    free(outcome->detail);
    outcome->reason = span_string(reason);
    outcome->detail = span_string(detail);
    if (outcome->fails <= train->config.check_retries)
        train_note_add(train, TRAIN_NOTE_REPEATED, unit->num, 0, tree);
}

static void tip_ended(struct train *train, const struct train_tree *tree,
                      enum train_run_end end, struct span reason,
                      struct span detail, struct wall now) {
    if (!tip_has_tree(train, tree))
        return;
    if (end == TRAIN_RUN_PASSED) {
        train_tip_passed(train);
        share_pass(train, NULL, tree);
    } else if (end == TRAIN_RUN_FAILED) {
        train_tip_failed(train, reason, detail, now);
    }
}

static void unit_ended(struct train *train, struct train_unit *unit,
                       const struct train_tree *tree, enum train_run_end end,
                       struct span reason, struct span detail) {
    switch (end) {
    case TRAIN_RUN_PASSED:
        unit_passed(train, unit, tree);
        break;
    case TRAIN_RUN_FAILED:
        unit_failed(train, unit, tree, reason, detail);
        break;
    case TRAIN_RUN_TEMPORARY:
        if (unit->doom == DOOM_NONE)
            train_unit_doom(train, unit, DOOM_TEMPORARY, 0);
        break;
    case TRAIN_RUN_STOPPED:
        break;
    }
}

/* A run whose unit has left was recorded. That unit may have joined again, or
 * others have the same tree, and been told that nothing is known. */
static void ask_again(struct train *train, const struct train_tree *tree) {
    for (size_t i = 0; i < train->count; i++)
        train_unit_ask_again(train->units[i], tree);
    if (tip_has_tree(train, tree) && train->tip.proof == TRAIN_TIP_UNPROVEN) {
        train->tip.proof = TRAIN_TIP_UNKNOWN;
        train->tip.asked = false;
    }
}

void train_run_ended(struct train *train, uint64_t num, enum train_run_end end,
                     struct span reason, struct span detail, struct wall now) {
    struct train_attempt *found = train_run_find(train, num), attempt;
    struct train_unit *unit = num > 0 ? train_unit_find(train, num) : NULL;

    if (found == NULL)
        return;
    attempt = *found;
    train->attempt_count--;
    memmove(found, found + 1,
            (size_t)(train->attempts + train->attempt_count - found) *
                sizeof(*found));
    train->dirty = true;
    train->move.refused = false;
    if (end == TRAIN_RUN_PASSED)
        learn_duration(train, wall_ms_since(now, attempt.begun));
    if (attempt.departed) {
        ask_again(train, &attempt.tree);
        return;
    }
    if (num == 0)
        tip_ended(train, &attempt.tree, end, reason, detail, now);
    else if (unit != NULL)
        unit_ended(train, unit, &attempt.tree, end, reason, detail);
}
