#include "core/schedule_inner.h"

#include <stdlib.h>

/* Which of the ready jobs are here: all up to the bound, but of a target with
 * lanes only the best, up to its fold. What is turned away is found again by a
 * refill from the bound, from the fold, or (D9) from the head of its class. */

enum {
    LANE_KEEP = 64,   /* jobs of a target with lanes kept in the window */
    FOLD_READ = 64,   /* rows read when such a target runs low */
    PROBE_READ = 64,  /* rows read per class in search of aged ones */
    BOUND_READ = 256, /* rows read beyond the bound in one go */
    LOOK_MS = 50      /* between two looks beyond busy lanes */
};

/* ---- comparing ---------------------------------------------------------- */

static int compare_places(struct span a_rank, uint64_t a_num,
                          struct span b_rank, uint64_t b_num) {
    int order = span_compare(a_rank, b_rank);

    return order != 0 ? order : (a_num > b_num) - (a_num < b_num);
}

static struct span entry_rank(const struct entry *entry) {
    return span_make(entry->rank, entry->rank_bytes);
}

static int compare_entries(const void *a, const void *b) {
    const struct entry *x = a, *y = b;

    return compare_places(entry_rank(x), x->num, entry_rank(y), y->num);
}

static int compare_worst(const void *a, const void *b) {
    return compare_entries(b, a);
}

static int compare_due(const void *a, const void *b) {
    const struct entry *x = a, *y = b;
    int order = (x->due.ns > y->due.ns) - (x->due.ns < y->due.ns);

    return order != 0 ? order : compare_entries(a, b);
}

static int compare_lanes(const void *a, const void *b) {
    const struct lane *x = a, *y = b;

    return compare_entries(heap_first(&x->ready), heap_first(&y->ready));
}

static void position_set(struct position *position, struct span rank,
                         uint64_t num) {
    text_reset(&position->rank);
    text_addspan(&position->rank, rank);
    position->num = num;
}

/* Just in front of an entry: reading from there finds it again. */
static void position_before(struct position *position,
                            const struct entry *entry) {
    position_set(position, entry_rank(entry),
                 entry->num > 0 ? entry->num - 1 : 0);
}

static bool entry_is_beyond(const struct entry *entry,
                            const struct position *position) {
    return compare_places(entry_rank(entry), entry->num,
                          text_span(&position->rank), position->num) > 0;
}

/* ---- life --------------------------------------------------------------- */

void window_init(struct schedule *schedule) {
    heap_init(&schedule->open, offsetof(struct lane, in_open), compare_lanes);
    heap_init(&schedule->worst, offsetof(struct entry, in_worst),
              compare_worst);
    heap_init(&schedule->later, offsetof(struct entry, in_later), compare_due);
    heap_init(&schedule->ageing, offsetof(struct entry, in_ageing),
              compare_due);
    list_init(&schedule->hungry);
    list_init(&schedule->paused);
    schedule->more = true;
}

static void entry_free(struct entry *entry) {
    free(entry->rank);
    free(entry);
}

void window_clear(struct schedule *schedule) {
    size_t at = 0;
    void *value;

    while (map_next(&schedule->entries, &at, NULL, &value))
        entry_free(value);
    map_clear(&schedule->entries);
    heap_clear(&schedule->open);
    heap_clear(&schedule->worst);
    heap_clear(&schedule->later);
    heap_clear(&schedule->ageing);
    text_clear(&schedule->bound.rank);
    text_clear(&schedule->last.rank);
    text_clear(&schedule->after);
}

struct lane *lane_new(unsigned limit) {
    struct lane *lane = mem_alloc(sizeof(*lane));

    lane->limit = limit;
    heap_init(&lane->ready, offsetof(struct entry, in_lane), compare_entries);
    list_init(&lane->assigned);
    list_init(&lane->hungry);
    list_init(&lane->in_paused);
    return lane;
}

void lane_free(struct lane *lane) {
    heap_clear(&lane->ready);
    text_clear(&lane->fold.rank);
    free(lane);
}

size_t schedule_window(const struct schedule *schedule) {
    return schedule->worst.count;
}

/* ---- lanes -------------------------------------------------------------- */

static size_t lane_keep(const struct lane *lane) {
    return lane->limit > LANE_KEEP / 4 ? 4 * (size_t)lane->limit : LANE_KEEP;
}

bool lane_is_low(const struct lane *lane) {
    return lane->folded && lane->ready.count <= lane_keep(lane) / 4;
}

