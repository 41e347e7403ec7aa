#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/base.h"

static char *absolute(const char *path) {
    struct text text = TEXT_INIT;
    char *cwd = path[0] == '/' ? NULL : getcwd(NULL, 0);
    if (cwd)
        text_addf(&text, "%s%s", cwd, strcmp(cwd, "/") == 0 ? "" : "/");
    free(cwd);
    text_adds(&text, path);
    while (text.len > 1 && text.p[text.len - 1] == '/')
        text.p[--text.len] = '\0';
    return text_take(&text);
}

/* A base that belongs to another user is an error and not skipped: otherwise
 * work would end up in an unexpected base. */
static bool is_ours(const char *path, const struct stat *st, struct err *err) {
    if (!S_ISDIR(st->st_mode) || st->st_uid == geteuid() || st->st_uid == 0)
        return true;
    return err_set(err, ERR_DENIED,
                   "'%s' belongs to user %ld, neither to you nor to root; if "
                   "you want to use it, name it with --base or in "
                   "$POINTSMAN_BASE",
                   path, (long)st->st_uid);
}

/* *ret_path stays NULL if no directory above has one. */
static bool find_upwards(char **ret_path, struct err *err) {
    CLEANUP(text_free_string) char *at = absolute(".");
    size_t len = strlen(at);
    if (len > 2 && strcmp(at + len - 2, "/.") == 0)
        at[len - 2] = '\0';
    for (;;) {
        CLEANUP(text_clear) struct text path = TEXT_INIT;
        struct stat st;
        text_addf(&path, "%s/.pointsman", strcmp(at, "/") == 0 ? "" : at);
        if (stat(path.p, &st) == 0 && S_ISDIR(st.st_mode)) {
            if (!is_ours(path.p, &st, err))
                return false;
            *ret_path = text_take(&path);
            return true;
        }
        char *slash = strrchr(at, '/');
        if (!slash || at[1] == '\0')
            return true;
        slash[slash == at] = '\0';
    }
}

bool base_home(char **ret_path, struct err *err) {
    struct text path = TEXT_INIT;
    const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
    if (geteuid() == 0 && base_exists(BASE_SERVICE_PATH))
        text_adds(&path, BASE_SERVICE_PATH);
    else if (state && state[0] == '/')
        text_addf(&path, "%s/pointsman", state);
    else if (home && home[0] == '/')
        text_addf(&path, "%s/.local/state/pointsman", home);
    else if (geteuid() == 0)
        text_adds(&path, BASE_SERVICE_PATH);
    else
        return err_set(err, ERR_CONFIG,
                       "no base named and no HOME: use --base DIR");
    *ret_path = text_take(&path);
    return true;
}

bool base_find(const char *option, char **ret_path, struct err *err) {
    const char *said = option ? option : getenv("POINTSMAN_BASE");
    *ret_path = NULL;
    if (said && said[0]) {
        *ret_path = absolute(said);
        return true;
    }
    if (option)
        return err_set(err, ERR_USAGE, "--base needs a directory");
    if (!find_upwards(ret_path, err))
        return false;
    return *ret_path || base_home(ret_path, err);
}

bool base_is_ours(const char *path, uid_t *ret_owner) {
    struct stat st;
    *ret_owner = geteuid();
    if (!base_exists(path) || stat(path, &st) < 0)
        return true; /* opening it explains what is missing */
    *ret_owner = st.st_uid;
    return geteuid() == 0 || geteuid() == st.st_uid;
}

bool base_exists(const char *path) {
    CLEANUP(text_clear) struct text file = TEXT_INIT;
    text_addf(&file, "%s/" BASE_CONFIG, path);
    return access(file.p, F_OK) == 0;
}
