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

    for (size_t place = most; place > 0; place--) {
        const struct train_unit *other = train->units[place - 1];

        if (other->job_class <= unit->job_class || other->landing ||
            train_unit_follows(unit, other, &dependency) ||
            (!interrupts && place <= train->reach &&
             has_run_or_pass(train, other)))
            return place;
    }
    return 0;
}

static void make_room(struct train *train) {
    size_t ahead =
        train->slots != NULL ? (size_t)(train->units - train->slots) : 0;

    if (ahead + train->count < train->cap)
        return;
    if (ahead <= train->count) {
        train->cap = train->cap > 0 ? 2 * train->cap : 16;
        train->slots =
            mem_grow(train->slots, train->cap, sizeof(struct train_unit *));
    }
    memmove(train->slots, train->slots + ahead,
            train->count * sizeof(struct train_unit *));
    train->units = train->slots;
}

static void insert(struct train *train, struct train_unit *unit, size_t place) {
    make_room(train);
    memmove(&train->units[place + 1], &train->units[place],
            (train->count - place) * sizeof(struct train_unit *));
    train->units[place] = unit;
    train->count++;
    if (place <= train->reach)
        train->reach++;
}

static void take_at(struct train *train, size_t at) {
    train->count--;
    if (at < train->reach)
        train->reach--;
    if (at < train->count / 2) {
        memmove(&train->units[1], &train->units[0],
                at * sizeof(struct train_unit *));
        train->units++;
    } else {
        memmove(&train->units[at], &train->units[at + 1],
                (train->count - at) * sizeof(struct train_unit *));
    }
}

static void take(struct train *train, const struct train_unit *unit) {
    take_at(train, train_unit_at(train, unit));
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

static void follower_add(struct train_unit *unit, uint64_t num) {
    if (unit->follower_count == unit->follower_cap) {
        unit->follower_cap =
            unit->follower_cap > 0 ? 2 * unit->follower_cap : 4;
        unit->followers = mem_grow(unit->followers, unit->follower_cap,
                                   sizeof(*unit->followers));
    }
    unit->followers[unit->follower_count++] = num;
}

static void follower_drop(struct train_unit *unit, uint64_t num) {
    size_t i = unit->follower_count;

    while (i-- > 0)
        if (unit->followers[i] == num)
            unit->followers[i] = unit->followers[--unit->follower_count];
}

void train_place_join(struct train *train, struct train_unit *unit) {
    for (size_t i = 0; i < unit->set_count; i++)
        map_put(&train->by_set, map_num_key(&unit->sets[i]), unit);
    for (size_t i = 0; i < unit->follow_count; i++)
        follower_add(train_unit_find(train, unit->follows[i].num), unit->num);
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

/* It stays behind what the one that ended had followed (O6). */
static void follows_inherit(struct train *train, struct train_unit *unit,
                            const struct train_unit *gone) {
    unit->follows =
        mem_grow(unit->follows, unit->follow_count + gone->follow_count + 1,
                 sizeof(*unit->follows));
    for (size_t i = 0; i < gone->follow_count; i++) {
        struct train_unit *other = train_unit_find(train, gone->follows[i].num);
        bool dependency;

        if (train_unit_follows(unit, other, &dependency))
            continue;
        unit->follows[unit->follow_count++] =
            (struct train_follow){other->num, false};
        follower_add(other, unit->num);
    }
}

static void follower_meets(struct train *train, struct train_unit *follower,
                           const struct train_unit *gone, bool landed,
                           enum train_departure how) {
    bool dependency;

    if (!train_unit_follows(follower, gone, &dependency))
        return;
    follow_drop(follower, gone->num);
    if (landed)
        return;
    if (how == TRAIN_LEFT_ENDED && !dependency) {
        follows_inherit(train, follower, gone);
        return;
    }
    /* A failure is final; having to leave is not. */
    if (how == TRAIN_LEFT_ENDED)
        train_unit_doom(train, follower, DOOM_DEPENDENCY, gone->num);
    else if (follower->doom == DOOM_NONE)
        train_unit_doom(train, follower, DOOM_LEFT, gone->num);
}

void train_place_remove(struct train *train, struct train_unit *unit,
                        bool landed, enum train_departure how) {
    struct train_attempt *attempt = train_run_find(train, unit->num);

    if (!landed)
        train_note_add(train, TRAIN_NOTE_LEFT, unit->num, 0, NULL);
    take(train, unit);
    for (size_t i = 0; i < unit->set_count; i++)
        map_remove(&train->by_set, map_num_key(&unit->sets[i]));
    train->dooms -= unit->doom != DOOM_NONE;
    for (size_t i = 0; i < unit->follow_count; i++)
        follower_drop(train_unit_find(train, unit->follows[i].num), unit->num);
    for (size_t i = 0; i < unit->follower_count; i++)
        follower_meets(train, train_unit_find(train, unit->followers[i]), unit,
                       landed, how);
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

struct moving {
    struct train_unit *unit;
    size_t was;
};

static size_t mark_followed(const struct train *train,
                            const struct train_unit *unit) {
    size_t count = 0;

    for (size_t i = 0; i < unit->follow_count; i++) {
        struct train_unit *other = train_unit_find(train, unit->follows[i].num);

        count += !other->marked;
        other->marked = true;
    }
    return count;
}

/* The unit at `at` and what it waits for, directly or through others, the last
 * first. What a unit waits for is always ahead of it. */
static struct moving *find_followed(const struct train *train, size_t at,
                                    size_t *ret_count) {
    struct moving *found = NULL;
    size_t count = 0, cap = 0, marked = 1;

    train->units[at]->marked = true;
    for (size_t i = at + 1; marked > 0;) {
        struct train_unit *unit = train->units[--i];

        if (!unit->marked)
            continue;
        unit->marked = false;
        marked = marked - 1 + mark_followed(train, unit);
        if (count == cap) {
            cap = cap > 0 ? 2 * cap : 16;
            found = mem_grow(found, cap, sizeof(*found));
        }
        found[count++] = (struct moving){unit, i};
    }
    *ret_count = count;
    return found;
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
    struct moving *moving;
    size_t count;

    if (unit == NULL)
        return false;
    if (!moves(train, unit, job_class)) {
        unit->job_class = job_class;
        return true;
    }
    moving = find_followed(train, train_unit_at(train, unit), &count);
    /* The first one first: the others stay where they were. */
    while (count-- > 0) {
        unit = moving[count].unit;
        if (!moves(train, unit, job_class))
            continue;
        take_at(train, moving[count].was);
        unit->job_class = job_class;
        join(train, unit, moving[count].was);
    }
    free(moving);
    return true;
}
