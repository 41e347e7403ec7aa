/* Which runs are stopped so that others get their lane or slot (M10 to M12,
 * M16). */
#include "core/train_inner.h"

#include <stdlib.h>

static bool is_stale(const struct train *train,
                     const struct train_attempt *attempt) {
    if (attempt->departed)
        return true;
    if (attempt->num == 0)
        return !train->tip.known ||
               !train_tree_equal(&attempt->tree, &train->tip.tree) ||
               (train->tip.proof == TRAIN_TIP_PROVEN && !train->tip.recheck);
    return attempt->unit->stale;
}

static void stop(struct train *train, struct train_attempt *attempt) {
    attempt->stopping = true;
    train_note_add(train, TRAIN_NOTE_STALE, attempt->num, 0, &attempt->tree);
}

/* The youngest stale run that is not being stopped. */
static struct train_attempt *stale_youngest(const struct train *train) {
    struct train_attempt *found = NULL;

    for (size_t i = 0; i < train->attempt_count; i++) {
        struct train_attempt *attempt = &train->attempts[i];

        if (!attempt->stopping && is_stale(train, attempt) &&
            (found == NULL || attempt->serial > found->serial))
            found = attempt;
    }
    return found;
}

/* The last run, from position `from` on, of a unit less urgent than the
 * class. */
static struct train_attempt *last_run(const struct train *train, size_t from,
                                      int less_urgent_than) {
    for (size_t i = train->reach; i-- > from;) {
        struct train_attempt *attempt =
            train_run_find(train, train->units[i]->num);

        if (attempt != NULL && !attempt->stopping && !attempt->departed &&
            (int)train->units[i]->job_class > less_urgent_than)
            return attempt;
    }
    return NULL;
}

/* A unit has one run at a time, and so has the tip. */
static void stop_own(struct train *train, struct wall now) {
    struct train_attempt *tip = train_run_find(train, 0);

    if (tip != NULL && !tip->stopping && is_stale(train, tip) &&
        train_tip_is_wanted(train, now))
        stop(train, tip);
    for (size_t i = 0; i < train->reach; i++) {
        struct train_attempt *attempt;

        if (!train_run_is_wanted(train, train->units[i]))
            continue;
        attempt = train_run_find(train, train->units[i]->num);
        if (attempt != NULL && !attempt->stopping)
            stop(train, attempt);
    }
}

static void stop_excess(struct train *train) {
    while (train_run_live(train) > train->config.lanes) {
        struct train_attempt *attempt = stale_youngest(train);

        if (attempt == NULL)
            attempt = last_run(train, 0, -1);
        if (attempt == NULL)
            break;
        stop(train, attempt);
    }
}

/* Gives lanes to the runs that are wanted, in train order. */
static void stop_for_lanes(struct train *train, struct wall now) {
    size_t live = train_run_live(train), lanes = train->config.lanes;
    size_t room = lanes > live ? lanes - live : 0, wanted = 0;
    struct train_attempt *attempt = stale_youngest(train);

    wanted +=
        train_tip_is_wanted(train, now) && train_run_find(train, 0) == NULL;
    for (size_t i = 0; i < train->reach; i++) {
        const struct train_unit *unit = train->units[i];

        if (!train_run_is_wanted(train, unit) || wanted++ < room)
            continue;
        if (attempt == NULL && train_interrupts(train, unit->job_class))
            attempt = last_run(train, i + 1, (int)unit->job_class);
        if (attempt == NULL)
            continue;
        stop(train, attempt);
        attempt = stale_youngest(train);
        room++;
    }
    /* Only the tip is wanted. */
    if (wanted > 0 && room == 0 && attempt != NULL)
        stop(train, attempt);
}

void train_spare_mark(struct train *train, struct wall now) {
    stop_own(train, now);
    stop_excess(train);
    stop_for_lanes(train, now);
}

size_t train_spare_propose(struct train *train, struct train_effect *effects) {
    size_t count = 0;

    for (size_t i = 0; i < train->attempt_count; i++) {
        struct train_attempt *attempt = &train->attempts[i];

        if (!attempt->stopping || attempt->told)
            continue;
        attempt->told = true;
        effects[count++] =
            (struct train_effect){.kind = TRAIN_STOP, .num = attempt->num};
    }
    return count;
}

/* The most urgent class among the runs that are wanted and interrupt. */
static int interrupting_class(const struct train *train) {
    int found = JOB_CLASSES;

    for (size_t i = 0; i < train->reach; i++) {
        const struct train_unit *unit = train->units[i];

        if (train_run_is_wanted(train, unit) &&
            train_interrupts(train, unit->job_class) &&
            (int)unit->job_class < found)
            found = (int)unit->job_class;
    }
    return found;
}

bool train_spare(struct train *train, enum train_claim claim,
                 uint64_t *ret_num) {
    struct train_attempt *attempt;

    train_candidate_refresh(train);
    if (train_run_live(train) < train->attempt_count)
        return false;
    attempt = stale_youngest(train);
    if (attempt == NULL && claim == TRAIN_CLAIM_INTERRUPT)
        attempt = last_run(train, 0, interrupting_class(train));
    if (attempt == NULL && claim == TRAIN_CLAIM_OTHER)
        attempt =
            last_run(train, train_run_first_below(train, TRAIN_WORTH_KEPT), -1);
    if (attempt == NULL)
        return false;
    stop(train, attempt);
    attempt->told = true;
    *ret_num = attempt->num;
    return true;
}