static void lane_fold(struct lane *lane, const struct entry *entry) {
    if (!lane->folded || !entry_is_beyond(entry, &lane->fold))
        position_before(&lane->fold, entry);
    lane->folded = true;
}

/* ---- entries ------------------------------------------------------------ */

/* Takes it out of the window; lane_changed is the caller's. */
static void entry_take_out(struct schedule *schedule, struct entry *entry) {
    struct lane *lane = entry->lane;

    if (heap_has(&schedule->worst, entry)) {
        /* The lane's place in `open` depends on its first job. */
        heap_remove(&schedule->open, lane);
        heap_remove(&lane->ready, entry);
        heap_remove(&schedule->worst, entry);
        heap_remove(&schedule->ageing, entry);
    } else {
        heap_remove(&schedule->later, entry);
    }
}

void entry_drop(struct schedule *schedule, struct entry *entry) {
    struct lane *lane = entry->lane;

    entry_take_out(schedule, entry);
    lane_changed(schedule, lane);
    map_remove(&schedule->entries, num_key(&entry->num));
    entry_free(entry);
}

/* D9. Sets its class as aged by `now`, and when it will age next. */
static void entry_age(struct schedule *schedule, struct entry *entry,
                      struct wall now) {
    int64_t step_ms = schedule->limits.age_step_ms, gained;

    if (step_ms <= 0 || entry->gain_max == 0 || entry->rank_bytes == 0)
        return;
    gained = wall_ms_since(now, entry->admitted) / step_ms;
    if (gained < 0)
        gained = 0;
    if (gained > entry->gain_max)
        gained = entry->gain_max;
    entry->rank[0] = (char)(entry->class_byte - (unsigned char)gained);
    entry->due = gained < entry->gain_max
                     ? wall_add_ms(entry->admitted, (gained + 1) * step_ms)
                     : WALL_NEVER;
}

static struct entry *entry_new(struct schedule *schedule,
                               const struct schedule_job *job) {
    struct entry *entry = mem_alloc(sizeof(*entry));

    entry->num = job->num;
    entry->lane = lane_of(schedule, job->target);
    entry->rank = mem_copy(job->rank.p, job->rank.len);
    entry->rank_bytes = job->rank.len;
    entry->class_byte = (unsigned char)entry->rank[0];
    if (job->job_class > CLASS_EM && job->job_class < JOB_CLASSES)
        entry->gain_max = job->job_class - CLASS_EM;
    if (entry->gain_max > entry->class_byte)
        entry->gain_max = entry->class_byte;
    entry->admitted = job->admitted;
    entry->due = WALL_NEVER;
    return entry;
}

/* A lane that is not to crowd out the others keeps only its best. */
static void lane_trim(struct schedule *schedule, struct lane *lane,
                      size_t keep) {
    struct entry *last = NULL;

    if (lane->limit == 0 || lane->ready.count <= keep)
        return;
    for (size_t i = 0; i < lane->ready.count; i++) {
        struct entry *entry = lane->ready.items[i];
        if (last == NULL || compare_entries(entry, last) > 0)
            last = entry;
    }
    lane_fold(lane, last);
    entry_drop(schedule, last);
}

static void window_trim(struct schedule *schedule) {
    struct entry *last;

    if (schedule->worst.count <= schedule->limits.window_max)
        return;
    last = heap_first(&schedule->worst);
    position_before(&schedule->bound, last);
    schedule->more = true;
    entry_drop(schedule, last);
}

static void entry_put_in(struct schedule *schedule, struct entry *entry) {
    struct lane *lane = entry->lane;

    heap_remove(&schedule->open, lane);
    heap_push(&lane->ready, entry);
    heap_push(&schedule->worst, entry);
    if (entry->due.ns != WALL_NEVER.ns)
        heap_push(&schedule->ageing, entry);
    lane_changed(schedule, lane);
    lane_trim(schedule, lane, lane_keep(lane));
    window_trim(schedule);
}

/* Is it left to the registry for now? */
static bool is_turned_away(const struct schedule *schedule,
                           struct entry *entry) {
    struct lane *lane = entry->lane;

    if (lane->folded && entry_is_beyond(entry, &lane->fold))
        return true;
    return schedule->more && schedule->refill != REFILL_BOUND &&
           entry_is_beyond(entry, &schedule->bound);
}

