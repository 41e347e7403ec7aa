#include "core/rollback_queue.h"

#include <stdlib.h>

#include "lib/mem.h"

struct waiting {
    struct list link;
    uint64_t num;
    struct wall not_before;
    size_t rank_bytes, target_bytes;
    char bytes[]; /* the rank, then the target */
};

static const char lane_name[] = "\nrollback";
const struct span rollback_queue_lane = {lane_name, sizeof(lane_name) - 1};

struct span rollback_queue_lane_of(const struct job *job) {
    return job_has(job, JOB_ROLLS_BACK) ? rollback_queue_lane : job->target;
}

void rollback_queue_init(struct rollback_queue *queue) {
    list_init(&queue->waiting);
}

void rollback_queue_clear(struct rollback_queue *queue) {
    struct list *link;
    while ((link = list_pop(&queue->waiting)) != NULL)
        free(LIST_OF(link, struct waiting, link));
}

void rollback_queue_forget(struct rollback_queue *queue, uint64_t num) {
    LIST_EACH (&queue->waiting, link) {
        struct waiting *one = LIST_OF(link, struct waiting, link);
        if (one->num != num)
            continue;
        list_remove(link);
        free(one);
    }
}

static int compare_rank(const struct waiting *a, struct span rank,
                        uint64_t num) {
    int order = span_compare(span_make(a->bytes, a->rank_bytes), rank);
    return order != 0 ? order : (a->num > num) - (a->num < num);
}

void rollback_queue_offer(struct rollback_queue *queue, const struct job *job) {
    struct span rank = job_rank(job);
    struct waiting *one = mem_alloc(sizeof(*one) + rank.len + job->target.len);
    one->num = job->num;
    one->not_before = job->not_before;
    one->rank_bytes = rank.len;
    memcpy(one->bytes, rank.p, rank.len);
    one->target_bytes = job->target.len;
    if (job->target.len > 0)
        memcpy(one->bytes + rank.len, job->target.p, job->target.len);
    rollback_queue_forget(queue, job->num);
    LIST_EACH (&queue->waiting, link) {
        if (compare_rank(LIST_OF(link, struct waiting, link), rank, job->num) <
            0)
            continue;
        list_insert_before(link, &one->link);
        return;
    }
    list_push(&queue->waiting, &one->link);
}

void rollback_queue_set_back(struct rollback_queue *queue, int64_t ms) {
    LIST_EACH (&queue->waiting, link) {
        struct waiting *one = LIST_OF(link, struct waiting, link);
        one->not_before = wall_set_back(one->not_before, ms);
    }
}

/* For loops that only read. */
static struct list *head_of(const struct rollback_queue *queue) {
    return &((struct rollback_queue *)(uintptr_t)queue)->waiting;
}

bool rollback_queue_due_at(const struct rollback_queue *queue, struct wall now,
                           size_t n, uint64_t *ret_num,
                           struct span *ret_target) {
    LIST_EACH (head_of(queue), link) {
        const struct waiting *one = LIST_OF(link, struct waiting, link);
        if (one->not_before.ns > now.ns || n-- > 0)
            continue;
        *ret_num = one->num;
        *ret_target =
            span_make(one->bytes + one->rank_bytes, one->target_bytes);
        return true;
    }
    return false;
}

uint64_t rollback_queue_due(const struct rollback_queue *queue,
                            struct wall now) {
    uint64_t num = 0;
    struct span target;
    (void)rollback_queue_due_at(queue, now, 0, &num, &target);
    return num;
}

struct wall rollback_queue_next(const struct rollback_queue *queue,
                                struct wall now) {
    struct wall next = WALL_NEVER;
    LIST_EACH (head_of(queue), link) {
        const struct waiting *one = LIST_OF(link, struct waiting, link);
        if (one->not_before.ns > now.ns && one->not_before.ns < next.ns)
            next = one->not_before;
    }
    return next;
}
