#include "sim/order_model.h"

const char *const model_paths[PATHS] = {"a", "b", "d", "d/x", "d/y", "d/x/q"};
struct row rows[MAX];
unsigned row_count;
uint64_t model_seed;
const int64_t model_wait_ms = 3600 * 1000;
static unsigned line[MAX], line_count, places; /* the list L */

void model_show(void) {
    for (unsigned i = 0; i < row_count; i++)
        print_message(
            "# %s %c%s%s group %u.%u:%u under s%u target '%s' touches %x deps "
            "%x%s hints %x olds %x record %x key %s rank %s%s%s\n",
            rows[i].id, job_state_letter(rows[i].state),
            rows[i].holds != 0 ? " held" : "", rows[i].plain ? " plain" : "",
            rows[i].group, rows[i].instance, rows[i].want, rows[i].unit,
            rows[i].target, rows[i].touched, rows[i].deps,
            rows[i].dep_nobody ? "+nobody" : "", rows[i].hints, rows[i].olds,
            rows[i].record, rows[i].key, rows[i].rank,
            rows[i].placed ? "" : " unplaced",
            rows[i].failing ? " failing" : "");
    print_message("# L:");
    for (unsigned p = 0; p < line_count; p++)
        print_message(" s%u", line[p]);
    print_message("\n");
}

/* ---- pairs -------------------------------------------------------------- */

static bool paths_clash(const char *a, const char *b) {
    size_t a_len = strlen(a), b_len = strlen(b);

    if (a_len == b_len)
        return strcmp(a, b) == 0;
    if (a_len > b_len)
        return paths_clash(b, a);
    return strncmp(a, b, a_len) == 0 && b[a_len] == '/';
}

bool rows_clash(unsigned i, unsigned k) {
    const struct row *x = &rows[i], *y = &rows[k];

    if (x->plain || y->plain || strcmp(x->target, y->target) != 0)
        return false;
    for (unsigned p = 0; p < PATHS; p++)
        for (unsigned q = 0; q < PATHS; q++)
            if (x->touched >> p & 1 && y->touched >> q & 1 &&
                (x->target[0] != '\0'
                     ? paths_clash(model_paths[p], model_paths[q])
                     : p == q))
                return true;
    return false;
}

bool is_active(unsigned i) {
    return is_live(i) || (rows[i].group != 0 && members(rows[i].unit) != 0);
}

enum served { SERVED, WAITS, FAILED, ROLLED };

/* Returns whether the dependency on i is satisfied (O10), found by following
 * its successors; `chain` collects the active ones. */
static enum served served(unsigned i, mask *chain) {
    mask seen_here = bit(i), todo = bit(i);
    enum served own = WAITS;
    bool any_served = false, any_waits = false;

    *chain = 0;
    for (unsigned at = i; todo != 0;) {
        enum served one;

        at = (unsigned)__builtin_ctz(todo);
        todo &= todo - 1;
        if (is_active(at) && !rows[at].failing)
            one = WAITS;
        else if (rows[at].state == STATE_DONE)
            one = rows[at].rolled_back ? ROLLED : SERVED;
        else
            one = FAILED;
        if (is_active(at))
            *chain |= bit(at);
        if (at == i)
            own = one;
        else if (one == SERVED)
            any_served = true;
        else if (one == WAITS)
            any_waits = true;
        for (unsigned k = 0; k < row_count; k++)
            if (rows[k].exists && rows[k].olds & bit(at) &&
                !(seen_here & bit(k))) {
                seen_here |= bit(k);
                todo |= bit(k);
            }
        if (at == i && (one == WAITS || one == SERVED))
            return one; /* its successors do not matter */
    }
    return any_served ? SERVED : any_waits ? WAITS : own;
}

/* ---- groups ------------------------------------------------------------- */

bool same_name(unsigned i, unsigned k) {
    return rows[i].group != 0 && rows[i].group == rows[k].group &&
           strcmp(rows[i].target, rows[k].target) == 0;
}

bool same_group(unsigned i, unsigned k) {
    return same_name(i, k) && rows[i].instance == rows[k].instance;
}

static bool ended_alone(unsigned i) {
    return rows[i].ended_seq != 0 && rows[i].state != STATE_DONE;
}

/* Nobody joins the group of this row any more. */
static bool is_closed(unsigned i) {
    for (unsigned k = 0; k < row_count; k++)
        if (same_group(i, k) &&
            (rows[k].ready_seq != 0 || rows[k].proposed || ended_alone(k)))
            return true;
    return false;
}

