#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/list.h"
#include "base/log.h"
#include "base/map.h"
#include "os/dir.h"
#include "serve/intake.h"
#include "serve/placement.h"
#include "serve/projection.h"
#include "serve/set_record.h"
#include "serve/set_rules.h"
#include "wire/job_file.h"

/* Each entry of prequeue/ goes its way: looked at, its tarball checked in a
 * child, judged, admitted with others in one transaction, gone. Whatever is
 * known of an entry can be found out again, so that a crash at any point costs
 * a second look and nothing else. */

enum {
    ADMIT_AT_ONCE = 256,
    CHECKS_ASKED = 2,
    RETRY_MS = 5000,
    CHECKER_BUSY_MS = 500
};

enum entry_state {
    ENTRY_NEW,      /* to be looked at */
    ENTRY_WAITING,  /* until `next`, or until something changes */
    ENTRY_CHECKING, /* a child reads its tarball */
    ENTRY_CHECKED,  /* there is a verdict */
    ENTRY_READY,    /* to be admitted */
    ENTRY_STUCK     /* cannot even be moved away; told once */
};

struct entry {
    char *name;
    enum entry_state state;
    struct stat st; /* as it was when it was looked at */
    struct wall next;
    bool here; /* seen in this scan */
    struct prequeue *prequeue;
    struct arena arena; /* holds what follows */
    bool not_now;       /* no verdict could be had */
    struct refusal refusal;
    struct candidate candidate;
    struct span said_sum; /* by a job file; empty for markers */
    struct set_record record;
};

struct prequeue {
    struct base *base;
    struct checker *checker;
    struct projection *projection;
    struct map entries;
    struct prequeue_tally tally;
    struct wall now;
    bool due;
};

struct prequeue *prequeue_new(struct base *base, struct checker *checker,
                              struct projection *projection) {
    struct prequeue *prequeue = mem_alloc(sizeof(*prequeue));
    prequeue->base = base;
    prequeue->checker = checker;
    prequeue->projection = projection;
    return prequeue;
}

static void entry_free(struct entry *entry) {
    arena_clear(&entry->arena);
    free(entry->name);
    free(entry);
}

void prequeue_free(struct prequeue *prequeue) {
    size_t cursor = 0;
    struct span key;
    void *value;
    if (!prequeue)
        return;
    while (map_next(&prequeue->entries, &cursor, &key, &value)) {
        struct entry *entry = value;
        /* The checker may still call back; it is freed after us, without a
         * word, but its guard may be faster. */
        if (entry->state == ENTRY_CHECKING)
            checker_forget(prequeue->checker, entry);
        entry_free(entry);
    }
    map_clear(&prequeue->entries);
    free(prequeue);
}

struct prequeue_tally prequeue_tally(const struct prequeue *prequeue) {
    return prequeue->tally;
}

/* ---- refusing -------------------------------------------------------------
 */

static bool note_reject(struct prequeue *prequeue, const struct entry *entry,
                        const char *word, const char *sentence,
                        struct err *err) {
    struct store_batch *batch = store_batch_new(prequeue->base->store);
    CLEANUP(text_clear) struct text id = TEXT_INIT;
    text_addescaped(&id, span_of(entry->name));
    store_batch_actor(batch, prequeue->now, SPAN("daemon:prequeue"));
    store_note(batch, EVENT_REJECT, 0, text_span(&id), span_of(word),
               span_of(sentence));
    bool ok = store_write(batch, err);
    store_batch_free(batch);
    return ok;
}

/* Is data/NAME this entry's, and not that of a set admitted under the name? */
static bool owns_data(struct prequeue *prequeue, const struct entry *entry,
                      bool *ret_owns, struct err *err) {
    CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
    struct base *base = prequeue->base;
    struct set_name name;
    struct refusal why;
    struct stat st;
    struct job job;
    bool known = false, there = false;
    *ret_owns = false;
    if (!set_name_parse(span_of(entry->name), &name, &why))
        return true;
    if (!store_lookup(base->store, name.csid, &arena, &job, &known, err) ||
        !dir_stat(base->dirs[BASE_DATA], entry->name, &st, &there, err))
        return false;
    *ret_owns = there && !(known && span_is(job.name, entry->name));
    return true;
}

/* The tarball goes to reject/; a mere marker then has nothing left to say.
 * Entries with content of their own go there too. */
