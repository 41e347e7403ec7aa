#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "lib/log.h"
#include "os/dir.h"
#include "changes/approvals.h"
#include "changes/drop_job.h"
#include "changes/placement.h"
#include "changes/prequeue_set.h"
#include "changes/signature.h"
#include "changes/signers.h"
#include "core/approval.h"
#include "core/run_as.h"
#include "wire/approval_text.h"

/* Files approve_CSID in prequeue/: an approval of a set that is here already or
 * arrives with it. The file is read once, its signature is verified in a child,
 * and it is compared with its set; it then becomes an event of that set, or
 * goes to reject/ with the reason. */

enum { CHECKS_ASKED = 2 };

/* The parsed content of a file approve_CSID and the state of its check. */
struct prequeue_approval {
    struct approval_file file;
    struct signature_check *check; /* in progress */
    bool verified;
    const char *bad; /* why its signature is invalid */
    struct approval_given word;
};

static bool is_approval(struct span name) {
    struct span csid;
    return approval_entry_parse(name, &csid);
}

static struct span csid_of(const struct prequeue_entry *entry) {
    struct span csid = {0};
    (void)approval_entry_parse(span_of(entry->name), &csid);
    return csid;
}

/* ---- the first look ------------------------------------------------------ */

static bool is_unchanged(const struct stat *before, const struct stat *now) {
    return before->st_ino == now->st_ino && before->st_size == now->st_size &&
           before->st_mtim.tv_sec == now->st_mtim.tv_sec &&
           before->st_mtim.tv_nsec == now->st_mtim.tv_nsec;
}

static bool know_set(struct prequeue *prequeue, struct prequeue_entry *entry,
                     struct err *err) {
    CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
    struct job job;
    bool known;
    if (!store_lookup(prequeue->base->store, csid_of(entry), &arena, &job,
                      &known, err))
        return false;
    entry->about = known ? job.num : 0;
    return true;
}

/* Whoever drops a file must be allowed to submit, even if somebody else has
 * signed it. The service and root own the files that came over the socket. */
static bool may_drop(const struct prequeue *prequeue,
                     struct prequeue_entry *entry, struct ruling_why *why) {
    uid_t owner = entry->st.st_uid;
    if (entry->st.st_nlink != 1) {
        set_ruling(why, "linked",
                   "the file has several names, so its owner may not be the "
                   "one who dropped it");
        return false;
    }
    if (run_as_is_own(prequeue->base->uid, owner))
        return true;
    if (base_has_role(prequeue->base, owner, ACCESS_SUBMITTER))
        return true;
    set_ruling(why, "no-role",
               "the file belongs to uid %lu, which does not have the role "
               "submitter",
               (unsigned long)owner);
    return false;
}

/* Without a signature the owner of the file is the approver. The service and
 * root own files with content from others, and have a command for approvals. */
static bool take_owner(const struct prequeue *prequeue,
                       struct prequeue_entry *entry) {
    struct prequeue_approval *approval = entry->own;
    struct span by = approval->file.approval.by;
    uid_t owner = entry->st.st_uid;
    const char *name =
        arena_printf(&entry->arena, "uid:%lu", (unsigned long)owner);
    if (!span_is(by, name) || owner == 0 || owner == prequeue->base->uid)
        return false;
    approval->word.who = span_of(name);
    approval->verified = true;
    return true;
}

static bool check_owner(struct prequeue *prequeue, struct prequeue_entry *entry,
                        struct err *err) {
    struct span job;
    if (!take_owner(prequeue, entry))
        return prequeue_entry_reject(
            prequeue, entry, "unsigned",
            "it has no signature, and does not name the owner of the file "
            "either (by uid:N); root and the owner of the base use `pointsman "
            "approve`",
            err);
    if (!drop_job_find(prequeue->base, &entry->st, false, &entry->arena, &job,
                       err))
        return false;
    if (job.len > 0)
        return prequeue_entry_reject(
            prequeue, entry, "from-job",
            arena_printf(&entry->arena,
                         "it has no signature, and job '%.*s' was running "
                         "under the account of its owner when it was put here "
                         "and may have written it; sign it or use `pointsman "
                         "approve`",
                         (int)job.len, job.p),
            err);
    entry->state = ENTRY_CHECKED;
    prequeue->due = true;
    return true;
}

