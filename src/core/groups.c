#include "core/groups.h"

#include <stdlib.h>

#include "core/group_order.h"
#include "lib/list.h"
#include "lib/map.h"

/* A name on one target, for the sets of one submitter. */
struct group_name {
    struct span key;         /* "TARGET\0SUBMITTER\0NAME", own memory */
    struct list sets;        /* struct member.in_name, in order of admission */
    struct list groups;      /* struct group.in_name */
    struct list in_proposed; /* of struct groups; alone: nothing is proposed */
};

/* Lives as long as one of its members. */
struct group {
    struct list in_name;
    struct group_name *name;
    uint64_t num;               /* of its first member */
    struct list members;        /* live or undecided, in order of admission */
    const struct member *ended; /* the first that ended without landing */
};

/* A set that lives, or has ended while another of its group lives. */
struct member {
    struct list in_name, in_group;
    struct group_name *name;
    struct group *group;
    uint64_t num;
    struct arena arena; /* holds the data below */
    struct span id, key;
    struct span *needs, *replaces;
    size_t need_count, replace_count;
    unsigned holds;
    uint64_t entry;
    enum job_state state;
    struct wall admitted;
    struct group_life life;
    bool proposed; /* to become ready */
};

struct groups {
    struct map names;   /* key -> group_name */
    struct map members; /* num -> member, those that live */
    struct list proposed;
};

#define MEMBER_OF(link) LIST_OF(link, struct member, in_group)
#define SET_OF(link) LIST_OF(link, struct member, in_name)
#define GROUP_OF(link) LIST_OF(link, struct group, in_name)

struct groups *groups_new(void) {
    struct groups *groups = mem_alloc(sizeof(*groups));

    list_init(&groups->proposed);
    return groups;
}

static void member_free(struct member *member) {
    list_remove(&member->in_name);
    list_remove(&member->in_group);
    arena_clear(&member->arena);
    free(member);
}

static void group_free(struct group *group) {
    list_remove(&group->in_name);
    free(group);
}

static void name_free(struct group_name *name) {
    LIST_EACH (&name->sets, it) {
        member_free(SET_OF(it));
    }
    LIST_EACH (&name->groups, it) {
        group_free(GROUP_OF(it));
    }
    list_remove(&name->in_proposed);
    free((void *)(uintptr_t)name->key.p);
    free(name);
}

void groups_free(struct groups *groups) {
    size_t at;
    void *value;

    if (groups == NULL)
        return;
    for (at = 0; map_next(&groups->names, &at, NULL, &value);)
        name_free(value);
    map_clear(&groups->members);
    map_clear(&groups->names);
    free(groups);
}

/* ---- input --------------------------------------------------------------- */

static void key_make(const struct group_id *id, struct text *out) {
    text_addspan(out, id->target);
    text_addc(out, '\0');
    text_addspan(out, id->submitter);
    text_addc(out, '\0');
    text_addspan(out, id->name);
}

static struct group_name *name_find(const struct groups *groups,
                                    const struct group_id *id) {
    CLEANUP(text_clear) struct text key = TEXT_INIT;

    key_make(id, &key);
    return map_get(&groups->names, text_span(&key));
}

static struct group_name *name_get(struct groups *groups,
                                   const struct group_id *id) {
    struct group_name *name = name_find(groups, id);
    CLEANUP(text_clear) struct text key = TEXT_INIT;

    if (name != NULL)
        return name;
    key_make(id, &key);
    name = mem_alloc(sizeof(*name));
    name->key = span_make(mem_copy(key.p, key.len), key.len);
    list_init(&name->sets);
    list_init(&name->groups);
    list_init(&name->in_proposed);
    map_put(&groups->names, name->key, name);
    return name;
}

static struct span group_name(const struct group *group) {
    const struct span *key = &group->name->key;
    const char *nul = memrchr(key->p, '\0', key->len);

    return span_make(nul + 1, key->len - (size_t)(nul + 1 - key->p));
}

static struct member *member_find(const struct groups *groups, uint64_t num) {
    return map_get(&groups->members, map_num_key(&num));
}

static struct member *set_find(const struct group_name *name, uint64_t num) {
    LIST_EACH (&((struct group_name *)(uintptr_t)name)->sets, it) {
        if (SET_OF(it)->num == num)
            return SET_OF(it);
    }
    return NULL;
}

