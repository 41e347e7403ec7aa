#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "landing/land.h"

static bool lists_objects(enum land_verdict verdict) {
    return verdict == LAND_DONE || verdict == LAND_ALREADY ||
           verdict == LAND_LANDED || verdict == LAND_MERGED;
}

void land_status_set(struct land_status *status, enum land_verdict verdict,
                     const char *reason, struct span text) {
    *status = (struct land_status){.verdict = verdict};
    snprintf(status->reason, sizeof status->reason, "%s", reason);
    CLEANUP(text_clear) struct text line = TEXT_INIT;
    text_addescaped(&line, text);
    size_t room =
        (lists_objects(verdict) ? LAND_STATUS_BYTES : LAND_SENTENCE_BYTES) - 1;
    if (line.len > room) {
        /* Do not cut within a character or an escape. */
        line.len = room - 3;
        while (line.len > 0 && line.p[line.len] != ' ')
            line.len--;
        text_adds(&line, "...");
    }
    memcpy(status->text, text_string(&line), line.len);
}

/* The disk of the repository or of the base is full, fails or is read-only:
 * every set would meet the same. */
static bool is_disk_trouble(int sys) {
    return sys == ENOSPC || sys == EDQUOT || sys == EIO || sys == EROFS;
}

void land_status_of_error(struct land_status *status, const struct err *err,
                          bool stopped) {
    struct span text = span_of(err->text);
    if (err->kind == ERR_INTERRUPTED || stopped)
        land_status_set(status, LAND_STOPPED, "", SPAN(""));
    else if (err->kind == ERR_REFUSED)
        land_status_set(status, LAND_FAILED, "policy", text);
    else if (err->kind == ERR_INTERNAL || err->kind == ERR_DATA)
        land_status_set(status, LAND_PERMANENT, "", text);
    else if (err->kind == ERR_UNAVAILABLE || err->kind == ERR_CONFIG ||
             is_disk_trouble(err->sys))
        land_status_set(status, LAND_UNAVAILABLE, "", text);
    else
        land_status_set(status, LAND_TEMPORARY, "", text);
}

void land_status_format(const struct land_status *status, struct text *out) {
    text_adds(out, land_verdict_word(status->verdict));
    if (status->reason[0] != '\0')
        text_addf(out, " %s", status->reason);
    if (status->text[0] != '\0')
        text_addf(out, " %s", status->text);
}

int land_status_exit(const struct land_status *status,
                     const struct child_stop *stop) {
    switch (status->verdict) {
    case LAND_DONE:
    case LAND_ALREADY:
    case LAND_LANDED:
    case LAND_NOT_LANDED:
    case LAND_MERGED:
    case LAND_PASSED:
        return 0;
    case LAND_CONFLICT:
    case LAND_FAILED:
        return 101;
    case LAND_TEMPORARY:
    case LAND_UNAVAILABLE:
    case LAND_BASE_LOST:
    case LAND_FORBIDDEN:
    case LAND_MOVED:
    case LAND_CHANGED:
        return 111;
    case LAND_STOPPED:
        return stop->signal == SIGHUP ? 103 : 102;
    case LAND_PERMANENT:
    case LAND_NONE:
        break;
    }
    return 100;
}

/* Our children must not hold it: the guard relies on its end of file. */
int land_status_descriptor(void) {
    const char *text = getenv("POINTSMAN_STATUS_FD");
    int fd = text != NULL ? atoi(text) : -1;
    if (fd > 2 && fcntl(fd, F_SETFD, FD_CLOEXEC) == 0)
        return fd;
    return -1;
}

void land_status_send(int fd, const struct land_status *status) {
    CLEANUP(text_clear) struct text line = TEXT_INIT;
    land_status_format(status, &line);
    printf("%s\n", text_string(&line));
    fflush(stdout);
    text_addc(&line, '\n');
    if (fd >= 0 && write(fd, line.p, line.len) < 0)
        fprintf(stderr, "cannot write the status line\n");
}
