#include "core/groups.h"

#include <stdlib.h>

#include "lib/list.h"
#include "lib/map.h"

struct group {
    struct span key; /* "TARGET\0SUBMITTER\0GROUP", own memory */
    struct list members;
    uint64_t ended_seq;
    struct text ended_id;
};

struct member {
    struct list in_group;
    struct group *group;
    uint64_t num;
    struct arena arena; /* holds the data below */
    struct span id, key;
    struct span *needs, *replaces;
    size_t need_count, replace_count;
    unsigned want, holds;
    uint64_t entry;
    enum job_state state;
    struct wall admitted;
    uint64_t admitted_seq;
};

struct groups {
    struct map groups;  /* key -> group */
    struct map members; /* num -> member */
};

#define MEMBER_OF(link) LIST_OF(link, struct member, in_group)

struct groups *groups_new(void) {
    return mem_alloc(sizeof(struct groups));
}

static void member_free(struct member *member) {
    list_remove(&member->in_group);
    arena_clear(&member->arena);
    free(member);
}

static void group_free(struct group *group) {
    text_clear(&group->ended_id);
    free((void *)(uintptr_t)group->key.p);
    free(group);
}

void groups_free(struct groups *groups) {
    size_t at;
    void *value;

    if (groups == NULL)
        return;
    for (at = 0; map_next(&groups->members, &at, NULL, &value);)
        member_free(value);
    for (at = 0; map_next(&groups->groups, &at, NULL, &value);)
        group_free(value);
    map_clear(&groups->members);
    map_clear(&groups->groups);
    free(groups);
}

/* ---- input
 * ---------------------------------------------------------------- */

static void key_make(const struct group_id *id, struct text *out) {
    text_addspan(out, id->target);
    text_addc(out, '\0');
    text_addspan(out, id->submitter);
    text_addc(out, '\0');
    text_addspan(out, id->name);
}

static struct group *group_find(const struct groups *groups,
                                const struct group_id *id) {
    CLEANUP(text_clear) struct text key = TEXT_INIT;

    key_make(id, &key);
    return map_get(&groups->groups, text_span(&key));
}

static struct group *group_get(struct groups *groups,
                               const struct group_id *id) {
    struct group *group = group_find(groups, id);
    CLEANUP(text_clear) struct text key = TEXT_INIT;

    if (group != NULL)
        return group;
    key_make(id, &key);
    group = mem_alloc(sizeof(*group));
    group->key = span_make(mem_copy(key.p, key.len), key.len);
    list_init(&group->members);
    map_put(&groups->groups, group->key, group);
    return group;
}

static struct span group_name(const struct group *group) {
    const char *nul = memrchr(group->key.p, '\0', group->key.len);

    return span_make(nul + 1,
                     group->key.len - (size_t)(nul + 1 - group->key.p));
}

static struct member *member_find(const struct groups *groups, uint64_t num) {
    return map_get(&groups->members, map_num_key(&num));
}

/* In order of admission. */
static void member_insert(struct group *group, struct member *member) {
    LIST_EACH (&group->members, it) {
        if (MEMBER_OF(it)->num > member->num) {
            list_insert_before(it, &member->in_group);
            return;
        }
    }
    list_push(&group->members, &member->in_group);
}

static struct span *spans_copy(struct arena *arena, const struct span *spans,
                               size_t count) {
    struct span *copy = arena_alloc(arena, (count + 1) * sizeof(*copy));

    for (size_t i = 0; i < count; i++)
        copy[i] = arena_span(arena, spans[i]);
    return copy;
}

void groups_join(struct groups *groups, const struct group_member *entry) {
    struct member *member;

    if (member_find(groups, entry->num) != NULL ||
        (job_state_is_final(entry->state) && entry->state != STATE_ABANDONED))
        return;
    member = mem_alloc(sizeof(*member));
    member->group = group_get(groups, &entry->group);
    member->num = entry->num;
    member->id = arena_span(&member->arena, entry->id);
    member->key = arena_span(&member->arena, entry->key);
    member->needs = spans_copy(&member->arena, entry->needs, entry->need_count);
    member->need_count = entry->need_count;
    member->replaces =
        spans_copy(&member->arena, entry->replaces, entry->replace_count);
    member->replace_count = entry->replace_count;
    member->want = entry->want;
    member->holds = entry->holds;
    member->state = entry->state;
    member->admitted = entry->admitted;
    member->admitted_seq = entry->admitted_seq;
    list_init(&member->in_group);
    member_insert(member->group, member);
    map_put(&groups->members, map_num_key(&member->num), member);
}

bool groups_knows(const struct groups *groups, const struct group_id *id) {
    return group_find(groups, id) != NULL;
}

static void group_ended(struct group *group, struct span id, uint64_t seq) {
    if (seq < group->ended_seq)
        return;
    group->ended_seq = seq;
    text_reset(&group->ended_id);
    text_addspan(&group->ended_id, id);
}