/* The entry is in schedule->entries, and in no heap. */
static void entry_settle(struct schedule *schedule, struct entry *entry,
                         struct wall not_before, struct wall now) {
    if (not_before.ns > now.ns) {
        entry->due = not_before;
        heap_push(&schedule->later, entry);
        return;
    }
    entry->due = WALL_NEVER;
    entry_age(schedule, entry, now);
    if (is_turned_away(schedule, entry)) {
        map_remove(&schedule->entries, num_key(&entry->num));
        entry_free(entry);
        return;
    }
    entry_put_in(schedule, entry);
}

void schedule_offer(struct schedule *schedule, const struct schedule_job *job,
                    struct wall now) {
    struct entry *entry;

    if (schedule->refill != REFILL_NONE)
        position_set(&schedule->last, job->rank, job->num);
    if (map_get(&schedule->assigned, num_key(&job->num)) != NULL)
        return;
    schedule_forget(schedule, job->num);
    entry = entry_new(schedule, job);
    map_put(&schedule->entries, num_key(&entry->num), entry);
    entry_settle(schedule, entry, job->not_before, now);
}

void schedule_forget(struct schedule *schedule, uint64_t num) {
    struct entry *entry = map_get(&schedule->entries, num_key(&num));

    if (entry != NULL)
        entry_drop(schedule, entry);
}

void schedule_begin_anew(struct schedule *schedule) {
    size_t at = 0;
    void *value;

    while (map_next(&schedule->lanes, &at, NULL, &value))
        ((struct lane *)value)->folded = false;
    while (heap_first(&schedule->worst) != NULL)
        entry_drop(schedule, heap_first(&schedule->worst));
    position_set(&schedule->bound, SPAN(""), 0);
    schedule->more = true;
}

/* ---- time --------------------------------------------------------------- */

static void lanes_resume(struct schedule *schedule, struct wall now) {
    LIST_EACH (&schedule->paused, link) {
        struct lane *lane = LIST_OF(link, struct lane, in_paused);
        if (lane->paused_until.ns > now.ns)
            continue;
        list_remove(&lane->in_paused);
        lane->paused_until = (struct wall){0};
        lane_changed(schedule, lane);
    }
}

void window_tick(struct schedule *schedule, struct wall now) {
    struct entry *entry;

    lanes_resume(schedule, now);
    while ((entry = heap_first(&schedule->later)) != NULL &&
           entry->due.ns <= now.ns) {
        heap_pop(&schedule->later);
        entry_settle(schedule, entry, (struct wall){0}, now);
    }
    while ((entry = heap_first(&schedule->ageing)) != NULL &&
           entry->due.ns <= now.ns) {
        entry_take_out(schedule, entry);
        entry_age(schedule, entry, now);
        entry_put_in(schedule, entry);
    }
}

static bool probes(const struct schedule *schedule) {
    return schedule->limits.age_step_ms > 0 && schedule->more;
}

static bool looks_further(const struct schedule *schedule) {
    return schedule->more && schedule->open.count == 0 &&
           schedule_room(schedule) > 0;
}

struct wall schedule_next_time(const struct schedule *schedule) {
    const struct entry *later = heap_first(&schedule->later),
                       *ageing = heap_first(&schedule->ageing);
    struct wall next = WALL_NEVER;

    if (later != NULL)
        next = later->due;
    LIST_EACH (&((struct schedule *)(uintptr_t)schedule)->paused, link) {
        const struct lane *lane = LIST_OF(link, struct lane, in_paused);
        if (lane->paused_until.ns < next.ns)
            next = lane->paused_until;
    }
    if (ageing != NULL && ageing->due.ns < next.ns)
        next = ageing->due;
    if (probes(schedule) && schedule->next_probe.ns < next.ns)
        next = schedule->next_probe;
    if (looks_further(schedule) && schedule->next_look.ns < next.ns)
        next = schedule->next_look;
    return next;
}

/* ---- refilling ---------------------------------------------------------- */

static void ask(struct schedule *schedule, enum refill refill, struct span rank,
                uint64_t num, size_t limit) {
    schedule->refill = refill;
    schedule->refill_limit = limit;
    text_reset(&schedule->after);
    text_addspan(&schedule->after, rank);
    position_set(&schedule->last, rank, num);
}

/* The window is full of jobs whose lanes are busy: one of each is enough. */
static void lanes_shrink(struct schedule *schedule) {
    size_t at = 0;
    void *value;

    while (map_next(&schedule->lanes, &at, NULL, &value)) {
        struct lane *lane = value;

        while (lane_is_full(lane) && lane->ready.count > 1)
            lane_trim(schedule, lane, 1);
    }
}

/* Nothing can be started though there is room: somewhere beyond the bound
 * there may be a job whose lane is free. In steps, so that a long backlog of
 * one busy target does not keep us from our other work. */
