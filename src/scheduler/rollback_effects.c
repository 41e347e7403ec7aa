#include "scheduler/rollback_effects.h"

#include <stdlib.h>

#include "core/reason.h"
#include "core/rollback.h"

/* Rollbacks of rollbacks: more than anybody creates by hand. */
enum { DEPTH_MAX = 100 };

struct builder {
    struct store *store;
    struct rollback_effects *effects;
};

void rollback_effects_clear(struct rollback_effects *effects) {
    map_clear(&effects->by_num);
    arena_clear(&effects->arena);
    *effects = (struct rollback_effects){0};
}

static bool look_at(struct builder *builder, uint64_t num,
                    struct rollback_effect **ret_effect, struct err *err) {
    struct rollback_effects *effects = builder->effects;
    struct span key = map_num_key(&num);
    *ret_effect = map_get(&effects->by_num, key);
    if (*ret_effect)
        return true;
    struct rollback_effect *effect =
        arena_alloc(&effects->arena, sizeof(*effect));
    *effect = (struct rollback_effect){0};
    if (!store_job(builder->store, num, &effects->arena, &effect->job, err))
        return false;
    effect->was = effect->now = effect->job.rolled_back_by;
    (void)map_put(&effects->by_num, key, effect);
    *ret_effect = effect;
    return true;
}

static int newest_first(const void *a, const void *b) {
    const struct rollback_effect *x = *(struct rollback_effect *const *)a,
                                 *y = *(struct rollback_effect *const *)b;
    return (x->since < y->since) - (x->since > y->since);
}

static int oldest_first(const void *a, const void *b) {
    return newest_first(b, a);
}

/* Sets effect->since to the event before `before` that last put the set in
 * effect: it landed, or a rollback restored it. */
static bool read_since(struct builder *builder, struct rollback_effect *effect,
                       uint64_t before, struct err *err) {
    CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
    struct store_event *events;
    size_t count;
    effect->since = effect->job.state_seq;
    if (!store_events(builder->store, effect->job.state_seq, effect->job.num, 0,
                      &arena, &events, &count, err))
        return false;
    for (size_t i = 0; i < count && events[i].seq < before; i++)
        if (events[i].kind == EVENT_ROLLED_BACK &&
            span_is(events[i].reason, REASON_REINSTATED))
            effect->since = events[i].seq;
    return true;
}

static bool sort(struct builder *builder, struct rollback_effect **sets,
                 size_t count, uint64_t before,
                 int (*compare)(const void *, const void *), struct err *err) {
    for (size_t i = 0; count > 1 && i < count; i++)
        if (!read_since(builder, sets[i], before, err))
            return false;
    qsort(sets, count, sizeof(struct rollback_effect *), compare);
    return true;
}

static bool apply_members(struct builder *builder, const struct job *rb,
                          bool in, unsigned depth, struct err *err);

/* The members that the rollback has rolled back. */
static bool read_members(struct builder *builder, const struct job *rb,
                         struct rollback_effect ***ret_sets, size_t *ret_count,
                         struct err *err) {
    struct arena *arena = &builder->effects->arena;
    struct store_rollback plan;
    struct rollback_entry *entries = NULL;
    size_t count = 0;
    bool found;
    *ret_count = 0;
    if (!store_rollback(builder->store, rb->num, arena, &plan, &found, err))
        return false;
    if (found && !rollback_entries_parse(plan.members, arena, &entries, &count))
        return err_set(err, ERR_DATA, "the plan of rollback '%.*s' is damaged",
                       (int)rb->id.len, rb->id.p);
    *ret_sets =
        arena_alloc(arena, (count + 1) * sizeof(struct rollback_effect *));
    for (size_t i = 0; i < count; i++)
        if (entries[i].outcome == ROLLBACK_REVERTED &&
            !look_at(builder, entries[i].num, &(*ret_sets)[(*ret_count)++],
                     err))
            return false;
    return true;
}

/* The rollbacks that rolled it back or restore it come after what they change:
 * so they are newer, and a rollback of both begins with them, as on a branch,
 * whose commit names them first. */
static bool apply_one(struct builder *builder, struct rollback_effect *effect,
                      struct span by, bool in, unsigned depth,
                      struct err *err) {
    /* Another rollback has rolled it back and is responsible for it. */
    if (!span_equal(effect->now, in ? by : SPAN("")))
        return true;
    effect->now = in ? SPAN("") : by;
    if (!in)
        effect->between = by;
    if (job_has(&effect->job, JOB_ROLLS_BACK) && depth < DEPTH_MAX &&
        !apply_members(builder, &effect->job, !in, depth + 1, err))
        return false;
    effect->at = ++builder->effects->clock;
    return true;
}

static bool apply_all(struct builder *builder, struct rollback_effect **sets,
                      size_t count, struct span by, bool in, unsigned depth,
                      struct err *err) {
    for (size_t i = 0; i < count; i++)
        if (!apply_one(builder, sets[i], by, in, depth, err))
            return false;
    return true;
}

