#include "core/node_job.h"

#include <assert.h>
#include <stdlib.h>

#include "lib/bits.h"

#define NOTHING UINT64_MAX

enum { EIGHT = 8 };

/* ---- keys --------------------------------------------------------------- */

static uint32_t name_key(struct span name) {
    uint32_t key = 0;

    for (size_t i = 0; i < sizeof(key); i++)
        key = key << 8 | (i < name.len ? (unsigned char)name.p[i] : 0);
    return key;
}

/* The key by which tasks are ordered; smaller comes first, and equal ones are
 * in the order of the nodes, or of their names. */
static uint32_t task_key(const struct node_job *job, uint32_t node,
                         uint32_t attempt) {
    const struct node *n = &job->tree->nodes[node];

    switch (job->spec.order) {
    case NODE_ORDER_ORIGINAL:
        return n->order;
    case NODE_ORDER_LEXICOGRAPHIC:
        return name_key(node_tree_name(job->tree, node));
    case NODE_ORDER_RANDOM:
        break;
    }
    return (uint32_t)(node_hash_mix(job->salt ^ n->hash, attempt) >> 32);
}

/* Both have the same key. */
static bool precedes(const struct node_job *job, uint32_t a, uint32_t b) {
    const struct node_tree *tree = job->tree;
    uint32_t node_a = tree->places[a].node, node_b = tree->places[b].node;
    uint32_t first;

    if (node_a == node_b) {
        for (first = tree->nodes[node_a].places; first != a && first != b;)
            first = tree->places[first].next;
        return first == a;
    }
    if (job->spec.order == NODE_ORDER_LEXICOGRAPHIC)
        return span_compare(node_tree_name(tree, node_a),
                            node_tree_name(tree, node_b)) < 0;
    return tree->nodes[node_a].order < tree->nodes[node_b].order;
}

static uint64_t better(const struct node_job *job, uint64_t a, uint64_t b) {
    if (a >> 32 != b >> 32 || a == b)
        return a < b ? a : b;
    if (a == NOTHING || b == NOTHING)
        return a == NOTHING ? b : a;
    return precedes(job, (uint32_t)a, (uint32_t)b) ? a : b;
}

/* ---- places ------------------------------------------------------------- */

static bool is_accepted(const struct node_job *job, uint32_t place) {
    return (job->filtered >> job->tree->places[place].level & 1) == 0 ||
           bits_has(job->accepted, place);
}

static void apply_filter(struct node_job *job, uint32_t place) {
    const struct node_tree *tree = job->tree;
    unsigned level = tree->places[place].level;

    if (job->filtered >> level & 1)
        bits_put(
            job->accepted, place,
            node_filter_accepts(&job->spec.filters[level],
                                node_tree_name(tree, tree->places[place].node),
                                node_tree_tags(tree, place)));
}

static bool has_amounts(const struct node_job *job, unsigned level,
                        const int64_t *left) {
    const int64_t *takes = job->spec.demand.of_level[level];

    for (unsigned r = 0; r < job->tree->levels[level].defined.resource_count;
         r++)
        if (takes[r] > 0 && left[r] < takes[r])
            return false;
    return true;
}

bool node_job_amount_matters(const struct node_job *job, unsigned level,
                             const int64_t *was, const int64_t *left) {
    return (job->demanded >> level & 1) != 0 &&
           has_amounts(job, level, was) != has_amounts(job, level, left);
}

static bool fits(const struct node_job *job, uint32_t place) {
    const struct node_place *p = &job->tree->places[place];
    uint32_t host;

    if ((job->demanded >> p->level & 1) != 0 &&
        !has_amounts(job, p->level, node_tree_left(job->tree, p->node)))
        return false;
    if (!job->spec.follows_host || p->level != job->spec.host_level)
        return true;
    host = job->tree->nodes[p->node].host;
    return host < job->open.host_room && job->open.of_host[host] > 0;
}

static struct node_task *task_at(const struct node_job *job, uint32_t place) {
    const struct node_tree *tree = job->tree;

    return &job->tasks[tree->nodes[tree->places[place].node].row];
}

/* ---- the tournament ----------------------------------------------------- */

/* The tournament of a range: what the slots offer, then the best of each eight
 * of these, and so on; the last entry is the best of all. An eight fills a
 * cache line. There is room for half as much again as there are slots. */
static uint64_t *range_of(const struct node_job *job, unsigned level,
                          const struct node_kids *kids) {
    return job->best[level] + (size_t)kids->base / 2 * 3;
}