static bool put_aside(struct prequeue *prequeue, struct entry *entry,
                      const char *word, const char *sentence, struct err *err) {
    struct base *base = prequeue->base;
    bool owns;
    if (!owns_data(prequeue, entry, &owns, err))
        return false;
    bool is_marker = S_ISREG(entry->st.st_mode) && entry->st.st_size == 0;
    if (owns && !placement_reject(base, base->dirs[BASE_DATA], entry->name,
                                  word, sentence, err))
        return false;
    if (owns && is_marker)
        return dir_remove(base->dirs[BASE_PREQUEUE], entry->name, NULL, err);
    return placement_reject(base, base->dirs[BASE_PREQUEUE], entry->name, word,
                            sentence, err);
}

static bool reject(struct prequeue *prequeue, struct entry *entry,
                   const char *word, const char *sentence, struct err *err) {
    struct err why = {0};
    if (!put_aside(prequeue, entry, word, sentence, &why)) {
        if (why.kind == ERR_TEMPORARY || why.sys == EIO) {
            entry->state = ENTRY_WAITING;
            entry->next = wall_add_ms(prequeue->now, RETRY_MS);
            return err_set(err, why.kind, "cannot reject '%s': %s", entry->name,
                           why.text);
        }
        entry->state = ENTRY_STUCK;
        log_error("cannot move '%s' from prequeue/ to reject/, remove it by "
                  "hand (%s: %s): %s",
                  entry->name, word, sentence, why.text);
        return true;
    }
    log_warning("rejected '%s': %s: %s", entry->name, word, sentence);
    prequeue->tally.rejected++;
    entry->here = false;
    return note_reject(prequeue, entry, word, sentence, err);
}

/* ---- waiting --------------------------------------------------------------
 */

/* From first sight, which a restart must not forget: arriving by rename or link
 * sets the time of the inode. */
static struct wall deadline(const struct prequeue *prequeue,
                            const struct entry *entry) {
    struct wall seen = {entry->st.st_ctim.tv_sec * NS_PER_S +
                        entry->st.st_ctim.tv_nsec};
    return wall_add_ms(seen,
                       prequeue->base->config.queue.wait_for_job_s * 1000);
}

static bool wait_or_reject(struct prequeue *prequeue, struct entry *entry,
                           const char *word, const char *sentence,
                           struct err *err) {
    struct wall end = deadline(prequeue, entry);
    if (prequeue->now.ns >= end.ns)
        return reject(prequeue, entry, word, sentence, err);
    entry->state = ENTRY_WAITING;
    entry->next = end;
    return true;
}

/* Its tarball went to reject/ and the marker was left by a crash. */
static bool is_leftover(struct prequeue *prequeue, const struct entry *entry) {
    CLEANUP(text_clear) struct text why = TEXT_INIT;
    struct base *base = prequeue->base;
    struct stat file, line;
    bool there = false, told = false;
    text_addf(&why, "%s.why", entry->name);
    (void)dir_stat(base->dirs[BASE_REJECT], entry->name, &file, &there, NULL);
    (void)dir_stat(base->dirs[BASE_REJECT], why.p, &line, &told, NULL);
    return there && told &&
           (line.st_ctim.tv_sec > entry->st.st_ctim.tv_sec ||
            (line.st_ctim.tv_sec == entry->st.st_ctim.tv_sec &&
             line.st_ctim.tv_nsec >= entry->st.st_ctim.tv_nsec));
}

/* ---- the first look --------------------------------------------------------
 */

static void on_checked(void *ctx, bool ok, const struct set_check *check,
                       const struct err *err) {
    struct entry *entry = ctx;
    (void)err;
    entry->prequeue->due = true;
    entry->state = ENTRY_CHECKED;
    entry->not_now = !ok;
    if (!ok)
        return;
    entry->refusal = check->why;
    if (check->why.kind != REFUSAL_NONE)
        return;
    struct candidate *candidate = &entry->candidate;
    struct path_limits widest = {4096, 255, 1024};
    struct span text = arena_span(&entry->arena, check->meta_text);
    (void)set_name_parse(span_of(entry->name), &candidate->name,
                         &entry->refusal);
    (void)meta_parse(text, &widest, &entry->arena, &candidate->meta,
                     &entry->refusal);
    candidate->sum = arena_span(&entry->arena, span_of(check->sha256));
    candidate->size_bytes = check->size;
    for (size_t i = 0; i < check->member_count; i++)
        candidate->has_symlinks |= check->members[i].symlink;
}

