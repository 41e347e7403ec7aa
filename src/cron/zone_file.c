#include "cron/zone_file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cron/tzif.h"
#include "cron/zone.h"

static const char system_path[] = "/etc/localtime";

/* ---- one file ------------------------------------------------------------ */

static struct file_stamp stamp_of(const struct stat *status) {
    return (struct file_stamp){status->st_dev, status->st_ino, status->st_size,
                               status->st_mtim};
}

bool zone_file_stamp(const char *path, struct file_stamp *ret_stamp) {
    struct stat status;

    if (stat(path, &status) != 0)
        return false;
    *ret_stamp = stamp_of(&status);
    return true;
}

static bool cannot_read(const char *path, int number, struct cron_err *err) {
    char reason[128];

    return fault_set(err, CRON_ERR_SYSTEM, "cannot read zone file '%s': %s",
                     path, strerror_r(number, reason, sizeof(reason)));
}

static bool read_all(int fd, char *buffer, size_t bytes) {
    size_t done = 0;

    while (done < bytes) {
        ssize_t got = read(fd, buffer + done, bytes - done);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0) {
            errno = got == 0 ? EIO : errno;
            return false;
        }
        done += (size_t)got;
    }
    return true;
}

static bool read_fd(int fd, const char *path, const char *name,
                    struct cron_zone **ret_zone, struct file_stamp *ret_stamp,
                    struct cron_err *err) {
    struct stat status;
    char *buffer;
    bool ok;

    if (fstat(fd, &status) != 0)
        return cannot_read(path, errno, err);
    if (!S_ISREG(status.st_mode))
        return fault_set(err, CRON_ERR_ZONE, "zone '%s' is not a file", name);
    if (status.st_size > TZIF_BYTES_MOST)
        return fault_set(err, CRON_ERR_ZONE,
                         "zone file '%s' is too long to be one", path);
    buffer = malloc((size_t)status.st_size + 1);
    if (buffer == NULL)
        return fault_memory(err);
    ok = read_all(fd, buffer, (size_t)status.st_size)
             ? tzif_decode(buffer, (size_t)status.st_size, path, ret_zone, err)
             : cannot_read(path, errno, err);
    free(buffer);
    if (ok)
        *ret_stamp = stamp_of(&status);
    return ok;
}

/* Reads the zone at exactly that path. */
static bool read_path(const char *path, const char *name,
                      struct cron_zone **ret_zone, struct file_stamp *ret_stamp,
                      struct cron_err *err) {
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    bool ok;

    if (fd < 0)
        return cannot_read(path, errno, err);
    ok = read_fd(fd, path, name, ret_zone, ret_stamp, err);
    close(fd);
    if (ok && !zone_set_name(*ret_zone, name, err)) {
        cron_zone_unref(*ret_zone);
        return false;
    }
    return ok;
}

/* ---- the database -------------------------------------------------------- */

enum { DATABASES = 4 };

static size_t databases(const char *ret[DATABASES]) {
    const char *candidates[DATABASES] = {getenv("ZONEINFO"), getenv("TZDIR"),
                                         "/usr/share/zoneinfo",
                                         "/usr/lib/zoneinfo"};
    size_t count = 0;

    for (size_t i = 0; i < DATABASES; i++)
        if (candidates[i] != NULL && candidates[i][0] == '/')
            ret[count++] = candidates[i];
    return count;
}

/* "Area/City": no name that leads out of the database. */
static bool is_name(const char *name) {
    size_t part = 0, len = strlen(name);

    if (len == 0 || len > 255)
        return false;
    for (size_t i = 0; i <= len; i++) {
        char c = name[i];
        if (c != '/' && c != '\0') {
            if ((unsigned char)c <= ' ' || c == 0x7f)
                return false;
            part++;
            continue;
        }
        if (part == 0 || (part == 1 && name[i - 1] == '.') ||
            (part == 2 && name[i - 1] == '.' && name[i - 2] == '.'))
            return false;
        part = 0;
    }
    return true;
}

static bool find_name(const char *name, char ret_path[ZONE_PATH_BYTES]) {
    const char *dirs[DATABASES];
    size_t count = databases(dirs);
    struct stat status;

    for (size_t i = 0; i < count; i++) {
        int len = snprintf(ret_path, ZONE_PATH_BYTES, "%s/%s", dirs[i], name);
        if (len < ZONE_PATH_BYTES && stat(ret_path, &status) == 0 &&
            S_ISREG(status.st_mode))
            return true;
    }
    return false;
}

/* ---- what was meant ------------------------------------------------------ */

struct guess {
    const char *word;
    char best[256];
    unsigned distance;
    bool any; /* a database exists at all */
};

static void look_at(struct guess *guess, const char *name) {
    const char *city = strrchr(name, '/');
    unsigned distance = fault_word_distance(guess->word, name);

    if (city != NULL && strchr(guess->word, '/') == NULL &&
        fault_word_distance(guess->word, city + 1) < distance)
        distance = fault_word_distance(guess->word, city + 1);
    if (distance < guess->distance) {
        guess->distance = distance;
        snprintf(guess->best, sizeof(guess->best), "%s", name);
    }
}

