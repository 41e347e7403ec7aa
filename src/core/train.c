#include "core/train_inner.h"

#include <stdlib.h>

enum { Q_START_PPM = 950000, TOGETHER_START = 1 << 20 };

/* ---- life --------------------------------------------------------------- */

struct train *train_new(struct span target, const struct train_config *config) {
    struct train *train = mem_alloc(sizeof(*train));

    train->target = span_string(target);
    train->q_ppm = Q_START_PPM;
    train->together = TOGETHER_START;
    train->cause = TRAIN_NOTE_REBUILT;
    train_set_config(train, config);
    return train;
}

void train_free(struct train *train) {
    if (train == NULL)
        return;
    for (size_t i = 0; i < train->count; i++)
        train_unit_free(train->units[i]);
    free(train->slots);
    map_clear(&train->by_set);
    free(train->attempts);
    free(train->merge.steps);
    free(train->move.nums);
    free(train->notes);
    free(train->tip.reason);
    free(train->tip.detail);
    free(train->target);
    free(train);
}

void train_set_config(struct train *train, const struct train_config *config) {
    train->config = *config;
    if (train->config.lanes == 0)
        train->config.lanes = 1;
    if (train->config.land_max == 0)
        train->config.land_max = 1;
    if (train->config.checks && train->tip.tree.text[0] == '\0')
        train->tip.known = false;
    train->dirty = true;
}

void train_checks_changed(struct train *train) {
    for (size_t i = 0; i < train->count; i++)
        train_unit_forget_outcomes(train->units[i]);
    for (size_t i = 0; i < train->attempt_count; i++) {
        train->attempts[i].departed = train->attempts[i].stopping = true;
        train->attempts[i].unit = NULL;
    }
    train->move.stop = train->move.outdated = true;
    train_tip_doubt(train);
    train_note_cause(train, TRAIN_NOTE_REBUILT, 0);
}

void train_forget_reused(struct train *train) {
    for (size_t i = 0; i < train->count; i++)
        train_unit_forget_reused(train->units[i]);
    if (train->tip.proof == TRAIN_TIP_PROVEN)
        train_tip_doubt(train);
    train->dirty = true;
}

/* ---- the branch --------------------------------------------------------- */

void train_tip(struct train *train, struct span commit, struct span tree) {
    if (train->tip.known && span_is(commit, train->tip.commit.text))
        return;
    train_tip_set(train, commit, tree, !train->config.checks);
    train_candidate_rebuild(train);
    train->move.refused = false;
    train_note_cause(train, TRAIN_NOTE_MOVED, 0);
}

void train_close(struct train *train, unsigned closed) {
    train->closed = closed;
    train->move.refused = false;
    train->dirty = true;
}

void train_recheck(struct train *train) {
    train->tip.recheck = true;
    train->tip.fails = 0;
    train->dirty = true;
}

/* ---- units -------------------------------------------------------------- */

bool train_has(const struct train *train, uint64_t num) {
    return train_unit_of_set(train, num) != NULL;
}

static bool can_be_followed(const struct train *train, uint64_t num) {
    const struct train_unit *unit = train_unit_of_set(train, num);

    return unit != NULL && !unit->leaving && !unit->proposed &&
           unit->doom == DOOM_NONE;
}

bool train_can_follow(const struct train *train,
                      const struct train_follow *follows, size_t count) {
    if (!train->config.follow)
        return count == 0;
    for (size_t i = 0; i < count; i++)
        if (!can_be_followed(train, follows[i].num))
            return false;
    return true;
}

static bool can_join(const struct train *train,
                     const struct train_entry *entry) {
    for (size_t i = 0; i < entry->set_count; i++)
        if (train_has(train, entry->sets[i].num))
            return false;
    for (size_t i = 0; i < entry->follow_count; i++)
        if (!train_has(train, entry->follows[i].num))
            return false;
    return train_unit_find(train, entry->num) == NULL;
}

bool train_join(struct train *train, const struct train_entry *entry) {
    struct train_unit *unit;

    if (!can_join(train, entry))
        return false;
    train_candidate_refresh(train);
    unit = train_unit_new(entry);
    for (size_t i = 0; i < entry->follow_count; i++)
        unit->follows[unit->follow_count++] = (struct train_follow){
            train_unit_of_set(train, entry->follows[i].num)->num,
            entry->follows[i].dependency};
    unit->state = TRAIN_BEYOND;
    train_place_join(train, unit);
    train->move.refused = false;
    train_note_add(train, TRAIN_NOTE_JOINED, unit->num, 0, NULL);
    return true;
}

bool train_leave(struct train *train, uint64_t num, enum train_departure how) {
    struct train_unit *unit = train_unit_find(train, num);

    if (unit == NULL)
        return false;
    train->move.refused = false;
    train->dirty = true;
    if (unit->proposed && unit->doom == DOOM_NONE && how == TRAIN_LEFT_ENDED)
        train_land_learn(train, false);
    if (unit->landing) {
        unit->leaving = train->move.stop = true;
        unit->departure = how;
        return true;
    }
    train_place_remove(train, unit, false, how);
    return true;
}

bool train_again(struct train *train, uint64_t num) {
    struct train_unit *unit = train_unit_find(train, num);

    if (unit == NULL)
        return false;
    unit->proposed = train->move.refused = false;
    train->dirty = true;
    return true;
}

/* ---- the scan ----------------------------------------------------------- */

size_t train_scan(struct train *train, struct wall now, struct arena *arena,
                  struct train_effect **ret_effects) {
    struct train_effect *effects;
    size_t most, count = 0;

    train_candidate_refresh(train);
    /* One for each unit that fails or leaves and each run, one for the merge,
     * two for landings. */
    most = train->reach + train->dooms + train->attempt_count + 3;
    effects = arena_alloc(arena, most * sizeof(*effects));
    count += train_land_judge(train, effects + count);
    count += train_land_propose_stop(train, effects + count);
    count += train_land_propose(train, arena, effects + count);
    count += train_candidate_propose(train, arena, effects + count);
    train_spare_mark(train, now);
    count += train_spare_propose(train, effects + count);
    *ret_effects = effects;
    return count;
}

void train_set_back(struct train *train, int64_t ms) {
    train->tip.again = wall_set_back(train->tip.again, ms);
}

struct wall train_next_time(const struct train *train) {
    const struct train_branch *tip = &train->tip;

    if (tip->proof != TRAIN_TIP_BROKEN || train_run_find(train, 0) != NULL)
        return WALL_NEVER;
    return tip->again;
}
