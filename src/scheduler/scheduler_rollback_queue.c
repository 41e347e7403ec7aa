/* The queue of waiting rollbacks, most urgent first. They are executed one at a
 * time, independently of slots and lanes. */
#include "scheduler/scheduler_rollback_queue.h"

#include <stdlib.h>

#include "scheduler/scheduler_state.h"

static const char lane_name[] = "\nrollback";
const struct span scheduler_rollback_lane = {lane_name, sizeof(lane_name) - 1};

void scheduler_rollback_forget(struct scheduler *scheduler, uint64_t num) {
    LIST_EACH (&scheduler->rollbacks, link) {
        struct rollback_waiting *one =
            LIST_OF(link, struct rollback_waiting, link);
        if (one->num != num)
            continue;
        list_remove(link);
        free(one);
    }
}

static int compare_rank(const struct rollback_waiting *a, struct span rank,
                        uint64_t num) {
    int order = span_compare(span_make(a->rank, a->rank_bytes), rank);
    return order != 0 ? order : (a->num > num) - (a->num < num);
}

void scheduler_rollback_offer(struct scheduler *scheduler,
                              const struct job *job) {
    struct span rank = job_rank(job);
    struct rollback_waiting *one = mem_alloc(sizeof(*one) + rank.len);
    one->num = job->num;
    one->not_before = job->not_before;
    one->rank_bytes = rank.len;
    memcpy(one->rank, rank.p, rank.len);
    scheduler_rollback_forget(scheduler, job->num);
    LIST_EACH (&scheduler->rollbacks, link) {
        if (compare_rank(LIST_OF(link, struct rollback_waiting, link), rank,
                         job->num) < 0)
            continue;
        list_insert_before(link, &one->link);
        return;
    }
    list_push(&scheduler->rollbacks, &one->link);
}

void scheduler_rollback_queue_clear(struct scheduler *scheduler) {
    while (!list_empty(&scheduler->rollbacks))
        scheduler_rollback_forget(
            scheduler,
            LIST_OF(scheduler->rollbacks.next, struct rollback_waiting, link)
                ->num);
}

struct rollback_waiting *scheduler_rollback_due(struct scheduler *scheduler) {
    LIST_EACH (&scheduler->rollbacks, link) {
        struct rollback_waiting *one =
            LIST_OF(link, struct rollback_waiting, link);
        if (one->not_before.ns <= scheduler->now.ns)
            return one;
    }
    return NULL;
}

struct wall scheduler_rollback_due_next(const struct scheduler *scheduler) {
    struct wall next = WALL_NEVER;
    LIST_EACH (&((struct scheduler *)(uintptr_t)scheduler)->rollbacks, link) {
        const struct rollback_waiting *one =
            LIST_OF(link, struct rollback_waiting, link);
        if (one->not_before.ns > 0 && one->not_before.ns < next.ns)
            next = one->not_before;
    }
    return next;
}
