/* Who may reach which file of a base. Others pass through the base and ctrl/ to
 * the socket and the FIFOs, and write into the directories of the file route if
 * they may submit; everything else belongs to the owner alone. */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/base.h"
#include "lib/log.h"
#include "os/dir.h"

enum {
    MODE_BITS = 07777,
    FOR_GROUP = 01730,
    FOR_ALL = 01733,
    PASS = 0011,
    CONFIG_BYTES = 1 << 20
};

struct modes {
    const struct base *base;
    base_modes_fault *fault; /* NULL: modes are set instead */
    void *ctx;
};

/* The mode that something should have; gid -1: any group. */
struct wanted {
    mode_t mode;
    gid_t gid;
};

static bool is_right(const struct stat *st, struct wanted wanted) {
    return (st->st_mode & MODE_BITS) == wanted.mode &&
           (wanted.gid == (gid_t)-1 || st->st_gid == wanted.gid);
}

static void report(const struct modes *modes, const char *name,
                   const struct stat *st, struct wanted wanted) {
    CLEANUP(text_clear) struct text text = TEXT_INIT;
    text_addf(&text, "'%s' has mode %04o, not %04o", name,
              (unsigned)(st->st_mode & MODE_BITS), (unsigned)wanted.mode);
    text_adds(&text, "; the next start of the server sets it");
    modes->fault(modes->ctx, text_string(&text));
}

/* More than is wanted. A stricter mode harms nobody, and the server changes
 * it. */
static bool is_too_open(const struct stat *st, struct wanted wanted) {
    return (st->st_mode & MODE_BITS & ~(wanted.mode | S_ISVTX)) != 0 &&
           ((wanted.mode & ~(mode_t)S_IXOTH) != FOR_GROUP ||
            (st->st_mode & MODE_BITS) != FOR_ALL);
}

/* Members of a single group can be told from strangers by the mode. Otherwise
 * everybody may write, and the role decides when the file is taken in. */
static struct wanted wanted_of_drop(const struct base *base) {
    struct wanted wanted = {0700, (gid_t)-1};
    size_t count = 0;
    for (size_t i = 0; i < base->access.grant_count; i++) {
        const struct access_grant *grant = &base->access.grants[i];
        if (grant->role < ACCESS_SUBMITTER || grant->who == ACCESS_PERSON)
            continue;
        bool alone = count++ == 0 && grant->who == ACCESS_GROUP;
        wanted.mode = alone ? FOR_GROUP : FOR_ALL;
        wanted.gid = alone ? (gid_t)grant->id : (gid_t)-1;
    }
    return wanted;
}

/* Checks and commands run in directories below tmp/: as the user of their
 * target, and in a base of root also as the submitters of sets. */
static bool has_users(const struct base *base) {
    for (size_t i = 0; i < base->config.target_count; i++) {
        const struct config_target *target = &base->config.targets[i];
        bool runs = target->check_count > 0 || target->command.count > 0;
        if (target->user.len > 0 || (base->uid == 0 && runs))
            return true;
    }
    return false;
}

static struct wanted wanted_of_dir(const struct base *base, enum base_dir dir) {
    if (base_dir_takes_files(dir)) {
        struct wanted wanted = wanted_of_drop(base);
        if (dir == BASE_TMP && has_users(base))
            wanted.mode |= PASS;
        return wanted;
    }
    return (struct wanted){dir == BASE_CTRL ? 0711 : 0700, (gid_t)-1};
}

static bool open_dir(const struct modes *modes, int fd, const char *name,
                     struct wanted wanted, struct err *err) {
    struct stat st;
    if (fstat(fd, &st) < 0)
        return err_errno(err, errno, "cannot check '%s'", name);
    if (is_right(&st, wanted))
        return true;
    if (modes->fault != NULL) {
        if (is_too_open(&st, wanted))
            report(modes, name, &st, wanted);
        return true;
    }
    if (wanted.gid != (gid_t)-1 && st.st_gid != wanted.gid &&
        disk->fchown(fd, (uid_t)-1, wanted.gid) < 0) {
        if (errno != EPERM)
            return err_errno(err, errno, "cannot set the group of '%s'", name);
        wanted.mode = FOR_ALL; /* the owner is no member of that group */
    }
    if (disk->fchmod(fd, wanted.mode) < 0)
        return err_errno(err, errno, "cannot set the mode of '%s'", name);
    return true;
}

