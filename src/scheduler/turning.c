#include "scheduler/turning.h"

#include <stdlib.h>

#include "core/rollback.h"

/* Rollbacks of rollbacks: nobody goes as deep by hand. */
enum { DEPTH_MAX = 100 };

struct turner {
    struct store *store;
    struct turning *turning;
};

void turning_clear(struct turning *turning) {
    map_clear(&turning->by_num);
    arena_clear(&turning->arena);
    *turning = (struct turning){0};
}

static bool look_at(struct turner *turner, uint64_t num, struct turn **ret_turn,
                    struct err *err) {
    struct turning *turning = turner->turning;
    struct span key = span_make(&num, sizeof(num));
    *ret_turn = map_get(&turning->by_num, key);
    if (*ret_turn)
        return true;
    struct turn *turn = arena_alloc(&turning->arena, sizeof(*turn));
    *turn = (struct turn){0};
    if (!store_job(turner->store, num, &turning->arena, &turn->job, err))
        return false;
    turn->was = turn->now = turn->job.rolled_back_by;
    (void)map_put(&turning->by_num, key, turn);
    *ret_turn = turn;
    return true;
}

static int newest_first(const void *a, const void *b) {
    const struct turn *x = *(struct turn *const *)a,
                      *y = *(struct turn *const *)b;
    return (x->job.state_seq < y->job.state_seq) -
           (x->job.state_seq > y->job.state_seq);
}

static int oldest_first(const void *a, const void *b) {
    return newest_first(b, a);
}

static bool turn_all(struct turner *turner, struct turn **turns, size_t count,
                     struct span by, bool in, unsigned depth, struct err *err);

/* The members that the rollback had put out. */
static bool read_members(struct turner *turner, const struct job *rb,
                         struct turn ***ret_turns, size_t *ret_count,
                         struct err *err) {
    struct arena *arena = &turner->turning->arena;
    struct store_rollback plan;
    struct rollback_entry *entries = NULL;
    size_t count = 0;
    bool found;
    *ret_count = 0;
    if (!store_rollback(turner->store, rb->num, arena, &plan, &found, err))
        return false;
    if (found && !rollback_entries_parse(plan.members, arena, &entries, &count))
        return err_set(err, ERR_DATA, "the plan of rollback '%.*s' is damaged",
                       (int)rb->id.len, rb->id.p);
    *ret_turns = arena_alloc(arena, (count + 1) * sizeof(struct turn *));
    for (size_t i = 0; i < count; i++)
        if (entries[i].reverted && !look_at(turner, entries[i].num,
                                            &(*ret_turns)[(*ret_count)++], err))
            return false;
    return true;
}

static bool turn_one(struct turner *turner, struct turn *turn, struct span by,
                     bool in, unsigned depth, struct err *err) {
    struct turn **members = NULL;
    size_t count = 0;
    /* Another has it: that one's affair. */
    if (!span_equal(turn->now, in ? by : SPAN("")))
        return true;
    turn->now = in ? SPAN("") : by;
    turn->at = ++turner->turning->clock;
    if (turn->job.job_class != CLASS_RB || depth == DEPTH_MAX)
        return true;
    return read_members(turner, &turn->job, &members, &count, err) &&
           turn_all(turner, members, count, turn->job.id, !in, depth + 1, err);
}

static bool turn_all(struct turner *turner, struct turn **turns, size_t count,
                     struct span by, bool in, unsigned depth, struct err *err) {
    qsort(turns, count, sizeof(struct turn *),
          in ? oldest_first : newest_first);
    for (size_t i = 0; i < count; i++)
        if (!turn_one(turner, turns[i], by, in, depth, err))
            return false;
    return true;
}

static int compare_at(const void *a, const void *b) {
    const struct turn *x = *(struct turn *const *)a,
                      *y = *(struct turn *const *)b;
    return (x->at > y->at) - (x->at < y->at);
}

static void gather(struct turning *turning) {
    size_t cursor = 0;
    void *value;
    turning->turns =
        arena_alloc(&turning->arena,
                    (map_count(&turning->by_num) + 1) * sizeof(struct turn *));
    while (map_next(&turning->by_num, &cursor, NULL, &value)) {
        struct turn *turn = value;
        if (!span_equal(turn->was, turn->now))
            turning->turns[turning->count++] = turn;
    }
    qsort(turning->turns, turning->count, sizeof(struct turn *), compare_at);
}

bool turning_make(struct store *store, struct span rb_id, const uint64_t *nums,
                  size_t count, struct turning *ret_turning, struct err *err) {
    struct turner turner = {store, ret_turning};
    *ret_turning = (struct turning){0};
    struct turn **turns =
        arena_alloc(&ret_turning->arena, (count + 1) * sizeof(struct turn *));
    for (size_t i = 0; i < count; i++)
        if (!look_at(&turner, nums[i], &turns[i], err))
            return false;
    if (!turn_all(&turner, turns, count, rb_id, false, 0, err))
        return false;
    gather(ret_turning);
    return true;
}

const struct turn *turning_of(const struct turning *turning, uint64_t num) {
    return map_get(&turning->by_num, span_make(&num, sizeof(num)));
}

bool turning_put_out(const struct turning *turning, struct span rb_id,
                     uint64_t num) {
    const struct turn *turn = turning_of(turning, num);
    return turn && turn->was.len == 0 && span_equal(turn->now, rb_id);
}

/* ---- marks --------------------------------------------------------------- */

static const char because_of[] = ", because of ";

void turning_detail(struct span by, struct span because, struct text *out) {
    if (by.len > 0 && !span_equal(by, because)) {
        text_addspan(out, by);
        text_adds(out, because_of);
    }
    text_addspan(out, because);
}

void turning_mark(const struct turning *turning, struct span rb_id,
                  struct store_batch *batch) {
    for (size_t i = 0; i < turning->count; i++) {
        const struct turn *turn = turning->turns[i];
        CLEANUP(text_clear) struct text detail = TEXT_INIT;
        turning_detail(turn->now, rb_id, &detail);
        store_mark(batch, turn->job.num, turn->was, turn->now,
                   text_span(&detail));
    }
}

bool turning_read_event(const struct store_event *event, struct span *ret_by,
                        struct span *ret_because) {
    struct span detail = event->detail;
    if (event->kind != EVENT_ROLLED_BACK)
        return false;
    const char *cut = detail.len > 0 ? memmem(detail.p, detail.len, because_of,
                                              sizeof(because_of) - 1)
                                     : NULL;
    *ret_by = *ret_because = detail;
    if (cut) {
        ret_by->len = (size_t)(cut - detail.p);
        ret_because->p = cut + sizeof(because_of) - 1;
        ret_because->len = detail.len - ret_by->len - (sizeof(because_of) - 1);
    }
    if (!span_is(event->reason, "rolled-back"))
        *ret_by = SPAN("");
    return true;
}
