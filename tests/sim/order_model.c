#include "sim/order_model.h"

const char *const model_paths[PATHS] = {"a", "b", "d", "d/x", "d/y", "d/x/q"};
struct row rows[MAX];
unsigned row_count;
uint64_t model_seed;
const int64_t model_wait_ms = 3600 * 1000;
static unsigned line[MAX], line_count, places; /* L */

void model_show(void) {
    for (unsigned i = 0; i < row_count; i++)
        print_message(
            "# %s %c%s%s target '%s' touches %x deps %x%s hints %x "
            "olds %x record %x key %s rank %s%s%s\n",
            rows[i].id, job_state_letter(rows[i].state),
            rows[i].holds != 0 ? " held" : "", rows[i].plain ? " plain" : "",
            rows[i].target, rows[i].touched, rows[i].deps,
            rows[i].dep_nobody ? "+nobody" : "", rows[i].hints, rows[i].olds,
            rows[i].record, rows[i].key, rows[i].rank,
            rows[i].placed ? "" : " unplaced", rows[i].doomed ? " doomed" : "");
    print_message("# L:");
    for (unsigned p = 0; p < line_count; p++)
        print_message(" s%u", line[p]);
    print_message("\n");
}

/* ---- pairs -------------------------------------------------------------- */

static bool paths_meet(const char *a, const char *b) {
    size_t a_len = strlen(a), b_len = strlen(b);

    if (a_len == b_len)
        return strcmp(a, b) == 0;
    if (a_len > b_len)
        return paths_meet(b, a);
    return strncmp(a, b, a_len) == 0 && b[a_len] == '/';
}

bool share(unsigned i, unsigned k) {
    const struct row *x = &rows[i], *y = &rows[k];

    if (x->plain || y->plain || strcmp(x->target, y->target) != 0)
        return false;
    for (unsigned p = 0; p < PATHS; p++)
        for (unsigned q = 0; q < PATHS; q++)
            if (x->touched >> p & 1 && y->touched >> q & 1 &&
                (x->target[0] != '\0'
                     ? paths_meet(model_paths[p], model_paths[q])
                     : p == q))
                return true;
    return false;
}

enum served { SERVED, WAITS, FAILED, ROLLED };

/* D8, by walking; `chain` collects who lives in it. */
static enum served served(unsigned i, mask *chain) {
    mask seen_here = bit(i), todo = bit(i);
    enum served own = WAITS;
    bool any_served = false, any_waits = false;

    *chain = 0;
    for (unsigned at = i; todo != 0;) {
        enum served one;

        at = (unsigned)__builtin_ctz(todo);
        todo &= todo - 1;
        if (is_live(at) && !rows[at].doomed)
            one = WAITS;
        else if (rows[at].state == STATE_DONE)
            one = rows[at].rolled_back ? ROLLED : SERVED;
        else
            one = FAILED;
        if (is_live(at))
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
            return one; /* successors don't matter */
    }
    return any_served ? SERVED : any_waits ? WAITS : own;
}

/* Whom i waits for because of a dependency. */
static mask dep_waits(unsigned i) {
    mask all = 0, chain;

    for (unsigned k = 0; k < row_count; k++)
        if (rows[i].deps & bit(k) && rows[k].exists &&
            served(k, &chain) == WAITS)
            all |= chain;
    return all;
}

bool has_unknown(unsigned i) {
    for (unsigned k = 0; k < MAX; k++)
        if (rows[i].deps & bit(k) && !rows[k].exists)
            return true;
    return rows[i].dep_nobody;
}

unsigned cannot_run(unsigned i, struct wall now) {
    unsigned why = 0;
    mask chain;

    for (unsigned k = 0; k < row_count; k++) {
        enum served how;
        if (!(rows[i].deps & bit(k)) || !rows[k].exists)
            continue;
        how = served(k, &chain);
        why |= how == FAILED   ? CANNOT_FAILED
               : how == ROLLED ? CANNOT_ROLLED
                               : 0;
    }
    if (has_unknown(i) &&
        now.ns >= wall_add_ms(rows[i].admitted, model_wait_ms).ns)
        why |= CANNOT_UNKNOWN;
    return why;
}

/* Where i stands in L; -1: nowhere. */
static int place_of(unsigned i) {
    for (unsigned p = 0; p < line_count; p++)
        if (line[p] == i)
            return (int)p;
    return -1;
}