static uint32_t eighth(uint32_t count) {
    return (count + EIGHT - 1) / EIGHT;
}

static uint64_t best_of(const uint64_t *best, uint32_t room) {
    for (; room > 1; room = eighth(room))
        best += room;
    return *best;
}

static uint64_t best_of_eight(const struct node_job *job, const uint64_t *from,
                              uint32_t count) {
    uint64_t best = from[0];

    for (uint32_t i = 1; i < count && i < EIGHT; i++)
        best = better(job, best, from[i]);
    return best;
}

/* Finds the best that the children of the place offer. False: it is the same as
 * before. */
static bool sum_up(struct node_job *job, uint32_t place) {
    const struct node_place *p = &job->tree->places[place];
    uint64_t best = NOTHING;
    uint64_t *below = &job->below[p->level][p->slot].best;

    for (unsigned l = p->level + 1u; p->kids != NULL && l <= job->spec.level;
         l++) {
        const struct node_kids *kids = node_tree_kids(job->tree, p, l);
        if (kids->room > 0)
            best =
                better(job, best, best_of(range_of(job, l, kids), kids->room));
    }
    if (*below == best)
        return false;
    *below = best;
    return true;
}

static uint64_t offer(const struct node_job *job, uint32_t place) {
    const struct node_place *p;
    uint64_t best;

    if (place == NODE_NONE)
        return NOTHING;
    p = &job->tree->places[place];
    if (!p->enabled || !is_accepted(job, place))
        return NOTHING;
    if (p->level < job->spec.level) {
        best = job->below[p->level][p->slot].best;
    } else {
        const struct node_task *task = task_at(job, place);
        if ((task->flags & NODE_TASK_READY) == 0)
            return NOTHING;
        best = (uint64_t)task_key(job, p->node, task->attempt) << 32 | place;
    }
    return best == NOTHING || fits(job, place) ? best : NOTHING;
}

static void build_range(struct node_job *job, unsigned level,
                        const struct node_kids *kids) {
    uint64_t *best = range_of(job, level, kids);

    for (uint32_t i = 0; i < kids->room; i++)
        best[i] = offer(job, node_tree_slot(job->tree, level, kids->base + i));
    for (uint32_t count = kids->room; count > 1; count = eighth(count)) {
        for (uint32_t i = 0; i < count; i += EIGHT)
            best[count + i / EIGHT] = best_of_eight(job, best + i, count - i);
        best += count;
    }
}

/* What is in the slot may offer something else. False: that makes no
 * difference for the parent. */
static bool replay_range(struct node_job *job, unsigned level, uint32_t slot,
                         const struct node_kids *kids) {
    uint64_t *best = range_of(job, level, kids);
    uint64_t winner = offer(job, node_tree_slot(job->tree, level, slot));

    uint32_t i = slot - kids->base, count = kids->room;

    for (;;) {
        if (best[i] == winner)
            return false;
        best[i] = winner;
        if (count == 1)
            return true;
        i /= EIGHT;
        winner = best_of_eight(job, best + i * EIGHT, count - i * EIGHT);
        best += count;
        count = eighth(count);
    }
}

static void decide_first(struct node_job *job) {
    uint64_t best;

    if (!node_job_is_own(job)) {
        best = offer(job, 0);
        job->first = best == NOTHING ? NODE_NONE : (uint32_t)best;
        return;
    }
    job->first =
        job->tree->places[0].enabled && is_accepted(job, 0) && fits(job, 0)
            ? job->own_best[1]
            : NODE_NONE;
}

static void replay_up(struct node_job *job, uint32_t parent, unsigned level,
                      uint32_t slot) {
    while (parent != NODE_NONE) {
        const struct node_place *p = &job->tree->places[parent];
        if (!replay_range(job, level, slot,
                          node_tree_kids(job->tree, p, level)) ||
            !sum_up(job, parent))
            return;
        slot = p->slot;
        level = p->level;
        parent = p->parent;
    }
    decide_first(job);
}

static void replay(struct node_job *job, uint32_t place) {
    const struct node_place *p = &job->tree->places[place];

    replay_up(job, p->parent, p->level, p->slot);
}

/* ---- own nodes ---------------------------------------------------------- */

static uint32_t own_match(const struct node_job *job, uint32_t left) {
    for (uint32_t row = left; row < left + 2; row++)
        if (row < job->spec.own_count &&
            (job->tasks[row].flags & NODE_TASK_READY) != 0)
            return row;
    return NODE_NONE;
}

