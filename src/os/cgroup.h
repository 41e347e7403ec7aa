/* cgroup v2 as the guard needs it: one tree a life of a guard, in it leaves
 * that tasks are born into; a leaf that is empty again serves the next task,
 * unless it was killed: Linux since 6.13 may kill whoever is born there later.
 * A process cannot leave its leaf by setsid or double fork, so killing the leaf
 * kills the task, and an empty leaf proves that no process of it is left.
 *
 *     ROOT/pointsman.DEV-INO.ROLE.PID.START/7     DEV-INO of the base,
 *                                                 PID and START of the guard */
#ifndef POINTSMAN_OS_CGROUP_H
#define POINTSMAN_OS_CGROUP_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "lib/err.h"

/* What can be limited in a leaf, if its controller is available. */
enum cgroup_controller {
    CGROUP_MEMORY = 1 << 0,
    CGROUP_PIDS = 1 << 1,
    CGROUP_CPU = 1 << 2
};
/* "memory pids cpu", or "none". */
void cgroup_controllers_format(unsigned controllers, char ret[32]);

/* The cgroup v2 directory this process is in, or was in before cgroup_tree_open
 * made room there. */
bool cgroup_find(char ret_path[PATH_MAX], struct err *err);

struct cgroup_leaf {
    struct cgroup_leaf *next; /* among the free ones */
    int dir_fd;
    int events_fd; /* poll for POLLPRI: populated changed */
    unsigned number;
    bool killed;
    bool used;     /* another task was in it before */
    bool limited;  /* by cgroup_leaf_limit: not for the next task */
    unsigned born; /* value of tree.kills then */
};

struct cgroup_tree {
    int root_fd; /* -1: no tree */
    int dir_fd;
    struct cgroup_leaf *free;
    unsigned made;
    unsigned controllers; /* of leaves */
    unsigned kills;       /* of the whole tree, twice each: atomic */
    char name[256];
    char path[PATH_MAX];
};

/* Removes what former lives left under `root` (any of the same base and role,
 * and of other roles whose guard is gone), killing it first and waiting up to
 * wait_ms until it is empty, then makes the tree of this one.
 * ERR_CANNOT, ERR_DENIED: cgroups cannot be used here. ERR_BUSY: leftovers
 * would not go.
 *
 * Controllers can be had only where `root` has no processes of its own: when
 * only this process and its parent are there, as in a service that systemd
 * delegates a cgroup to, both move to a leaf beside the tree. */
bool cgroup_tree_open(struct cgroup_tree *tree, const char *root,
                      const struct stat *base, const char *role, int wait_ms,
                      struct err *err);
/* Kills everybody in it, at once and without looking whether they are gone. Any
 * thread may call it. */
void cgroup_tree_kill(struct cgroup_tree *tree);
/* Waits until it is empty, removes it. False: still populated. */
bool cgroup_tree_close(struct cgroup_tree *tree, int wait_ms);

/* An empty leaf; NULL with errno set if none can be made. */
struct cgroup_leaf *cgroup_leaf_take(struct cgroup_tree *tree);
/* memory.max with memory.oom.group, pids.max, cpu.weight, before anybody is in
 * it. UINT64_MAX: no limit. False with errno; ENOTSUP: no such controller. */
bool cgroup_leaf_limit(const struct cgroup_tree *tree, struct cgroup_leaf *leaf,
                       enum cgroup_controller what, uint64_t value);
/* What all in it use now, and used. */
struct cgroup_usage {
    uint64_t cpu_us; /* since the leaf was made */
    uint64_t memory_kib, procs;
    uint64_t peak_kib, procs_peak; /* 0: not known, or of others too */
};
void cgroup_leaf_usage(const struct cgroup_tree *tree,
                       const struct cgroup_leaf *leaf,
                       struct cgroup_usage *ret_usage);
/* Back; it must be empty. */
void cgroup_leaf_give(struct cgroup_tree *tree, struct cgroup_leaf *leaf);
/* Never used again (somebody is still in it). */
void cgroup_leaf_drop(struct cgroup_leaf *leaf);
bool cgroup_leaf_populated(const struct cgroup_leaf *leaf);
void cgroup_leaf_kill(struct cgroup_leaf *leaf);
/* To each process in it now; one born meanwhile may miss it. */
void cgroup_leaf_signal(const struct cgroup_leaf *leaf, int signal);

#endif
