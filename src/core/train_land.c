/* Landings, and who fails or leaves. */
#include "core/train_inner.h"

#include "core/land_verdict.h"

#include <stdlib.h>

enum { Q_WEIGHT = 8 };

void train_land_learn(struct train *train, bool passed) {
    int q = (int)train->q_ppm;

    train->q_ppm = (unsigned)(q + ((passed ? PPM : 0) - q) / Q_WEIGHT);
}

/* ---- proposing a landing ------------------------------------------------ */

/* On a broken branch the first unit that passed alone lands, before all
 * others. */
static size_t prefix_broken(struct train *train) {
    struct train_unit *first = NULL;

    for (size_t i = 0; i < train->reach; i++) {
        struct train_unit *unit = train->units[i];

        if (unit->state == TRAIN_PASSED && !unit->leaving &&
            (first == NULL || unit->job_class < first->job_class))
            first = unit;
    }
    if (first == NULL)
        return 0;
    train_place_to_front(train, first);
    return 1;
}

/* The longest run of units that passed, as far as that many may land together
 * and the answer has room for their commits; a group counts all its sets, and
 * more than land_max only if it is alone. */
static size_t prefix(const struct train *train) {
    size_t count = 0, sets = 0, answer = LAND_COMMIT_BYTES + 1;

    for (; count < train->count; count++) {
        const struct train_unit *unit = train->units[count];

        if (unit->state != TRAIN_PASSED || unit->leaving)
            break;
        sets += unit->set_count;
        answer += unit->answer_bytes;
        if (count > 0 &&
            (sets > train->config.land_max || answer > LAND_STATUS_BYTES ||
             count == train->together))
            break;
    }
    return count;
}

/* What a landing may rely on: without checks, on nothing. */
static const struct train_tree *checked(const struct train *train,
                                        const struct train_tree *tree) {
    static const struct train_tree none;

    return train->config.checks ? tree : &none;
}

static void move_begin(struct train *train, size_t count,
                       struct train_landing_unit *units, struct arena *arena) {
    struct train_move *move = &train->move;
    const struct train_tree *tree = NULL;

    move->nums = mem_grow(move->nums, count, sizeof(*move->nums));
    move->count = count;
    for (size_t i = 0; i < count; i++) {
        struct train_unit *unit = train->units[i];

        tree = checked(train, &unit->tree);
        unit->landing = true;
        move->nums[i] = unit->num;
        units[i] = (struct train_landing_unit){
            unit->num, arena_span(arena, train_tree_span(tree))};
        train_note_add(train, TRAIN_NOTE_LANDING, unit->num, 0, tree);
    }
    move->tree = *tree;
    move->active = true;
    move->stop = move->told = move->outdated = false;
}

bool train_land_propose(struct train *train, struct arena *arena,
                        struct train_effect *ret_effect) {
    struct train_landing_unit *units;
    size_t count;

    if (train->move.active || train->move.refused || train->closed != 0 ||
        (train->config.checks && !train->tip.known))
        return false;
    count = train->tip.proof == TRAIN_TIP_BROKEN ? prefix_broken(train)
                                                 : prefix(train);
    if (count == 0)
        return false;
    units = arena_alloc(arena, count * sizeof(*units));
    move_begin(train, count, units, arena);
    *ret_effect = (struct train_effect){
        .kind = TRAIN_LAND,
        .commit = arena_span(
            arena, train_tree_span(checked(train, &train->tip.commit))),
        .units = units,
        .unit_count = count};
    return true;
}

bool train_land_propose_stop(struct train *train,
                             struct train_effect *ret_effect) {
    struct train_move *move = &train->move;

    if (!move->active || !move->stop || move->told)
        return false;
    move->told = true;
    *ret_effect =
        (struct train_effect){.kind = TRAIN_STOP_LANDING, .num = move->nums[0]};
    return true;
}

/* ---- the end of a landing ----------------------------------------------- */

static void landed(struct train *train, struct span commit) {
    struct train_move *move = &train->move;
    bool proven = !move->outdated;

    for (size_t i = 0; i < move->count; i++) {
        struct train_unit *unit = train_unit_find(train, move->nums[i]);

        if (unit == NULL)
            continue;
        train_land_learn(train, true);
        train_place_remove(train, unit, true, TRAIN_LEFT_ENDED);
    }
    train_tip_set(train, commit, train_tree_span(&move->tree), proven);
    if (train->together <= move->count)
        train->together = 2 * move->count;
}

