#include "sim/order_registry.h"

#include <stdlib.h>

/* Holds the entry of a group that is incomplete. */
#define HOLD_OF_GROUP (1u << 31)

struct registry registry;

static char *name_of(unsigned k) {
    static char names[MAX][16];

    snprintf(names[k], sizeof(names[k]), "s%u", k);
    return names[k];
}

static struct group_id group_of(unsigned i) {
    static const char *const names[] = {"", "g1", "g2", "g3", "g4"};

    return (struct group_id){.target = span_of(rows[i].target),
                             .name = span_of(names[rows[i].group])};
}

void registry_open(struct wall now) {
    struct order_limits limits = {.wait_for_dep_ms = model_wait_ms};

    registry = (struct registry){
        .order = order_new(&limits), .groups = groups_new(), .now = now};
}

void registry_close(void) {
    order_free(registry.order);
    groups_free(registry.groups);
}

/* ---- ids outside the order ----------------------------------------------- */

void registry_report(unsigned i) {
    struct span successors[MAX];
    struct order_other other = {.id = span_of(rows[i].id),
                                .state = rows[i].state,
                                .rolled_back = rows[i].rolled_back,
                                .since = registry.now,
                                .num = i + 1,
                                .key = span_of(rows[i].key),
                                .rank = span_of(rows[i].rank),
                                .successors = successors};

    for (unsigned k = 0; k < row_count; k++)
        if (rows[k].exists && rows[k].olds & bit(i))
            successors[other.successor_count++] = span_of(rows[k].id);
    order_outside(registry.order, &other);
}

static void report_if_watched(unsigned i) {
    if (order_watches(registry.order, span_of(rows[i].id)))
        registry_report(i);
}

void registry_answer(void) {
    struct span id;

    while (order_next_unknown(registry.order, &id)) {
        unsigned i = 0;
        while (i < row_count && !(rows[i].exists && span_is(id, rows[i].id)))
            i++;
        if (i < row_count)
            registry_report(i);
        else
            order_outside(registry.order,
                          &(struct order_other){.id = id, .state = STATE_NONE});
    }
}

/* ---- entries of the order ------------------------------------------------ */

struct entry {
    struct order_entry all;
    struct job_edge edges[4 * MAX * MAX];
    struct job_touch touches[PATHS * MAX];
    struct span ids[MAX];
};

static void add_edges(struct entry *entry, enum edge_kind kind, mask to) {
    for (unsigned k = 0; k < MAX; k++)
        if (to & bit(k))
            entry->edges[entry->all.edge_count++] =
                (struct job_edge){.kind = kind, .to = span_of(name_of(k))};
}

/* `inside` are rows of the same entry, which need not be listed. */
static void add_relations(struct entry *entry, unsigned i, mask inside,
                          bool with_record) {
    const struct row *row = &rows[i];

    add_edges(entry, EDGE_DEPENDENCY, row->deps & ~inside);
    add_edges(entry, EDGE_HINT, row->hints & ~inside);
    if (inside == 0) /* or its successor would be the first row of the unit */
        add_edges(entry, EDGE_SUPERSEDES, row->olds);
    if (with_record)
        add_edges(entry, EDGE_PRECURSOR, row->record & ~inside);
    if (row->dep_nobody)
        entry->edges[entry->all.edge_count++] =
            (struct job_edge){.kind = EDGE_DEPENDENCY, .to = SPAN("nobody")};
    for (unsigned p = 0; p < PATHS; p++)
        if (row->touched >> p & 1)
            entry->touches[entry->all.touch_count++] =
                (struct job_touch){.path = span_of(model_paths[p])};
}

static void entry_begin(struct entry *entry, unsigned i) {
    const struct row *row = &rows[i];

    entry->all = (struct order_entry){.num = i + 1,
                                      .id = span_of(row->id),
                                      .job_class = row->job_class,
                                      .state = row->state,
                                      .key = span_of(row->key),
                                      .rank = span_of(row->rank),
                                      .target = span_of(row->target),
                                      .holds = row->holds,
                                      .admitted = row->admitted,
                                      .since = registry.now,
                                      .edges = entry->edges,
                                      .touches = entry->touches,
                                      .aliases = entry->ids};
}

static void admit_alone(unsigned i, bool at_start) {
    static struct entry entry;

    entry_begin(&entry, i);
    add_relations(&entry, i, 0, at_start);
    order_admit(registry.order, &entry.all);
}

/* ---- groups -------------------------------------------------------------- */

static void add_member(struct entry *entry, unsigned i, mask inside) {
    const struct row *row = &rows[i];
    struct order_entry *all = &entry->all;

    add_relations(entry, i, inside, true);
    all->holds |= row->holds;
    if (row->state < all->state)
        all->state = row->state;
    if (span_compare(span_of(row->key), all->key) < 0) {
        all->key = span_of(row->key);
        all->job_class = row->job_class;
    }
}

