#include "changes/placement.h"

#include <errno.h>
#include <stdio.h>

#include "lib/log.h"
#include "os/dir.h"
#include "wire/job_file.h"

bool placement_find(const struct base *base, const char *name,
                    struct placement *ret_placement, struct err *err) {
    const struct stat *first = NULL;
    *ret_placement = (struct placement){.one_file = true};
    for (int state = 0; state < JOB_STATES; state++) {
        struct stat *st = &ret_placement->st[state];
        bool there;
        if (!dir_stat(base->dirs[state], name, st, &there, err))
            return false;
        if (!there)
            continue;
        ret_placement->dirs |= STATE_BIT(state);
        if (!first)
            first = st;
        else if (st->st_ino != first->st_ino)
            ret_placement->one_file = false;
    }
    return true;
}

static enum job_state lowest(unsigned dirs) {
    int state = 0;
    while (!(dirs & STATE_BIT(state)))
        state++;
    return state;
}

/* Removes all names but the one in `kept`: a second name of the same inode is
 * an interrupted move, a second file is a copy made by hand. */
static bool clear_others(const struct base *base, const char *name,
                         enum job_state kept, const struct placement *found,
                         struct err *err) {
    for (int state = 0; state < JOB_STATES; state++) {
        if (state == (int)kept || !(found->dirs & STATE_BIT(state)))
            continue;
        bool ok = found->st[state].st_ino == found->st[kept].st_ino
                      ? dir_remove(base->dirs[state], name, NULL, err)
                      : placement_reject(
                            base, base->dirs[state], name, "second-file",
                            "a second file of this name was in the directory "
                            "of a state that the set is not in",
                            err);
        if (!ok)
            return false;
    }
    return true;
}

bool placement_move(const struct base *base, const char *name,
                    enum job_state to, unsigned from, enum placed *ret_placed,
                    struct err *err) {
    struct placement found;
    enum dir_moved moved;
    if (!placement_find(base, name, &found, err))
        return false;
    unsigned usable = found.dirs & (from | STATE_BIT(to));
    *ret_placed = found.dirs ? PLACED_ELSEWHERE : PLACED_NOWHERE;
    if (!usable)
        return true;
    enum job_state kept = usable & STATE_BIT(to) ? to : lowest(usable);
    if (!clear_others(base, name, kept, &found, err))
        return false;
    *ret_placed = PLACED_THERE;
    if (kept == to)
        return true;
    *ret_placed = PLACED_MOVED;
    return dir_move(base->dirs[kept], name, base->dirs[to], name, DIR_LAZY,
                    &moved, err);
}

bool placement_is_good(const struct base *base, enum job_state state,
                       const struct job *job) {
    CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
    CLEANUP(text_clear) struct text text = TEXT_INIT;
    struct job_file file;
    struct refusal why;
    return dir_read(base->dirs[state], arena_string(&arena, job->name),
                    JOB_FILE_BYTES, &text, NULL) &&
           job_file_parse(text_span(&text), &arena, &file, &why) &&
           span_equal(file.name.text, job->name) &&
           span_equal(file.sha256, job->sum);
}

/* ---- reject/ --------------------------------------------------------- */

/* File names may be as long as a file system allows; .why and a number must
 * still fit. */
static void reject_name(const char *name, unsigned number, char ret[256]) {
    int len = (int)strnlen(name, 220);
    if (number == 0)
        snprintf(ret, 256, "%.*s", len, name);
    else
        snprintf(ret, 256, "%.*s.%u", len, name, number);
}

/* True if another file has the name: a second name of this one is an
 * interrupted move. */
static bool is_taken(const struct base *base, const char *to, int dir,
                     const char *name) {
    struct stat there, mine;
    bool is_there = false, is_mine = false;
    if (!dir_stat(base->dirs[BASE_REJECT], to, &there, &is_there, NULL))
        return true;
    return is_there && !(dir_stat(dir, name, &mine, &is_mine, NULL) &&
                         is_mine && mine.st_ino == there.st_ino);
}

static bool write_why(const struct base *base, const char *name,
                      const char *original, const char *word,
                      const char *sentence, struct err *err) {
    CLEANUP(text_clear) struct text line = TEXT_INIT;
    char why[256];
    snprintf(why, sizeof(why), "%.250s.why", name);
    text_addf(&line, "%s: ", word);
    text_addescaped(&line, span_of(sentence));
    text_adds(&line, " (");
    text_addescaped(&line, span_of(original));
    text_adds(&line, ")\n");
    return dir_write(base->dirs[BASE_TMP], base->dirs[BASE_REJECT], why,
                     text_span(&line), 0600, DIR_DURABLE, err);
}

bool placement_reject(const struct base *base, int dir, const char *name,
                      const char *word, const char *sentence, struct err *err) {
    char to[256];
    enum dir_moved moved = DIR_EXISTS;
    for (unsigned number = 0; moved == DIR_EXISTS; number++) {
        if (number == 10000)
            return err_set(
                err, ERR_CANNOT,
                "cannot move '%s' to reject/: every name for it is in use",
                name);
        reject_name(name, number, to);
        if (is_taken(base, to, dir, name))
            continue;
        if (!write_why(base, to, name, word, sentence, err) ||
            !dir_move(dir, name, base->dirs[BASE_REJECT], to, DIR_DURABLE,
                      &moved, err))
            return false;
    }
    return true;
}