/* It has as many members, not counting i, as the largest COUNT among them. */
static bool is_full(unsigned of, unsigned i) {
    unsigned count = 0, want = 0;

    for (unsigned k = 0; k < row_count; k++)
        if (k != i && same_group(of, k)) {
            count++;
            want = rows[k].want > want ? rows[k].want : want;
        }
    return want != 0 && count >= want;
}

void group_begin(unsigned i) {
    unsigned newest = 0;
    bool closed = true;

    for (unsigned k = 0; k < row_count; k++)
        if (k != i && same_name(i, k) && rows[k].instance > newest) {
            newest = rows[k].instance;
            closed = is_closed(k) || is_full(k, i);
        }
    rows[i].instance = closed ? newest + 1 : newest;
}

void groups_merge(void) {
    for (unsigned i = 0; i < row_count; i++)
        rows[i].proposed = false;
    for (unsigned i = 0; i < row_count; i++)
        for (unsigned k = 0; k < row_count; k++)
            if (same_name(i, k) && rows[k].instance > rows[i].instance &&
                !is_closed(i) && !is_full(i, k))
                rows[k].instance = rows[i].instance;
}

bool fails_with_group(unsigned i) {
    if (rows[i].state == STATE_EXECUTING)
        return false;
    for (unsigned k = 0; k < row_count; k++)
        if (same_group(i, k) && ended_alone(k))
            return true;
    return false;
}

bool is_incomplete(unsigned i) {
    unsigned live = 0, want = 0;

    for (unsigned k = 0; k < row_count; k++)
        if (same_group(i, k) && is_live(k)) {
            live++;
            want = rows[k].want > want ? rows[k].want : want;
        }
    return live < want;
}

/* When the first waiting member of the group of i arrived. */
static struct wall first_arrival(unsigned i) {
    for (unsigned k = 0; k < row_count; k++)
        if (same_group(i, k) && is_open(k))
            return rows[k].admitted;
    return rows[i].admitted;
}

mask members(unsigned u) {
    mask all = 0;

    for (unsigned i = 0; i < row_count; i++)
        if (is_live(i) && rows[i].unit == u)
            all |= bit(i);
    return all;
}

void unit_form(unsigned i) {
    unsigned first = MAX;

    for (unsigned k = 0; k < row_count; k++) {
        if (!same_group(i, k) || !is_open(k))
            continue;
        if (first == MAX)
            first = k;
        line_remove(rows[k].unit);
        rows[k].unit = first;
        rows[k].placed = rows[k].moved = rows[k].failing = false;
        rows[k].old_place = 0;
        rows[k].uses_record = true;
    }
}

enum job_state unit_state(unsigned u) {
    enum job_state least = STATE_NONE;
    mask all = members(u);

    for (unsigned i = 0; i < row_count; i++)
        if (all & bit(i) && (least == STATE_NONE || rows[i].state < least))
            least = rows[i].state;
    return least;
}

const char *unit_key(unsigned u) {
    const char *best = rows[u].key;
    mask all = members(u);

    for (unsigned i = 0; i < row_count; i++)
        if (all & bit(i) && strcmp(rows[i].key, best) < 0)
            best = rows[i].key;
    return best;
}

bool unit_is_held(unsigned u) {
    mask all = members(u);

    for (unsigned i = 0; i < row_count; i++)
        if (all & bit(i) &&
            (rows[i].holds != 0 || (is_open(i) && is_incomplete(i))))
            return true;
    return false;
}

static void set_failing(unsigned u, bool failing) {
    mask all = members(u);

    for (unsigned i = 0; i < row_count; i++)
        if (all & bit(i))
            rows[i].failing = failing;
}

void mark_failing(unsigned u) {
    set_failing(u, true);
}

void unmark_failing(unsigned u) {
    set_failing(u, false);
}

mask units_of(mask some) {
    mask all = 0;

    for (unsigned k = 0; k < row_count; k++)
        if (some & bit(k))
            all |= is_active(k) ? bit(rows[k].unit) : bit(k);
    return all;
}

/* ---- units -------------------------------------------------------------- */

static bool unit_waits(unsigned u) {
    return unit_state(u) == STATE_QUEUED || unit_state(u) == STATE_STAGED;
}

