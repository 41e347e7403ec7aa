/* Operations and reads of schedules, from the owner's side. */
#include "store/schedules.h"

#include <assert.h>

#include "store/backend.h"

static unsigned place(const struct store_batch *batch) {
    return batch->count - 1;
}

unsigned store_schedule_set(struct store_batch *batch,
                            const struct store_schedule *schedule,
                            enum store_schedule_mode mode) {
    struct arena *arena = &batch->arena;
    struct op_schedule *own = arena_alloc(arena, sizeof(*own));
    assert(schedule->name.len > 0 &&
           schedule->name.len <= STORE_SCHEDULE_NAME_BYTES);
    own->schedule = *schedule;
    own->schedule.name = arena_span(arena, schedule->name);
    own->schedule.spec = arena_span(arena, schedule->spec);
    own->schedule.origin = arena_span(arena, schedule->origin);
    own->mode = mode;
    store_batch_add_op(batch, OP_SCHEDULE_SET, 0)->schedule = own;
    return place(batch);
}

unsigned store_schedule_remove(struct store_batch *batch, struct span name) {
    struct op_schedule *own = arena_alloc(&batch->arena, sizeof(*own));
    own->schedule.name = arena_span(&batch->arena, name);
    store_batch_add_op(batch, OP_SCHEDULE_REMOVE, 0)->schedule = own;
    return place(batch);
}

unsigned store_schedule_pause(struct store_batch *batch, struct span name,
                              bool paused, int64_t high_s, int32_t offset_s) {
    struct op_schedule *own = arena_alloc(&batch->arena, sizeof(*own));
    own->schedule.name = arena_span(&batch->arena, name);
    own->schedule.paused = paused;
    own->schedule.high_s = high_s;
    own->schedule.offset_s = offset_s;
    store_batch_add_op(batch, OP_SCHEDULE_PAUSE, 0)->schedule = own;
    return place(batch);
}

unsigned store_schedule_mark(struct store_batch *batch,
                             const struct schedule_mark *mark) {
    struct schedule_mark *own = arena_alloc(&batch->arena, sizeof(*own));
    assert(mark->job == STORE_NO_JOB || mark->job < batch->count);
    *own = *mark;
    own->name = arena_span(&batch->arena, mark->name);
    own->reason = arena_span(&batch->arena, mark->reason);
    own->detail = arena_span(&batch->arena, mark->detail);
    store_batch_add_op(batch, OP_SCHEDULE_MARK, 0)->schedule_mark = own;
    return place(batch);
}

bool store_schedule(struct store *store, struct span name, struct arena *arena,
                    struct store_schedule *ret_schedule, bool *ret_found,
                    struct err *err) {
    return store->backend->schedule(store, name, arena, ret_schedule, ret_found,
                                    err);
}

bool store_schedule_jobs(struct store *store, struct span name,
                         struct arena *arena, struct job **ret_jobs,
                         size_t *ret_count, struct err *err) {
    return store->backend->schedule_jobs(store, name, arena, ret_jobs,
                                         ret_count, err);
}

bool store_schedules(struct store *store, struct span after, size_t limit,
                     struct arena *arena, struct store_schedule **ret_schedules,
                     size_t *ret_count, struct err *err) {
    return store->backend->schedules(store, after, limit, arena, ret_schedules,
                                     ret_count, err);
}
