/* A naive scheduler of jobs on nodes: it looks at every job, node, place and
 * worker for each start, and keeps nothing but what it was told. The real one
 * (core/node_pass.h) has to start the same tasks.
 *
 * Nodes are numbers here; 0 is the root. A link puts a node below another one;
 * a node has a place for each way from it to the root. */
#ifndef POINTSMAN_TESTS_SIM_NODE_MODEL_H
#define POINTSMAN_TESTS_SIM_NODE_MODEL_H

#include "core/node_pass.h"

enum {
    LEVELS = 5,
    NODES = 48,
    LINKS = 160,
    JOBS = 14,
    OWN = 12, /* nodes of its own, at most */
    WORKERS = 6,
    ACCOUNTS = 4,
    RUNS = 600,
    RESOURCES = 2,
    LIST = 6 /* names, tags, waits and relations of a definition, at most */
};

struct model_task {
    enum task_status status;
    unsigned attempt, temps, fails, crashes, incompletes;
    int64_t begun_s;
    struct wall not_before;
    bool safety, assumed;
};

struct model_node {
    char name[16];
    unsigned level;
    bool known; /* has a place, or is held by a run */
    unsigned order;
    int64_t limits[RESOURCES];
};

struct model_link {
    unsigned node, parent;
    bool enabled;
    char tags[16];
};

struct model_job {
    bool used;
    struct node_job_spec spec;
    /* Memory of the definition. */
    struct span lists[LEVELS][3][LIST];
    char texts[LEVELS][3][LIST][16];
    struct pattern *patterns[LEVELS + 1][2];
    uint64_t relations[2][LIST];
    uint32_t waits[LIST];
    struct model_task tasks[NODES]; /* by node, or number of an own node */
    unsigned account;
    double turn;
    uint64_t draws;
    struct node_pass_job *real;
};

struct model_worker {
    char host[16];
    bool takes_tasks;
    int64_t limits[RESOURCES];
};

struct model_account {
    char name[8];
    bool appeared;
    unsigned number, weight, limit;
    double turn;
    double share_turn[JOB_CLASSES];
};

struct model_run {
    bool used, killed;
    int job; /* -1: it is gone */
    unsigned row, attempt, account, worker;
    unsigned path[LEVELS], path_count;
    struct node_demand demand;
    struct wall orphan_since;
    struct node_run *real;
};

struct model {
    enum node_policy policy;
    enum node_selector selector;
    uint64_t seed;
    int64_t kill_orphans_after_ms;
    unsigned level_count;
    struct node_level levels[LEVELS];
    unsigned worker_resources;
    uint32_t worker_weights[RESOURCES];
    struct model_node nodes[NODES];
    unsigned node_count, next_order;
    struct model_link links[LINKS];
    unsigned link_count;
    struct model_job jobs[JOBS];
    struct model_worker workers[WORKERS];
    unsigned worker_count, worker_turn;
    struct model_account accounts[ACCOUNTS];
    unsigned account_count; /* that have appeared */
    double turn;
    struct model_run runs[RUNS];
    struct wall now;
};

struct model_pick {
    int job; /* -1: nothing can start */
    unsigned row, worker;
};

/* ---- nodes --------------------------------------------------------------- */

bool model_has_place(const struct model *model, unsigned node);
/* The link, or NULL. */
struct model_link *model_link_find(struct model *model, unsigned node,
                                   unsigned parent);
void model_link_drop(struct model *model, unsigned node, unsigned parent);
/* After each change of links or runs: nodes appear and go. */
void model_review_nodes(struct model *model);
int64_t model_node_left(const struct model *model, unsigned node,
                        unsigned resource);
int64_t model_worker_left(const struct model *model, unsigned worker,
                          unsigned resource);

/* ---- starts -------------------------------------------------------------- */

struct model_pick model_pick(struct model *model);
/* True if the task could start at the place with that path, from the node to
 * the root, as far as nodes are concerned. */
bool model_place_is_open(const struct model *model, const struct model_job *job,
                         const unsigned *path, unsigned count);
/* The task starts there. */
struct model_run *model_start(struct model *model,
                              const struct model_pick *pick,
                              const unsigned *path, unsigned count);
/* Turns of a job that joins, or changes class, priority or account. */
void model_join(struct model *model, struct model_job *job, bool is_new);
void model_appear(struct model *model, unsigned account);

/* What node_count ready, undone count. */
unsigned model_count(const struct model *model, const struct model_job *job,
                     bool ready);

/* ---- ends ---------------------------------------------------------------- */

enum model_end {
    END_DONE,
    END_REPORTED_DONE,
    END_INCOMPLETE,
    END_INCOMPLETE_BACKOFF,
    END_BACKOFF,
    END_FAILED,
    END_UNREADABLE,
    END_EXIT,
    END_SIGNAL,
    END_TIMEOUT,
    END_TEMPORARY,
    END_PERMANENT,
    END_CRASHED,
    END_NOT_NOW,
    END_LOST,
    END_WITHDRAWN,
    END_RECOVERED,
    END_KILLED,
    MODEL_ENDS
};
struct retry_end model_retry_end(enum model_end end);
/* `drawn`: the real not_before, taken where it is drawn by chance; it must be
 * within the bounds. False: the report changes nothing. */
bool model_end(struct model *model, struct model_job *job, unsigned row,
               unsigned attempt, enum model_end end, struct wall drawn);
bool model_forgive(struct model_task *task);

/* True if the run's node or job is gone or disabled. */
bool model_is_orphan(const struct model *model, const struct model_run *run);

#endif
