#include "base/base.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#include "os/dir.h"
#include "os/fifo.h"
#include "os/lock.h"
#include "wire/set_name.h"

enum { CONFIG_BYTES = 1 << 20 };

const char *base_dir_name(enum base_dir dir) {
    static const char *const names[] = {
        [BASE_TMP] = "tmp",           [BASE_DATA] = "data",
        [BASE_PREQUEUE] = "prequeue", [BASE_REJECT] = "reject",
        [BASE_LOG] = "log",           [BASE_CTRL] = "ctrl",
        [BASE_ARCHIVE] = "archive",   [BASE_ATTEMPTS] = "attempts",
    };
    return dir < BASE_TMP ? job_state_dir((enum job_state)dir) : names[dir];
}

bool base_dir_takes_files(enum base_dir dir) {
    return dir == BASE_TMP || dir == BASE_DATA || dir == BASE_PREQUEUE;
}

/* ---- requirements (doc/design/registry.md, G2) ------------------------ */

static const char *network_name(const struct statfs *fs) {
    switch ((unsigned long)fs->f_type) {
    case 0x6969:
        return "NFS";
    case 0x517B:
    case 0xFF534D42:
    case 0xFE534D42:
        return "SMB";
    case 0x5346414F:
    case 0x6B414653:
        return "AFS";
    case 0x73757245:
        return "Coda";
    default:
        return NULL;
    }
}

static bool check_file_system(const struct base *base, struct err *err) {
    struct statfs fs;
    if (fstatfs(base->fd, &fs) < 0)
        return err_errno(err, errno, "cannot check '%s'", base->path);
    const char *network = network_name(&fs);
    if (network)
        return err_set(err, ERR_REFUSED,
                       "base '%s' is on %s, where locks and syncs cannot "
                       "be relied on: put it on a local disk",
                       base->path, network);
    return true;
}

static bool check_dir(const struct base *base, enum base_dir dir, dev_t dev,
                      struct err *err) {
    struct stat st;
    const char *name = base_dir_name(dir);
    if (fstat(base->dirs[dir], &st) < 0)
        return err_errno(err, errno, "cannot check '%s'", name);
    if (st.st_dev != dev)
        return err_set(err, ERR_REFUSED,
                       "directory '%s' of base '%s' is on another file system: "
                       "all directories of a base must be on one",
                       name, base->path);
    if (st.st_uid != base->uid)
        return err_set(err, ERR_REFUSED,
                       "directory '%s' of base '%s' belongs to user %ld, the "
                       "base to user %ld: chown it",
                       name, base->path, (long)st.st_uid, (long)base->uid);
    if ((st.st_mode & S_IWOTH) &&
        !(base_dir_takes_files(dir) && (st.st_mode & S_ISVTX)))
        return err_set(err, ERR_REFUSED,
                       "directory '%s' of base '%s' is writable by everybody: "
                       "chmod o-w it%s",
                       name, base->path,
                       base_dir_takes_files(dir) ? " (or 1733)" : "");
    return true;
}

enum { LOCK_TRIES = 20 };
static const struct timespec between_tries = {.tv_nsec = 50 * NS_PER_MS};

/* Every process that has the base open holds a shared lock on base.lock; taking
 * it also tests whether locks work here. It is held exclusively for a moment
 * only when the registry is migrated. */
static bool lock_base(struct base *base, bool exclusive, struct err *err) {
    struct err why = {0};
    for (int i = 0; i < LOCK_TRIES; i++) {
        if (!lock_take(base->dirs[BASE_CTRL], "base.lock",
                       exclusive ? LOCK_EXCLUSIVE : LOCK_SHARED,
                       !base->read_only, false, &base->lock_fd, &why))
            return why.sys == EIO
                       ? err_set(err, why.kind, "cannot open base '%s': %s",
                                 base->path, why.text)
                       : err_set(err,
                                 why.kind == ERR_CANNOT ? ERR_REFUSED
                                                        : why.kind,
                                 "locks do not work in base '%s': %s",
                                 base->path, why.text);
        if (base->lock_fd >= 0 || base->read_only)
            return true;
        if (exclusive)
            break;
        nanosleep(&between_tries, NULL);
    }
    return err_set(
        err, ERR_RUNNING,
        exclusive ? "base '%s' is in use: stop its server and daemons first"
                  : "base '%s' is being rebuilt or restored: try again "
                    "when that is done",
        base->path);
}

