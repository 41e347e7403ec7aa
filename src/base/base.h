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
#include "core/run_as.h"
#include "os/lock.h"
#include "store/store.h"
#include "wire/config.h"

/* The directories of a base; the first ones are those of the states, in order.
 */
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
/* In ctrl/: the server's socket, and formats for the names of each role's lock
 * and FIFO (base/role.h). */
#define BASE_SOCKET "sock"
#define BASE_ROLE_LOCK "%s.pid"
#define BASE_ROLE_FIFO "%s_fifo"
/* The base of root. */
#define BASE_SERVICE_PATH "/var/lib/pointsman"
/* Longest absolute path of a base: SQLite accepts 512 bytes for its file. */
enum { BASE_PATH_BYTES = 480 };

struct account; /* os/account.h */
struct role;    /* base/role.h */

struct base {
    char *path; /* absolute */
    int fd;
    int dirs[BASE_DIRS];
    struct config config;
    struct store *store; /* NULL if opened with no_store */
    uid_t uid;           /* owner of the base */
    gid_t gid;
    struct access_rules access; /* who has which role */
    struct span unknown; /* the first name in [access] that this machine does
                            not know; empty: none */
    struct config_origin unknown_origin; /* where it is */
    char refused[ERR_TEXT_BYTES]; /* why the configuration that was read last
                                     is not in force; empty: it is */
    char host[64]; /* name of this machine, usable in file names */
    bool read_only;
    bool is_drop; /* opened by base_open_drop */
    int lock_fd;  /* base.lock: shared, or exclusive for fsck --rebuild */
};

const char *base_dir_name(enum base_dir dir); /* "queue" */
/* True for the directories of the file route, into which submitters write. */
bool base_dir_takes_files(enum base_dir dir);

/* `pointsman init`: everything a base needs. Refuses (ERR_REFUSED) if there is
 * a base already, or if directories hold work whose registry is lost: fsck
 * --rebuild handles that case. */
struct base_target {
    struct span name;
    struct span git;    /* relative to the caller's directory */
    struct span branch; /* empty: main */
};
struct base_init {
    const char *path;  /* created if absent, parents too */
    const char *group; /* its members are submitters; NULL: only the owner */
    const struct base_target *targets;
    size_t target_count;
    const struct role *const *roles; /* get a FIFO each; NULL: none */
};
bool base_init(const struct base_init *init, struct err *err);
/* Makes the directories, FIFOs and locks of a base below `fd`. `roles` as in
 * struct base_init. */
bool base_make(int fd, const struct role *const *roles, struct err *err);

/* Files and directories that others could reach are closed, and those of the
 * file route opened to whoever may submit. base_open does it unless the base is
 * opened to read only, and base_reload. */
bool base_modes_set(const struct base *base, struct err *err);
/* Reports each mode that lets others reach more than it should, as a
 * sentence. */
typedef void base_modes_fault(void *ctx, const char *sentence);
bool base_modes_check(const struct base *base, base_modes_fault *fault,
                      void *ctx, struct err *err);
/* A base whose files a group shared (`init --group` before roles existed) gets
 * a section [access] instead; says so in the log. *ret_changed: it has to be
 * read again. */
bool base_modes_migrate(const struct base *base, bool *ret_changed,
                        struct err *err);
/* "NAME=GITDIR[#BRANCH]". ERR_USAGE. */
bool base_target_parse(const char *text, struct base_target *ret_target,
                       struct err *err);

/* Finds the base to use: `option` (--base), $POINTSMAN_BASE, the nearest
 * .pointsman/ in this directory or above, for root the base in
 * /var/lib/pointsman if there is one, the user's state directory; for root
 * without a home /var/lib/pointsman. The path is absolute, free it; base_open
 * checks whether there is a base (ERR_CONFIG with what to try). ERR_USAGE: the
 * option is empty. ERR_DENIED: a .pointsman/ was found that belongs to another
 * user. ERR_CONFIG: nothing of all this is set. */
bool base_find(const char *option, char **ret_path, struct err *err);
/* The last two of these places. */
bool base_home(char **ret_path, struct err *err);
/* False if the base belongs to another account and this process is not root's:
 * it can only use the base's server. */
bool base_is_ours(const char *path, uid_t *ret_owner);
/* True if there is a base at this path. */
bool base_exists(const char *path);

struct base_open {
    bool read_only; /* for commands that only read: opens the registry so too */
    bool no_store;  /* base->store stays NULL */
    bool exclusive; /* base.lock: ERR_RUNNING while another process has the base
                       open */
    bool force_nfs;
    /* how the registry is opened; read_only is taken from above */
    struct store_options store;
};
/* Checks G2 first: one file system, owner, modes, a working flock, no network
 * file system. Errors: ERR_CONFIG (78) if there is no base or its configuration
 * is wrong, or if a check of G2 fails (100: ERR_REFUSED), ERR_DENIED (77),
 * ERR_RUNNING (99) while fsck --rebuild works on it, ERR_CANNOT (73) if it is
 * removed meanwhile. */
bool base_open(const char *path, const struct base_open *how,
               struct base **ret_base, struct err *err);
