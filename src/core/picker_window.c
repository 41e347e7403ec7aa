#include "core/picker_inner.h"

#include <stdlib.h>

/* The ready jobs held here: all up to the bound, but for a target with lanes
 * only the best, up to its fold. Jobs that are turned away are found again by
 * a refill from the bound, from the fold, or (O15) from the head of their
 * class. */

enum {
    LANE_KEEP = 64,   /* jobs of a target with lanes kept in the window */
    FOLD_READ = 64,   /* rows read when such a target runs low */
    PROBE_READ = 64,  /* rows read per class in search of aged ones */
    BOUND_READ = 256, /* rows read beyond the bound in one go */
    LOOK_MS = 50      /* between two searches beyond busy lanes */
};

/* ---- comparing ---------------------------------------------------------- */

static int compare_places(struct span a_rank, uint64_t a_num,
                          struct span b_rank, uint64_t b_num) {
    int order = span_compare(a_rank, b_rank);

    return order != 0 ? order : (a_num > b_num) - (a_num < b_num);
}

static struct span entry_rank(const struct picker_entry *entry) {
    return span_make(entry->rank, entry->rank_bytes);
}

static int compare_entries(const void *a, const void *b) {
    const struct picker_entry *x = a, *y = b;

    return compare_places(entry_rank(x), x->num, entry_rank(y), y->num);
}

static int compare_worst(const void *a, const void *b) {
    return compare_entries(b, a);
}

static int compare_due(const void *a, const void *b) {
    const struct picker_entry *x = a, *y = b;
    int order = (x->due.ns > y->due.ns) - (x->due.ns < y->due.ns);

    return order != 0 ? order : compare_entries(a, b);
}

static int compare_lanes(const void *a, const void *b) {
    const struct picker_lane *x = a, *y = b;

    return compare_entries(heap_first(&x->ready), heap_first(&y->ready));
}

static void position_set(struct picker_position *position, struct span rank,
                         uint64_t num) {
    text_reset(&position->rank);
    text_addspan(&position->rank, rank);
    position->num = num;
}

/* A position just in front of an entry: reading from there finds it again. */
static void position_before(struct picker_position *position,
                            const struct picker_entry *entry) {
    position_set(position, entry_rank(entry),
                 entry->num > 0 ? entry->num - 1 : 0);
}

static bool entry_is_beyond(const struct picker_entry *entry,
                            const struct picker_position *position) {
    return compare_places(entry_rank(entry), entry->num,
                          text_span(&position->rank), position->num) > 0;
}

/* ---- life --------------------------------------------------------------- */

void picker_window_init(struct picker *picker) {
    heap_init(&picker->open, offsetof(struct picker_lane, in_open),
              compare_lanes);
    heap_init(&picker->worst, offsetof(struct picker_entry, in_worst),
              compare_worst);
    heap_init(&picker->later, offsetof(struct picker_entry, in_later),
              compare_due);
    heap_init(&picker->ageing, offsetof(struct picker_entry, in_ageing),
              compare_due);
    list_init(&picker->hungry);
    list_init(&picker->paused);
    list_init(&picker->yielding);
    picker->more = true;
}

static void entry_free(struct picker_entry *entry) {
    free(entry->rank);
    free(entry);
}

void picker_window_clear(struct picker *picker) {
    size_t at = 0;
    void *value;

    while (map_next(&picker->entries, &at, NULL, &value))
        entry_free(value);
    map_clear(&picker->entries);
    heap_clear(&picker->open);
    heap_clear(&picker->worst);
    heap_clear(&picker->later);
    heap_clear(&picker->ageing);
    text_clear(&picker->bound.rank);
    text_clear(&picker->last.rank);
    text_clear(&picker->after);
}

struct picker_lane *picker_lane_new(unsigned limit) {
    struct picker_lane *lane = mem_alloc(sizeof(*lane));

