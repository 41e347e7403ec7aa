#include "maintenance/target_config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "os/account.h"
#include "landing/branch_tip.h"
#include "landing/git.h"
#include "landing/ref_move.h"
#include "wire/config_section.h"

/* ---- one branch, two targets --------------------------------------------- */

/* Where the branch of a target is. */
struct place {
    bool is_known;   /* it is a branch, and its repository is there */
    struct stat st;  /* of the directory with the branches */
    struct span ref; /* "refs/heads/main", which symbolic refs lead to */
};

static void place_find(const struct config_target *target,
                       const char *base_path, struct arena *arena,
                       struct place *ret_place) {
    CLEANUP(text_clear) struct text dir = TEXT_INIT, ref = TEXT_INIT;
    *ret_place = (struct place){0};
    if (target->git.len == 0)
        return;
    const char *path = base_resolve(base_path, target->git, arena);
    ret_place->is_known = branch_tip_directory(path, &dir) &&
                          stat(text_string(&dir), &ret_place->st) == 0 &&
                          branch_tip_ref(path, target->branch, &ref);
    ret_place->ref = arena_span(arena, text_span(&ref));
}

static bool is_same(const struct place *a, const struct place *b) {
    return a->is_known && b->is_known && a->st.st_dev == b->st.st_dev &&
           a->st.st_ino == b->st.st_ino && span_equal(a->ref, b->ref);
}

static bool is_alone(const struct config *config, const struct place *places,
                     size_t at, struct err *err) {
    const struct config_target *target = &config->targets[at];
    struct config_spot spot =
        config_spot_of(target->git_origin, target->origin, err);
    for (size_t i = 0; i < at; i++) {
        struct span branch = places[at].ref;
        if (!is_same(&places[i], &places[at]))
            continue;
        if (span_starts(branch, "refs/heads/"))
            branch = span_make(branch.p + 11, branch.len - 11);
        return config_target_refuse_twin(&spot, &config->targets[i], target,
                                         branch);
    }
    return true;
}

bool target_config_is_apart(const struct config *config, const char *base_path,
                            struct err *err) {
    CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
    struct place *places =
        arena_alloc(&arena, (config->target_count + 1) * sizeof(*places));
    for (size_t i = 0; i < config->target_count; i++) {
        place_find(&config->targets[i], base_path, &arena, &places[i]);
        if (!is_alone(config, places, i, err))
            return false;
    }
    return true;
}

/* ---- accounts ------------------------------------------------------------ */

bool target_config_has_users(const struct config *config, struct err *err) {
    CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
    for (size_t i = 0; i < config->target_count; i++) {
        const struct config_target *target = &config->targets[i];
        struct config_spot spot =
            config_spot_of(target->user_origin, target->origin, err);
        struct account account;
        struct err why = {0};
        if (target->user.len > 0 &&
            !account_find(target->user, &arena, &account, &why))
            return config_refuse(&spot, "user of target '%.*s': %s",
                                 (int)target->name.len, target->name.p,
                                 why.text);
    }
    return true;
}

/* ---- the branch ---------------------------------------------------------- */

const char *target_config_obstacle(const char *path, struct span branch,
                                   struct arena *arena) {
    struct err err = {0};
    struct git git;
    if (!git_is_repository(path))
        return NULL;
    if (!git_open(path, NULL, NULL, &git, &err))
        return arena_string(arena, span_of(err.text));
    bool is_free = ref_is_free(&git, arena_string(arena, branch), &err);
    git_close(&git);
    return is_free ? NULL : arena_string(arena, span_of(err.text));
}

enum { BRANCHES_NAMED = 5 };

const char *target_config_branches(const char *path, struct span branch,
                                   struct arena *arena) {
    CLEANUP(text_clear) struct text out = TEXT_INIT, names = TEXT_INIT;
    struct err err;
    struct git git;
    if (!git_open(path, NULL, NULL, &git, &err))
        return NULL;
    bool ok = git_run(
        &git,
        GIT_ARGS("for-each-ref", "--format=%(refname:lstrip=2)", "refs/heads"),
        GIT_QUIET, SPAN(""), &out, NULL, &err);
    git_close(&git);
    struct span rest = text_span(&out), name;
    size_t count = 0;
    while (ok && span_cut(&rest, '\n', &name) && name.len > 0) {
        if (span_equal(name, branch))
            return NULL;
        if (count++ < BRANCHES_NAMED)
            text_addf(&names, "%s%.*s", names.len > 0 ? ", " : "",
                      (int)name.len, name.p);
    }
    if (count > BRANCHES_NAMED)
        text_addf(&names, " and %zu more", count - BRANCHES_NAMED);
    return count > 0 ? arena_string(arena, text_span(&names)) : NULL;
}