static bool units_clash(unsigned u, unsigned v) {
    mask ours = members(u), theirs = u != v ? members(v) : 0;

    for (unsigned i = 0; i < row_count; i++)
        for (unsigned k = 0; k < row_count; k++)
            if (ours & bit(i) && theirs & bit(k) && rows_clash(i, k))
                return true;
    return false;
}

/* The dependencies of the unit's members outside the unit. */
static mask unit_deps(unsigned u) {
    mask all = 0, ours = members(u);

    for (unsigned i = 0; i < row_count; i++)
        if (ours & bit(i))
            all |= rows[i].deps;
    return rows[u].group != 0 ? all & ~ours : all;
}

static mask unit_hints(unsigned u) {
    mask all = 0, ours = members(u);

    for (unsigned i = 0; i < row_count; i++)
        if (ours & bit(i))
            all |= rows[i].hints;
    return all & ~ours;
}

/* The units that u waits for because of dependencies. */
static mask dep_waits(unsigned u) {
    mask all = 0, chain, deps = unit_deps(u);

    for (unsigned k = 0; k < row_count; k++)
        if (deps & bit(k) && rows[k].exists && served(k, &chain) == WAITS)
            all |= chain;
    return units_of(all);
}

bool has_unknown(unsigned u) {
    mask deps = unit_deps(u), ours = members(u);

    for (unsigned k = 0; k < MAX; k++)
        if (deps & bit(k) && !rows[k].exists)
            return true;
    for (unsigned i = 0; i < row_count; i++)
        if (ours & bit(i) && rows[i].dep_nobody)
            return true;
    return false;
}

static unsigned group_cannot(unsigned i, struct wall now) {
    unsigned why = fails_with_group(i) ? CANNOT_ALONE : 0;

    if (is_open(i) && is_incomplete(i) &&
        now.ns >= wall_add_ms(first_arrival(i), model_wait_ms).ns)
        why |= CANNOT_WAIT;
    return why;
}

unsigned cannot_run(unsigned i, struct wall now) {
    unsigned why = group_cannot(i, now);
    mask chain, deps = rows[i].deps & unit_deps(rows[i].unit);
    bool unknown = rows[i].dep_nobody;

    for (unsigned k = 0; k < MAX; k++) {
        enum served how;
        if (!(deps & bit(k)))
            continue;
        unknown = unknown || !rows[k].exists;
        if (!rows[k].exists)
            continue;
        how = served(k, &chain);
        why |= how == FAILED   ? CANNOT_FAILED
               : how == ROLLED ? CANNOT_ROLLED
                               : 0;
    }
    if (unknown &&
        now.ns >= wall_add_ms(rows[rows[i].unit].admitted, model_wait_ms).ns)
        why |= CANNOT_UNKNOWN;
    return why;
}

/* The position of u in L, or -1. */
static int place_of(unsigned u) {
    for (unsigned p = 0; p < line_count; p++)
        if (line[p] == u)
            return (int)p;
    return -1;
}

mask full_waits(unsigned u) {
    int place = place_of(u);
    mask all = dep_waits(u), hints = unit_hints(u);

    for (int p = 0; p < place; p++) {
        unsigned v = line[p];
        if (members(v) != 0 && (units_clash(u, v) || hints & members(v)))
            all |= bit(v);
    }
    for (unsigned k = 0; k < row_count; k++)
        if (hints & bit(k) && rows[k].plain && is_live(k))
            all |= bit(k);
    return all;
}

/* ---- L ------------------------------------------------------------------ */

void line_remove(unsigned u) {
    int p = place_of(u);

    if (p < 0)
        return;
    memmove(&line[p], &line[p + 1],
            (line_count - (unsigned)p - 1) * sizeof(*line));
    line_count--;
}

static mask behind(unsigned u) {
    mask all = 0;

    for (unsigned p = (unsigned)place_of(u) + 1; p < line_count; p++)
        all |= bit(line[p]);
    return all;
}

static unsigned turn_of(unsigned u) {
    if (!unit_waits(u))
        return 0;
    return unit_state(u) == STATE_STAGED || rows[u].moved ? 1 : 2;
}

static bool goes_before(unsigned u, unsigned v) {
    unsigned p = turn_of(u), q = turn_of(v);
    int by_key = strcmp(unit_key(u), unit_key(v));

    if (p != q)
        return p < q;
    if (rows[u].old_place != rows[v].old_place)
        return rows[u].old_place < rows[v].old_place;
    return by_key != 0 ? by_key < 0 : u < v;
}