static bool has_ended(const struct member *member) {
    return member->life.ended_seq != 0 || member->state == STATE_DONE;
}

/* In order of admission. */
static void set_insert(struct group_name *name, struct member *member) {
    LIST_EACH (&name->sets, it) {
        if (SET_OF(it)->num > member->num) {
            list_insert_before(it, &member->in_name);
            return;
        }
    }
    list_push(&name->sets, &member->in_name);
}

static struct group *group_get(struct group_name *name, uint64_t num) {
    struct group *group;

    LIST_EACH (&name->groups, it) {
        if (GROUP_OF(it)->num == num)
            return GROUP_OF(it);
    }
    group = mem_alloc(sizeof(*group));
    group->name = name;
    group->num = num;
    list_init(&group->members);
    list_push(&name->groups, &group->in_name);
    return group;
}

static void group_add(struct group *group, struct member *member) {
    member->group = group;
    list_remove(&member->in_group);
    if (!has_ended(member))
        list_push(&group->members, &member->in_group);
    else if (member->state != STATE_DONE &&
             (group->ended == NULL ||
              member->life.ended_seq < group->ended->life.ended_seq))
        group->ended = member;
}

/* Forgets the groups of which no member lives, and the name with the last; not
 * while one is proposed to become ready, since its sets may still be divided in
 * another way. */
static void name_sweep(struct groups *groups, struct group_name *name) {
    if (!list_empty(&name->in_proposed))
        return;
    LIST_EACH (&name->sets, it) {
        if (list_empty(&SET_OF(it)->group->members))
            member_free(SET_OF(it));
    }
    LIST_EACH (&name->groups, it) {
        if (list_empty(&GROUP_OF(it)->members))
            group_free(GROUP_OF(it));
    }
    if (list_empty(&name->sets)) {
        map_remove(&groups->names, name->key);
        name_free(name);
    }
}

static void name_divide(struct group_name *name) {
    CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
    struct group_life *lives;
    size_t count = 0;

    LIST_EACH (&name->sets, it) {
        count++;
    }
    lives = arena_alloc(&arena, (count + 1) * sizeof(*lives));
    count = 0;
    LIST_EACH (&name->sets, it) {
        lives[count] = SET_OF(it)->life;
        if (SET_OF(it)->proposed && lives[count].ready_seq == 0)
            lives[count].ready_seq = UINT64_MAX;
        count++;
    }
    group_life_divide(lives, count);
    LIST_EACH (&name->groups, it) {
        list_init(&GROUP_OF(it)->members);
        group_free(GROUP_OF(it));
    }
    count = 0;
    LIST_EACH (&name->sets, it) {
        list_init(&SET_OF(it)->in_group);
        group_add(group_get(name, lives[count].group), SET_OF(it));
        count++;
    }
}

static struct span *spans_copy(struct arena *arena, const struct span *spans,
                               size_t count) {
    struct span *copy = arena_alloc(arena, (count + 1) * sizeof(*copy));

    for (size_t i = 0; i < count; i++)
        copy[i] = arena_span(arena, spans[i]);
    return copy;
}

static void member_add(struct groups *groups, struct group_name *name,
                       const struct group_member *entry) {
    struct member *member = mem_alloc(sizeof(*member));

    member->name = name;
    member->num = entry->life.num;
    member->life = entry->life;
    member->id = arena_span(&member->arena, entry->id);
    member->key = arena_span(&member->arena, entry->key);
    member->needs = spans_copy(&member->arena, entry->needs, entry->need_count);
    member->need_count = entry->need_count;
    member->replaces =
        spans_copy(&member->arena, entry->replaces, entry->replace_count);
    member->replace_count = entry->replace_count;
    member->holds = entry->holds;
    member->state = entry->state;
    member->admitted = entry->admitted;
    list_init(&member->in_group);
    set_insert(name, member);
    if (!has_ended(member))
        map_put(&groups->members, map_num_key(&member->num), member);
    name_divide(name);
}

void groups_join(struct groups *groups, const struct group_member *entry) {
    struct group_name *name;
    struct member *known;

    if (member_find(groups, entry->life.num) != NULL ||
        entry->life.ended_seq != 0 ||
        (job_state_is_final(entry->state) && entry->state != STATE_ABANDONED))
        return;
    name = name_get(groups, &entry->group);
    known = set_find(name, entry->life.num);
    if (known != NULL)
        member_free(known); /* it was taken for one that has ended */
    member_add(groups, name, entry);
}

