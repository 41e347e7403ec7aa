/* What becomes of a task, a job on a node, when an attempt of it is assigned,
 * ends, or is lost (doc/design/nodes.md, N3 and N4). The verdict on an end is
 * that of core/retry.h. Pure. */
#ifndef POINTSMAN_CORE_NODE_STATUS_H
#define POINTSMAN_CORE_NODE_STATUS_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/time.h"
#include "core/job.h"
#include "core/retry.h"

/* 24 bytes, because there are millions of them. A zeroed one has never
 * started. */
struct node_task {
    struct wall not_before; /* 0: at once */
    uint32_t attempt;       /* attempts begun */
    uint32_t begun_s;       /* its first start on record; 0: none */
    uint16_t temps, fails;  /* as in struct retry_counts */
    uint8_t crashes, incompletes;
    uint8_t status; /* enum task_status */
    uint8_t flags;
};

enum node_task_flag {
    /* Its worker was lost, and may still run it until not_before. */
    NODE_TASK_SAFETY = 1 << 0,
    /* The status is what was assumed when the worker was lost; what the attempt
     * reports itself takes its place. */
    NODE_TASK_ASSUMED = 1 << 1,
    NODE_TASK_STORED = NODE_TASK_SAFETY | NODE_TASK_ASSUMED, /* the rest is
                                                   found again at a start */
    NODE_TASK_WAITS = 1 << 2,   /* for not_before */
    NODE_TASK_BLOCKED = 1 << 3, /* a job that it depends on is not done here */
    /* As it was counted last (node_job.h). */
    NODE_TASK_READY = 1 << 4,
    NODE_TASK_UNDONE = 1 << 5
};

struct node_rules {
    struct retry_limits limits;
    int64_t lost_wait_ms; /* a lost task waits at least this long */
    bool killed_waits;    /* a task that was killed and reported nothing starts
                             again after the current wait, and nothing is
                             counted; false: the job was cancelled */
};

/* True if it neither runs nor has ended for good. */
bool node_task_is_open(const struct node_task *task);

/* The next attempt is assigned. The task must be open. */
void node_task_start(struct node_task *task, struct wall now);

/* The attempt ended. False: another report of the task counts, and nothing
 * changes: it is of another attempt, or the attempt has reported already. Equal
 * seeds draw equal waits. */
bool node_task_end(struct node_task *task, uint32_t attempt,
                   const struct retry_end *end, const struct node_rules *rules,
                   struct wall now, uint64_t seed,
                   struct retry_verdict *ret_verdict);

/* A failed or waiting task may start again and its counts are 0. One whose
 * worker was lost still waits. False: there is nothing to forgive. */
bool node_task_forgive(struct node_task *task);

#endif