static void own_replay(struct node_job *job, uint32_t row) {
    uint32_t winner = own_match(job, row & ~UINT32_C(1));

    for (uint32_t i = (job->own_room + row) / 2;; i /= 2) {
        if (job->own_best[i] == winner)
            return;
        job->own_best[i] = winner;
        if (i == 1)
            break;
        if (job->own_best[i ^ 1] < winner)
            winner = job->own_best[i ^ 1];
    }
    decide_first(job);
}

static void own_build(struct node_job *job) {
    uint32_t half = job->own_room / 2;

    for (uint32_t i = job->own_room; i-- > half;)
        job->own_best[i] = own_match(job, 2 * (i - half));
    for (uint32_t i = half; i-- > 1;) {
        uint32_t a = job->own_best[2 * i], b = job->own_best[2 * i + 1];
        job->own_best[i] = a < b ? a : b;
    }
}

uint32_t node_job_first_row(const struct node_job *job) {
    assert(job->first != NODE_NONE);
    return node_job_is_own(job)
               ? job->first
               : job->tree->nodes[job->tree->places[job->first].node].row;
}

/* ---- counts ------------------------------------------------------------- */

static struct node_count count_of_task(uint8_t flags) {
    return (struct node_count){(flags & NODE_TASK_READY) != 0,
                               (flags & NODE_TASK_UNDONE) != 0};
}

/* What the place itself counts while it is not shut. */
static struct node_count count_at(const struct node_job *job, uint32_t place) {
    const struct node_place *p = &job->tree->places[place];

    return p->level < job->spec.level
               ? job->below[p->level][p->slot].count
               : count_of_task(task_at(job, place)->flags);
}

/* Differences, modulo 2^32. */
static struct node_count less(struct node_count a, struct node_count b) {
    return (struct node_count){a.ready - b.ready, a.undone - b.undone};
}

static void add(struct node_count *count, struct node_count more) {
    count->ready += more.ready;
    count->undone += more.undone;
}

/* What the place counts has grown by `more`. This is carried upwards, to the
 * first place that is shut. */
static void carry(struct node_job *job, uint32_t place,
                  struct node_count more) {
    const struct node_tree *tree = job->tree;

    for (;;) {
        const struct node_place *p = &tree->places[place];
        if (!is_accepted(job, place))
            return;
        if (!p->enabled)
            more.ready = 0;
        if (more.ready == 0 && more.undone == 0)
            return;
        if (p->parent == NODE_NONE)
            break;
        place = p->parent;
        p = &tree->places[place];
        add(&job->below[p->level][p->slot].count, more);
    }
    add(&job->total, more);
}

/* ---- room --------------------------------------------------------------- */

static uint32_t room_for(uint32_t room, uint32_t needed) {
    return room == 0 || room + room / 4 < needed ? needed : room + room / 4;
}

static void grow_tasks(struct node_job *job) {
    uint32_t needed = job->tree->levels[job->spec.level].row_count;
    uint32_t room = room_for(job->task_room, needed);

    if (needed <= job->task_room)
        return;
    job->tasks = mem_grow(job->tasks, room, sizeof(*job->tasks));
    memset(job->tasks + job->task_room, 0,
           (room - job->task_room) * sizeof(*job->tasks));
    job->task_room = room;
}

static void reset_branches(struct node_branch *branches, uint32_t count) {
    for (uint32_t i = 0; i < count; i++)
        branches[i] = (struct node_branch){.best = NOTHING};
}

static void grow_level(struct node_job *job, unsigned level) {
    uint32_t was = job->slot_room[level];
    uint32_t needed = level == 0 ? 1 : job->tree->levels[level].slot_count;
    uint32_t room = room_for(was, needed);

    if (needed <= was)
        return;
    job->slot_room[level] = room;
    if (level > 0)
        job->best[level] =
            mem_grow(job->best[level], (room + 1) / 2, 3 * sizeof(uint64_t));
    if (level == job->spec.level)
        return;
    job->below[level] =
        mem_grow(job->below[level], room, sizeof(*job->below[level]));
    reset_branches(job->below[level] + was, room - was);
}

static void grow_accepted(struct node_job *job) {
    uint32_t needed = job->tree->place_count;
    uint32_t room = (room_for(job->accepted_room, needed) + 63) / 64 * 64;

    if (job->filtered == 0 || needed <= job->accepted_room)
        return;
    job->accepted = bits_grow(job->accepted, job->accepted_room, room);
    job->accepted_room = room;
}