bool groups_knows(const struct groups *groups, const struct group_id *id) {
    return name_find(groups, id) != NULL;
}

void groups_ended(struct groups *groups, const struct group_id *of,
                  struct span id, const struct group_life *life) {
    struct group_name *name = name_find(groups, of);

    if (name == NULL || set_find(name, life->num) != NULL)
        return;
    member_add(groups, name, &(struct group_member){.id = id, .life = *life});
}

static void member_leave(struct groups *groups, struct member *member,
                         enum job_state to, uint64_t seq) {
    struct group_name *name = member->name;

    map_remove(&groups->members, map_num_key(&member->num));
    member->state = to;
    if (to == STATE_DONE) {
        list_remove(&member->in_group);
    } else {
        member->life.ended_seq = seq;
        name_divide(name);
    }
    name_sweep(groups, name);
}

bool groups_move(struct groups *groups, uint64_t num, enum job_state to,
                 uint64_t seq, bool undecided) {
    struct member *member = member_find(groups, num);
    uint64_t ready_seq;

    if (member == NULL)
        return false;
    if (job_state_is_final(to) && !(to == STATE_ABANDONED && undecided)) {
        member_leave(groups, member, to, seq);
        return true;
    }
    member->state = to;
    ready_seq = member->life.ready_seq;
    group_life_step(&member->life, to, seq);
    if (ready_seq != member->life.ready_seq)
        name_divide(member->name);
    return true;
}

bool groups_hold(struct groups *groups, uint64_t num, unsigned holds) {
    struct member *member = member_find(groups, num);

    if (member == NULL)
        return false;
    member->holds = holds;
    return true;
}

void groups_propose(struct groups *groups, uint64_t num) {
    struct member *member = member_find(groups, num);

    if (member == NULL)
        return;
    member->proposed = true;
    list_remove(&member->name->in_proposed);
    list_push(&groups->proposed, &member->name->in_proposed);
}

bool groups_settle(struct groups *groups, uint64_t *ret_num) {
    struct list *link = list_pop(&groups->proposed);
    struct group_name *name;

    *ret_num = 0;
    if (link == NULL)
        return false;
    name = LIST_OF(link, struct group_name, in_proposed);
    LIST_EACH (&name->sets, it) {
        SET_OF(it)->proposed = false;
        if (!has_ended(SET_OF(it)))
            *ret_num = SET_OF(it)->num;
    }
    name_divide(name);
    name_sweep(groups, name);
    return true;
}

/* ---- queries ------------------------------------------------------------- */

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
    LIST_EACH (&member->name->sets, it) {
        if (SET_OF(it) != member && !has_ended(SET_OF(it)))
            return SET_OF(it)->num;
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
    LIST_EACH (&member->name->sets, it) {
        if (!has_ended(SET_OF(it)) && SET_OF(it)->entry == entry)
            return SET_OF(it)->num;
    }
    return 0;
}

void groups_dissolve(struct groups *groups, uint64_t num, uint64_t entry) {
    const struct member *member = member_find(groups, num);

    if (member == NULL)
        return;
    LIST_EACH (&member->name->sets, it) {
        if (SET_OF(it)->entry == entry)
            SET_OF(it)->entry = 0;
    }
}

static bool is_open(const struct member *member) {
    return member->state == STATE_QUEUED || member->state == STATE_STAGED ||
           member->state == STATE_ABANDONED;
}

/* Adds the entries of the group that no longer stand for it alone: those of
 * which members of another group are part too, and those of its open members if
 * they are several. */
static void stray_entries(struct group *group, struct map *owners,
                          struct map *strays) {
    const struct member *open = NULL;

    LIST_EACH (&group->members, it) {
        struct member *member = MEMBER_OF(it);
        struct span key = map_num_key(&member->entry);
        const struct group *owner = map_get(owners, key);

        if (owner == NULL)
            map_put(owners, key, group);
        else if (owner != group)
            map_put(strays, key, group);
        if (open == NULL && is_open(member))
            open = member;
        if (open == NULL || !is_open(member) || member->entry == open->entry)
            continue;
        map_put(strays, key, group);
        map_put(strays, map_num_key(&open->entry), group);
    }
}