static bool open_dirs(struct base *base, struct err *err) {
    struct err why = {0};
    for (int dir = 0; dir < BASE_DIRS; dir++) {
        if (dir_open(base->fd, base_dir_name(dir), &base->dirs[dir], &why))
            continue;
        if (why.sys == ENOENT)
            return err_set(err, ERR_CONFIG,
                           "base '%s' has no directory '%s': create it, or "
                           "restore it from a backup",
                           base->path, base_dir_name(dir));
        return err_set(err, why.kind, "base '%s': %s", base->path, why.text);
    }
    return true;
}

static bool check_dirs(struct base *base, bool force_nfs, struct err *err) {
    struct stat st;
    if (fstat(base->fd, &st) < 0)
        return err_errno(err, errno, "cannot check '%s'", base->path);
    if ((st.st_mode & S_IWOTH))
        return err_set(err, ERR_REFUSED,
                       "base '%s' is writable by everybody: chmod o-w it",
                       base->path);
    if (!force_nfs && !check_file_system(base, err))
        return false;
    for (int dir = 0; dir < BASE_DIRS; dir++)
        if (!check_dir(base, dir, st.st_dev, err))
            return false;
    return true;
}

/* ---- access ---------------------------------------------------------- */

bool base_give_file(const struct base *base, int fd, struct err *err) {
    if (geteuid() != 0 || base->uid == 0)
        return true;
    if (disk->fchown(fd, base->uid, base->gid) < 0)
        return err_errno(err, errno,
                         "cannot change the owner of a file to user %ld",
                         (long)base->uid);
    return true;
}

/* Most often somebody is in the wrong directory, and no .pointsman was found.
 */
static bool refuse_absent(const struct base *base, struct err *err) {
    CLEANUP(text_free_string) char *home = NULL;
    /* base_home() prefers it to the home of root. */
    bool is_service =
        geteuid() == 0 && strcmp(base->path, BASE_SERVICE_PATH) != 0;
    if (base_home(&home, NULL) && strcmp(home, base->path) == 0)
        return err_set(err, ERR_CONFIG,
                       "no base: there is no .pointsman in this directory or "
                       "above, and no '%s'%s; change to its directory, name "
                       "it with --base, or create one here with 'pointsman "
                       "init'",
                       base->path,
                       is_service ? " or '" BASE_SERVICE_PATH "'" : "");
    return err_set(err, ERR_CONFIG,
                   "no base in '%s': name another with --base, or create one "
                   "there with 'pointsman init %s'",
                   base->path, base->path);
}

/* A directory that is no base; it may hold one. */
static bool refuse_other(const struct base *base, struct err *err) {
    CLEANUP(text_clear) struct text below = TEXT_INIT;
    text_addf(&below, "%s/.pointsman", base->path);
    if (base_exists(below.p))
        return err_set(err, ERR_CONFIG, "no base in '%s'; did you mean '%s'?",
                       base->path, below.p);
    return err_set(
        err, ERR_CONFIG,
        "'%s' is not a base, it has no pointsman.conf: name the "
        "directory of one with --base, or create one with 'pointsman init'",
        base->path);
}