mask full_waits(unsigned i) {
    int place = place_of(i);
    mask all = dep_waits(i);

    for (int p = 0; p < place; p++) {
        unsigned k = line[p];
        if (is_live(k) && (share(i, k) || rows[i].hints & bit(k)))
            all |= bit(k);
    }
    for (unsigned k = 0; k < row_count; k++)
        if (rows[i].hints & bit(k) && rows[k].plain && is_live(k))
            all |= bit(k);
    return all;
}

/* ---- L ------------------------------------------------------------------ */

void line_remove(unsigned i) {
    int p = place_of(i);

    if (p < 0)
        return;
    memmove(&line[p], &line[p + 1],
            (line_count - (unsigned)p - 1) * sizeof(*line));
    line_count--;
}

static mask behind(unsigned i) {
    mask all = 0;

    for (unsigned p = (unsigned)place_of(i) + 1; p < line_count; p++)
        all |= bit(line[p]);
    return all;
}

static unsigned standing(unsigned i) {
    if (!is_waiting(i))
        return 0;
    return rows[i].state == STATE_STAGED || rows[i].moved ? 1 : 2;
}

static bool stands_before(unsigned i, unsigned k) {
    unsigned p = standing(i), q = standing(k);
    int by_key = strcmp(rows[i].key, rows[k].key);

    if (p != q)
        return p < q;
    if (rows[i].old_place != rows[k].old_place)
        return rows[i].old_place < rows[k].old_place;
    return by_key != 0 ? by_key < 0 : i < k;
}

static mask wishes_of(unsigned i) {
    return rows[i].hints | (rows[i].wishes ? rows[i].record : 0);
}

/* Is i in a ring of dependencies among those not placed, whose last in Q it
 * is? */
static bool closes_cycle(unsigned i) {
    mask found = 0, todo = dep_waits(i);

    while (todo != 0) {
        unsigned k = (unsigned)__builtin_ctz(todo);
        todo &= todo - 1;
        if (found & bit(k))
            continue;
        found |= bit(k);
        if (k == i)
            return true;
        if (is_waiting(k) && !(rows[k].state == STATE_QUEUED && k > i))
            todo |= dep_waits(k);
    }
    return false;
}

/* The next set that was proposed to fail for a cycle; -1: none; MAX: it was
 * staged before the cycle closed, and goes back to Q first. */
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

/* Places all that are not. When nothing can be placed any more, the next of
 * those that were proposed to fail for a cycle is taken out. */
void line_update(const struct order_effect *effects, size_t count) {
    mask todo = 0, moved = 0, before;

    for (unsigned i = 0; i < row_count; i++)
        if (is_live(i) && !rows[i].plain && !rows[i].placed)
            todo |= bit(i);
    do { /* who depends on somebody not placed, or placed behind it, moves */
        before = moved;
        for (unsigned i = 0; i < row_count; i++)
            if (rows[i].placed && is_waiting(i) &&
                dep_waits(i) & (todo | moved | behind(i) | bit(i)))
                moved |= bit(i);
    } while (moved != before);
    for (unsigned i = 0; i < row_count; i++)
        if (moved & bit(i)) {
            line_remove(i);
            rows[i].old_place = rows[i].place;
            rows[i].placed = false;
            rows[i].moved = true;
        }
    todo |= moved;
    for (;;) {
        int best = -1, second = -1;
        for (unsigned i = 0; i < row_count; i++) {
            if (!(todo & bit(i)) || rows[i].doomed)
                continue;
            if (is_waiting(i) && dep_waits(i) & todo)
                continue;
            if (second < 0 || stands_before(i, (unsigned)second))
                second = (int)i;
            if (is_waiting(i) && wishes_of(i) & todo & ~bit(i))
                continue;
            if (best < 0 || stands_before(i, (unsigned)best))
                best = (int)i;
        }
        if (best < 0)
            best = second;
        if (best < 0) {
            int out = cycle_next(&effects, &count);
            if (out < 0)
                break;
            if (out >= MAX)
                return; /* the next scan will break it */
            if (!(todo & bit((unsigned)out)) || !closes_cycle((unsigned)out))
                BROKEN("%s is in no cycle", rows[out].id);
            rows[out].doomed = true;
            todo &= ~bit((unsigned)out);
            continue;
        }
        line[line_count++] = (unsigned)best;
        rows[best].placed = true;
        rows[best].place = ++places;
        rows[best].wishes = rows[best].moved = false;
        todo &= ~bit((unsigned)best);
    }
    for (unsigned i = 0; i < row_count; i++)
        if (todo & bit(i))
            BROKEN("%s cannot be placed, and no cycle was proposed",
                   rows[i].id);
}

void line_clear(void) {
    line_count = places = 0;
}
