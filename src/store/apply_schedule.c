/* What the operations on schedules do to their rows, for every backend. */
#include "store/apply.h"

#include <assert.h>

static bool tell(struct apply *apply, struct op *op, struct span name,
                 struct span reason, struct span detail, struct err *err) {
    struct store_event event = {
        .kind = EVENT_SCHEDULE,
        .id = name,
        .from = STATE_NONE,
        .to = STATE_NONE,
        .reason = reason,
        .detail = detail,
    };
    return apply_event(apply, op, NULL, event, err);
}

static bool find(struct apply *apply, struct op *op, struct span name,
                 struct store_schedule *ret_schedule, bool *ret_found,
                 struct err *err) {
    if (!apply->ops->schedule_get(apply->rows, name, &apply->batch->arena,
                                  ret_schedule, ret_found, err))
        return false;
    if (!*ret_found)
        op->result = STORE_UNKNOWN;
    return true;
}

/* Instants that were dealt with come again: they are another round's. */
static void begin_at(struct store_schedule *row, int64_t high_s,
                     int32_t offset_s) {
    if (high_s < row->high_s)
        row->round++;
    row->high_s = high_s;
    row->offset_s = offset_s;
}

/* The new definition over what is remembered of the old one. */
static struct store_schedule merge(const struct store_schedule *old,
                                   const struct op_schedule *want) {
    struct store_schedule merged = *old;
    merged.spec = want->schedule.spec;
    merged.origin = want->schedule.origin;
    merged.uid = want->schedule.uid;
    if (want->mode == SCHEDULE_RENEW)
        begin_at(&merged, want->schedule.high_s, want->schedule.offset_s);
    return merged;
}

static bool apply_set(struct apply *apply, struct op *op, struct err *err) {
    const struct op_schedule *want = op->schedule;
    struct store_schedule row, next = want->schedule;
    bool found;
    if (!find(apply, op, next.name, &row, &found, err))
        return false;
    if (found && span_equal(row.spec, next.spec) &&
        span_equal(row.origin, next.origin) && row.uid == next.uid) {
        op->result = STORE_SAME;
        return true;
    }
    if (found && want->mode == SCHEDULE_ADD) {
        op->result = STORE_DUPLICATE;
        return true;
    }
    op->result = STORE_DONE;
    if (found)
        next = merge(&row, want);
    next.serial = apply->head.seq + 1;
    return apply->ops->schedule_put(apply->rows, &next, err) &&
           tell(apply, op, next.name, found ? SPAN("changed") : SPAN("added"),
                next.spec, err);
}

static bool apply_remove(struct apply *apply, struct op *op, struct err *err) {
    struct span name = op->schedule->schedule.name;
    struct store_schedule row;
    bool found;
    if (!find(apply, op, name, &row, &found, err))
        return false;
    return !found || (apply->ops->schedule_remove(apply->rows, name, err) &&
                      tell(apply, op, name, SPAN("removed"), SPAN(""), err));
}

static bool apply_pause(struct apply *apply, struct op *op, struct err *err) {
    const struct store_schedule *want = &op->schedule->schedule;
    struct store_schedule row;
    bool found;
    if (!find(apply, op, want->name, &row, &found, err))
        return false;
    if (!found)
        return true;
    if (row.paused == want->paused) {
        op->result = STORE_SAME;
        return true;
    }
    row.paused = want->paused;
    if (!want->paused)
        begin_at(&row, want->high_s, want->offset_s);
    return apply->ops->schedule_put(apply->rows, &row, err) &&
           tell(apply, op, want->name,
                row.paused ? SPAN("paused") : SPAN("resumed"), SPAN(""), err);
}

static void remember_job(struct store_schedule *row, uint64_t num) {
    if (row->recent_count == STORE_RECENT) {
        memmove(row->recent, row->recent + 1,
                (STORE_RECENT - 1) * sizeof(row->recent[0]));
        row->recent_count--;
    }
    row->recent[row->recent_count++] = num;
    row->fired++;
}

static bool move_on(struct apply *apply, struct op *op, struct err *err) {
    const struct schedule_mark *mark = op->schedule_mark;
    struct store_schedule row;
    bool found;
    if (!find(apply, op, mark->name, &row, &found, err))
        return false;
    if (!found)
        return true;
    if (mark->moves && (row.paused || row.serial != mark->serial ||
                        row.high_s != mark->from_s)) {
        op->result = STORE_CONFLICT;
        return true;
    }
    if (mark->moves) {
        row.high_s = mark->high_s;
        row.offset_s = mark->offset_s;
        row.round = mark->round;
    }
    row.missed += mark->missed;
    if (mark->job != STORE_NO_JOB &&
        apply->batch->ops[mark->job].result == STORE_DONE) {
        uint64_t num = apply->batch->ops[mark->job].num;
        remember_job(&row, num);
        if (!apply->ops->schedule_job_put(apply->rows, row.name, num, err))
            return false;
    }
    if (!apply->ops->schedule_put(apply->rows, &row, err))
        return false;
    return mark->reason.len == 0 ||
           tell(apply, op, mark->name, mark->reason, mark->detail, err);
}

bool apply_schedule(struct apply *apply, struct op *op, struct err *err) {
    if (op->kind == OP_SCHEDULE_SET)
        return apply_set(apply, op, err);
    if (op->kind == OP_SCHEDULE_REMOVE)
        return apply_remove(apply, op, err);
    if (op->kind == OP_SCHEDULE_PAUSE)
        return apply_pause(apply, op, err);
    assert(op->kind == OP_SCHEDULE_MARK);
    return move_on(apply, op, err);
}