static bool look_further(struct schedule *schedule, struct wall now) {
    if (!looks_further(schedule) || now.ns < schedule->next_look.ns)
        return false;
    schedule->next_look = wall_add_ms(now, LOOK_MS);
    if (schedule->worst.count >= schedule->limits.window_max)
        lanes_shrink(schedule);
    return schedule->worst.count < schedule->limits.window_max;
}

static bool bound_is_low(struct schedule *schedule, struct wall now) {
    size_t max = schedule->limits.window_max, count = schedule->worst.count;

    if (!schedule->more)
        return false;
    if (count <= max / 4)
        return true;
    return look_further(schedule, now);
}

/* No more than a moment's work: who waits for the next start waits for it. */
static size_t bound_read(const struct schedule *schedule) {
    size_t room = schedule->limits.window_max - schedule->worst.count;

    return room < BOUND_READ ? room : BOUND_READ;
}

static bool ask_for_lane(struct schedule *schedule) {
    while (!list_empty(&schedule->hungry)) {
        struct lane *lane =
            LIST_OF(list_pop(&schedule->hungry), struct lane, hungry);

        if (!lane_is_low(lane))
            continue;
        lane->folded = false;
        /* Beyond the bound it is not this lane's affair. */
        if (schedule->more &&
            compare_places(text_span(&lane->fold.rank), lane->fold.num,
                           text_span(&schedule->bound.rank),
                           schedule->bound.num) >= 0)
            continue;
        schedule->refill_lane = lane;
        ask(schedule, REFILL_FOLD, text_span(&lane->fold.rank), lane->fold.num,
            FOLD_READ);
        return true;
    }
    return false;
}

/* Classes begin with the byte of their number in every key. */
static bool ask_for_aged(struct schedule *schedule, struct wall now) {
    char class_byte;

    if (schedule->probe_class == 0) {
        int64_t every_ms = schedule->limits.age_step_ms / 8;

        if (!probes(schedule) || now.ns < schedule->next_probe.ns)
            return false;
        schedule->next_probe =
            wall_add_ms(now, every_ms > 1000 ? every_ms : 1000);
        schedule->probe_class = CLASS_BF;
    }
    class_byte = (char)schedule->probe_class;
    schedule->probe_class =
        schedule->probe_class < CLASS_DC ? schedule->probe_class + 1 : 0;
    ask(schedule, REFILL_PROBE, span_make(&class_byte, 1), INT64_MAX,
        PROBE_READ);
    return true;
}

/* The last one was asked for and never came: the registry could not be read.
 * Nothing is known of what it would have said. */
static void refill_abort(struct schedule *schedule) {
    if (schedule->refill == REFILL_FOLD) {
        schedule->refill_lane->folded = true;
        lane_changed(schedule, schedule->refill_lane);
    }
    schedule->refill = REFILL_NONE;
}

bool schedule_needs_refill(struct schedule *schedule, struct wall now,
                           struct span *ret_after_rank, uint64_t *ret_after_num,
                           size_t *ret_limit) {
    refill_abort(schedule);
    window_tick(schedule, now);
    if (bound_is_low(schedule, now))
        ask(schedule, REFILL_BOUND, text_span(&schedule->bound.rank),
            schedule->bound.num, bound_read(schedule));
    else if (!ask_for_lane(schedule) && !ask_for_aged(schedule, now))
        return false;
    *ret_after_rank = text_span(&schedule->after);
    *ret_after_num = schedule->last.num;
    *ret_limit = schedule->refill_limit;
    return true;
}

static void fold_refilled(struct schedule *schedule, size_t count) {
    struct lane *lane = schedule->refill_lane;

    /* Not all of it was read: the rest begins behind the last row, unless a
     * row in front of that had to be left out. */
    if (count >= schedule->refill_limit && !lane->folded) {
        lane->folded = true;
        position_set(&lane->fold, text_span(&schedule->last.rank),
                     schedule->last.num);
    }
    lane_changed(schedule, lane);
}

void schedule_refilled(struct schedule *schedule, size_t count) {
    enum refill refill = schedule->refill;

    schedule->refill = REFILL_NONE;
    if (refill == REFILL_FOLD)
        fold_refilled(schedule, count);
    if (refill != REFILL_BOUND)
        return;
    if (count < schedule->refill_limit)
        schedule->more = false;
    else
        position_set(&schedule->bound, text_span(&schedule->last.rank),
                     schedule->last.num);
}