    lane->limit = limit;
    heap_init(&lane->ready, offsetof(struct picker_entry, in_lane),
              compare_entries);
    list_init(&lane->assigned);
    list_init(&lane->hungry);
    list_init(&lane->in_paused);
    list_init(&lane->in_yielding);
    return lane;
}

void picker_lane_free(struct picker_lane *lane) {
    heap_clear(&lane->ready);
    text_clear(&lane->fold.rank);
    free(lane);
}

/* ---- lanes -------------------------------------------------------------- */

static size_t lane_keep(const struct picker_lane *lane) {
    return lane->limit > LANE_KEEP / 4 ? 4 * (size_t)lane->limit : LANE_KEEP;
}

bool picker_lane_is_low(const struct picker_lane *lane) {
    return lane->folded && lane->ready.count <= lane_keep(lane) / 4;
}

static void lane_fold(struct picker_lane *lane,
                      const struct picker_entry *entry) {
    if (!lane->folded || !entry_is_beyond(entry, &lane->fold))
        position_before(&lane->fold, entry);
    lane->folded = true;
}

/* ---- entries ------------------------------------------------------------ */

/* Takes the entry out of the window; the caller calls picker_lane_changed. */
static void entry_take_out(struct picker *picker, struct picker_entry *entry) {
    struct picker_lane *lane = entry->lane;

    if (heap_has(&picker->worst, entry)) {
        /* The lane's place in `open` depends on its first job. */
        heap_remove(&picker->open, lane);
        heap_remove(&lane->ready, entry);
        heap_remove(&picker->worst, entry);
        heap_remove(&picker->ageing, entry);
    } else {
        heap_remove(&picker->later, entry);
    }
}

void picker_entry_drop(struct picker *picker, struct picker_entry *entry) {
    struct picker_lane *lane = entry->lane;

    entry_take_out(picker, entry);
    picker_lane_changed(picker, lane);
    map_remove(&picker->entries, map_num_key(&entry->num));
    entry_free(entry);
}

/* O15. Sets its class as aged by `now`, and the time of its next ageing
 * step. */
