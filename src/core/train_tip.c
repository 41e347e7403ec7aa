/* Is the tip proven? A failure on top of a tip that never passed says nothing
 * about the set (M7), so the tip itself is run first. If it fails, the branch
 * is broken and each unit is tried alone on it (M8). */
#include "core/train_inner.h"

#include <stdlib.h>

enum { AGAIN_MAX_S = 600 };

static void say(struct train_branch *tip, struct span reason,
                struct span detail) {
    free(tip->reason);
    free(tip->detail);
    tip->reason = span_string(reason);
    tip->detail = span_string(detail);
}

/* Failures that were found while the branch was broken count no more: whatever
 * repaired it may have repaired what made them fail. */
static void broken_ended(struct train *train) {
    for (size_t i = 0; i < train->count; i++)
        train_unit_forget_failures(train->units[i]);
    train_note_add(train, TRAIN_NOTE_REPAIRED, 0, 0, &train->tip.tree);
    train_note_cause(train, TRAIN_NOTE_REBUILT, 0);
}

static void restart(struct train_branch *tip, enum train_proof proof) {
    say(tip, (struct span){0}, (struct span){0});
    tip->proof = proof;
    tip->asked = tip->needed = false;
    tip->fails = tip->tries = 0;
    tip->again = (struct wall){0};
}

void train_tip_set(struct train *train, struct span commit, struct span tree,
                   bool proven) {
    struct train_branch *tip = &train->tip;
    bool was_broken = tip->proof == TRAIN_TIP_BROKEN;

    tip->known = tree.len > 0 || !train->config.checks;
    tip->commit = train_tree_make(commit);
    tip->tree = train_tree_make(tree);
    restart(tip, proven ? TRAIN_TIP_PROVEN : TRAIN_TIP_UNKNOWN);
    tip->recheck = false;
    if (was_broken)
        broken_ended(train);
    train->dirty = true;
}

void train_tip_doubt(struct train *train) {
    restart(&train->tip, TRAIN_TIP_UNKNOWN);
    train->dirty = true;
}

void train_tip_passed(struct train *train) {
    bool was_broken = train->tip.proof == TRAIN_TIP_BROKEN;

    restart(&train->tip, TRAIN_TIP_PROVEN);
    train->tip.recheck = false;
    if (was_broken)
        broken_ended(train);
    train->dirty = true;
}

static struct wall after_tries(struct wall now, unsigned tries) {
    int64_t s = tries >= 10 ? AGAIN_MAX_S : INT64_C(1) << tries;

    return wall_add_ms(now, 1000 * (s < AGAIN_MAX_S ? s : AGAIN_MAX_S));
}

void train_tip_failed(struct train *train, struct span reason,
                      struct span detail, struct wall now) {
    struct train_branch *tip = &train->tip;

    train->dirty = true;
    tip->fails++;
    if (tip->proof != TRAIN_TIP_BROKEN &&
        tip->fails <= train->config.check_retries)
        return;
    say(tip, reason, detail);
    tip->recheck = false;
    tip->again = after_tries(now, tip->tries++);
    if (tip->proof == TRAIN_TIP_BROKEN)
        return;
    tip->proof = TRAIN_TIP_BROKEN;
    train_note_add(train, TRAIN_NOTE_BROKEN, 0, 0, &tip->tree);
    train_note_cause(train, TRAIN_NOTE_REBUILT, 0);
}

bool train_tip_is_wanted(const struct train *train, struct wall now) {
    const struct train_branch *tip = &train->tip;

    if (!tip->known || !train->config.checks || train->closed != 0)
        return false;
    if (tip->recheck)
        return true;
    switch (tip->proof) {
    case TRAIN_TIP_UNPROVEN:
        return tip->needed;
    case TRAIN_TIP_BROKEN:
        return now.ns >= tip->again.ns && !train->move.active;
    case TRAIN_TIP_UNKNOWN:
    case TRAIN_TIP_PROVEN:
        break;
    }
    return false;
}