static bool start_check(struct prequeue *prequeue, struct entry *entry,
                        struct err *err) {
    CLEANUP(fd_close) int fd = -1;
    struct base *base = prequeue->base;
    struct err why = {0};
    struct stat st;
    if (checker_waiting(prequeue->checker) >= CHECKS_ASKED)
        return true; /* still new: its turn comes */
    if (!dir_open_file(base->dirs[BASE_DATA], entry->name,
                       O_RDONLY | O_NONBLOCK, 0, &fd, &why)) {
        if (why.sys == ENOENT && is_leftover(prequeue, entry)) {
            entry->here = false;
            return dir_remove(base->dirs[BASE_PREQUEUE], entry->name, NULL,
                              err);
        }
        if (why.sys == ELOOP)
            return reject(prequeue, entry, "bad-data",
                          "what lies in data/ is a symbolic link", err);
        return wait_or_reject(
            prequeue, entry, why.sys == ENOENT ? "no-data" : "bad-data",
            why.sys == ENOENT ? "there is no data of this name in data/"
                              : why.text,
            err);
    }
    if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
        return reject(prequeue, entry, "bad-data",
                      "what lies in data/ is not a file", err);
    entry->state = ENTRY_CHECKING;
    checker_check(prequeue->checker, fd, on_checked, entry);
    return true;
}

/* A job file: only its name and sum are believed, the rest is found anew. */
static bool read_job_file(struct prequeue *prequeue, struct entry *entry,
                          bool *ret_good, struct err *err) {
    CLEANUP(text_clear) struct text text = TEXT_INIT;
    struct refusal why = {0};
    struct err read_err = {0};
    struct job_file file;
    *ret_good = false;
    if (!dir_read(prequeue->base->dirs[BASE_PREQUEUE], entry->name,
                  JOB_FILE_BYTES, &text, &read_err)) {
        if (read_err.kind == ERR_DATA)
            return reject(prequeue, entry, "job-file", read_err.text, err);
        return wait_or_reject(prequeue, entry, "job-file", read_err.text, err);
    }
    struct span all = arena_span(&entry->arena, text_span(&text));
    if (!span_starts(all, "##") && !span_is(all, "#"))
        return reject(prequeue, entry, "job-file",
                      "it has content, but is no job file: a marker is empty",
                      err);
    if (!job_file_parse(all, &entry->arena, &file, &why))
        return wait_or_reject(prequeue, entry, "job-file", why.text, err);
    if (!span_is(file.name.text, entry->name))
        return reject(prequeue, entry, "job-file",
                      "the job file is that of another set", err);
    entry->said_sum = file.sha256;
    *ret_good = true;
    return true;
}

static bool look_at(struct prequeue *prequeue, struct entry *entry,
                    struct err *err) {
    struct set_name name;
    struct refusal why = {0};
    bool good = true, there;
    entry->state = ENTRY_NEW;
    arena_clear(&entry->arena);
    entry->said_sum = (struct span){0};
    if (!dir_stat(prequeue->base->dirs[BASE_PREQUEUE], entry->name, &entry->st,
                  &there, err))
        return false;
    if (!there) {
        entry->here = false;
        return true;
    }
    if (!S_ISREG(entry->st.st_mode))
        return reject(prequeue, entry, "not-a-file",
                      "only files can be handed in", err);
    if (!set_name_parse(span_of(entry->name), &name, &why))
        return reject(prequeue, entry, refusal_word(why.kind), why.text, err);
    if (set_is_future(&name, prequeue->now))
        return wait_or_reject(
            prequeue, entry, "future",
            "its name says a time more than 300 s in the future", err);
    if (entry->st.st_size > 0 && !read_job_file(prequeue, entry, &good, err))
        return false;
    return !good || start_check(prequeue, entry, err);
}

/* ---- the verdict -----------------------------------------------------------
 */

static bool finish_again(struct prequeue *prequeue, struct entry *entry,
                         struct err *err) {
    log_info("'%s' is admitted already", entry->name);
    prequeue->tally.again++;
    entry->here = false;
    return dir_remove(prequeue->base->dirs[BASE_PREQUEUE], entry->name, NULL,
                      err);
}

