#include "os/account.h"

#include <errno.h>
#include <grp.h>
#include <linux/capability.h>
#include <pwd.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { ENTRY_BYTES = 16 << 10, ENTRY_BYTES_MAX = 1 << 20 };

/* Returns zero, or the errno of the failure; *ret_found NULL: no such account.
 */
static int look_up(const char *name, struct passwd *entry, char *buffer,
                   size_t bytes, struct passwd **ret_found) {
    uint64_t uid;
    if (span_u64(span_of(name), &uid) && uid < UINT32_MAX)
        return getpwuid_r((uid_t)uid, entry, buffer, bytes, ret_found);
    return getpwnam_r(name, entry, buffer, bytes, ret_found);
}

static void find_groups(struct account *account, struct arena *arena) {
    int count = 64;
    for (;;) {
        account->groups =
            arena_alloc(arena, (size_t)count * sizeof *account->groups);
        int room = count;
        if (getgrouplist(account->name, account->gid, account->groups,
                         &count) >= 0)
            break;
        if (count <= room)
            count = room * 2;
    }
    account->group_count = (size_t)count;
}

bool account_find(struct span name, struct arena *arena,
                  struct account *ret_account, struct err *err) {
    char *copy = arena_string(arena, name);
    struct passwd entry, *found = NULL;
    int sys = ERANGE;
    for (size_t bytes = ENTRY_BYTES; sys == ERANGE && bytes <= ENTRY_BYTES_MAX;
         bytes *= 2)
        sys = look_up(copy, &entry, arena_alloc(arena, bytes), bytes, &found);
    if (sys != 0 && sys != ENOENT && sys != ESRCH)
        return err_errno(err, sys, "cannot look up user '%s'", copy);
    if (found == NULL)
        return err_set(err, ERR_CONFIG, "no user '%s' on this machine", copy);
    *ret_account = (struct account){.uid = entry.pw_uid,
                                    .gid = entry.pw_gid,
                                    .name = entry.pw_name,
                                    .home = entry.pw_dir,
                                    .shell = entry.pw_shell};
    find_groups(ret_account, arena);
    return true;
}

bool account_group_find(struct span name, gid_t *ret_gid, struct err *err) {
    CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
    char *copy = arena_string(&arena, name);
    struct group entry, *found = NULL;
    uint64_t gid;
    int sys = ERANGE;
    if (span_u64(name, &gid) && gid < UINT32_MAX) {
        *ret_gid = (gid_t)gid;
        return true;
    }
    for (size_t bytes = ENTRY_BYTES; sys == ERANGE && bytes <= ENTRY_BYTES_MAX;
         bytes *= 2)
        sys =
            getgrnam_r(copy, &entry, arena_alloc(&arena, bytes), bytes, &found);
    if (sys != 0 && sys != ENOENT && sys != ESRCH)
        return err_errno(err, sys, "cannot look up group '%s'", copy);
    if (found == NULL)
        return err_set(err, ERR_CONFIG, "no group '%s' on this machine", copy);
    *ret_gid = entry.gr_gid;
    return true;
}

bool account_has_group(const struct account *account, gid_t gid) {
    for (size_t i = 0; i < account->group_count; i++)
        if (account->groups[i] == gid)
            return true;
    return account->gid == gid;
}

bool account_is_ours(const struct account *account) {
    return account->uid == geteuid();
}

bool account_can_switch(void) {
    struct __user_cap_header_struct head = {.version =
                                                _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct data[2] = {{0}};
    unsigned needed = 1U << CAP_SETUID | 1U << CAP_SETGID;
    return geteuid() == 0 && syscall(SYS_capget, &head, data) == 0 &&
           (data[0].effective & needed) == needed;
}

bool account_may_be(const struct account *account, struct err *err) {
    if (account_is_ours(account) || account_can_switch())
        return true;
    return err_set(err, ERR_DENIED,
                   "cannot run a command as user '%s': the server runs as uid "
                   "%u%s; only root can change users",
                   account->name, (unsigned)geteuid(),
                   geteuid() == 0 ? " without CAP_SETUID and CAP_SETGID" : "");
}