void groups_ended(struct groups *groups, const struct group_id *of,
                  struct span id, uint64_t seq) {
    struct group *group = group_find(groups, of);

    if (group != NULL)
        group_ended(group, id, seq);
}

bool groups_move(struct groups *groups, uint64_t num, enum job_state to,
                 uint64_t seq, bool undecided) {
    struct member *member = member_find(groups, num);
    struct group *group;

    if (member == NULL)
        return false;
    if (!job_state_is_final(to) || (to == STATE_ABANDONED && undecided)) {
        member->state = to;
        return true;
    }
    group = member->group;
    if (to != STATE_DONE)
        group_ended(group, member->id, seq);
    map_remove(&groups->members, map_num_key(&num));
    member_free(member);
    if (list_empty(&group->members)) {
        map_remove(&groups->groups, group->key);
        group_free(group);
    }
    return true;
}

bool groups_hold(struct groups *groups, uint64_t num, unsigned holds) {
    struct member *member = member_find(groups, num);

    if (member == NULL)
        return false;
    member->holds = holds;
    return true;
}

/* ---- queries
 * -------------------------------------------------------------- */

bool groups_has(const struct groups *groups, uint64_t num) {
    return member_find(groups, num) != NULL;
}

uint64_t groups_other_member(const struct groups *groups, uint64_t num) {
    const struct member *member = member_find(groups, num);

    if (member == NULL)
        return 0;
    LIST_EACH (&member->group->members, it) {
        if (MEMBER_OF(it) != member)
            return MEMBER_OF(it)->num;
    }
    return 0;
}

uint64_t groups_entry(const struct groups *groups, uint64_t num) {
    const struct member *member = member_find(groups, num);

    return member != NULL ? member->entry : 0;
}

void groups_enter(struct groups *groups, uint64_t num, uint64_t entry) {
    struct member *member = member_find(groups, num);

    if (member != NULL)
        member->entry = entry;
}

uint64_t groups_under(const struct groups *groups, uint64_t num,
                      uint64_t entry) {
    const struct member *member = member_find(groups, num);

    if (member == NULL)
        return 0;
    LIST_EACH (&member->group->members, it) {
        if (MEMBER_OF(it)->entry == entry)
            return MEMBER_OF(it)->num;
    }
    return 0;
}

bool groups_is_whole(const struct groups *groups, uint64_t num,
                     uint64_t entry) {
    const struct member *member = member_find(groups, num);

    if (member == NULL)
        return false;
    LIST_EACH (&member->group->members, it) {
        if (MEMBER_OF(it)->entry != entry)
            return false;
    }
    return true;
}

enum job_state groups_state(const struct groups *groups, uint64_t num,
                            uint64_t entry) {
    const struct member *member = member_find(groups, num);
    enum job_state least = STATE_NONE;

    if (member == NULL)
        return STATE_NONE;
    LIST_EACH (&member->group->members, it) {
        const struct member *other = MEMBER_OF(it);

        if (other->entry == entry && other->state != STATE_ABANDONED &&
            (least == STATE_NONE || other->state < least))
            least = other->state;
    }
    return least;
}

enum job_state groups_member_state(const struct groups *groups, uint64_t num) {
    const struct member *member = member_find(groups, num);

    return member != NULL ? member->state : STATE_NONE;
}

size_t groups_members_under(const struct groups *groups, uint64_t num,
                            uint64_t entry, struct arena *arena,
                            uint64_t **ret_nums) {
    const struct member *member = member_find(groups, num);
    size_t count = 0;

    *ret_nums = arena_alloc(arena, (map_count(&groups->members) + 1) *
                                       sizeof(**ret_nums));
    if (member == NULL)
        return 0;
    LIST_EACH (&member->group->members, it) {
        if (MEMBER_OF(it)->entry == entry)
            (*ret_nums)[count++] = MEMBER_OF(it)->num;
    }
    return count;
}

unsigned groups_holds(const struct groups *groups, uint64_t num,
                      uint64_t entry) {
    const struct member *member = member_find(groups, num);
    unsigned holds = 0;

    if (member == NULL)
        return 0;
    LIST_EACH (&member->group->members, it) {
        if (MEMBER_OF(it)->entry == entry)
            holds |= MEMBER_OF(it)->holds;
    }
    return holds;
}

static bool is_open(const struct member *member) {
    return member->state == STATE_QUEUED || member->state == STATE_STAGED ||
           member->state == STATE_ABANDONED;
}

static size_t count_open(const struct group *group) {
    size_t count = 0;

    LIST_EACH (&((struct group *)(uintptr_t)group)->members, it) {
        count += is_open(MEMBER_OF(it));
    }
    return count;
}