/* Admits the open members of i's group to the order, as one entry. */
static void report_open(unsigned i) {
    CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
    struct groups *groups = registry.groups;
    static struct entry entry;
    uint64_t *nums;
    size_t count = groups_open(groups, i + 1, &arena, &nums);
    mask inside = 0;

    for (size_t k = 0; k < count; k++)
        inside |= bit((unsigned)nums[k] - 1);
    entry_begin(&entry, (unsigned)nums[0] - 1);
    for (size_t k = 0; k < count; k++) {
        unsigned member = (unsigned)nums[k] - 1;

        add_member(&entry, member, inside);
        if (k > 0)
            entry.ids[entry.all.alias_count++] = span_of(rows[member].id);
        groups_enter(groups, nums[k], nums[0]);
    }
    if (!groups_may_stage(groups, i + 1))
        entry.all.holds |= HOLD_OF_GROUP;
    order_admit(registry.order, &entry.all);
    unit_form(i);
}

/* Makes the entries of the order fit the groups of this name. */
static void adjust(uint64_t num) {
    CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
    struct groups *groups = registry.groups;
    uint64_t *nums;
    size_t count = groups_strays(groups, num, &arena, &nums);

    for (size_t k = 0; k < count; k++) {
        if (groups_entry(groups, nums[k]) != 0)
            order_forget(registry.order, groups_entry(groups, nums[k]));
        groups_enter(groups, nums[k], 0);
    }
    for (size_t k = 0; k < count; k++) {
        unsigned i = (unsigned)nums[k] - 1;

        if (groups_entry(groups, nums[k]) != 0)
            continue;
        if (!is_open(i))
            BROKEN("%s is ready and is admitted again", rows[i].id);
        report_open(i);
    }
}

void registry_settle(void) {
    uint64_t num;

    groups_merge();
    while (groups_settle(registry.groups, &num))
        adjust(num);
}

static struct group_life life_of(unsigned i) {
    const struct row *row = &rows[i];

    return (struct group_life){.num = i + 1,
                               .admitted_seq = row->admitted_seq,
                               .staged_seq = row->staged_seq,
                               .ready_seq = row->ready_seq,
                               .want = row->want};
}

static void report_ended(unsigned i) {
    struct group_id group = group_of(i);

    for (unsigned k = 0; k < row_count; k++) {
        struct group_life life = life_of(k);

        life.ended_seq = rows[k].ended_seq;
        if (same_name(i, k) && life.ended_seq != 0 &&
            rows[k].state != STATE_DONE)
            groups_ended(registry.groups, &group, span_of(rows[k].id), &life);
    }
}

static void join(unsigned i) {
    const struct row *row = &rows[i];
    struct span needs[MAX];
    struct group_member member = {.life = life_of(i),
                                  .id = span_of(row->id),
                                  .group = group_of(i),
                                  .state = row->state,
                                  .holds = row->holds,
                                  .admitted = row->admitted,
                                  .key = span_of(row->key),
                                  .needs = needs};
    bool known = groups_knows(registry.groups, &member.group);

    for (unsigned k = 0; k < MAX; k++)
        if (row->deps & bit(k))
            needs[member.need_count++] = span_of(name_of(k));
    if (row->dep_nobody && member.need_count < MAX)
        needs[member.need_count++] = SPAN("nobody");
    groups_join(registry.groups, &member);
    if (!known)
        report_ended(i);
}

/* A member that is ready waits for nothing and has its own entry. */
static void admit_member(unsigned i, bool at_start) {
    join(i);
    if (is_open(i)) {
        adjust(i + 1);
        return;
    }
    groups_enter(registry.groups, i + 1, i + 1);
    admit_alone(i, at_start);
}

static unsigned holds_of(uint64_t num, uint64_t entry) {
    const struct groups *groups = registry.groups;
    unsigned holds = groups_holds(groups, num, entry);
    enum job_state state = groups_state(groups, num, entry);
    bool open = state == STATE_QUEUED || state == STATE_STAGED;

    return open && !groups_may_stage(groups, num) ? holds | HOLD_OF_GROUP
                                                  : holds;
}

static void member_left(unsigned i, uint64_t entry, uint64_t other,
                        enum job_state to) {
    struct groups *groups = registry.groups;
    uint64_t under = groups_under(groups, other, entry);

    if (under == 0) {
        order_move(registry.order, entry, to, registry.now, false);
    } else if (is_open((unsigned)under - 1)) {
        rows[i].unit = i;
        order_forget(registry.order, entry);
        groups_dissolve(groups, under, entry);
    }
}