/* A file or a directory that only the owner uses, or a FIFO that others
 * trigger. */
static bool close_one(const struct modes *modes, int dir, const char *name,
                      const char *shown, struct err *err) {
    CLEANUP(fd_close) int fd = -1;
    struct stat st;
    bool there;
    if (!dir_stat(dir, name, &st, &there, err))
        return false;
    if (!there || !(S_ISREG(st.st_mode) || S_ISDIR(st.st_mode)))
        return true;
    struct wanted wanted = {st.st_mode & 0700, (gid_t)-1};
    if (is_right(&st, wanted))
        return true;
    if (modes->fault != NULL) {
        if (is_too_open(&st, wanted))
            report(modes, shown, &st, wanted);
        return true;
    }
    if (!dir_open_file(dir, name, O_RDONLY | O_NONBLOCK, 0, &fd, err))
        return false;
    if (disk->fchmod(fd, wanted.mode) < 0)
        return err_errno(err, errno, "cannot set the mode of '%s'", shown);
    return true;
}

static bool close_ctrl(const struct modes *modes, struct err *err) {
    CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
    struct span *names;
    size_t count;
    int ctrl = modes->base->dirs[BASE_CTRL];
    if (!dir_list(ctrl, &arena, &names, &count, err))
        return false;
    for (size_t i = 0; i < count; i++)
        if (!close_one(modes, ctrl, names[i].p,
                       arena_printf(&arena, "ctrl/%s", names[i].p), err))
            return false;
    return true;
}

/* The base itself comes last: its mode shows that the rest is done. */
static bool go_through(const struct modes *modes, struct err *err) {
    const struct base *base = modes->base;
    for (int dir = 0; dir < BASE_DIRS; dir++)
        if (!open_dir(modes, base->dirs[dir], base_dir_name(dir),
                      wanted_of_dir(base, dir), err))
            return false;
    return close_ctrl(modes, err) &&
           close_one(modes, base->fd, BASE_CONFIG, BASE_CONFIG, err) &&
           close_one(modes, base->fd, "conf.d", "conf.d", err) &&
           open_dir(modes, base->fd, base->path,
                    (struct wanted){0711, (gid_t)-1}, err);
}

bool base_modes_set(const struct base *base, struct err *err) {
    return go_through(&(struct modes){.base = base}, err);
}

/* Nobody else passes through a base with no modes for others at all. */
bool base_modes_check(const struct base *base, base_modes_fault *fault,
                      void *ctx, struct err *err) {
    struct stat st;
    if (fstat(base->fd, &st) == 0 && (st.st_mode & 077) == 0)
        return true;
    return go_through(&(struct modes){base, fault, ctx}, err);
}

/* ---- bases that a group shared ------------------------------------------- */

static void add_group_name(struct text *out, gid_t gid) {
    const struct group *group = getgrgid(gid);
    if (group != NULL)
        text_adds(out, group->gr_name);
    else
        text_addf(out, "%lu", (unsigned long)gid);
}

bool base_modes_migrate(const struct base *base, bool *ret_changed,
                        struct err *err) {
    CLEANUP(text_clear) struct text config = TEXT_INIT, group = TEXT_INIT;
    struct stat st;
    *ret_changed = false;
    if (fstat(base->fd, &st) < 0)
        return err_errno(err, errno, "cannot check '%s'", base->path);
    if ((st.st_mode & S_IWGRP) == 0 || base_access_is_set(base))
        return true;
    add_group_name(&group, st.st_gid);
    if (!dir_read(base->fd, BASE_CONFIG, CONFIG_BYTES, &config, err))
        return false;
    text_addf(&config,
              "\n# Written by an update: the group that shared this base.\n"
              "[access]\nsubmitter = @%s\n",
              text_string(&group));
    if (!dir_write(base->dirs[BASE_TMP], base->fd, BASE_CONFIG,
                   text_span(&config), 0600, DIR_DURABLE, err))
        return err_wrap(err, "cannot give group '%s' its role",
                        text_string(&group));
    *ret_changed = true;
    log_warning(
        "the files of base '%s' now belong to its owner alone; members of "
        "group '%s' use its server and have the role submitter "
        "(" BASE_CONFIG ", [access])",
        base->path, text_string(&group));
    return true;
}
