#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "os/account.h"
#include "os/dir.h"
#include "base/base.h"
#include "base/instance.h"
#include "base/role.h"

/* The parts are made in such an order that a second `init` can continue after
 * an interruption at any point; pointsman.conf comes last and marks the base as
 * complete. */

bool base_target_parse(const char *text, struct base_target *ret_target,
                       struct err *err) {
    struct span rest = span_of(text), name, git = {0};
    if (!span_cut(&rest, '=', &name) || name.len == 0 || rest.len == 0)
        return err_set(err, ERR_USAGE,
                       "target '%s' is not NAME=GITDIR[#BRANCH]", text);
    const char *hash = memrchr(rest.p, '#', rest.len);
    size_t git_len = hash ? (size_t)(hash - rest.p) : rest.len;
    git = span_make(rest.p, git_len);
    struct span branch = {0};
    if (hash)
        branch = span_make(hash + 1, rest.len - git_len - 1);
    if (git.len == 0 || (hash && branch.len == 0))
        return err_set(err, ERR_USAGE,
                       "target '%s' is not NAME=GITDIR[#BRANCH]", text);
    if (memmem(git.p, git.len, "://", 3) != NULL || span_starts(git, "git@"))
        return err_set(err, ERR_USAGE,
                       "target '%.*s': '%.*s' is a URL, but sets land in a "
                       "repository on this machine: create one with 'git clone "
                       "--bare URL DIR', then use --target %.*s=DIR",
                       (int)name.len, name.p, (int)git.len, git.p,
                       (int)name.len, name.p);
    *ret_target =
        (struct base_target){.name = name, .git = git, .branch = branch};
    return true;
}

/* The path is relative to the caller's directory, not to the base. */
static void add_absolute(struct text *out, struct span path) {
    CLEANUP(text_free_string) char *string = span_string(path);
    char *real = realpath(string, NULL);
    char *cwd = !real && string[0] != '/' ? getcwd(NULL, 0) : NULL;
    if (real)
        text_adds(out, real);
    else if (cwd)
        text_addf(out, "%s/%s", cwd, string);
    else
        text_adds(out, string);
    free(real);
    free(cwd);
}

static bool set_target_key(struct config *config, struct span name,
                           const char *key, struct span value,
                           struct err *err) {
    return config_set(config, SPAN("target"), name, span_of(key), value,
                      "--target", 0, err);
}

static bool add_targets(const struct base_init *init, struct config *config,
                        struct err *err) {
    for (size_t i = 0; i < init->target_count; i++) {
        const struct base_target *target = &init->targets[i];
        CLEANUP(text_clear) struct text git = TEXT_INIT;
        add_absolute(&git, target->git);
        if (!set_target_key(config, target->name, "git", text_span(&git),
                            err) ||
            (target->branch.len > 0 &&
             !set_target_key(config, target->name, "branch", target->branch,
                             err)))
            return false;
    }
    return config_finish(config, err);
}

static bool add_group(const struct base_init *init, struct config *config,
                      struct err *err) {
    CLEANUP(text_clear) struct text name = TEXT_INIT;
    if (init->group == NULL)
        return true;
    text_addf(&name, "@%s", init->group);
    return config_set(config, SPAN("access"), (struct span){0},
                      SPAN("submitter"), text_span(&name), "--group", 0, err);
}

static void write_defaults(struct config *config, struct text *out) {
    struct config_entry entry;
    const char *section = "";
    struct config_cursor cursor = {0};
    while (config_next(config, &cursor, &entry)) {
        if (entry.label.p)
            continue;
        if (strcmp(entry.section, section) != 0)
            text_addf(out, "\n[%s]\n", entry.section);
        section = entry.section;
        text_addf(out, "# %s\n%s%.*s =%s%.*s\n", entry.meaning,
                  entry.origin.file != NULL ? "" : "# ", (int)entry.key.len,
                  entry.key.p, entry.value.len ? " " : "", (int)entry.value.len,
                  entry.value.p ? entry.value.p : "");
    }
}