static void step_member(unsigned i, enum job_state to) {
    struct groups *groups = registry.groups;
    uint64_t num = i + 1, entry = groups_entry(groups, num);
    uint64_t other = groups_other_member(groups, num);
    enum job_state before = groups_state(groups, num, entry), now;

    groups_move(groups, num, to, registry.seq, false);
    if (!groups_has(groups, num)) {
        member_left(i, entry, other, to);
        adjust(other);
        return;
    }
    now = groups_state(groups, num, entry);
    if (now != before)
        order_move(registry.order, entry, now, registry.now, false);
    order_hold(registry.order, entry, holds_of(num, entry));
    adjust(num);
}

unsigned registry_entry(unsigned i) {
    uint64_t entry = groups_entry(registry.groups, i + 1);

    return entry == 0 ? MAX : (unsigned)entry - 1;
}

mask registry_landing(unsigned i, unsigned *ret_order, size_t *ret_count) {
    CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
    uint64_t *nums;
    mask all = 0;

    *ret_count = groups_landing(registry.groups, i + 1, &arena, &nums);
    for (size_t k = 0; k < *ret_count; k++) {
        ret_order[k] = (unsigned)nums[k] - 1;
        all |= bit(ret_order[k]);
    }
    return all;
}

/* ---- events -------------------------------------------------------------- */

/* Reports the rows that i supersedes, which are asked for by their own ids. */
static void report_superseded(unsigned i) {
    for (unsigned k = 0; k < row_count; k++)
        if (rows[i].olds & bit(k))
            report_if_watched(k);
}

void registry_admit(unsigned i, bool at_start) {
    if (!at_start) {
        rows[i].admitted_seq = ++registry.seq;
        group_begin(i);
    }
    if (rows[i].plain) {
        report_if_watched(i);
    } else if (rows[i].group != 0) {
        admit_member(i, at_start);
        report_superseded(i);
    } else {
        admit_alone(i, at_start);
    }
}

/* The last member of a unit has left, which had no place yet since a start. */
static void pass_on(unsigned i) {
    const struct row *unit = &rows[rows[i].unit];

    if (unit->placed || !unit->uses_record)
        return;
    for (unsigned k = 0; k < row_count; k++)
        if ((rows[k].record | rows[k].inherited) & bit(i))
            rows[k].inherited |= rows[i].record | rows[i].inherited;
}

void registry_step(unsigned i, enum job_state to) {
    rows[i].state = to;
    rows[i].failing = false;
    registry.seq++;
    if (to == STATE_STAGED && rows[i].staged_seq == 0)
        rows[i].staged_seq = registry.seq;
    if (to == STATE_PENDING && rows[i].ready_seq == 0)
        rows[i].ready_seq = registry.seq;
    if (job_state_is_final(to)) {
        rows[i].ended_seq = registry.seq;
        if (members(rows[i].unit) == 0) {
            pass_on(i);
            line_remove(rows[i].unit);
            rows[rows[i].unit].placed = false;
        }
    }
    if (rows[i].plain)
        (void)0;
    else if (rows[i].group != 0)
        step_member(i, to);
    else
        order_move(registry.order, i + 1, to, registry.now, false);
    if ((rows[i].plain || rows[i].group != 0) &&
        !order_has(registry.order, i + 1))
        report_if_watched(i);
}

void registry_hold(unsigned i, unsigned holds) {
    uint64_t num = i + 1, entry;

    rows[i].holds = holds;
    if (!groups_hold(registry.groups, num, holds)) {
        order_hold(registry.order, num, holds);
        return;
    }
    entry = groups_entry(registry.groups, num);
    order_hold(registry.order, entry, holds_of(num, entry));
}

static void load(unsigned states) {
    for (unsigned i = 0; i < row_count; i++)
        if (is_live(i) && !rows[i].plain && states & STATE_BIT(rows[i].state))
            registry_admit(i, true);
}

void registry_restart(void) {
    uint64_t seq = registry.seq;
    struct wall now = registry.now;

    registry_close();
    registry_open(now);
    registry.seq = seq;
    line_clear();
    for (unsigned i = 0; i < row_count; i++) {
        rows[i].placed = rows[i].failing = rows[i].moved = false;
        rows[i].old_place = 0;
        rows[i].uses_record = true;
        rows[i].inherited = 0;
        rows[i].unit = i;  /* open members are joined again below */
        if (rows[i].plain) /* the job whose rank it inherited may be gone */
            memcpy(rows[i].rank, rows[i].key, sizeof(rows[i].rank));
    }
    load(STATE_BIT(STATE_EXECUTING) | STATE_BIT(STATE_PENDING));
    load(STATE_BIT(STATE_STAGED));
    load(STATE_BIT(STATE_QUEUED));
}