static bool judge(struct prequeue *prequeue, struct entry *entry,
                  struct err *err) {
    const struct config_target *target;
    struct candidate *candidate = &entry->candidate;
    struct ruling_why why = {0};
    enum ruling ruling;
    if (entry->not_now) {
        entry->state = ENTRY_WAITING;
        entry->next = wall_add_ms(prequeue->now, RETRY_MS);
        return true;
    }
    if (entry->refusal.kind != REFUSAL_NONE)
        return reject(prequeue, entry, refusal_word(entry->refusal.kind),
                      entry->refusal.text, err);
    if (entry->said_sum.len > 0 && !span_equal(entry->said_sum, candidate->sum))
        return reject(prequeue, entry, "job-file",
                      "the job file names another sum than its data has", err);
    if (!set_rule(prequeue->base, candidate, prequeue->now, &ruling, &target,
                  &why, err))
        return false;
    switch (ruling) {
    case RULING_AGAIN:
        return finish_again(prequeue, entry, err);
    case RULING_WAIT:
        return wait_or_reject(prequeue, entry, why.word, why.text, err);
    case RULING_REFUSE:
        return reject(prequeue, entry, why.word, why.text, err);
    case RULING_ADMIT:
        break;
    }
    set_record_make(&candidate->name, &candidate->meta, target->name,
                    candidate->sum, candidate->size_bytes, &entry->arena,
                    &entry->record);
    entry->state = ENTRY_READY;
    return true;
}

/* ---- admission --------------------------------------------------------------
 */

static bool has_changed(struct prequeue *prequeue, struct entry *entry) {
    struct stat st;
    bool there;
    return !dir_stat(prequeue->base->dirs[BASE_PREQUEUE], entry->name, &st,
                     &there, NULL) ||
           !there || st.st_ino != entry->st.st_ino ||
           st.st_size != entry->st.st_size;
}

static unsigned add_admission(struct prequeue *prequeue,
                              struct store_batch *batch, struct entry *entry) {
    struct set_record *record = &entry->record;
    struct job *job = &record->job;
    job->uid = entry->st.st_uid;
    job->actor =
        span_of(arena_printf(&entry->arena, "uid:%ld", (long)entry->st.st_uid));
    job->cause = SPAN("person");
    job->admitted = prequeue->now;
    store_batch_actor(batch, prequeue->now, job->actor);
    return store_admit(batch, job, record->edges, record->edge_count,
                       record->touches, record->touch_count, NULL, 0);
}

static bool settle_admission(struct prequeue *prequeue, struct entry *entry,
                             enum store_result result, struct err *err) {
    if (result != STORE_DONE) { /* judged again, it is known now */
        entry->state = ENTRY_NEW;
        prequeue->due = true;
        return true;
    }
    struct span id = entry->record.job.id;
    log_info("admitted set '%s' job=%.*s", entry->name, (int)id.len, id.p);
    prequeue->tally.admitted++;
    entry->here = false;
    return dir_remove(prequeue->base->dirs[BASE_PREQUEUE], entry->name, NULL,
                      err);
}

static bool admit(struct prequeue *prequeue, struct entry **entries,
                  size_t count, struct err *err) {
    unsigned index[ADMIT_AT_ONCE];
    struct store_batch *batch = store_batch_new(prequeue->base->store);
    for (size_t i = 0; i < count; i++)
        index[i] = add_admission(prequeue, batch, entries[i]);
    bool ok = store_write(batch, err);
    /* The job files first: an entry goes when there is something else to see
     * of its set. */
    if (ok && prequeue->projection)
        ok = projection_pass(prequeue->projection, prequeue->now, err);
    for (size_t i = 0; ok && i < count; i++)
        ok = settle_admission(prequeue, entries[i],
                              store_batch_result(batch, index[i]), err);
    store_batch_free(batch);
    return ok;
}

/* ---- a scan -----------------------------------------------------------------
 */

static bool find_entries(struct prequeue *prequeue, struct arena *arena,
                         struct entry ***ret_entries, size_t *ret_count,
                         struct err *err) {
    struct span *names;
    if (!dir_list(prequeue->base->dirs[BASE_PREQUEUE], arena, &names, ret_count,
                  err))
        return false;
    *ret_entries = arena_alloc(arena, (*ret_count + 1) * sizeof(void *));
    for (size_t i = 0; i < *ret_count; i++) {
        struct entry *entry = map_get(&prequeue->entries, names[i]);
        if (!entry) {
            entry = mem_alloc(sizeof(*entry));
            entry->name = span_string(names[i]);
            entry->prequeue = prequeue;
            map_put(&prequeue->entries, names[i], entry);
        }
        entry->here = true;
        (*ret_entries)[i] = entry;
    }
    return true;
}

/* One entry's trouble is not another's; the first error is the scan's. */
static void keep_first(struct err *first, bool ok, const struct err *err) {
    if (!ok && first->kind == ERR_NONE)
        *first = *err;
}

