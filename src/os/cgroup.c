#include "os/cgroup.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "lib/text.h"
#include "lib/time.h"
#include "os/clock.h"
#include "os/process.h"

/* The leaf for the processes that were in the root. */
#define ROOM "pointsman-service"

enum { DEPTH_MAX = 32, MEMBERS_MAX = 1024, USAGE_PIDS = 256 };

static bool write_at(int dir_fd, const char *name, const char *word) {
    int fd = openat(dir_fd, name, O_WRONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    ssize_t bytes = (ssize_t)strlen(word);
    bool ok = write(fd, word, (size_t)bytes) == bytes;
    close(fd);
    return ok;
}

/* The mount point of cgroup2 whose own root is "/" or a prefix of our path:
 * mountinfo is "ID PARENT DEV ROOT POINT OPTIONS... - TYPE ...". */
static bool find_mount(char ret_point[PATH_MAX]) {
    FILE *f = fopen("/proc/self/mountinfo", "re");
    if (f == NULL)
        return false;
    char *line = NULL;
    size_t cap = 0;
    bool found = false;
    while (!found && getline(&line, &cap, f) > 0) {
        const char *type = strstr(line, " - ");
        found = type != NULL && strncmp(type + 3, "cgroup2 ", 8) == 0 &&
                sscanf(line, "%*s %*s %*s %*s %4095s", ret_point) == 1;
    }
    free(line);
    fclose(f);
    return found;
}

static const struct {
    enum cgroup_controller bit;
    const char *name;
} controllers[] = {
    {CGROUP_MEMORY, "memory"}, {CGROUP_PIDS, "pids"}, {CGROUP_CPU, "cpu"}};

void cgroup_controllers_format(unsigned bits, char ret[32]) {
    *ret = '\0';
    for (size_t i = 0; i < COUNT(controllers); i++)
        if ((bits & controllers[i].bit) != 0) {
            if (*ret != '\0')
                strcat(ret, " ");
            strcat(ret, controllers[i].name);
        }
    if (*ret == '\0')
        strcpy(ret, "none");
}

/* The cgroup v2 of a process, relative to the mount; empty: it is in none.
 * False: cannot be read. */
static bool read_own(const char *file, char ret_path[PATH_MAX]) {
    char line[PATH_MAX] = "";
    FILE *f = fopen(file, "re");
    if (f == NULL)
        return false;
    bool found = false;
    while (!found && fgets(line, sizeof line, f) != NULL)
        found = strncmp(line, "0::/", 4) == 0;
    fclose(f);
    line[strcspn(line, "\n")] = '\0';
    strcpy(ret_path, found ? line + 3 : "");
    return true;
}

bool cgroup_find(char ret_path[PATH_MAX], struct err *err) {
    char point[PATH_MAX], path[PATH_MAX], *own = path;
    if (!find_mount(point))
        return err_set(err, ERR_CANNOT, "cgroup v2 is not mounted");
    if (!read_own("/proc/self/cgroup", path))
        return err_errno(err, errno, "cannot read '/proc/self/cgroup'");
    if (own[0] == '\0')
        return err_set(err, ERR_CANNOT, "this process is in no cgroup v2");
    size_t len = strlen(own), behind = strlen("/" ROOM);
    if (len >= behind && strcmp(own + len - behind, "/" ROOM) == 0)
        own[len - behind] = '\0';
    if (strcmp(own, "/") == 0)
        own++;
    if (snprintf(ret_path, PATH_MAX, "%s%s", point, own) >= PATH_MAX)
        return err_set(err, ERR_CANNOT, "the path of the cgroup is too long");
    return true;
}

/* "pointsman.DEV-INO." */
static void prefix_of(const struct stat *base, char ret_prefix[80]) {
    snprintf(ret_prefix, 80, "pointsman.%llx-%llx.",
             (unsigned long long)base->st_dev,
             (unsigned long long)base->st_ino);
}

enum cgroup_member cgroup_member(pid_t pid, const struct stat *base,
                                 char ret_path[PATH_MAX]) {
    char file[64], part[81] = "/";
    snprintf(file, sizeof file, "/proc/%d/cgroup", (int)pid);
    if (!read_own(file, ret_path))
        return CGROUP_UNREADABLE;
    prefix_of(base, part + 1);
    return strstr(ret_path, part) != NULL ? CGROUP_OF_BASE : CGROUP_OTHER;
}

static bool is_populated(int events_fd, bool *ret_frozen) {
    char text[256];
    ssize_t n = pread(events_fd, text, sizeof text - 1, 0);
    *ret_frozen = false;
    if (n < 0)
        return errno != ENODEV; /* removed, hence empty */
    text[n] = '\0';
    *ret_frozen = strstr(text, "frozen 1") != NULL;
    return strstr(text, "populated 0") == NULL;
}

/* Waits until no process is in it. */
static bool wait_empty(int dir_fd, int wait_ms) {
    int fd = openat(dir_fd, "cgroup.events", O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return errno == ENOENT || errno == ENODEV;
    struct mono until = mono_add_ms(clock_mono(), wait_ms);
    bool empty, frozen;
    while (!(empty = !is_populated(fd, &frozen))) {
        int64_t left = mono_ms_since(until, clock_mono());
        if (left <= 0)
            break;
        struct pollfd wait = {.fd = fd, .events = POLLPRI};
        poll(&wait, 1, left > 100 ? 100 : (int)left);
    }
    close(fd);
    return empty;
}

/* Removes the directory and everything below it, deepest first. */
static bool remove_below(int parent_fd, const char *name, int depth) {
    if (unlinkat(parent_fd, name, AT_REMOVEDIR) == 0 || errno == ENOENT)
        return true;
    int fd = openat(parent_fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    if (dir == NULL) {
        if (fd >= 0)
            close(fd);
        return false;
    }
    struct dirent *entry;
    while (depth < DEPTH_MAX && (entry = readdir(dir)) != NULL)
        if (entry->d_type == DT_DIR && entry->d_name[0] != '.')
            remove_below(fd, entry->d_name, depth + 1);
    closedir(dir);
    return unlinkat(parent_fd, name, AT_REMOVEDIR) == 0 || errno == ENOENT;
}

struct former {
    const char *prefix; /* "pointsman.DEV-INO." */
    const char *role;
    int wait_ms;
};

static bool remove_tree(int root_fd, const char *name, int wait_ms,
                        struct err *err) {
    int fd = openat(root_fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return true;
    write_at(fd, "cgroup.kill", "1");
    bool empty = wait_empty(fd, wait_ms);
    close(fd);
    /* It does no harm if an empty tree cannot be removed because another user
     * owns it: it belonged to a base that is gone and whose device and inode
     * numbers ours has now. */
    if (empty &&
        (remove_below(root_fd, name, 0) || errno == EACCES || errno == EPERM))
        return true;
    return err_set(err, ERR_BUSY,
                   "cgroup '%s' still has processes of an earlier run; its "
                   "cgroup.procs lists them",
                   name);
}

/* Ends one directory under the root if it belongs to an earlier life of ours.
 */
static bool end_previous(int root_fd, const char *name,
                         const struct former *former, struct err *err) {
    size_t prefix = strlen(former->prefix);
    if (strncmp(name, former->prefix, prefix) != 0)
        return true;
    const char *role = name + prefix, *dot = strchr(role, '.');
    int pid;
    unsigned long long start;
    if (dot == NULL || sscanf(dot, ".%d.%llu", &pid, &start) != 2)
        return true;
    bool same = (size_t)(dot - role) == strlen(former->role) &&
                strncmp(role, former->role, (size_t)(dot - role)) == 0;
    if (!same && process_start(pid) == start)
        return true; /* another role's guard, still alive */
    if (same)        /* it may not have noticed yet and still start tasks */
        process_kill(pid, start);
    return remove_tree(root_fd, name, former->wait_ms, err);
}

static bool end_all_previous(int root_fd, const struct former *former,
                             struct err *err) {
    int fd = openat(root_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    if (dir == NULL) {
        int sys = errno;
        if (fd >= 0)
            close(fd);
        return err_errno(err, sys, "cannot list the cgroup");
    }
    bool ok = true;
    struct dirent *entry;
    while (ok && (entry = readdir(dir)) != NULL)
        ok = end_previous(root_fd, entry->d_name, former, err);
    closedir(dir);
    return ok;
}

static void close_fds(struct cgroup_tree *tree) {
    if (tree->dir_fd >= 0)
        close(tree->dir_fd);
    if (tree->root_fd >= 0)
        close(tree->root_fd);
    tree->dir_fd = tree->root_fd = -1;
}

/* Without cgroup.kill (before Linux 5.14) a tree cannot be killed in one go,
 * and everything above would be a race. */
static bool make_tree(struct cgroup_tree *tree, const char *root,
                      struct err *err) {
    if (mkdirat(tree->root_fd, tree->name, 0755) < 0)
        return err_errno(err, errno, "cannot create cgroup '%s/%s'", root,
                         tree->name);
    tree->dir_fd =
        openat(tree->root_fd, tree->name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (tree->dir_fd < 0)
        return err_errno(err, errno, "cannot open cgroup '%s/%s'", root,
                         tree->name);
    if (faccessat(tree->dir_fd, "cgroup.kill", W_OK, 0) < 0) {
        int sys = errno;
        unlinkat(tree->root_fd, tree->name, AT_REMOVEDIR);
        return err_errno(err, sys, "cannot kill the processes of cgroup '%s'",
                         root);
    }
    return true;
}

/* The pids in a cgroup, up to `max`. */
static size_t read_pids(int dir_fd, pid_t *ret_pids, size_t max) {
    int fd = openat(dir_fd, "cgroup.procs", O_RDONLY | O_CLOEXEC);
    FILE *f = fd < 0 ? NULL : fdopen(fd, "r");
    size_t count = 0;
    if (f == NULL)
        return 0;
    while (count < max && fscanf(f, "%d", &ret_pids[count]) == 1)
        count++;
    fclose(f);
    return count;
}

static bool is_among(pid_t pid, const pid_t *pids, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (pids[i] == pid)
            return true;
    return false;
}

static bool has_word(int dir_fd, const char *name, const char *word) {
    char text[512];
    int fd = openat(dir_fd, name, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? 0 : read(fd, text, sizeof text - 1);
    if (fd >= 0)
        close(fd);
    struct span rest = span_trim(span_make(text, n > 0 ? (size_t)n : 0)), one;
    while (rest.len > 0 && span_cut(&rest, ' ', &one))
        if (span_is(span_trim(one), word))
            return true;
    return false;
}

static unsigned enable(int dir_fd) {
    unsigned enabled = 0;
    char order[16];
    for (size_t i = 0; i < COUNT(controllers); i++) {
        snprintf(order, sizeof order, "+%s", controllers[i].name);
        if (has_word(dir_fd, "cgroup.controllers", controllers[i].name) &&
            (has_word(dir_fd, "cgroup.subtree_control", controllers[i].name) ||
             write_at(dir_fd, "cgroup.subtree_control", order)))
            enabled |= controllers[i].bit;
    }
    return enabled;
}

static bool has_any(int dir_fd) {
    for (size_t i = 0; i < COUNT(controllers); i++)
        if (has_word(dir_fd, "cgroup.controllers", controllers[i].name))
            return true;
    return false;
}

/* A cgroup with processes of its own cannot pass controllers on. Only this
 * process and the one it serves are moved. */
static bool make_room(int root_fd) {
    pid_t pids[8], ours[] = {getpid(), getppid()};
    char word[16];
    size_t count = read_pids(root_fd, pids, COUNT(pids));
    for (size_t i = 0; i < count; i++)
        if (!is_among(pids[i], ours, COUNT(ours)))
            return false;
    if (count == 0 || (mkdirat(root_fd, ROOM, 0755) < 0 && errno != EEXIST))
        return false;
    bool moved = true;
    for (size_t i = 0; i < count; i++) {
        snprintf(word, sizeof word, "%d", (int)pids[i]);
        moved = write_at(root_fd, ROOM "/cgroup.procs", word) && moved;
    }
    return moved;
}

/* The controllers that leaves can use; the tree must exist. */
static unsigned enable_controllers(const struct cgroup_tree *tree) {
    unsigned enabled = enable(tree->root_fd);
    if (enabled == 0 && has_any(tree->root_fd) && make_room(tree->root_fd))
        enabled = enable(tree->root_fd);
    return enabled != 0 ? enable(tree->dir_fd) : 0;
}

bool cgroup_tree_open(struct cgroup_tree *tree, const char *root,
                      const struct stat *base, const char *role, int wait_ms,
                      struct err *err) {
    char prefix[80];
    *tree = (struct cgroup_tree){.root_fd = -1, .dir_fd = -1};
    prefix_of(base, prefix);
    snprintf(tree->name, sizeof tree->name, "%s%s.%d.%llu", prefix, role,
             (int)getpid(), process_start(getpid()));
    if (snprintf(tree->path, sizeof tree->path, "%s/%s", root, tree->name) >=
        (int)sizeof tree->path)
        return err_set(err, ERR_CANNOT, "the path of cgroup '%s' is too long",
                       root);
    tree->root_fd = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (tree->root_fd < 0)
        return err_errno(err, errno, "cannot open cgroup '%s'", root);
    struct former former = {prefix, role, wait_ms};
    if (end_all_previous(tree->root_fd, &former, err) &&
        make_tree(tree, root, err)) {
        tree->controllers = enable_controllers(tree);
        return true;
    }
    close_fds(tree);
    return false;
}

void cgroup_tree_kill(struct cgroup_tree *tree) {
    if (tree->dir_fd < 0)
        return;
    __atomic_add_fetch(&tree->kills, 1, __ATOMIC_SEQ_CST);
    write_at(tree->dir_fd, "cgroup.kill", "1");
    __atomic_add_fetch(&tree->kills, 1, __ATOMIC_SEQ_CST);
}

/* True for a leaf that was made before or during the last kill of the tree. */
static bool is_killed(const struct cgroup_tree *tree,
                      const struct cgroup_leaf *leaf) {
    unsigned kills = __atomic_load_n(&tree->kills, __ATOMIC_SEQ_CST);
    return leaf->killed || leaf->born != kills || kills % 2 != 0;
}

bool cgroup_tree_close(struct cgroup_tree *tree, int wait_ms) {
    if (tree->dir_fd < 0)
        return true;
    while (tree->free != NULL) {
        struct cgroup_leaf *leaf = tree->free;
        tree->free = leaf->next;
        cgroup_leaf_drop(leaf);
    }
    bool empty = wait_empty(tree->dir_fd, wait_ms);
    if (empty)
        remove_below(tree->root_fd, tree->name, 0);
    close_fds(tree);
    return empty;
}

static struct cgroup_leaf *make_leaf(struct cgroup_tree *tree) {
    char name[16];
    unsigned kills = __atomic_load_n(&tree->kills, __ATOMIC_SEQ_CST);
    snprintf(name, sizeof name, "%u", tree->made);
    if (mkdirat(tree->dir_fd, name, 0755) < 0)
        return NULL;
    tree->made++;
    int dir_fd = openat(tree->dir_fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (dir_fd < 0)
        return NULL;
    int events_fd = openat(dir_fd, "cgroup.events", O_RDONLY | O_CLOEXEC);
    if (events_fd < 0) {
        close(dir_fd);
        return NULL;
    }
    struct cgroup_leaf *leaf = mem_alloc(sizeof *leaf);
    *leaf = (struct cgroup_leaf){.dir_fd = dir_fd,
                                 .events_fd = events_fd,
                                 .number = tree->made - 1,
                                 .born = kills};
    return leaf;
}

static void remove_leaf(struct cgroup_tree *tree, struct cgroup_leaf *leaf) {
    char name[16];
    snprintf(name, sizeof name, "%u", leaf->number);
    cgroup_leaf_drop(leaf);
    unlinkat(tree->dir_fd, name, AT_REMOVEDIR);
}

struct cgroup_leaf *cgroup_leaf_take(struct cgroup_tree *tree) {
    struct cgroup_leaf *leaf;
    while ((leaf = tree->free) != NULL) {
        tree->free = leaf->next;
        if (!is_killed(tree, leaf))
            return leaf;
        remove_leaf(tree, leaf);
    }
    return make_leaf(tree);
}

bool cgroup_leaf_limit(const struct cgroup_tree *tree, struct cgroup_leaf *leaf,
                       enum cgroup_controller what, uint64_t value) {
    char word[32];
    if ((tree->controllers & what) == 0) {
        errno = ENOTSUP;
        return false;
    }
    snprintf(word, sizeof word, "%llu", (unsigned long long)value);
    if (value == UINT64_MAX)
        strcpy(word, "max");
    leaf->limited = true;
    if (what == CGROUP_MEMORY) /* kill the whole task or none of it */
        write_at(leaf->dir_fd, "memory.oom.group", "1");
    return write_at(leaf->dir_fd,
                    what == CGROUP_MEMORY ? "memory.max"
                    : what == CGROUP_PIDS ? "pids.max"
                                          : "cpu.weight",
                    word);
}

/* The number after `word` in a file of "word number" lines, or without a word
 * the only number. 0: there is none. */
static uint64_t read_number(int dir_fd, const char *name, const char *word) {
    char text[2048];
    int fd = openat(dir_fd, name, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? 0 : read(fd, text, sizeof text - 1);
    if (fd >= 0)
        close(fd);
    text[n > 0 ? n : 0] = '\0';
    const char *at = word == NULL ? text : strstr(text, word);
    return at == NULL ? 0 : strtoull(at + (word ? strlen(word) : 0), NULL, 10);
}

/* Without a memory controller: the resident memory of its processes, with
 * shared pages counted for each. */
static uint64_t resident_kib(const pid_t *pids, size_t count) {
    uint64_t kib = 0;
    for (size_t i = 0; i < count; i++)
        kib += process_resident_kib(pids[i]);
    return kib;
}

void cgroup_leaf_usage(const struct cgroup_tree *tree,
                       const struct cgroup_leaf *leaf,
                       struct cgroup_usage *ret_usage) {
    pid_t pids[USAGE_PIDS];
    bool memory = (tree->controllers & CGROUP_MEMORY) != 0;
    size_t count = read_pids(leaf->dir_fd, pids, USAGE_PIDS);
    *ret_usage = (struct cgroup_usage){
        .cpu_us = read_number(leaf->dir_fd, "cpu.stat", "usage_usec "),
        .procs = count,
        .memory_kib =
            memory ? read_number(leaf->dir_fd, "memory.current", NULL) / 1024
                   : resident_kib(pids, count)};
    if (memory && !leaf->used)
        ret_usage->peak_kib =
            read_number(leaf->dir_fd, "memory.peak", NULL) / 1024;
    if ((tree->controllers & CGROUP_PIDS) != 0 && !leaf->used)
        ret_usage->procs_peak = read_number(leaf->dir_fd, "pids.peak", NULL);
}

/* Linux counts the kills of a cgroup, and takes a child cloned by a parent with
 * a different count for one that was started during a kill. So clone3 cannot
 * start a process in a leaf that was ever killed. And a leaf with limits, or
 * one that is frozen, would apply that to the next task. */
void cgroup_leaf_give(struct cgroup_tree *tree, struct cgroup_leaf *leaf) {
    if (is_killed(tree, leaf) || leaf->limited || leaf->frozen) {
        remove_leaf(tree, leaf);
        return;
    }
    leaf->used = true;
    leaf->next = tree->free;
    tree->free = leaf;
}

void cgroup_leaf_drop(struct cgroup_leaf *leaf) {
    close(leaf->dir_fd);
    close(leaf->events_fd);
    free(leaf);
}

bool cgroup_leaf_populated(struct cgroup_leaf *leaf) {
    return is_populated(leaf->events_fd, &leaf->frozen);
}

/* A pidfd is opened for each pid, then the pids are listed again: if a pid is
 * still in the list and its pidfd still accepts signals, both mean the same
 * process. */
void cgroup_leaf_signal(const struct cgroup_leaf *leaf, int signal) {
    pid_t *pids = mem_alloc(3 * MEMBERS_MAX * sizeof *pids);
    pid_t *again = pids + MEMBERS_MAX, *fds = again + MEMBERS_MAX;
    size_t count = read_pids(leaf->dir_fd, pids, MEMBERS_MAX);
    for (size_t i = 0; i < count; i++)
        fds[i] = (int)syscall(SYS_pidfd_open, pids[i], 0);
    size_t left = read_pids(leaf->dir_fd, again, MEMBERS_MAX);
    for (size_t i = 0; i < count; i++) {
        if (fds[i] < 0)
            continue;
        if (is_among(pids[i], again, left))
            syscall(SYS_pidfd_send_signal, fds[i], signal, NULL, 0);
        close(fds[i]);
    }
    free(pids);
}

size_t cgroup_leaf_pids(const struct cgroup_leaf *leaf, pid_t *ret_pids,
                        size_t most) {
    return read_pids(leaf->dir_fd, ret_pids, most);
}

void cgroup_leaf_kill(struct cgroup_leaf *leaf) {
    leaf->killed = true;
    write_at(leaf->dir_fd, "cgroup.kill", "1");
}
