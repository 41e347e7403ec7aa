/* One installation: its directory, configuration and registry
 * (doc/design/registry.md). */
#ifndef POINTSMAN_BASE_BASE_H
#define POINTSMAN_BASE_BASE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "lib/err.h"
#include "lib/text.h"
#include "lib/time.h"
#include "core/access.h"
#include "core/job.h"
#include "store/store.h"
#include "wire/config.h"

/* Its directories; the first ones are those of the states, in their order. */
enum base_dir {
    BASE_QUEUE = STATE_QUEUED,
    BASE_STAGING = STATE_STAGED,
    BASE_PENDING = STATE_PENDING,
    BASE_RUN = STATE_EXECUTING,
    BASE_DONE = STATE_DONE,
    BASE_FAIL = STATE_FAILED,
    BASE_TERM = STATE_TERMINATED,
    BASE_ABANDON = STATE_ABANDONED,
    BASE_TMP,
    BASE_DATA,
    BASE_PREQUEUE,
    BASE_REJECT,
    BASE_LOG,
    BASE_CTRL,
    BASE_ARCHIVE,
    BASE_ATTEMPTS,
    BASE_DIRS
};

#define BASE_REGISTRY "ctrl/registry.db"
#define BASE_BRANCHES "ctrl/branches" /* landing/branch_note.h */
#define BASE_CONFIG "pointsman.conf"
/* In ctrl/: the socket of the server, and the lock and the FIFO of each role
 * (base/role.h) as formats of its name. */
#define BASE_SOCKET "sock"
#define BASE_ROLE_LOCK "%s.pid"
#define BASE_ROLE_FIFO "%s_fifo"
/* Of a base's absolute path, at most: SQLite takes 512 for its file. */
enum { BASE_PATH_BYTES = 480 };

struct role; /* base/role.h */

struct base {
    char *path; /* absolute */
    int fd;
    int dirs[BASE_DIRS];
    struct config config;
    struct store *store; /* NULL when opened without */
    uid_t uid;           /* owner of the base */
    gid_t gid;
    bool group;    /* its members may use it (init --group) */
    char host[64]; /* this machine, fit for names */
    bool read_only;
    int lock_fd; /* base.lock, shared; exclusive for fsck --rebuild */
};

const char *base_dir_name(enum base_dir dir); /* "queue" */

/* `pointsman init`: everything a base needs. Refuses (ERR_REFUSED) over an
 * existing one, and where directories hold work whose registry is lost: that
 * is for fsck --rebuild. */
struct base_target {
    struct span name;
    struct span git;    /* relative to the caller's directory */
    struct span branch; /* empty: main */
};
struct base_init {
    const char *path;  /* made when absent, parents too */
    const char *group; /* NULL: for the owner alone */
    const struct base_target *targets;
    size_t target_count;
    const struct role *const *roles; /* for their FIFOs; NULL: none */
};
bool base_init(const struct base_init *init, struct err *err);
/* The directories, FIFOs and locks of one below `fd`; `group` -1: none.
 * `roles` as in struct base_init. */
bool base_make(int fd, gid_t group, const struct role *const *roles,
               struct err *err);
/* "NAME=GITDIR[#BRANCH]". ERR_USAGE. */
bool base_target_parse(const char *text, struct base_target *ret_target,
                       struct err *err);

/* Which base is meant: `option` (--base), $POINTSMAN_BASE, the nearest
 * .pointsman/ upwards, the user's state directory; for root without any of
 * these /var/lib/pointsman. The path is absolute; whether a base lies there
 * says base_open (ERR_CONFIG with what to try). ERR_DENIED: a .pointsman/ found
 * upwards belongs to a stranger. */
bool base_find(const char *option, char **ret_path, struct err *err);
/* Is there one? */
bool base_exists(const char *path);

struct base_open {
    bool read_only; /* reading verbs: the registry too */
    bool no_store;  /* base->store stays NULL */
    bool exclusive; /* base.lock: ERR_RUNNING while anybody has it open */
    bool force_nfs;
    /* how the registry is opened; read_only follows the one above */
    struct store_options store;
};
/* Checks G2 first: one file system, owner, modes, a working flock, no network
 * file system. Errors: ERR_CONFIG (78) for none, a bad configuration or what
 * G2 names (100: ERR_REFUSED), ERR_DENIED (77), ERR_RUNNING (99) while fsck
 * --rebuild works on it. */
bool base_open(const char *path, const struct base_open *how,
               struct base **ret_base, struct err *err);
void base_close(struct base *base); /* NULL is fine */

/* Do the directories of states or log/ hold anything? */
bool base_has_work(int base_fd, bool *ret_any, struct err *err);

/* Reads the configuration again, files and settings. On an error the old one
 * stays. */
bool base_reload(struct base *base, struct err *err);

/* The lock of a role, or of the server, by its name: one process each. */
bool base_take_role(struct base *base, const char *role, int *ret_fd,
                    struct err *err);
void base_give_role(struct base *base, const char *role, int *fd);
void base_trigger(const struct base *base, const char *role);
/* Does some process have that role now? Unknown is no. */
bool base_role_is_held(const struct base *base, const char *role);
bool base_any_role_is_held(const struct base *base);

/* A path of the configuration: relative ones are so to the base. */
char *base_resolve(const char *base_path, struct span path,
                   struct arena *arena);

/* A file just made: its group may go on with it (init --group), and what root
 * makes in somebody else's base becomes the owner's. */
bool base_give_file(const struct base *base, int fd, struct err *err);

/* Who has a role here. */
struct access_rules base_access(const struct base *base);
/* The actor that this process is. */
struct access_actor base_caller(const struct access_rules *rules);

#endif