static bool write_config(const struct base_init *init, struct text *out,
                         struct err *err) {
    struct config config;
    config_init(&config);
    bool ok = add_targets(init, &config, err) && add_group(init, &config, err);
    text_adds(out,
              "# Configuration of this Pointsman base, see pointsman.conf(5).\n"
              "# A key that is commented out has its default, the value "
              "shown. Comments need\n"
              "# a line of their own. 'pointsman config check' shows "
              "each value in force and\n"
              "# where it was set.\n");
    for (size_t i = 0; ok && i < config.target_count; i++) {
        text_addc(out, '\n');
        config_target_write(&config, &config.targets[i], out);
    }
    if (ok && config.target_count == 0)
        text_adds(out, "\n# A target is a branch that change sets land on, for "
                       "example:\n"
                       "# [target \"main\"]\n"
                       "# git = /srv/git/project.git\n"
                       "# branch = main\n");
    if (ok)
        write_defaults(&config, out);
    config_clear(&config);
    return ok;
}

static bool make_path(const char *path, mode_t mode, struct err *err) {
    CLEANUP(text_free_string) char *part = mem_string(path);
    for (char *slash = strchr(part + 1, '/'); slash;
         slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        if (mkdir(part, 0755) < 0 && errno != EEXIST)
            return err_errno(err, errno, "cannot create directory '%s'", part);
        *slash = '/';
    }
    if (mkdir(path, mode) < 0 && errno != EEXIST)
        return err_errno(err, errno, "cannot create directory '%s'", path);
    return true;
}

static bool check_group(const char *name, struct err *err) {
    gid_t gid;
    if (name == NULL || account_group_find(span_of(name), &gid, err))
        return true;
    err->kind = ERR_USAGE;
    return false;
}

static bool set_mode(int fd, mode_t mode, const char *name, struct err *err) {
    if (disk->fchmod(fd, mode) < 0)
        return err_errno(err, errno, "cannot set the mode of '%s'", name);
    return true;
}

static bool make_dirs(int fd, struct err *err) {
    for (int dir = 0; dir < BASE_DIRS; dir++) {
        CLEANUP(fd_close) int made = -1;
        const char *name = base_dir_name(dir);
        mode_t mode = dir == BASE_CTRL ? 0711 : 0700;
        if (!dir_make(fd, name, mode, err) || !dir_open(fd, name, &made, err) ||
            !set_mode(made, mode, name, err))
            return false;
    }
    return true;
}

static bool make_fifos(int ctrl, const struct role *const *roles,
                       struct err *err) {
    for (; roles && *roles; roles++) {
        CLEANUP(fd_close) int fd = -1;
        char name[64];
        snprintf(name, sizeof(name), BASE_ROLE_FIFO, (*roles)->name);
        if (disk->mkfifoat(ctrl, name, 0622) < 0 && errno != EEXIST)
            return err_errno(err, errno, "cannot create FIFO '%s'", name);
        if (!dir_open_file(ctrl, name, O_RDWR | O_NONBLOCK, 0, &fd, err) ||
            !set_mode(fd, 0622, name, err))
            return false;
    }
    return true;
}

/* Job files or logs without a registry mean that the registry was lost. */
static bool refuse_orphans(int fd, const char *path, struct err *err) {
    struct stat st;
    bool there, any = false;
    if (!dir_stat(fd, BASE_REGISTRY, &st, &there, err))
        return false;
    if (!there && !base_has_work(fd, &any, err))
        return false;
    if (!any)
        return true;
    return err_set(err, ERR_REFUSED,
                   "'%s' holds job files whose registry is lost: 'pointsman "
                   "fsck --rebuild' rebuilds it, or 'pointsman restore' "
                   "restores a backup",
                   path);
}

/* The registry's log and index stay beside it and would keep the modes that
 * they were created with. */