size_t groups_open(const struct groups *groups, uint64_t num,
                   struct arena *arena, uint64_t **ret_nums) {
    struct member *member = member_find(groups, num);
    size_t count = 0;

    if (member == NULL)
        return 0;
    *ret_nums = arena_alloc(arena, (count_open(member->group) + 1) *
                                       sizeof(**ret_nums));
    LIST_EACH (&member->group->members, it) {
        if (is_open(MEMBER_OF(it)))
            (*ret_nums)[count++] = MEMBER_OF(it)->num;
    }
    return count;
}

/* The expected number of members; the largest number given counts. */
static unsigned wanted(const struct group *group) {
    unsigned want = 0;

    LIST_EACH (&((struct group *)(uintptr_t)group)->members, it) {
        if (is_open(MEMBER_OF(it)) && MEMBER_OF(it)->want > want)
            want = MEMBER_OF(it)->want;
    }
    return want;
}

bool groups_may_stage(const struct groups *groups, uint64_t num) {
    const struct member *member = member_find(groups, num);

    if (member == NULL || count_open(member->group) < wanted(member->group))
        return false;
    LIST_EACH (&member->group->members, it) {
        const struct member *other = MEMBER_OF(it);

        if (is_open(other) &&
            (other->holds != 0 || other->state == STATE_ABANDONED))
            return false;
    }
    return true;
}

uint64_t groups_leader(const struct groups *groups, uint64_t num) {
    const struct member *member = member_find(groups, num);

    if (member == NULL)
        return 0;
    LIST_EACH (&member->group->members, it) {
        if (MEMBER_OF(it)->state == STATE_PENDING)
            return MEMBER_OF(it)->num;
    }
    return 0;
}

uint64_t groups_member_needing(const struct groups *groups, uint64_t num,
                               struct span id) {
    const struct member *member = member_find(groups, num);

    if (member == NULL)
        return 0;
    LIST_EACH (&member->group->members, it) {
        const struct member *other = MEMBER_OF(it);

        for (size_t i = 0; is_open(other) && i < other->need_count; i++)
            if (span_equal(other->needs[i], id))
                return other->num;
    }
    return 0;
}

/* True if it depends on the other, or on a set that the other replaces. */
static bool needs(const struct member *member, const struct member *other) {
    for (size_t i = 0; i < member->need_count; i++) {
        if (span_equal(member->needs[i], other->id))
            return true;
        for (size_t k = 0; k < other->replace_count; k++)
            if (span_equal(member->needs[i], other->replaces[k]))
                return true;
    }
    return false;
}

static int compare_keys(const void *a, const void *b) {
    const struct member *const *x = a, *const *y = b;
    int order = span_compare((*x)->key, (*y)->key);

    return order != 0 ? order
                      : ((*x)->num > (*y)->num) - ((*x)->num < (*y)->num);
}

/* The first of the remaining members whose needs are all placed; in a cycle the
 * first. */
static size_t next_to_land(struct member **members, size_t placed,
                           size_t count) {
    for (size_t i = placed; i < count; i++) {
        bool waits = false;

        for (size_t k = placed; k < count; k++)
            waits = waits || (k != i && needs(members[i], members[k]));
        if (!waits)
            return i;
    }
    return placed;
}

/* Another member of the group ended without landing after this one was
 * admitted. */
static bool fails_with(const struct member *member) {
    return member->state != STATE_EXECUTING &&
           member->state != STATE_ABANDONED &&
           member->admitted_seq < member->group->ended_seq;
}

/* The group became ready together, but a rollback has already taken some of its
 * members. */
static bool is_split(const struct member *ready) {
    LIST_EACH (&ready->group->members, it) {
        if (is_open(MEMBER_OF(it)) && MEMBER_OF(it)->entry == ready->entry)
            return true;
    }
    return false;
}

size_t groups_landing(const struct groups *groups, uint64_t num,
                      struct arena *arena, uint64_t **ret_nums) {
    const struct member *member = member_find(groups, num);
    struct member **members;
    size_t count = 0, all = 0;

    if (member == NULL)
        return 0;
    LIST_EACH (&member->group->members, it) {
        all++;
    }
    members = arena_alloc(arena, (all + 1) * sizeof(struct member *));
    LIST_EACH (&member->group->members, it) {
        struct member *other = MEMBER_OF(it);

        if (other->state == STATE_EXECUTING ||
            other->state == STATE_ABANDONED ||
            (other->state == STATE_PENDING &&
             (other->holds != 0 || fails_with(other) || is_split(other))))
            return 0;
        if (other->state == STATE_PENDING)
            members[count++] = other;
    }
    for (size_t i = 0; i < count; i++)
        if (members[i]->want > count)
            return 0; /* the others come back, or end and the group fails */
    *ret_nums = arena_alloc(arena, (count + 1) * sizeof(**ret_nums));
    qsort(members, count, sizeof(*members), compare_keys);
    for (size_t i = 0; i < count; i++) {
        size_t at = next_to_land(members, i, count);
        struct member *next = members[at];

        memmove(members + i + 1, members + i, (at - i) * sizeof(*members));
        members[i] = next;
        (*ret_nums)[i] = next->num;
    }
    return count;
}

