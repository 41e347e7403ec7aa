#include "landing/branch_sets.h"

#include <string.h>

/* Rollbacks of rollbacks: more than anybody creates by hand. */
enum { DEPTH_MAX = 100 };

void branch_sets_clear(struct branch_sets *sets) {
    map_clear(&sets->by_id);
    map_clear(&sets->sought);
    arena_clear(&sets->arena);
    *sets = (struct branch_sets){0};
}

struct branch_set *branch_sets_find(const struct branch_sets *sets,
                                    struct span id, struct span sum) {
    struct branch_set *set = map_get(&sets->by_id, id);
    while (set != NULL && !span_equal(set->sum, sum))
        set = set->next;
    return set;
}

static struct branch_set *set_new(struct branch_sets *sets, struct span id,
                                  struct span sum) {
    struct branch_set *set = arena_alloc(&sets->arena, sizeof *set);
    *set = (struct branch_set){.id = id, .sum = sum};
    return set;
}

/* What newer commits say of all sets of the id applies to a set met now. */
static struct branch_set *set_get(struct branch_sets *sets, struct span id,
                                  struct span sum) {
    struct branch_set *set = branch_sets_find(sets, id, sum);
    struct branch_set *all = map_get(&sets->by_id, id);
    if (set != NULL)
        return set;
    if (all == NULL) {
        all = set_new(sets, id, SPAN(""));
        (void)map_put(&sets->by_id, id, all);
    }
    if (sum.len == 0)
        return all;
    set = set_new(sets, id, sum);
    set->by = all->by;
    set->newest = all->newest;
    set->next = all->next;
    all->next = set;
    return set;
}

/* The newest commit decides. */
static void set_note(struct branch_set *set, const struct branch_set *by,
                     const struct history_commit *commit) {
    if (set->newest != NULL)
        return;
    set->newest = commit->oid;
    set->by = by;
}

/* Without a sum: one of them that is older. */
static void set_seek(struct branch_sets *sets, struct branch_set *set) {
    bool waits = set->is_sought && set->landed == 0;
    if (set->sum.len == 0)
        set->landed = 0;
    sets->open += !waits && set->landed == 0;
    set->is_sought = true;
}

static void set_land(struct branch_sets *sets, struct branch_set *set) {
    sets->open -= set->is_sought && set->landed == 0;
    set->landed = sets->met;
}

void branch_sets_seek(struct branch_sets *sets, struct span id,
                      struct span sum) {
    set_seek(sets, set_get(sets, id, sum));
}

bool branch_sets_need_more(const struct branch_sets *sets) {
    return sets->open > 0 || map_count(&sets->sought) > 0;
}

/* Its commits follow each other, newest first, and each names one. */
static void member_add(struct branch_sets *sets, struct branch_set *rollback,
                       struct branch_set *member) {
    for (size_t i = 0; i < rollback->count; i++)
        if (rollback->members[i] == member)
            return;
    if (rollback->count == rollback->cap) {
        size_t cap = rollback->cap > 0 ? 2 * rollback->cap : 4;
        struct branch_set **members =
            arena_alloc(&sets->arena, cap * sizeof(struct branch_set *));
        if (rollback->count > 0)
            memcpy(members, rollback->members,
                   rollback->count * sizeof(struct branch_set *));
        rollback->members = members;
        rollback->cap = cap;
    }
    rollback->members[rollback->count++] = member;
}

static void add_lines(struct branch_sets *sets,
                      const struct history_commit *commit) {
    struct branch_set *maker = set_get(sets, commit->csid, commit->sum);
    struct branch_set *above = maker;
    struct span rest = commit->trailers;
    struct history_effect effect;
    while (history_effect_next(&rest, &effect)) {
        struct branch_set *set = set_get(sets, effect.id, effect.sum);
        const struct branch_set *by = effect.in ? NULL : above;
        set_note(set, by, commit);
        for (struct branch_set *each = set->next;
             set->sum.len == 0 && each != NULL; each = each->next)
            set_note(each, by, commit);
        set_seek(sets, set);
        if (set->sum.len == 0 && commit->reverts[0] != '\0')
            (void)map_put(&sets->sought, span_of(commit->reverts), set);
        if (!effect.in && above == maker)
            member_add(sets, maker, set);
        above = set;
    }
}

void branch_sets_add(struct branch_sets *sets,
                     const struct history_commit *commit, bool by_rollback) {
    sets->met++;
    (void)map_remove(&sets->sought, span_of(commit->oid));
    if (by_rollback)
        add_lines(sets, commit);
    if (commit->csid.len == 0 || commit->sum.len == 0)
        return; /* not one of ours */
    struct branch_set *set = set_get(sets, commit->csid, commit->sum);
    set_note(set, NULL, commit);
    set_land(sets, set);
    set_land(sets, map_get(&sets->by_id, commit->csid));
}

/* ---- a rollback ---------------------------------------------------------- */

struct turning {
    branch_sets_visit *visit;
    void *ctx;
    struct text lines; /* down to the present set */
};

static bool turn(struct turning *turning, struct branch_set *set,
                 const struct branch_set *by, bool in, unsigned depth);

/* A member without a sum: all sets of its id that were there before `set`. */
static bool turn_member(struct turning *turning, const struct branch_set *set,
                        struct branch_set *member, bool in, unsigned depth) {
    bool any = false;
    if (member->sum.len > 0)
        return turn(turning, member, set, in, depth);
    for (struct branch_set *each = member->next; each != NULL;
         each = each->next)
        if (each->landed > set->landed)
            any |= turn(turning, each, set, in, depth);
    return any;
}

/* In the order in which the rollback had turned them, or, to restore them, in
 * the opposite order. */
static bool turn_members(struct turning *turning, const struct branch_set *set,
                         bool in, unsigned depth) {
    bool any = false;
    for (size_t i = 0; i < set->count; i++) {
        size_t at = in ? i : set->count - 1 - i;
        any |= turn_member(turning, set, set->members[at], in, depth);
    }
    return any;
}

static bool is_out_by(const struct branch_set *set,
                      const struct branch_set *by) {
    return set->by == by || (set->by != NULL && set->by->sum.len == 0 &&
                             span_equal(set->by->id, by->id));
}

/* False: it stays as it is. */
static bool turn(struct turning *turning, struct branch_set *set,
                 const struct branch_set *by, bool in, unsigned depth) {
    size_t above = turning->lines.len;
    if (in ? !is_out_by(set, by) : set->by != NULL)
        return false;
    set->by = in ? NULL : by;
    history_effect_add(&(struct history_effect){in, set->id, set->sum},
                       &turning->lines);
    if (depth == DEPTH_MAX || !turn_members(turning, set, !in, depth + 1))
        turning->visit(turning->ctx, set, text_span(&turning->lines));
    turning->lines.len = above;
    return true;
}

void branch_sets_roll_back(struct branch_sets *sets, struct span id,
                           struct span sum, branch_sets_visit *visit,
                           void *ctx) {
    struct turning turning = {visit, ctx, TEXT_INIT};
    struct branch_set *set = branch_sets_find(sets, id, sum);
    if (set != NULL && set->newest != NULL)
        (void)turn(&turning, set, set_new(sets, SPAN(""), SPAN("")), false, 0);
    text_clear(&turning.lines);
}
