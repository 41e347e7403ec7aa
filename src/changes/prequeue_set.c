#include "changes/prequeue_set.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/stat.h>

#include "lib/log.h"
#include "core/reason.h"
#include "core/run_as.h"
#include "os/dir.h"
#include "landing/branch_note.h"
#include "landing/branch_tip.h"
#include "changes/checker.h"
#include "changes/drop.h"
#include "changes/drop_job.h"
#include "changes/placement.h"
#include "wire/job_file.h"
#include "wire/marker.h"

/* The default kind of entry: a change set. A marker or a job file in prequeue/
 * whose tarball is in data/ under the same name. The tarball is checked in a
 * child, then the rules are applied. */

enum { CHECKS_ASKED = 2, RETRY_MS = 5000 };

static bool is_set(struct span name) {
    (void)name;
    return true;
}

/* ---- rejecting ------------------------------------------------------- */

/* True if data/NAME belongs to this entry and not to a set that was admitted
 * under the name. */
static bool owns_data(struct prequeue *prequeue,
                      const struct prequeue_entry *entry, bool *ret_owns,
                      struct err *err) {
    CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
    struct base *base = prequeue->base;
    struct set_name name;
    struct refusal why;
    struct stat st;
    struct job job;
    bool known = false, there = false;
    *ret_owns = false;
    if (set_name_parse(span_of(entry->name), &name, &why) &&
        !store_lookup(base->store, name.csid, &arena, &job, &known, err))
        return false;
    if (!dir_stat(base->dirs[BASE_DATA], entry->name, &st, &there, err))
        return false;
    *ret_owns = there && !(known && span_is(job.name, entry->name));
    return true;
}

/* The tarball goes to reject/; a mere marker is then of no more use. Entries
 * with content of their own go to reject/ too. */
static bool reject_set(struct prequeue *prequeue, struct prequeue_entry *entry,
                       const char *word, const char *sentence,
                       struct err *err) {
    struct base *base = prequeue->base;
    bool owns;
    if (!owns_data(prequeue, entry, &owns, err))
        return false;
    const struct prequeue_set *set = entry->own;
    bool is_marker = S_ISREG(entry->st.st_mode) &&
                     (entry->st.st_size == 0 || set->names_submitter);
    if (owns && !placement_reject(base, base->dirs[BASE_DATA], entry->name,
                                  word, sentence, err))
        return false;
    if (owns && is_marker)
        return dir_remove(base->dirs[BASE_PREQUEUE], entry->name, NULL, err);
    return placement_reject(base, base->dirs[BASE_PREQUEUE], entry->name, word,
                            sentence, err);
}

/* ---- the first look -------------------------------------------------- */

/* True if its tarball went to reject/ and a crash left the marker. */
static bool is_leftover(struct prequeue *prequeue,
                        const struct prequeue_entry *entry) {
    CLEANUP(text_clear) struct text why = TEXT_INIT;
    struct base *base = prequeue->base;
    struct stat file, line;
    bool there = false, explained = false;
    text_addf(&why, "%s.why", entry->name);
    (void)dir_stat(base->dirs[BASE_REJECT], entry->name, &file, &there, NULL);
    (void)dir_stat(base->dirs[BASE_REJECT], why.p, &line, &explained, NULL);
    return there && explained &&
           (line.st_ctim.tv_sec > entry->st.st_ctim.tv_sec ||
            (line.st_ctim.tv_sec == entry->st.st_ctim.tv_sec &&
             line.st_ctim.tv_nsec >= entry->st.st_ctim.tv_nsec));
}

static void on_checked(void *ctx, bool ok, const struct set_check *check,
                       const struct err *err) {
    struct prequeue_entry *entry = ctx;
    struct prequeue_set *set = entry->own;
    (void)err;
    entry->prequeue->due = true;
    entry->state = ENTRY_CHECKED;
    entry->not_now = !ok;
    if (!ok)
        return;
    set->refusal = check->why;
    entry->is_bad = check->why.kind != REFUSAL_NONE;
    if (entry->is_bad)
        return;
    struct candidate *candidate = &set->candidate;
    struct path_limits widest = {4096, 255, 1024};
    struct span text = arena_span(&entry->arena, check->meta_text);
    (void)set_name_parse(span_of(entry->name), &candidate->name, &set->refusal);
    (void)meta_parse(text, &widest, &entry->arena, &candidate->meta,
                     &set->refusal);
    candidate->sum = arena_span(&entry->arena, span_of(check->sha256));
    candidate->size_bytes = check->size;
    for (size_t i = 0; i < check->member_count; i++)
        candidate->has_symlinks |= check->members[i].symlink;
    entry->is_bad = set->refusal.kind != REFUSAL_NONE;
}

