#include "support/test.h"

#include <errno.h>
#include <ftw.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

static char dir[PATH_MAX];
static pid_t dir_owner;

static int remove_one(const char *path, const struct stat *st, int type,
                      struct FTW *ftw) {
    (void)st;
    (void)ftw;
    /* open_up() has restored the permissions that a test removed. */
    return type == FTW_DP ? rmdir(path) : unlink(path);
}

static int open_up(const char *path, const struct stat *st, int type,
                   struct FTW *ftw) {
    (void)ftw;
    if (type == FTW_D || type == FTW_DNR)
        return chmod(path, (st->st_mode & 07777) | 0700);
    return 0;
}

/* A forked child that calls exit() must not remove the directory. */
static void dir_remove(void) {
    if (getpid() != dir_owner)
        return;
    if (chdir("/") != 0)
        return;
    nftw(dir, open_up, 16, FTW_PHYS);
    nftw(dir, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

char *test_dir(void) {
    const char *where = getenv("TMPDIR");

    if (dir_owner != 0)
        return dir;
    if (where == NULL || where[0] != '/')
        where = "/tmp";
    snprintf(dir, sizeof(dir), "%s/pointsman-test.XXXXXX", where);
    if (mkdtemp(dir) == NULL) {
        fprintf(stderr, "cannot create directory '%s': %s\n", dir,
                strerror(errno));
        abort();
    }
    dir_owner = getpid();
    atexit(dir_remove);
    return dir;
}

void test_skip(const char *reason) {
    print_message("# because: %s\n", reason);
    fflush(stdout);
    skip();
    abort(); /* not reached: skip() leaves the test with longjmp */
}

static bool sweep_is(const char *word) {
    const char *sweep = getenv("POINTSMAN_SWEEP");

    return sweep != NULL && strcmp(sweep, word) == 0;
}

unsigned test_sweep_stride(unsigned usual) {
    if (sweep_is("full"))
        return 1;
    /* A prime factor, so that the points include many kinds of call. */
    return sweep_is("once") ? 29 * usual : usual;
}

unsigned test_cases(unsigned usual) {
    return sweep_is("once") ? usual / 5 : usual;
}