/* They are turned in the order in which the rollback itself found them, or in
 * the opposite order. */
static bool apply_members(struct builder *builder, const struct job *rb,
                          bool in, unsigned depth, struct err *err) {
    struct rollback_effect **members = NULL;
    size_t count = 0;
    return read_members(builder, rb, &members, &count, err) &&
           sort(builder, members, count, rb->state_seq,
                in ? oldest_first : newest_first, err) &&
           apply_all(builder, members, count, rb->id, in, depth, err);
}

static int compare_at(const void *a, const void *b) {
    const struct rollback_effect *x = *(struct rollback_effect *const *)a,
                                 *y = *(struct rollback_effect *const *)b;
    return (x->at > y->at) - (x->at < y->at);
}

static void gather(struct rollback_effects *effects) {
    size_t cursor = 0, bytes = (map_count(&effects->by_num) + 1) *
                               sizeof(struct rollback_effect *);
    void *value;
    effects->changed = arena_alloc(&effects->arena, bytes);
    effects->turned = arena_alloc(&effects->arena, bytes);
    while (map_next(&effects->by_num, &cursor, NULL, &value)) {
        struct rollback_effect *effect = value;
        if (effect->at > 0)
            effects->turned[effects->turned_count++] = effect;
    }
    qsort(effects->turned, effects->turned_count,
          sizeof(struct rollback_effect *), compare_at);
    for (size_t i = 0; i < effects->turned_count; i++)
        if (!span_equal(effects->turned[i]->was, effects->turned[i]->now))
            effects->changed[effects->count++] = effects->turned[i];
}

static bool look_at_all(struct builder *builder, const uint64_t *nums,
                        size_t count, struct rollback_effect ***ret_sets,
                        struct err *err) {
    *ret_sets = arena_alloc(&builder->effects->arena,
                            (count + 1) * sizeof(struct rollback_effect *));
    for (size_t i = 0; i < count; i++)
        if (!look_at(builder, nums[i], &(*ret_sets)[i], err))
            return false;
    return sort(builder, *ret_sets, count, UINT64_MAX, newest_first, err);
}

bool rollback_effects_make(struct store *store, struct span rb_id,
                           const uint64_t *nums, size_t count,
                           struct rollback_effects *ret_rollback_effects,
                           struct err *err) {
    struct builder builder = {store, ret_rollback_effects};
    struct rollback_effect **sets;
    *ret_rollback_effects = (struct rollback_effects){0};
    if (!look_at_all(&builder, nums, count, &sets, err) ||
        !apply_all(&builder, sets, count, rb_id, false, 0, err))
        return false;
    gather(ret_rollback_effects);
    return true;
}

bool rollback_effects_sort(struct store *store, uint64_t *nums, size_t count,
                           struct err *err) {
    CLEANUP(rollback_effects_clear) struct rollback_effects effects = {0};
    struct builder builder = {store, &effects};
    struct rollback_effect **sets;
    if (!look_at_all(&builder, nums, count, &sets, err))
        return false;
    for (size_t i = 0; i < count; i++)
        nums[i] = sets[i]->job.num;
    return true;
}

const struct rollback_effect *
rollback_effects_find(const struct rollback_effects *effects, uint64_t num) {
    return map_get(&effects->by_num, map_num_key(&num));
}

bool rollback_effects_put_out(const struct rollback_effects *effects,
                              struct span rb_id, uint64_t num) {
    const struct rollback_effect *effect = rollback_effects_find(effects, num);
    return effect && effect->was.len == 0 && span_equal(effect->now, rb_id);
}

/* ---- marks --------------------------------------------------------------- */

void rollback_effects_detail(struct span by, struct span because,
                             struct text *out) {
    if (by.len > 0 && !span_equal(by, because)) {
        text_addspan(out, by);
        text_adds(out, ", because of ");
    }
    text_addspan(out, because);
}

static void mark(const struct rollback_effect *effect, struct span was,
                 struct span now, struct span rb_id,
                 struct store_batch *batch) {
    CLEANUP(text_clear) struct text detail = TEXT_INIT;
    rollback_effects_detail(now, rb_id, &detail);
    store_mark(batch, effect->job.num, was, now, rb_id, text_span(&detail));
}

/* A set that is in effect as before, but was not in between, has come into
 * effect now, as on a branch. */
void rollback_effects_mark(const struct rollback_effects *effects,
                           struct span rb_id, struct store_batch *batch) {
    for (size_t i = 0; i < effects->turned_count; i++) {
        const struct rollback_effect *effect = effects->turned[i];
        if (!span_equal(effect->was, effect->now)) {
            mark(effect, effect->was, effect->now, rb_id, batch);
        } else if (effect->now.len == 0) {
            mark(effect, SPAN(""), effect->between, rb_id, batch);
            mark(effect, effect->between, SPAN(""), rb_id, batch);
        }
    }
}