static void look_and_judge(struct prequeue *prequeue, struct entry **entries,
                           size_t count, struct err *first) {
    for (size_t i = 0; i < count; i++) {
        struct err err = {0};
        struct entry *entry = entries[i];
        bool look = entry->state == ENTRY_NEW || entry->state == ENTRY_WAITING;
        bool ok = !look || look_at(prequeue, entry, &err);
        if (ok && entry->here && entry->state == ENTRY_CHECKED)
            ok = has_changed(prequeue, entry) ? look_at(prequeue, entry, &err)
                                              : judge(prequeue, entry, &err);
        keep_first(first, ok, &err);
    }
}

static void admit_ready(struct prequeue *prequeue, struct entry **entries,
                        size_t count, struct err *first) {
    struct entry *ready[ADMIT_AT_ONCE];
    size_t ready_count = 0;
    for (size_t i = 0; i <= count; i++) {
        struct err err = {0};
        if (i < count && entries[i]->here && entries[i]->state == ENTRY_READY)
            ready[ready_count++] = entries[i];
        bool flush = ready_count == ADMIT_AT_ONCE || i == count;
        if (!flush || ready_count == 0)
            continue;
        keep_first(first, admit(prequeue, ready, ready_count, &err), &err);
        ready_count = 0;
    }
}

/* Entries that went, and what is known of those that stay. */
static void clear_up(struct prequeue *prequeue, struct wall *ret_next) {
    size_t cursor = 0;
    struct span key;
    void *value;
    prequeue->tally.waiting = 0;
    *ret_next = WALL_NEVER;
    while (map_next(&prequeue->entries, &cursor, &key, &value)) {
        struct entry *entry = value;
        bool here = entry->here;
        entry->here = false;
        if (!here && entry->state != ENTRY_CHECKING) {
            map_remove(&prequeue->entries, span_of(entry->name));
            entry_free(entry);
            continue;
        }
        /* Others use the checker too and do not tell when it is free. */
        if (entry->state == ENTRY_NEW || entry->state == ENTRY_CHECKED)
            entry->next = wall_add_ms(prequeue->now, CHECKER_BUSY_MS);
        else if (entry->state != ENTRY_WAITING)
            continue;
        prequeue->tally.waiting++;
        if (entry->next.ns < ret_next->ns)
            *ret_next = entry->next;
    }
}

bool prequeue_scan(struct prequeue *prequeue, struct wall now,
                   struct wall *ret_next, struct err *err) {
    CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
    struct entry **entries;
    struct err first = {0};
    size_t count;
    *ret_next = WALL_NEVER;
    prequeue->now = now;
    if (!find_entries(prequeue, &arena, &entries, &count, err))
        return false;
    look_and_judge(prequeue, entries, count, &first);
    prequeue->due = false; /* verdicts that came meanwhile were judged */
    admit_ready(prequeue, entries, count, &first);
    clear_up(prequeue, ret_next);
    if (first.kind == ERR_NONE)
        return true;
    return err_set(err, first.kind, "%s", first.text);
}

bool prequeue_is_due(const struct prequeue *prequeue) {
    return prequeue->due;
}

bool prequeue_is_idle(const struct prequeue *prequeue) {
    size_t cursor = 0;
    struct span key;
    void *value;
    while (map_next(&prequeue->entries, &cursor, &key, &value)) {
        const struct entry *entry = value;
        if (entry->state != ENTRY_WAITING && entry->state != ENTRY_STUCK)
            return false;
    }
    return !prequeue->due;
}

static bool pass_alone(struct prequeue *prequeue, struct wall now,
                       struct err *err) {
    struct wall next;
    bool ok = true;
    do
        ok = prequeue_scan(prequeue, now, &next, err);
    while (ok && prequeue_is_due(prequeue));
    return ok && projection_settle(prequeue->projection, now, err);
}

bool prequeue_pass_alone(struct base *base, struct wall now, struct err *err) {
    struct projection *projection;
    struct err why = {0};
    int role = -1;
    if (!base_take_role(base, "prequeue", &role, &why)) {
        if (why.kind != ERR_RUNNING)
            return err_set(err, why.kind, "%s", why.text);
        base_trigger(base, "prequeue");
        return true;
    }
    bool ok = projection_open(base, &projection, err);
    if (ok) {
        struct checker *checker = checker_new(base, NULL, NULL);
        struct prequeue *prequeue = prequeue_new(base, checker, projection);
        ok = projection_recover(projection, now, err) &&
             pass_alone(prequeue, now, err);
        prequeue_free(prequeue);
        checker_free(checker);
        projection_close(projection);
    }
    base_give_role(base, "prequeue", &role);
    return ok;
}