static void grow(struct node_job *job) {
    grow_accepted(job);
    if (node_job_is_own(job))
        return;
    grow_tasks(job);
    for (unsigned l = 0; l <= job->spec.level; l++)
        grow_level(job, l);
}

void node_job_make_room(struct node_job *job) {
    grow(job);
}

/* ---- life --------------------------------------------------------------- */

static void define(struct node_job *job, const struct node_job_spec *spec) {
    unsigned levels = job->tree->level_count;

    assert(spec->level < levels && spec->priority > 0);
    job->spec = *spec;
    job->filtered = job->demanded = 0;
    for (unsigned l = 0; l < levels && node_job_sees(job, l); l++) {
        job->filtered |= !node_filter_is_open(&spec->filters[l]) << l;
        for (unsigned r = 0; r < job->tree->levels[l].defined.resource_count;
             r++)
            if (spec->demand.of_level[l][r] > 0)
                job->demanded |= 1u << l;
    }
}

void node_job_init(struct node_job *job, const struct node_tree *tree,
                   uint64_t seed, const struct node_job_spec *spec) {
    *job = (struct node_job){.tree = tree,
                             .salt = node_hash_mix(seed, spec->num),
                             .first = NODE_NONE};
    define(job, spec);
    if (node_job_is_own(job)) {
        job->task_room = spec->own_count;
        job->tasks = mem_alloc(spec->own_count * sizeof(*job->tasks));
        for (job->own_room = 2; job->own_room < spec->own_count;)
            job->own_room *= 2;
        job->own_best = mem_grow(NULL, job->own_room, sizeof(uint32_t));
    }
    grow(job);
}

void node_job_clear(struct node_job *job) {
    free(job->tasks);
    free(job->own_best);
    free(job->accepted);
    for (unsigned l = 0; l < NODE_LEVELS_MOST; l++) {
        free(job->best[l]);
        free(job->below[l]);
    }
    free(job->open.accepted);
    free(job->open.open);
    free(job->open.of_host);
    *job = (struct node_job){.first = NODE_NONE};
}

void node_job_redefine(struct node_job *job, const struct node_job_spec *spec) {
    assert(spec->level == job->spec.level &&
           spec->own_count == job->spec.own_count);
    define(job, spec);
}

/* Compares what it is with what was counted. Returns the flags before. */
static uint8_t mark(struct node_task *task) {
    uint8_t was = task->flags;
    bool ready = node_task_is_open(task) &&
                 (was & (NODE_TASK_WAITS | NODE_TASK_BLOCKED)) == 0;

    task->flags &= (uint8_t) ~(NODE_TASK_READY | NODE_TASK_UNDONE);
    task->flags |=
        (uint8_t)((ready ? NODE_TASK_READY : 0) |
                  (task->status != TASK_DONE ? NODE_TASK_UNDONE : 0));
    return was;
}

/* The places that a row has; NODE_NONE: none. */
static uint32_t row_places(const struct node_tree *tree, unsigned level,
                           uint32_t row) {
    uint32_t node = tree->levels[level].nodes[row];

    return node == NODE_NONE ? NODE_NONE : tree->nodes[node].places;
}

/* The place adds what it counts to its parent alone: no ancestor has been
 * counted yet. */
static void count_once(struct node_job *job, uint32_t place) {
    const struct node_place *p = &job->tree->places[place];
    struct node_count count = count_at(job, place);

    if (!is_accepted(job, place))
        return;
    if (!p->enabled)
        count.ready = 0;
    if (p->parent == NODE_NONE) {
        job->total = count;
    } else {
        p = &job->tree->places[p->parent];
        add(&job->below[p->level][p->slot].count, count);
    }
}

static void build_place(struct node_job *job, uint32_t place) {
    const struct node_place *p = &job->tree->places[place];

    for (unsigned l = p->level + 1u; l <= job->spec.level; l++) {
        const struct node_kids *kids = node_tree_kids(job->tree, p, l);
        if (kids != NULL && kids->room > 0)
            build_range(job, l, kids);
    }
    if (p->level < job->spec.level)
        sum_up(job, place);
    count_once(job, place);
}

static void build_level(struct node_job *job, unsigned level) {
    const struct node_tree *tree = job->tree;

    for (uint32_t row = 0; row < tree->levels[level].row_count; row++)
        for (uint32_t place = row_places(tree, level, row); place != NODE_NONE;
             place = tree->places[place].next)
            build_place(job, place);
}