static void take_signer(struct prequeue_entry *entry) {
    struct prequeue_approval *approval = entry->own;
    struct span by = approval->file.approval.by;
    approval->word.who =
        span_of(arena_printf(&entry->arena, "user:%.*s", (int)by.len, by.p));
    approval->word.is_signed = true;
    approval->word.alias =
        approvals_alias(entry->prequeue->base, by, &entry->arena);
}

static void on_signature(void *ctx, const struct signature_verdict *verdict) {
    struct prequeue_entry *entry = ctx;
    struct prequeue_approval *approval = entry->own;
    approval->check = NULL;
    approval->verified = verdict->how == SIGNATURE_GOOD;
    if (verdict->why)
        approval->bad = arena_string(&entry->arena, span_of(verdict->why));
    approval->word.key = arena_span(&entry->arena, verdict->key);
    approval->word.authority =
        signers_authority(approval->file.signature, &entry->arena);
    entry->not_now = verdict->how == SIGNATURE_NOT_NOW;
    entry->state = ENTRY_CHECKED;
    entry->prequeue->due = true;
}

static void read_word(const struct prequeue *prequeue,
                      struct prequeue_entry *entry) {
    struct prequeue_approval *approval = entry->own;
    const struct approval_text *text = &approval->file.approval;
    struct approval_given *word = &approval->word;
    word->at = text->made.ns < prequeue->now.ns ? text->made : prequeue->now;
    word->until = text->expires;
    word->ticket = text->ticket;
}

/* The checks that do not need the signature. */
static bool look_at_text(struct prequeue *prequeue,
                         struct prequeue_entry *entry, int fd,
                         struct err *err) {
    struct prequeue_approval *approval = entry->own;
    struct approval_text *text = &approval->file.approval;
    struct ruling_why why;
    if (!span_equal(text->csid, csid_of(entry)))
        return prequeue_entry_reject(
            prequeue, entry, "other-set",
            "its name and its text name different sets", err);
    if (!may_drop(prequeue, entry, &why) ||
        !approvals_in_time(text, prequeue->now, &why))
        return prequeue_entry_reject(prequeue, entry, why.word, why.text, err);
    read_word(prequeue, entry);
    if (approval->file.signature.len == 0)
        return check_owner(prequeue, entry, err);
    take_signer(entry);
    entry->state = ENTRY_CHECKING;
    struct signature_check *check =
        signature_check(prequeue->base, checker_subprocesses(prequeue->checker),
                        fd, text->by, prequeue->now, on_signature, entry);
    if (entry->state == ENTRY_CHECKING)
        approval->check = check;
    return true;
}

static bool read_approval(struct prequeue *prequeue,
                          struct prequeue_entry *entry, struct err *err) {
    CLEANUP(text_clear) struct text bytes = TEXT_INIT;
    CLEANUP(fd_close) int fd = -1;
    struct err why = {0};
    struct stat st;
    if (!dir_open_file(prequeue->base->dirs[BASE_PREQUEUE], entry->name,
                       O_RDONLY | O_NONBLOCK, 0, &fd, &why) ||
        fstat(fd, &st) < 0 || st.st_ino != entry->st.st_ino)
        return prequeue_entry_wait(
            prequeue, entry, "bad-approval",
            why.kind ? why.text : "it is still being written", err);
    if (!dir_read_file(fd, APPROVAL_FILE_BYTES, &bytes, &why))
        return why.kind == ERR_DATA
                   ? prequeue_entry_reject(prequeue, entry, "too-big",
                                           "it is longer than 65536 bytes", err)
                   : prequeue_entry_wait(prequeue, entry, "bad-approval",
                                         why.text, err);
    struct span all = arena_span(&entry->arena, text_span(&bytes));
    struct prequeue_approval *approval = entry->own;
    if (!approval_file_parse(all, &approval->file, &why))
        return prequeue_entry_reject(prequeue, entry, "bad-approval", why.text,
                                     err);
    return look_at_text(prequeue, entry, fd, err);
}