/* As the service rejects it: reading terabytes just for the sum, which no
 * reason needs, would use up its minute of CPU. */
static bool reject_huge(struct prequeue *prequeue, struct prequeue_entry *entry,
                        struct err *err) {
    char why[128];
    snprintf(why, sizeof(why),
             "a tarball of more than %" PRId64 " bytes ([queue] max-unpacked)",
             prequeue->base->config.queue.max_unpacked_bytes);
    return prequeue_entry_reject(prequeue, entry, "too-big", why, err);
}

static bool start_check(struct prequeue *prequeue, struct prequeue_entry *entry,
                        struct err *err) {
    CLEANUP(fd_close) int fd = -1;
    struct base *base = prequeue->base;
    struct err why = {0};
    struct stat st;
    if (checker_waiting(prequeue->checker) >= CHECKS_ASKED)
        return true; /* still new: it is checked later */
    if (!dir_open_file(base->dirs[BASE_DATA], entry->name,
                       O_RDONLY | O_NONBLOCK, 0, &fd, &why)) {
        if (why.sys == ENOENT && is_leftover(prequeue, entry))
            return prequeue_entry_remove(prequeue, entry, err);
        if (why.sys == ELOOP)
            return prequeue_entry_reject(prequeue, entry, "bad-data",
                                         "its data in data/ is a symbolic link",
                                         err);
        return prequeue_entry_wait(
            prequeue, entry, why.sys == ENOENT ? "no-data" : "bad-data",
            why.sys == ENOENT ? "data/ holds no file of this name" : why.text,
            err);
    }
    if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
        return prequeue_entry_reject(prequeue, entry, "bad-data",
                                     "its data in data/ is not a regular file",
                                     err);
    if (st.st_size > base->config.queue.max_unpacked_bytes)
        return reject_huge(prequeue, entry, err);
    bool is_linked, is_foreign = !run_as_is_own(base->uid, st.st_uid);
    /* Otherwise a marker that waits for its data would pass off the data of
     * anybody as those of its owner. */
    if (is_foreign && st.st_uid != entry->st.st_uid)
        return prequeue_entry_wait(
            prequeue, entry, "bad-data",
            "its data in data/ belongs to another account than its marker",
            err);
    /* Its owner, or whoever made another link to it, could alter it after the
     * check. */
    if (!drop_is_linked(base, &st, &is_linked, err))
        return false;
    if ((is_foreign || is_linked) && !drop_adopt(base, entry->name, &fd, &why))
        return prequeue_entry_wait(prequeue, entry, "bad-data", why.text, err);
    entry->state = ENTRY_CHECKING;
    checker_check(prequeue->checker, fd, on_checked, entry);
    return true;
}

static bool read_marker(struct prequeue *prequeue, struct prequeue_entry *entry,
                        struct span all, bool *ret_good, struct err *err) {
    struct prequeue_set *set = entry->own;
    struct refusal why = {0};
    *ret_good = false;
    if (!run_as_is_own(prequeue->base->uid, entry->st.st_uid))
        return prequeue_entry_reject(
            prequeue, entry, "job-file",
            "only the service and root say who submitted a set", err);
    if (!marker_parse(all, span_of(entry->name), &set->candidate.submitter,
                      &why))
        return prequeue_entry_reject(prequeue, entry, "job-file", why.text,
                                     err);
    set->names_submitter = true;
    *ret_good = true;
    return true;
}

/* In a job file only name and sum are trusted, the rest is determined again. */
static bool read_job_file(struct prequeue *prequeue,
                          struct prequeue_entry *entry, bool *ret_good,
                          struct err *err) {
    CLEANUP(text_clear) struct text text = TEXT_INIT;
    struct refusal why = {0};
    struct err read_err = {0};
    struct job_file file;
    *ret_good = false;
    if (!dir_read(prequeue->base->dirs[BASE_PREQUEUE], entry->name,
                  JOB_FILE_BYTES, &text, &read_err)) {
        if (read_err.kind == ERR_DATA)
            return prequeue_entry_reject(prequeue, entry, "job-file",
                                         read_err.text, err);
        return prequeue_entry_wait(prequeue, entry, "job-file", read_err.text,
                                   err);
    }
    struct span all = arena_span(&entry->arena, text_span(&text));
    if (marker_is_meant(all))
        return read_marker(prequeue, entry, all, ret_good, err);
    if (!span_starts(all, "##") && !span_is(all, "#"))
        return prequeue_entry_reject(
            prequeue, entry, "job-file",
            "it is neither empty, as a marker is, nor a job file", err);
    if (!job_file_parse(all, &entry->arena, &file, &why))
        return prequeue_entry_wait(prequeue, entry, "job-file", why.text, err);
    if (!span_is(file.name.text, entry->name))
        return prequeue_entry_reject(prequeue, entry, "job-file",
                                     "the job file belongs to another set",
                                     err);
    ((struct prequeue_set *)entry->own)->said_sum = file.sha256;
    *ret_good = true;
    return true;
}