static void build_own(struct node_job *job) {
    for (uint32_t row = 0; row < job->spec.own_count; row++)
        add(&job->total, count_of_task(job->tasks[row].flags));
    own_build(job);
    decide_first(job);
}

static void apply_filters(struct node_job *job) {
    const struct node_tree *tree = job->tree;

    for (uint32_t place = 0; place < tree->place_count && job->filtered != 0;
         place++)
        if (tree->places[place].exists)
            apply_filter(job, place);
}

void node_job_build(struct node_job *job) {
    uint32_t rows = node_job_is_own(job)
                        ? job->spec.own_count
                        : job->tree->levels[job->spec.level].row_count;

    grow(job);
    apply_filters(job);
    for (uint32_t row = 0; row < rows; row++)
        mark(&job->tasks[row]);
    job->total = (struct node_count){0};
    if (node_job_is_own(job)) {
        build_own(job);
        return;
    }
    for (unsigned l = 0; l < job->spec.level; l++)
        reset_branches(job->below[l], job->slot_room[l]);
    for (unsigned l = job->spec.level + 1; l-- > 0;)
        build_level(job, l);
    decide_first(job);
}

/* ---- changes ------------------------------------------------------------ */

void node_job_task_changed(struct node_job *job, uint32_t row) {
    struct node_task *task = &job->tasks[row];
    struct node_count was = count_of_task(mark(task));
    struct node_count more = less(count_of_task(task->flags), was);
    uint32_t place;

    if (more.ready == 0 && more.undone == 0)
        return;
    if (node_job_is_own(job)) {
        add(&job->total, more);
        own_replay(job, row);
        return;
    }
    for (place = row_places(job->tree, job->spec.level, row);
         place != NODE_NONE; place = job->tree->places[place].next) {
        carry(job, place, more);
        if (more.ready != 0)
            replay(job, place);
    }
}

void node_job_amount_changed(struct node_job *job, uint32_t node) {
    const struct node_tree *tree = job->tree;

    if (!node_job_sees(job, tree->nodes[node].level))
        return;
    for (uint32_t place = tree->nodes[node].places; place != NODE_NONE;
         place = tree->places[place].next)
        replay(job, place);
}

static void move_slots(struct node_job *job, const struct node_moved *moved) {
    struct node_branch *below = job->below[moved->level];

    reset_branches(below + moved->to, moved->to_room);
    memcpy(below + moved->to, below + moved->from,
           moved->from_room * sizeof(*below));
    reset_branches(below + moved->from, moved->from_room);
}

void node_job_place_added(struct node_job *job, uint32_t place,
                          const struct node_moved *moved) {
    const struct node_tree *tree = job->tree;
    const struct node_place *p = &tree->places[place];

    if (!node_job_sees(job, p->level))
        return;
    grow(job);
    apply_filter(job, place);
    if (p->level == job->spec.level) {
        struct node_task *task = task_at(job, place);
        if (tree->nodes[p->node].places == place && p->next == NODE_NONE &&
            task->status != TASK_RUNNING)
            *task = (struct node_task){0};
        mark(task);
    }
    if (moved->moved) {
        if (moved->level < job->spec.level)
            move_slots(job, moved);
        build_range(
            job, moved->level,
            node_tree_kids(tree, &tree->places[p->parent], moved->level));
    }
    carry(job, place, count_at(job, place));
    if (!moved->moved)
        replay(job, place);
    else if (sum_up(job, p->parent)) /* its range is built already */
        replay(job, p->parent);
}

void node_job_place_leaves(struct node_job *job, uint32_t place) {
    if (!node_job_is_own(job) &&
        node_job_sees(job, job->tree->places[place].level))
        carry(job, place, less((struct node_count){0}, count_at(job, place)));
}

void node_job_place_left(struct node_job *job, uint32_t parent, unsigned level,
                         uint32_t slot) {
    if (node_job_sees(job, level))
        replay_up(job, parent, level, slot);
}

void node_job_place_changes(struct node_job *job, uint32_t place) {
    node_job_place_leaves(job, place);
}

void node_job_place_changed(struct node_job *job, uint32_t place) {
    if (!node_job_sees(job, job->tree->places[place].level))
        return;
    apply_filter(job, place);
    if (node_job_is_own(job)) {
        decide_first(job);
        return;
    }
    carry(job, place, count_at(job, place));
    replay(job, place);
}