static bool open_directory(struct base *base, struct err *err) {
    struct stat st;
    /* Others may pass through the directory to the socket, no more. */
    if (!base_is_ours(base->path, &base->uid))
        return err_set(err, ERR_DENIED,
                       "only the owner of base '%s' (uid %ld) and root can "
                       "open its files; others need its server",
                       base->path, (long)base->uid);
    base->fd = open(base->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (base->fd < 0 && errno == ENOTDIR)
        return err_set(err, ERR_CONFIG,
                       "'%s' is not a directory; name the directory of a base "
                       "with --base",
                       base->path);
    if (base->fd < 0 && errno == ENOENT)
        return refuse_absent(base, err);
    if (base->fd < 0 || fstat(base->fd, &st) < 0)
        return err_errno(err, errno, "cannot open base '%s'", base->path);
    base->uid = st.st_uid;
    base->gid = st.st_gid;
    base->access.owner = st.st_uid;
    if (faccessat(base->fd, BASE_CONFIG, F_OK, AT_EACCESS) < 0)
        return refuse_other(base, err);
    return true;
}

/* ---- configuration --------------------------------------------------- */

static bool read_config(const struct base *base, const char *file,
                        struct config *config, struct err *err) {
    CLEANUP(text_clear) struct text text = TEXT_INIT;
    struct err why = {0};
    if (!dir_read(base->fd, file, CONFIG_BYTES, &text, &why))
        return err_set(err, ERR_CONFIG, "%s", why.text);
    return config_read(config, text_span(&text), file, err);
}

static bool read_configs(const struct base *base, struct config *config,
                         struct err *err) {
    CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
    CLEANUP(fd_close) int fd = -1;
    struct span *names;
    size_t count;
    struct err why = {0};
    if (!read_config(base, BASE_CONFIG, config, err))
        return false;
    if (!dir_open(base->fd, "conf.d", &fd, &why)) {
        if (why.sys == ENOENT)
            return config_finish(config, err);
        return err_set(err, ERR_CONFIG, "%s", why.text);
    }
    if (!dir_list(fd, &arena, &names, &count, err))
        return false;
    for (size_t i = 0; i < count; i++) {
        if (names[i].p[0] == '.' || !span_ends(names[i], ".conf"))
            continue;
        if (!read_config(base, arena_printf(&arena, "conf.d/%s", names[i].p),
                         config, err))
            return false;
    }
    return config_finish(config, err);
}

bool base_read_files(const struct base *base, struct config *ret_config,
                     struct err *err) {
    config_init(ret_config);
    if (read_configs(base, ret_config, err))
        return true;
    config_clear(ret_config);
    return false;
}

bool base_setting_is_for_files(struct span key) {
    return span_is(key, "allowed-signers") || span_is(key, "revoked-keys");
}

/* Settings that `set` stored in the registry override the files. A value that
 * is no longer valid (a newer program may have other bounds) is skipped. */
static bool apply_settings(const struct base *base, struct config *config,
                           struct err *err) {
    CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
    struct span *names, *values;
    size_t count;
    if (!base->store)
        return true;
    if (!store_settings(base->store, &arena, &names, &values, &count, err))
        return false;
    for (size_t i = 0; i < count; i++) {
        struct span key = names[i], section;
        if (span_cut(&key, '.', &section) && span_is(section, "queue") &&
            !base_setting_is_for_files(key))
            (void)config_set(config, section, (struct span){0}, key, values[i],
                             "set", 0, NULL);
    }
    return true;
}

bool base_reload(struct base *base, struct err *err) {
    struct config fresh;
    bool changed;
    if (!base_read_files(base, &fresh, err))
        return false;
    if (!apply_settings(base, &fresh, err)) {
        config_clear(&fresh);
        return false;
    }
    config_clear(&base->config);
    base->config = fresh;
    base_access_read(base);
    if (base->read_only)
        return true;
    if (!base_modes_migrate(base, &changed, err))
        return false;
    return changed ? base_reload(base, err) : base_modes_set(base, err);
}

/* ---- registry -------------------------------------------------------- */

static bool note_any(void *ctx, struct span name) {
    (void)name;
    *(bool *)ctx = true;
    return false;
}

bool base_has_work(int base_fd, bool *ret_any, struct err *err) {
    *ret_any = false;
    for (int dir = 0; dir < BASE_DIRS && !*ret_any; dir++) {
        CLEANUP(fd_close) int fd = -1;
        if ((dir < BASE_TMP || dir == BASE_LOG) &&
            dir_open(base_fd, base_dir_name(dir), &fd, NULL) &&
            !dir_each(fd, note_any, ret_any, err))
            return false;
    }
    return true;
}

/* Migrates the registry if no other process has the base open: one of an older
 * program would go on writing rows that lack what the new version adds. */
static bool migrate_store(struct base *base, const struct base_open *how,
                          const char *path, struct err *err) {
    struct store_options options = {0};
    struct store *store;
    if (!how->exclusive) {
        fd_close(&base->lock_fd);
        if (!lock_take(base->dirs[BASE_CTRL], "base.lock", LOCK_EXCLUSIVE,
                       !base->read_only, false, &base->lock_fd, err))
            return false;
    }
    if (base->lock_fd < 0)
        nanosleep(&between_tries, NULL); /* or it is being migrated now */
    else if (store_sqlite_open(path, &options, &store, err))
        store_close(store);
    else
        return false;
    if (how->exclusive)
        return true;
    fd_close(&base->lock_fd);
    return lock_base(base, false, err);
}

/* After an update of the program even a command that only reads migrates the
 * registry to the new version, if it may write there. */
static bool open_current(struct base *base, const struct base_open *how,
                         const char *path, const struct store_options *options,
                         struct err *err) {
    struct err why = {0};
    for (int i = 0; !store_sqlite_open(path, options, &base->store, &why);
         i++) {
        if (why.kind == ERR_REFUSED && i == LOCK_TRIES)
            return err_set(err, ERR_RUNNING,
                           "%s, and another process has the base open: stop "
                           "its server and daemons first",
                           why.text);
        if (why.kind != ERR_REFUSED)
            return err_set(err, why.kind, "%s", why.text);
        if (access(path, W_OK) < 0)
            return err_set(err, ERR_TEMPORARY,
                           "%s: use it once as somebody who may write there",
                           why.text);
        if (!migrate_store(base, how, path, err))
            return false;
    }
    return true;
}

static bool open_store(struct base *base, const struct base_open *how,
                       struct err *err) {
    CLEANUP(text_clear) struct text path = TEXT_INIT;
    struct store_options options = how->store;
    bool work = false;
    options.read_only = how->read_only;
    options.create = false;
    text_addf(&path, "%s/" BASE_REGISTRY, base->path);
    if (access(path.p, F_OK) < 0 && errno == ENOENT) {
        if (!base_has_work(base->fd, &work, err))
            return false;
        if (work || how->read_only)
            return err_set(err, ERR_CONFIG,
                           "the registry '%s' is lost: 'pointsman fsck "
                           "--rebuild' rebuilds it from the files, "
                           "'pointsman restore' restores a backup",
                           path.p);
        options.create = true;
    }
    options.keep_version = !options.create;
    if (!open_current(base, how, path.p, &options, err))
        return err_wrap(err, "cannot open the registry of '%s'", base->path);
    return !options.create || base_modes_set(base, err);
}

/* ---- open, close ----------------------------------------------------- */

static void find_host(char ret[64]) {
    char host[HOST_NAME_MAX + 1] = "";
    CLEANUP(text_clear) struct text clean = TEXT_INIT;
    (void)gethostname(host, sizeof(host) - 1);
    set_host_clean(span_of(host), &clean);
    snprintf(ret, 64, "%s", text_string(&clean));
}

static bool open_all(struct base *base, const struct base_open *how,
                     struct err *err) {
    return open_directory(base, err) && open_dirs(base, err) &&
           check_dirs(base, how->force_nfs, err) &&
           lock_base(base, how->exclusive, err) && base_reload(base, err) &&
           (how->no_store || (open_store(base, how, err) &&
                              apply_settings(base, &base->config, err)));
}

static struct base *base_new(const char *path) {
    struct base *base = mem_alloc(sizeof(*base));
    base->fd = base->lock_fd = -1;
    for (int dir = 0; dir < BASE_DIRS; dir++)
        base->dirs[dir] = -1;
    config_init(&base->config);
    find_host(base->host);
    base->path = realpath(path, NULL);
    if (!base->path)
        base->path = mem_string(path);
    return base;
}

static bool open_drop(struct base *base, struct err *err) {
    enum { FLAGS = O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC };
    base->fd = open(base->path, FLAGS);
    if (base->fd < 0)
        return err_errno(err, errno, "cannot open base '%s'", base->path);
    for (int dir = 0; dir < BASE_DIRS; dir++) {
        const char *name = base_dir_name(dir);
        if (!base_dir_takes_files(dir) && dir != BASE_CTRL)
            continue;
        base->dirs[dir] = openat(base->fd, name, FLAGS);
        if (base->dirs[dir] < 0)
            return err_errno(err, errno, "cannot open '%s' of base '%s'", name,
                             base->path);
    }
    return true;
}

bool base_open_drop(const char *path, struct base **ret_base, struct err *err) {
    struct base *base = base_new(path);
    base->is_drop = base->read_only = true;
    (void)base_is_ours(base->path, &base->uid);
    if (!open_drop(base, err)) {
        base_close(base);
        return false;
    }
    *ret_base = base;
    return true;
}

bool base_open(const char *path, const struct base_open *how,
               struct base **ret_base, struct err *err) {
    struct base *base = base_new(path);
    base->read_only = how->read_only;
    if (!open_all(base, how, err)) {
        /* It was there a moment ago, so what failed is not the reason. */
        if (base->fd >= 0 && access(base->path, F_OK) < 0 && errno == ENOENT)
            base_was_removed(base, err);
        base_close(base);
        return false;
    }
    *ret_base = base;
    return true;
}

bool base_was_removed(const struct base *base, struct err *err) {
    return err_set(err, ERR_CANNOT, "base '%s' was removed", base->path);
}

void base_close(struct base *base) {
    if (!base)
        return;
    store_close(base->store);
    base_access_clear(base);
    config_clear(&base->config);
    for (int dir = 0; dir < BASE_DIRS; dir++)
        fd_close(&base->dirs[dir]);
    fd_close(&base->lock_fd);
    fd_close(&base->fd);
    free(base->path);
    free(base);
}

/* ---- roles ----------------------------------------------------------- */

bool base_restored(const struct base *base, struct arena *arena,
                   struct span *ret_since, struct err *err) {
    return store_setting(base->store, SPAN(BASE_RESTORED), arena, ret_since,
                         err);
}

bool base_take_role(struct base *base, const char *role, enum lock_pid_file how,
                    int *ret_fd, struct err *err) {
    char name[64];
    snprintf(name, sizeof(name), BASE_ROLE_LOCK, role);
    if (!lock_take_pid_file(base->dirs[BASE_CTRL], name, how, ret_fd, err))
        return err_wrap(err, "role '%s' in base '%s'", role, base->path);
    return true;
}

void base_give_role(struct base *base, const char *role, int *fd) {
    char name[64];
    snprintf(name, sizeof(name), BASE_ROLE_LOCK, role);
    lock_give_pid_file(base->dirs[BASE_CTRL], name, fd);
}

void base_trigger(const struct base *base, const char *role) {
    char name[64];
    snprintf(name, sizeof(name), BASE_ROLE_FIFO, role);
    fifo_trigger(base->dirs[BASE_CTRL], name);
}

static bool is_held(const struct base *base, const char *lock) {
    pid_t holder = 0;
    return lock_pid_file_holder(base->dirs[BASE_CTRL], lock, &holder, NULL) &&
           holder != 0;
}

pid_t base_role_holder(const struct base *base, const char *role) {
    char name[64];
    pid_t holder = 0;
    snprintf(name, sizeof(name), BASE_ROLE_LOCK, role);
    (void)lock_pid_file_holder(base->dirs[BASE_CTRL], name, &holder, NULL);
    return holder;
}

bool base_role_is_held(const struct base *base, const char *role) {
    return base_role_holder(base, role) != 0;
}

bool base_any_role_is_held(const struct base *base) {
    CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
    struct span *names;
    size_t count;
    if (!dir_list(base->dirs[BASE_CTRL], &arena, &names, &count, NULL))
        return false;
    for (size_t i = 0; i < count; i++)
        if (span_ends(names[i], ".pid") && is_held(base, names[i].p))
            return true;
    return false;
}

char *base_resolve(const char *base_path, struct span path,
                   struct arena *arena) {
    if (path.len > 0 && path.p[0] == '/')
        return arena_string(arena, path);
    return arena_printf(arena, "%s/%.*s", base_path, (int)path.len, path.p);
}