/* An earlier program noted beside a marker who had submitted the set. */
static bool has_old_note(const struct base *base, const char *name) {
    CLEANUP(text_clear) struct text note = TEXT_INIT;
    struct stat st;
    bool there = false;
    text_addf(&note, "by+%s", name);
    return !dir_stat(base->dirs[BASE_TMP], text_string(&note), &st, &there,
                     NULL) ||
           (there && run_as_is_own(base->uid, st.st_uid));
}

/* What the check of a set puts here is not the word of its submitter: checks
 * run what others have landed. */
static bool check_writer(struct prequeue *prequeue,
                         struct prequeue_entry *entry, bool *ret_good,
                         struct err *err) {
    struct span job;
    if (!drop_job_find(prequeue->base, &entry->st, true, &entry->arena, &job,
                       err))
        return false;
    *ret_good = job.len == 0;
    return *ret_good ||
           prequeue_entry_reject(
               prequeue, entry, "from-job",
               arena_printf(&entry->arena,
                            "change set '%.*s' was being checked, perhaps "
                            "under the account of its owner, when it was put "
                            "here, and what it runs may have written it; use "
                            "`pointsman change submit`",
                            (int)job.len, job.p),
               err);
}

/* Callers of the server were checked by it. A second name of the marker may
 * have been made by somebody else than its owner, whoever that is. */
static bool is_permitted(struct prequeue *prequeue,
                         struct prequeue_entry *entry, bool *ret_good,
                         struct err *err) {
    const struct base *base = prequeue->base;
    uid_t uid = entry->st.st_uid;
    char why[128];
    bool is_own = run_as_is_own(base->uid, uid), is_linked;
    *ret_good = false;
    if (!drop_is_linked(prequeue->base, &entry->st, &is_linked, err))
        return false;
    if (is_own && is_linked)
        return prequeue_entry_reject(
            prequeue, entry, "linked",
            "its marker is a link to a file elsewhere, which anybody may have "
            "made",
            err);
    if (!is_own && entry->st.st_nlink != 1)
        return prequeue_entry_wait(prequeue, entry, "linked",
                                   "its marker has a second name", err);
    if (is_own && entry->st.st_size == 0 && has_old_note(base, entry->name))
        return prequeue_entry_reject(
            prequeue, entry, "old-note",
            "it was submitted to an earlier program: submit it again", err);
    *ret_good = is_own || base_has_role(base, uid, ACCESS_SUBMITTER);
    if (is_own)
        return true;
    if (*ret_good)
        return check_writer(prequeue, entry, ret_good, err);
    snprintf(why, sizeof(why),
             "uid %lu does not have the role submitter ([access])",
             (unsigned long)uid);
    return prequeue_entry_reject(prequeue, entry, "no-role", why, err);
}

static bool check_set(struct prequeue *prequeue, struct prequeue_entry *entry,
                      const struct stat *before, struct err *err) {
    struct set_name name;
    struct refusal why = {0};
    bool good = true;
    uid_t owner = entry->st.st_uid;
    (void)before;
    entry->state = ENTRY_NEW;
    entry->checked = (struct wall){0};
    entry->is_bad = false;
    arena_clear(&entry->arena);
    struct prequeue_set *set =
        arena_alloc(&entry->arena, sizeof(struct prequeue_set));
    entry->own = set;
    set->candidate.submitter = (struct access_owner){
        .uid = owner,
        .actor = span_of(
            arena_printf(&entry->arena, "uid:%lu", (unsigned long)owner))};
    if (!S_ISREG(entry->st.st_mode))
        return prequeue_entry_reject(prequeue, entry, "not-a-file",
                                     "only regular files can be submitted",
                                     err);
    if (!set_name_parse(span_of(entry->name), &name, &why))
        return prequeue_entry_reject(prequeue, entry, refusal_word(why.kind),
                                     why.text, err);
    if (!is_permitted(prequeue, entry, &good, err))
        return false;
    if (!good)
        return true;
    if (set_is_future(&name, prequeue->now))
        return prequeue_entry_wait(
            prequeue, entry, "future",
            "the time in its name is more than 300 s in the future", err);
    if (entry->st.st_size > 0 && !read_job_file(prequeue, entry, &good, err))
        return false;
    return !good || start_check(prequeue, entry, err);
}

