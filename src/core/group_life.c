#include "core/group_life.h"

#include <stdlib.h>

#include "lib/arena.h"

/* The first step of a kind counts. */
static void step_first(uint64_t *step, uint64_t seq) {
    if (*step == 0)
        *step = seq;
}

void group_life_step(struct group_life *life, enum job_state to, uint64_t seq) {
    if (to == STATE_STAGED)
        step_first(&life->staged_seq, seq);
    else if (to == STATE_PENDING)
        step_first(&life->ready_seq, seq);
}

enum step_kind { STEP_ADMITTED, STEP_ENDED, STEP_READY };

struct step {
    uint64_t seq;
    enum step_kind kind;
    size_t of;
};

static int compare_steps(const void *a, const void *b) {
    const struct step *x = a, *y = b;
    int order = (x->seq > y->seq) - (x->seq < y->seq);

    return order != 0 ? order : (x->of > y->of) - (x->of < y->of);
}

/* The sets that no event has put into a group yet, in order of admission. */
struct undivided {
    struct group_life *lives;
    size_t *sets, count;
};

/* Where the group ends that begins with the set at `first`. */
static size_t group_end(const struct undivided *undivided, size_t first) {
    unsigned want = 0;
    size_t end = first;

    while (end < undivided->count && (want == 0 || end - first < want)) {
        unsigned own = undivided->lives[undivided->sets[end++]].want;

        want = own > want ? own : want;
    }
    return end;
}

/* Takes out the group of the set at `first`. Its sets that were not staged when
 * it became ready (`ready`: the set that did, or NULL) stay. */
static void group_take(struct undivided *undivided, size_t first,
                       const struct group_life *ready, uint64_t seq) {
    size_t end = group_end(undivided, first), kept = first;
    uint64_t num = 0;

    for (size_t i = first; i < undivided->count; i++) {
        struct group_life *life = &undivided->lives[undivided->sets[i]];
        bool late = ready != NULL && life != ready &&
                    (life->staged_seq == 0 || life->staged_seq > seq);

        if (i >= end || late) {
            undivided->sets[kept++] = undivided->sets[i];
            continue;
        }
        num = num == 0 ? life->num : num;
        life->group = num;
    }
    undivided->count = kept;
}

/* The group of this set takes no others any more. */
static void group_close(struct undivided *undivided, const struct step *step) {
    size_t first = 0, at = 0, end;

    while (undivided->sets[at] != step->of)
        at++;
    while ((end = group_end(undivided, first)) <= at)
        first = end;
    group_take(undivided, first,
               step->kind == STEP_READY ? &undivided->lives[step->of] : NULL,
               step->seq);
}

static void step_add(struct step *steps, size_t *count, uint64_t seq,
                     enum step_kind kind, size_t of) {
    if (seq != 0)
        steps[(*count)++] = (struct step){seq, kind, of};
}

void group_life_divide(struct group_life *lives, size_t count) {
    CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
    struct step *steps = arena_alloc(&arena, (3 * count + 1) * sizeof(*steps));
    struct undivided undivided = {
        .lives = lives,
        .sets = arena_alloc(&arena, (count + 1) * sizeof(*undivided.sets))};
    size_t step_count = 0;

    for (size_t i = 0; i < count; i++) {
        struct group_life *life = &lives[i];

        life->group = 0;
        steps[step_count++] =
            (struct step){life->admitted_seq, STEP_ADMITTED, i};
        step_add(steps, &step_count, life->ready_seq, STEP_READY, i);
        step_add(steps, &step_count, life->ended_seq, STEP_ENDED, i);
    }
    qsort(steps, step_count, sizeof(*steps), compare_steps);
    for (size_t i = 0; i < step_count; i++) {
        const struct step *step = &steps[i];

        if (step->kind == STEP_ADMITTED)
            undivided.sets[undivided.count++] = step->of;
        else if (lives[step->of].group == 0)
            group_close(&undivided, step);
    }
    while (undivided.count > 0)
        group_take(&undivided, 0, NULL, 0);
}