static mask preferred_before(unsigned u) {
    mask all = unit_hints(u), ours = rows[u].uses_record ? members(u) : 0;

    for (unsigned i = 0; i < row_count; i++)
        if (ours & bit(i))
            all |= (rows[i].record | rows[i].inherited) & ~ours;
    return units_of(all);
}

/* Is u in a cycle of dependencies between units that are not placed, as the
 * last of its queued units? */
static bool closes_cycle(unsigned u) {
    mask found = 0, todo = dep_waits(u);

    while (todo != 0) {
        unsigned v = (unsigned)__builtin_ctz(todo);
        todo &= todo - 1;
        if (found & bit(v))
            continue;
        found |= bit(v);
        if (v == u)
            return true;
        if (unit_waits(v) && !(unit_state(v) == STATE_QUEUED && v > u))
            todo |= dep_waits(v);
    }
    return false;
}

/* The next set whose failure because of a cycle was proposed, or -1; MAX if the
 * set was staged before the cycle closed, so that it is queued first. */
static int cycle_next(const struct order_effect **effects, size_t *count) {
    while (*count > 0) {
        const struct order_effect *effect = (*effects)++;
        --*count;
        if (effect->kind == ORDER_FAIL && span_is(effect->reason, "dep-cycle"))
            return (int)effect->num - 1;
        if (effect->kind == ORDER_RECOMPUTE && !rows[effect->num - 1].placed &&
            closes_cycle((unsigned)effect->num - 1))
            return MAX;
    }
    return -1;
}

/* Moves all units that depend on units that are not placed or are placed behind
 * them. */
static mask line_move(mask todo) {
    mask moved = 0, before;

    do {
        before = moved;
        for (unsigned u = 0; u < row_count; u++)
            if (members(u) != 0 && rows[u].placed && unit_waits(u) &&
                dep_waits(u) & (todo | moved | behind(u) | bit(u)))
                moved |= bit(u);
    } while (moved != before);
    for (unsigned u = 0; u < row_count; u++)
        if (moved & bit(u)) {
            line_remove(u);
            rows[u].old_place = rows[u].place;
            rows[u].placed = false;
            rows[u].moved = true;
        }
    return moved;
}

/* The first unit that may be placed, or -1. A unit whose preferences cannot be
 * met is chosen only if there is no other. */
static int line_first(mask todo) {
    int best = -1, second = -1;

    for (unsigned u = 0; u < row_count; u++) {
        if (!(todo & bit(u)) || rows[u].failing)
            continue;
        if (unit_waits(u) && dep_waits(u) & todo)
            continue;
        if (second < 0 || goes_before(u, (unsigned)second))
            second = (int)u;
        if (unit_waits(u) && preferred_before(u) & todo & ~bit(u))
            continue;
        if (best < 0 || goes_before(u, (unsigned)best))
            best = (int)u;
    }
    return best < 0 ? second : best;
}

static void line_put(unsigned u) {
    line[line_count++] = u;
    rows[u].placed = true;
    rows[u].place = ++places;
    rows[u].uses_record = rows[u].moved = false;
}

/* Places all units. When no more can be placed, the next set whose failure
 * because of a cycle was proposed is left out. */
void line_update(const struct order_effect *effects, size_t count) {
    mask todo = 0;

    for (unsigned u = 0; u < row_count; u++)
        if (members(u) != 0 && !rows[u].plain && !rows[u].placed)
            todo |= bit(u);
    todo |= line_move(todo);
    for (int best; todo != 0;) {
        if ((best = line_first(todo)) >= 0) {
            line_put((unsigned)best);
            todo &= ~bit((unsigned)best);
            continue;
        }
        best = cycle_next(&effects, &count);
        if (best < 0)
            break;
        if (best >= MAX)
            return; /* the next scan will break the cycle */
        if (!(todo & bit((unsigned)best)) || !closes_cycle((unsigned)best))
            BROKEN("%s is not in a cycle", rows[best].id);
        mark_failing((unsigned)best);
        todo &= ~bit((unsigned)best);
    }
    for (unsigned u = 0; u < row_count; u++)
        if (todo & bit(u))
            BROKEN("%s cannot be placed, and no cycle was proposed",
                   rows[u].id);
}

void line_clear(void) {
    line_count = places = 0;
}
