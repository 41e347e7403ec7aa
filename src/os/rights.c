#include "os/rights.h"

#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static const struct __user_cap_header_struct head = {
    .version = _LINUX_CAPABILITY_VERSION_3};

static bool get(struct __user_cap_data_struct data[2]) {
    struct __user_cap_header_struct own = head;
    return syscall(SYS_capget, &own, data) == 0;
}

static bool set(const struct __user_cap_data_struct data[2]) {
    struct __user_cap_header_struct own = head;
    return syscall(SYS_capset, &own, data) == 0;
}

bool rights_lower(uint64_t used, uint64_t spare) {
    struct __user_cap_data_struct data[2] = {{0}};
    if (!get(data))
        return false;
    for (int i = 0; i < 2; i++) {
        data[i].permitted &= (uint32_t)((used | spare) >> (32 * i));
        data[i].effective &= (uint32_t)(used >> (32 * i));
    }
    return set(data);
}

bool rights_raise(void) {
    struct __user_cap_data_struct data[2] = {{0}};
    if (!get(data))
        return false;
    for (int i = 0; i < 2; i++)
        data[i].effective = data[i].permitted;
    return set(data);
}

static void drop_bounds(uint64_t only) {
    for (int i = 0; i < 64 && prctl(PR_CAPBSET_READ, i, 0, 0, 0) >= 0; i++)
        if ((only & RIGHTS_OF(i)) == 0)
            prctl(PR_CAPBSET_DROP, i, 0, 0, 0);
}

bool rights_keep(uint64_t only) {
    struct __user_cap_data_struct data[2] = {{0}};
    if (!get(data) || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
        return false;
    drop_bounds(only);
    prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
    for (int i = 0; i < 2; i++) {
        data[i].permitted &= (uint32_t)(only >> (32 * i));
        data[i].effective = data[i].permitted;
        data[i].inheritable = 0;
    }
    return set(data);
}