/* ---- the verdict ----------------------------------------------------- */

static bool finish_known(struct prequeue *prequeue,
                         struct prequeue_entry *entry, struct err *err) {
    log_info("'%s' has already been admitted", entry->name);
    prequeue->tally.again++;
    return prequeue_entry_remove(prequeue, entry, err);
}

/* The state with which a set without ##base is compared when it lands (L5): the
 * branch as it is now, which is exact; a reflog, if there is one, would only be
 * accurate to the second. Empty: unknown, or nothing is compared. */
static struct span branch_seen(const struct base *base,
                               const struct config_target *target,
                               struct arena *arena) {
    char oid[OID_BYTES];
    if (target->git.len == 0)
        return (struct span){0};
    const char *git = base_resolve(base->path, target->git, arena);
    if (!branch_tip_read(git, target->branch, oid))
        return (struct span){0};
    if (oid[0] != '\0')
        return arena_span(arena, span_of(oid));
    /* A branch that was there before is only away. */
    const char *notes = base_resolve(base->path, SPAN(BASE_BRANCHES), arena);
    return branch_note_exists(notes, git, target->branch) ? (struct span){0}
                                                          : SPAN("none");
}

static bool admit_set(struct prequeue *prequeue, struct prequeue_entry *entry,
                      struct err *err) {
    const struct config_target *target;
    struct prequeue_set *set = entry->own;
    struct candidate *candidate = &set->candidate;
    struct ruling_why why = {0};
    enum ruling ruling;
    if (entry->not_now) {
        entry->state = ENTRY_WAITING;
        entry->next = wall_add_ms(prequeue->now, RETRY_MS);
        return true;
    }
    if (set->refusal.kind != REFUSAL_NONE)
        return prequeue_entry_reject(prequeue, entry,
                                     refusal_word(set->refusal.kind),
                                     set->refusal.text, err);
    if (set->said_sum.len > 0 && !span_equal(set->said_sum, candidate->sum))
        return prequeue_entry_reject(
            prequeue, entry, "job-file",
            "the checksum in the job file is not that of its data", err);
    candidate->arrived = prequeue_entry_arrived(entry);
    if (!prequeue_approval_entries_of(prequeue, set, &entry->arena))
        return true; /* judged once they are examined */
    if (!set_rule(prequeue->base, candidate, prequeue->now, &ruling, &target,
                  &why, err))
        return false;
    switch (ruling) {
    case RULING_AGAIN:
        return finish_known(prequeue, entry, err);
    case RULING_WAIT:
        return prequeue_entry_wait(prequeue, entry, why.word, why.text, err);
    case RULING_REFUSE:
        if (set->hindered && strcmp(why.word, "unapproved") == 0)
            return prequeue_entry_wait(prequeue, entry, why.word, why.text,
                                       err);
        return prequeue_entry_reject(prequeue, entry, why.word, why.text, err);
    case RULING_ADMIT:
        break;
    }
    set_record_make(&candidate->name, &candidate->meta, target->name,
                    candidate->sum, candidate->size_bytes,
                    branch_seen(prequeue->base, target, &entry->arena),
                    &entry->arena, &set->record);
    entry->state = ENTRY_READY;
    return true;
}

static unsigned add_set(struct prequeue *prequeue, struct prequeue_entry *entry,
                        struct store_batch *batch, struct span *ret_id) {
    struct prequeue_set *set = entry->own;
    struct set_record *record = &set->record;
    struct job *job = &record->job;
    job->uid = set->candidate.submitter.uid;
    job->actor = set->candidate.submitter.actor;
    job->cause = SPAN(CAUSE_PERSON);
    approvals_admit(prequeue->base, record, prequeue->now, &entry->arena);
    /* The original may admit it too, and what cannot be read may say so. */
    struct span since;
    if (!base_restored(prequeue->base, &entry->arena, &since, NULL) ||
        since.len > 0)
        job->holds |= HOLD_RESTORED;
    job->admitted = prequeue->now;
    store_batch_actor(batch, prequeue->now, job->actor);
    prequeue->due |= set->awaited; /* the approvals beside it know it now */
    *ret_id = job->id;
    return store_admit(batch, job, record->edges, record->edge_count,
                       record->touches, record->touch_count, NULL, 0);
}

static void forget_set(struct prequeue_entry *entry) {
    if (entry->state == ENTRY_CHECKING)
        checker_forget(entry->prequeue->checker, entry);
}

const struct entry_kind prequeue_set_kind = {
    .recognise = is_set,
    .check = check_set,
    .admit = admit_set,
    .add = add_set,
    .reject = reject_set,
    .forget = forget_set,
    .comes_together = true,
};
