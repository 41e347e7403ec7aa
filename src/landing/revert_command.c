/* A target that is a command has no history: its `revert` command undoes one
 * member after the other, the newest first. This cannot be all or nothing, so
 * the members that are done are recorded: an attempt after a crash continues
 * after the members whose command had succeeded. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "os/dir.h"
#include "os/fd.h"
#include "landing/revert_parts.h"
#include "landing/target_command.h"

/* Ids of the members that are done, one per line, in the directory beside
 * `work`. */
struct done_list {
    char name[128];
    struct text ids;
};

static bool done_read(struct reverting *reverting, struct done_list *done,
                      struct err *err) {
    struct err why = {0};
    snprintf(done->name, sizeof done->name, "revert.%.64s",
             reverting->start->id);
    if (dir_read(reverting->work.parent_fd, done->name, 1 << 20, &done->ids,
                 &why) ||
        why.sys == ENOENT)
        return true;
    *err = why;
    return false;
}

static bool done_has(const struct done_list *done, const char *id) {
    struct span rest = text_span(&done->ids), line;
    while (span_cut(&rest, '\n', &line))
        if (span_is(line, id))
            return true;
    return false;
}

static bool done_add(struct reverting *reverting, struct done_list *done,
                     const char *id, struct err *err) {
    text_addf(&done->ids, "%s\n", id);
    CLEANUP(fd_close)
    int fd =
        openat(reverting->work.parent_fd, done->name,
               O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600);
    size_t bytes = strlen(id) + 1;
    struct span line = span_make(done->ids.p + done->ids.len - bytes, bytes);
    if (fd >= 0 && write(fd, line.p, line.len) == (ssize_t)line.len &&
        fsync(fd) == 0 && fsync(reverting->work.parent_fd) == 0)
        return true;
    return err_errno(err, errno, "cannot record that %s is undone", id);
}

/* "; undone before it: C3, C2" */
static void say_done(const struct done_list *done, struct text *out) {
    struct span rest = text_span(&done->ids), line;
    const char *between = "; undone before that: ";
    while (span_cut(&rest, '\n', &line)) {
        if (line.len == 0)
            continue;
        text_addf(out, "%s%.*s", between, (int)line.len, line.p);
        between = ", ";
    }
}

static bool fail(struct reverting *reverting, struct revert_step *step,
                 const struct land_status *said, struct done_list *done) {
    CLEANUP(text_clear) struct text why = TEXT_INIT;
    step->result = REVERT_FAILED;
    text_addf(&why, "%s: %s%s%s", step->member->id, said->reason,
              said->reason[0] != '\0' ? " " : "", said->text);
    say_done(done, &why);
    (void)dir_remove(reverting->work.parent_fd, done->name, NULL, NULL);
    return revert_finish(reverting, LAND_FAILED, "rb-command", text_span(&why));
}

static bool run_one(struct reverting *reverting, struct revert_step *step,
                    const char *work, struct done_list *done, struct err *err) {
    const struct revert_start *start = reverting->start;
    const struct revert_member *member = step->member;
    struct land_status said = {0};
    struct land_start one = {.id = member->id,
                             .sum = member->sum,
                             .class = member->class,
                             .target = start->target,
                             .command =
                                 member->again ? start->command : start->revert,
                             .symlinks = start->symlinks,
                             .user = member->user,
                             .work = work,
                             .timeout_s = start->timeout_s};
    CLEANUP(fd_close)
    int fd = member->tarball != NULL
                 ? open(member->tarball,
                        O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
                 : -1;
    if (fd < 0)
        return err_errno(err, member->tarball != NULL ? errno : ENOENT,
                         "cannot read the tarball of %s", member->id);
    if (!target_command_run(&one, fd, reverting->stop, &said, err))
        return false;
    switch (said.verdict) {
    case LAND_DONE:
        step->result = REVERT_MADE;
        return done_add(reverting, done, member->id, err);
    case LAND_TEMPORARY:
    case LAND_UNAVAILABLE:
    case LAND_STOPPED:
        return revert_finish(reverting, said.verdict, "", span_of(said.text));
    case LAND_CONFLICT:
    case LAND_FAILED:
    case LAND_PERMANENT:
    case LAND_BASE_LOST:
    case LAND_FORBIDDEN:
    case LAND_ALREADY:
    case LAND_LANDED:
    case LAND_NOT_LANDED:
    case LAND_MERGED:
    case LAND_PASSED:
    case LAND_MOVED:
    case LAND_CHANGED:
    case LAND_NONE:
        break;
    }
    return fail(reverting, step, &said, done);
}

/* The user of a command must be able to enter the directory of its member. */
static bool let_user_in(const struct reverting *reverting,
                        const struct revert_member *member, struct err *err) {
    return member->user == NULL ||
           fchmodat(reverting->work.parent_fd, reverting->work.name, 0711, 0) ==
               0 ||
           err_errno(err, errno, "cannot change the mode of '%s'",
                     reverting->start->work);
}

static bool run_in_turn(struct reverting *reverting, struct done_list *done,
                        struct err *err) {
    for (size_t i = 0; i < reverting->start->member_count; i++) {
        struct revert_step *step = &reverting->steps->p[i];
        CLEANUP(text_clear) struct text work = TEXT_INIT;
        if (done_has(done, step->member->id)) {
            fprintf(reverting->account, "%s is undone already\n",
                    step->member->id);
            step->result = REVERT_OUT;
            continue;
        }
        if (child_stop_requested(reverting->stop) != 0)
            return revert_finish(reverting, LAND_STOPPED, "", SPAN(""));
        text_addf(&work, "%s/%zu", reverting->start->work, i);
        CLEANUP(land_work_close) struct land_work own = {0};
        if (!land_work_open(&own, text_string(&work), err) ||
            !let_user_in(reverting, step->member, err) ||
            !run_one(reverting, step, text_string(&work), done, err))
            return false;
    }
    (void)dir_remove(reverting->work.parent_fd, done->name, NULL, NULL);
    return revert_finish(reverting, LAND_DONE, "", SPAN(""));
}

static bool must_revert(const struct revert_start *start) {
    for (size_t i = 0; i < start->member_count; i++)
        if (!start->members[i].again)
            return true;
    return false;
}

bool revert_by_command(struct reverting *reverting, struct err *err) {
    const struct revert_start *start = reverting->start;
    if (start->probe)
        return revert_finish(reverting, LAND_NOT_LANDED, "", SPAN(""));
    for (size_t i = 0; i < start->member_count; i++)
        revert_step_add(reverting->steps, &start->members[i], REVERT_UNTRIED,
                        "");
    if (start->revert == NULL && must_revert(start)) {
        CLEANUP(text_clear) struct text why = TEXT_INIT;
        text_addf(&why,
                  "target '%s' has no revert command; write revert = COMMAND "
                  "into its section",
                  start->target);
        return revert_finish(reverting, LAND_FAILED, "rb-target",
                             text_span(&why));
    }
    if (start->preview) {
        for (size_t i = 0; i < reverting->steps->count; i++)
            reverting->steps->p[i].result = REVERT_MADE;
        return revert_finish(reverting, LAND_DONE, "", SPAN(""));
    }
    struct done_list done = {.ids = TEXT_INIT};
    bool ok =
        done_read(reverting, &done, err) && run_in_turn(reverting, &done, err);
    text_clear(&done.ids);
    return ok;
}
