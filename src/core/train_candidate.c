/* Candidates: what each unit is merged onto, and what is missing. */
#include "core/train_inner.h"

#include <stdlib.h>

/* Without checks a candidate costs nothing. */
size_t train_candidate_window(const struct train *train) {
    size_t window = (size_t)WINDOW_PER_LANE * train->config.lanes;

    return train->config.checks || train->config.land_max < window
               ? window
               : train->config.land_max;
}

void train_candidate_rebuild(struct train *train) {
    train->generation++;
    train->dirty = true;
}

void train_rebuild(struct train *train) {
    train_candidate_rebuild(train);
    train_note_cause(train, TRAIN_NOTE_REBUILT, 0);
}

/* ---- states ------------------------------------------------------------- */

static bool is_valid(const struct train *train, const struct train_unit *unit,
                     const struct train_tree *base) {
    return unit->kind != CANDIDATE_NONE &&
           unit->generation == train->generation &&
           train_tree_equal(&unit->base, base);
}

/* A unit cannot be merged without what it depends on, and cannot stay without
 * what it follows. While the branch is broken, each unit is tried alone. */
static bool is_blocked(const struct train *train,
                       const struct train_unit *unit) {
    if (unit->doom != DOOM_NONE)
        return true;
    for (size_t i = 0; i < unit->follow_count; i++) {
        const struct train_follow *follow = &unit->follows[i];
        const struct train_unit *other = train_unit_find(train, follow->num);

        if (other == NULL)
            continue;
        if (train->tip.proof == TRAIN_TIP_BROKEN || other->doom != DOOM_NONE)
            return true;
        if (follow->dependency &&
            (other->state == TRAIN_FAILING || other->state == TRAIN_BLOCKED))
            return true;
    }
    return false;
}

static enum train_state state_of_tree(const struct train *train,
                                      const struct train_unit *unit) {
    const struct train_outcome *outcome = train_unit_present_outcome(unit);
    const struct train_attempt *attempt = train_run_find(train, unit->num);

    if (unit->kind == CANDIDATE_LANDED || (outcome != NULL && outcome->passed))
        return TRAIN_PASSED;
    if (outcome != NULL && outcome->fails > train->config.check_retries)
        return TRAIN_FAILING;
    if (attempt != NULL && !attempt->departed &&
        train_tree_equal(&attempt->tree, &unit->tree))
        return TRAIN_RUNNING;
    return TRAIN_WAITING;
}

static void note_change(struct train *train, struct train_unit *unit,
                        enum train_state state) {
    if (unit->state == TRAIN_FAILING && state == TRAIN_MERGING)
        train_note_add(train, TRAIN_NOTE_VOID, unit->num, train->cause_about,
                       &unit->tree);
    if (state == TRAIN_MERGING && unit->kind != CANDIDATE_NONE &&
        unit->fresh != train->cause_serial) {
        train_note_add(train, train->cause, unit->num, train->cause_about,
                       NULL);
        unit->fresh = train->cause_serial;
    }
    if (state == TRAIN_FAILING && unit->state != TRAIN_FAILING) {
        train_note_add(train, TRAIN_NOTE_FAILING, unit->num, 0, &unit->tree);
        train_note_cause(train, TRAIN_NOTE_WITHOUT, unit->num);
    }
}

/* Walks from the tip to the last unit that has a candidate or a run. `base`:
 * the tree of the nearest unit ahead that is not failing; NULL: it is not
 * merged yet. */
void train_candidate_refresh(struct train *train) {
    const struct train_tree *base = train->tip.known ? &train->tip.tree : NULL;
    bool alone = train->tip.proof == TRAIN_TIP_BROKEN;
    size_t window = train_candidate_window(train), limit;

    if (!train->dirty)
        return;
    if (window > train->count)
        window = train->count;
    limit = train->reach > window ? train->reach : window;
    train->reach = window;
    for (size_t i = 0; i < limit; i++) {
        struct train_unit *unit = train->units[i];
        const struct train_attempt *attempt = train_run_find(train, unit->num);
        enum train_state state;

        if (i >= window)
            state = TRAIN_BEYOND;
        else if (is_blocked(train, unit))
            state = TRAIN_BLOCKED;
        else if (!train->config.checks)
            state = TRAIN_PASSED;
        else if (base == NULL || !is_valid(train, unit, base))
            state = TRAIN_MERGING;
        else if (unit->kind == CANDIDATE_CONFLICT ||
                 unit->kind == CANDIDATE_REFUSED)
            state = TRAIN_FAILING;
        else
            state = state_of_tree(train, unit);
        note_change(train, unit, state);
        unit->state = state;
        if (attempt != NULL && i >= window)
            train->reach = i + 1;
        unit->stale = attempt != NULL && !attempt->departed &&
                      state != TRAIN_RUNNING && state != TRAIN_MERGING;
        if (alone)
            continue;
        if (state == TRAIN_MERGING)
            base = NULL;
        else if (state == TRAIN_WAITING || state == TRAIN_RUNNING ||
                 state == TRAIN_PASSED)
            base = &unit->tree;
    }
    train->dirty = false;
    train->ask_from = 0;
}