static bool check_approval(struct prequeue *prequeue,
                           struct prequeue_entry *entry,
                           const struct stat *before, struct err *err) {
    struct prequeue_approval *approval = entry->own;
    if (approval && approval->verified && is_unchanged(before, &entry->st)) {
        entry->state = ENTRY_CHECKED;
        return true;
    }
    entry->state = ENTRY_NEW;
    arena_clear(&entry->arena);
    entry->own = arena_alloc(&entry->arena, sizeof(*approval));
    entry->not_now = false;
    if (!know_set(prequeue, entry, err))
        return false;
    if (!S_ISREG(entry->st.st_mode))
        return prequeue_entry_reject(prequeue, entry, "not-a-file",
                                     "only regular files can be submitted",
                                     err);
    if (checker_waiting(prequeue->checker) >= CHECKS_ASKED)
        return true; /* still new: it is checked later */
    return read_approval(prequeue, entry, err);
}

/* It may succeed later, until its time is up. */
static bool wait_for_check(struct prequeue *prequeue,
                           struct prequeue_entry *entry, struct err *err) {
    const struct prequeue_approval *approval = entry->own;
    const char *why = approval->bad;
    if (!entry->is_reported)
        log_warning("approval '%s' waits: it cannot be checked now: %s",
                    entry->name, why);
    entry->is_reported = true;
    return prequeue_entry_wait(prequeue, entry, "cannot-check", why, err);
}

/* ---- the verdict --------------------------------------------------------- */

static const char *refusal_of(const struct job *job,
                              const struct approval_state *state) {
    if (job_state_is_final(job->state) && job->state != STATE_DONE)
        return "ended";
    if (state->verdict.outcome == APPROVAL_FREE)
        return "not-asked";
    return state->own ? "own-set" : "no-role";
}

/* Where the approval came from: whoever signed it may have given it to somebody
 * else. */
static struct span file_of(const struct prequeue *prequeue,
                           const struct prequeue_entry *entry,
                           struct arena *arena) {
    uid_t owner = entry->st.st_uid;
    if (owner == 0 || owner == prequeue->base->uid)
        return SPAN("file");
    return span_of(
        arena_printf(arena, "file of uid:%lu", (unsigned long)owner));
}

static bool give(struct prequeue *prequeue, struct prequeue_entry *entry,
                 const struct job *job, struct err *err) {
    struct base *base = prequeue->base;
    struct prequeue_approval *approval = entry->own;
    struct approval_state state;
    struct err why = {0};
    if (!approvals_read(base, base->store, job, &approval->word, prequeue->now,
                        &entry->arena, &state, err))
        return false;
    /* A crash left the file behind after its event; the set may have ended
     * since. */
    if (state.said)
        return prequeue_entry_remove(prequeue, entry, err);
    if (state.verdict.fault != NULL)
        return prequeue_entry_wait(prequeue, entry, "cannot-judge",
                                   state.verdict.fault, err);
    if (!approvals_may(job, &approval->word, &state, &why))
        return prequeue_entry_reject(prequeue, entry, refusal_of(job, &state),
                                     why.text, err);
    struct store_batch *batch = store_batch_new(base->store);
    store_batch_actor(batch, prequeue->now, approval->word.who);
    store_batch_from(batch, file_of(prequeue, entry, &entry->arena));
    approvals_give(batch, job, &approval->word, &state, SPAN(""));
    bool ok = store_write(batch, err);
    store_batch_free(batch);
    if (!ok)
        return false;
    if (!prequeue->quiet)
        log_info("approved by %.*s job=%.*s", (int)approval->word.who.len,
                 approval->word.who.p, (int)job->id.len, job->id.p);
    return prequeue_entry_remove(prequeue, entry, err);
}

