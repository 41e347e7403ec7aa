#include "lib/log.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "lib/text.h"
#include "lib/time.h"

enum front { FRONT_TIME, FRONT_LOCAL_TIME, FRONT_PRIORITY };

static const char *log_role = "pointsman";
static enum log_level log_least = LOG_INFO;
static enum front log_front = FRONT_TIME;

/* JOURNAL_STREAM is inherited; it is valid for us only while stderr is still
 * the file that it names. */
static bool stderr_is_journal(void) {
    const char *stream = getenv("JOURNAL_STREAM");
    unsigned long long dev, ino;
    struct stat st;

    return stream != NULL && fstat(STDERR_FILENO, &st) == 0 &&
           sscanf(stream, "%llu:%llu", &dev, &ino) == 2 && st.st_dev == dev &&
           st.st_ino == ino;
}

void log_init(const char *role, enum log_level least) {
    log_role = role;
    log_least = least;
    if (stderr_is_journal())
        log_front = FRONT_PRIORITY;
    else
        log_front = isatty(STDERR_FILENO) ? FRONT_LOCAL_TIME : FRONT_TIME;
}

static void add_front(struct text *line, enum log_level level) {
    char stamp[WALL_TEXT_BYTES];
    struct timespec now;
    struct tm local;

    if (log_front == FRONT_PRIORITY) {
        text_addf(line, "<%d>", (int)level);
        return;
    }
    clock_gettime(CLOCK_REALTIME, &now);
    if (log_front == FRONT_LOCAL_TIME &&
        localtime_r(&now.tv_sec, &local) != NULL) {
        strftime(stamp, sizeof(stamp), "%H:%M:%S ", &local);
        text_adds(line, stamp);
        return;
    }
    wall_format((struct wall){now.tv_sec * NS_PER_S + now.tv_nsec}, stamp);
    text_addf(line, "%s ", stamp);
}

void log_write(enum log_level level, const char *format, ...) {
    CLEANUP(text_clear) struct text line = TEXT_INIT;
    CLEANUP(text_clear) struct text said = TEXT_INIT;
    va_list args;

    if (level > log_least)
        return;
    va_start(args, format);
    text_addv(&said, format, args);
    va_end(args);
    add_front(&line, level);
    text_addf(&line, "%s: ", log_role);
    text_addescaped(&line, text_span(&said));
    text_addc(&line, '\n');
    /* A single write, so that lines of several processes do not mix. */
    if (write(STDERR_FILENO, line.p, line.len) < 0) {
        /* There is nowhere else to report it. */
    }
}