/* ---- why it is unavailable ----------------------------------------------- */

enum { BYTES_NEEDED = 64 << 10, INODES_NEEDED = 16 }; /* to write objects */

static const char *const written[] = {"objects", "refs"};

static bool may(const char *path, int how) {
    return faccessat(AT_FDCWD, path, how, AT_EACCESS) == 0;
}

const char *target_config_space_fault(const char *repository,
                                      struct arena *arena) {
    CLEANUP(text_clear) struct text dir = TEXT_INIT;
    if (!branch_tip_directory(repository, &dir))
        return NULL;
    for (size_t i = 0; i < COUNT(written); i++) {
        struct statvfs space;
        const char *path =
            arena_printf(arena, "%s/%s", text_string(&dir), written[i]);
        if (statvfs(path, &space) != 0)
            continue;
        if (space.f_flag & ST_RDONLY)
            return arena_printf(arena, "cannot write into '%s': %s", path,
                                strerror(EROFS));
        /* Some file systems do not count inodes. */
        if ((uint64_t)space.f_bavail * space.f_frsize < BYTES_NEEDED ||
            (space.f_files > 0 && space.f_favail < INODES_NEEDED))
            return arena_printf(arena, "cannot write into '%s': %s", path,
                                strerror(ENOSPC));
    }
    return NULL;
}

static const char *directory_fault(const char *dir, const char *name,
                                   struct arena *arena) {
    const char *path = arena_printf(arena, "%s/%s", dir, name);
    return may(path, W_OK | X_OK)
               ? NULL
               : arena_printf(arena, "cannot write into '%s': %s", path,
                              strerror(errno));
}

static const char *lock_fault(const char *dir, const char *name,
                              struct arena *arena) {
    const char *path = arena_printf(arena, "%s/%s.lock", dir, name);
    return access(path, F_OK) != 0
               ? NULL
               : arena_printf(arena, "somebody has locked it: '%s' is there",
                              path);
}

static const char *repository_fault(const char *path, struct span branch,
                                    struct arena *arena) {
    CLEANUP(text_clear) struct text dir = TEXT_INIT, ref = TEXT_INIT;
    const char *fault = NULL;
    char tip[OID_BYTES];
    if (!branch_tip_directory(path, &dir) ||
        !branch_tip_ref(path, branch, &ref))
        return arena_printf(arena, "cannot read repository '%s'", path);
    if (branch_tip_read(path, branch, tip) && tip[0] == '\0')
        return arena_printf(arena, "no branch '%.*s' in the repository '%s'",
                            (int)branch.len, branch.p, path);
    const char *at = text_string(&dir);
    for (size_t i = 0; fault == NULL && i < COUNT(written); i++)
        fault = directory_fault(at, written[i], arena);
    const char *const locked[] = {text_string(&ref), "HEAD"};
    for (size_t i = 0; fault == NULL && i < COUNT(locked); i++)
        fault = lock_fault(at, locked[i], arena);
    return fault;
}

static bool is_in_path(const char *program, struct arena *arena) {
    const char *path = getenv("PATH");
    struct span rest = span_of(path != NULL ? path : "/usr/bin:/bin"), dir;
    while (span_cut(&rest, ':', &dir))
        if (may(arena_printf(arena, "%.*s/%s", (int)dir.len, dir.p, program),
                X_OK))
            return true;
    return false;
}

/* A program with a relative path is one of the files of the set. */
static const char *program_fault(const struct config_command *command,
                                 struct arena *arena) {
    if (command->count == 0)
        return NULL;
    const char *program = command->words[0];
    if (strchr(program, '/') == NULL)
        return is_in_path(program, arena)
                   ? NULL
                   : arena_printf(arena, "no program '%s' in PATH", program);
    if (program[0] != '/' || may(program, X_OK))
        return NULL;
    return arena_printf(arena, "cannot start '%s': %s", program,
                        strerror(errno));
}

const char *target_config_fault(const struct config_target *target,
                                const char *path, struct arena *arena) {
    const char *fault = program_fault(&target->command, arena);
    if (fault == NULL)
        fault = program_fault(&target->revert, arena);
    for (size_t i = 0; fault == NULL && i < target->check_count; i++)
        fault = program_fault(&target->checks[i].command, arena);
    if (fault == NULL && target->git.len > 0)
        fault = repository_fault(path, target->branch, arena);
    return fault;
}