size_t groups_strays(const struct groups *groups, uint64_t num,
                     struct arena *arena, uint64_t **ret_nums) {
    const struct member *member = member_find(groups, num);
    struct map owners = {0}, strays = {0};
    size_t count = 0;

    *ret_nums = arena_alloc(arena, (map_count(&groups->members) + 1) *
                                       sizeof(**ret_nums));
    if (member == NULL)
        return 0;
    LIST_EACH (&member->name->groups, it) {
        stray_entries(GROUP_OF(it), &owners, &strays);
    }
    LIST_EACH (&member->name->sets, it) {
        const struct member *set = SET_OF(it);

        if (!has_ended(set) &&
            (set->entry == 0 || map_get(&strays, map_num_key(&set->entry))))
            (*ret_nums)[count++] = set->num;
    }
    map_clear(&owners);
    map_clear(&strays);
    return count;
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

static size_t count_members(const struct group *group, bool open_only) {
    size_t count = 0;

    LIST_EACH (&((struct group *)(uintptr_t)group)->members, it) {
        count += !open_only || is_open(MEMBER_OF(it));
    }
    return count;
}

size_t groups_open(const struct groups *groups, uint64_t num,
                   struct arena *arena, uint64_t **ret_nums) {
    struct member *member = member_find(groups, num);
    size_t count = 0;

    if (member == NULL)
        return 0;
    *ret_nums = arena_alloc(arena, (count_members(member->group, true) + 1) *
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
        if (MEMBER_OF(it)->life.want > want)
            want = MEMBER_OF(it)->life.want;
    }
    return want;
}

static bool is_incomplete(const struct group *group) {
    return count_members(group, true) > 0 &&
           count_members(group, false) < wanted(group);
}

bool groups_may_stage(const struct groups *groups, uint64_t num) {
    const struct member *member = member_find(groups, num);

    if (member == NULL || is_incomplete(member->group))
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
        /* A ready one may follow its dependency on a train, and lose it. */
        bool can_lose = other->entry == member->entry &&
                        (is_open(other) || other->state == STATE_PENDING);
        for (size_t i = 0; can_lose && i < other->need_count; i++)
            if (span_equal(other->needs[i], id))
                return other->num;
    }
    return 0;
}

/* Another member of the group ended without landing. */
static bool fails_with(const struct member *member) {
    return member->state != STATE_EXECUTING &&
           member->state != STATE_ABANDONED && member->group->ended != NULL;
}

size_t groups_landing(const struct groups *groups, uint64_t num,
                      struct arena *arena, uint64_t **ret_nums) {
    const struct member *member = member_find(groups, num);
    struct group_set *sets;
    size_t count = 0, all;

    if (member == NULL)
        return 0;
    all = count_members(member->group, false);
    sets = arena_alloc(arena, (all + 1) * sizeof(*sets));
    LIST_EACH (&member->group->members, it) {
        const struct member *other = MEMBER_OF(it);

        if (other->state != STATE_PENDING || other->holds != 0 ||
            fails_with(other) || other->life.want > all)
            return 0;
        sets[count++] =
            (struct group_set){.num = other->num,
                               .id = other->id,
                               .key = other->key,
                               .needs = other->needs,
                               .need_count = other->need_count,
                               .replaces = other->replaces,
                               .replace_count = other->replace_count};
    }
    group_order_sort(sets, count);
    *ret_nums = arena_alloc(arena, (count + 1) * sizeof(**ret_nums));
    for (size_t i = 0; i < count; i++)
        (*ret_nums)[i] = sets[i].num;
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

/* ---- proposals ----------------------------------------------------------- */

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

struct wall groups_next_time(const struct groups *groups, int64_t wait_ms) {
    struct wall next = WALL_NEVER;
    size_t at = 0;
    void *value;

    while (map_next(&groups->names, &at, NULL, &value)) {
        LIST_EACH (&((struct group_name *)value)->groups, it) {
            struct wall due = deadline(GROUP_OF(it), wait_ms);

            if (is_incomplete(GROUP_OF(it)) && due.ns < next.ns)
                next = due;
        }
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
                                    (int)group->ended->id.len,
                                    group->ended->id.p, (int)name.len, name.p));
    return span_of(arena_printf(
        arena, "only %zu of the %u sets of group '%.*s' arrived within %lld s",
        count_members(group, false), wanted(group), (int)name.len, name.p,
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
        return span_of(arena_printf(
            arena,
            "group '%.*s': %zu of %u sets have arrived; waiting "
            "for the others until %s",
            (int)name.len, name.p, count_members(member->group, false),
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
