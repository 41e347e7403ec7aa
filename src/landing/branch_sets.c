#include "landing/branch_sets.h"

#include <string.h>

/* Rollbacks of rollbacks: more than anybody creates by hand. */
enum { DEPTH_MAX = 100 };

void branch_sets_clear(struct branch_sets *sets) {
    map_clear(&sets->by_id);
    arena_clear(&sets->arena);
    *sets = (struct branch_sets){0};
}

struct branch_set *branch_sets_find(const struct branch_sets *sets,
                                    struct span id) {
    return map_get(&sets->by_id, id);
}

static struct branch_set *set_get(struct branch_sets *sets, struct span id) {
    struct branch_set *set = branch_sets_find(sets, id);
    if (set != NULL)
        return set;
    set = arena_alloc(&sets->arena, sizeof *set);
    *set = (struct branch_set){.id = id};
    (void)map_put(&sets->by_id, id, set);
    return set;
}

/* The newest commit decides. */
static void set_note(struct branch_set *set, struct span by,
                     const struct history_commit *commit) {
    if (set->newest != NULL)
        return;
    set->newest = commit->oid;
    set->by = by;
}

/* Its commits follow each other, newest first, and each names one. */
static void member_add(struct branch_sets *sets, struct branch_set *rollback,
                       struct span id) {
    for (size_t i = 0; i < rollback->count; i++)
        if (span_equal(rollback->members[i], id))
            return;
    if (rollback->count == rollback->cap) {
        size_t cap = rollback->cap > 0 ? 2 * rollback->cap : 4;
        struct span *members = arena_alloc(&sets->arena, cap * sizeof *members);
        if (rollback->count > 0)
            memcpy(members, rollback->members,
                   rollback->count * sizeof *members);
        rollback->members = members;
        rollback->cap = cap;
    }
    rollback->members[rollback->count++] = id;
}

static void add_lines(struct branch_sets *sets,
                      const struct history_commit *commit) {
    struct span rest = commit->trailers, id, above = commit->csid;
    bool in;
    while (history_effect(&rest, &in, &id)) {
        struct branch_set *set = set_get(sets, id);
        set_note(set, in ? SPAN("") : above, commit);
        sets->open += !set->is_sought && !set->is_landed;
        set->is_sought = true;
        if (!in && span_equal(above, commit->csid))
            member_add(sets, set_get(sets, commit->csid), id);
        above = id;
    }
}

void branch_sets_add(struct branch_sets *sets,
                     const struct history_commit *commit, bool by_rollback) {
    if (by_rollback)
        add_lines(sets, commit);
    if (commit->csid.len == 0)
        return;
    struct branch_set *set = set_get(sets, commit->csid);
    set_note(set, SPAN(""), commit);
    sets->open -= set->is_sought && !set->is_landed;
    set->is_landed = true;
}

/* ---- a rollback ---------------------------------------------------------- */

struct turning {
    struct branch_sets *sets;
    branch_sets_visit *visit;
    void *ctx;
    struct text lines; /* down to the present set */
};

static bool turn(struct turning *turning, struct span id, struct span by,
                 bool in, unsigned depth);

/* In the order in which the rollback had turned them, or, to restore them, in
 * the opposite order. */
static bool turn_members(struct turning *turning, const struct branch_set *set,
                         bool in, unsigned depth) {
    bool any = false;
    for (size_t i = 0; i < set->count; i++) {
        size_t at = in ? i : set->count - 1 - i;
        any |= turn(turning, set->members[at], set->id, in, depth);
    }
    return any;
}

/* False: it stays as it is. */
static bool turn(struct turning *turning, struct span id, struct span by,
                 bool in, unsigned depth) {
    struct branch_set *set = branch_sets_find(turning->sets, id);
    size_t above = turning->lines.len;
    if (set == NULL || !span_equal(set->by, in ? by : SPAN("")))
        return false;
    set->by = in ? SPAN("") : by;
    text_addf(&turning->lines, "%s-CS: ", in ? "Restores" : "Reverts");
    text_addspan(&turning->lines, id);
    text_addc(&turning->lines, '\n');
    if (depth == DEPTH_MAX || !turn_members(turning, set, !in, depth + 1))
        turning->visit(turning->ctx, set, text_span(&turning->lines));
    turning->lines.len = above;
    return true;
}

void branch_sets_roll_back(struct branch_sets *sets, struct span id,
                           struct span rollback, branch_sets_visit *visit,
                           void *ctx) {
    struct turning turning = {sets, visit, ctx, TEXT_INIT};
    (void)turn(&turning, id, rollback, false, 0);
    text_clear(&turning.lines);
}