static bool admit_approval(struct prequeue *prequeue,
                           struct prequeue_entry *entry, struct err *err) {
    CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
    struct prequeue_approval *approval = entry->own;
    struct approval_text ours;
    struct ruling_why why;
    struct job job;
    bool known;
    if (entry->not_now)
        return wait_for_check(prequeue, entry, err);
    if (!approval->verified)
        return prequeue_entry_reject(prequeue, entry, "bad-signature",
                                     approval->bad, err);
    if (!store_lookup(prequeue->base->store, csid_of(entry), &arena, &job,
                      &known, err))
        return false;
    if (!known)
        return prequeue_entry_wait(prequeue, entry, "unknown-set",
                                   "no set has this id", err);
    entry->about = job.num;
    if (!job_has(&job, JOB_CAN_BE_APPROVED))
        return prequeue_entry_reject(prequeue, entry, "not-asked",
                                     "only change sets can be approved", err);
    if (!approvals_text(prequeue->base, &job, &arena, &ours, err))
        return false;
    if (!approvals_match(&ours, &approval->file.approval, &why) ||
        !approvals_in_time(&approval->file.approval, prequeue->now, &why))
        return prequeue_entry_reject(prequeue, entry, why.word, why.text, err);
    return give(prequeue, entry, &job, err);
}

/* ---- the row ---------------------------------------------------------------
 */

static bool reject_approval(struct prequeue *prequeue,
                            struct prequeue_entry *entry, const char *word,
                            const char *sentence, struct err *err) {
    struct base *base = prequeue->base;
    return placement_reject(base, base->dirs[BASE_PREQUEUE], entry->name, word,
                            sentence, err);
}

static void forget_approval(struct prequeue_entry *entry) {
    struct prequeue_approval *approval = entry->own;
    if (approval)
        signature_forget(approval->check);
}

const struct entry_kind prequeue_approval_kind = {
    .recognise = is_approval,
    .check = check_approval,
    .admit = admit_approval,
    .reject = reject_approval,
    .forget = forget_approval,
};

/* ---- for the set beside it ----------------------------------------------- */

static bool is_for_set(const struct prequeue *prequeue,
                       const struct prequeue_set *set,
                       const struct prequeue_approval *approval) {
    CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
    const struct config_target *target =
        set_target(&prequeue->base->config, set->candidate.meta.target);
    struct approval_text ours;
    struct ruling_why why;
    return target &&
           approvals_text_of(prequeue->base, &set->candidate, target->name,
                             &arena, &ours, NULL) &&
           approvals_match(&ours, &approval->file.approval, &why);
}

bool prequeue_approval_entries_of(struct prequeue *prequeue,
                                  struct prequeue_set *set,
                                  struct arena *arena) {
    size_t cursor = 0, count = 0;
    struct span key, wanted = set->candidate.name.csid;
    struct approval_given *given = NULL;
    void *value;
    set->hindered = false;
    while (prequeue->any_apart &&
           map_next(&prequeue->entries, &cursor, &key, &value)) {
        struct prequeue_entry *entry = value;
        if (!entry->here || entry->kind != &prequeue_approval_kind ||
            !span_equal(csid_of(entry), wanted))
            continue;
        const struct prequeue_approval *approval = entry->own;
        set->awaited = true;
        if (entry->state == ENTRY_NEW || entry->state == ENTRY_CHECKING)
            return false;
        set->hindered |= entry->state == ENTRY_WAITING && entry->not_now;
        if (!approval || !approval->verified ||
            !is_for_set(prequeue, set, approval))
            continue;
        struct approval_given *more =
            arena_alloc(arena, (count + 1) * sizeof(*more));
        if (count > 0)
            memcpy(more, given, count * sizeof(*more));
        more[count++] = approval->word;
        given = more;
    }
    set->candidate.given = given;
    set->candidate.given_count = count;
    return true;
}