bool groups_may_start(const struct groups *groups, uint64_t num) {
    struct arena arena = ARENA_INIT;
    uint64_t *nums;

    if (!groups_has(groups, num))
        return true;
    bool may = groups_leader(groups, num) == num &&
               groups_landing(groups, num, &arena, &nums) > 0;
    arena_clear(&arena);
    return may;
}

/* ---- proposals
 * ------------------------------------------------------------ */

static struct wall deadline(const struct group *group, int64_t wait_ms) {
    struct wall first = WALL_NEVER;

    LIST_EACH (&((struct group *)(uintptr_t)group)->members, it) {
        if (is_open(MEMBER_OF(it)) && MEMBER_OF(it)->admitted.ns < first.ns)
            first = MEMBER_OF(it)->admitted;
    }
    return first.ns == WALL_NEVER.ns ? first : wall_add_ms(first, wait_ms);
}

void groups_set_back(struct groups *groups, int64_t ms) {
    size_t at = 0;
    void *value;

    while (map_next(&groups->members, &at, NULL, &value)) {
        struct member *member = value;

        member->admitted = wall_set_back(member->admitted, ms);
    }
}

static bool is_incomplete(const struct group *group) {
    size_t open = count_open(group);

    return open > 0 && open < wanted(group);
}

struct wall groups_next_time(const struct groups *groups, int64_t wait_ms) {
    struct wall next = WALL_NEVER;
    size_t at = 0;
    void *value;

    while (map_next(&groups->groups, &at, NULL, &value)) {
        struct wall due = deadline(value, wait_ms);

        if (is_incomplete(value) && due.ns < next.ns)
            next = due;
    }
    return next;
}

static struct span fail_text(const struct member *member, bool late,
                             int64_t wait_ms, struct arena *arena) {
    const struct group *group = member->group;
    struct span name = group_name(group);

    if (!late)
        return span_of(arena_printf(arena,
                                    "%.*s of its group '%.*s' did not land",
                                    (int)group->ended_id.len, group->ended_id.p,
                                    (int)name.len, name.p));
    return span_of(arena_printf(
        arena, "only %zu of the %u sets of group '%.*s' arrived within %lld s",
        count_open(group), wanted(group), (int)name.len, name.p,
        (long long)(wait_ms / 1000)));
}

size_t groups_scan(struct groups *groups, struct wall now, int64_t wait_ms,
                   struct arena *arena, struct group_fail **ret_fails) {
    size_t at = 0, count = 0;
    void *value;

    *ret_fails = arena_alloc(arena, (map_count(&groups->members) + 1) *
                                        sizeof(**ret_fails));
    while (map_next(&groups->members, &at, NULL, &value)) {
        const struct member *member = value;
        bool fails = fails_with(member);
        bool late = !fails && is_open(member) &&
                    member->state != STATE_ABANDONED &&
                    is_incomplete(member->group) &&
                    deadline(member->group, wait_ms).ns <= now.ns;

        if (fails || late)
            (*ret_fails)[count++] = (struct group_fail){
                .num = member->num,
                .from = member->state,
                .reason = fails ? "group-failed" : "group-incomplete",
                .detail = fail_text(member, late, wait_ms, arena)};
    }
    return count;
}

struct span groups_why(const struct groups *groups, uint64_t num,
                       int64_t wait_ms, struct arena *arena) {
    const struct member *member = member_find(groups, num);
    char until[WALL_TEXT_BYTES];
    struct span name;

    if (member == NULL)
        return (struct span){0};
    name = group_name(member->group);
    if (is_open(member) && is_incomplete(member->group))
        return span_of(
            arena_printf(arena,
                         "group '%.*s': %zu of %u sets have arrived; waiting "
                         "for the others until %s",
                         (int)name.len, name.p, count_open(member->group),
                         wanted(member->group),
                         wall_format(deadline(member->group, wait_ms), until)));
    LIST_EACH (&member->group->members, it) {
        const struct member *other = MEMBER_OF(it);

        if (other != member && other->holds != 0)
            return span_of(arena_printf(
                arena, "group '%.*s': it lands with %.*s, which is held",
                (int)name.len, name.p, (int)other->id.len, other->id.p));
        if (other != member && other->state == STATE_EXECUTING)
            return span_of(arena_printf(
                arena, "group '%.*s': %.*s of it is landing", (int)name.len,
                name.p, (int)other->id.len, other->id.p));
    }
    return (struct span){0};
}
