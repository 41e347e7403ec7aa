#include "os/features.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "os/cgroup.h"
#include "os/sandbox.h"
#include "os/spawn.h"

struct list_of_features {
    struct feature *items;
    size_t count;
};

/* Adds a feature that is merely useful; `meaning` depends on whether it is
 * present. */
static struct feature *add(struct list_of_features *list, const char *name,
                           bool present, const char *with,
                           const char *without) {
    struct feature *feature = &list->items[list->count++];
    *feature = (struct feature){
        .name = name, .present = present, .meaning = present ? with : without};
    return feature;
}

static struct feature *add_needed(struct list_of_features *list,
                                  const char *name, bool present,
                                  const char *with, const char *without) {
    struct feature *feature = add(list, name, present, with, without);
    feature->needed = true;
    return feature;
}

static void set_detail(struct feature *feature, const char *detail) {
    snprintf(feature->detail, sizeof feature->detail, "%.159s", detail);
}

static void probe_kernel(struct list_of_features *list) {
    struct utsname name;
    struct feature *feature =
        add(list, "kernel", true, "Linux is the only supported system.", "");
    if (uname(&name) == 0)
        set_detail(feature, name.release);
}

static void read_word(const char *dir, const char *name, char *ret,
                      size_t bytes) {
    char path[PATH_MAX + 64];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    *ret = '\0';
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? 0 : read(fd, ret, bytes - 1);
    if (fd >= 0)
        close(fd);
    ret[n > 0 ? n : 0] = '\0';
    ret[strcspn(ret, "\n")] = '\0';
}

static bool can_be_used(const char *root, char why[160]) {
    static const char *const needed[] = {"", "/cgroup.procs", "/cgroup.kill"};
    char path[PATH_MAX + 64];
    for (size_t i = 0; i < COUNT(needed); i++) {
        snprintf(path, sizeof path, "%s%s", root, needed[i]);
        /* The root of all cgroups cannot be killed and does not need to be. */
        if (access(path, W_OK) == 0 || (i == 2 && errno == ENOENT))
            continue;
        snprintf(why, 160, "%.100s: %s", path, strerrordesc_np(errno));
        return false;
    }
    snprintf(why, 160, "%.140s, writable", root);
    return true;
}

static void probe_cgroup(struct list_of_features *list,
                         const char *cgroup_root) {
    char own[PATH_MAX] = "", detail[160] = "", words[120] = "";
    struct err err = {0};
    bool off = cgroup_root != NULL && *cgroup_root == '\0';
    const char *root = cgroup_root != NULL ? cgroup_root : own;
    bool found = !off && (cgroup_root != NULL || cgroup_find(own, &err));
    bool usable = found && can_be_used(root, detail);
    set_detail(
        add_needed(
            list, "cgroup-v2", usable,
            "A task and all its descendants are killed together; an empty "
            "cgroup proves that no process of it is left.",
            "Tasks are tracked by process group, subreaper and an inherited "
            "lock: a descendant that calls setsid may outlive its task. Use "
            "a systemd service with Delegate=yes."),
        found ? detail
        : off ? "switched off"
              : err.text);
    if (usable)
        read_word(root, "cgroup.controllers", words, sizeof words);
    bool limits = strstr(words, "memory") != NULL;
    set_detail(
        add(list, "cgroup-limits", limits,
            "A task's memory and number of processes can be limited.",
            "No memory and pids controllers: tasks with a memory or pids limit "
            "are refused. Use a systemd service with Delegate=yes."),
        *words != '\0' ? words : "none");
}

static void probe_processes(struct list_of_features *list) {
    int fd = (int)syscall(SYS_pidfd_open, getpid(), 0);
    if (fd >= 0)
        close(fd);
    add_needed(
        list, "pidfd", fd >= 0,
        "Processes are identified by descriptors, which are never reused.",
        "Tasks are identified by pids, which may be reused: Linux 5.4 or "
        "later is needed.");
    add(list, "clone3", spawn_has_clone3(),
        "Tasks are started inside their cgroup.",
        "Tasks enter their cgroup right after they start, which is slower.");
    char path[64];
    snprintf(path, sizeof path, "/proc/self/task/%d/children", (int)getpid());
    add(list, "proc-children", access(path, R_OK) == 0,
        "Orphaned processes of tasks are killed when the supervisor ends.",
        "Orphaned processes of tasks are killed only through their cgroup.");
}

static void probe_sandbox(struct list_of_features *list) {
    struct sandbox_report report;
    sandbox_probe(&report);
    struct feature *landlock = add_needed(
        list, "landlock", (report.in_force & SANDBOX_LANDLOCK) != 0,
        "Untrusted input is parsed in a process that cannot open files.",
        "Parsers of untrusted input are kept from files by seccomp only.");
    if (landlock->present)
        snprintf(landlock->detail, sizeof landlock->detail, "version %d",
                 report.landlock_abi);
    add_needed(
        list, "seccomp", (report.in_force & SANDBOX_SECCOMP) != 0,
        "Parsers of untrusted input cannot open sockets or start programs.",
        "Parsers of untrusted input are limited only in memory and time.");
}

static void probe_locks(struct list_of_features *list) {
    int fd = memfd_create("lock", MFD_CLOEXEC);
    bool works = fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0;
    if (fd >= 0)
        close(fd);
    add_needed(list, "flock", works, "Each role runs at most once per base.",
               "Nothing prevents a role from running twice.");
}

static void probe_rights(struct list_of_features *list) {
    bool root = geteuid() == 0;
    struct feature *feature = add_needed(
        list, "unprivileged", !root,
        "Jobs run as the same unprivileged user as Pointsman.",
        "Jobs run as root, without restrictions; use a service account or "
        "--user.");
    snprintf(feature->detail, sizeof feature->detail, "uid %u",
             (unsigned)geteuid());
}

size_t features_probe(const char *cgroup_root,
                      struct feature ret_features[FEATURES_MAX]) {
    struct list_of_features list = {.items = ret_features};
    probe_kernel(&list);
    probe_cgroup(&list, cgroup_root);
    probe_processes(&list);
    probe_sandbox(&list);
    probe_locks(&list);
    probe_rights(&list);
    return list.count;
}
