/* What people and pages are shown of a train. */
#include "core/train_inner.h"

#include <stdlib.h>

enum { NAMES_MAX = 6, COMMIT_SHOWN = 6 };

const char *train_state_word(enum train_state state) {
    static const char *const words[] = {
        "behind the window", "blocked", "merging", "waiting",
        "running",           "passed",  "failing", "landing"};
    return words[state];
}

void train_overview(const struct train *train, struct train_overview *ret) {
    const struct train_branch *tip = &train->tip;

    *ret = (struct train_overview){
        .commit = train_tree_span(&tip->commit),
        .tree = train_tree_span(&tip->tree),
        .proof = train->config.checks ? tip->proof : TRAIN_TIP_PROVEN,
        .reason = span_of(tip->reason),
        .detail = span_of(tip->detail),
        .again = tip->again,
        .tip_running = train_run_find(train, 0) != NULL,
        .units = train->count,
        .lanes = train->config.lanes,
        .busy = (unsigned)train->attempt_count,
        .q_ppm = train->q_ppm,
        .landing = train->move.active};
}

/* ---- one unit ----------------------------------------------------------- */

static bool counts_for_others(const struct train_unit *unit) {
    return unit->state == TRAIN_WAITING || unit->state == TRAIN_RUNNING ||
           unit->state == TRAIN_PASSED || unit->state == TRAIN_MERGING;
}

static void place_on_top(const struct train *train, size_t at,
                         struct arena *arena, struct train_place *ret) {
    size_t most = at < train->reach ? at : train->reach;
    uint64_t *nums = arena_alloc(arena, (most + 1) * sizeof(*nums));

    ret->on_top_of = nums;
    if (train->tip.proof == TRAIN_TIP_BROKEN)
        return;
    for (size_t i = 0; i < most; i++)
        if (counts_for_others(train->units[i]))
            nums[ret->on_top_count++] = train->units[i]->num;
}

static void place_failure(const struct train_unit *unit,
                          struct train_place *ret) {
    const struct train_outcome *outcome = train_unit_present_outcome(unit);

    if (unit->kind == CANDIDATE_CONFLICT || unit->kind == CANDIDATE_REFUSED) {
        ret->reason = train_unit_refusal(unit);
        ret->detail = span_of(unit->detail);
    } else if (outcome != NULL) {
        ret->reason = span_of(outcome->reason);
        ret->detail = span_of(outcome->detail);
    }
}

static void place_fill(const struct train *train, size_t at,
                       struct arena *arena, struct train_place *ret) {
    const struct train_unit *unit = train->units[at];
    const struct train_outcome *outcome = train_unit_present_outcome(unit);
    const struct train_attempt *attempt = train_run_find(train, unit->num);

    *ret = (struct train_place){.position = at + 1,
                                .num = unit->num,
                                .id = span_of(unit->id),
                                .job_class = unit->job_class,
                                .state =
                                    unit->landing ? TRAIN_LANDING : unit->state,
                                .runs = unit->runs,
                                .stale = unit->stale,
                                .expected_ms = train->mean_ms};
    place_on_top(train, at, arena, ret);
    if (attempt != NULL && !attempt->departed)
        ret->begun = attempt->begun;
    if (unit->state == TRAIN_FAILING)
        place_failure(unit, ret);
    if (unit->state == TRAIN_MERGING || unit->state == TRAIN_BLOCKED ||
        unit->state == TRAIN_BEYOND)
        return;
    ret->tree = train_tree_span(&unit->tree);
    ret->reused =
        unit->state == TRAIN_PASSED && outcome != NULL && outcome->reused;
}

bool train_place(const struct train *train, size_t position,
                 struct arena *arena, struct train_place *ret) {
    if (position < 1 || position > train->count)
        return false;
    place_fill(train, position - 1, arena, ret);
    return true;
}

bool train_find(const struct train *train, uint64_t num, struct arena *arena,
                struct train_place *ret) {
    const struct train_unit *unit = train_unit_of_set(train, num);

    if (unit == NULL)
        return false;
    place_fill(train, train_unit_at(train, unit), arena, ret);
    return true;
}

/* ---- why ---------------------------------------------------------------- */

static void add_name(const struct train *train, uint64_t num,
                     struct text *out) {
    const struct train_unit *unit = train_unit_find(train, num);

    text_addspan(out, unit != NULL ? span_of(unit->id) : SPAN("the tip"));
}

/* "C2", "C2 and C3", "C2, C3 and 4 more" */
static void add_names(const struct train *train, const uint64_t *nums,
                      size_t count, struct text *out) {
    size_t shown = count <= NAMES_MAX ? count : NAMES_MAX - 1;

    for (size_t i = 0; i < shown; i++) {
        if (i > 0)
            text_adds(out, i + 1 == count ? " and " : ", ");
        add_name(train, nums[i], out);
    }
    if (shown < count)
        text_addf(out, " and %zu more", count - shown);
}

static void add_on_top(const struct train *train,
                       const struct train_place *place, struct text *out) {
    text_adds(out, "on top of ");
    if (place->on_top_count == 0)
        text_adds(out, "the tip");
    else
        add_names(train, place->on_top_of, place->on_top_count, out);
}

