#include "landing/land_session.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/text.h"
#include "lib/time.h"
#include "landing/objects_apart.h"

/* Files of the git directory. A git process that runs reads loose objects and
 * references again each time, but not these. */
static const struct watched {
    const char *name;
    bool changes; /* only its identity counts */
} watched[LAND_MARKS] = {{"", true},
                         {"/objects", true},
                         {"/objects/pack", false},
                         {"/objects/info/alternates", false},
                         {"/config", false},
                         {"/config.worktree", false}};

static struct land_mark mark_take(const char *path, bool changes) {
    struct stat st;
    if (stat(path, &st) != 0)
        return (struct land_mark){0};
    return (struct land_mark){
        .exists = true,
        .device = st.st_dev,
        .inode = st.st_ino,
        .changed_ns =
            changes ? 0 : st.st_ctim.tv_sec * NS_PER_S + st.st_ctim.tv_nsec};
}

static bool mark_same(const struct land_mark *a, const struct land_mark *b) {
    return a->exists == b->exists && a->device == b->device &&
           a->inode == b->inode && a->changed_ns == b->changed_ns;
}

static void marks_take(const struct git *git, struct land_mark *ret_marks) {
    for (size_t i = 0; i < LAND_MARKS; i++) {
        CLEANUP(text_clear) struct text path = TEXT_INIT;
        text_addf(&path, "%s%s", git->dir, watched[i].name);
        ret_marks[i] = mark_take(text_string(&path), watched[i].changes);
    }
}

/* The path as given may be a link that names another repository now. */
static bool is_current(const struct land_session *session) {
    struct land_mark now[LAND_MARKS];
    CLEANUP(text_free_string) char *real = realpath(session->dir, NULL);
    size_t length = real != NULL ? strlen(real) : 0;
    if (length == 0 || strncmp(session->git.dir, real, length) != 0)
        return false;
    marks_take(&session->git, now);
    for (size_t i = 0; i < LAND_MARKS; i++)
        if (!mark_same(&now[i], &session->marks[i]))
            return false;
    return true;
}

static void session_forget(struct land_session *session) {
    git_pipe_drop(&session->objects);
    history_known_clear(&session->known);
    git_close(&session->git);
    free(session->dir);
    free(session->work);
    *session = (struct land_session){.sets = session->sets};
}

static bool is_usable(struct land_session *session, const char *dir,
                      const char *work) {
    return session->dir != NULL && strcmp(session->dir, dir) == 0 &&
           strcmp(session->work, work) == 0 && is_current(session) &&
           git_pipe_runs(&session->objects);
}

bool land_session_open(struct land_session *session, const char *dir,
                       const char *work, struct child_stop *stop,
                       struct err *err) {
    if (!is_usable(session, dir, work))
        session_forget(session);
    session->known.marks = &session->sets;
    bool fresh = session->dir == NULL;
    if ((fresh && !git_open(dir, work, stop, &session->git, err)) ||
        !objects_apart_open(&session->git, "objects", err)) {
        session_forget(session);
        return false;
    }
    if (!fresh)
        return true;
    session->dir = mem_string(dir);
    session->work = mem_string(work);
    marks_take(&session->git, session->marks);
    return true;
}

/* A git process that has seen objects in files apart may believe that they are
 * in the repository. */
static bool apart_is_unused(const struct git *git) {
    return git->apart != NULL && rmdir(git->apart) == 0;
}

void land_session_end(struct land_session *session, bool ok) {
    if (!ok || session->objects.pid == 0 || !apart_is_unused(&session->git))
        session_forget(session);
}

void land_session_clear(struct land_session *session) {
    session_forget(session);
    history_marks_clear(&session->sets);
}