static bool make_registry(const char *path, int ctrl, struct err *err) {
    static const char *const names[] = {"registry.db", "registry.db-wal",
                                        "registry.db-shm"};
    CLEANUP(text_clear) struct text file = TEXT_INIT;
    struct store_options options = {.create = true};
    struct store *store;
    text_addf(&file, "%s/" BASE_REGISTRY, path);
    if (!store_sqlite_open(file.p, &options, &store, err))
        return false;
    store_close(store);
    for (size_t i = 0; i < COUNT(names); i++) {
        CLEANUP(fd_close) int fd = -1;
        struct err why = {0};
        if (!dir_open_file(ctrl, names[i], O_RDWR, 0, &fd, &why)) {
            if (why.sys == ENOENT)
                continue;
            return err_set(err, why.kind, "%s", why.text);
        }
        if (!set_mode(fd, 0600, names[i], err))
            return false;
    }
    return true;
}

static bool make_locks(int ctrl, struct err *err) {
    static const char *const names[] = {"base.lock", "projection.lock"};
    for (size_t i = 0; i < COUNT(names); i++) {
        CLEANUP(fd_close) int fd = -1;
        if (!dir_open_file(ctrl, names[i], O_RDWR | O_CREAT, 0600, &fd, err) ||
            !set_mode(fd, 0600, names[i], err))
            return false;
    }
    return true;
}

static bool make_name(int fd, int ctrl, struct err *err) {
    CLEANUP(fd_close) int tmp = -1;
    return dir_open(fd, "tmp", &tmp, err) && instance_make(tmp, ctrl, err);
}

bool base_make(int fd, const struct role *const *roles, struct err *err) {
    CLEANUP(fd_close) int ctrl = -1;
    return set_mode(fd, 0711, "base", err) && make_dirs(fd, err) &&
           dir_open(fd, "ctrl", &ctrl, err) && make_fifos(ctrl, roles, err) &&
           make_locks(ctrl, err) && make_name(fd, ctrl, err);
}

static bool make_config(const struct base_init *init, int fd,
                        struct span config, struct err *err) {
    CLEANUP(fd_close) int ctrl = -1;
    CLEANUP(fd_close) int tmp = -1;
    if (!dir_open(fd, "ctrl", &ctrl, err) || !dir_open(fd, "tmp", &tmp, err) ||
        !make_registry(init->path, ctrl, err))
        return false;
    if (disk->syncfs(fd) < 0)
        return err_errno(err, errno, "cannot sync '%s'", init->path);
    return dir_write(tmp, fd, BASE_CONFIG, config, 0600, DIR_DURABLE, err);
}

/* The directories of the file route get their modes when the base is opened. */
static bool open_once(const char *path, struct err *err) {
    struct base *base = NULL;
    bool ok =
        base_open(path, &(struct base_open){.no_store = true}, &base, err);
    base_close(base);
    return ok;
}

/* SQLite accepts no longer paths. */
static bool path_fits(const char *path, struct err *err) {
    CLEANUP(text_free_string) char *whole = realpath(path, NULL);
    size_t bytes = strlen(whole ? whole : path);
    return bytes <= BASE_PATH_BYTES ||
           err_set(err, ERR_CANNOT,
                   "the path of a base may have at most %d bytes, this one has "
                   "%zu: '%.60s...'",
                   BASE_PATH_BYTES, bytes, whole ? whole : path);
}

bool base_init(const struct base_init *init, struct err *err) {
    CLEANUP(text_clear) struct text config = TEXT_INIT;
    CLEANUP(fd_close) int fd = -1;
    if (base_exists(init->path))
        return err_set(err, ERR_REFUSED, "'%s' is a base already%s", init->path,
                       init->target_count > 0
                           ? ": write the target into its pointsman.conf"
                           : "");
    if (!check_group(init->group, err) || !write_config(init, &config, err) ||
        !make_path(init->path, 0700, err))
        return false;
    fd = open(init->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return err_errno(err, errno, "cannot open '%s'", init->path);
    return path_fits(init->path, err) && refuse_orphans(fd, init->path, err) &&
           base_make(fd, init->roles, err) &&
           make_config(init, fd, text_span(&config), err) &&
           (init->group == NULL || open_once(init->path, err));
}
