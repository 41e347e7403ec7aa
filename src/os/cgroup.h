/* cgroup v2 as the guard needs it: each life of a guard has one tree, and tasks
 * are started in the leaves of this tree. A leaf that is empty again is reused
 * for the next task unless it was killed: since Linux 6.13 a process started in
 * a killed leaf may be killed too. A process cannot leave its leaf by setsid or
 * double fork, so killing the leaf kills the task, and an empty leaf proves
 * that no process of the task is left.
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

/* The resources that can be limited in a leaf, if the controller is available.
 */
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

/* Whether a process is in a tree of this base, of whatever life and role, and
 * its cgroup, which is the same for all processes of one task. */
enum cgroup_member {
    CGROUP_OTHER,
    CGROUP_OF_BASE,
    CGROUP_UNREADABLE /* /proc does not show it */
};
enum cgroup_member cgroup_member(pid_t pid, const struct stat *base,
                                 char ret_path[PATH_MAX]);

struct cgroup_leaf {
    struct cgroup_leaf *next; /* in the list of free leaves */
    int dir_fd;
    int events_fd; /* poll for POLLPRI: populated changed */
    unsigned number;
    bool killed;
    bool used;     /* it held another task before */
    bool limited;  /* set by cgroup_leaf_limit: not reused */
    bool frozen;   /* somebody has frozen it: not reused */
    unsigned born; /* tree.kills when the leaf was made */
};

struct cgroup_tree {
    int root_fd; /* -1: no tree */
    int dir_fd;
    struct cgroup_leaf *free;
    unsigned made;
    unsigned controllers; /* available in the leaves */
    unsigned kills; /* kills of the whole tree, each counted twice; atomic */
    char name[256];
    char path[PATH_MAX];
};

/* Removes the trees that earlier lives left under `root` (those of the same
 * base and role, and those of other roles whose guard is gone): kills what is
 * in them and waits up to wait_ms until they are empty. Then makes the tree of
 * this life. ERR_CANNOT, ERR_DENIED: cgroups cannot be used here. ERR_BUSY:
 * processes of an earlier life could not be removed.
 *
 * Controllers are available only if `root` has no processes of its own. If only
 * this process and its parent are there, as in a service to which systemd
 * delegates a cgroup, both move to a leaf beside the tree. */
bool cgroup_tree_open(struct cgroup_tree *tree, const char *root,
                      const struct stat *base, const char *role, int wait_ms,
                      struct err *err);
/* Kills all processes in the tree at once and does not check whether they are
 * gone. Any thread may call it. */
void cgroup_tree_kill(struct cgroup_tree *tree);
/* Waits until the tree is empty and removes it. False: still populated. */
bool cgroup_tree_close(struct cgroup_tree *tree, int wait_ms);

/* Returns an empty leaf, or NULL with errno set if none can be made. */
struct cgroup_leaf *cgroup_leaf_take(struct cgroup_tree *tree);
/* Sets memory.max with memory.oom.group, pids.max or cpu.weight; call it before
 * a process is in the leaf. UINT64_MAX: no limit. False with errno; ENOTSUP: no
 * such controller. */
bool cgroup_leaf_limit(const struct cgroup_tree *tree, struct cgroup_leaf *leaf,
                       enum cgroup_controller what, uint64_t value);
/* Current and past usage of all processes in the leaf. */
struct cgroup_usage {
    uint64_t cpu_us; /* since the leaf was made */
    uint64_t memory_kib, procs;
    uint64_t peak_kib, procs_peak; /* 0: not known, or includes other tasks */
};
void cgroup_leaf_usage(const struct cgroup_tree *tree,
                       const struct cgroup_leaf *leaf,
                       struct cgroup_usage *ret_usage);
/* Returns the leaf, which must be empty, for reuse. */
void cgroup_leaf_give(struct cgroup_tree *tree, struct cgroup_leaf *leaf);
/* Gives the leaf up for good because a process is still in it. */
void cgroup_leaf_drop(struct cgroup_leaf *leaf);
bool cgroup_leaf_populated(struct cgroup_leaf *leaf);
void cgroup_leaf_kill(struct cgroup_leaf *leaf);
/* The processes in the leaf; returns how many of them are in ret_pids. */
size_t cgroup_leaf_pids(const struct cgroup_leaf *leaf, pid_t *ret_pids,
                        size_t most);
/* Signals each process in the leaf; one started meanwhile may be missed. */
void cgroup_leaf_signal(const struct cgroup_leaf *leaf, int signal);

#endif
