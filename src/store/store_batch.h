/* A batch from the inside: the requested operations, in order, each with its
 * result, and the events they wrote. The owner fills it; from store_submit
 * to its completion only the backend touches it. */
#ifndef POINTSMAN_STORE_STORE_BATCH_H
#define POINTSMAN_STORE_STORE_BATCH_H

#include "lib/list.h"
#include "store/noun.h"

enum op_kind {
    OP_ADMIT,
    OP_RESTORE_JOB,
    OP_MOVE,
    OP_RECORD,
    OP_SPLICE,
    OP_RANK,
    OP_HOLD,
    OP_RELEASE,
    OP_MARK,
    OP_OWE,
    OP_LIMIT,
    OP_PLAN,
    OP_ASK_CANCEL,
    OP_PROJECTED,
    OP_DUE,
    OP_SET_BACK,
    OP_AT_ONCE,
    OP_NOTE,
    OP_RESTORE_EVENT,
    OP_SET,
    OP_ASSIGN,
    OP_END,
    OP_UNASSIGN,
    OP_TASK_SET,
    OP_TASK_RECORD,
    OP_SYNC_FIRST,
    OP_LEASE,
    OP_NOUN
};

struct op_who {
    struct wall now;
    struct span actor, from;
};

struct op_admit {
    struct job job;
    struct job_edge *edges;
    size_t edge_count;
    struct job_touch *touches;
    size_t touch_count;
    struct span *nodes;
    size_t node_count;
    bool nodes_differ; /* no name twice */
};

struct op_record {
    struct span *ids;
    size_t count;
};

struct op_hold {
    enum job_hold hold;
    struct span reason;
};

struct op_at_once {
    struct span reason, detail;
};

struct op_mark {
    struct span was, rolled_back_by, because, detail;
};

struct op_owe {
    struct wall owed;
    struct span reason, detail;
};

struct op_limit {
    unsigned max_running;
    struct span detail;
};

struct op_setting {
    struct span name, value; /* value.p NULL: remove */
    struct span usual;
};

struct op_task {
    struct span node;
    unsigned attempt;
    enum task_status status;
    struct wall not_before;
};

struct op_noun {
    store_operate *operate;
    void *args;
};

struct op_lease {
    struct span name, holder;
    int64_t term_ms;
};

struct op_cancel {
    bool kill;
    struct span detail;
};

struct op_sync {
    int fd;
    bool filesystem;
};

struct op {
    enum op_kind kind;
    enum store_result result;
    uint64_t num; /* of the job it is about; given by the registry for ADMIT */
    uint64_t seq; /* of the event it wrote, if any */
    const struct op_who *who;
    union {
        struct op_admit *admit;
        struct store_move *move;
        struct op_record record;
        struct span rank;
        struct op_hold hold;
        struct op_at_once at_once;
        struct op_mark *mark;
        struct op_owe *owe;
        struct op_limit limit;
        struct store_rollback *plan;
        uint64_t state_seq;
        int64_t set_back_ms;
        struct op_cancel cancel;
        struct store_event *event;
        struct op_setting setting;
        struct store_attempt *attempt;
        struct op_task task;
        struct store_task *task_record;
        struct op_lease *lease;
        struct op_noun noun;
        struct op_sync sync;
    };
};

struct store_batch {
    struct list link; /* among those under way */
    struct store *store;
    struct arena arena;
    const struct op_who *who;
    struct op *ops;
    unsigned count, cap;
    unsigned sync_count; /* operations of kind OP_SYNC_FIRST */
    bool atomic;
    store_done *done;
    void *ctx;
    /* The answer. */
    bool ok, unsynced;
    struct err err;
    struct store_event *events;
    size_t event_count, event_cap;
};

/* Adds an operation, zeroed but for kind, who and num. */
struct op *store_batch_add_op(struct store_batch *batch, enum op_kind kind,
                              uint64_t num);
/* Adds a copy of the event; its spans are not copied. Returns its place,
 * valid until the next one is added. */
struct store_event *store_batch_event(struct store_batch *batch,
                                      const struct store_event *event);
/* Resets the batch as if it had never been tried. */
void store_batch_forget(struct store_batch *batch);

#endif
