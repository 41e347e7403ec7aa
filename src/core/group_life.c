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

/* The sets of the newest group, to which others may still be added. */
struct newest {
    struct group_life *lives;
    size_t *sets, count;
};

/* Ends the newest group. Sets that had not been staged when it became ready
 * (`ready`: the set that did, or NULL) begin the next one. */
static void newest_close(struct newest *newest, const struct group_life *ready,
                         uint64_t seq) {
    size_t kept = 0;
    uint64_t first = 0;

    for (size_t i = 0; i < newest->count; i++) {
        struct group_life *life = &newest->lives[newest->sets[i]];
        bool late = ready != NULL && life != ready &&
                    (life->staged_seq == 0 || life->staged_seq > seq);

        if (late) {
            newest->sets[kept++] = newest->sets[i];
            continue;
        }
        first = first == 0 ? life->num : first;
        life->group = first;
    }
    newest->count = kept;
}

static void step_add(struct step *steps, size_t *count, uint64_t seq,
                     enum step_kind kind, size_t of) {
    if (seq != 0)
        steps[(*count)++] = (struct step){seq, kind, of};
}

void group_life_divide(struct group_life *lives, size_t count) {
    CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
    struct step *steps = arena_alloc(&arena, (3 * count + 1) * sizeof(*steps));
    struct newest newest = {
        .lives = lives,
        .sets = arena_alloc(&arena, (count + 1) * sizeof(*newest.sets))};
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
            newest.sets[newest.count++] = step->of;
        else if (lives[step->of].group == 0)
            newest_close(&newest,
                         step->kind == STEP_READY ? &lives[step->of] : NULL,
                         step->seq);
    }
    newest_close(&newest, NULL, 0);
}