static void entry_age(struct picker *picker, struct picker_entry *entry,
                      struct wall now) {
    int64_t step_ms = picker->limits.age_step_ms, gained;

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

static struct picker_entry *entry_new(struct picker *picker,
                                      const struct picker_job *job) {
    struct picker_entry *entry = mem_alloc(sizeof(*entry));

    entry->num = job->num;
    entry->lane = picker_lane_find(picker, job->target);
    entry->rank = mem_copy(job->rank.p, job->rank.len);
    entry->rank_bytes = job->rank.len;
    entry->class_byte = (unsigned char)entry->rank[0];
    if (job->job_class > CLASS_EM && job->job_class < JOB_CLASSES)
        entry->gain_max = job->job_class - CLASS_EM;
    if (entry->gain_max > entry->class_byte)
        entry->gain_max = entry->class_byte;
    entry->admitted = job->admitted;
    entry->due = WALL_NEVER;
    entry->begins = job->begins;
    return entry;
}

/* Keeps only the best jobs of a lane, so that it does not crowd out the
 * others. */
static void lane_trim(struct picker *picker, struct picker_lane *lane,
                      size_t keep) {
    struct picker_entry *last = NULL;

    if (lane->limit == 0 || lane->ready.count <= keep)
        return;
    for (size_t i = 0; i < lane->ready.count; i++) {
        struct picker_entry *entry = lane->ready.items[i];
        if (last == NULL || compare_entries(entry, last) > 0)
            last = entry;
    }
    lane_fold(lane, last);
    picker_entry_drop(picker, last);
}

static void window_trim(struct picker *picker) {
    struct picker_entry *last;

    if (picker->worst.count <= picker->limits.window_max)
        return;
    last = heap_first(&picker->worst);
    position_before(&picker->bound, last);
    picker->more = true;
    picker_entry_drop(picker, last);
}

static void entry_put_in(struct picker *picker, struct picker_entry *entry) {
    struct picker_lane *lane = entry->lane;

    heap_remove(&picker->open, lane);
    heap_push(&lane->ready, entry);
    heap_push(&picker->worst, entry);
    if (entry->due.ns != WALL_NEVER.ns)
        heap_push(&picker->ageing, entry);
    picker_lane_changed(picker, lane);
    lane_trim(picker, lane, lane_keep(lane));
    window_trim(picker);
}

/* True if the entry is left to the registry for now. */
static bool is_left_to_registry(const struct picker *picker,
                                struct picker_entry *entry) {
    struct picker_lane *lane = entry->lane;

    if (lane->folded && entry_is_beyond(entry, &lane->fold))
        return true;
    return picker->more && picker->refill != REFILL_BOUND &&
           entry_is_beyond(entry, &picker->bound);
}

/* The entry is in picker->entries and in no heap. */
static void entry_queue(struct picker *picker, struct picker_entry *entry,
                        struct wall not_before, struct wall now) {
    if (not_before.ns > now.ns) {
        entry->due = not_before;
        heap_push(&picker->later, entry);
        return;
    }
    entry->due = WALL_NEVER;
    entry_age(picker, entry, now);
    if (is_left_to_registry(picker, entry)) {
        map_remove(&picker->entries, map_num_key(&entry->num));
        entry_free(entry);
        return;
    }
    entry_put_in(picker, entry);
}

void picker_offer(struct picker *picker, const struct picker_job *job,
                  struct wall now) {
    struct picker_entry *entry;

    if (map_get(&picker->assigned, map_num_key(&job->num)) != NULL)
        return;
    picker_forget(picker, job->num);
    entry = entry_new(picker, job);
    map_put(&picker->entries, map_num_key(&entry->num), entry);
    entry_queue(picker, entry, job->not_before, now);
}

void picker_forget(struct picker *picker, uint64_t num) {
    struct picker_entry *entry = map_get(&picker->entries, map_num_key(&num));

    if (entry != NULL)
        picker_entry_drop(picker, entry);
}

void picker_restart(struct picker *picker) {
    size_t at = 0;
    void *value;

    while (map_next(&picker->lanes, &at, NULL, &value))
        ((struct picker_lane *)value)->folded = false;
    while (heap_first(&picker->worst) != NULL)
        picker_entry_drop(picker, heap_first(&picker->worst));
    position_set(&picker->bound, SPAN(""), 0);
    picker->more = true;
}

/* ---- time --------------------------------------------------------------- */

static void lanes_resume(struct picker *picker, struct wall now) {
    LIST_EACH (&picker->paused, link) {
        struct picker_lane *lane = LIST_OF(link, struct picker_lane, in_paused);
        if (lane->paused_until.ns > now.ns)
            continue;
        list_remove(&lane->in_paused);
        lane->paused_until = (struct wall){0};
        picker_lane_changed(picker, lane);
    }
}

struct dated {
    struct picker_entry *entry;
    struct wall due;
};

/* Takes those that stay where they are out of their heap. */
static struct dated *dated_take(struct picker *picker, size_t *ret_count) {
    struct dated *dated =
        mem_alloc((map_count(&picker->entries) + 1) * sizeof(*dated));
    size_t at = 0;
    void *value;

    *ret_count = 0;
    while (map_next(&picker->entries, &at, NULL, &value)) {
        struct picker_entry *entry = value;
        if (!entry->begins || !heap_has(&picker->later, entry))
            continue;
        dated[(*ret_count)++] = (struct dated){entry, entry->due};
        heap_remove(&picker->later, entry);
    }
    return dated;
}

/* The others move by the same time, so the heaps stay sorted. */
void picker_set_back(struct picker *picker, int64_t ms) {
    size_t at = 0, count;
    struct dated *dated = dated_take(picker, &count);
    void *value;

    while (map_next(&picker->entries, &at, NULL, &value)) {
        struct picker_entry *entry = value;

        entry->admitted = wall_set_back(entry->admitted, ms);
        entry->due = wall_set_back(entry->due, ms);
    }
    for (size_t i = 0; i < count; i++) {
        dated[i].entry->due = dated[i].due;
        heap_push(&picker->later, dated[i].entry);
    }
    free(dated);
    LIST_EACH (&picker->paused, link) {
        struct picker_lane *lane = LIST_OF(link, struct picker_lane, in_paused);

        lane->paused_until = wall_set_back(lane->paused_until, ms);
    }
    picker->next_probe = wall_set_back(picker->next_probe, ms);
    picker->next_look = wall_set_back(picker->next_look, ms);
}

void picker_window_tick(struct picker *picker, struct wall now) {
    struct picker_entry *entry;

    lanes_resume(picker, now);
    while ((entry = heap_first(&picker->later)) != NULL &&
           entry->due.ns <= now.ns) {
        heap_pop(&picker->later);
        entry_queue(picker, entry, (struct wall){0}, now);
    }
    while ((entry = heap_first(&picker->ageing)) != NULL &&
           entry->due.ns <= now.ns) {
        entry_take_out(picker, entry);
        entry_age(picker, entry, now);
        entry_put_in(picker, entry);
    }
}

static bool probes(const struct picker *picker) {
    return picker->limits.age_step_ms > 0 && picker->more;
}

static bool may_search_beyond(const struct picker *picker) {
    return picker->more && picker->open.count == 0 && picker_room(picker) > 0;
}

struct wall picker_next_time(const struct picker *picker) {
    const struct picker_entry *later = heap_first(&picker->later),
                              *ageing = heap_first(&picker->ageing);
    struct wall next = WALL_NEVER;

    if (later != NULL)
        next = later->due;
    LIST_EACH (&((struct picker *)(uintptr_t)picker)->paused, link) {
        const struct picker_lane *lane =
            LIST_OF(link, struct picker_lane, in_paused);
        if (lane->paused_until.ns < next.ns)
            next = lane->paused_until;
    }
    if (ageing != NULL && ageing->due.ns < next.ns)
        next = ageing->due;
    if (probes(picker) && picker->next_probe.ns < next.ns)
        next = picker->next_probe;
    if (may_search_beyond(picker) && picker->next_look.ns < next.ns)
        next = picker->next_look;
    return next;
}

/* ---- refilling ---------------------------------------------------------- */

static void ask(struct picker *picker, enum picker_refill refill,
                struct span rank, uint64_t num, size_t limit) {
    picker->refill = refill;
    picker->refill_limit = limit;
    text_reset(&picker->after);
    text_addspan(&picker->after, rank);
    position_set(&picker->last, rank, num);
}

/* The window is full of jobs whose lanes are busy: one of each is enough. */
static void lanes_shrink(struct picker *picker) {
    size_t at = 0;
    void *value;

    while (map_next(&picker->lanes, &at, NULL, &value)) {
        struct picker_lane *lane = value;

        while (picker_lane_is_full(lane) && lane->ready.count > 1)
            lane_trim(picker, lane, 1);
    }
}

/* Nothing can be started although there is room: somewhere beyond the bound
 * there may be a job whose lane is free. Searches in steps, so that a long
 * backlog of one busy target does not delay other work. */
static bool search_beyond(struct picker *picker, struct wall now) {
    if (!may_search_beyond(picker) || now.ns < picker->next_look.ns)
        return false;
    picker->next_look = wall_add_ms(now, LOOK_MS);
    if (picker->worst.count >= picker->limits.window_max)
        lanes_shrink(picker);
    return picker->worst.count < picker->limits.window_max;
}

static bool bound_is_low(struct picker *picker, struct wall now) {
    size_t max = picker->limits.window_max, count = picker->worst.count;

    if (!picker->more)
        return false;
    if (count <= max / 4)
        return true;
    return search_beyond(picker, now);
}

/* Keep this short: the next start waits for it. */
static size_t bound_read(const struct picker *picker) {
    size_t room = picker->limits.window_max - picker->worst.count;

    return room < BOUND_READ ? room : BOUND_READ;
}

static bool ask_for_lane(struct picker *picker) {
    while (!list_empty(&picker->hungry)) {
        struct picker_lane *lane =
            LIST_OF(list_pop(&picker->hungry), struct picker_lane, hungry);

        if (!picker_lane_is_low(lane))
            continue;
        lane->folded = false;
        /* Beyond the bound, refills are not the task of this lane. */
        if (picker->more &&
            compare_places(text_span(&lane->fold.rank), lane->fold.num,
                           text_span(&picker->bound.rank),
                           picker->bound.num) >= 0)
            continue;
        picker->refill_lane = lane;
        ask(picker, REFILL_FOLD, text_span(&lane->fold.rank), lane->fold.num,
            FOLD_READ);
        return true;
    }
    return false;
}

/* In every key, the first byte is the number of the class. */
static bool ask_for_aged(struct picker *picker, struct wall now) {
    char class_byte;

    if (picker->probe_class == 0) {
        int64_t every_ms = picker->limits.age_step_ms / 8;

        if (!probes(picker) || now.ns < picker->next_probe.ns)
            return false;
        picker->next_probe =
            wall_add_ms(now, every_ms > 1000 ? every_ms : 1000);
        picker->probe_class = CLASS_BF;
    }
    class_byte = (char)picker->probe_class;
    picker->probe_class =
        picker->probe_class < CLASS_DC ? picker->probe_class + 1 : 0;
    ask(picker, REFILL_PROBE, span_make(&class_byte, 1), INT64_MAX, PROBE_READ);
    return true;
}

/* The last refill was requested but never arrived: the registry could not be
 * read. Nothing is known of its result. */
static void refill_abort(struct picker *picker) {
    if (picker->refill == REFILL_FOLD) {
        picker->refill_lane->folded = true;
        picker_lane_changed(picker, picker->refill_lane);
    }
    picker->refill = REFILL_NONE;
}

bool picker_needs_refill(struct picker *picker, struct wall now,
                         struct span *ret_after_rank, uint64_t *ret_after_num,
                         size_t *ret_limit) {
    refill_abort(picker);
    picker_window_tick(picker, now);
    if (bound_is_low(picker, now))
        ask(picker, REFILL_BOUND, text_span(&picker->bound.rank),
            picker->bound.num, bound_read(picker));
    else if (!ask_for_lane(picker) && !ask_for_aged(picker, now))
        return false;
    *ret_after_rank = text_span(&picker->after);
    *ret_after_num = picker->last.num;
    *ret_limit = picker->refill_limit;
    return true;
}

static void fold_refilled(struct picker *picker, size_t count) {
    struct picker_lane *lane = picker->refill_lane;

    /* Not all of it was read: the rest begins behind the last row, unless a row
     * in front of that had to be skipped. */
    if (count >= picker->refill_limit && !lane->folded) {
        lane->folded = true;
        position_set(&lane->fold, text_span(&picker->last.rank),
                     picker->last.num);
    }
    picker_lane_changed(picker, lane);
}

/* Rows that were not offered count as read too: there may be any number of them
 * in a row. */
void picker_refilled(struct picker *picker, size_t count, struct span last_rank,
                     uint64_t last_num) {
    enum picker_refill refill = picker->refill;

    if (count > 0)
        position_set(&picker->last, last_rank, last_num);
    picker->refill = REFILL_NONE;
    if (refill == REFILL_FOLD)
        fold_refilled(picker, count);
    if (refill != REFILL_BOUND)
        return;
    if (count < picker->refill_limit)
        picker->more = false;
    else
        position_set(&picker->bound, text_span(&picker->last.rank),
                     picker->last.num);
}