/* ---- merges ------------------------------------------------------------- */

/* What a merge starts from: the candidate nearest ahead of the unit. */
static const struct train_tree *base_ahead(const struct train *train,
                                           size_t at) {
    if (train->tip.proof != TRAIN_TIP_BROKEN)
        while (at-- > 0) {
            const struct train_unit *unit = train->units[at];

            if (unit->state == TRAIN_WAITING || unit->state == TRAIN_RUNNING ||
                unit->state == TRAIN_PASSED)
                return &unit->tree;
        }
    return &train->tip.tree;
}

static size_t count_merging(const struct train *train, size_t *ret_first) {
    size_t count = 0;

    for (size_t i = train->reach; i-- > 0;)
        if (train->units[i]->state == TRAIN_MERGING) {
            *ret_first = i;
            count++;
        }
    return count;
}

bool train_candidate_propose(struct train *train, struct arena *arena,
                             struct train_effect *ret_effect) {
    struct train_merge *merge = &train->merge;
    struct train_step *steps;
    size_t first = 0, count = 0;

    if (merge->active || !train->tip.known || train->closed != 0)
        return false;
    count = count_merging(train, &first);
    if (count == 0)
        return false;
    merge->base = *base_ahead(train, first);
    merge->steps = mem_grow(merge->steps, count, sizeof(*merge->steps));
    merge->count = merge->done = 0;
    for (size_t i = first; i < train->reach; i++)
        if (train->units[i]->state == TRAIN_MERGING)
            merge->steps[merge->count++] = (struct train_step){
                train->units[i]->num, train->tip.proof == TRAIN_TIP_BROKEN};
    merge->generation = train->generation;
    merge->active = true;
    steps = arena_alloc(arena, count * sizeof(*steps));
    memcpy(steps, merge->steps, count * sizeof(*steps));
    *ret_effect = (struct train_effect){
        .kind = TRAIN_MERGE,
        .commit = arena_span(arena, train_tree_span(&train->tip.commit)),
        .tree = arena_span(arena, train_tree_span(&merge->base)),
        .steps = steps,
        .step_count = count};
    return true;
}

static const enum train_candidate_kind kinds[] = {
    [TRAIN_MERGED_TREE] = CANDIDATE_TREE,
    [TRAIN_MERGED_LANDED] = CANDIDATE_LANDED,
    [TRAIN_MERGED_CONFLICT] = CANDIDATE_CONFLICT,
    [TRAIN_MERGED_REFUSED] = CANDIDATE_REFUSED};

static void candidate_set(struct train *train, struct train_unit *unit,
                          enum train_merged as, struct span text) {
    const struct train_merge *merge = &train->merge;

    unit->generation = merge->generation;
    unit->kind = kinds[as];
    unit->base = merge->base;
    unit->tree = as == TRAIN_MERGED_TREE     ? train_tree_make(text)
                 : as == TRAIN_MERGED_LANDED ? merge->base
                                             : train_tree_make(SPAN(""));
    train_unit_find_present(unit);
    free(unit->detail);
    unit->detail = as == TRAIN_MERGED_CONFLICT || as == TRAIN_MERGED_REFUSED
                       ? span_string(text)
                       : NULL;
    train->dirty = true;
}

void train_merged(struct train *train, uint64_t num, enum train_merged as,
                  struct span text) {
    struct train_merge *merge = &train->merge;
    struct train_unit *unit = train_unit_find(train, num);
    struct train_step step;

    if (!merge->active || merge->done == merge->count ||
        merge->steps[merge->done].num != num)
        return;
    step = merge->steps[merge->done++];
    if (unit != NULL)
        candidate_set(train, unit, as, text);
    if (as == TRAIN_MERGED_TREE && !step.aside)
        merge->base = train_tree_make(text);
}

void train_merge_ended(struct train *train, enum train_merge_end end) {
    struct train_merge *merge = &train->merge;
    struct train_unit *unit;

    if (!merge->active)
        return;
    merge->active = false;
    train->dirty = true;
    if (end != TRAIN_MERGE_TEMPORARY || merge->done == merge->count)
        return;
    unit = train_unit_find(train, merge->steps[merge->done].num);
    if (unit != NULL && unit->doom == DOOM_NONE)
        train_unit_doom(train, unit, DOOM_TEMPORARY, 0);
}