/* Areas begin with a capital; "posix" and "right" hold the same zones again. */
static void look_below(struct guess *guess, const char *dir, const char *prefix,
                       int depth) {
    struct dirent *entry;
    DIR *stream = opendir(dir);

    if (stream == NULL)
        return;
    guess->any = true;
    while ((entry = readdir(stream)) != NULL) {
        char path[ZONE_PATH_BYTES], name[256];
        if (entry->d_name[0] < 'A' || entry->d_name[0] > 'Z')
            continue;
        if (snprintf(path, sizeof(path), "%s/%s", dir, entry->d_name) >=
                (int)sizeof(path) ||
            snprintf(name, sizeof(name), "%s%s%s", prefix,
                     prefix[0] == '\0' ? "" : "/",
                     entry->d_name) >= (int)sizeof(name))
            continue;
        if (entry->d_type == DT_DIR && depth > 0)
            look_below(guess, path, name, depth - 1);
        else
            look_at(guess, name);
    }
    closedir(stream);
}

static bool unknown(const char *name, struct cron_err *err) {
    struct guess guess = {.word = name, .distance = 99};
    const char *dirs[DATABASES];
    size_t count = databases(dirs);

    for (size_t i = 0; i < count; i++)
        look_below(&guess, dirs[i], "", 2);
    if (!guess.any)
        return fault_set(err, CRON_ERR_ZONE,
                         "unknown zone '%s': this machine has no zone "
                         "database; install tzdata",
                         name);
    if (guess.distance <= (strlen(name) + 1) / 3)
        return fault_set(err, CRON_ERR_ZONE,
                         "unknown zone '%s'; did you mean '%s'?", name,
                         guess.best);
    return fault_set(
        err, CRON_ERR_ZONE,
        "unknown zone '%s'; a zone is a name such as Europe/London, an offset "
        "such as +02:00 or a POSIX TZ string",
        name);
}

/* ---- by name ------------------------------------------------------------- */

/* True if the name looks more like a rule than like a misspelt name. */
static bool is_rule_like(const char *name) {
    return name[0] == '<' || name[0] == '+' || name[0] == '-' ||
           strpbrk(name, ",:") != NULL ||
           (strchr(name, '/') == NULL && strpbrk(name, "0123456789") != NULL);
}

static bool open_named(const char *name, struct cron_zone **ret_zone,
                       char ret_path[ZONE_PATH_BYTES],
                       struct file_stamp *ret_stamp, struct cron_err *err) {
    struct cron_err rule_err = {0};

    ret_path[0] = '\0';
    if (is_name(name) && find_name(name, ret_path))
        return read_path(ret_path, name, ret_zone, ret_stamp, err);
    ret_path[0] = '\0';
    if (cron_zone_parse(name, ret_zone, &rule_err))
        return true;
    if (rule_err.kind == CRON_ERR_SYSTEM)
        return fault_memory(err);
    if (name[0] == '+' || name[0] == '-')
        return fault_set(err, CRON_ERR_ZONE,
                         "zone '%.100s' is not an offset such as +02:00, at "
                         "most 24 hours; east is plus",
                         name);
    if (is_rule_like(name))
        return fault_set(err, CRON_ERR_ZONE, "zone '%.100s': %s", name,
                         rule_err.text);
    if (!is_name(name))
        return fault_set(
            err, CRON_ERR_ZONE,
            "'%.100s' is not the name of a zone: paths are not accepted", name);
    return unknown(name, err);
}

/* Follows the C library, but $TZ may be a path: it comes from the system
 * itself. */
static bool open_system(struct cron_zone **ret_zone,
                        char ret_path[ZONE_PATH_BYTES],
                        struct file_stamp *ret_stamp, struct cron_err *err) {
    const char *name = getenv("TZ");

    if (name != NULL && name[0] == ':')
        name++;
    if (name != NULL && name[0] == '/') {
        snprintf(ret_path, ZONE_PATH_BYTES, "%s", name);
        return read_path(ret_path, "", ret_zone, ret_stamp, err);
    }
    if (name != NULL)
        return open_named(name[0] == '\0' ? "UTC0" : name, ret_zone, ret_path,
                          ret_stamp, err);
    memcpy(ret_path, system_path, sizeof(system_path));
    if (access(system_path, F_OK) == 0)
        return read_path(ret_path, "", ret_zone, ret_stamp, err);
    return cron_zone_parse("UTC0", ret_zone, err);
}

bool zone_file_open(const char *name, struct cron_zone **ret_zone,
                    char ret_path[ZONE_PATH_BYTES],
                    struct file_stamp *ret_stamp, struct cron_err *err) {
    *ret_stamp = (struct file_stamp){0};
    if (name == NULL || name[0] == '\0') {
        if (!open_system(ret_zone, ret_path, ret_stamp, err))
            return false;
        if (zone_set_name(*ret_zone, "", err))
            return true;
        cron_zone_unref(*ret_zone);
        return false;
    }
    return open_named(name, ret_zone, ret_path, ret_stamp, err);
}

bool cron_zone_open(const char *name, struct cron_zone **ret_zone,
                    struct cron_err *err) {
    char path[ZONE_PATH_BYTES];
    struct file_stamp stamp;

    return zone_file_open(name, ret_zone, path, &stamp, err);
}
