#include "scheduler/node_attempt.h"

#include <stdlib.h>

struct node_attempt *node_attempt_new(struct node_track *track,
                                      struct span name, struct span site) {
    struct node_attempt *node = mem_alloc(sizeof(*node));
    node->track = track;
    node->name = span_string(name);
    node->site = span_string(site);
    return node;
}

void node_attempt_free(struct node_attempt *node) {
    if (node == NULL)
        return;
    free(node->name);
    free(node->site);
    free(node->place);
    free(node);
}

struct store_task node_attempt_record(const struct node_task *task,
                                      struct span name, uint64_t number) {
    return (struct store_task){
        .node = name,
        .at = number,
        .status = (enum task_status)task->status,
        .attempt = task->attempt,
        .not_before = task->not_before,
        .temps = task->temps,
        .fails = task->fails,
        .crashes = task->crashes,
        .incompletes = task->incompletes,
        .flags = task->flags & NODE_TASK_STORED,
        .begun_s = task->begun_s,
    };
}

struct node_task node_attempt_task(const struct store_task *row) {
    return (struct node_task){
        .not_before = row->not_before,
        .attempt = row->attempt,
        .begun_s = (uint32_t)row->begun_s,
        .temps = (uint16_t)row->temps,
        .fails = (uint16_t)row->fails,
        .crashes = (uint8_t)row->crashes,
        .incompletes = (uint8_t)row->incompletes,
        .status = (uint8_t)row->status,
        .flags = (uint8_t)row->flags,
    };
}