static void add_minutes(struct text *out, int64_t ms) {
    long long s = ms > 0 ? (long long)ms / 1000 : 0;

    text_addf(out, "%lld:%02lld", s / 60, s % 60);
}

static void why_running(const struct train_place *place, struct wall now,
                        struct text *out) {
    text_addf(out, "; run %u for ", place->runs);
    add_minutes(out, wall_ms_since(now, place->begun));
    if (place->expected_ms >= 1000) {
        text_adds(out, " of about ");
        add_minutes(out, place->expected_ms);
    }
}

static void why_passed(const struct train *train,
                       const struct train_place *place, struct text *out) {
    if (!train->config.checks)
        return; /* its position says all */
    text_adds(out, "\npassed ");
    add_on_top(train, place, out);
    if (place->on_top_count > 0) {
        text_adds(out, "; lands when ");
        add_names(train, place->on_top_of, place->on_top_count, out);
        text_adds(out,
                  place->on_top_count == 1 ? " has landed" : " have landed");
    }
}

static void why_failing(const struct train *train,
                        const struct train_place *place, struct text *out) {
    struct span what = place->detail.len > 0 ? place->detail : place->reason;

    text_addf(out, "\n%s: ",
              span_is(place->reason, "conflict") ? "conflict" : "failed");
    text_addspan(out, what);
    text_addc(out, ' ');
    add_on_top(train, place, out);
    if (place->on_top_count > 0) {
        text_adds(out, "; final if ");
        add_names(train, place->on_top_of, place->on_top_count, out);
        text_adds(out, place->on_top_count == 1 ? " lands" : " land");
        text_adds(out, ", else checked again");
    } else if (train->config.checks &&
               (train->tip.proof == TRAIN_TIP_UNKNOWN ||
                train->tip.proof == TRAIN_TIP_UNPROVEN)) {
        text_adds(out, "; final if the tip itself passes");
    }
}

static void why_waiting(const struct train *train, unsigned slots,
                        unsigned busy, struct text *out) {
    unsigned lanes = train->config.lanes;

    if (train->attempt_count >= lanes) {
        text_addf(out, "\nno lane: %s uses %zu of %u (", train->target,
                  train->attempt_count, lanes);
        for (size_t i = 0; i < train->attempt_count; i++) {
            text_adds(out, i > 0 ? " " : "");
            add_name(train, train->attempts[i].num, out);
        }
        text_addc(out, ')');
    } else if (busy >= slots) {
        text_addf(out, "\nno slot: %u of %u are busy", busy, slots);
    }
}

static void why_blocked(const struct train *train,
                        const struct train_unit *unit, struct text *out) {
    for (size_t i = 0; i < unit->follow_count; i++) {
        text_adds(out, i == 0 ? "\nfollows " : ", ");
        add_name(train, unit->follows[i].num, out);
    }
}

static void why_broken(const struct train *train, struct text *out) {
    const struct train_branch *tip = &train->tip;
    const char *detail =
        tip->detail != NULL && tip->detail[0] != 0 ? tip->detail : tip->reason;

    text_addf(out,
              "\n%s is broken: its tip %.*s fails (%s); no set fails for it; "
              "push or submit a fix, or 'pointsman train recheck %s'",
              train->target, COMMIT_SHOWN, tip->commit.text, detail,
              train->target);
}

static void why_state(const struct train *train,
                      const struct train_place *place, unsigned slots,
                      unsigned busy, struct text *out) {
    switch (place->state) {
    case TRAIN_PASSED:
        why_passed(train, place, out);
        break;
    case TRAIN_FAILING:
        why_failing(train, place, out);
        break;
    case TRAIN_WAITING:
        why_waiting(train, slots, busy, out);
        break;
    case TRAIN_BLOCKED:
        why_blocked(train, train_unit_find(train, place->num), out);
        break;
    case TRAIN_BEYOND:
        text_addf(out, "\nonly the first %zu are merged and checked",
                  train_candidate_window(train));
        break;
    case TRAIN_LANDING:
        text_adds(out, "\nit is landing");
        break;
    case TRAIN_MERGING:
    case TRAIN_RUNNING:
        break;
    }
}

bool train_why(const struct train *train, uint64_t num, unsigned slots,
               unsigned busy, struct wall now, struct text *out) {
    struct arena arena = ARENA_INIT;
    struct train_place place;

    if (!train_find(train, num, &arena, &place))
        return false;
    text_addf(out, "position %zu of %zu on the train of %s", place.position,
              train->count, train->target);
    if (place.on_top_count > 0) {
        text_adds(out, ", ");
        add_on_top(train, &place, out);
    }
    if (place.state == TRAIN_RUNNING)
        why_running(&place, now, out);
    why_state(train, &place, slots, busy, out);
    if (train->tip.proof == TRAIN_TIP_BROKEN)
        why_broken(train, out);
    if (train->closed & TRAIN_CLOSED_ROLLBACK)
        text_addf(out, "\na rollback of %s is open", train->target);
    if (train->closed & TRAIN_CLOSED_UNAVAILABLE)
        text_addf(out, "\n%s cannot be used now", train->target);
    arena_clear(&arena);
    return true;
}