/* Opens only the directories of the file route and ctrl/, without reading them:
 * for an account that may submit, but may not open the base. They cannot be
 * synced or listed; nothing else of the base is known. ERR_CONFIG: there is no
 * base. */
bool base_open_drop(const char *path, struct base **ret_base, struct err *err);
void base_close(struct base *base); /* NULL is fine */
/* Sets the error for a base that was removed while it was open, ERR_CANNOT, and
 * returns false. */
bool base_was_removed(const struct base *base, struct err *err);

/* Checks whether the directories of states or log/ hold anything. */
bool base_has_work(int base_fd, bool *ret_any, struct err *err);

/* Reads the files of the configuration, without the settings in the registry.
 * The caller clears it if this succeeds. */
bool base_read_files(const struct base *base, struct config *ret_config,
                     struct err *err);
/* True for a key of [queue] that says whose signatures count. Only who may write
 * the files of the base decides that: `set` refuses it, and a value that an
 * older program stored is not used. */
bool base_setting_is_for_files(struct span key);
/* Reads the configuration again, both files and settings. On an error the
 * previous one stays in use. */
bool base_reload(struct base *base, struct err *err);

/* Since when the base is a restored copy that waits to be resumed
 * (maintenance/restored.h): *ret_since in the arena; empty: it is none. */
#define BASE_RESTORED "restored" /* name of the setting */
bool base_restored(const struct base *base, struct arena *arena,
                   struct span *ret_since, struct err *err);

/* Takes the lock of a role or of the server, by its name: only one process can
 * hold it. ERR_RUNNING: another process does. */
bool base_take_role(struct base *base, const char *role, enum lock_pid_file how,
                    int *ret_fd, struct err *err);
/* Gives up the lock that base_take_role took; *fd is -1 then. */
void base_give_role(struct base *base, const char *role, int *fd);
/* Wakes the process that has the role, if any. Polling finds the same work, so
 * a failure does not matter. */
void base_trigger(const struct base *base, const char *role);
/* The process that holds that role now. 0: none, or it is unknown; -1: there is
 * one, but not known which. */
pid_t base_role_holder(const struct base *base, const char *role);
/* True if a process holds that role now; false if that is unknown. */
bool base_role_is_held(const struct base *base, const char *role);
bool base_any_role_is_held(const struct base *base);

/* Resolves a path from the configuration: relative paths start at the base. */
char *base_resolve(const char *base_path, struct span path,
                   struct arena *arena);

/* Gives a file just created to the owner of the base, if root created it. */
bool base_give_file(const struct base *base, int fd, struct err *err);

/* Looks up the names of [access] on this machine. Unknown names give no role.
 * base_reload calls it. */
void base_access_read(struct base *base);
void base_access_clear(struct base *base);
/* False, ERR_CONFIG: [access] has a name that this machine does not know. */
bool base_access_check(const struct base *base, struct err *err);
/* True if [access] gives anybody a role, known on this machine or not. */
bool base_access_is_set(const struct base *base);
/* Reports each reason why the shell account may not keep its persons apart, as
 * a sentence: it is given a role of its own, runs the checks of a target, can
 * write to its authorized_keys, or has a key there that may do more than act
 * for one person. */
typedef void base_shell_fault(void *ctx, const char *sentence);
void base_shell_check(const struct base *base, base_shell_fault *fault,
                      void *ctx);
/* An account as actor, by its current groups; and whether it has at least this
 * role. */
struct access_actor base_actor(const struct base *base, uid_t uid);
bool base_has_role(const struct base *base, uid_t uid, enum access_role role);
/* True if one of the names, written as in [access], stands for the actor; always
 * for the owner of the base and root. Names that this machine does not know
 * stand for nobody. */
bool base_is_named(const struct base *base, struct span names,
                   const struct access_actor *actor);
/* The same for an account or a person, as recorded with a job. */
bool base_submitter_has_role(const struct base *base,
                             const struct access_owner *submitter,
                             enum access_role role);
/* The actor as which this process acts on a base with these rules. */
struct access_actor base_caller(const struct access_rules *rules);

/* The account under which a command of `submitter` runs, who named `user`
 * (empty: nobody). *ret_account NULL: that of the owner. ERR_DENIED if it may
 * not run here, ERR_CONFIG if `user` is no account. `base` NULL: nothing is
 * configured, and this process is the owner's. */
bool base_run_as_command(const struct base *base, uid_t submitter,
                         struct span user, struct arena *arena,
                         const struct account **ret_account, struct err *err);
/* Likewise for a set of `submitter` on a target that runs checks or a command;
 * *ret_user is an account by name or number, empty: that of the owner. A target
 * that runs nothing takes the sets of everybody. */
bool base_run_as_target(const struct base *base,
                        const struct config_target *target, uid_t submitter,
                        struct arena *arena, struct span *ret_user,
                        struct err *err);
/* How the work of other accounts runs here: their sets on this target, or their
 * commands (NULL). */
enum run_as base_run_as_others(const struct base *base,
                               const struct config_target *target);
/* True if this process is the owner's and may run the jobs of the base;
 * otherwise it is root's in the base of somebody else, whose jobs would run as
 * root: ERR_DENIED with what to do. */
bool base_run_as_owner(const struct base *base, struct err *err);

#endif
