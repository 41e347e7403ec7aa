/* Which attempt does a process belong to? */
#include <limits.h>
#include <string.h>
#include <sys/stat.h>

#include "os/cgroup.h"
#include "os/process.h"
#include "worker/worker_inner.h"

struct look {
    pid_t first; /* the guard's child through which the process descends; 0:
                    not known */
    char path[PATH_MAX]; /* its cgroup; empty: without cgroups */
};

static enum worker_place look_at(const struct worker *worker, pid_t pid,
                                 struct look *ret_look) {
    struct stat base;
    enum process_descent descent;
    *ret_look = (struct look){0};
    if (guard_has_cgroup(worker->guard)) {
        if (fstat(worker->options.base_fd, &base) < 0)
            return WORKER_UNREADABLE;
        enum cgroup_member member = cgroup_member(pid, &base, ret_look->path);
        if (member != CGROUP_OF_BASE)
            return member == CGROUP_OTHER ? WORKER_OUTSIDE : WORKER_UNREADABLE;
        if (guard_runs(worker->guard))
            (void)process_descent(pid, guard_pid(worker->guard),
                                  &ret_look->first);
        return WORKER_INSIDE;
    }
    if (!guard_runs(worker->guard))
        return WORKER_UNREADABLE;
    descent = process_descent(pid, guard_pid(worker->guard), &ret_look->first);
    return descent == PROCESS_DESCENDANT  ? WORKER_INSIDE
           : descent == PROCESS_UNRELATED ? WORKER_OUTSIDE
                                          : WORKER_UNREADABLE;
}

/* Without the first process of its attempt, an adopted process is known by its
 * cgroup alone. An attempt whose first process has ended, or is not reported
 * yet, may have any cgroup. */
static bool may_belong(const struct worker *worker,
                       const struct running *running, const struct look *look) {
    struct stat base;
    char path[PATH_MAX];
    if (running->pid < 0)
        return false;
    if (running->pid == 0 || look->path[0] == '\0' ||
        fstat(worker->options.base_fd, &base) < 0)
        return true;
    return cgroup_member(running->pid, &base, path) != CGROUP_OF_BASE ||
           strcmp(path, look->path) == 0;
}

enum worker_place worker_find(const struct worker *worker, pid_t pid,
                              struct arena *arena, uint64_t **ret_nums,
                              size_t *ret_count) {
    struct look look;
    size_t all = map_count(&worker->by_handle);
    *ret_count = 0;
    enum worker_place place = look_at(worker, pid, &look);
    if (place != WORKER_INSIDE)
        return place;
    *ret_nums = arena_alloc(arena, (all + 1) * sizeof(**ret_nums));
    LIST_EACH (&worker->running, link) {
        const struct running *one = LIST_OF(link, struct running, link);
        if (one->pid == look.first && look.first != 0) {
            (*ret_nums)[0] = one->num;
            *ret_count = 1;
            return place;
        }
        if (may_belong(worker, one, &look))
            (*ret_nums)[(*ret_count)++] = one->num;
    }
    return place;
}