static void not_landed(struct train *train, struct train_unit *unit,
                       enum train_landing_end end) {
    unit->landing = false;
    if (unit->leaving) {
        train_place_remove(train, unit, false, unit->departure);
        return;
    }
    if (end == TRAIN_LANDING_TEMPORARY && train->move.count == 1 &&
        unit->doom == DOOM_NONE)
        train_unit_doom(train, unit, DOOM_TEMPORARY, 0);
    if (end != TRAIN_LANDING_LOST && end != TRAIN_LANDING_CHANGED)
        return;
    if (++unit->lost < LANDINGS_LOST_MAX || unit->doom != DOOM_NONE)
        return;
    train_unit_doom(train, unit, DOOM_TEMPORARY, 0);
    train_note_add(train, TRAIN_NOTE_OUTPACED, unit->num, 0, NULL);
}

void train_landing_ended(struct train *train, enum train_landing_end end,
                         struct span commit) {
    struct train_move *move = &train->move;

    if (!move->active)
        return;
    move->active = false;
    train->dirty = true;
    if (end == TRAIN_LANDED) {
        landed(train, commit);
        return;
    }
    if (end == TRAIN_LANDING_CHANGED)
        train_rebuild(train);
    if (end == TRAIN_LANDING_TEMPORARY && move->count > 1)
        train->together = move->count / 2;
    move->refused = end == TRAIN_LANDING_REFUSED;
    for (size_t i = 0; i < move->count; i++) {
        struct train_unit *unit = train_unit_find(train, move->nums[i]);

        if (unit != NULL)
            not_landed(train, unit, end);
    }
    train_place_hurry(train);
}

/* ---- verdicts ----------------------------------------------------------- */

static struct train_effect doomed(const struct train_unit *unit) {
    struct train_effect effect = {
        .kind = TRAIN_LEAVE, .num = unit->num, .about = unit->doom_about};

    if (unit->doom == DOOM_DEPENDENCY) {
        effect.kind = TRAIN_FAIL;
        effect.reason = SPAN("dep-failed");
    } else if (unit->doom == DOOM_LEFT) {
        effect.reason = SPAN("left");
    } else {
        effect.reason = SPAN("temp");
        effect.detail = unit->lost >= LANDINGS_LOST_MAX
                            ? SPAN("others moved the branch during five "
                                   "landings in a row")
                            : (struct span){0};
        effect.backoff = true;
    }
    return effect;
}

static struct train_effect failed(const struct train_unit *unit) {
    const struct train_outcome *outcome = train_unit_present_outcome(unit);
    struct train_effect effect = {.kind = TRAIN_FAIL, .num = unit->num};

    if (unit->kind == CANDIDATE_CONFLICT || unit->kind == CANDIDATE_REFUSED) {
        effect.reason = train_unit_refusal(unit);
        effect.detail = span_of(unit->detail);
    } else if (outcome != NULL) {
        effect.reason = span_of(outcome->reason);
        effect.detail = span_of(outcome->detail);
    }
    return effect;
}

static bool tip_is_good(const struct train *train) {
    return !train->config.checks || train->tip.proof == TRAIN_TIP_PROVEN;
}

size_t train_land_judge(struct train *train, struct train_effect *effects) {
    bool first = true; /* all units ahead fail for good */
    size_t count = 0, dooms = train->dooms;

    train->tip.needed = false;
    for (size_t i = 0; i < train->count && (first || dooms > 0); i++) {
        struct train_unit *unit = train->units[i];

        if (unit->doom != DOOM_NONE) {
            first = false;
            dooms--;
            if (unit->landing || unit->proposed)
                continue;
            unit->proposed = true;
            effects[count++] = doomed(unit);
            continue;
        }
        first = first && unit->state == TRAIN_FAILING;
        if (!first || train->closed != 0 || unit->landing)
            continue;
        if (!tip_is_good(train)) {
            if (!train->tip.needed)
                train->tip.for_num = unit->num;
            train->tip.needed = true;
        } else if (!unit->proposed) {
            unit->proposed = true;
            effects[count++] = failed(unit);
        }
    }
    return count;
}
