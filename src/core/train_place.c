/* The order of the units (M2), and what becomes of the followers of a unit that
 * leaves. */
#include "core/train_inner.h"

#include <stdlib.h>

static bool has_run_or_pass(const struct train *train,
                            const struct train_unit *unit) {
    const struct train_attempt *attempt = train_run_find(train, unit->num);

    if (unit->state == TRAIN_PASSED && train->config.checks)
        return true;
    return attempt != NULL && !attempt->departed && !unit->stale;
}

/* How many of the first `most` units it must stand behind. */
static size_t place_for(const struct train *train,
                        const struct train_unit *unit, size_t most) {
    bool interrupts = train_interrupts(train, unit->job_class), dependency;
    size_t place = 0;

    for (size_t i = 0; i < most; i++) {
        const struct train_unit *other = train->units[i];

        if (other->job_class <= unit->job_class || other->landing ||
            train_unit_follows(unit, other, &dependency) ||
            (!interrupts && has_run_or_pass(train, other)))
            place = i + 1;
    }
    return place;
}

static void insert(struct train *train, struct train_unit *unit, size_t place) {
    if (train->count == train->cap) {
        train->cap = train->cap > 0 ? 2 * train->cap : 16;
        train->units =
            mem_grow(train->units, train->cap, sizeof(struct train_unit *));
    }
    memmove(&train->units[place + 1], &train->units[place],
            (train->count - place) * sizeof(struct train_unit *));
    train->units[place] = unit;
    train->count++;
}

static void take(struct train *train, struct train_unit *unit) {
    size_t at = train_unit_at(train, unit);

    memmove(&train->units[at], &train->units[at + 1],
            (train->count - at - 1) * sizeof(struct train_unit *));
    train->count--;
}

/* `most`: where it stood before, because a higher rank moves nothing
 * backwards. */
static void join(struct train *train, struct train_unit *unit, size_t most) {
    size_t place = place_for(train, unit, most);

    insert(train, unit, place);
    if (place + 1 < train->count)
        train_note_cause(train, TRAIN_NOTE_BEHIND, unit->num);
    train->dirty = true;
}

void train_place_join(struct train *train, struct train_unit *unit) {
    join(train, unit, train->count);
}

void train_place_hurry(struct train *train) {
    for (size_t i = 0; i < train->count; i++) {
        struct train_unit *unit = train->units[i];

        if (!train_interrupts(train, unit->job_class) || unit->landing ||
            place_for(train, unit, i) == i)
            continue;
        take(train, unit);
        join(train, unit, i);
    }
}

void train_place_to_front(struct train *train, struct train_unit *unit) {
    take(train, unit);
    insert(train, unit, 0);
    train->dirty = true;
}

/* ---- leaving ------------------------------------------------------------ */

static void follow_drop(struct train_unit *unit, uint64_t num) {
    size_t kept = 0;

    for (size_t i = 0; i < unit->follow_count; i++)
        if (unit->follows[i].num != num)
            unit->follows[kept++] = unit->follows[i];
    unit->follow_count = kept;
}

static void follower_meets(struct train_unit *follower,
                           const struct train_unit *gone, bool landed,
                           enum train_departure how) {
    bool dependency;

    if (!train_unit_follows(follower, gone, &dependency))
        return;
    follow_drop(follower, gone->num);
    if (landed || (how == TRAIN_LEFT_ENDED && !dependency))
        return;
    /* A failure is final; having to leave is not. */
    if (how == TRAIN_LEFT_ENDED)
        follower->doom = DOOM_DEPENDENCY;
    else if (follower->doom == DOOM_NONE)
        follower->doom = DOOM_LEFT;
    else
        return;
    follower->doom_about = gone->num;
}

void train_place_remove(struct train *train, struct train_unit *unit,
                        bool landed, enum train_departure how) {
    struct train_attempt *attempt = train_run_find(train, unit->num);

    if (!landed)
        train_note_add(train, TRAIN_NOTE_LEFT, unit->num, 0, NULL);
    take(train, unit);
    for (size_t i = 0; i < train->count; i++)
        follower_meets(train->units[i], unit, landed, how);
    if (attempt != NULL) {
        attempt->departed = attempt->stopping = true;
        attempt->unit = NULL;
    }
    if (!landed)
        train_note_cause(train, TRAIN_NOTE_WITHOUT, unit->num);
    train->dirty = true;
    train_unit_free(unit);
}

/* ---- ranks -------------------------------------------------------------- */

/* Marks the unit and what it waits for, directly or through others. What a unit
 * waits for is always ahead of it. */
static void mark_followed(const struct train *train, size_t at, bool *marked) {
    bool dependency;

    marked[at] = true;
    for (size_t i = at; i-- > 0;)
        for (size_t k = i + 1; k <= at && !marked[i]; k++)
            if (marked[k])
                marked[i] = train_unit_follows(train->units[k], train->units[i],
                                               &dependency);
}

static bool moves(const struct train *train, const struct train_unit *unit,
                  enum job_class to) {
    if (unit->landing || unit->job_class <= to)
        return false;
    return (train_interrupts(train, to) &&
            !train_interrupts(train, unit->job_class)) ||
           !has_run_or_pass(train, unit);
}

bool train_rank(struct train *train, uint64_t num, enum job_class job_class) {
    struct train_unit *unit = train_unit_find(train, num);
    bool *marked;
    struct train_unit **moving;
    size_t at, count = 0;

    if (unit == NULL)
        return false;
    if (!moves(train, unit, job_class)) {
        unit->job_class = job_class;
        return true;
    }
    at = train_unit_at(train, unit);
    marked = mem_alloc(train->count * sizeof(*marked));
    moving = mem_alloc(train->count * sizeof(struct train_unit *));
    mark_followed(train, at, marked);
    for (size_t i = 0; i <= at; i++)
        if (marked[i] && moves(train, train->units[i], job_class))
            moving[count++] = train->units[i];
    for (size_t i = 0; i < count; i++) {
        size_t was = train_unit_at(train, moving[i]);

        take(train, moving[i]);
        moving[i]->job_class = job_class;
        join(train, moving[i], was);
    }
    free(marked);
    free(moving);
    return true;
}
